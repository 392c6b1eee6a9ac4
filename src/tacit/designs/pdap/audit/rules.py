"""P-DAP's policies in the words of the rule engine, step by step as their code has them.

Source   Zhou, Zhou, Wu, Jin (2015), Algorithms 1 and 2; `designs/pdap/` for how they are read.
Reading  A step is infinite if what it does follows from contexts, clicks or counts as they are.

Whole streams of visits through learners with joint privacy: joint.py and baselines/linucb.py.

Neighbours  differ in one visit that is learned, or is not; that it takes place is public.
Moves       The shipped learner runs both streams without noise, and one of them with a 1 in each
            noise (`impulse`): which noises cover the visit, and by how much their centres move, is
            read from all that is released. Arms are given from outside, as `select` allows, so that
            nothing depends on the noise.
Replay      Then the learner chooses by itself. Both streams get the same random words, and the
            second one's noises are the first one's plus the moves: so all releases agree to the
            last bit, and every choice that anybody else gets must agree. What does not was made
            from something that is not released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.rules import Answered, Branch, Chosen, Noised, Private, Public, Rule
from tacit.auditing.rules import upper_bound as bound_of
from tacit.auditing.sampler_spy import Asked, Moves, Tape, moves, tapped
from tacit.designs.pdap import theory
from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.joint_sums import GRAIN, SumNoise
from tacit.designs.pdap.local import Context
from tacit.errors import PrivacyError
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.randomness import Source, secure


@dataclass(frozen=True)
class Step:
    """What one step of a policy tells about one unit, and what the rules allow it."""

    policy: str
    unit: str
    step: str
    rule: Rule

    @property
    def bound(self) -> float:
        """Nats; infinite if the description allows none."""
        return bound_of(self.rule)


LARGEST_MEAN = Private()
"""The arm of the largest mean, which is one of true rewards."""
UNEXPLORED = Private()
"""Which arm is still to be tried: it follows from the counts of the visitor's cell."""
OWN_OR_FORWARDED = Branch(Private(), Public("own"), Public("forwarded"))
SPLIT = Branch(Private(), Public("children"), Public("parent"))
"""Whether a cell was split, by its exact number of visits."""
RAW_REWARD = Private()


def draw(epsilon: float, level: int) -> Rule:
    """ExP-DAP's draw: means of two cells differ by up to 1, whatever Delta u is taken to be."""
    return Chosen(1, theory.draw_exponent(epsilon, 1, 2, 1, level))


def tree(horizon: int, levels: float, epsilon: float) -> Rule:
    """A tree with Laplace noise of scale levels / epsilon: a reward is in all of its levels."""
    return Noised(theory.levels(horizon), levels / epsilon)


def sums(noise: SumNoise) -> Rule:
    """Joint privacy's sums: a visit moves one pair by L1 1."""
    # One step of the scale is asked for with a margin; the accountant's price has it.
    return Noised(GRAIN, GRAIN / noise.epsilon)


def report(policy: Context) -> Rule:
    """Cell and click by randomised response."""
    return response(policy.setting.report_epsilon, 2 * len(policy.grid))


def forward(agreement: Agreement) -> Rule:
    """A context's cell by randomised response."""
    return response(agreement.epsilon, agreement.answers)


def response(epsilon: float, categories: int) -> Rule:
    return Answered(KaryResponse(epsilon, categories).truth, categories)


def answer(epsilon: float) -> Rule:
    """A guest's reward."""
    return Answered(BitRelease(epsilon).truth)


_EXPLORATION = "which arm is explored"
_SPLIT = "when a cell splits"


def _of_own_users(policy: str, epsilon: float) -> tuple[Step, ...]:
    return (
        Step(policy, "context", _EXPLORATION, UNEXPLORED),
        Step(policy, "context", "draw among own videos, level 5", draw(epsilon, 5)),
        Step(policy, "context", "own or forwarded, by means", OWN_OR_FORWARDED),
        Step(policy, "visit", _SPLIT, SPLIT),
    )


def _of_guests(policy: str, epsilon: float) -> tuple[Step, ...]:
    return (
        Step(policy, "reward", "reward sent while exploring", RAW_REWARD),
        Step(policy, "reward", "largest mean", LARGEST_MEAN),
        Step(policy, "reward", "noisy total, T = 1,024", tree(1024, theory.levels(1024), epsilon)),
        Step(policy, "visit", _SPLIT, SPLIT),
    )


def _without_noise(policy: str) -> tuple[Step, ...]:
    return (
        Step(policy, "context", _EXPLORATION, UNEXPLORED),
        Step(policy, "context", "largest mean", LARGEST_MEAN),
    )


EPSILON = 0.1
"""epsilon' of the steps below."""
STEPS: tuple[Step, ...] = (
    *_without_noise("cap"),
    *_without_noise("dup"),
    *_without_noise("dap"),
    *_of_own_users("p-dap", EPSILON),
    *_of_guests("p-dap, guests", EPSILON),
    *_of_own_users("gp-dap", theory.epsilon_at(EPSILON, 2, 1, 5, geometric=True)),
    *_of_guests("gp-dap, guests", EPSILON),
    Step("sound-joint", "visit", "sums in epochs", sums(SumNoise(1.0))),
    Step("sound-context", "visit", "report of 4 cells", response(0.5, 8)),
    Step("messages", "context", "forward, 9 cells", forward(Agreement(2, 3, 1.0))),
    Step("messages", "reward", "answer", answer(1.0)),
)
"""The first two groups publish without bound; the last have one, at epsilon 1 each."""

