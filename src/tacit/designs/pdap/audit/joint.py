"""Audit of joint privacy: whole streams of visits through JointLearner, end to end.

Neighbours  differ in one visit that is learned, or is not; that it takes place is public.
Log         rows of a log are learned without being shown here; the neighbour has another row in
            the place of one.
Moves       The shipped learner runs both streams without noise, and one of them with a 1 in each
            noise: all that is released shows which noises cover the visit, and how far their
            centres move. Arms are given from outside, so nothing depends on the noise.
Replay      Then the learner chooses by itself. Both streams get the same random words, and the
            second one's noises are the first one's plus the moves: so all releases agree to the
            last bit, and so must all that is believed, and every choice that anybody else gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditedClaim, Check, PairResult
from tacit.auditing.pairs import check_pair as on_the_bench
from tacit.auditing.sampler_spy import Moves, SamplerCall, Tape, intercept_samplers, moves
from tacit.auditing.shipped_noise import laplace_pair
from tacit.designs.pdap.features import GRAINS, public_points
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.sums import Release
from tacit.errors import PrivacyError
from tacit.randomness import Source, secure

Rows = NDArray[np.float64]
"""One visit each: feature in [0, 1], arm where arms are given, how often it is answered, reward.

A second answer is refused by all that is shipped, and costs nothing."""
Make = Callable[[Source], JointLearner]
Shown = tuple[int, str, bytes]
"""Arm and phase of a choice, and all that is believed at that time."""


class Follow(Protocol):
    """Runs a learner over a stream."""

    def __call__(
        self, make: Make, rows: Rows, source: Source, *, given: bool
    ) -> tuple[list[NDArray[np.float64]], list[Shown]]:
        """Return all numbers that were released, and what was shown and believed."""


_SEEDS = (0, 1)


def follow_visits(
    make: Make, rows: Rows, source: Source, *, given: bool
) -> tuple[list[NDArray[np.float64]], list[Shown]]:
    """Serve a stream of visits.

    Args:
        make: makes the learner.
        rows: of the stream.
        source: of its randomness.
        given: whether arms are those of the rows, or the learner's.

    Returns:
        All numbers that were released, in grains, and what was shown and believed.
    """
    policy = make(source)
    releases: list[Release | None] = []
    shown: list[Shown] = []
    for feature, arm, answers, reward in rows:
        choice = policy.select(np.array([feature]), [int(arm)] if given else None)
        releases.append(policy.released)
        shown.append((choice.arm, choice.phase, encode_beliefs(policy)))
        for again in range(int(answers)):
            with suppress(PrivacyError) if again else nullcontext():
                policy.update(choice, reward)
    policy.select(np.array([_LEFT]))  # what is due is released first
    releases.append(policy.released)
    return numbers_of(releases), shown


def follow_log(
    make: Make, rows: Rows, source: Source, *, given: bool
) -> tuple[list[NDArray[np.float64]], list[Shown]]:
    """Learn a log, two rows at a time, and show one visit after each; as `follow_visits`."""
    policy = make(source)
    releases: list[Release | None] = []
    shown: list[Shown] = []
    for start in range(0, len(rows), 2):
        part = rows[start : start + 2]
        arms = part[:, 1].astype(np.int64).tolist()
        policy.learn_log(arms, part[:, :1], part[:, 3].tolist())
        policy.epochs.end_now()
        choice = policy.select(np.array([_LEFT]), [0] if given else None)
        releases += [policy.released, policy.released_log]
        shown.append((choice.arm, choice.phase, encode_beliefs(policy)))
    return numbers_of(releases), shown


def encode_beliefs(policy: JointLearner) -> bytes:
    """All that is believed of the arms, to the last bit."""
    means, spreads = policy.estimate(public_points(policy.features.dimension)[:4])
    return bytes(means.tobytes() + spreads.tobytes())


def numbers_of(releases: Sequence[Release | None]) -> list[NDArray[np.float64]]:
    """The numbers of all releases, each once, in grains."""
    found: list[NDArray[np.float64]] = [np.empty(0)]
    known: set[int] = set()
    for release in releases:
        if release is not None and id(release) not in known:
            found += [GRAINS * release.likes.ravel(), GRAINS * release.visits.ravel()]
            known.add(id(release))
    return found


def release_by(make: Make, follow: Follow = follow_visits) -> Callable[[Rows], NDArray[np.float64]]:
    """All numbers that a stream with given arms makes the learner release."""
    return lambda rows: np.concatenate(follow(make, rows, secure(), given=True)[0])


def find_differences(
    make: Make, a: Rows, b: Rows, follow: Follow = follow_visits
) -> tuple[str, ...]:
    """Find what all others are shown that the releases do not explain; nothing if all is well."""
    found: dict[str, None] = {}
    for seed in _SEEDS:
        for difference in _compare_worlds(make, a, b, seed, follow):
            found[difference] = None
    return tuple(found)


def _compare_worlds(make: Make, a: Rows, b: Rows, seed: int, follow: Follow) -> Iterator[str]:
    first, noises, record = _replay(make, a, seed, follow)
    given = [a, b]
    if follow is follow_visits:
        arms = [arm for arm, _, _ in first]
        given = [np.column_stack([rows[:, 0], arms, rows[:, 2:]]) for rows in (a, b)]
    moved = moves(release_by(make, follow), *given)
    if moved.bare:
        yield "something that is released moves without noise"
        return
    second, _, other = _replay(make, b, seed, follow, noises, moved)
    if record != other:
        yield "the draws differ"
    same = (a == b).all(axis=1).tolist()
    for visit, (before, after) in enumerate(zip(first, second, strict=True)):
        if before[2] != after[2]:
            yield f"something else is believed at visit {visit} although all releases agree"
        elif before != after and (same[visit] or follow is follow_log):
            yield f"visit {visit} is shown something else although all releases agree"


def _replay(
    make: Make,
    rows: Rows,
    seed: int,
    follow: Follow,
    before: NDArray[np.int64] | None = None,
    moved: Moves | None = None,
) -> tuple[list[Shown], NDArray[np.int64], list[str]]:
    """Run a stream with replayed randomness.

    Args:
        make: makes the learner.
        rows: of the stream.
        seed: of the randomness.
        follow: runs the learner over a stream.
        before: noises of an earlier run, to be used again; None draws them.
        moved: what is added to those.

    Returns:
        What was shown, the noises, and a record of all draws.
    """
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
        _, shown = follow(make, rows, tape, given=False)
    return shown, np.concatenate([*drawn, np.empty(0, dtype=np.int64)]), tape.record


def unlearn_visit(rows: Rows, visit: int) -> Rows:
    """The visit takes place, and is not learned."""
    other = rows.copy()
    other[visit, 2] = 0.0
    return other


def replace_visit(rows: Rows, visit: int, feature: float, reward: float) -> Rows:
    """Another visitor, elsewhere, with another reward."""
    other = rows.copy()
    other[visit, [0, 3]] = feature, reward
    return other


EPSILON = 1.0
LARGE = 8.0
_LEFT = 0.0
_RIGHT = 1.0
"""Ends of the cube, where features are as long as the bound."""
_FEW = 1_000_000  # the share of pairs that get as few samples as there can be
_STREAM = 6
"""Visits of a stream; epochs end after 1, 3 and 6."""


def setting(**changes: Any) -> JointSetting:
    """Two own videos and a neighbour, whose rewards lie within (-1, 2), and three terms."""
    sizes = {"videos": 2, "neighbours": 1, "dimension": 1, "horizon": 100, "epsilon": EPSILON}
    plain = {"neighbour_range": (-1.0, 2.0), "degree": 2}
    return JointSetting(**{**sizes, **plain, **changes})


def joint(chosen: JointSetting) -> Make:
    """Make the shipped learner."""
    return lambda source: JointLearner(chosen, randomness=source)


def stream(*visits: tuple[float, int, float]) -> Rows:
    """(feature, arm, reward) each; then visits on both sides that are not learned."""
    learned = [(feature, arm, 1.0, reward) for feature, arm, reward in visits]
    rest = [(float(place % 2), 0, 0.0, 0.0) for place in range(_STREAM - len(visits))]
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
    ("an arm that was shown once", UNEXPLORED, 1),
    ("a tie of two arms", TIE, 1),
    ("a forwarded reward", FORWARDED, 0),
    ("a corner of the cube", stream(*[(_RIGHT, 0, 1.0)] * 4), 2),
)
"""Each with the visit that is learned, or is not."""


LOG = np.array([[_LEFT, 0, 1, 1.0], [_RIGHT, 1, 1, 1.0], [_LEFT, 1, 1, 0.0], [_RIGHT, 0, 1, 0.0]])
"""Rows of a log: each is learned."""


def in_epochs() -> AuditedClaim:
    """A visit that is learned, or is not: with all features, and with the constant alone.

    Samples show most where few numbers move, so most are drawn of the constant.
    """
    rows, visit = PAIRS[0][1:]
    few_numbers = setting(degree=0)
    checks = [_sums("the constant alone", few_numbers, rows, unlearn_visit(rows, visit), share=5)]
    for pair, rows, visit in PAIRS:
        checks.append(_sums(pair, setting(), rows, unlearn_visit(rows, visit), _FEW))
    return AuditedClaim(
        "sound-joint, epochs", EPSILON, tuple(checks), unit="visit", adjacency="learned or not"
    )


def learned_from_log() -> AuditedClaim:
    """A row of a log replaced by another, of another arm: it costs twice as much."""
    other = LOG.copy()
    other[1] = [_LEFT, 0, 1, 0.0]
    few_numbers = setting(epsilon=LARGE / 2, degree=0)
    chosen = setting(epsilon=LARGE / 2)
    checks = (
        _sums("another row", few_numbers, LOG, other, share=5, visits=2, follow=follow_log),
        _sums("all features", chosen, LOG, other, share=_FEW, visits=2, follow=follow_log),
    )
    return AuditedClaim("sound-joint, log", LARGE, checks, unit="visit", adjacency="replaced")


def replaced_visit() -> AuditedClaim:
    """A visit replaced by another costs twice as much."""
    rows = stream((_LEFT, 0, 1.0), (_RIGHT, 1, 0.0))
    other = replace_visit(rows, 0, _RIGHT, 0.0)
    few_numbers = setting(epsilon=LARGE / 2, degree=0)
    chosen = setting(epsilon=LARGE / 2)
    checks = (
        _sums("another visitor", few_numbers, rows, other, share=5, visits=2),
        _sums("all features", chosen, rows, other, share=_FEW, visits=2),
    )
    return AuditedClaim("sound-joint, replaced", LARGE, checks, unit="visit", adjacency="replaced")


def _sums(
    name: str,
    chosen: JointSetting,
    a: Rows,
    b: Rows,
    share: int,
    visits: int = 1,
    follow: Follow = follow_visits,
) -> Check:
    """Check everything released, exactly and by samples, and replay every choice.

    Args:
        name: of the pair.
        chosen: setting of the learner.
        a: (visits, 4) one of two neighbouring streams, with rows (feature, arm, answers, reward).
        b: (visits, 4) the other.
        share: of the samples of an audit, one in so many is drawn for this pair.
        visits: in which they differ.
        follow: runs the learner over a stream.
    """

    def check(samples: int, alpha: float) -> PairResult:
        learner = joint(chosen)
        pair = laplace_pair(
            name,
            release_by(learner, follow),
            a.tolist(),
            b.tolist(),
            distance=visits * chosen.noise.bound,
            share=share,
        )
        checked = on_the_bench(pair, samples=samples, alpha=alpha)
        differences = (*checked.differences, *find_differences(learner, a, b, follow))
        return replace(checked, differences=differences)

    return check


LINES: tuple[Callable[[], AuditedClaim], ...] = (in_epochs, learned_from_log, replaced_visit)
