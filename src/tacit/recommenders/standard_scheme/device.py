"""The device half of the standard scheme.

Source      US patent application "Privacy protection against curious recommenders"; Ioannidis,
            Montanari, Weinsberg, Bhagat, Fawaz, Taft: Privacy tradeoffs in predictive analytics
            (SIGMETRICS 2014).
Runs at     the person's own device.
Sees        the person's true stars and attributes, and the recommender's public disclosure.
Releases    obfuscated stars of some of the rated items, once each.
Guarantee   none with an epsilon. If stars follow the linear model exactly, and people choose what
            to rate independently item by item, the release is independent of the attribute.
Deviations  rounding probabilities and the selection rule are the corrected ones (the patent swaps
            the first and prints max for min in the second); every draw is an integer below an
            integer; a star is drawn once and remembered.

Standard library only, and short enough to read in one sitting: this is the code people must trust.
"""

from __future__ import annotations

import hashlib
import secrets
from bisect import bisect_right
from collections.abc import Callable, Mapping, MutableMapping

from tacit.recommenders.standard_scheme.messages import (
    CONTINUOUS_LEVELS,
    MICRO,
    Disclosure,
    ItemId,
    Release,
    Scores,
)

Draw = Callable[[int], int]
"""A uniform integer in [0, bound)."""

Entry = tuple[int, int | None, tuple[int, ...], str]
"""True level and released level in micro-levels (None: not drawn yet), the dice of selection
(empty: shown whatever), and what the draw was bound to."""

Memory = MutableMapping[ItemId, Entry]
"""What a device drew for each item. It tells everything: it stays where the stars are."""


class Refused(ValueError):
    """The device will not take part: what was asked of it would tell the attribute."""


