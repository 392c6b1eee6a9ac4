"""Memory of a device: a record of each decided item, without any true star or random draw.

An item is decided once: letters show it with a released level, or it is held back. The memory
stays on the device. It is encoded like a message, but never sent. Every change of a state must be
stored durably before a letter (the encoded `Release` of an epoch) leaves the device.
Standard library only.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Self, TypeVar

from tacit.designs.standard_scheme.disclosure import RefusalError
from tacit.designs.standard_scheme.epochs import LAST_EPOCH_OF_FIRST_DAY, latest_ended_epoch
from tacit.designs.standard_scheme.messages import (
    DAY,
    ItemId,
    Message,
    as_tuples,
    is_id,
    is_integer,
    require,
)

T = TypeVar("T")
Log = tuple[tuple[int, str], ...]
"""(calendar epoch, digest of the disclosure that is valid from this epoch on), in order."""
Aliases = tuple[tuple[ItemId, ItemId], ...]
"""(old id, new id) of renamed, merged or split items, as in a disclosure."""
ListedValues = tuple[tuple[str, tuple[str, ...]], ...]
"""(name, its values) of each attribute, as a disclosure lists them."""


@dataclass(frozen=True)
class Record:
    """Final decision about one item."""

    level: int | None
    """The released micro-levels; None if the item is held back."""
    digest: str
    """Digest of the disclosure by which the item was decided."""
    epoch: int
    """Label of the epoch whose letter was made when the item was decided."""
    withdrawn: bool = False
    """Whether the owner deleted the rating: letters leave the item out until it is rated again."""


@dataclass
class State(Message):
    """State of an account on one device. The field names are the keys of its JSON."""

    kind = "memory"

    created: int
    """Second of the account's creation."""
    binding: str = ""
    """`device.binding_digest` of the choices that items are decided under; "" until a device uses
    the memory."""
    records: dict[ItemId, Record] = field(default_factory=dict)
    """Decision about each decided item."""
    frozen: set[ItemId] = field(default_factory=set)
    """Items that are never decided and never sent, because another memory may have decided them."""
    arrivals: dict[ItemId, int] = field(default_factory=dict)
    """Second at which each undecided item was first rated."""
    last_epoch: int = -1
    """Label of the latest epoch that is over and gets no new letter; -1 at first."""
    letter: bytes | None = None
    """The last letter; None if none was made, or if it is lost."""
    spoken: int = -1
    """Label of the latest epoch that a letter was made for; -1 at first. The file of the secret
    holds a copy, which shows that a memory was lost or is an old copy."""
    log: Log = ()
    """The service's log as far as this device has seen it."""
    aliases: Aliases = ()
    """The aliases of the disclosure that was followed last. The ids here are translated by them."""
    epoch_length: int = 0
    """Seconds of an epoch, from the first disclosure that was followed; 0 before."""
    closed: bool = False
    """Whether nothing is decided any more, because another memory of this account exists."""
    showed: bool = False
    """Whether a letter showed an item, or may have: then items are decided on the first day only,
    and not even then after an older copy of the memory was restored."""
    merged: set[ItemId] = field(default_factory=set)
    """Ids of ratings that are ignored, because their item was merged with a shown one. No letter
    reveals whether they exist."""
    values: ListedValues = ()
    """Values that the first disclosure listed with which a device used this memory; () before."""

    def __post_init__(self) -> None:
        """Raise MessageError if a field has a wrong type or range."""
        require(is_integer(self.created, 0), "a memory has the second of its creation")
        epochs = (self.last_epoch, self.spoken)
        require(all(is_integer(epoch, -1) for epoch in epochs), "an epoch is a whole number")
        require(type(self.binding) is str, "a binding is a text")
        for item, record in self.records.items():
            require(is_id(item) and _is_valid(record), "an item and what was decided about it")
        for item, second in self.arrivals.items():
            require(is_id(item) and is_integer(second), "an item and the second of its arrival")
        require(all(map(is_id, self.frozen)), "an item that is frozen")
        for epoch, digest in self.log:
            require(is_integer(epoch, 0) and type(digest) is str, "a log of digests")
        require(all(is_id(old) and is_id(new) for old, new in self.aliases), "old ids and new ones")
        has_length = is_integer(self.epoch_length, 0)
        require(
            has_length and type(self.closed) is bool,
            "the length of an epoch, and whether the memory is closed",
        )
        require(type(self.showed) is bool, "whether a letter showed an item")
        require(all(map(is_id, self.merged)), "an id whose rating counts for nothing")
        for name, listed in self.values:
            has_texts = type(listed) is tuple and all(type(value) is str for value in listed)
            require(type(name) is str and has_texts, "an attribute and its listed values")

    def __deepcopy__(self, _: dict[int, Any]) -> Self:
        """Copy the dictionaries and sets; what they hold never changes, and is shared."""
        state = copy.copy(self)
        state.records = dict(self.records)
        state.frozen = set(self.frozen)
        state.arrivals = dict(self.arrivals)
        state.merged = set(self.merged)
        return state

    def is_undecided(self, item: ItemId) -> bool:
        """Say whether an item is neither decided nor frozen."""
        return item not in self.records and item not in self.frozen

    def may_decide(self, epoch: int) -> bool:
        """Say whether the account decides items in the epoch with this label.

        It does on its first day, and later until a letter has shown an item. After that letters
        show no new item, whatever is deleted, renamed or lost, so that they never reveal in which
        order items were rated. A memory whose letter is lost decides nothing on the first day
        either: what that letter decided, and the owner deleted since, would be decided again.
        """
        is_letter_lost = self.letter is None and self.spoken >= 0
        is_first_day = epoch <= LAST_EPOCH_OF_FIRST_DAY
        return not self.showed or (is_first_day and not is_letter_lost)

    def translate_ids(self, items: Iterable[ItemId]) -> set[ItemId]:
        """Replace old item ids by the new ones of `aliases`."""
        new_id_of = dict(self.aliases)
        return {new_id_of.get(item, item) for item in items}

    def check_aliases(self, aliases: Aliases) -> None:
        """Check that new aliases keep every alias that was followed before, or rename it further.

        Otherwise the renamed item would be decided a second time under its old id.

        Raises:
            RefusalError: An alias that was followed is missing or contradicted.
        """
        new_id_of = dict(aliases)
        if any(new_id_of.get(old) != new_id_of.get(new, new) for old, new in self.aliases):
            raise RefusalError(
                "the disclosure's names of items contradict those that it gave before"
            )

    def follow(self, aliases: Aliases) -> None:
        """Move everything stored under an old id to its new id.

        Following aliases adds no item to the letters: a withdrawn record of either id becomes held
        back. If both ids have a record, one is kept: the shown one if only one is shown, otherwise
        the record of the new id.

        Raises:
            RefusalError: An alias that was followed before is missing or contradicted.
        """
        self.check_aliases(aliases)
        followed_before = dict(self.aliases)
        for old, new in aliases:
            if followed_before.get(old) != new:
                self._rename_item(old, new)
        self.frozen -= self.records.keys()
        for item in self.records:
            # An arrival left here would keep a decided item out of the letter of an ended epoch.
            self.arrivals.pop(item, None)
        self.aliases = aliases

    def _rename_item(self, old: ItemId, new: ItemId) -> None:
        """Move what is stored about one item from its old id to its new id."""
        if old in self.frozen:
            self.frozen.remove(old)
            self.frozen.add(new)
        if old in self.arrivals:
            second = self.arrivals.pop(old)
            self.arrivals[new] = min(second, self.arrivals.get(new, second))
        records = [self.records.pop(item) for item in (new, old) if item in self.records]
        if records:
            renamed = [_rename_record(record) for record in records]
            shown = [record for record in renamed if record.level is not None]
            self.records[new] = shown[0] if shown else renamed[0]

    def note_shown(self) -> None:
        """Set `showed` if an item is shown now. It is never unset."""
        self.showed = self.showed or bool(self.shown_levels())

    def set_aside_merged_ratings(self, rated: Collection[ItemId], aliases: Aliases) -> None:
        """Add to `merged` each rated item that is merged with another item that is rated and shown.

        Otherwise such a rating would keep the shown item in the letters when the shown item's own
        rating is deleted.

        Args:
            rated: Ids of all ratings that are not ignored, as they were entered.
            aliases: The aliases that are followed from now on.
        """
        id_before = dict(self.aliases)
        id_after = dict(aliases)
        shown = self.shown_levels()
        present_id_of = {item: id_before.get(item, item) for item in rated}
        shown_present_ids = [present for present in present_id_of.values() if present in shown]
        shown_new_ids = {id_after.get(present, present) for present in shown_present_ids}
        for item, present in present_id_of.items():
            if present not in shown and id_after.get(present, present) in shown_new_ids:
                self.merged.add(item)

    def update_withdrawn(self, *, still_rated: Collection[ItemId]) -> None:
        """Mark released items whose rating was deleted, and unmark those that are rated again."""
        for item, record in self.records.items():
            if record.level is not None:
                self.records[item] = replace(record, withdrawn=item not in still_rated)

    def shown_levels(self) -> dict[ItemId, int]:
        """Return the released micro-levels of all decided items that letters show at present."""
        return {
            item: record.level
            for item, record in self.records.items()
            if record.level is not None and not record.withdrawn
        }

    def _content(self) -> dict[str, Any]:
        decided_items = sorted(self.records, key=item_bytes)
        content = {
            "created": self.created,
            "binding": self.binding,
            "records": [_record_row(item, self.records[item]) for item in decided_items],
            "frozen": sorted(self.frozen, key=item_bytes),
            "arrivals": sorted(self.arrivals.items(), key=lambda row: item_bytes(row[0])),
            "last_epoch": self.last_epoch,
            "letter": None if self.letter is None else self.letter.decode(),
            "spoken": self.spoken,
            "log": self.log,
            "aliases": self.aliases,
            "epoch_length": self.epoch_length,
            "closed": self.closed,
            "showed": self.showed,
            "merged": sorted(self.merged, key=item_bytes),
        }
        # A memory that no device has used yet is written without them.
        return content | {"values": self.values} if self.values else content

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        letter = content["letter"]
        decoded_fields = {
            "records": {item: Record(*record) for item, *record in content["records"]},
            "frozen": set(content["frozen"]),
            "arrivals": dict(content["arrivals"]),
            "merged": set(content["merged"]),
            "letter": None if letter is None else letter.encode(),
            "values": as_tuples(content.get("values", [])),
        }
        return super()._from_content(content | decoded_fields)


