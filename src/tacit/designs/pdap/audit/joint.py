"""Audit of joint privacy: whole streams of visits through JointLearner, end to end.

Neighbours  two streams that differ in one visit: it is learned in only one of them, or its content
            differs. In both, the visit takes place, which is public.
Log         rows of a log are learned; another policy chose their arms. Two neighbouring logs
            differ in the content of one row.
Moves       The learner runs over both streams without noise, and over the second one also with one
            noise set to 1 and all others to 0, for each noise in turn. The releases show by how
            much the centre of each noise moves between the streams. A difference between releases
            that no noise covers is a violation. Arms are prescribed in these runs, so that no
            choice depends on the noise.
Replay      Then the learner chooses the arms in both streams. Both get the same random words, and
            the noises of the second stream are those of the first plus the moves. So all releases
            are equal bit for bit. Then all beliefs must be equal, too, and so must the choices for
            all visitors except the one whose visit differs.
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
"""(visits, 4) a stream of visits. The columns are the feature in [0, 1], the arm (used if arms are
prescribed), the number of times that the visit is answered, and the reward.

The learner refuses a second answer, which therefore costs nothing."""
MakeLearner = Callable[[Source], JointLearner]
"""Makes a learner; the argument is the source of the learner's randomness."""


class VisitRecord(NamedTuple):
    """The choice for one visitor, and the beliefs at that time.

    Attributes:
        arm: the arm of the choice.
        phase: the phase of the choice.
        beliefs: bytes of the means and standard deviations of all arms, see `encode_beliefs`.
    """

    arm: int
    phase: str
    beliefs: bytes


class StreamResult(NamedTuple):
    """Releases and choices of a learner over a stream.

    Attributes:
        numbers: all released numbers in grains, the unit of the sums (`features.py`): an empty
            array, then for each release one array of likes and one of visits.
        records: the record of each visit.
    """

    numbers: list[NDArray[np.float64]]
    records: list[VisitRecord]


class StreamRunner(Protocol):
    """Runs a learner over a stream."""

    def __call__(
        self, make: MakeLearner, rows: Rows, source: Source, *, prescribes_arms: bool
    ) -> StreamResult:
        """Run the learner that `make` makes; args as in `run_visits`."""


_SEEDS = (0, 1)
"""Seeds of the random words with which two streams are compared."""


def run_visits(
    make: MakeLearner, rows: Rows, source: Source, *, prescribes_arms: bool
) -> StreamResult:
    """Run a learner over a stream of visits.

    Args:
        make: makes the learner.
        rows: the stream.
        source: the source of the learner's randomness.
        prescribes_arms: whether the rows prescribe the arms; otherwise the learner chooses.
    """
    policy = make(source)
    releases: list[Release | None] = []
    records: list[VisitRecord] = []
    for feature, arm, answers, reward in rows:
        choice = policy.select(np.array([feature]), [int(arm)] if prescribes_arms else None)
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
    return StreamResult(numbers_of(releases), records)


