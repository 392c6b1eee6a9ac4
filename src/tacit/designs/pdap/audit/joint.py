"""Joint privacy on the bench: joint.py and baselines/linucb.py, end to end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bench import Pair
from tacit.auditing.bench import check as on_the_bench
from tacit.auditing.claims import Check, Checked, Line
from tacit.auditing.empirical import audit
from tacit.auditing.gaussian import epsilon_of
from tacit.auditing.rules import Gauss, Private
from tacit.auditing.sampler_spy import Bulk, moves, tapped
from tacit.auditing.shipped_noise import laplace_pair
from tacit.designs.pdap.audit import rules
from tacit.designs.pdap.audit.rules import (
    Learner,
    Rows,
    distinguished,
    followed,
    instead,
    released,
    without,
)
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.randomness import Source, secure
from tacit.recommenders.baselines.linucb import LinUCB

EPSILON = 1.0
LARGE = 8.0
"""epsilon of the line on which choices alone, after all that noise, can show something."""
DELTA = 1e-5
_LEFT, _RIGHT = 0.1, 0.9
_FEW = 1_000_000  # the share of pairs that get as few samples as there can be
_STREAM = 8
"""Visits of a stream, and the horizon."""


_SMALL: dict[str, Any] = {
    "videos": 2,
    "neighbours": 1,
    "dimension": 1,
    "horizon": _STREAM,
    "epsilon": EPSILON,
    "neighbour_range": (-1.0, 2.0),
}


def setting(**changes: Any) -> JointSetting:
    """Two own videos and a neighbour, whose rewards lie within (-1, 2), on two cells."""
    plain = {"slices": 2, "first": 4, "growth": 1.0}
    return JointSetting(**{**_SMALL, **plain, **changes})


def joint(chosen: JointSetting) -> Learner:
    return Learner(lambda source: Joint(chosen, randomness=source), _of_joint)


def _of_joint(policy: Joint) -> tuple[object, NDArray[np.float64]] | None:
    if not policy.seen:
        return None
    last = policy.seen[-1][0]
    return last, np.concatenate([last.likes.ravel(), last.visits.ravel()])


def linear(**changes: Any) -> Learner:
    chosen = {**_SMALL, "delta": DELTA, "batch": 2, **changes}
    return Learner(lambda _: LinUCB(**chosen), _of_linear)


def _of_linear(policy: LinUCB) -> tuple[object, NDArray[np.float64]] | None:
    noisy = policy.sums.released()
    upper = np.triu_indices(noisy.shape[1])
    return noisy, noisy[:, upper[0], upper[1]].ravel()


def stream(*visits: tuple[float, int, float]) -> Rows:
    """(feature, arm, reward) each; then visits on both sides that are not learned."""
    learned = [(feature, arm, 1.0, reward) for feature, arm, reward in visits]
    rest = [((_LEFT, _RIGHT)[at % 2], 0, 0.0, 0.0) for at in range(_STREAM - len(visits))]
    return np.array([*learned, *rest])


UNEXPLORED = stream((_RIGHT, 0, 1.0), (_LEFT, 1, 1.0), (_LEFT, 0, 0.0))
"""The second visit is the only one of its arm."""
TIE = stream((_LEFT, 0, 1.0), (_LEFT, 1, 1.0), (_LEFT, 0, 0.0), (_LEFT, 1, 0.0))
"""Two arms alike, but for the visit that is left out."""
FORWARDED = stream((_LEFT, 2, 2.0), (_LEFT, 0, 1.0))
"""A neighbour's reward, at the end of its range."""
AGAIN = stream((_LEFT, 2, 2.0), (_LEFT, 0, 1.0))
AGAIN[0, 2] = 2
"""The first visit is answered twice, and later ones never."""
FULL = stream(*[(_LEFT, 0, 1.0)] * 4)
"""All of an epoch in one cell: one visit less is one less than anything that looks at four."""
PAIRS: tuple[tuple[str, Rows, int], ...] = (
    ("an unexplored arm", UNEXPLORED, 1),
    ("a tie of two arms", TIE, 1),
    ("a forwarded reward", FORWARDED, 0),
    ("a cell one visit short", FULL, 2),
)
"""Each with the visit that is learned, or is not."""


def in_epochs() -> Line:
    return _joint("sound-joint, epochs", setting(), PAIRS, share=5)