INFINITE = ("cap", "dup", "dap", "p-dap", "p-dap, guests", "gp-dap", "gp-dap, guests")
"""Policies that no epsilon bounds: at least one step of each is infinite."""


def by_policy() -> dict[str, float]:
    """The largest bound of each policy's steps."""
    found: dict[str, float] = {}
    for step in STEPS:
        found[step.policy] = max(found.get(step.policy, 0.0), step.bound)
    return found


Rows = NDArray[np.float64]
"""One visit each: feature in [0, 1], arm where arms are given, how often it is answered, reward.

A second answer is refused by all that is shipped, and costs nothing."""
Shown = tuple[int, str, float]
"""arm, phase and chance of a choice."""

SEEDS = (0, 1)
_REWARD = 3


Released = Callable[[Any], tuple[object, NDArray[np.float64]] | None]
"""Of a learner, what it has released last: something that is another object after each release, and
all numbers of it; None before anything was."""


@dataclass(frozen=True)
class Learner:
    """make: a new one."""

    make: Callable[[Source], Any]
    released: Released


@dataclass(frozen=True)
class Run:
    """What one stream led to."""

    releases: tuple[NDArray[np.float64], ...]
    shown: tuple[Shown, ...]


def followed(learner: Learner, rows: Rows, source: Source, *, given: bool) -> Run:
    """given: whether arms are those of the rows, or the learner's own."""
    policy = learner.make(source)
    releases: list[NDArray[np.float64]] = []
    shown: list[Shown] = []
    last: object = None
    for feature, arm, answers, reward in rows:
        choice = policy.select(np.array([feature]), [int(arm)] if given else None)
        shown.append((choice.arm, choice.phase, choice.chance))
        last = _noted(learner.released(policy), last, releases)
        for again in range(int(answers)):
            with suppress(PrivacyError) if again else nullcontext():
                policy.update(choice, reward)
    policy.until_release()
    _noted(learner.released(policy), last, releases)
    return Run(tuple(releases), tuple(shown))


def _noted(
    found: tuple[object, NDArray[np.float64]] | None, last: object, releases: list[Any]
) -> object:
    if found is None or found[0] is last:
        return last
    releases.append(found[1])
    return found[0]


def released(learner: Learner) -> Callable[[Rows], NDArray[np.float64]]:
    """All numbers that a stream with given arms makes the learner release."""

    def run(rows: Rows) -> NDArray[np.float64]:
        return np.concatenate(followed(learner, rows, secure(), given=True).releases)

    return run


def distinguished(learner: Learner, a: Rows, b: Rows) -> tuple[str, ...]:
    """What all others are shown that the releases do not explain; nothing if all is well."""
    return tuple(
        dict.fromkeys(found for seed in SEEDS for found in _seen_apart(learner, a, b, seed))
    )


def _seen_apart(learner: Learner, a: Rows, b: Rows, seed: int) -> Iterator[str]:
    first, noises, record = _replayed(learner, a, seed)
    arms = [arm for arm, _, _ in first.shown]
    given = [rows.copy() for rows in (a, b)]
    for rows in given:
        rows[:, 1] = arms
    moved = moves(released(learner), *given)
    if moved.bare:
        yield "something that is released moves without noise"
        return
    second, _, other = _replayed(learner, b, seed, noises, moved)
    if record != other:
        yield "the draws differ"
    victims = (a != b).any(axis=1)
    for visit in np.flatnonzero(~victims).tolist():
        if first.shown[visit] != second.shown[visit]:
            yield f"visit {visit} is shown something else although all releases agree"


def _replayed(
    learner: Learner,
    rows: Rows,
    seed: int,
    before: NDArray[np.int64] | None = None,
    moved: Moves | None = None,
) -> tuple[Run, NDArray[np.int64], list[str]]:
    """The run, its noises and what was asked for. before, moved: noises to use, and to add."""
    tape = Tape(seed)
    drawn: list[NDArray[np.int64]] = []

    def answer(asked: Asked) -> NDArray[np.int64]:
        noisy = tape.answer(asked)
        at = sum(part.size for part in drawn)
        if before is not None and moved is not None:
            upto = slice(at, at + noisy.size)
            shift = before[upto] + moved.steps[upto]
            noisy = asked.values + np.resize(shift, noisy.size).reshape(noisy.shape)
        drawn.append((noisy - asked.values).ravel())
        return noisy

    with tapped(answer):
        run = followed(learner, rows, tape, given=False)
    return run, np.concatenate([*drawn, np.empty(0, dtype=np.int64)]), tape.record


def without(rows: Rows, visit: int) -> Rows:
    """The visit takes place, and is not learned."""
    other = rows.copy()
    other[visit, 2] = 0.0
    return other


def instead(rows: Rows, visit: int, feature: float, reward: float) -> Rows:
    """Another visitor, elsewhere, with another reward."""
    other = rows.copy()
    other[visit, 0], other[visit, _REWARD] = feature, reward
    return other
