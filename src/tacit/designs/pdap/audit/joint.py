"""Audit of joint privacy: whole streams of visits through Joint, end to end.

Neighbours  differ in one visit that is learned, or is not; that it takes place is public.
Moves       The shipped learner runs both streams without noise, and one of them with a 1 in each
            noise: all that is released shows which noises cover the visit, and how far their
            centres move. Arms are given from outside, so nothing depends on the noise.
Replay      Then the learner chooses by itself. Both streams get the same random words, and the
            second one's noises are the first one's plus the moves: so all releases agree to the
            last bit, and so must every choice that anybody else gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditedClaim, Check, PairResult
from tacit.auditing.pairs import check_pair as on_the_bench
from tacit.auditing.sampler_spy import Moves, SamplerCall, Tape, intercept_samplers, moves
from tacit.auditing.shipped_noise import laplace_pair
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.joint_sums import GRAIN
from tacit.errors import PrivacyError
from tacit.randomness import Source, secure

Rows = NDArray[np.float64]
"""One visit each: feature in [0, 1], arm where arms are given, how often it is answered, reward.

A second answer is refused by all that is shipped, and costs nothing."""
Make = Callable[[Source], Joint]
Shown = tuple[int, str, float | None]
"""arm, phase and chance of a choice."""

_SEEDS = (0, 1)


def followed(
    make: Make, rows: Rows, source: Source, *, given: bool
) -> tuple[list[NDArray[np.float64]], list[Shown]]:
    """What was released, and shown. given: whether arms are those of the rows, or the learner's."""
    policy = make(source)
    shown: list[Shown] = []
    for feature, arm, answers, reward in rows:
        choice = policy.select(np.array([feature]), [int(arm)] if given else None)
        shown.append((choice.arm, choice.phase, choice.chance))
        for again in range(int(answers)):
            with suppress(PrivacyError) if again else nullcontext():
                policy.update(choice, reward)
    policy.select(np.array([_LEFT]))  # what is due is released first
    return [part.ravel() for one in policy.seen for part in (one.likes, one.visits)], shown


def released(make: Make) -> Callable[[Rows], NDArray[np.float64]]:
    """All numbers that a stream with given arms makes the learner release."""
    return lambda rows: np.concatenate(followed(make, rows, secure(), given=True)[0])


def distinguished(make: Make, a: Rows, b: Rows) -> tuple[str, ...]:
    """What all others are shown that the releases do not explain; nothing if all is well."""
    return tuple(dict.fromkeys(each for seed in _SEEDS for each in _seen_apart(make, a, b, seed)))


def _seen_apart(make: Make, a: Rows, b: Rows, seed: int) -> Iterator[str]:
    first, noises, record = _replayed(make, a, seed)
    arms = [arm for arm, _, _ in first]
    given = [np.column_stack([rows[:, 0], arms, rows[:, 2:]]) for rows in (a, b)]
    moved = moves(released(make), *given)
    if moved.bare:
        yield "something that is released moves without noise"
        return
    second, _, other = _replayed(make, b, seed, noises, moved)
    if record != other:
        yield "the draws differ"
    for visit in np.flatnonzero((a == b).all(axis=1)).tolist():
        if first[visit] != second[visit]:
            yield f"visit {visit} is shown something else although all releases agree"


def _replayed(
    make: Make,
    rows: Rows,
    seed: int,
    before: NDArray[np.int64] | None = None,
    moved: Moves | None = None,
) -> tuple[list[Shown], NDArray[np.int64], list[str]]:
    """What was shown, the noises, what was asked for. before, moved: noises to use, and to add."""
    tape = Tape(seed)
    drawn: list[NDArray[np.int64]] = []

    def answer(asked: SamplerCall) -> NDArray[np.int64]:
        noisy = tape.answer(asked)
        at = sum(part.size for part in drawn)
        if before is not None and moved is not None:
            upto = slice(at, at + noisy.size)
            shift = before[upto] + moved.steps[upto]
            noisy = asked.values + np.resize(shift, noisy.size).reshape(noisy.shape)
        drawn.append((noisy - asked.values).ravel())
        return noisy

    with intercept_samplers(answer):
        _, shown = followed(make, rows, tape, given=False)
    return shown, np.concatenate([*drawn, np.empty(0, dtype=np.int64)]), tape.record


def without(rows: Rows, visit: int) -> Rows:
    """The visit takes place, and is not learned."""
    other = rows.copy()
    other[visit, 2] = 0.0
    return other


