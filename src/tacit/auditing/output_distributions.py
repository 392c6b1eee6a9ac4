"""Every way the draws of the running code can fall, how likely each is, and checks made of that.

Our own sampler draws an index in proportion to whole weights (`mechanisms.selection.draw_rows`). It
is replaced by one that notes the weights and returns a fixed outcome, and the program is run once
for every fall. Randomised responses are given their words one by one. Not for several threads at
once: the sampler is replaced for the whole process.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import bench
from tacit.auditing.claims import Check, Checked
from tacit.auditing.empirical import audit, best_known
from tacit.auditing.rules import Rule, upper_bound
from tacit.mechanisms.selection import draw_rows as shipped
from tacit.randomness import Source

T = TypeVar("T")
Weights = tuple[int, ...]
Counts = Callable[[str, int], bool]
"""(module, row) -> whether draws there are enumerated. Others, which must not matter to the result,
fall on their first index."""

_LIE = (1 << 53) - 1  # the word for which a randomised response lies, if it ever does
_OTHER = -1


@dataclass(frozen=True)
class Way(Generic[T]):
    """fallen: the weights of each draw, and which index fell."""

    fallen: tuple[tuple[Weights, int], ...]
    result: T

    @property
    def chance(self) -> Fraction:
        return math.prod(
            (Fraction(drawn[face], sum(drawn)) for drawn, face in self.fallen), start=Fraction(1)
        )

    @property
    def faces(self) -> tuple[int, ...]:
        return tuple(face for _, face in self.fallen)


def every(_module: str, _row: int) -> bool:
    """All draws are enumerated."""
    return True


def ways(program: Callable[[], T], counts: Counts = every) -> Iterator[Way[T]]:
    """Run `program` for every fall of its draws."""
    faces: list[int] | None = []
    while faces is not None:
        way = thrown(program, faces, counts)
        yield way
        faces = _next(way.fallen)


def thrown(program: Callable[[], T], faces: Sequence[int], counts: Counts = every) -> Way[T]:
    """One run in which the draws fall on `faces`; where none is given, on the first that can fall.

    Every module that draws by weights does so with its stand-in inside.
    """
    fallen: list[tuple[Weights, int]] = []

    def one(row: NDArray[np.int64], counted: bool) -> int:
        face = int((row > 0).argmax())
        if counted:
            face = faces[len(fallen)] if len(fallen) < len(faces) else face
            fallen.append((tuple(row.tolist()), face))
        return face

    def standing_in(module: str) -> Callable[[NDArray[np.int64], Source], NDArray[np.int64]]:
        def draw(table: NDArray[np.int64], _: Source) -> NDArray[np.int64]:
            drawn = [one(row, counts(module, place)) for place, row in enumerate(table)]
            return np.array(drawn, dtype=np.int64)

        return draw

    held = {
        name: vars(module)
        for name, module in list(sys.modules.items())
        if name.startswith("tacit.")
        and vars(module).get("draw_rows") is shipped
        and name != __name__
    }
    for name, module in held.items():
        module["draw_rows"] = standing_in(name)
    try:
        result = program()
    finally:
        for module in held.values():
            module["draw_rows"] = shipped
    return Way(tuple(fallen), result)


def _next(fallen: Sequence[tuple[Weights, int]]) -> list[int] | None:
    """The faces of the next run, the last draw turning fastest; None when all have been seen."""
    for place in range(len(fallen) - 1, -1, -1):
        drawn, face = fallen[place]
        later = [other for other in range(face + 1, len(drawn)) if drawn[other] > 0]
        if later:
            return [earlier for _, earlier in fallen[:place]] + [later[0]]
    return None


def sampled(found: Sequence[Way[T]], count: int, source: Source) -> NDArray[np.int64]:
    """(count,) places in `found`, the ways of ONE program, drawn by the shipped sampler.

    It is given the weights that the program drew with, many at a time.
    """
    leaves = {way.faces: place for place, way in enumerate(found)}
    drawn = {way.faces[:at]: way.fallen[at][0] for way in found for at in range(len(way.fallen))}
    parts: list[NDArray[np.int64]] = []

    def descend(prefix: tuple[int, ...], times: int) -> None:
        if prefix not in drawn:
            parts.append(np.full(times, leaves[prefix]))
            return
        row = np.array(drawn[prefix], dtype=np.int64)
        faces = shipped(np.broadcast_to(row, (times, len(row))), source)
        for face, often in enumerate(np.bincount(faces, minlength=len(row)).tolist()):
            if often:
                descend((*prefix, face), often)

    descend((), count)
    # The order tells nothing: an auditor may look at one half of it and then at the other.
    return np.random.default_rng().permutation(np.concatenate(parts))


Law = Mapping[Hashable, Fraction]
Program = Callable[[], Hashable]
"""One decision of the shipped code; called again it decides anew, in the same state."""


class Words:
    """A source that gives these words, one after the other, and then `rest` for ever."""

    private = False

    def __init__(self, words: Sequence[int] = (), rest: int = 0) -> None:
        self._left, self._rest = list(words), rest

    def words(self, count: int) -> NDArray[np.uint64]:
        given = [self._left.pop(0) if self._left else self._rest for _ in range(count)]
        return np.array(given, dtype=np.uint64)


def law(program: Program) -> dict[Hashable, Fraction]:
    """Of what the program returns, if it draws by weights alone."""
    found: dict[Hashable, Fraction] = {}
    for way in ways(program):
        found[way.result] = found.get(way.result, Fraction(0)) + way.chance
    return found


def responses(
    call: Callable[[Source], Hashable], categories: int | None, truth: Fraction, before: int = 0
) -> dict[Hashable, Fraction]:
    """Of what `call` returns, if it makes one randomised response.

    categories: None for a bit, of which no word says which lie it is. truth: its chance of the true
    answer. before: words that are asked for earlier, all of them 0.
    """
    found: dict[Hashable, Fraction] = {}
    shifts: list[list[int]] = [[]] if categories is None else [[at] for at in range(categories - 1)]
    for shift in shifts:
        for word, chance in ((0, truth), (_LIE, 1 - truth)):
            result = call(Words([*[0] * before, *shift, word]))
            found[result] = found.get(result, Fraction(0)) + chance / len(shifts)
    return found


def coded(found: Mapping[Hashable, T], code: Mapping[Hashable, int]) -> dict[int, T]:
    """The same with numbers in the place of outcomes."""
    return {code[seen]: chance for seen, chance in found.items()}


def check_of(
    name: str,
    laws: Callable[[], tuple[Law, Law]],
    programs: tuple[Program, Program],
    *,
    share: int = 1,
    rule: Rule | None = None,
) -> Check:
    """Exact by the two laws, and by running both programs samples / share times."""

    def check(samples: int, alpha: float) -> Checked:
        p, q = laws()
        code = {seen: place for place, seen in enumerate(dict.fromkeys([*p, *q]))}

        def release(program: Program) -> Callable[[int], NDArray[np.int64]]:
            return lambda n: np.array([code.get(program(), _OTHER) for _ in range(n)])

        count = max(samples // share, 100)
        first, second = map(release, programs)
        known = best_known((coded(p, code), coded(q, code)), count, alpha)
        seen = audit(first, second, samples=count, alpha=alpha, known=known)
        return Checked(
            name,
            bench.loss(p, q),
            None if rule is None else upper_bound(rule),
            seen.lower_bound,
            known.ideal if known else 0.0,
            count,
        )

    return check


def choices(
    name: str, a: Program, b: Program, *, share: int = 1, rule: Rule | None = None
) -> Check:
    """Two programs that draw by weights, or not at all."""
    return check_of(name, lambda: (law(a), law(b)), (a, b), share=share, rule=rule)
