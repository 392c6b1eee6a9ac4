"""Along one transcript of released numbers, no person changes the sums by more than is charged."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import sparse

from tacit.engine.profile_kernels.types import ClipRule
from tacit.mechanisms import samplers
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums import release
from tacit.profile_sums.catalogue import ItemSides
from tacit.profile_sums.events import combined_noise, events
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.people import read_profiles
from tacit.profile_sums.release import release_lists
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums import counts, item_tastes, like_pairs, products
from tests.support.seen import require_any

N, F = 24, 5
ROWS = np.eye(F)[np.arange(N) % F] * 0.8 + 0.1
MODES = ["taste", "top-items", "auto", "pairs"]
"""Among so few people the noise of sum 1 leads 'auto' to the mode popularity; 'pairs' is 'auto'
with limits of 0, so that tastes are asked for and, in one domain, pairs of likes."""
CHARGED = sum(event.noise_multiplier**-2 for event in events(Settings()))


class Transcript:
    """Stands in for the sampler: adds seeded noise, or answers as in an earlier run."""

    def __init__(self, answers: list[np.ndarray] | None = None) -> None:
        self.asked: list[tuple[np.ndarray, float]] = []
        self.given: list[np.ndarray] = []
        self.answers: Iterator[np.ndarray] | None = iter(answers) if answers else None
        self.draws = np.random.default_rng(4)

    def __call__(self, values: np.ndarray, sigma: float) -> np.ndarray:
        self.asked.append((values.copy(), sigma))
        if self.answers is not None:
            return next(self.answers)
        noise = np.rint(self.draws.normal(0, sigma / 300, values.shape)).astype(np.int64)
        self.given.append(values + noise)
        return self.given[-1]


def ask_for_pairs(monkeypatch, mode):
    """Return the mode to fit with; for 'pairs' limits of 'auto' are 0, and all items are asked."""
    if mode != "pairs":
        return mode
    for limit in ("MOST_WITHOUT_PAIRS", "LEAST_POPULAR"):
        monkeypatch.setattr(release, limit, 0.0)
    monkeypatch.setattr(like_pairs, "PEOPLE_PER_PAIR_ITEM", 1e-9)
    return "auto"


def squared_mu(monkeypatch, people_of, rows, extra, mode, joint):
    """mu^2 of all sums between `rows` and the same with one more person, on one transcript."""
    sides = (range(N), range(N)) if joint else (range(N // 2), range(N // 2, N))
    whole = sparse.csr_array(ROWS)
    features = FeatureTables(whole[list(sides[0])], whole[list(sides[1])])
    sizes = len(sides[0]), len(sides[1])
    first = Transcript()
    monkeypatch.setattr(samplers, "discrete_gaussian", first)
    # Clips so small that they bind in so small a world.
    chosen = ask_for_pairs(monkeypatch, mode)
    settings = Settings(mode=chosen, moment_clip=0.02, feature_clip=0.02, item_clip=0.02)
    release_lists(people_of([*rows, extra], N, *map(list, sides)), *sizes, features, settings)
    second = Transcript(first.given)
    monkeypatch.setattr(samplers, "discrete_gaussian", second)
    release_lists(people_of(rows, N, *map(list, sides)), *sizes, features, settings)
    return math.fsum(
        float(((present - absent).astype(float) ** 2).sum()) / sigma**2
        for (present, sigma), (absent, _) in zip(first.asked, second.asked, strict=True)
    )


def crowd(people=60):
    draws = np.random.default_rng(2)
    return [
        {int(i): float(draws.integers(1, 6)) for i in np.flatnonzero(draws.random(N) < 0.4)}
        for _ in range(people)
    ]


PERSONS = {
    "likes everything": dict.fromkeys(range(N), 5.0),
    "likes every second item": {i: 5.0 if i % 2 else 1.0 for i in range(N)},
    "likes one item": {N - 1: 5.0},
    "one item on each side": {0: 5.0, N - 1: 5.0},
    "dislikes everything": dict.fromkeys(range(N), 1.0),
    "has no rows": {},
}


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", PERSONS)
def test_one_person_changes_no_more_than_is_charged(monkeypatch, people_of, kind, mode, joint):
    """Extreme people, in both modes: mu^2 of all sums together is within that of the events, for
    the same released numbers before each sum."""
    found = squared_mu(monkeypatch, people_of, crowd(), PERSONS[kind], mode, joint)
    assert 0 < found <= CHARGED * (1 + 1e-9)


@pytest.mark.parametrize("joint", [True, False])
def test_a_heavy_person_uses_most_of_the_charge(monkeypatch, people_of, joint):
    """The bound is not idle: where every clip binds, nine tenths of it or more are reached."""
    heavy = {i: 5.0 if i % 3 else 1.0 for i in range(N)}
    for mode in MODES:
        assert squared_mu(monkeypatch, people_of, crowd(), heavy, mode, joint) > 0.9 * CHARGED


def test_a_clip_left_out_is_caught(monkeypatch, people_of):
    """The test above has teeth: with a norm ten times too large, it fails."""

    def loose(mechanism):
        return ClipRule(10 * mechanism.norm, mechanism.resolution, 100 * mechanism.squared_norm)

    for module in (counts, products, item_tastes):
        monkeypatch.setattr(module, "clip_rule", loose)
    heavy = {i: 5.0 if i % 5 == 0 else 1.0 for i in range(N)}
    assert squared_mu(monkeypatch, people_of, crowd(), heavy, "taste", True) > CHARGED


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("joint", [True, False])
def test_what_is_drawn_is_what_is_charged(monkeypatch, people_of, mode, joint):
    """Each mechanism that releases has its event in the list, which states its noise multiplier, no
    finer grid and no fewer numbers; in both modes. Pairs of likes share the event of sum 3."""
    chosen = ask_for_pairs(monkeypatch, mode)
    seen, asked = [], []

    def sampler(values, sigma, original=samplers.discrete_gaussian):
        asked.append((sigma, values.size))
        return original(values, sigma)

    monkeypatch.setattr(samplers, "discrete_gaussian", sampler)
    for mechanism in (SumRelease, GramRelease):

        def noted(self, total, original=mechanism.add_noise):
            asked.clear()
            answer = original(self, total)
            sigmas, sizes = zip(*asked, strict=True)
            seen.append((self.noise_multiplier, min(sigmas), sum(sizes)))
            return answer

        monkeypatch.setattr(mechanism, "add_noise", noted)
    squared = Settings(mode=chosen, epsilon=8.0)
    sides = (range(N), range(N)) if joint else (range(N // 2), range(N // 2, N))
    whole = sparse.csr_array(ROWS)
    features = FeatureTables(whole[list(sides[0])], whole[list(sides[1])])
    people = people_of(crowd(300), N, *map(list, sides))
    release_lists(people, len(sides[0]), len(sides[1]), features, squared)
    if mode == "pairs" and joint:
        *first, items, pairs = seen
        together = combined_noise([items[0], pairs[0]])
        seen = [*first, (together, min(items[1], pairs[1]), items[2] + pairs[2])]
    listed = sorted(events(squared), key=lambda event: event.noise_multiplier)
    for (noise, sigma, size), event in zip(sorted(seen), require_any(listed), strict=True):
        assert noise == pytest.approx(event.noise_multiplier, rel=1e-14)
        assert sigma >= event.sigma
        assert size <= event.entries


def test_without_noise_the_sampler_is_not_asked(monkeypatch, people_of, two_domain_example):
    """At epsilon inf nothing is drawn."""
    monkeypatch.setattr(samplers, "discrete_gaussian", None)
    people, features = two_domain_example
    release_lists(people, 2, 2, features, Settings(epsilon=math.inf))


def test_people_are_kept_whatever_others_do(world):
    """A person without rows of either domain is still a person: nobody is filtered."""
    sides = ItemSides(world.n_items, np.arange(2), np.arange(2, 4))
    people = read_profiles(world, sides, 3.8, 0.4)
    assert len(people.offsets) == world.n_users + 1
