"""The device half of the standard scheme.

Source      US patent application "Privacy protection against curious recommenders"; Ioannidis,
            Montanari, Weinsberg, Bhagat, Fawaz, Taft: Privacy tradeoffs in predictive analytics
            (SIGMETRICS 2014).
Runs at     the person's own device.
Sees        the person's true stars and attributes, and the recommender's public disclosure.
Releases    obfuscated stars of some of the items that were rated on the account's first day. Each
            item is decided once, for ever.
Guarantee   none with an epsilon. If stars follow the linear model exactly, and people choose what
            to rate independently item by item, the release is independent of the attribute. Nobody
            who sees only tables and releases can be certain.
Deviations  rounding probabilities and the selection rule are the corrected ones (the patent swaps
            the first and prints max for min in the second); every draw is an integer below an
            integer; no chance to show an item is 1.

When a device speaks is decided in account.py. Experiments make the same decisions for many people
at once, in training/population.py: a test compares the two.
Standard library only, and short enough to read in one sitting: this is the code that people must
trust.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Mapping
from typing import TypeVar

from tacit.designs.standard_scheme.dice import Dice, Draw, secret_dice
from tacit.designs.standard_scheme.disclosure import Disclosure, RefusalError, refuse_unsafe
from tacit.designs.standard_scheme.memory import Record, State
from tacit.designs.standard_scheme.messages import (
    MICRO,
    ItemId,
    Release,
    Scores,
    encode,
)
from tacit.designs.standard_scheme.rounding import highest_level, round_level
from tacit.designs.standard_scheme.selection import can_decide, is_shown

T = TypeVar("T")
History = Mapping[ItemId, float]
"""Item to stars."""


class Device:
    """One person's device.

    Args:
        disclosure: The public tables that it follows.
        values: The person's value of each disclosed attribute, which never leaves this object.
        state: What was decided before; store it durably before a release leaves. It is bound to
            the rule, the scale and the person's values.
        dice: The account's secret, or where draws come from.
        reproduce: Follow even a disclosure that tells the attribute; for experiments on the paper.

    Raises:
        RefusalError: The disclosure would tell the attribute, the state was made under another
            rule, scale or value, or another memory of the account exists.
    """

    def __init__(
        self,
        disclosure: Disclosure,
        values: Mapping[str, str],
        state: State,
        dice: bytes | Dice,
        *,
        reproduce: bool = False,
    ) -> None:
        if not reproduce:
            refuse_unsafe(disclosure)
        self._disclosure = disclosure
        self._own = [own_row(table.name, table.values, values) for table in disclosure.attributes]
        self._state = state
        self._dice = secret_dice(dice) if isinstance(dice, bytes) else dice
        if state.closed:
            raise RefusalError(
                "another memory of this account exists, and may have decided anything"
            )
        bound_to = binding_digest(disclosure, values)
        if state.binding not in ("", bound_to):
            raise RefusalError(
                "this memory was made under another rule, scale, epoch or attribute value; "
                "deciding more here could tell the attribute"
            )
        state.binding = bound_to

    def release(self, history: History, epoch: int) -> Release:
        """Decide the items of a history that are undecided; then release all that is shown.

        Nothing is decided in an epoch in which the account decides no more: see
        `State.may_decide`.

        Raises:
            ValueError: An undecided item has stars off the scale; nothing was decided then.
        """
        self._state.follow(self._disclosure.aliases)
        rated = follow_aliases(history, self._disclosure)
        for item in self.off_scale(rated, epoch):
            raise ValueError(f"the stars given to item {item!r} lie off the scale")
        found = self._levels(rated, epoch)
        levels = {item: level for item, level in found.items() if level is not None}
        known = self._disclosure.item_number
        for item, level in levels.items():
            released = self._decide(known[item], level, self._dice(item))
            self._state.records[item] = Record(released, self._disclosure.digest, epoch)
            self._state.arrivals.pop(item, None)
        self._state.note_shown()
        self._state.withdraw(rated)
        return current_release(self._state, self._disclosure, epoch)

    def off_scale(self, history: History, epoch: int) -> list[ItemId]:
        """List the undecided items whose stars `release` refuses in this epoch."""
        return [item for item, level in self._levels(history, epoch).items() if level is None]

    def complete(self, scores: Scores) -> dict[ItemId, float]:
        """Predicted stars for the owner: the recommender's scores plus the attribute's effect."""
        known = self._disclosure.item_number
        if scores.disclosure != self._disclosure.digest:
            raise ValueError("these scores were made for another disclosure")
        if not all(item in known for item, _, _ in scores.scores):
            raise ValueError("these scores name an item that the disclosure does not have")
        completed = {}
        for item, level, _ in scores.scores:
            level += sum(self._offsets(known[item]))
            # As in every client, a level beyond 2^53 is rounded to a float first.
            away = self._disclosure.step * float(level) / MICRO
            completed[item] = self._disclosure.minimum + away
        return completed

    def _levels(self, rated: History, epoch: int) -> dict[ItemId, int | None]:
        """Micro-levels of the items to decide; None for stars off the scale."""
        if not self._state.may_decide(epoch):
            return {}
        return {
            item: self._level(rated[item])
            for number, item in enumerate(self._disclosure.items)
            if item in rated and self._state.is_undecided(item) and self._is_decidable(number)
        }

    def _level(self, stars: float) -> int | None:
        """Micro-level of some stars; None off the scale, and between its levels."""
        level = (stars - self._disclosure.minimum) / self._disclosure.step
        whole = self._disclosure.levels
        highest = highest_level(whole)
        inside = -1e-6 <= level <= highest + 1e-6
        if not inside or (whole and abs(level - round(level)) > 1e-6):
            return None
        return round(level) * MICRO if whole else round(level * MICRO)

    def _is_decidable(self, number: int) -> bool:
        return not self._disclosure.rule.selection or can_decide(self._chances(number))

    def _decide(self, number: int, level: int, draw: Draw) -> int | None:
        """Draw the released level, None for held back.

        Draws come in a fixed order: one die for each attribute, then those of the level.
        """
        rule = self._disclosure.rule
        if rule.mix < MICRO and draw(MICRO) >= rule.mix:
            return level
        if rule.selection and not is_shown(self._chances(number), draw):
            return None
        level = self._transform(number, level, draw)
        if not rule.rounding:
            return level
        return round_level(level, self._disclosure.levels, draw)

    def _transform(self, number: int, level: int, draw: Draw) -> int:
        transform = self._disclosure.rule.transform
        if transform == "scheme":
            return level - sum(self._offsets(number))
        if transform == "coupling":
            return self._couple(number, level, draw)
        if transform == "movie-average":
            return self._disclosure.item_means[number]
        if transform == "attribute-average":
            means = self._disclosure.attributes[0].means
            return means[draw(len(means))][number]
        return level

    def _couple(self, number: int, level: int, draw: Draw) -> int:
        """Send the level through each attribute's coupling, one after the other."""
        step = level // MICRO
        for table, own in zip(self._disclosure.attributes, self._own, strict=True):
            step = bisect_right(table.coupling[own][number][step], draw(MICRO))
        return step * MICRO

    def _chances(self, number: int) -> list[int]:
        """Return the owner's chance to show an item, by each attribute's table."""
        tables = zip(self._disclosure.attributes, self._own, strict=True)
        return [table.keep[own][number] for table, own in tables]

    def _offsets(self, number: int) -> list[int]:
        tables = zip(self._disclosure.attributes, self._own, strict=True)
        return [table.offsets[own][number] for table, own in tables]


