"""The standard scheme over HTTP: one letter in each epoch, and lists that the device makes itself.

A letter is the message with the obfuscated ratings that the device releases in an epoch. Requests
are sent when the calendar requires it, when a public file is not on the device yet, and when the
person wants the account to be forgotten. They are never sent because the person rated something.
Making a list fetches public files at most.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from math import floor
from typing import Any, NamedTuple

from tacit.client.accounts import Account, account_mark, require_second
from tacit.client.memories import Memory, MemoryContent
from tacit.client.transport import ServiceError, Transport, decode_message, quote_name
from tacit.designs.standard_scheme import account as scheme
from tacit.designs.standard_scheme import epochs
from tacit.designs.standard_scheme.bins import listed_value
from tacit.designs.standard_scheme.device import Device, finite_stars, follow_aliases
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
"""Shortest time between two attempts to send a letter."""

History = Mapping[ItemId, float]
"""Stars by item."""


@dataclass(frozen=True)
class LetterResult:
    """The result of one call of `send_letter`."""

    letter: bytes | None
    """The bytes that were sent; None if none were."""
    due: int
    """The Unix second from which on a call may send the next letter, or the last one again."""
    notice: str
    """Sentences to the person, mostly why new ratings are not released; may be empty."""


def check_length(n: int) -> None:
    """Raise ConfigError unless the length of a list is a whole number of at least one."""
    if not hasattr(n, "__index__") or n < 1:
        raise ConfigError(f"A list has at least one entry; got n={n!r}. Give a whole number.")


def find_listed_values(disclosure: Disclosure, values: Mapping[str, Any]) -> dict[str, str]:
    """Write a person's values as the disclosure lists them: a number becomes the bin it is in.

    Blanks around a value do not count, and 1.0 is "1", as in training. A value that is neither
    listed nor in a bin is left as its text.
    """
    found = {}
    for table in disclosure.attributes:
        if table.name in values:
            found[table.name] = listed_value(values[table.name], table.values)
    return found


class Letters:
    """Sends the letters of one account to one service, and makes lists from the answers.

    Args:
        service: The connection to the service.
        account: The person's account at the service.
        memory: The account's memory.

    Raises:
        PrivacyError: The memory belongs to another account.
    """

    def __init__(self, service: Transport, account: Account, memory: Memory) -> None:
        self._service = service
        self._account = account
        self._memory = memory
        self._mark = account_mark(account.secret)
        self._item_tables: dict[str, _FetchedTable] = {}
        """Item tables by name of their disclosure."""
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
        """Send the service a letter for a disclosure, if one is due by the calendar.

        A letter that was not answered is sent again with the same bytes, at most every 10 minutes.
        Call this when the program starts and by a clock, never from code that handles a rating.

        Args:
            name: The disclosure's name.
            values: The person's value of each attribute of the disclosure; these are never sent. A
                number counts as the bin that it is in. Before the first letter, a value that the
                disclosure does not list sends nothing.
            history: Stars of all items that are rated now.
            now: Unix seconds; by default this machine's time.
            entered: The Unix second at which each rating was first entered; for an item that is
                missing here, the time of the first call with its rating.
            digest: The expected digest of the disclosure, 16 hexadecimal digits. If the disclosure
                has another digest, nothing new is released. None: any digest is accepted.

        Raises:
            ConfigError: `now` or a time in `entered` is no Unix second.
            DataError: The file of the account or of the memory is not as this program writes it,
                or the account's holds another account than before.
            OutputError: A file of the account or of the memory, or its lock file, cannot be read or
                written.
            PrivacyError: The account was forgotten, or is used for another disclosure.
            ServiceError: A public file cannot be fetched, or the letter was not answered.
        """
        now = int(time.time()) if now is None else require_second("now", now)
        history, refused_ids = split_wire_ids(history)
        entered, _ = split_wire_ids(entered or {})
        entered = {item: require_second("entered", entered[item]) for item in entered}
        next_attempt = self._store_arrivals_and_attempt(name, history, entered, now)
        if next_attempt is not None:
            return LetterResult(None, next_attempt, "")
        disclosure = self._service.fetch_disclosure(name)
        log = self._service.fetch_digest_log(name)
        notices = []
        if refused_ids:
            notices.append(
                "Items whose id is neither a whole number nor a text are left out of the letter: "
                f"{refused_ids}."
            )
        if digest is not None and digest.lower() != disclosure.digest:
            log = ()  # nothing is decided for a disclosure that is not in its log
            notices.append("The service shows a disclosure that is not the expected one.")
        listed_values = find_listed_values(disclosure, values)

        def open_account(content: MemoryContent) -> scheme.Account:
            self._check_account(content)  # another program may have forgotten it by now
            content.state = self._open_state(content, history, now, disclosure)
            return scheme.Account(
                content.state,
                disclosure,
                log,
                listed_values,
                self._account.secret,
                # The memory's transaction stores the state before the letter is sent.
                store_state=lambda _: None,
                notify_owner=notices.append,
            )

        with self._memory.transaction() as content:
            # This puts the list of values into the state. It has to be stored before the first
            # request with the key, also if that request fails: otherwise a service that lists
            # other values at the next attempt could read the owner's value from the attempts.
            _may_ask_latest(open_account(content), now)
        with self._memory.transaction() as content:
            account = open_account(content)
            state = account.state
            self._close_outdated_state(name, account, now)
            letter = account.make_due_letter(history, entered, now)
            if letter is None:  # no letter up to this epoch remains to be sent
                content.settled_epoch = max(content.settled_epoch, state.last_epoch)
            # A letter that is sent again may be for an earlier disclosure, whose bytes are kept.
            if letter is None or Release.decode(letter).disclosure == disclosure.digest:
                content.disclosure_data = disclosure.encode()
            content.name = name
            if content.settled_epoch >= state.last_epoch:  # it was accepted or refused before
                letter = None
            disclosure_data = content.disclosure_data
        if letter is not None:
            self._post_letter(name, letter, disclosure_data, current_digest=disclosure.digest)
        with self._memory.transaction() as content:
            due = _due_second(content, self._account.secret, now)
        return LetterResult(letter, due, " ".join(dict.fromkeys(notices)))

    def recommend_from_letter(self, name: str, history: History, *, n: int = 10) -> list[ItemId]:
        """List the best items not rated yet, by the scores that the service sent last.

        Nothing is sent.

        Args:
            name: The disclosure's name.
            history: Stars of all items that are rated now.
            n: Most items of the list.

        Raises:
            ConfigError: No letter to this disclosure was answered yet, or n is below 1.
        """
        check_length(n)
        disclosure, scores = self._last_answer(name)
        item_number = disclosure.item_number
        rated = follow_aliases(history, disclosure.aliases)
        preferences = {item: value for item, _, value in scores.scores if item not in rated}
        # The largest preference first; among equals, the order of the disclosure.
        ranked = sorted(preferences, key=lambda item: (-preferences[item], item_number[item]))
        return ranked[:n]

    def predict(self, name: str, values: Mapping[str, str]) -> dict[ItemId, float]:
        """Predict the stars of all items, by the scores that the service sent last.

        Nothing is sent.

        Args:
            name: The disclosure's name.
            values: The person's value of each attribute of the disclosure.

        Raises:
            ConfigError: No letter was answered yet, or a value does not fit the disclosure.
        """
        disclosure, scores = self._last_answer(name)
        try:
            own = find_listed_values(disclosure, values)
            device = Device(disclosure, own, State(created=0), self._account.secret)
        except ValueError as error:
            raise ConfigError(f"{error}.") from None
        return device.complete(scores)

    def recommend_on_device(
        self, name: str, history: History, *, n: int = 10, now: int | None = None
    ) -> list[ItemId]:
        """List the best items not rated yet, by the service's item table and true stars.

        No rating is sent. The table is fetched at most once in each epoch by this object, without a
        key.

        Args:
            name: The disclosure's name.
            history: Stars of all items that are rated now.
            n: Most items of the list.
            now: Unix seconds; by default this machine's time.

        Raises:
            ServiceError: The service publishes no item table (status 404), or it cannot be used.
            ConfigError: Stars do not fit the scale of the disclosure, n is below 1, or `now` is no
                Unix second.
        """
        check_length(n)
        now = int(time.time()) if now is None else require_second("now", now)
        disclosure, table = self._fetch_item_table(name, now)
        rated = follow_aliases(history, disclosure.aliases)
        # Level 0 is the lowest number of stars on the scale; each further step is one level more.
        levels: dict[ItemId, int] = {}
        for item in disclosure.items:
            if item in rated:
                stars = finite_stars(rated[item])
                if stars is None:
                    raise ConfigError(f"Stars are finite numbers; got {rated[item]!r:.100}.")
                # Halves are rounded up, which is the same in all languages; `round` differs.
                level = (stars - disclosure.minimum) / disclosure.step
                levels[item] = floor(level + 0.5)
        try:
            ranked = table.rank(disclosure.items, levels)
        except ValueError as error:
            raise ConfigError(f"{error}.") from None
        return [item for item, _ in ranked[:n]]

    def forget(self, user: str, history: Collection[ItemId], now: int | None = None) -> Any:
        """Make the service delete everything that it stores about this account.

        The memory is emptied first. It keeps only the ids of items that are rated now, or about
        which the device decided before, so that a new account with this memory does not decide
        about them again; the log and the aliases of items that it followed; and the list of
        values that it saw first, so that it decides nothing under another list. Afterwards the
        account can send nothing but this request, which may be repeated, also by a new `Client`.

        Args:
            user: The name of the user that the key belongs to.
            history: All present ratings, or only the ids of their items.
            now: Unix seconds; by default this machine's time.

        Returns:
            The service's receipt, parsed from JSON.

        Raises:
            ConfigError: `now` is no Unix second.
            DataError: The file of the account or of the memory is not as this program writes it,
                or the account's holds another account than before.
            OutputError: A file of the account or of the memory, or its lock file, cannot be read or
                written.
            ServiceError: The service was not reached, or refused.
        """
        now = int(time.time()) if now is None else require_second("now", now)
        rated, _ = split_wire_ids(dict.fromkeys(history, 0.0))
        with self._memory.transaction() as content:
            if content.account == self._mark:
                # With the largest epoch, every copy of the memory counts as outdated.
                self._account.store_letter_epoch(LARGEST)
                state = content.state or State(created=now)
                _forget_content(content, self._mark, state_after_forgetting(state, rated, now))
        answer = self._service.delete(f"/api/users/{quote_name(user)}", self._mark)
        return self._service.parse_json(answer)

    def _check_account(self, content: MemoryContent) -> None:
        """Raise PrivacyError if the account was forgotten."""
        if content.account != self._mark:
            raise PrivacyError(
                "This account was forgotten. Make a new one, in another file, under another name "
                "at the service. Nothing was sent."
            )

    def _bind_memory(self) -> None:
        """Bind the memory to the account, unless it is bound already.

        An account whose `is_fresh` is false may have another memory elsewhere, in which decisions
        are stored. Then the memory here is marked as lost (`is_lost`), and decides nothing.

        Raises:
            PrivacyError: The memory is bound to another account.
        """
        with self._memory.transaction() as content:
            if self._mark in (content.account, content.forgotten):
                # Another program may have bound it while this object was making the account.
                if self._account.is_fresh and content.state is None:
                    content.is_lost = False
                return
            if content.account not in (None, ""):
                raise PrivacyError("This memory belongs to another account. Nothing was sent.")
            content.account = self._mark
            content.is_lost = not self._account.is_fresh
            if content.state is not None:
                content.state.created = self._account.created
                content.state.closed = content.is_lost

    def _store_arrivals_and_attempt(
        self, name: str, history: History, entered: Mapping[ItemId, int], now: int
    ) -> int | None:
        """Store when ratings arrived; if a letter may be sent now, store this attempt, too.

        Args:
            name: The disclosure's name.
            history: Stars of all items that are rated now.
            entered: The Unix second at which each rating was entered, where that is known.
            now: Unix seconds.

        Returns:
            None for an attempt now; otherwise the Unix second of the next attempt.

        Raises:
            PrivacyError: The account was forgotten, or is used for another disclosure.
        """
        with self._memory.transaction() as content:
            self._check_account(content)
            if content.name not in (None, name):
                raise PrivacyError(
                    f"This account answers the disclosure '{content.name}'. Another one needs "
                    "another account: two decisions about one item would reveal more than one. "
                    "Nothing was sent."
                )
            state = content.state
            if state is not None:
                for item in follow_aliases(history, state.aliases):
                    if state.is_undecided(item):
                        state.arrivals.setdefault(item, min(now, entered.get(item, now)))
            due = _due_second(content, self._account.secret, now)
            if due > now:
                return due
            if 0 <= now - content.last_attempt < RETRY_SECONDS:
                return content.last_attempt + RETRY_SECONDS
            content.last_attempt = now
            return None

    def _open_state(
        self, content: MemoryContent, history: History, now: int, disclosure: Disclosure
    ) -> State:
        """Return the device's state: a new one, or the stored one, limited after a loss.

        If the memory is lost, the state decides nothing. If the memory is older than the account's
        last letter, ratings that may have been decided since then are not decided again.
        """
        # None says to `open_state` that another memory may exist.
        last_letter_epoch = None if content.is_lost else self._account.read_letter_epoch()
        if content.state is None and last_letter_epoch == -1:
            return State(created=self._account.created or now)
        return open_state(content.state, last_letter_epoch, history, now, disclosure.epoch_length)

    def _close_outdated_state(self, name: str, account: scheme.Account, now: int) -> None:
        """Close the account on this device if the service has a letter that this memory lacks.

        In that case another memory of the account exists, which goes on to decide. The service is
        only asked when a letter is due that may be sent.

        Args:
            name: The disclosure's name.
            account: The account on the device.
            now: Unix seconds.
        """
        if not _may_ask_latest(account, now):
            return
        state = account.state
        if self._service.fetch_latest_epoch(name) > state.last_epoch:
            state.closed = True
            state.letter = None

    def _post_letter(
        self, name: str, letter: bytes, disclosure_data: bytes, *, current_digest: str
    ) -> None:
        """Send a letter that the memory holds, and store the scores that answer it.

        The account stores the letter's epoch before the letter is sent.

        Args:
            name: The disclosure's name.
            letter: The letter's bytes.
            disclosure_data: Bytes of the disclosure that the letter was made for.
            current_digest: Digest of the disclosure that is served now.

        Raises:
            ServiceError: The service cannot be reached, refuses the letter, or answers with scores
                that cannot be used.
        """
        release = Release.decode(letter)
        with self._memory.transaction() as content:  # other programs of this account wait
            self._check_account(content)
            self._account.store_letter_epoch(release.epoch)
        try:
            answer = self._service.post(f"/api/disclosures/{quote_name(name)}/letters", letter)
        except ServiceError as error:
            has_other_letter = error.status == HTTPStatus.CONFLICT
            is_too_large = error.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            is_invalid = error.status == HTTPStatus.UNPROCESSABLE_ENTITY
            is_outdated = is_invalid and release.disclosure != current_digest
            if has_other_letter:
                self._close_state()
            if has_other_letter or is_too_large or is_outdated:
                # The service would not accept the letter later either.
                self._stop_sending(release.epoch)
            raise
        scores = decode_message(Scores.decode, answer)
        disclosure = Disclosure.decode(disclosure_data)
        if scores.disclosure != disclosure.digest:
            raise ServiceError(
                "The service's scores cannot be used: they are of another disclosure."
            )
        scored_items = [item for item, *_ in scores.scores]
        if scored_items != list(disclosure.items):
            raise ServiceError("The service's scores cannot be used: they are not of all items.")
        self._stop_sending(release.epoch, (disclosure_data, answer))

    def _close_state(self) -> None:
        """Close the account on this device: the service has a letter of another memory."""
        with self._memory.transaction() as content:
            # Another program may have forgotten the account: the state is then for a new one.
            if content.account == self._mark and content.state is not None:
                content.state.closed = True

    def _stop_sending(self, epoch: int, answer: tuple[bytes, bytes] | None = None) -> None:
        """Store that the letter of an epoch is not sent again, and its answer if there is one.

        Args:
            epoch: The letter's epoch.
            answer: Bytes of its disclosure and of its scores; None if the service refused it.
        """
        with self._memory.transaction() as content:
            if content.account != self._mark:  # another program has forgotten the account
                return
            content.settled_epoch = max(content.settled_epoch, epoch)
            if answer is not None:
                content.last_answer = answer

    def _last_answer(self, name: str) -> tuple[Disclosure, Scores]:
        """Return the disclosure and the scores of the last letter that was answered.

        Raises:
            ConfigError: No letter to the disclosure of this name was answered yet.
        """
        with self._memory.transaction() as content:
            disclosure_data, scores = content.last_answer
            is_answered = content.name == name and len(scores) > 0
        if not is_answered:
            raise ConfigError(
                "There are no scores of this disclosure on the device yet: the first letter is "
                "due 30 minutes after the account was made. Until then rank with "
                "recommend_on_device, or show what is popular."
            )
        return Disclosure.decode(disclosure_data), Scores.decode(scores)

    def _fetch_item_table(self, name: str, now: int) -> tuple[Disclosure, ItemTable]:
        """Return a disclosure and its item table, which are fetched at most once in each epoch.

        Raises:
            ServiceError: They cannot be fetched, or do not belong together.
        """
        fetched = self._item_tables.get(name)
        if fetched is not None:
            present_epoch = epochs.calendar_epoch(now, fetched.disclosure.epoch_length)
            if fetched.epoch == present_epoch:
                return fetched.disclosure, fetched.table
        disclosure = self._service.fetch_disclosure(name)
        table = self._service.fetch_message(ItemTable.decode, "disclosures", name, "item-table")
        if table.disclosure != disclosure.digest or len(table.columns) != len(disclosure.items):
            raise ServiceError("The service's item table does not belong to its disclosure.")
        epoch = epochs.calendar_epoch(now, disclosure.epoch_length)
        self._item_tables[name] = _FetchedTable(epoch, disclosure, table)
        return disclosure, table


class _FetchedTable(NamedTuple):
    """An item table, with its disclosure."""

    epoch: int
    """Number of the calendar's epoch in which both were fetched."""
    disclosure: Disclosure
    table: ItemTable


