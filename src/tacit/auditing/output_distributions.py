"""All outcomes of the draws of the running code, the probability of each, and checks of both.

Our own sampler draws an index in proportion to whole weights (`mechanisms.selection.draw_rows`). It
is replaced by one that records the weights and returns a fixed index, and the program is run once
for each sequence of indices. Randomised responses get fixed random words. Not for several threads
at once: the sampler is replaced for the whole process.
"""

from __future__ import annotations

import math
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
from tacit.auditing.empirical import audit, best_known
from tacit.auditing.rules import Rule, upper_bound
from tacit.mechanisms.weights import draw_rows as shipped
from tacit.randomness import Source

T = TypeVar("T")
Weights = tuple[int, ...]
Counts = Callable[[str, int], bool]
"""(module, row) -> whether draws there are enumerated. Others, which must not matter to the result,
give their first possible index."""

DRAW = "draw_rows"
"""Name by which every module that draws by weights knows the sampler."""
_LIE = (1 << 53) - 1  # the word for which a randomised response lies, if it ever does
_OTHER = -1


@dataclass(frozen=True)
class Execution(Generic[T]):
    """One run of a program, with the weights of each of its draws and the index drawn."""

    draws: tuple[tuple[Weights, int], ...]
    result: T

    @property
    def chance(self) -> Fraction:
        """The chance of these indices."""
        return math.prod(
            (Fraction(drawn[index], sum(drawn)) for drawn, index in self.draws), start=Fraction(1)
        )

    @property
    def indices(self) -> tuple[int, ...]:
        """The index of each draw."""
        return tuple(index for _, index in self.draws)


def all_draws(_module: str, _row: int) -> bool:
    """Enumerate all draws."""
    return True


def executions(program: Callable[[], T], counts: Counts = all_draws) -> Iterator[Execution[T]]:
    """Run `program` for every sequence of indices that its draws can give."""
    indices: list[int] | None = []
    while indices is not None:
        each = execute(program, indices, counts)
        yield each
        indices = _next_indices(each.draws)


def _modules_that_draw() -> list[ModuleType]:
    """Return every loaded module of the package that draws by the shipped sampler of weights."""
    found = []
    for name, module in list(sys.modules.items()):
        if not name.startswith("tacit.") or name == __name__:
            continue
        if getattr(module, DRAW, None) is shipped:
            found.append(module)
    return found


def execute(
    program: Callable[[], T], indices: Sequence[int], counts: Counts = all_draws
) -> Execution[T]:
    """Run a program whose draws give `indices`; after the last of them, the first possible index.

    Every module that draws by weights does so with its stand-in inside.
    """
    draws: list[tuple[Weights, int]] = []

    def draw_index(row: NDArray[np.int64], counted: bool) -> int:
        index = int((row > 0).argmax())
        if counted:
            index = indices[len(draws)] if len(draws) < len(indices) else index
            draws.append((tuple(row.tolist()), index))
        return index

    def stand_in_for(module: str) -> Callable[[NDArray[np.int64], Source], NDArray[np.int64]]:
        def draw(table: NDArray[np.int64], _: Source) -> NDArray[np.int64]:
            drawn = [draw_index(row, counts(module, place)) for place, row in enumerate(table)]
            return np.array(drawn, dtype=np.int64)

        return draw

    patched = _modules_that_draw()
    for module in patched:
        setattr(module, DRAW, stand_in_for(module.__name__))
    try:
        result = program()
    finally:
        for module in patched:
            setattr(module, DRAW, shipped)
    return Execution(tuple(draws), result)


def _next_indices(draws: Sequence[tuple[Weights, int]]) -> list[int] | None:
    """Return the indices of the next run, the last draw changing first; None after the last run."""
    for place in range(len(draws) - 1, -1, -1):
        drawn, index = draws[place]
        later = [other for other in range(index + 1, len(drawn)) if drawn[other] > 0]
        if later:
            return [earlier for _, earlier in draws[:place]] + [later[0]]
    return None


