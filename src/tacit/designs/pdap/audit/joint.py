"""Audit of joint privacy: whole streams of visits through JointLearner, end to end.

Neighbours  two streams that differ in whether one visit is learned; that it takes place is public.
Log         rows of a log are learned without choices of the learner; two neighbouring logs differ
            in the content of one row.
Moves       The learner runs both streams without noise, and one of them with a 1 in each noise.
            The difference of the releases shows which noises cover the visit, and by how much their
            centres move. Arms are prescribed here, so that nothing depends on the noise.
Replay      Then the learner chooses itself. Both streams get the same random words, and the
            noises of the second are those of the first plus the moves. So all releases are equal
            bit for bit, and all beliefs, and all choices for other visitors, must be equal, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditedClaim, Check, PairResult
from tacit.auditing.pairs import check_pair
from tacit.auditing.sampler_spy import Moves, SamplerCall, Tape, intercept_samplers, measure_moves
from tacit.auditing.shipped_noise import laplace_pair
from tacit.designs.pdap.features import GRAINS, public_points
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.sums import Release
from tacit.errors import PrivacyError
from tacit.randomness import Source, secure

Rows = NDArray[np.float64]
"""A stream of visits. The columns of a row are the feature in [0, 1], the arm (used where arms are
prescribed), how often the visit is answered, and the reward.