def state_after_loss(history: Collection[ItemId], now: int, length: int, spoken: int = -1) -> State:
    """Make the state of an account whose memory was lost. Items rated by now are never decided.

    If a letter was made, later ratings are not decided either, because it may have shown an item.

    Args:
        history: Items that are rated.
        now: Second of the loss.
        length: The disclosure's epoch length, in seconds.
        spoken: Label of the epoch of the last letter, from the file of the secret; -1: no
            letter yet.
    """
    created = max(0, now - DAY)  # so that the first day is over
    state = State(created, frozen=set(history), spoken=spoken, showed=spoken >= 0)
    _close_past_epochs(state, now, length)
    return state


def restore_old_copy(
    state: State, history: Collection[ItemId], now: int, length: int, spoken: int
) -> None:
    """Continue from an older copy of the memory: rated items without a record in it are frozen.

    They may have been decided, and letters may have shown items, after the copy was made. What the
    owner deleted since is not known, so nothing else is decided either (`State.may_decide`).

    Args:
        state: The older copy, which is changed.
        history: Items that are rated.
        now: The present second.
        length: The disclosure's epoch length, in seconds.
        spoken: Label of the epoch of the last letter, from the file of the secret.
    """
    state.frozen |= {*state.translate_ids(history), *state.arrivals} - state.records.keys()
    state.arrivals.clear()
    state.letter = None
    state.spoken = spoken
    state.showed = True
    _close_past_epochs(state, now, length)


