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

Memory = MutableMapping[ItemId, tuple[int, int | None]]
"""Item to (true level in micro-levels, what was released or None for held back)."""


class Refused(ValueError):
    """The device will not take part: what was asked of it would tell the attribute."""


class Device:
    """One person's device.

    values: the person's value of each disclosed attribute, which never leaves this object.
    memory: what was released before; keep it, for a star drawn twice can be averaged.
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

    def release(self, history: Mapping[ItemId, float]) -> Release:
        """Obfuscate a history (item to stars) for the recommender; unknown items stay at home."""
        known = self._disclosure.item_number
        items = sorted((item for item in history if item in known), key=known.__getitem__)
        strata = [
            bisect_right(table.bounds[own], len(items))
            for table, own in zip(self._disclosure.attributes, self._own, strict=True)
        ]
        shown = []
        for item in items:
            level = self._level(item, history[item])
            earlier = self._memory.get(item)
            if earlier is None or earlier[0] != level:
                self._memory[item] = (level, self._obfuscate(known[item], level, strata))
            released = self._memory[item][1]
            if released is not None:
                shown.append((item, released))
        return Release(self._disclosure.digest, tuple(shown))

    def complete(self, scores: Scores) -> dict[ItemId, float]:
        """Predicted stars for the owner: the recommender's scores plus her attribute's effect."""
        known = self._disclosure.item_number
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

    def _obfuscate(self, number: int, level: int, strata: list[int]) -> int | None:
        """What to release for one item, None to hold it back. Draws come in a fixed order."""
        rule = self._disclosure.rule
        if rule.mix < MICRO and self._draw(MICRO) >= rule.mix:
            return level
        if rule.selection and not self._keeps(number, strata):
            return None
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

    def _keeps(self, number: int, strata: list[int]) -> bool:
        """Whether every attribute's rule lets the item be shown; always one draw for each."""
        kept = [
            self._draw(MICRO) < table.keep[own][stratum][number]
            for table, own, stratum in zip(
                self._disclosure.attributes, self._own, strata, strict=True
            )
        ]
        return all(kept)

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
        return min(max(whole, 0), self._disclosure.levels - 1) * MICRO


def _own_row(name: str, known: tuple[str, ...], values: Mapping[str, str]) -> int:
    if values.get(name) not in known:
        raise ValueError(f"attribute {name!r} has to be one of: {', '.join(known)}")
    return known.index(values[name])


def _refuse_unsafe(disclosure: Disclosure) -> None:
    """The device's own check: it does not depend on what the recommender says about itself."""
    rule = disclosure.rule
    if rule.transform == "scheme" and disclosure.levels and not rule.rounding:
        raise Refused(
            "unrounded releases of whole stars tell the attribute exactly: "
            "the star plus or minus the public offset is whole for the true value only"
        )
    if rule.transform == "none" or rule.mix == 0:
        raise Refused("this disclosure asks for true stars")