A second answer is refused by the learner, and costs nothing."""
MakeLearner = Callable[[Source], JointLearner]
"""Makes a learner whose randomness comes from a source."""


class VisitRecord(NamedTuple):
    """The choice for one visitor, and all beliefs at that time.

    Attributes:
        arm: of the choice.
        phase: of the choice.
        beliefs: bytes of all means and standard deviations.
    """

    arm: int
    phase: str
    beliefs: bytes


class StreamRunner(Protocol):
    """Runs a learner over a stream."""

    def __call__(
        self, make: MakeLearner, rows: Rows, source: Source, *, given: bool
    ) -> tuple[list[NDArray[np.float64]], list[VisitRecord]]:
        """Return all numbers that were released, and a record of each visit."""


_SEEDS = (0, 1)


def run_visits(
    make: MakeLearner, rows: Rows, source: Source, *, given: bool
) -> tuple[list[NDArray[np.float64]], list[VisitRecord]]:
    """Run a learner over a stream of visits.

    Args:
        make: makes the learner.
        rows: of the stream.
        source: of its randomness.
        given: whether the arms of the rows are prescribed; otherwise the learner chooses.

    Returns:
        All numbers that were released, in grains, and a record of each visit.
    """
    policy = make(source)
    releases: list[Release | None] = []
    records: list[VisitRecord] = []
    for feature, arm, answers, reward in rows:
        choice = policy.select(np.array([feature]), [int(arm)] if given else None)
        releases.append(policy.last_release)
        records.append(VisitRecord(choice.arm, choice.phase, encode_beliefs(policy)))
        for number in range(int(answers)):
            if number == 0:
                policy.update(choice, reward)
            else:
                with suppress(PrivacyError):
                    policy.update(choice, reward)
    policy.select(np.array([_LEFT]))  # releases an epoch that is due
    releases.append(policy.last_release)
    return numbers_of(releases), records


def run_log(
    make: MakeLearner, rows: Rows, source: Source, *, given: bool
) -> tuple[list[NDArray[np.float64]], list[VisitRecord]]:
    """Learn a log, two rows at a time, and serve one visit after each two rows.

    Args and result are those of `run_visits`; all rows of the log are learned.
    """
    policy = make(source)
    releases: list[Release | None] = []
    records: list[VisitRecord] = []
    for start in range(0, len(rows), 2):
        two_rows = rows[start : start + 2]
        contexts = two_rows[:, :1]
        arms = two_rows[:, 1].astype(np.int64).tolist()
        policy.learn_log(arms, contexts, two_rows[:, 3].tolist())
        policy.epochs.end_now()
        choice = policy.select(np.array([_LEFT]), [0] if given else None)
        releases += [policy.last_release, policy.last_log_release]
        records.append(VisitRecord(choice.arm, choice.phase, encode_beliefs(policy)))
    return numbers_of(releases), records


def encode_beliefs(policy: JointLearner) -> bytes:
    """Encode the means and standard deviations of all arms at four public points, bit for bit."""
    means, deviations = policy.estimate(public_points(policy.features.dimension)[:4])
    return bytes(means.tobytes() + deviations.tobytes())


def numbers_of(releases: Sequence[Release | None]) -> list[NDArray[np.float64]]:
    """Return the numbers of all releases in grains, without repetitions of the same release."""
    numbers: list[NDArray[np.float64]] = [np.empty(0)]  # so that it can always be concatenated
    included: set[int] = set()
    for release in releases:
        if release is not None and id(release) not in included:
            numbers += [GRAINS * release.likes.ravel(), GRAINS * release.visits.ravel()]
            included.add(id(release))
    return numbers


def release_by(
    make: MakeLearner, run_stream: StreamRunner = run_visits
) -> Callable[[Rows], NDArray[np.float64]]:
    """Return a function that maps a stream, with prescribed arms, to all released numbers."""

    def release(rows: Rows) -> NDArray[np.float64]:
        numbers, _ = run_stream(make, rows, secure(), given=True)
        return np.concatenate(numbers)

    return release


def find_differences(
    make: MakeLearner, a: Rows, b: Rows, run_stream: StreamRunner = run_visits
) -> tuple[str, ...]:
    """Find differences between two runs that the releases do not explain.

    Args:
        make: makes the learner.
        a: one of two neighbouring streams.
        b: the other.
        run_stream: runs the learner over a stream.

    Returns:
        A sentence for each difference; none if the learner is private.
    """
    differences: dict[str, None] = {}  # a set that keeps the order
    for seed in _SEEDS:
        for difference in _compare_runs(make, a, b, seed, run_stream):
            differences[difference] = None
    return tuple(differences)


def _compare_runs(
    make: MakeLearner, a: Rows, b: Rows, seed: int, run_stream: StreamRunner
) -> Iterator[str]:
    """Replay both streams with one seed, and yield a sentence for each unexplained difference."""
    records_a, noises, draws_a = _replay(make, a, seed, run_stream)
    streams = [a, b]
    if run_stream is run_visits:
        # Prescribe the arms that the learner chose in the first stream.
        arms = [record.arm for record in records_a]
        streams = [np.column_stack([rows[:, 0], arms, rows[:, 2:]]) for rows in (a, b)]
    noise_moves = measure_moves(release_by(make, run_stream), *streams)
    if noise_moves.is_unprotected:
        yield "something that is released moves without noise"
        return
    records_b, _, draws_b = _replay(make, b, seed, run_stream, noises, noise_moves)
    if draws_a != draws_b:
        yield "the draws differ"
    is_same_visit = (a == b).all(axis=1).tolist()
    for visit, (record_a, record_b) in enumerate(zip(records_a, records_b, strict=True)):
        # Only the visitor who differs may be shown something else.
        must_agree = run_stream is run_log or is_same_visit[visit]
        if record_a.beliefs != record_b.beliefs:
            yield f"something else is believed at visit {visit} although all releases agree"
        elif record_a != record_b and must_agree:
            yield f"visit {visit} is shown something else although all releases agree"


def _replay(
    make: MakeLearner,
    rows: Rows,
    seed: int,
    run_stream: StreamRunner,
    earlier_noises: NDArray[np.int64] | None = None,
    noise_moves: Moves | None = None,
) -> tuple[list[VisitRecord], NDArray[np.int64], list[str]]:
    """Run a stream with replayed randomness.

    Args:
        make: makes the learner.
        rows: of the stream.
        seed: of the randomness.
        run_stream: runs the learner over a stream.
        earlier_noises: noises of an earlier run, to use again; None draws new ones.
        noise_moves: added to the earlier noises.

    Returns:
        A record of each visit, all noises, and a record of all draws.
    """
    tape = Tape(seed)
    noises: list[NDArray[np.int64]] = []

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        noisy = tape.answer(call)
        if earlier_noises is not None and noise_moves is not None:
            start = sum(part.size for part in noises)
            here = slice(start, start + noisy.size)
            noise = earlier_noises[here] + noise_moves.steps[here]
            # If there are too few, the learner made other calls, which the draws will show.
            noisy = call.values + np.resize(noise, noisy.size).reshape(noisy.shape)
        noises.append((noisy - call.values).ravel())
        return noisy

    with intercept_samplers(answer):
        _, records = run_stream(make, rows, tape, given=False)
    all_noises = np.concatenate([*noises, np.empty(0, dtype=np.int64)])
    return records, all_noises, tape.record


def unlearn_visit(rows: Rows, visit: int) -> Rows:
    """Return the stream in which a visit takes place, but is not answered."""
    other = rows.copy()
    other[visit, 2] = 0.0
    return other


def replace_visit(rows: Rows, visit: int, feature: float, reward: float) -> Rows:
    """Return the stream in which a visit has another context and another reward."""
    other = rows.copy()
    other[visit, 0] = feature
    other[visit, 3] = reward
    return other


EPSILON = 1.0
"""Claimed for one visit that is learned, or is not."""
LARGE_EPSILON = 8.0
"""Claimed for one visit that is replaced."""
_LEFT = 0.0
"""A feature at one end of the cube, where the norm of the features is at its bound."""
_RIGHT = 1.0
"""A feature at the other end."""
_LARGEST_DIVISOR = 1_000_000
"""The `sample_divisor` of pairs for which as few samples as possible are drawn."""
_STREAM = 6
"""Visits of a stream; epochs end after 1, 3 and 6."""


def make_setting(**changes: Any) -> JointSetting:
    """Return a setting with two own videos, a neighbour with rewards in [-1, 2], and 3 terms."""
    sizes = {"videos": 2, "neighbours": 1, "dimension": 1, "horizon": 100, "epsilon": EPSILON}
    defaults = {"neighbour_range": (-1.0, 2.0), "degree": 2}
    return JointSetting(**{**sizes, **defaults, **changes})


def learner_maker(setting_of_learner: JointSetting) -> MakeLearner:
    """Return a maker of learners with this setting."""
    return lambda source: JointLearner(setting_of_learner, randomness=source)


def stream(*visits: tuple[float, int, float]) -> Rows:
    """Make a stream of `_STREAM` visits.

    Args:
        visits: (feature, arm, reward) of the first visits, which are learned. The further visits
            alternate between both ends of the cube, and are not learned.
    """
    learned = [(feature, arm, 1.0, reward) for feature, arm, reward in visits]
    n_unlearned = _STREAM - len(visits)
    unlearned = [(float(number % 2), 0, 0.0, 0.0) for number in range(n_unlearned)]
    return np.array([*learned, *unlearned])


UNEXPLORED = stream((_RIGHT, 0, 1.0), (_LEFT, 1, 1.0), (_LEFT, 0, 0.0))
"""A stream in which the second visit is the only one of its arm."""
FORWARDED = stream((_LEFT, 2, 2.0), (_LEFT, 0, 1.0))
"""A stream with a neighbour's reward at the end of its range."""
TIE = stream((_LEFT, 0, 1.0), (_LEFT, 1, 1.0), (_LEFT, 0, 0.0), (_LEFT, 1, 0.0))
"""A stream in which two arms have the same rewards."""
ANSWERED_TWICE = FORWARDED.copy()
ANSWERED_TWICE[0, 2] = 2
"""A stream in which the first visit is answered twice, the second once, and no other."""
PAIRS: tuple[tuple[str, Rows, int], ...] = (
    ("an arm that was shown once", UNEXPLORED, 1),
    ("a tie of two arms", TIE, 1),
    ("a forwarded reward", FORWARDED, 0),
    ("a corner of the cube", stream(*[(_RIGHT, 0, 1.0)] * 4), 2),
)
"""For each pair, its name, the stream, and the visit that is learned in one of the two streams."""