def state_after_forgetting(state: State, history: Collection[ItemId], now: int) -> State:
    """Make the state of a new account after the owner asked to be forgotten.

    Every item that the old account may have decided is frozen. No star is kept. The list of values
    is kept: under another one, the new account decides nothing (`device.rows_of_owner`).

    Args:
        state: State of the old account.
        history: Items that are rated.
        now: Second of the new account's creation.
    """
    return State(
        created=now,
        frozen={*state.frozen, *state.records, *state.arrivals, *state.translate_ids(history)},
        log=state.log,
        aliases=state.aliases,
        values=state.values,
    )


def open_state(
    state: State | None, spoken: int | None, history: Collection[ItemId], now: int, length: int
) -> State:
    """Return the state with which a device starts.

    Without a memory and without a letter, the account is new. Without a memory, but after a letter,
    everything that is rated may have been decided, and is frozen. A memory that is older than the
    last letter, and not closed, is continued by `restore_old_copy`, any other one unchanged. If
    there is no memory and the secret was made on another device, that device may still decide
    items, so this one decides nothing: its state is closed.

    Args:
        state: The stored memory; None if there is none.
        spoken: Label of the epoch of the last letter, from the file of the secret; -1: no
            letter yet. None: the secret was made on another device.
        history: Items that are rated.
        now: The present second.
        length: The disclosure's epoch length, in seconds.
    """
    if state is None and spoken == -1:
        return State(created=now)
    if state is None:
        state = state_after_loss(history, now, length, -1 if spoken is None else spoken)
        state.closed = spoken is None
    elif spoken is not None and spoken > state.spoken and not state.closed:
        restore_old_copy(state, history, now, length, spoken)
    return state


