"""One account on one device: when a letter is due, and which disclosures the device follows.

A letter is the encoded `Release` of one epoch. The device sends one letter an epoch, at a time that
does not depend on any rating, even if nothing is new. Each letter holds all items that are shown so
far. To decide an item is to draw, once and for all, whether letters show it and with which stars.
Items are decided on the account's first day, and later only until a letter has shown an item:
letters that grew would reveal in which order items were rated. Where the device may not decide more
(another attribute value, say, or a disclosure that is not in the public log), it tells its owner
why and goes on to send the items that are shown: a missing letter would reveal something. Before
the first letter nothing is sent while the device may not decide: `Account.may_send`.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tacit.designs.standard_scheme.device import (
    Device,
    History,
    current_release,
    follow_aliases,
    rows_of_owner,
)
from tacit.designs.standard_scheme.disclosure import Disclosure, RefusalError, refuse_unsafe
from tacit.designs.standard_scheme.epochs import (
    calendar_epoch,
    due_epoch,
    epoch_end,
    latest_ended_epoch,
)
from tacit.designs.standard_scheme.memory import Log, State, item_json
from tacit.designs.standard_scheme.messages import ItemId, Release


@dataclass(frozen=True, eq=False, repr=False)
class Account:
    """One account's state under the disclosure that the service shows now."""

    state: State
    """What the device remembers of the account. Calls change it."""
    disclosure: Disclosure
    """The public tables, as the service shows them to everybody."""
    log: Log
    """The service's public log of disclosures, as the service shows it to everybody."""
    values: Mapping[str, str]
    """The owner's value of each attribute; they never leave the device."""
    secret: bytes
    """The account's secret; it never leaves the device."""
    store_state: Callable[[State], object]
    """Stores the state durably, then `State.spoken` in the file of the secret. It is called
    before a new letter is returned; if it raises, no letter is returned."""
    notify_owner: Callable[[str], object] = str
    """Receives a sentence for the owner: why some or all new ratings are not decided. By default
    the sentence is dropped."""

    def make_due_letter(
        self, history: History, entered: Mapping[ItemId, int], now: int
    ) -> bytes | None:
        """Make the letter that is due now, and store it before it is returned.

        Later calls in the same epoch return the same bytes. Items whose stars are off the scale are
        not decided.

        Args:
            history: All present stars, each under the item id with which it was entered. New ids of
                renamed items are used from the next letter on.
            entered: Unix second at which each star was first entered. An item without an entry
                counts as entered at the first call that has it in `history`.
            now: Unix seconds.

        Returns:
            The letter's bytes; None if no letter is due, or if `may_send` is false.
        """
        state = self.state
        epoch_length = state.epoch_length or self.disclosure.epoch_length
        refusal = self._find_refusal(calendar_epoch(now, epoch_length))
        state.merged &= history.keys()  # forget ignored ratings that were deleted
        by_entered_id = {item: star for item, star in history.items() if item not in state.merged}
        by_followed_id = follow_aliases(by_entered_id, state.aliases)
        self._note_arrivals(by_followed_id, follow_aliases(entered, state.aliases), now)
        if latest_ended_epoch(state.created, now, epoch_length) == state.last_epoch:
            return state.letter
        epoch = due_epoch(state.created, state.last_epoch, now, epoch_length, self.secret)
        if epoch is None:
            return None
        if refusal is None:
            state.epoch_length = epoch_length
            release = self._make_release(by_entered_id, by_followed_id, epoch)
        else:
            release = self._repeat_release(by_followed_id, epoch, refusal)
        if release is not None:
            state.letter = release.encode()
            state.spoken = epoch
        elif refusal is not None and not state.closed:
            return None  # nothing was sent before, so this epoch's letter stays due
        state.last_epoch = epoch
        self.store_state(state)
        return state.letter

    def may_send(self, now: int) -> bool:
        """Say whether the account sends letters: it sent one before, or may decide the first one.

        Otherwise no request may name the account either. A service that lists other attribute
        values later could read the owner's value from the first letter or the first such request.

        Args:
            now: Unix seconds.
        """
        state = self.state
        if state.letter is not None or state.spoken >= 0:
            return True
        epoch_length = state.epoch_length or self.disclosure.epoch_length
        if self._find_refusal(calendar_epoch(now, epoch_length)) is not None:
            return False
        try:
            rows_of_owner(self.disclosure, self.values, state)
        except RefusalError:
            return False
        return True

    def _find_refusal(self, epoch: int) -> RefusalError | None:
        """Return the reason not to follow the disclosure in this epoch; None if there is none.

        The log is stored in the state if `check_log` accepts it.
        """
        try:
            self.state.log = check_log(self.log, self.state.log, self.disclosure, epoch)
            refuse_unsafe(self.disclosure)
            self.state.check_aliases(self.disclosure.aliases)
        except RefusalError as refusal:
            return refusal
        return None

    def _note_arrivals(self, history: History, entered: Mapping[ItemId, int], now: int) -> None:
        """Note when each undecided item was first rated, and forget items that are not rated now.

        The new id of an early rename (`_find_early_renames`) is no new item and is not noted.

        Args:
            history: Stars by the ids of the last letter.
            entered: Seconds at which stars were first entered, by the same ids.
            now: Unix seconds.
        """
        earlier_arrivals = self.state.arrivals
        new_ids = set(self._find_early_renames(history).values())
        self.state.arrivals = {
            item: min(earlier_arrivals.get(item, now), entered.get(item, now))
            for item in history
            if self.state.is_undecided(item) and item not in new_ids
        }

    def _find_early_renames(self, history: History) -> dict[ItemId, ItemId]:
        """Find shown items that `history` already has under a new id of the present disclosure.

        Such an item's old id left the ratings after the last letter, and its new id was never seen
        before. An id that was seen before is a rating of its own and not a new name of the old
        item: otherwise the next letter would reveal that this rating exists.

        Returns:
            New id by old id.
        """
        state = self.state
        shown = state.shown_levels()
        renames = {}
        for old, new in self.disclosure.aliases:
            has_left = old in shown and old not in history
            was_seen_before = not state.is_undecided(new) or new in state.arrivals
            if has_left and new in history and not was_seen_before:
                renames[old] = new
        return renames

    def _make_release(
        self, by_entered_id: History, by_followed_id: History, epoch: int
    ) -> Release | None:
        """Decide the items that arrived before the epoch's end, and release all shown items.

        Where the device refuses to decide, shown items are released without a new decision.

        Args:
            by_entered_id: Stars by the ids with which they were entered.
            by_followed_id: The same stars by the ids of the last letter.
            epoch: Label of the epoch.

        Returns:
            The release. None if the device refuses to decide, the memory holds no letter, and no
            letter was made before or the account is closed.
        """
        state = self.state
        disclosure = self.disclosure
        self._withdraw_deleted_items(by_entered_id, by_followed_id)
        end = epoch_end(epoch, state.created, state.epoch_length)
        arrived = {}
        for item, star in follow_aliases(by_followed_id, disclosure.aliases).items():
            is_waiting = item in state.arrivals
            if not is_waiting or state.arrivals[item] < end:
                arrived[item] = star
        try:
            device = Device(disclosure, self.values, state, self.secret)
        except RefusalError as refusal:
            if state.letter is None and (state.closed or state.spoken < 0):
                self.notify_owner(f"Nothing new is decided or sent: {refusal}.")
                return None
            self.notify_owner(f"Nothing new is decided: {refusal}.")
            return current_release(state, disclosure, epoch)
        off_scale = device.off_scale(arrived, epoch)
        for item in off_scale:
            del arrived[item]
        if off_scale:
            items = ", ".join(map(item_json, off_scale))
            self.notify_owner(f"Not decided, because the stars lie off the scale: {items}.")
        return device.release(arrived, epoch)

    def _withdraw_deleted_items(self, by_entered_id: History, by_followed_id: History) -> None:
        """Withdraw the items that the owner deleted, and only then follow the new aliases.

        If aliases were followed first, a deleted item that is merged with a rated one would come
        back. In between, ratings that a merge would move onto a shown item are set aside. Otherwise
        such a rating would keep the shown item in the letters after the shown item's own rating is
        deleted.
        """
        state = self.state
        aliases = self.disclosure.aliases
        early_renames = self._find_early_renames(by_followed_id)
        state.update_withdrawn(still_rated={*by_followed_id, *early_renames})
        state.set_aside_merged_ratings(by_entered_id.keys(), aliases)
        state.follow(aliases)

    def _repeat_release(
        self, history: History, epoch: int, refusal: RefusalError
    ) -> Release | None:
        """Release the last letter's items again, without deleted ones; None without a last letter.

        The release names the disclosure of the last letter, not the refused one.
        """
        state = self.state
        self.notify_owner(f"Nothing new is decided: {refusal}.")
        state.update_withdrawn(still_rated=history)
        if state.letter is None:
            return None
        last_release = Release.decode(state.letter)
        shown = state.shown_levels()
        ratings = tuple((item, level) for item, level in last_release.ratings if item in shown)
        return Release(last_release.disclosure, epoch, ratings)


def check_log(log: Log, seen: Log, disclosure: Disclosure, epoch: int) -> Log:
    """Return the service's log if the device may follow the disclosure by it.

    The log must begin with the part that this device has seen before, and its epochs must ascend:
    each has one digest. Its latest digest up to the present epoch must be the disclosure's.

    Args:
        log: The log as the service shows it now.
        seen: The part of it that this device has seen before.
        disclosure: The disclosure that the service shows now.
        epoch: The present calendar epoch.

    Raises:
        RefusalError: The log breaks one of these rules.
    """
    if log[: len(seen)] != seen:
        raise RefusalError("the service's log of disclosures is not the one it showed before")
    if any(later <= earlier for (earlier, _), (later, _) in pairwise(log)):
        raise RefusalError("the service's log has two disclosures in one epoch")
    digests_until_now = [digest for logged_epoch, digest in log if logged_epoch <= epoch]
    if not digests_until_now or digests_until_now[-1] != disclosure.digest:
        raise RefusalError(
            "the service shows a disclosure that its log does not have for this epoch"
        )
    return log