LOG = np.array([[_LEFT, 0, 1, 1.0], [_RIGHT, 1, 1, 1.0], [_LEFT, 1, 1, 0.0], [_RIGHT, 0, 1, 0.0]])
"""Rows of a log: each is learned."""


def unlearned_visit_claim() -> AuditedClaim:
    """Make the claim about a visit that is learned, or is not.

    It is checked with all features, and with the constant alone. Samples can show most where few
    numbers move, so most are drawn for the constant.
    """
    _, rows, visit = PAIRS[0]
    few_numbers = make_setting(degree=0)
    other = unlearn_visit(rows, visit)
    checks = [_check_stream("the constant alone", few_numbers, rows, other, sample_divisor=5)]
    for pair, rows, visit in PAIRS:
        other = unlearn_visit(rows, visit)
        checks.append(_check_stream(pair, make_setting(), rows, other, _LARGEST_DIVISOR))
    return AuditedClaim(
        "sound-joint, epochs", EPSILON, tuple(checks), unit="visit", adjacency="learned or not"
    )


def replaced_log_row_claim() -> AuditedClaim:
    """Make the claim about a row of a log that is replaced by one of another arm.

    It costs twice as much as a row that is learned, or is not.
    """
    other = LOG.copy()
    other[1] = [_LEFT, 0, 1, 0.0]
    few_numbers = make_setting(epsilon=LARGE_EPSILON / 2, degree=0)
    all_features = make_setting(epsilon=LARGE_EPSILON / 2)
    checks = (
        _check_stream(
            "another row", few_numbers, LOG, other, sample_divisor=5, changes=2, run_stream=run_log
        ),
        _check_stream(
            "all features",
            all_features,
            LOG,
            other,
            sample_divisor=_LARGEST_DIVISOR,
            changes=2,
            run_stream=run_log,
        ),
    )
    return AuditedClaim(
        "sound-joint, log", LARGE_EPSILON, checks, unit="visit", adjacency="replaced"
    )


