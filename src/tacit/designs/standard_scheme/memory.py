"""Memory of a device: one record for each item it decided, no true star and no die.

It stays on the device: its canonical bytes are those of a message that is never sent. Whatever
changes a state has to be kept durably before a letter leaves. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Self, TypeVar

from tacit.designs.standard_scheme.disclosure import RefusalError
from tacit.designs.standard_scheme.epochs import LAST_EPOCH_OF_FIRST_DAY, latest_ended_epoch
from tacit.designs.standard_scheme.messages import DAY, ItemId, Message, is_id, is_integer, require

T = TypeVar("T")
Log = tuple[tuple[int, str], ...]
"""Calendar epoch, and the digest of the disclosure that counts from then on."""
Aliases = tuple[tuple[ItemId, ItemId], ...]
"""Old ids and new ones, as in a disclosure."""


@dataclass(frozen=True)
class Record:
    """Decision about one item, for ever."""

    level: int | None
    """The released micro-levels; None: held back."""
    digest: str
    """Digest of the disclosure that decided."""
    epoch: int
    """Label of the letter that was made then."""
    withdrawn: bool = False
    """Whether its owner deleted the rating: then it is in no letter until it is rated again."""


@dataclass
class State(Message):
    """An account on one device."""

    kind = "memory"

    created: int
    """Second of the account's creation."""
    binding: str = ""
    """Names the rule and the values that the records were made under; empty at first."""
    records: dict[ItemId, Record] = field(default_factory=dict)
    """Items that were decided."""
    frozen: set[ItemId] = field(default_factory=set)
    """Items that are never decided nor sent, because another memory may have decided them."""
    arrivals: dict[ItemId, int] = field(default_factory=dict)
    """Undecided items, and the second at which each was first seen rated."""
    last_epoch: int = -1
    """The latest epoch that is closed; -1 at first."""
    letter: bytes | None = None
    """The bytes that were made for that epoch, if any were."""
    spoken: int = -1
    """The latest epoch that a letter was made for; -1 at first. The file of the secret holds a
    copy, by which a lost or an old memory is noticed."""
    log: Log = ()
    """The service's log as far as this device has seen it."""
    aliases: Aliases = ()
    """The names that it follows, as in the disclosure that was followed last."""
    epoch_length: int = 0
    """Seconds of an epoch, from the first disclosure that was followed; 0 before."""
    closed: bool = False
    """Whether nothing is decided any more, because another memory of this account exists."""
    showed: bool = False
    """Whether a letter showed an item, or may have: then the first day alone decides."""
    merged: set[ItemId] = field(default_factory=set)
    """Ids of ratings that count for nothing, because their item was merged with a shown one: no
    letter tells whether they exist."""

    def __post_init__(self) -> None:
        require(is_integer(self.created, 0), "a memory has the second of its creation")
        epochs = (self.last_epoch, self.spoken)
        require(all(is_integer(epoch, -1) for epoch in epochs), "an epoch is a whole number")
        require(type(self.binding) is str, "a binding is a text")
        for item, record in self.records.items():
            require(is_id(item) and _is_record(record), "an item and what was decided about it")
        for item, second in self.arrivals.items():
            require(is_id(item) and is_integer(second), "an item and the second of its arrival")
        require(all(map(is_id, self.frozen)), "an item that is frozen")
        require(all(is_integer(e, 0) and type(d) is str for e, d in self.log), "a log of digests")
        require(all(is_id(old) and is_id(new) for old, new in self.aliases), "old ids and new ones")
        settled = is_integer(self.epoch_length, 0) and type(self.closed) is bool
        require(settled, "the length of an epoch, and whether the memory is closed")
        require(type(self.showed) is bool, "whether a letter showed an item")
        require(all(map(is_id, self.merged)), "an id whose rating counts for nothing")

    def is_undecided(self, item: ItemId) -> bool:
        """Say whether nothing was or may have been decided about an item."""
        return item not in self.records and item not in self.frozen

    def may_decide(self, epoch: int) -> bool:
        """Tell whether the account decides items in the epoch with this label.

        It does on its first day, and later until a letter shows an item. After that letters show
        nothing new, whatever is deleted, renamed or lost, so that they never tell in which order
        items were rated.
        """
        return epoch <= LAST_EPOCH_OF_FIRST_DAY or not self.showed

    def follow_names(self, items: Iterable[ItemId]) -> set[ItemId]:
        """Translate ids into the names that are followed."""
        now = dict(self.aliases)
        return {now.get(item, item) for item in items}

    def check_names(self, aliases: Aliases) -> None:
        """Check that no name is dropped or contradicted that was followed.

        Its item would be decided a second time.

        Raises:
            RefusalError: One is.
        """
        now = dict(aliases)
        if any(now.get(old) != now.get(new, new) for old, new in self.aliases):
            raise RefusalError(
                "the disclosure's names of items contradict those that it gave before"
            )

    def follow(self, aliases: Aliases) -> None:
        """Move what is known about an old id to its new one.

        Letters hold what they held and nothing more. Of several records of the item a shown one is
        kept, the new id's own before others. A withdrawn one is held back from then on.

        Raises:
            RefusalError: A name that was followed is dropped or contradicted.
        """
        self.check_names(aliases)
        before = dict(self.aliases)
        for old, new in aliases:
            if before.get(old) != new:
                self._move(old, new)
        self.frozen -= self.records.keys()
        for item in self.records:
            self.arrivals.pop(item, None)  # else a late rating under the new name would hide it
        self.aliases = aliases

    def _move(self, old: ItemId, new: ItemId) -> None:
        if old in self.frozen:
            self.frozen.remove(old)
            self.frozen.add(new)
        if old in self.arrivals:
            second = self.arrivals.pop(old)
            self.arrivals[new] = min(second, self.arrivals.get(new, second))
        records = [self.records.pop(item) for item in (new, old) if item in self.records]
        if records:
            self.records[new] = min(
                map(_moved_record, records), key=lambda record: record.level is None
            )

    def note_shown(self) -> None:
        """Note whether an item is shown now; once one was, that is never forgotten."""
        self.showed = self.showed or bool(self.shown_levels())

    def set_merged_aside(self, given: Collection[ItemId], aliases: Aliases) -> None:
        """Set ratings aside whose item takes the name of a shown one that is rated itself.

        Otherwise they would keep that item in the letters when its own rating is deleted.

        Args:
            given: Ids of all ratings that count, as they were given.
            aliases: The names that are followed from now on.
        """
        before = dict(self.aliases)
        after = dict(aliases)
        shown = self.shown_levels()
        names = {item: before.get(item, item) for item in given}
        taken = {after.get(name, name) for name in names.values() if name in shown}
        for item, name in names.items():
            if name not in shown and after.get(name, name) in taken:
                self.merged.add(item)

    def withdraw(self, rated: Collection[ItemId]) -> None:
        """Mark the shown items whose rating was deleted, and unmark those rated again."""
        for item, record in self.records.items():
            if record.level is not None:
                self.records[item] = replace(record, withdrawn=item not in rated)

    def shown_levels(self) -> dict[ItemId, int]:
        """Look up the released micro-levels of the items that letters hold."""
        return {
            item: record.level
            for item, record in self.records.items()
            if record.level is not None and not record.withdrawn
        }

    def _content(self) -> dict[str, Any]:
        decided = sorted(self.records, key=item_bytes)
        return {
            "created": self.created,
            "binding": self.binding,
            "records": [_record_row(item, self.records[item]) for item in decided],
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

    @classmethod
    def _from_content(cls, content: dict[str, Any]) -> Self:
        letter = content["letter"]
        collections = {
            "records": {item: Record(*record) for item, *record in content["records"]},
            "frozen": set(content["frozen"]),
            "arrivals": dict(content["arrivals"]),
            "merged": set(content["merged"]),
            "letter": None if letter is None else letter.encode(),
        }
        return super()._from_content(content | collections)


def state_after_loss(history: Collection[ItemId], now: int, length: int, spoken: int = -1) -> State:
    """Make the state of an account whose memory is lost: what is rated by now is never decided.

    Nor is what is rated later, where a letter was made: it may have shown an item.

    Args:
        history: Items that are rated.
        now: Second of the loss.
        length: The disclosure's epoch length, in seconds.
        spoken: The last epoch of a letter, as the file of the secret says.
    """
    created = max(0, now - DAY)
    state = State(created, frozen=set(history), spoken=spoken, showed=spoken >= 0)
    _close_past_epochs(state, now, length)
    return state


def restore_old_copy(
    state: State, history: Collection[ItemId], now: int, length: int, spoken: int
) -> None:
    """Take an older copy of the memory as lost for everything that it has no record of.

    Letters that it does not know of may have shown an item.
    """
    state.frozen |= {*state.follow_names(history), *state.arrivals} - state.records.keys()
    state.arrivals.clear()
    state.letter = None
    state.spoken = spoken
    state.showed = True
    _close_past_epochs(state, now, length)


def state_after_forgetting(state: State, history: Collection[ItemId], now: int) -> State:
    """Make the state for a new account after "forget me".

    Every item that the old account may have decided stays frozen; no star is kept.
    """
    return State(
        created=now,
        frozen={*state.frozen, *state.records, *state.arrivals, *state.follow_names(history)},
        log=state.log,
        aliases=state.aliases,
    )


def open_state(
    state: State | None, spoken: int | None, history: Collection[ItemId], now: int, length: int
) -> State:
    """Choose the state to go on with, when a device starts.

    A secret that spoke and has no memory, or an older one, may have decided anything rated since.
    One that was made elsewhere may still decide there, so that nothing is ever decided here.

    Args:
        state: The memory that was found; None if there is none.
        spoken: The last epoch of a letter, as the file of the secret says; None where this device
            did not make the secret.
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
    """Close the epochs that ended before now: another letter of those may have left."""
    ended = latest_ended_epoch(state.created, now, state.epoch_length or length)
    state.last_epoch = max(state.last_epoch, state.spoken, -1 if ended is None else ended)


def _moved_record(record: Record) -> Record:
    """Make the record that an item has under another name."""
    return replace(record, level=None, withdrawn=False) if record.withdrawn else record


def split_wire_ids(rated: Mapping[Any, T]) -> tuple[dict[ItemId, T], str]:
    """Split entries by whether a message can hold their id: whole numbers and texts.

    Returns:
        The entries that it can hold, and the other ids in words.
    """
    named: dict[ItemId, T] = {}
    not_text = []
    for item, value in rated.items():
        if type(item) is not bool and isinstance(item, Integral):
            named[int(item)] = value
        elif isinstance(item, str) and not any("\ud800" <= sign <= "\udfff" for sign in item):
            named[str(item)] = value
        else:
            not_text.append(ascii(item))
    return named, ", ".join(not_text)


def item_json(item: ItemId) -> str:
    """Write the item as JSON."""
    return json.dumps(item, ensure_ascii=False)


def item_bytes(item: ItemId) -> bytes:
    """Write the item as JSON in UTF-8, by which items are sorted."""
    return item_json(item).encode()


def _record_row(item: ItemId, record: Record) -> list[Any]:
    return [item, record.level, record.digest, record.epoch, record.withdrawn]


def _is_record(record: Record) -> bool:
    level = record.level is None or is_integer(record.level)
    flagged = type(record.withdrawn) is bool and not (record.withdrawn and record.level is None)
    return level and type(record.digest) is str and is_integer(record.epoch, 0) and flagged