def _close_past_epochs(state: State, now: int, length: int) -> None:
    """Set `last_epoch` so that no letter is made for an epoch that ended before now.

    Its letter may have been sent already.
    """
    ended = latest_ended_epoch(state.created, now, state.epoch_length or length)
    state.last_epoch = max(state.last_epoch, state.spoken, -1 if ended is None else ended)


def _rename_record(record: Record) -> Record:
    """Make the record of an item under its new id: a withdrawn one becomes held back."""
    return replace(record, level=None, withdrawn=False) if record.withdrawn else record


def split_wire_ids(rated: Mapping[Any, T]) -> tuple[dict[ItemId, T], str]:
    """Separate entries whose id a message can hold, whole numbers and strings, from the others.

    Returns:
        The entries with such an id; and the other ids as text, separated by commas.
    """
    valid: dict[ItemId, T] = {}
    invalid_ids = []
    for item, value in rated.items():
        if type(item) is not bool and isinstance(item, Integral):
            valid[int(item)] = value
        elif isinstance(item, str) and not _has_surrogates(item):
            valid[str(item)] = value
        else:
            invalid_ids.append(ascii(item))
    return valid, ", ".join(invalid_ids)


def _has_surrogates(text: str) -> bool:
    """Say whether a string has a surrogate code point, which UTF-8 cannot hold."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def item_json(item: ItemId) -> str:
    """Encode an item id as JSON."""
    return json.dumps(item, ensure_ascii=False)


def item_bytes(item: ItemId) -> bytes:
    """Encode an item id as JSON in UTF-8. Ids are sorted by these bytes."""
    return item_json(item).encode()


def _record_row(item: ItemId, record: Record) -> list[Any]:
    """Return an item's record as a row of the memory's JSON."""
    return [item, record.level, record.digest, record.epoch, record.withdrawn]


def _is_valid(record: Record) -> bool:
    """Say whether the fields of a record are valid; only a released item can be withdrawn."""
    has_level = record.level is None or is_integer(record.level)
    has_flag = type(record.withdrawn) is bool and not (record.withdrawn and record.level is None)
    return has_level and type(record.digest) is str and is_integer(record.epoch, 0) and has_flag