def replaced_visit_claim() -> AuditedClaim:
    """Make the claim about a visit that is replaced by another one.

    It costs twice as much as a visit that is learned, or is not.
    """
    rows = stream((_LEFT, 0, 1.0), (_RIGHT, 1, 0.0))
    other = replace_visit(rows, 0, _RIGHT, 0.0)
    few_numbers = make_setting(epsilon=LARGE_EPSILON / 2, degree=0)
    all_features = make_setting(epsilon=LARGE_EPSILON / 2)
    checks = (
        _check_stream("another visitor", few_numbers, rows, other, sample_divisor=5, changes=2),
        _check_stream(
            "all features", all_features, rows, other, sample_divisor=_LARGEST_DIVISOR, changes=2
        ),
    )
    return AuditedClaim(
        "sound-joint, replaced", LARGE_EPSILON, checks, unit="visit", adjacency="replaced"
    )


def _check_stream(
    name: str,
    setting_of_learner: JointSetting,
    a: Rows,
    b: Rows,
    sample_divisor: int,
    changes: int = 1,
    run_stream: StreamRunner = run_visits,
) -> Check:
    """Return a check of everything that is released, and of all choices in a replay.

    Args:
        name: of the pair.
        setting_of_learner: its public settings.
        a: (visits, 4) one of two neighbouring streams.
        b: (visits, 4) the other.
        sample_divisor: one in `sample_divisor` of an audit's samples is drawn for this pair.
        changes: visits by which the streams differ; a replaced visit counts twice.
        run_stream: runs the learner over a stream.
    """

    def check(samples: int, alpha: float) -> PairResult:
        make = learner_maker(setting_of_learner)
        pair = laplace_pair(
            name,
            release_by(make, run_stream),
            a.tolist(),
            b.tolist(),
            distance=changes * setting_of_learner.noise.bound,
            sample_divisor=sample_divisor,
        )
        result = check_pair(pair, samples=samples, alpha=alpha)
        differences = (*result.differences, *find_differences(make, a, b, run_stream))
        return replace(result, differences=differences)

    return check


LINES: tuple[Callable[[], AuditedClaim], ...] = (
    unlearned_visit_claim,
    replaced_log_row_claim,
    replaced_visit_claim,
)