class Device:
    """One person's device.

    values: the person's value of each disclosed attribute, which never leaves this object.
    memory: what was drawn before; keep it, for a star drawn twice can be averaged. It is bound to
    the rule, the scale and the person's values: under others it is refused, not used or redrawn.
    reproduce: carry out even a rule that tells the attribute; for experiments on the paper.
    """

    def __init__(
        self,
        disclosure: Disclosure,
        values: Mapping[str, str],
        memory: Memory,
        draw: Draw = secrets.randbelow,
        *,
        reproduce: bool = False,
    ) -> None:
        if not reproduce:
            _refuse_unsafe(disclosure)
        self._disclosure = disclosure
        self._own = [_own_row(table.name, table.values, values) for table in disclosure.attributes]
        self._memory = memory
        self._draw = draw
        self._bound_to = _binding(disclosure, values)

    def release(self, history: Mapping[ItemId, float]) -> Release:
        """Obfuscate a history (item to stars) for the recommender; unknown items stay at home."""
        known = self._disclosure.item_number
        items = sorted((item for item in history if item in known), key=known.__getitem__)
        strata = [
            bisect_right(table.bounds[own], len(items))
            for table, own in zip(self._disclosure.attributes, self._own, strict=True)
        ]
        levels = {item: self._level(item, history[item]) for item in items}
        self._refuse_foreign_memory(items)
        shown = []
        for item in items:
            entry = self._entry(item, known[item], levels[item], strata)
            if entry[1] is not None and self._shows(entry, known[item], strata):
                shown.append((item, entry[1]))
        return Release(self._disclosure.digest, tuple(shown))

    def complete(self, scores: Scores) -> dict[ItemId, float]:
        """Predicted stars for the owner: the recommender's scores plus her attribute's effect."""
        known = self._disclosure.item_number
        if scores.disclosure != self._disclosure.digest:
            raise ValueError("these scores were made for another disclosure")
        if not all(item in known for item, _ in scores.scores):
            raise ValueError("these scores name an item that the disclosure does not have")
        completed = {}
        for item, score in scores.scores:
            number = known[item]
            score += sum(
                table.offsets[own][number]
                for table, own in zip(self._disclosure.attributes, self._own, strict=True)
            )
            completed[item] = self._disclosure.minimum + self._disclosure.step * score / MICRO
        return completed

    def _level(self, item: ItemId, stars: float) -> int:
        """Stars to micro-levels; on a scale of whole stars, only whole levels are accepted."""
        level = (stars - self._disclosure.minimum) / self._disclosure.step
        whole = self._disclosure.levels
        highest = whole - 1 if whole else CONTINUOUS_LEVELS
        inside = -1e-6 <= level <= highest + 1e-6
        if not inside or (whole and abs(level - round(level)) > 1e-6):
            raise ValueError(f"the stars given to item {item!r} lie off the scale")
        return round(level) * MICRO if whole else round(level * MICRO)

    def _entry(self, item: ItemId, number: int, level: int, strata: list[int]) -> Entry:
        """This star's draw, made now if it has not been made. Draws come in a fixed order.

        The dice of selection are thrown once per item and kept, whatever becomes of the star and of
        the stratum: what is shown now is then what one release of everything would show.
        """
        rule, earlier = self._disclosure.rule, self._memory.get(item)
        same_star = earlier is not None and earlier[0] == level
        if earlier is not None and same_star and earlier[1] is not None:
            return earlier
        if not same_star and rule.mix < MICRO and self._draw(MICRO) >= rule.mix:
            entry: Entry = (level, level, (), self._bound_to)
        else:
            dice = (earlier and earlier[2]) or self._dice()  # none were thrown for a true star
            entry = (level, None, dice, self._bound_to)
            if self._shows(entry, number, strata):
                entry = (level, self._obfuscate(number, level), dice, self._bound_to)
        self._memory[item] = entry
        return entry

    def _dice(self) -> tuple[int, ...]:
        """One die for each attribute's selection."""
        if not self._disclosure.rule.selection:
            return ()
        return tuple(self._draw(MICRO) for _ in self._disclosure.attributes)

    def _shows(self, entry: Entry, number: int, strata: list[int]) -> bool:
        """Whether every attribute's rule lets the item be shown in the present stratum."""
        tables = zip(self._disclosure.attributes, self._own, strata, strict=True)
        return all(
            die < table.keep[own][stratum][number]
            for die, (table, own, stratum) in zip(entry[2], tables, strict=False)
        )

    def _obfuscate(self, number: int, level: int) -> int:
        """What to release for one item that is shown."""
        rule = self._disclosure.rule
        if rule.transform == "scheme":
            level -= sum(
                table.offsets[own][number]
                for table, own in zip(self._disclosure.attributes, self._own, strict=True)
            )
        elif rule.transform == "coupling":
            level = self._couple(number, level)
        elif rule.transform == "movie-average":
            level = self._disclosure.item_means[number]
        elif rule.transform == "attribute-average":
            means = self._disclosure.attributes[0].means
            level = means[self._draw(len(means))][number]
        return self._round(level) if rule.rounding else level

    def _refuse_foreign_memory(self, items: list[ItemId]) -> None:
        for item in items:
            if item in self._memory and self._memory[item][3] != self._bound_to:
                raise Refused(
                    "this memory holds releases made under another rule, scale or attribute value; "
                    "using them here, or drawing again, could tell the attribute"
                )

    def _couple(self, number: int, level: int) -> int:
        """Send the level through each attribute's coupling, one after the other."""
        step = level // MICRO
        for table, own in zip(self._disclosure.attributes, self._own, strict=True):
            step = bisect_right(table.coupling[own][number][step], self._draw(MICRO))
        return step * MICRO

    def _round(self, level: int) -> int:
        """A whole level with the given mean: k + 1 with chance level - k; clipped to the scale."""
        whole, rest = divmod(level, MICRO)
        whole += self._draw(MICRO) < rest
        highest = self._disclosure.levels - 1 if self._disclosure.levels else CONTINUOUS_LEVELS
        return min(max(whole, 0), highest) * MICRO


def _own_row(name: str, known: tuple[str, ...], values: Mapping[str, str]) -> int:
    if values.get(name) not in known:
        raise ValueError(f"attribute {name!r} has to be one of: {', '.join(known)}")
    return known.index(values[name])


def _binding(disclosure: Disclosure, values: Mapping[str, str]) -> str:
    """Names the rule, the scale and the person's values that a draw was made under."""
    own = [(table.name, values[table.name]) for table in disclosure.attributes]
    scale = (disclosure.minimum, disclosure.step, disclosure.levels)
    text = repr((sorted(disclosure.rule.to_wire().items()), scale, own))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _refuse_unsafe(disclosure: Disclosure) -> None:
    """Rules that tell the attribute whatever the tables are."""
    rule = disclosure.rule
    if rule.transform == "scheme" and not rule.rounding:
        raise Refused(
            "unrounded releases tell the attribute exactly: the stars people give end after a "
            "digit or two, and the released value plus or minus the public offset does for the "
            "true value only"
        )
    if rule.transform == "none" or rule.mix == 0:
        raise Refused("this disclosure asks for true stars")