def current_release(state: State, disclosure: Disclosure, epoch: int) -> Release:
    """Release all that is shown and in the catalogue; no owner and no dice are needed."""
    shown = state.shown_levels()
    ratings = tuple((item, shown[item]) for item in disclosure.items if item in shown)
    return Release(disclosure.digest, epoch, ratings)


def follow_aliases(by_item: Mapping[ItemId, T], named: Disclosure | State) -> dict[ItemId, T]:
    """Move entries from old ids to new ones; an entry under the new id itself wins."""
    moved = {new: by_item[old] for old, new in named.aliases if old in by_item}
    old = {pair[0] for pair in named.aliases}
    return moved | {item: value for item, value in by_item.items() if item not in old}


def own_row(name: str, known: tuple[str, ...], values: Mapping[str, str]) -> int:
    """Return the row of the owner's value in an attribute's tables; RefusalError for another."""
    if values.get(name) not in known:
        raise RefusalError(f"attribute {name!r} has to be one of: {', '.join(known)}")
    return known.index(values[name])


def binding_digest(disclosure: Disclosure, values: Mapping[str, str]) -> str:
    """Digest the rule, scale, epoch length and the person's values that decisions are bound to.

    The memory keeps it, so that nothing is decided under another binding. It never leaves the
    device.
    """
    content = {
        "epoch_length": disclosure.epoch_length,
        "owner": [[table.name, values[table.name]] for table in disclosure.attributes],
        "rule": disclosure.rule.to_wire(),
        "scale": disclosure.scale_to_wire(),
    }
    return hashlib.sha256(encode(content)).hexdigest()[:16]
