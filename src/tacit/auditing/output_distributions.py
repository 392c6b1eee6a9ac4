"""Output distributions of the running code, by enumeration of its draws; and checks that use them.

The sampler `draw_rows` draws an index with chances proportional to whole weights. Here it is
replaced by one that records the weights and returns a given index, and the program is run once for
each sequence of indices. A randomised response is given fixed 64-bit words in place of random
ones. The sampler is replaced for the whole process, so only one thread may do this at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import exact_losses
from tacit.auditing.claims import Check, PairResult
from tacit.auditing.empirical import audit, best_known_event
from tacit.auditing.rules import Rule, upper_bound
from tacit.mechanisms.weights import draw_rows as shipped_draw_rows
from tacit.randomness import Source

T = TypeVar("T")
Weights = tuple[int, ...]
"""Whole weights of the indices that a draw can give."""
IsEnumerated = Callable[[str, int], bool]
"""Says for the name of the drawing module and the row whether such draws are enumerated. Other
draws, which must not matter to the result, give the first possible index."""

DRAW = "draw_rows"
"""Name of the sampler in every module that imports it."""
_LYING_WORD = (1 << 53) - 1
"""A word for which a randomised response lies, if its chance to lie is above 0."""
_UNEXPECTED = -1
"""The number that stands for every outcome that is in neither distribution."""
_FEWEST_RUNS = 100
"""Fewest runs of each program in a check."""


@dataclass(frozen=True)
class Execution(Generic[T]):
    """One run of a program: its enumerated draws, and its result."""

    draws: tuple[tuple[Weights, int], ...]
    """For each draw, the weights and the index that was drawn."""
    result: T
    """What the program returned."""

    @property
    def chance(self) -> Fraction:
        """The chance that the draws give these indices."""
        chance = Fraction(1)
        for weights, index in self.draws:
            chance *= Fraction(weights[index], sum(weights))
        return chance

    @property
    def indices(self) -> tuple[int, ...]:
        """The index that each draw gave."""
        return tuple(index for _, index in self.draws)


def enumerate_all(_module: str, _row: int) -> bool:
    """Say that every draw is enumerated: the default `IsEnumerated`."""
    return True


def executions(
    program: Callable[[], T], is_enumerated: IsEnumerated = enumerate_all
) -> Iterator[Execution[T]]:
    """Run a program once for each sequence of indices that its enumerated draws can give."""
    indices: list[int] | None = []
    n_loaded = 0  # modules when those that draw were last looked for
    modules: list[ModuleType] = []
    while indices is not None:
        if len(sys.modules) != n_loaded:  # a run of the program may import more of them
            n_loaded, modules = len(sys.modules), _modules_that_draw()
        execution = _execute(program, indices, is_enumerated, modules)
        yield execution
        indices = _next_indices(execution.draws)


def _modules_that_draw() -> list[ModuleType]:
    """Return every loaded module of tacit that has imported the shipped sampler of weights."""
    modules = []
    for name, module in list(sys.modules.items()):
        if not name.startswith("tacit.") or name == __name__:
            continue
        if getattr(module, DRAW, None) is shipped_draw_rows:
            modules.append(module)
    return modules


def execute(
    program: Callable[[], T], indices: Sequence[int], is_enumerated: IsEnumerated = enumerate_all
) -> Execution[T]:
    """Run a program whose enumerated draws give `indices`.

    Further draws, and draws that are not enumerated, give the first index with a weight above 0.
    """
    return _execute(program, indices, is_enumerated, _modules_that_draw())


def _execute(
    program: Callable[[], T],
    indices: Sequence[int],
    is_enumerated: IsEnumerated,
    modules: Sequence[ModuleType],
) -> Execution[T]:
    """Run a program as `execute` does, with the sampler replaced in these modules."""
    draws: list[tuple[Weights, int]] = []

    def draw_index(weights: NDArray[np.int64], *, enumerated: bool) -> int:
        """Return the given index of an enumerated draw, else the first possible one; record it."""
        index = int((weights > 0).argmax())
        if enumerated:
            if len(draws) < len(indices):
                index = indices[len(draws)]
            draws.append((tuple(weights.tolist()), index))
        return index

    def replacement_for(module: str) -> Callable[[NDArray[np.int64], Source], NDArray[np.int64]]:
        """Return the function that replaces `draw_rows` in a module."""

        def draw_rows(table: NDArray[np.int64], _source: Source) -> NDArray[np.int64]:
            indices_of_rows = []
            for row, weights in enumerate(table):
                indices_of_rows.append(draw_index(weights, enumerated=is_enumerated(module, row)))
            return np.array(indices_of_rows, dtype=np.int64)

        return draw_rows

    for module in modules:
        setattr(module, DRAW, replacement_for(module.__name__))
    try:
        result = program()
    finally:
        for module in modules:
            setattr(module, DRAW, shipped_draw_rows)
    return Execution(tuple(draws), result)


def _next_indices(draws: Sequence[tuple[Weights, int]]) -> list[int] | None:
    """Return the indices of the next run in lexicographic order; None after the last run.

    The last draw that has a larger possible index takes it, and the draws after it begin anew.
    """
    for number in range(len(draws) - 1, -1, -1):
        weights, index = draws[number]
        larger_indices = (i for i in range(index + 1, len(weights)) if weights[i] > 0)
        next_index = next(larger_indices, None)
        if next_index is not None:
            earlier_indices = [earlier_index for _, earlier_index in draws[:number]]
            return [*earlier_indices, next_index]
    return None


def sample_executions(
    all_executions: Sequence[Execution[T]], count: int, source: Source
) -> NDArray[np.int64]:
    """Sample executions of one program, with the shipped sampler and the program's own weights.

    Args:
        all_executions: All executions of the program.
        count: Number of samples.
        source: Randomness of the draws.

    Returns:
        (count,) positions in `all_executions`.
    """
    positions = {}
    weights_after = {}  # for the indices of a run's first draws, the weights of its next draw
    for position, execution in enumerate(all_executions):
        positions[execution.indices] = position
        for number, (weights, _) in enumerate(execution.draws):
            weights_after[execution.indices[:number]] = weights
    samples: list[NDArray[np.int64]] = []

    def sample_after(indices: tuple[int, ...], times: int) -> None:
        """Sample `times` executions whose first draws gave these indices."""
        if indices not in weights_after:
            samples.append(np.full(times, positions[indices]))
            return
        weights = np.array(weights_after[indices], dtype=np.int64)
        next_indices = shipped_draw_rows(np.broadcast_to(weights, (times, len(weights))), source)
        counts = np.bincount(next_indices, minlength=len(weights))
        for index, times_drawn in enumerate(counts.tolist()):
            if times_drawn:
                sample_after((*indices, index), times_drawn)

    sample_after((), count)
    # In random order, because an auditor reads first one half and then the other.
    return np.random.default_rng().permutation(np.concatenate(samples))


Distribution = Mapping[Hashable, Fraction]
"""For each outcome its chance; the chances add up to 1."""
Program = Callable[[], Hashable]
"""Makes one decision of the shipped code. Each call starts from the same state and draws anew."""


class FixedWords:
    """A source of randomness that returns given words, one after the other.

    Args:
        words: The words.
        filler: Every word after them.
    """

    is_private = False

    def __init__(self, words: Sequence[int] = (), filler: int = 0) -> None:
        self._remaining = list(words)
        self._filler = filler

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next (count,) words."""
        words = self._remaining[:count]
        del self._remaining[:count]
        fillers = [self._filler] * (count - len(words))
        return np.array(words + fillers, dtype=np.uint64)


