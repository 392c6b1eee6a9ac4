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

from tacit.client.accounts import Account, account_mark
from tacit.client.memories import Memory, MemoryContent
from tacit.client.transport import ServiceError, Transport, decode_message, quote_name
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

RETRY_SECONDS = 600
"""Time between two attempts of one letter, whatever happens in between."""

History = Mapping[ItemId, float]
"""Stars by item."""


@dataclass(frozen=True)
class LetterResult:
    """The result of one call of `send_letter`."""

    letter: bytes | None
    """The bytes that left; None where no letter was due."""
    due: int
    """The second from which on the next letter may leave."""
    notice: str
    """What the owner should know, mostly why nothing new is decided; empty without such a thing."""


class Letters:
    """One account's letters to one service."""

    def __init__(self, service: Transport, account: Account, memory: Memory) -> None:
        self._service = service
        self._account = account
        self._memory = memory
        self._mark = account_mark(account.secret)
        self._item_tables: dict[str, tuple[int, Disclosure, ItemTable]] = {}
        self._bind_memory()

    def send_letter(
        self,
        name: str,
        values: Mapping[str, str],
        history: History,
        now: int | None = None,
        *,
        entered: Mapping[ItemId, int] | None = None,
        digest: str | None = None,
    ) -> LetterResult:
        """Send the letter to a disclosure, if the calendar says that one is due.

        A letter that was not answered is sent again with the same bytes, at most every 10 minutes.
        Call this when the program starts and by a clock, never from code that handles a rating.

        Args:
            name: The disclosure's name.
            values: The person's value of each attribute of the disclosure; they never leave.
            history: All present stars.
            now: Unix seconds; by default this machine's time.
            entered: The second at which each star was entered first; by default that at which it
                was first in a `history`.
            digest: The disclosure's digest, where it is known from elsewhere.
        """
        now = int(time.time()) if now is None else now
        history, refused_ids = split_wire_ids(history)
        entered, _ = split_wire_ids(entered or {})
        next_attempt = self._note_ratings(name, history, entered, now)
        if next_attempt is not None:
            return LetterResult(None, next_attempt, "")
        disclosure = self._service.fetch_disclosure(name)
        log = self._service.fetch_digest_log(name)
        notices = []
        if refused_ids:
            notices.append(f"Not decided, because ids are whole numbers or texts: {refused_ids}.")
        if digest is not None and digest.lower() != disclosure.digest:
            log = ()
            notices.append("The service shows a disclosure that is not the expected one.")
        with self._memory.transaction() as content:
            state = self._open_state(content, history, now, disclosure)
            content.state = state
            self._check_latest(name, state, disclosure.epoch_length, now)
            letter = scheme.Account(
                state,
                disclosure,
                log,
                values,
                self._account.secret,
                keep=lambda _: None,  # this transaction stores it, before the letter leaves
                tell=notices.append,
            ).speak(history, entered, now)
            if letter is None:  # nothing is left to be sent
                content.settled = max(content.settled, state.last_epoch)
            if letter is None or Release.decode(letter).disclosure == disclosure.digest:
                content.tables = disclosure.encode()
            content.name = name
            if content.settled >= state.last_epoch:
                letter = None
            tables = content.tables
        if letter is not None:
            self._post_letter(name, letter, tables, current_digest=disclosure.digest)
        with self._memory.transaction() as content:
            due = _due_second(content, self._account.secret, now)
        return LetterResult(letter, due, " ".join(dict.fromkeys(notices)))

    def recommend_from_letter(self, name: str, history: History, *, n: int = 10) -> list[ItemId]:
        """List the best items not rated yet, by the scores of the last letter. Nothing is sent.

        Args:
            name: The disclosure's name.
            history: All present stars.
            n: Length of the list.
        """
        disclosure, scores = self._last_answer(name)
        order = disclosure.item_number
        rated = follow_aliases(history, disclosure)
        rows = [row for row in scores.scores if row[0] not in rated]
        rows.sort(key=lambda row: (-row[2], order[row[0]]))
        return [item for item, *_ in rows[:n]]

    def predict(self, name: str, values: Mapping[str, str]) -> dict[ItemId, float]:
        """Predict the stars of all items, by the scores of the last letter. Nothing is sent.

        Args:
            name: The disclosure's name.
            values: The person's value of each attribute of the disclosure.
        """
        disclosure, scores = self._last_answer(name)
        try:
            device = Device(disclosure, values, State(created=0), self._account.secret)
        except ValueError as error:
            raise ConfigError(f"{error}.") from None
        return device.complete(scores)

    def recommend_on_device(
        self, name: str, history: History, *, n: int = 10, now: int | None = None
    ) -> list[ItemId]:
        """List the best items not rated yet, by the service's item table and true stars.

        Nothing is sent. The table is fetched once an epoch by this object, without a key;
        ServiceError of status 404 where the service publishes none.

        Args:
            name: The disclosure's name.
            history: All present stars.
            n: Length of the list.
            now: Unix seconds; by default this machine's time.
        """
        now = int(time.time()) if now is None else now
        disclosure, table = self._fetch_item_table(name, now)
        rated = follow_aliases(history, disclosure)
        levels = {}
        for item in disclosure.items:
            if item in rated:  # the nearest whole level; of two, the higher, as in every language
                level = (rated[item] - disclosure.minimum) / disclosure.step
                levels[item] = floor(level + 0.5)
        try:
            ranked = table.rank(disclosure.items, levels)
        except ValueError as error:
            raise ConfigError(f"{error}.") from None
        return [item for item, _ in ranked[:n]]

    def forget(self, user: str, history: Collection[ItemId], now: int | None = None) -> Any:
        """Have the service delete all that it stores about this account.

        Before that the memory drops all but the ids of items that are rated or were decided: a next
        account with this memory never decides them. This account sends nothing more but this wish,
        which may be repeated, also by a new `Client`.

        Args:
            user: The name that the key is for.
            history: All present ratings, or their items.
            now: Unix seconds; by default this machine's time.

        Returns:
            The service's receipt.
        """
        now = int(time.time()) if now is None else now
        rated, _ = split_wire_ids(dict.fromkeys(history, 0.0))
        with self._memory.transaction() as content:
            if content.account == self._mark:
                self._account.store_letter_epoch(LARGEST)  # then a copy of the memory is too old
                state = state_after_forgetting(content.state or State(created=now), rated, now)
                _forget_content(content, self._mark, state)
        answer = self._service.delete(f"/api/users/{quote_name(user)}", self._mark)
        return self._service.parse_json(answer)

    def _check_account(self, content: MemoryContent) -> None:
        """Raise PrivacyError once the account is forgotten."""
        if content.account != self._mark:
            raise PrivacyError(
                "This account was forgotten. Make a new one, in another file, under another name "
                "at the service. Nothing was sent."
            )

    def _bind_memory(self) -> None:
        """Bind the memory to the account, the first time; PrivacyError for another account's.

        An account that is older may have a memory elsewhere, which decides; a memory that is bound
        to it here decides nothing.
        """
        with self._memory.transaction() as content:
            if self._mark in (content.account, content.forgotten):
                is_made_here = self._account.is_fresh and content.state is None
                if is_made_here:  # another program was here first
                    content.lost = False
                return
            if content.account not in (None, ""):
                raise PrivacyError("This memory is another account's. Nothing was sent.")
            content.account = self._mark
            content.lost = not self._account.is_fresh
            if content.state is not None:
                content.state.created = self._account.created
                content.state.closed = content.lost

    def _note_ratings(
        self, name: str, history: History, entered: Mapping[ItemId, int], now: int
    ) -> int | None:
        """Note what was rated, and start an attempt if it is time for one.

        Returns:
            The second until which there is nothing to send; None for an attempt now.
        """
        with self._memory.transaction() as content:
            self._check_account(content)
            if content.name not in (None, name):
                raise PrivacyError(
                    f"This account answers the disclosure '{content.name}'. Another one needs "
                    "another account: two decisions about one item would tell. Nothing was sent."
                )
            if content.state is not None:
                arrivals = content.state.arrivals
                for item in filter(
                    content.state.is_undecided, follow_aliases(history, content.state)
                ):
                    arrivals.setdefault(item, min(now, entered.get(item, now)))
            due = _due_second(content, self._account.secret, now)
            if due > now:
                return due
            if 0 <= now - content.tried < RETRY_SECONDS:
                return content.tried + RETRY_SECONDS
            content.tried = now
            return None

    def _open_state(
        self, content: MemoryContent, history: History, now: int, disclosure: Disclosure
    ) -> State:
        """Return the device's state, with which the account goes on."""
        last_letter_epoch = None if content.lost else self._account.last_letter_epoch
        if content.state is None and last_letter_epoch == -1:
            return State(created=self._account.created or now)
        return open_state(content.state, last_letter_epoch, history, now, disclosure.epoch_length)

    def _check_latest(self, name: str, state: State, length: int, now: int) -> None:
        """Close the account here if the service has a letter of an epoch unknown to this memory.

        Then another memory exists, which goes on. The service is asked when a letter is due and at
        no other time.
        """
        length = state.epoch_length or length
        secret = self._account.secret
        due = epochs.due_epoch(state.created, state.last_epoch, now, length, secret)
        if due is None or state.closed:
            return
        if self._service.fetch_latest_epoch(name) > state.last_epoch:
            state.closed = True
            state.letter = None

    def _post_letter(self, name: str, letter: bytes, tables: bytes, *, current_digest: str) -> None:
        """Send a letter that the memory holds, and store its scores.

        The account's file is written first, and then the letter leaves.

        Args:
            name: The disclosure's name.
            letter: The letter's bytes.
            tables: Bytes of the disclosure that the letter was made for.
            current_digest: Digest of the disclosure that is served now.
        """
        release = Release.decode(letter)
        with self._memory.transaction():  # other programs of this account wait
            if self._account.last_letter_epoch < release.epoch:
                self._account.store_letter_epoch(release.epoch)
        try:
            answer = self._service.post(f"/api/disclosures/{quote_name(name)}/letters", letter)
        except ServiceError as error:
            is_outdated = error.status == 422 and release.disclosure != current_digest
            if error.status == 409:
                self._close_state()
            if is_outdated or error.status in (409, 413):  # it will not be accepted later either
                self._settle(release.epoch)
            raise
        scores = decode_message(Scores.decode, answer)
        disclosure = Disclosure.decode(tables)
        unusable = "The service's scores cannot be used: they are"
        if scores.disclosure != disclosure.digest:
            raise ServiceError(f"{unusable} of another disclosure.")
        if [item for item, *_ in scores.scores] != list(disclosure.items):
            raise ServiceError(f"{unusable} not of all items.")
        self._settle(release.epoch, (tables, answer))

    def _close_state(self) -> None:
        """Decide nothing more: the service has a letter of another memory."""
        with self._memory.transaction() as content:
            if content.state is not None:
                content.state.closed = True

    def _settle(self, epoch: int, answer: tuple[bytes, bytes] | None = None) -> None:
        """Send this epoch's letter no more.

        Args:
            epoch: The letter's epoch.
            answer: Bytes of its disclosure and of its scores, where it was answered.
        """
        with self._memory.transaction() as content:
            content.settled = max(content.settled, epoch)
            if answer is not None:
                content.answer = answer

    def _last_answer(self, name: str) -> tuple[Disclosure, Scores]:
        """Return the disclosure and the scores of the last letter that was answered."""
        with self._memory.transaction() as content:
            tables, scores = content.answer
            is_answered = content.name == name and bool(scores)
        if not is_answered:
            raise ConfigError(
                "There are no scores on the device yet: the first letter leaves 30 minutes after "
                "the account was made. Until then rank with recommend_on_device, or show what is "
                "popular."
            )
        return Disclosure.decode(tables), Scores.decode(scores)

    def _fetch_item_table(self, name: str, now: int) -> tuple[Disclosure, ItemTable]:
        """Fetch the item table, once an epoch at most, whatever is rated."""
        fetched = self._item_tables.get(name)
        if fetched is not None:
            epoch, disclosure, table = fetched
            if epoch == epochs.calendar_epoch(now, disclosure.epoch_length):
                return disclosure, table
        disclosure = self._service.fetch_disclosure(name)
        table = self._service.fetch_message(ItemTable.decode, "disclosures", name, "item-table")
        if table.disclosure != disclosure.digest or len(table.columns) != len(disclosure.items):
            raise ServiceError("The service's item table is not that of its disclosure.")
        epoch = epochs.calendar_epoch(now, disclosure.epoch_length)
        self._item_tables[name] = (epoch, disclosure, table)
        return disclosure, table