def run_log(
    make: MakeLearner, rows: Rows, source: Source, *, prescribes_arms: bool
) -> StreamResult:
    """Learn a log, two rows at a time, and serve one visit after each two rows.

    Args are those of `run_visits`. All rows of the log are learned, whatever their third column
    says. If arms are prescribed, the visits are shown arm 0.
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
        choice = policy.select(np.array([_LEFT]), [0] if prescribes_arms else None)
        releases += [policy.last_release, policy.last_log_release]
        records.append(VisitRecord(choice.arm, choice.phase, encode_beliefs(policy)))
    return StreamResult(numbers_of(releases), records)


def encode_beliefs(policy: JointLearner) -> bytes:
    """Encode the posterior means and deviations of all arms at four public points, bit for bit."""
    means, deviations = policy.estimate(public_points(policy.features.dimension)[:4])
    return bytes(means.tobytes() + deviations.tobytes())


def numbers_of(releases: Sequence[Release | None]) -> list[NDArray[np.float64]]:
    """Return the numbers of all releases in grains; a release that occurs twice is used once."""
    numbers: list[NDArray[np.float64]] = [np.empty(0)]  # `concatenate` needs at least one array
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
        result = run_stream(make, rows, secure(), prescribes_arms=True)
        return np.concatenate(result.numbers)

    return release


def find_differences(
    make: MakeLearner, rows_a: Rows, rows_b: Rows, run_stream: StreamRunner = run_visits
) -> tuple[str, ...]:
    """Find differences between two runs that the releases do not explain.

    Args:
        make: makes the learner.
        rows_a: one of two neighbouring streams.
        rows_b: the other stream.
        run_stream: runs the learner over a stream.

    Returns:
        A sentence for each difference; none if the learner is private.
    """
    differences: dict[str, None] = {}  # a set that keeps the order
    for seed in _SEEDS:
        for difference in _compare_runs(make, rows_a, rows_b, seed, run_stream):
            differences[difference] = None
    return tuple(differences)


def _compare_runs(
    make: MakeLearner, rows_a: Rows, rows_b: Rows, seed: int, run_stream: StreamRunner
) -> Iterator[str]:
    """Replay both streams with one seed, and yield a sentence for each unexplained difference."""
    replay_a = _replay(make, rows_a, seed, run_stream)
    streams = [rows_a, rows_b]
    if run_stream is run_visits:
        # Prescribe in both streams the arms that the learner chose in the first one.
        arms = [record.arm for record in replay_a.records]
        streams = [np.column_stack([rows[:, 0], arms, rows[:, 2:]]) for rows in (rows_a, rows_b)]
    noise_moves = measure_moves(release_by(make, run_stream), *streams)
    if noise_moves.is_unprotected:
        yield "releases of the two streams differ by more than noise explains"
        return
    replay_b = _replay(make, rows_b, seed, run_stream, replay_a.noises, noise_moves)
    if replay_a.draws != replay_b.draws:
        yield "the draws differ"
    is_same_visit = (rows_a == rows_b).all(axis=1).tolist()
    record_pairs = zip(replay_a.records, replay_b.records, strict=True)
    for visit, (record_a, record_b) in enumerate(record_pairs):
        # Only the visitor of the row that differs may be shown something else. A log has rows
        # without visitors, and its visits are the same in both runs.
        must_agree = run_stream is run_log or is_same_visit[visit]
        if record_a.beliefs != record_b.beliefs:
            yield f"something else is believed at visit {visit} although all releases agree"
        elif record_a != record_b and must_agree:
            yield f"visit {visit} is shown something else although all releases agree"


class _Replay(NamedTuple):
    """A run of a learner with replayed randomness.

    Attributes:
        records: the record of each visit.
        noises: all noises that were added, in the order of their draws.
        draws: a description of each draw.
    """

    records: list[VisitRecord]
    noises: NDArray[np.int64]
    draws: list[str]


def _replay(
    make: MakeLearner,
    rows: Rows,
    seed: int,
    run_stream: StreamRunner,
    earlier_noises: NDArray[np.int64] | None = None,
    noise_moves: Moves | None = None,
) -> _Replay:
    """Run a stream with replayed randomness.

    Args:
        make: makes the learner.
        rows: the stream.
        seed: the seed of the randomness.
        run_stream: runs the learner over a stream.
        earlier_noises: noises of an earlier run, to use again; None draws new ones.
        noise_moves: what is added to the earlier noises; None if there are no earlier noises.
    """
    tape = Tape(seed)
    noises: list[NDArray[np.int64]] = []

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        noisy = tape.answer(call)
        if earlier_noises is not None and noise_moves is not None:
            start = sum(part.size for part in noises)
            positions = slice(start, start + noisy.size)
            noise = earlier_noises[positions] + noise_moves.steps[positions]
            # If there are too few noises, the learner made other calls than in the earlier run,
            # and the draws will differ. `resize` repeats noises then.
            noisy = call.values + np.resize(noise, noisy.size).reshape(noisy.shape)
        noises.append((noisy - call.values).ravel())
        return noisy

    with intercept_samplers(answer):
        result = run_stream(make, rows, tape, prescribes_arms=False)
    all_noises = np.concatenate([*noises, np.empty(0, dtype=np.int64)])
    return _Replay(result.records, all_noises, tape.record)


def unlearn_visit(rows: Rows, visit: int) -> Rows:
    """Return the stream in which this visit takes place, but is not answered."""
    other = rows.copy()
    other[visit, 2] = 0.0
    return other


def replace_visit(rows: Rows, visit: int, feature: float, reward: float) -> Rows:
    """Return the stream in which this visit has the given feature and reward."""
    other = rows.copy()
    other[visit, 0] = feature
    other[visit, 3] = reward
    return other


EPSILON = 1.0
"""Epsilon that is claimed for one visit, learned or not learned."""
LARGE_EPSILON = 8.0
"""Epsilon that is claimed for one visit that is replaced."""
_LEFT = 0.0
"""A feature at one end of the cube, where the norm of phi is at its bound."""
_RIGHT = 1.0
"""A feature at the other end, where the norm of phi is at its bound, too."""
_LARGEST_DIVISOR = 1_000_000
"""The `sample_divisor` of pairs for which as few samples as possible are drawn."""
_STREAM_VISITS = 6
"""Number of visits of a stream; epochs end after visits 1, 3 and 6."""


def make_setting(**changes: Any) -> JointSetting:
    """Return a setting with two own videos and a neighbour with rewards in [-1, 2].

    By default, the features phi of a context (`features.py`) have 3 terms.
    """
    sizes = {"videos": 2, "neighbours": 1, "dimension": 1, "horizon": 100, "epsilon": EPSILON}
    defaults = {"neighbour_range": (-1.0, 2.0), "degree": 2}
    return JointSetting(**{**sizes, **defaults, **changes})


def learner_maker(setting_of_learner: JointSetting) -> MakeLearner:
    """Return a maker of learners with this setting."""
    return lambda source: JointLearner(setting_of_learner, randomness=source)


def stream(*visits: tuple[float, int, float]) -> Rows:
    """Make a stream of `_STREAM_VISITS` visits.

    Args:
        visits: (feature, arm, reward) of the first visits, which are learned. The features of the
            further visits alternate between both ends of the cube; these visits are not learned.
    """
    learned = [(feature, arm, 1.0, reward) for feature, arm, reward in visits]
    n_unlearned = _STREAM_VISITS - len(visits)
    unlearned = [(float(number % 2), 0, 0.0, 0.0) for number in range(n_unlearned)]
    return np.array([*learned, *unlearned])


UNEXPLORED = stream((_RIGHT, 0, 1.0), (_LEFT, 1, 1.0), (_LEFT, 0, 0.0))
"""A stream in which the second visit is the only one of its arm."""
FORWARDED = stream((_LEFT, 2, 2.0), (_LEFT, 0, 1.0))
"""A stream with a neighbour's reward at the upper end of its range."""
TIE = stream((_LEFT, 0, 1.0), (_LEFT, 1, 1.0), (_LEFT, 0, 0.0), (_LEFT, 1, 0.0))
"""A stream in which two arms have the same rewards."""
ANSWERED_TWICE = FORWARDED.copy()
ANSWERED_TWICE[0, 2] = 2
"""A stream in which the first visit is answered twice, the second once, and the others never."""
PAIRS: tuple[tuple[str, Rows, int], ...] = (
    ("an arm that was shown once", UNEXPLORED, 1),
    ("a tie of two arms", TIE, 1),
    ("a forwarded reward", FORWARDED, 0),
    ("a corner of the cube", stream(*[(_RIGHT, 0, 1.0)] * 4), 2),
)
"""For each pair of streams: its name, the first stream, and the visit that is not learned in the
second stream."""


