"""The standard scheme over HTTP: one letter an epoch, and lists from what the device stores.

Asking this module for anything sends a request only where the calendar says so, or where a public
file is not on the device yet: never because of a rating, and never because of a list.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

from tacit.client.device_memory import Account, Kept, Memory, mark_of
from tacit.client.transport import ServiceError, Transport, decoded, quoted
from tacit.designs.standard_scheme import account as scheme
from tacit.designs.standard_scheme import epochs
from tacit.designs.standard_scheme.device import Device, follow_aliases
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.memory import (
    State,
    open_state,
    split_wire_ids,
    state_after_forgetting,
)
from tacit.designs.standard_scheme.messages import LARGEST, ItemId, ItemTable, Release, Scores
from tacit.errors import ConfigError, PrivacyError

PAUSE = 600
"""Seconds between two attempts of one letter, whatever happens in between."""

History = Mapping[ItemId, float]


@dataclass(frozen=True)
class Spoken:
    """What one call of `speak` did.

    letter: the bytes that left, None where none was due. due: the second from which on the next one
    may leave. notice: what the owner should know, mostly why nothing new is decided; else "".
    """

    letter: bytes | None
    due: int
    notice: str


class Letters:
    """One account's letters to one service."""

    def __init__(self, service: Transport, account: Account, memory: Memory) -> None:
        self._service, self._account, self._memory = service, account, memory
        self._tables: dict[str, tuple[int, Disclosure, ItemTable]] = {}
        self._open()

    def speak(
        self,
        name: str,
        values: Mapping[str, str],
        history: History,
        now: int | None = None,
        *,
        entered: Mapping[ItemId, int] | None = None,
        digest: str | None = None,
    ) -> Spoken:
        """Send the letter to a disclosure, if the calendar says that one is due.

        values: the person's value of each attribute of the disclosure; they never leave. history:
        all present stars. now: Unix seconds, by default this machine's. entered: the second at
        which each star was entered first, by default that at which it was first in a `history`.
        digest: the disclosure's, where it is known from elsewhere.
        A letter that was not answered is sent again with the same bytes, at most every 10 minutes.
        Call this when the program starts and by a clock, never from code that handles a rating.
        """
        now = int(time.time()) if now is None else now
        history, odd = split_wire_ids(history)
        entered, _ = split_wire_ids(entered or {})
        wait = self._begin(name, history, entered, now)
        if wait is not None:
            return Spoken(None, wait, "")
        disclosure, log = self._service.disclosure(name), self._service.digest_log(name)
        notices = [f"Not decided, because ids are whole numbers or texts: {odd}."] if odd else []
        if digest is not None and digest.lower() != disclosure.digest:
            log = ()
            notices.append("The service shows a disclosure that is not the expected one.")
        with self._memory.turn() as kept:
            state = kept.state = self._state(kept, history, now, disclosure)
            self._check_latest(name, state, disclosure.epoch_length, now)
            letter = scheme.Account(
                state,
                disclosure,
                log,
                values,
                self._account.secret,
                keep=lambda _: None,  # the end of this turn does, before the letter leaves
                tell=notices.append,
            ).speak(history, entered, now)
            if letter is None:  # nothing is left to be sent
                kept.settled = max(kept.settled, state.last_epoch)
            if letter is None or Release.decode(letter).disclosure == disclosure.digest:
                kept.tables = disclosure.encode()
            kept.name = name
            letter = None if kept.settled >= state.last_epoch else letter
            tables = kept.tables
        if letter is not None:
            self._send(name, letter, tables, shown=disclosure.digest)
        with self._memory.turn() as kept:
            due = _due(kept, self._account.secret, now)
        return Spoken(letter, due, " ".join(dict.fromkeys(notices)))

    def recommend_from_letter(self, name: str, history: History, *, n: int = 10) -> list[ItemId]:
        """The n best items not rated yet, by the scores of the last letter. Nothing is sent."""
        disclosure, scores = self._answer(name)
        order = disclosure.item_number
        rated = follow_aliases(history, disclosure)
        rows = [row for row in scores.scores if row[0] not in rated]
        rows.sort(key=lambda row: (-row[2], order[row[0]]))
        return [item for item, *_ in rows[:n]]

    def predict(self, name: str, values: Mapping[str, str]) -> dict[ItemId, float]:
        """Predicted stars of all items, by the scores of the last letter. Nothing is sent."""
        disclosure, scores = self._answer(name)
        try:
            device = Device(disclosure, values, State(created=0), self._account.secret)
        except ValueError as error:
            raise ConfigError(f"{error}.") from None
        return device.complete(scores)

    def at_device(
        self, name: str, history: History, *, n: int = 10, now: int | None = None
    ) -> list[ItemId]:
        """The n best items not rated yet, by the service's item table and true stars.

        Nothing is sent. The table is fetched once an epoch by this object, without a key;
        ServiceError of status 404 where the service publishes none.
        """
        disclosure, table = self._table(name, int(time.time()) if now is None else now)
        rated = follow_aliases(history, disclosure)
        levels = {  # the nearest whole level; of two, the higher, as in every language
            item: floor((rated[item] - disclosure.minimum) / disclosure.step + 0.5)
            for item in disclosure.items
            if item in rated
        }
        try:
            return [item for item, _ in table.rank(disclosure.items, levels)[:n]]
        except ValueError as error:
            raise ConfigError(f"{error}.") from None

    def forget(self, user: str, history: Collection[ItemId], now: int | None = None) -> Any:
        """Have the service delete all that it keeps about this account; its receipt.

        user: the name that the key is for. history: all present ratings, or their items. Before
        that the memory drops all but the ids of items that are rated or were decided: a next
        account with this memory never decides them. This account sends nothing more but this wish,
        which may be repeated, also by a new `Client`. A memory that other devices shared stays.
        """
        now, mark = int(time.time()) if now is None else now, mark_of(self._account.secret)
        rated, _ = split_wire_ids(dict.fromkeys(history, 0.0))
        with self._memory.turn() as kept:
            if kept.account == mark:
                self._account.speaks(LARGEST)  # a copy of the memory, brought back, is too old
                left = state_after_forgetting(kept.state or State(created=now), rated, now)
                vars(kept).update(vars(Kept(account="", forgotten=mark, state=left)))
        return self._service.json(self._service.delete(f"/api/users/{quoted(user)}", mark))

    def _check(self, kept: Kept) -> None:
        """PrivacyError once the account is forgotten."""
        if kept.account != mark_of(self._account.secret):
            raise PrivacyError(
                "This account was forgotten. Make a new one, in another file, under another name "
                "at the service. Nothing was sent."
            )

    def _open(self) -> None:
        """Bind the memory to the account, the first time; PrivacyError for another account's.

        An account that was made elsewhere may have another memory, which decides; so nothing is
        decided here."""
        mark = mark_of(self._account.secret)
        with self._memory.turn() as kept:
            if mark in (kept.account, kept.forgotten):
                made_here = self._account.fresh and kept.state is None
                kept.lost = kept.lost and not made_here  # another program was here first
                return
            if kept.account not in (None, ""):
                raise PrivacyError("This memory is another account's. Nothing was sent.")
            kept.account, kept.lost = mark, not self._account.fresh
            if kept.state is not None:
                kept.state.created, kept.state.closed = self._account.created, kept.lost

    def _begin(
        self, name: str, history: History, entered: Mapping[ItemId, int], now: int
    ) -> int | None:
        """Note what was rated; then the second until which there is nothing to send, or None."""
        with self._memory.turn() as kept:
            self._check(kept)
            if kept.name not in (None, name):
                raise PrivacyError(
                    f"This account answers the disclosure '{kept.name}'. Another one needs another "
                    "account: two decisions about one item would tell. Nothing was sent."
                )
            if kept.state is not None:
                for item in filter(kept.state.is_undecided, follow_aliases(history, kept.state)):
                    kept.state.arrivals.setdefault(item, min(now, entered.get(item, now)))
            due = _due(kept, self._account.secret, now)
            if due > now:
                return due
            if 0 <= now - kept.tried < PAUSE:
                return kept.tried + PAUSE
            kept.tried = now
            return None

    def _state(self, kept: Kept, history: History, now: int, shown: Disclosure) -> State:
        spoken = None if kept.lost else self._account.spoken
        if kept.state is None and spoken == -1:
            return State(created=self._account.created or now)
        return open_state(kept.state, spoken, history, now, shown.epoch_length)

    def _check_latest(self, name: str, state: State, length: int, now: int) -> None:
        """If the service has a letter of an epoch unknown to this memory, another memory exists: it
        goes on, and this one is silent. Asked when a letter is due and at no other time."""
        length, secret = state.epoch_length or length, self._account.secret
        due = epochs.due_epoch(state.created, state.last_epoch, now, length, secret)
        if due is not None and not state.closed and self._service.latest(name) > state.last_epoch:
            state.closed, state.letter = True, None

    def _send(self, name: str, letter: bytes, tables: bytes, *, shown: str) -> None:
        """The memory holds the letter already; the account's file is next, and then it leaves.

        tables: those that the letter was made for. shown: the digest of those of now.
        """
        content = Release.decode(letter)
        epoch = content.epoch
        with self._memory.turn():  # other programs of this account wait
            if self._account.spoken < epoch:
                self._account.speaks(epoch)
        try:
            answer = self._service.post(f"/api/disclosures/{quoted(name)}/letters", letter)
        except ServiceError as error:
            old = error.status == 422 and content.disclosure != shown
            if old or error.status == 409:  # it will not be accepted later either
                self._settle(epoch, closed=error.status == 409)
            raise
        scores, made_for = decoded(Scores.decode, answer), Disclosure.decode(tables)
        unusable = "The service's scores cannot be used: they are"
        if scores.disclosure != made_for.digest:
            raise ServiceError(f"{unusable} of another disclosure.")
        if [item for item, *_ in scores.scores] != list(made_for.items):
            raise ServiceError(f"{unusable} not of all items.")
        self._settle(epoch, (tables, answer))

    def _settle(
        self, epoch: int, answer: tuple[bytes, bytes] | None = None, *, closed: bool = False
    ) -> None:
        """This epoch's letter does not leave again. closed: it had one of another memory."""
        with self._memory.turn() as kept:
            if kept.state is not None and closed:
                kept.state.closed = True
            kept.settled = max(kept.settled, epoch)
            kept.answer = kept.answer if answer is None else answer

    def _answer(self, name: str) -> tuple[Disclosure, Scores]:
        with self._memory.turn() as kept:
            tables, scores = kept.answer
            mine = kept.name == name
        if not mine or not scores:
            raise ConfigError(
                "There are no scores on the device yet: the first letter leaves 30 minutes after "
                "the account was made. Until then rank with at_device, or show what is popular."
            )
        return Disclosure.decode(tables), Scores.decode(scores)

    def _table(self, name: str, now: int) -> tuple[Disclosure, ItemTable]:
        """Fetched once an epoch at most, whatever is rated."""
        fetched = self._tables.get(name)
        if fetched is None or fetched[0] != epochs.calendar_epoch(now, fetched[1].epoch_length):
            disclosure = self._service.disclosure(name)
            table = self._service.message(ItemTable.decode, "disclosures", name, "item-table")
            if table.disclosure != disclosure.digest or len(table.columns) != len(disclosure.items):
                raise ServiceError("The service's item table is not that of its disclosure.")
            fetched = epochs.calendar_epoch(now, disclosure.epoch_length), disclosure, table
            self._tables[name] = fetched
        return fetched[1:]


def _due(kept: Kept, secret: bytes, now: int) -> int:
    """The second from which on a letter may leave; not above now where one is due, where one was
    not answered yet, or where the first tables are not on the device."""
    state = kept.state
    if state is None or not kept.tables:
        return now
    if state.letter is not None and state.last_epoch > kept.settled:
        return now
    length = state.epoch_length or Disclosure.decode(kept.tables).epoch_length
    ended = epochs.latest_ended_epoch(state.created, now, length)
    if ended is None or ended <= max(state.last_epoch, kept.settled):
        first, second = (epochs.epoch_end(label, state.created, length) for label in (0, 1))
        ended = 0 if now < first else 1 if now < second else epochs.calendar_epoch(now, length)
    return epochs.speaking_moment(ended, state.created, length, secret)