def _forget_content(content: MemoryContent, mark: str, state: State) -> None:
    """Drop everything of a memory but the state with which a next account starts."""
    new = MemoryContent(account="", forgotten=mark, state=state)
    content.account = new.account
    content.reports = new.reports
    content.name = new.name
    content.state = new.state
    content.lost = new.lost
    content.forgotten = new.forgotten
    content.tried = new.tried
    content.settled = new.settled
    content.tables = new.tables
    content.answer = new.answer


def _due_second(content: MemoryContent, secret: bytes, now: int) -> int:
    """Return the second from which on a letter may leave.

    It is not above `now` where a letter is due, where one was not answered yet, or where the first
    tables are not on the device.
    """
    state = content.state
    if state is None or not content.tables:
        return now
    if state.letter is not None and state.last_epoch > content.settled:
        return now
    length = state.epoch_length or Disclosure.decode(content.tables).epoch_length
    epoch = epochs.latest_ended_epoch(state.created, now, length)
    if epoch is None or epoch <= max(state.last_epoch, content.settled):
        epoch = _running_epoch(state.created, now, length)
    return epochs.speaking_moment(epoch, state.created, length, secret)


def _running_epoch(created: int, now: int, length: int) -> int:
    """Label of the epoch that ends next: 0, then 1, then the calendar's number."""
    if now < epochs.epoch_end(0, created, length):
        return 0
    if now < epochs.epoch_end(1, created, length):
        return 1
    return epochs.calendar_epoch(now, length)