def renewed() -> Line:
    """A second period with noise of its own."""
    chosen = setting(at_horizon="renew", horizon=_STREAM // 2, epsilon=LARGE)
    return _joint("sound-joint, renewed", chosen, PAIRS[2:3])


def replaced() -> Line:
    """A visit replaced by another costs twice as much."""
    chosen = setting(epsilon=LARGE / 2)
    rows = stream((_LEFT, 0, 1.0), (_RIGHT, 1, 0.0))
    check = _sums("another visitor", chosen, rows, instead(rows, 0, _RIGHT, 1.0), share=12)
    return Line("sound-joint, replaced", LARGE, (check,), unit="visit", adjacency="replaced")


def by_choices() -> Line:
    """What is shown to all others, from the shipped learner with noise, beside all its sums.

    Of so few visits choices alone tell little; sums of the same streams reveal what there is.
    """
    chosen = setting(epsilon=LARGE)
    sums = _joint("sound-joint, choices", chosen, PAIRS[1:2])
    views = tuple(
        _choices(f"later choices, {name}", joint(chosen), rows, without(rows, visit), LARGE)
        for name, rows, visit in PAIRS
    )
    return replace(sums, checks=(*sums.checks, *views))


def linear_sums() -> Line:
    """Private LinUCB; a smaller epsilon would need more runs to show anything."""
    learner = linear(epsilon=2 * LARGE)
    checks = tuple(
        _gaussian(pair, learner, rows, without(rows, visit), 12 if place == 0 else _FEW)
        for place, (pair, rows, visit) in enumerate(PAIRS[:2])
    )
    return replace(_line("private-linucb", 2 * LARGE, checks), delta=DELTA)


def _joint(
    name: str, chosen: JointSetting, pairs: Sequence[tuple[str, Rows, int]], share: int = 12
) -> Line:
    checks = tuple(
        _sums(pair, chosen, rows, without(rows, visit), share if place == 0 else _FEW)
        for place, (pair, rows, visit) in enumerate(pairs)
    )
    return _line(name, chosen.epsilon, checks)


def _line(name: str, epsilon: float, checks: tuple[Check, ...]) -> Line:
    return Line(name, epsilon, checks, unit="visit", adjacency="learned or not")


def _sums(name: str, chosen: JointSetting, a: Rows, b: Rows, share: int) -> Check:
    """Everything released, exactly and by samples; and every choice, replayed."""

    def check(samples: int, alpha: float) -> Checked:
        learner = joint(chosen)
        times = 1 + bool((a[:, 0] != b[:, 0]).any())  # in one cell, or in two
        whole = rules.sums(chosen.noise)
        distance = times * getattr(whole, "distance", 0.0)
        pair = laplace_pair(
            name, released(learner), a.tolist(), b.tolist(), distance=distance, share=share
        )
        found = on_the_bench(pair, samples=samples, alpha=alpha)
        return replace(found, differences=(*found.differences, *distinguished(learner, a, b)))

    return check


def _gaussian(name: str, learner: Learner, a: Rows, b: Rows, share: int) -> Check:
    def check(samples: int, alpha: float) -> Checked:
        run = released(learner)
        moved = moves(run, a, b)
        mu = math.sqrt(float(((moved.steps / moved.scales) ** 2).sum()))
        weights = moved.steps / moved.scales**2
        pair = Pair(
            name,
            lambda rows, _: run(rows),
            a,
            b,
            math.inf if moved.bare else epsilon_of(mu, DELTA),
            feature=lambda releases: np.asarray(moved.noises(releases) @ weights),
            share=share,
            mu=mu,
            sigma_in_steps=float(moved.scales.min(initial=math.inf)),
            rule=Private() if moved.bare else Gauss(mu, DELTA),
        )
        found = on_the_bench(pair, DELTA, samples=samples, alpha=alpha)
        return replace(found, differences=(*found.differences, *distinguished(learner, a, b)))

    return check


def _choices(name: str, learner: Learner, a: Rows, b: Rows, claim: float) -> Check:
    """exact is the claim: of choices alone it is not known, and no more than that of all sums."""

    def view(rows: Rows, source: Source) -> int:
        """The arms of all visits that are alike in both streams, as one number."""
        alike = (a == b).all(axis=1)
        run = followed(learner, rows, source, given=False)
        arms = [arm for (arm, _, _), same in zip(run.shown, alike, strict=True) if same]
        return sum(arm * 3**place for place, arm in enumerate(arms))

    def release(rows: Rows) -> Callable[[int], NDArray[np.int64]]:
        def of(count: int) -> NDArray[np.int64]:
            with tapped(Bulk(20_000).answer):
                return np.array([view(rows, secure()) for _ in range(count)])

        return of

    def check(samples: int, alpha: float) -> Checked:
        count = max(samples // 20, 100)
        seen = audit(release(a), release(b), samples=count, alpha=alpha)
        return Checked(name, claim, None, seen.lower_bound, 0.0, count)

    return check


LINES: tuple[Callable[[], Line], ...] = (
    in_epochs,
    renewed,
    replaced,
    by_choices,
    linear_sums,
)