LOG = np.array([[_LEFT, 0, 1, 1.0], [_RIGHT, 1, 1, 1.0], [_LEFT, 1, 1, 0.0], [_RIGHT, 0, 1, 0.0]])
"""A log of four rows, with the columns of `Rows`; all rows are learned."""


def unlearned_visit_claim() -> AuditedClaim:
    """Make the claim about a visit that is learned in one stream and not in the other.

    It is checked with all terms of phi, and with the constant alone. Samples show most where few
    numbers move, so most samples are drawn for the constant.
    """
    _, rows, visit = PAIRS[0]
    constant_only = make_setting(degree=0)
    other = unlearn_visit(rows, visit)
    checks = [_check_stream("the constant alone", constant_only, rows, other, sample_divisor=5)]
    for pair, rows, visit in PAIRS:
        other = unlearn_visit(rows, visit)
        checks.append(_check_stream(pair, make_setting(), rows, other, _LARGEST_DIVISOR))
    return AuditedClaim(
        "sound-joint, epochs", EPSILON, tuple(checks), unit="visit", adjacency="learned or not"
    )


def replaced_log_row_claim() -> AuditedClaim:
    """Make the claim about a row of a log that is replaced by another row.

    Replacing a row costs twice as much as leaving it out. So the learner has half of LARGE_EPSILON.
    """
    other = LOG.copy()
    other[1] = [_LEFT, 0, 1, 0.0]
    constant_only = make_setting(epsilon=LARGE_EPSILON / 2, degree=0)
    all_features = make_setting(epsilon=LARGE_EPSILON / 2)
    checks = (
        _check_stream(
            "another row",
            constant_only,
            LOG,
            other,
            sample_divisor=5,
            changes=2,
            run_stream=run_log,
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
    """Make the claim about a visit that is replaced by another visit.

    Replacing a visit costs twice as much as not learning it. So the learner has half of
    LARGE_EPSILON.
    """
    rows = stream((_LEFT, 0, 1.0), (_RIGHT, 1, 0.0))
    other = replace_visit(rows, 0, _RIGHT, 0.0)
    constant_only = make_setting(epsilon=LARGE_EPSILON / 2, degree=0)
    all_features = make_setting(epsilon=LARGE_EPSILON / 2)
    checks = (
        _check_stream("another visitor", constant_only, rows, other, sample_divisor=5, changes=2),
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
    rows_a: Rows,
    rows_b: Rows,
    sample_divisor: int,
    changes: int = 1,
    run_stream: StreamRunner = run_visits,
) -> Check:
    """Return a check of everything that is released, and of all choices in a replay.

    Args:
        name: the name of the pair.
        setting_of_learner: the public settings of the audited learner.
        rows_a: (visits, 4) one of two neighbouring streams.
        rows_b: (visits, 4) the other stream.
        sample_divisor: one in `sample_divisor` of an audit's samples is drawn for this pair.
        changes: visits by which the streams differ; a replaced visit counts twice.
        run_stream: runs the learner over a stream.
    """

    def check(samples: int, alpha: float) -> PairResult:
        make = learner_maker(setting_of_learner)
        pair = laplace_pair(
            name,
            release_by(make, run_stream),
            rows_a.tolist(),
            rows_b.tolist(),
            distance=changes * setting_of_learner.noise.bound,
            sample_divisor=sample_divisor,
        )
        result = check_pair(pair, samples=samples, alpha=alpha)
        differences = (*result.differences, *find_differences(make, rows_a, rows_b, run_stream))
        return replace(result, differences=differences)

    return check


CLAIMS: tuple[Callable[[], AuditedClaim], ...] = (
    unlearned_visit_claim,
    replaced_log_row_claim,
    replaced_visit_claim,
)
"""Functions that each make one claim of the audit."""
