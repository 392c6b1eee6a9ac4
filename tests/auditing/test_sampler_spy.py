"""The grey-box audit: the same draws and the same words on neighbouring data."""

import numpy as np
import pytest

from tacit.auditing.pairs import Pair, grey_box_differences
from tacit.auditing.sampler_spy import SEEDS, Tape, differences
from tacit.auditing.shipped_mechanisms import MECHANISMS
from tacit.mechanisms.laplace import LaplaceRelease

PAIRS = [
    pytest.param(pair, id=f"{subject.mechanism}-{subject.epsilon:g}-{pair.name}")
    for makes in MECHANISMS.values()
    for subject in (make() for make in makes)
    for pair in subject.pairs
]


@pytest.mark.parametrize("pair", PAIRS)
def test_shipped_mechanisms_draw_alike(pair):
    """Draws, scales and refusals of every shipped mechanism are the same for neighbours."""
    assert grey_box_differences(pair) == []


def numbers(call):
    return Pair("pair", lambda data, _: call(data), np.array([1.0]), np.array([0.0]), 0.0)


def test_a_scale_from_the_data_is_seen():
    """Noise sized by the data is a difference, on a shipped mechanism too."""
    broken = numbers(lambda data: LaplaceRelease(1.0, 1 + abs(float(data[0])), -8, 8, 1)(data))
    assert any("discrete_laplace of scale" in found for found in grey_box_differences(broken))


def test_a_skipped_draw_is_seen():
    """Noise that is left out where the value is zero is a difference."""
    release = LaplaceRelease(1.0, 1, -8, 8, 1)
    assert grey_box_differences(numbers(lambda data: release(data) if data[0] else data))


def test_a_refusal_that_repeats_the_data_is_seen():
    """Neighbours spoilt in one place must be refused in the same words."""

    def refuse(data):
        if not np.isfinite(data).all():
            raise ValueError(f"NaN or infinity in {data[1:]}")

    a, b = np.array([1.0, 2.0]), np.array([1.0, 3.0])
    found = grey_box_differences(Pair("pair", lambda data, _: refuse(data), a, b, 0.0))
    assert any("the error" in one for one in found)


def test_every_seed_is_looked_at():
    """A difference that shows on one tape in five is found."""
    last = Tape(SEEDS[-1]).words(1)

    def release(bit, tape):
        if tape.words(1) == last and bit:
            tape.words(1)

    assert differences(release, 0, 1)
    assert differences(release, 0, 1, seeds=SEEDS[:-1]) == []


def test_tape_repeats():
    """The same seed gives the same words and noise, so that only the data can differ."""
    first, second = Tape(3), Tape(3)
    assert first.words(4).tolist() == second.words(4).tolist()
    assert first.noise(2.0, 4).tolist() == second.noise(2.0, 4).tolist()
    assert first.record == ["4 words", "4 times noise of scale 2"]


def test_words_of_the_tape_are_never_refused():
    """They are below 2**63, the least limit beyond which a sampler draws again."""
    assert Tape().words(1_000).max() < 1 << 63


def test_noise_of_the_tape_is_laplace():
    """Its mean absolute value is the scale."""
    assert np.abs(Tape().noise(3.0, 100_000)).mean() == pytest.approx(3.0, rel=0.03)
