"""One account on one device: when it speaks, what it trusts, and what it keeps first.

A device speaks once an epoch, at a moment that no rating moves, whether or not anything is new, and
sends all that it has shown so far. It decides items on the account's first day, and later only
until a letter shows one: letters that grew would tell in which order items were rated. Where it may
not decide more (another attribute value, a disclosure that is not the log's), it does not fall
silent, because silence tells: it sends what it sent before and says so to its owner.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from tacit.designs.standard_scheme.device import Device, History, current_release, follow_aliases
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
    """The memory."""
    disclosure: Disclosure
    """The public tables, as the service shows them to everybody."""
    log: Log
    """Its public log, as the service shows it to everybody."""
    values: Mapping[str, str]
    """The owner's values of the attributes; they never leave."""
    secret: bytes
    """The account's secret; it never leaves."""
    keep: Callable[[State], object]
    """Stores the state durably, and then its `spoken` in the file of the secret. It is called
    before a letter is returned; if it raises, there is no letter."""
    tell: Callable[[str], object] = str
    """Takes a sentence for the owner that says why nothing new is decided."""

    def speak(self, history: History, entered: Mapping[ItemId, int], now: int) -> bytes | None:
        """Make the letter that is due, and keep it before it is returned.

        In the same epoch it is the same bytes. Stars off the scale are not decided.

        Args:
            history: All present stars, each under the id that it was given for: a new name of an
                item is followed with the next letter.
            entered: The second at which each star was first entered; without it, the second at
                which this object first saw it.
            now: Unix seconds.

        Returns:
            The letter's bytes; None where none is due.
        """
        state = self.state
        length = state.epoch_length or self.disclosure.epoch_length
        distrust = self._find_distrust(calendar_epoch(now, length))
        state.merged &= history.keys()
        given = {item: star for item, star in history.items() if item not in state.merged}
        history = follow_aliases(given, state)
        entered = follow_aliases(entered, state)
        self._note_arrivals(history, entered, now)
        if latest_ended_epoch(state.created, now, length) == state.last_epoch:
            return state.letter
        epoch = due_epoch(state.created, state.last_epoch, now, length, self.secret)
        if epoch is None:
            return None
        if distrust is None:
            state.epoch_length = length
            letter = self._make_letter(given, history, epoch)
        else:
            letter = self._repeat_letter(history, epoch, distrust)
        if letter is not None:
            state.letter = letter.encode()
            state.spoken = epoch
        elif not state.closed:
            return None
        state.last_epoch = epoch
        self.keep(state)
        return state.letter

    def _find_distrust(self, epoch: int) -> RefusalError | None:
        """Say why the disclosure is not to be followed; None if it is."""
        try:
            self.state.log = check_log(self.log, self.state.log, self.disclosure, epoch)
            refuse_unsafe(self.disclosure)
            self.state.check_names(self.disclosure.aliases)
        except RefusalError as refused:
            return refused
        return None

    def _note_arrivals(self, history: History, entered: Mapping[ItemId, int], now: int) -> None:
        """Note when each undecided item arrived; forget what was deleted before it was decided."""
        earlier = self.state.arrivals
        renamed = set(self._renamed_by_owner(history).values())
        self.state.arrivals = {
            item: min(earlier.get(item, now), entered.get(item, now))
            for item in history
            if self.state.is_undecided(item) and item not in renamed
        }

    def _renamed_by_owner(self, history: History) -> dict[ItemId, ItemId]:
        """Find shown items whose rating a program keeps under a new id, before a letter says so.

        The old id left the ratings after the last letter, and the new one was never seen before.
        A new id that was rated before is a rating of its own, and no new name of the old one: else
        a letter would tell that it exists.

        Returns:
            Old ids and new ones.
        """
        state = self.state
        shown = state.shown_levels()
        return {
            old: new
            for old, new in self.disclosure.aliases
            if old in shown
            and old not in history
            and new in history
            and state.is_undecided(new)
            and new not in state.arrivals
        }

    def _make_letter(self, given: History, history: History, epoch: int) -> Release | None:
        """Decide what arrived before the epoch's end, and release all that is shown.

        Args:
            given: Stars by the ids that they were given for.
            history: The same by the names that the last letter followed.
            epoch: Label of the letter.
        """
        state = self.state
        disclosure = self.disclosure
        self._follow_deletions(given, history)
        over = epoch_end(epoch, state.created, state.epoch_length)
        ended = {
            item: star
            for item, star in follow_aliases(history, disclosure).items()
            if state.arrivals.get(item, over - 1) < over
        }
        try:
            device = Device(disclosure, self.values, state, self.secret)
        except RefusalError as refused:
            mute = state.closed and state.letter is None
            self.tell(f"Nothing new is decided{' or sent' if mute else ''}: {refused}.")
            return None if mute else current_release(state, disclosure, epoch)
        off = {item: ended.pop(item) for item in device.off_scale(ended, epoch)}
        if off:
            items = ", ".join(map(item_json, off))
            self.tell(f"Not decided, because the stars lie off the scale: {items}.")
        return device.release(ended, epoch)

    def _follow_deletions(self, given: History, history: History) -> None:
        """Withdraw what its owner deleted, under the names of the last letter; then merge names.

        A deleted item does not come back because it is merged with a rated one, and a shown one
        does not stay for the rating of another item that it is merged with.
        """
        state = self.state
        aliases = self.disclosure.aliases
        state.withdraw({*history, *self._renamed_by_owner(history)})
        state.set_merged_aside(given.keys(), aliases)
        state.follow(aliases)

    def _repeat_letter(
        self, history: History, epoch: int, distrust: RefusalError
    ) -> Release | None:
        """Release the last letter's set, less what its owner deleted, for its disclosure."""
        state = self.state
        self.tell(f"Nothing new is decided: {distrust}.")
        state.withdraw(history)
        if state.letter is None:
            return None
        last = Release.decode(state.letter)
        shown = state.shown_levels()
        ratings = tuple((item, level) for item, level in last.ratings if item in shown)
        return Release(last.disclosure, epoch, ratings)


def check_log(log: Log, seen: Log, disclosure: Disclosure, epoch: int) -> Log:
    """Return the log if it may be followed in this calendar epoch; RefusalError otherwise.

    It goes on from what was seen, holds one digest an epoch at most, and the latest one up to now
    is the disclosure's.
    """
    if log[: len(seen)] != seen:
        raise RefusalError("the service's log of disclosures is not the one it showed before")
    if any(later <= earlier for (earlier, _), (later, _) in pairwise(log)):
        raise RefusalError("the service's log has two disclosures in one epoch")
    counting = [digest for number, digest in log if number <= epoch]
    if not counting or counting[-1] != disclosure.digest:
        raise RefusalError(
            "the service shows a disclosure that its log does not have for this epoch"
        )
    return log