def instead(rows: Rows, visit: int, feature: float, reward: float) -> Rows:
    """Another visitor, elsewhere, with another reward."""
    other = rows.copy()
    other[visit, [0, 3]] = feature, reward
    return other


EPSILON = 1.0
LARGE = 8.0
_LEFT, _RIGHT = 0.1, 0.9
_FEW = 1_000_000  # the share of pairs that get as few samples as there can be
_STREAM = 8
"""Visits of a stream, and the horizon."""


def setting(**changes: Any) -> JointSetting:
    """Two own videos and a neighbour, whose rewards lie within (-1, 2), on two cells."""
    sizes = {"videos": 2, "neighbours": 1, "dimension": 1, "horizon": _STREAM, "epsilon": EPSILON}
    plain = {"neighbour_range": (-1.0, 2.0), "slices": 2, "first": 4, "growth": 1.0}
    return JointSetting(**{**sizes, **plain, **changes})


def joint(chosen: JointSetting) -> Make:
    return lambda source: Joint(chosen, randomness=source)


def stream(*visits: tuple[float, int, float]) -> Rows:
    """(feature, arm, reward) each; then visits on both sides that are not learned."""
    learned = [(feature, arm, 1.0, reward) for feature, arm, reward in visits]
    rest = [((_LEFT, _RIGHT)[at % 2], 0, 0.0, 0.0) for at in range(_STREAM - len(visits))]
    return np.array([*learned, *rest])


UNEXPLORED = stream((_RIGHT, 0, 1.0), (_LEFT, 1, 1.0), (_LEFT, 0, 0.0))
"""The second visit is the only one of its arm."""
FORWARDED = stream((_LEFT, 2, 2.0), (_LEFT, 0, 1.0))
"""A neighbour's reward, at the end of its range."""
TIE = stream((_LEFT, 0, 1.0), (_LEFT, 1, 1.0), (_LEFT, 0, 0.0), (_LEFT, 1, 0.0))
AGAIN = FORWARDED.copy()
AGAIN[0, 2] = 2
"""The first visit is answered twice, and later ones never."""
PAIRS: tuple[tuple[str, Rows, int], ...] = (
    ("an unexplored arm", UNEXPLORED, 1),
    ("a tie of two arms", TIE, 1),
    ("a forwarded reward", FORWARDED, 0),
    ("a cell one visit short", stream(*[(_LEFT, 0, 1.0)] * 4), 2),
)
"""Each with the visit that is learned, or is not."""


def in_epochs() -> AuditedClaim:
    return _joint("sound-joint, epochs", setting(), PAIRS, share=5)


def renewed() -> AuditedClaim:
    """A second period with noise of its own."""
    chosen = setting(horizon=_STREAM // 2, epsilon=LARGE)
    return _joint("sound-joint, renewed", chosen, PAIRS[2:3])


def replaced() -> AuditedClaim:
    """A visit replaced by another costs twice as much."""
    chosen = setting(epsilon=LARGE / 2)
    rows = stream((_LEFT, 0, 1.0), (_RIGHT, 1, 0.0))
    check = _sums("another visitor", chosen, rows, instead(rows, 0, _RIGHT, 1.0), share=12)
    return AuditedClaim(
        "sound-joint, replaced", LARGE, (check,), unit="visit", adjacency="replaced"
    )


def _joint(
    name: str, chosen: JointSetting, pairs: Sequence[tuple[str, Rows, int]], share: int = 12
) -> AuditedClaim:
    checks = tuple(
        _sums(pair, chosen, rows, without(rows, visit), share if place == 0 else _FEW)
        for place, (pair, rows, visit) in enumerate(pairs)
    )
    return AuditedClaim(name, chosen.epsilon, checks, unit="visit", adjacency="learned or not")


def _sums(name: str, chosen: JointSetting, a: Rows, b: Rows, share: int) -> Check:
    """Everything released, exactly and by samples; and every choice, replayed."""

    def check(samples: int, alpha: float) -> PairResult:
        learner = joint(chosen)
        times = 1 + bool((a[:, 0] != b[:, 0]).any())  # in one cell, or in two
        pair = laplace_pair(
            name, released(learner), a.tolist(), b.tolist(), distance=times * GRAIN, share=share
        )
        checked = on_the_bench(pair, samples=samples, alpha=alpha)
        return replace(checked, differences=(*checked.differences, *distinguished(learner, a, b)))

    return check


LINES: tuple[Callable[[], AuditedClaim], ...] = (in_epochs, renewed, replaced)