def sample_executions(
    every: Sequence[Execution[T]], count: int, source: Source
) -> NDArray[np.int64]:
    """Sample `count` executions of one program, as (count,) places in `every`, which has them all.

    The shipped sampler draws them, by the program's own weights, for many runs at a time.
    """
    leaves = {each.indices: place for place, each in enumerate(every)}
    drawn = {}
    for each in every:
        for at, (weights, _) in enumerate(each.draws):
            drawn[each.indices[:at]] = weights
    parts: list[NDArray[np.int64]] = []

    def descend(prefix: tuple[int, ...], times: int) -> None:
        if prefix not in drawn:
            parts.append(np.full(times, leaves[prefix]))
            return
        row = np.array(drawn[prefix], dtype=np.int64)
        indices = shipped(np.broadcast_to(row, (times, len(row))), source)
        for index, often in enumerate(np.bincount(indices, minlength=len(row)).tolist()):
            if often:
                descend((*prefix, index), often)

    descend((), count)
    # In random order, since an auditor reads one half first and then the other.
    return np.random.default_rng().permutation(np.concatenate(parts))


Distribution = Mapping[Hashable, Fraction]
Program = Callable[[], Hashable]
"""One decision of the shipped code; called again it decides anew, in the same state."""


class FixedWords:
    """A source that gives these words, one after the other, and then `rest` for ever."""

    is_private = False

    def __init__(self, words: Sequence[int] = (), rest: int = 0) -> None:
        self._left = list(words)
        self._rest = rest

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next (count,) words."""
        given = [self._left.pop(0) if self._left else self._rest for _ in range(count)]
        return np.array(given, dtype=np.uint64)


def distribution(program: Program) -> dict[Hashable, Fraction]:
    """Return the chance of each result of a program that draws by weights alone."""
    found: dict[Hashable, Fraction] = {}
    for each in executions(program):
        found[each.result] = found.get(each.result, Fraction(0)) + each.chance
    return found


def response_distribution(
    call: Callable[[Source], Hashable], categories: int | None, truth: Fraction, before: int = 0
) -> dict[Hashable, Fraction]:
    """Return the chance of each result of a call that makes one randomised response.

    categories: None for a bit, which has one lie only, so that no word is spent on choosing it.
    truth: chance of the true answer. before: words asked for before the response; all are 0.
    """
    found: dict[Hashable, Fraction] = {}
    shifts: list[list[int]] = [[]] if categories is None else [[at] for at in range(categories - 1)]
    for shift in shifts:
        for word, chance in ((0, truth), (_LIE, 1 - truth)):
            result = call(FixedWords([*[0] * before, *shift, word]))
            found[result] = found.get(result, Fraction(0)) + chance / len(shifts)
    return found


def encode_outcomes(found: Mapping[Hashable, T], code: Mapping[Hashable, int]) -> dict[int, T]:
    """Replace outcomes by their numbers."""
    return {code[seen]: chance for seen, chance in found.items()}


def distribution_check(
    name: str,
    distributions: Callable[[], tuple[Distribution, Distribution]],
    programs: tuple[Program, Program],
    *,
    share: int = 1,
    rule: Rule | None = None,
) -> Check:
    """Make a check: the exact loss of two laws, and samples / share runs of each program."""

    def check(samples: int, alpha: float) -> PairResult:
        p, q = distributions()
        code = {seen: place for place, seen in enumerate(dict.fromkeys([*p, *q]))}

        def release(program: Program) -> Callable[[int], NDArray[np.int64]]:
            return lambda n: np.array([code.get(program(), _OTHER) for _ in range(n)])

        count = max(samples // share, 100)
        first, second = map(release, programs)
        known = best_known((encode_outcomes(p, code), encode_outcomes(q, code)), count, alpha)
        seen = audit(first, second, samples=count, alpha=alpha, known=known)
        return PairResult(
            name,
            exact_losses.exact_loss(p, q),
            None if rule is None else upper_bound(rule),
            seen.lower_bound,
            known.ideal if known else 0.0,
            count,
        )

    return check


def weighted_choice_check(
    name: str, a: Program, b: Program, *, share: int = 1, rule: Rule | None = None
) -> Check:
    """Make a check of two programs that draw by weights, or not at all."""
    return distribution_check(
        name, lambda: (distribution(a), distribution(b)), (a, b), share=share, rule=rule
    )
