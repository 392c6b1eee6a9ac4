"""The device half of the standard scheme.

Source      US patent application "Privacy protection against curious recommenders"; Ioannidis,
            Montanari, Weinsberg, Bhagat, Fawaz, Taft: Privacy tradeoffs in predictive analytics
            (SIGMETRICS 2014).
Runs at     the person's own device.
Sees        the person's true stars and attributes, and the recommender's public disclosure.
Releases    obfuscated stars of some of the rated items. The device decides items on the account's
            first day, and later only until a release has shown an item. Each item is decided once,
            and the decision is final.
Guarantee   none with an epsilon. If stars follow the linear model exactly, people choose what to
            rate independently item by item, and the public numbers are the true ones, the release
            is independent of the attribute. Nobody who sees only tables and releases can be certain
            which of the listed attribute values is a person's, unless `reproduce` is set on the
            device.
Deviations  rounding probabilities and the selection rule are the corrected ones (the patent swaps
            the two chances of rounding, and prints max for min in the selection rule); every draw
            is a uniform integer below a bound; in tables of the sound variant no chance
            to show an item is 1.

account.py says when a device sends a letter. Experiments make the same decisions for many people at
once, in training/population.py: a test compares the two.
Standard library only, and short enough to read in one sitting: this is the code that people must
trust.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from numbers import Real
from typing import Any, TypeVar

from tacit.designs.standard_scheme.dice import Dice, Draw, secret_dice
from tacit.designs.standard_scheme.disclosure import Disclosure, RefusalError, refuse_unsafe
from tacit.designs.standard_scheme.memory import Aliases, Record, State
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
"""Stars by item."""
_TOLERANCE = 1e-6
"""Largest distance, in levels, at which stars still count as a level or an end of the scale. It
allows for the rounding of floats."""


class Device:
    """One person's device.

    Args:
        disclosure: The public tables that it follows.
        values: The person's value of each disclosed attribute. The state holds a hash of them; keep
            both on the device.
        state: What was decided before. The device changes it; store it durably before a release
            leaves the device. It is bound to the rule, the scale, the epoch length, the person's
            values, and the values that the first disclosure listed.
        dice: The account's secret, or the dice themselves.
        reproduce: Follow even a disclosure that reveals the attribute; for experiments on the
            paper.

    Raises:
        RefusalError: The disclosure would reveal the attribute or does not have the person's value,
            the state was made under another rule, scale, epoch length, value or list of values, or
            another memory of the account exists.
        ValueError: The secret has fewer than 32 bytes.
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
        self._value_rows = rows_of_owner(disclosure, values, state)
        self._state = state
        self._dice = secret_dice(dice) if isinstance(dice, bytes) else dice
        if state.binding == "":  # any other binding than this was refused above
            state.binding = binding_digest(disclosure, values)

    def release(self, history: History, epoch: int) -> Release:
        """Decide the undecided items of a history; then release all shown items.

        Only epochs in which `State.may_decide` is true decide anything.

        Args:
            history: All present stars.
            epoch: Label of the epoch that the release is for.

        Raises:
            ValueError: An item to decide has stars off the scale; then nothing is decided.
            RefusalError: The disclosure's aliases contradict those that were followed before.
        """
        self._state.follow(self._disclosure.aliases)
        rated = follow_aliases(history, self._disclosure.aliases)
        levels = self._levels_to_decide(rated, epoch)
        off_scale = items_off_scale(levels)
        if off_scale:
            raise ValueError(f"the stars given to item {off_scale[0]!r} lie off the scale")
        number_of = self._disclosure.item_number
        for item, level in levels.items():
            assert level is not None  # no item is off the scale
            released = self._decide(number_of[item], level, self._dice(item))
            self._state.records[item] = Record(released, self._disclosure.digest, epoch)
            self._state.arrivals.pop(item, None)
        self._state.note_shown()
        self._state.update_withdrawn(still_rated=rated)
        return current_release(self._state, self._disclosure, epoch)

    def off_scale(self, history: History, epoch: int) -> list[ItemId]:
        """List the items to decide in this epoch whose stars are off the scale.

        Stars between two levels of the scale are off it, too.

        Args:
            history: Stars by the item ids of the disclosure, its aliases followed.
            epoch: Label of the epoch.
        """
        return items_off_scale(self._levels_to_decide(history, epoch))

    def complete(self, scores: Scores) -> dict[ItemId, float]:
        """Predict stars for the owner: the recommender's scores plus the attribute's effect.

        Raises:
            ValueError: The scores belong to another disclosure, or name an item it does not have.
        """
        number_of = self._disclosure.item_number
        if scores.disclosure != self._disclosure.digest:
            raise ValueError("these scores were made for another disclosure")
        if not all(item in number_of for item, _, _ in scores.scores):
            raise ValueError("these scores name an item that the disclosure does not have")
        stars = {}
        for item, level_without_effect, _ in scores.scores:
            level = level_without_effect + sum(self._offsets(number_of[item]))
            # As in every client, a level beyond 2^53 is rounded to a float first.
            stars_above_minimum = self._disclosure.step * float(level) / MICRO
            stars[item] = self._disclosure.minimum + stars_above_minimum
        return stars

    def _levels_to_decide(self, rated: History, epoch: int) -> dict[ItemId, int | None]:
        """Return the levels of the items to decide, by item, as `_to_micro_levels` gives them."""
        if not self._state.may_decide(epoch):
            return {}
        return {
            item: self._to_micro_levels(rated[item])
            for item in self._disclosure.sort_items(rated)
            if self._state.is_undecided(item)
            and self._is_decidable(self._disclosure.item_number[item])
        }

    def _to_micro_levels(self, stars: float) -> int | None:
        """Convert stars to a level, in micro-levels.

        None for stars that are off the scale, between two of its levels, or no finite number.
        """
        number = finite_stars(stars)
        if number is None:
            return None
        level = (number - self._disclosure.minimum) / self._disclosure.step
        n_levels = self._disclosure.levels
        is_on_scale = -_TOLERANCE <= level <= highest_level(n_levels) + _TOLERANCE
        if not is_on_scale:
            return None
        if n_levels == 0:  # a continuous scale
            return round(level * MICRO)
        if abs(level - round(level)) > _TOLERANCE:
            return None
        return round(level) * MICRO

    def _is_decidable(self, number: int) -> bool:
        """Say whether an item can be decided: always without selection, else if it may be shown."""
        return not self._disclosure.rule.selection or can_decide(self._chances(number))

    def _decide(self, number: int, level: int, draw: Draw) -> int | None:
        """Draw the released level of one item, in micro-levels; None if it is held back.

        Draws come in a fixed order: whether to obfuscate (if the mix is below 1), whether to show
        the item (one draw for each attribute), then those of the released level.

        Args:
            number: Number of the item.
            level: The true level, in micro-levels (1e-6 of a level).
            draw: The item's draws.
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
        """Obfuscate a true level as the rule says, without rounding; both are in micro-levels."""
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
        """Draw a level, in micro-levels, by each attribute's coupling, one after the other.

        A coupling holds the cumulative chances of the released levels, in parts per million. A draw
        below a million picks the first level whose cumulative chance is above the draw.
        """
        whole_level = level // MICRO
        for table, row in zip(self._disclosure.attributes, self._value_rows, strict=True):
            cumulative_chances = table.coupling[row][number][whole_level]
            whole_level = bisect_right(cumulative_chances, draw(MICRO))
        return whole_level * MICRO

    def _chances(self, number: int) -> list[int]:
        """Return the owner's chance to show an item in each attribute's table, in 1e-6."""
        tables = zip(self._disclosure.attributes, self._value_rows, strict=True)
        return [table.keep[row][number] for table, row in tables]

    def _offsets(self, number: int) -> list[int]:
        """Return an item's offset for the owner in each attribute's table, in micro-levels."""
        tables = zip(self._disclosure.attributes, self._value_rows, strict=True)
        return [table.offsets[row][number] for table, row in tables]


def current_release(state: State, disclosure: Disclosure, epoch: int) -> Release:
    """Release all shown items that are in the disclosure. Nothing is decided or drawn."""
    shown = state.shown_levels()
    ratings = tuple((item, shown[item]) for item in disclosure.sort_items(shown))
    return Release(disclosure.digest, epoch, ratings)


def follow_aliases(by_item: Mapping[ItemId, T], aliases: Aliases) -> dict[ItemId, T]:
    """Replace old item ids by new ones. An entry under the new id itself replaces a moved one.

    Args:
        by_item: Values by item id.
        aliases: Pairs of old and new ids. If several old ids in `by_item` have the same new id, the
            last of these pairs counts.
    """
    moved = {new: by_item[old] for old, new in aliases if old in by_item}
    old_ids = {old for old, _ in aliases}
    return moved | {item: value for item, value in by_item.items() if item not in old_ids}


def finite_stars(stars: Any) -> float | None:
    """Return stars as a float; None for a text, an array, or a number that no float can hold."""
    if not isinstance(stars, Real | Decimal):
        return None
    try:
        number = float(stars)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None


def items_off_scale(levels: Mapping[ItemId, int | None]) -> list[ItemId]:
    """List the items whose level is None because their stars are off the scale."""
    return [item for item, level in levels.items() if level is None]


def rows_of_owner(disclosure: Disclosure, values: Mapping[str, str], state: State) -> list[int]:
    """Look up the rows of the owner's values, if the memory may decide under this disclosure.

    The first call with a memory stores in it which values the disclosure lists. A later disclosure
    with other lists is refused, whatever the owner's value is. Otherwise a service could list some
    values now and others later: the letter that first shows an item would reveal the value.

    Args:
        disclosure: The public tables.
        values: The owner's value of each attribute.
        state: The memory.

    Raises:
        RefusalError: The memory may not decide.
    """
    listed_values = tuple((table.name, table.values) for table in disclosure.attributes)
    state.values = state.values or listed_values
    rows = [row_of_value(table.name, table.values, values) for table in disclosure.attributes]
    if state.closed:
        raise RefusalError("another memory of this account exists, and may have decided anything")
    if state.binding != "" and state.binding != binding_digest(disclosure, values):
        raise RefusalError(
            "this memory was made under another rule, scale, epoch or attribute value; deciding "
            "more here could tell the attribute"
        )
    if state.values != listed_values:
        raise RefusalError(
            "the disclosure lists other attribute values than the first one that this memory was "
            "used with; deciding more here could tell the attribute"
        )
    return rows


def row_of_value(attribute: str, known_values: tuple[str, ...], owner: Mapping[str, str]) -> int:
    """Look up the row of the owner's value in an attribute's tables.

    Args:
        attribute: Name of the attribute.
        known_values: Its values, in the order of the rows.
        owner: The owner's value of each attribute.

    Raises:
        RefusalError: The owner's value is not among the known ones.
    """
    if owner.get(attribute) not in known_values:
        raise RefusalError(f"attribute {attribute!r} has to be one of: {', '.join(known_values)}")
    return known_values.index(owner[attribute])


def binding_digest(disclosure: Disclosure, values: Mapping[str, str]) -> str:
    """Hash the rule, the scale, the epoch length and the person's attribute values.

    Decisions are bound to these: the memory stores the hash, and a device with a different hash
    decides nothing more. The hash never leaves the device.

    Returns:
        First 16 hex digits of the SHA-256.
    """
    content = {
        "epoch_length": disclosure.epoch_length,
        "owner": [[table.name, values[table.name]] for table in disclosure.attributes],
        "rule": disclosure.rule.to_wire(),
        "scale": disclosure.scale_to_wire(),
    }
    return hashlib.sha256(encode(content)).hexdigest()[:16]
