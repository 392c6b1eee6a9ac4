"""Planted bugs are caught, and their repaired twins are left in peace."""

import numpy as np
import pytest

from tacit.auditing.greybox import Tape, differences
from tacit.auditing.planted import BUGS, examine
from tacit.mechanisms.randomized_response import KaryResponse
from tacit.mechanisms.selection import Selection


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bug_is_caught_and_its_twin_is_not(bug):
    """The tool named in the table calls the fault broken, and not its repair."""
    caught, twin = examine(bug)
    assert caught.caught
    assert not twin.alarm


def test_there_are_bugs_for_every_tool():
    """At least 20 bugs with different names, and each of the three tools has its own."""
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 20
    assert {bug.tool for bug in BUGS} == {"exact", "empirical", "grey-box"}


@pytest.mark.parametrize(
    ("release", "a", "b"),
    [
        (KaryResponse(1.0, 5), [0, 1, 2], [0, 1, 4]),
        (Selection(1.0, 3, sensitivity=1, lower=0, upper=1, resolution=1), [0, 0, 1], [1, 1, 0]),
    ],
    ids=["kary-response", "selection"],
)
def test_shipped_mechanisms_draw_alike(release, a, b):
    """The number of draws and the words of a refusal do not depend on the data."""
    assert differences(lambda data, tape: release(np.array(data), tape), a, b) == []
    broken = lambda data, tape: release(np.array([float(data[0]), np.nan, 9.0]), tape)  # noqa: E731
    assert differences(broken, a, b) == []


def test_tape_repeats():
    """The same seed gives the same words and noise, so that only the data can differ."""
    first, second = Tape(3), Tape(3)
    assert first.words(4).tolist() == second.words(4).tolist()
    assert first.noise(2.0, 4).tolist() == second.noise(2.0, 4).tolist()
    assert first.record == ["4 words", "4 times noise of scale 2"]


def test_noise_of_the_tape_is_laplace():
    """Its mean absolute value is the scale."""
    assert np.abs(Tape().noise(3.0, 100_000)).mean() == pytest.approx(3.0, rel=0.03)