def _forget_content(content: MemoryContent, mark: str, state: State) -> None:
    """Empty a memory, except for the state with which the next account starts.

    Args:
        content: Content of the memory, which is changed.
        mark: Mark of the account that is forgotten.
        state: State for the next account.
    """
    new = MemoryContent(account="", forgotten=mark, state=state)
    content.account = new.account
    content.reports = new.reports
    content.name = new.name
    content.state = new.state
    content.is_lost = new.is_lost
    content.forgotten = new.forgotten
    content.last_attempt = new.last_attempt
    content.settled_epoch = new.settled_epoch
    content.disclosure_data = new.disclosure_data
    content.last_answer = new.last_answer


def _may_ask_latest(account: scheme.Account, now: int) -> bool:
    """Say whether the service may be asked for its latest letter: one is due that may be sent.

    If so, the state takes the list of values and the log, which must be stored before the request.

    Args:
        account: The account on the device, whose state is changed.
        now: Unix seconds.
    """
    state = account.state
    epoch_length = state.epoch_length or account.disclosure.epoch_length
    due_epoch = epochs.due_epoch(state.created, state.last_epoch, now, epoch_length, account.secret)
    return due_epoch is not None and not state.closed and account.may_send(now)


def _due_second(content: MemoryContent, secret: bytes, now: int) -> int:
    """Return the Unix second from which on a letter may be sent.

    It is at most `now` if a letter is due, if the last one was not answered yet, or if the device
    has fetched no disclosure yet.

    Args:
        content: Content of the memory.
        secret: The account's secret, from which the second within the epoch is drawn.
        now: Unix seconds.
    """
    state = content.state
    if state is None or not content.disclosure_data:
        return now
    if state.letter is not None and state.last_epoch > content.settled_epoch:
        return now
    epoch_length = state.epoch_length or Disclosure.decode(content.disclosure_data).epoch_length
    epoch = epochs.latest_ended_epoch(state.created, now, epoch_length)
    is_settled = epoch is not None and epoch <= max(state.last_epoch, content.settled_epoch)
    if epoch is None or is_settled:
        epoch = _running_epoch(state.created, now, epoch_length)
    return epochs.sending_time(epoch, state.created, epoch_length, secret)


def _running_epoch(created: int, now: int, epoch_length: int) -> int:
    """Return the number of the account's epoch that ends next.

    Epochs 0 and 1 end 30 minutes and 24 hours after the account was made. After them, an account
    has the calendar's epochs.

    Args:
        created: When the account was made, in Unix seconds.
        now: Unix seconds.
        epoch_length: Seconds of an epoch of the calendar.
    """
    if now < epochs.epoch_end(0, created, epoch_length):
        return 0
    if now < epochs.epoch_end(1, created, epoch_length):
        return 1
    return epochs.calendar_epoch(now, epoch_length)