def distribution(program: Program) -> dict[Hashable, Fraction]:
    """Return the chance of each result of a program whose only random draws are by weights."""
    chances: dict[Hashable, Fraction] = {}
    for execution in executions(program):
        chances[execution.result] = chances.get(execution.result, Fraction(0)) + execution.chance
    return chances


def response_distribution(
    call: Callable[[Source], Hashable],
    categories: int | None,
    truth: Fraction,
    words_before: int = 0,
) -> dict[Hashable, Fraction]:
    """Return the chance of each result of a call that makes one randomised response.

    Args:
        call: Makes the response with the words of a source.
        categories: Number of possible answers; None for a bit, which has only one lie, so that no
            word is drawn to choose it.
        truth: Chance of the true answer.
        words_before: Number of words that are drawn before the response; all are 0.
    """
    choices_of_lie: list[list[int]] = [[]]
    if categories is not None:
        choices_of_lie = [[number] for number in range(categories - 1)]
    chances: dict[Hashable, Fraction] = {}
    for choice in choices_of_lie:
        for word, chance in ((0, truth), (_LYING_WORD, 1 - truth)):
            result = call(FixedWords([0] * words_before + choice + [word]))
            chances[result] = chances.get(result, Fraction(0)) + chance / len(choices_of_lie)
    return chances


def encode_outcomes(
    by_outcome: Mapping[Hashable, T], numbers: Mapping[Hashable, int]
) -> dict[int, T]:
    """Replace the keys of a mapping, which are outcomes, by the outcomes' numbers."""
    return {numbers[outcome]: value for outcome, value in by_outcome.items()}


def distribution_check(
    name: str,
    distributions: Callable[[], tuple[Distribution, Distribution]],
    programs: tuple[Program, Program],
    *,
    sample_divisor: int = 1,
    rule: Rule | None = None,
) -> Check:
    """Make a check of two programs, which are the same code on two neighbouring inputs.

    The check computes the exact loss of their distributions, and a lower bound from runs.

    Args:
        name: Name of the pair.
        distributions: Returns the distributions of the results of both programs.
        programs: The programs.
        sample_divisor: Each program is run samples / sample_divisor times, but at least 100 times.
        rule: Rule that describes the release; None if no rule does.
    """

    def check(samples: int, alpha: float) -> PairResult:
        """Compute the exact loss, and a lower bound from runs of both programs."""
        p, q = distributions()
        numbers = {outcome: number for number, outcome in enumerate(dict.fromkeys([*p, *q]))}

        def release(program: Program) -> Callable[[int], NDArray[np.int64]]:
            return lambda n: np.array([numbers.get(program(), _UNEXPECTED) for _ in range(n)])

        count = max(samples // sample_divisor, _FEWEST_RUNS)
        program_a, program_b = programs
        chances = (encode_outcomes(p, numbers), encode_outcomes(q, numbers))
        known_event = best_known_event(chances, count, alpha)
        evidence = audit(
            release(program_a),
            release(program_b),
            samples=count,
            alpha=alpha,
            known_event=known_event,
        )
        return PairResult(
            name,
            exact=exact_losses.exact_loss(p, q),
            rule_bound=None if rule is None else upper_bound(rule),
            lower_bound=evidence.lower_bound,
            ideal=known_event.ideal if known_event else 0.0,
            samples=count,
        )

    return check


def weighted_choice_check(
    name: str, a: Program, b: Program, *, sample_divisor: int = 1, rule: Rule | None = None
) -> Check:
    """Make a check of two programs whose only random draws, if any, are by weights.

    Args:
        name: Name of the pair.
        a: The program on the first input.
        b: The program on the second input.
        sample_divisor: As in `distribution_check`.
        rule: As in `distribution_check`.
    """
    return distribution_check(
        name,
        lambda: (distribution(a), distribution(b)),
        (a, b),
        sample_divisor=sample_divisor,
        rule=rule,
    )
