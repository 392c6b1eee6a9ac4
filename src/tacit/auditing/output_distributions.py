"""Choices and answers of P-DAP's policies: their exact chances, and checks made of two of them.

Chances are those of the code that runs: of the whole weights that it draws with (`xmap_ways`), and
of randomised responses whose words are given to them one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import exact
from tacit.auditing.bench import best_ideal
from tacit.auditing.claims import Check
from tacit.auditing.draw_enumeration import ways
from tacit.auditing.empirical import audit
from tacit.auditing.rules import Rule, upper_bound
from tacit.auditing.verdicts import Checked
from tacit.randomness import Source

Law = Mapping[Hashable, Fraction]
Program = Callable[[], Hashable]
"""One decision of the shipped code; called again it decides anew, in the same state."""

_LIE = (1 << 53) - 1  # the word for which a randomised response lies, if it ever does
_OTHER = -1


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
    call: Callable[[Source], Hashable],
    categories: int | None,
    truth: Fraction,
    before: int = 0,
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
        seen = audit(first, second, samples=count, alpha=alpha)
        return Checked(
            name,
            exact.loss(p, q),
            None if rule is None else upper_bound(rule),
            seen.lower_bound,
            best_ideal((p, q), count, alpha),
            count,
        )

    return check


def choices(
    name: str, a: Program, b: Program, *, share: int = 1, rule: Rule | None = None
) -> Check:
    """Two programs that draw by weights, or not at all."""
    return check_of(name, lambda: (law(a), law(b)), (a, b), share=share, rule=rule)
