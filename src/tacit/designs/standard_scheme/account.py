"""One account on one device: when it speaks, what it trusts, and what it keeps first.

A device speaks once an epoch, at a moment that no rating moves, whether or not anything is new, and
sends all that it has shown so far. Where it may not decide more (another attribute value, a
disclosure that is not the log's), it does not fall silent, because silence tells: it sends what it
sent before and says so to its owner.
Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from tacit.designs.standard_scheme.device import Device, History, renamed, standing
from tacit.designs.standard_scheme.epochs import calendar, due, end, latest_ended
from tacit.designs.standard_scheme.memory import Log, State, spelled
from tacit.designs.standard_scheme.messages import Disclosure, ItemId, Release
from tacit.designs.standard_scheme.refusing import Refused, refuse_unsafe


class Account:
    """One account's state under the disclosure that the service shows now.

    disclosure, log   as the service shows them to everybody
    values, secret    the owner's; they never leave
    keep              stores the state durably, and then its `spoken` in the file of the secret. It
                      is called before a letter is returned; if it raises, there is no letter
    tell              hears, in a sentence for the owner, why nothing new is decided
    """

    def __init__(
        self,
        state: State,
        disclosure: Disclosure,
        log: Log,
        values: Mapping[str, str],
        secret: bytes,
        keep: Callable[[State], object],
        tell: Callable[[str], object] = str,
    ) -> None:
        self._state = state
        self._disclosure = disclosure
        self._log = log
        self._values = values
        self._secret = secret
        self._keep = keep
        self._tell = tell

    def speak(self, history: History, entered: Mapping[ItemId, int], now: int) -> bytes | None:
        """The letter that is due, kept before it is returned; None where none is.

        history: all present stars, each under the id that it was given for: a new name of an item
        is followed with the next letter. entered: the second at which each was first entered;
        without it, the second at which this object first saw it. Asked again in the same epoch, it
        returns the same bytes. Stars off the scale are not decided.
        """
        state = self._state
        length = state.epoch_length or self._disclosure.epoch_length
        distrust = self._distrust(calendar(now, length))
        history, entered = renamed(history, state), renamed(entered, state)
        self._note(history, entered, now)
        if latest_ended(state.created, now, length) == state.last_epoch:
            return state.letter
        epoch = due(state.created, state.last_epoch, now, length, self._secret)
        if epoch is None:
            return None
        if distrust is None:
            state.epoch_length = length
            letter = self._letter(history, epoch)
        else:
            letter = self._again(history, epoch, distrust)
        if letter is not None:
            state.letter, state.spoken = letter.encode(), epoch
        elif not state.closed:
            return None
        state.last_epoch = epoch
        self._keep(state)
        return state.letter

    def _distrust(self, epoch: int) -> Refused | None:
        """Why the disclosure is not to be followed, in anything."""
        try:
            self._state.log = checked(self._log, self._state.log, self._disclosure, epoch)
            refuse_unsafe(self._disclosure)
            self._state.check_names(self._disclosure.aliases)
        except Refused as refused:
            return refused
        return None

    def _note(self, history: History, entered: Mapping[ItemId, int], now: int) -> None:
        """When each undecided item arrived; what was deleted before it was decided is forgotten."""
        earlier = self._state.arrivals
        self._state.arrivals = {
            item: min(earlier.get(item, now), entered.get(item, now))
            for item in history
            if self._state.undecided(item)
        }

    def _letter(self, history: History, epoch: int) -> Release | None:
        state, disclosure = self._state, self._disclosure
        self._follow(history)
        over = end(epoch, state.created, state.epoch_length)
        named = renamed(history, disclosure)
        ended = {item: stars for item, stars in named.items() if self._is_over(item, over)}
        try:
            device = Device(disclosure, self._values, state, self._secret)
        except Refused as refused:
            mute = state.closed and state.letter is None
            self._tell(f"Nothing new is decided{' or sent' if mute else ''}: {refused}.")
            return None if mute else standing(state, disclosure, epoch)
        off = {item: ended.pop(item) for item in device.off_scale(ended)}
        if off:
            items = ", ".join(map(spelled, off))
            self._tell(f"Not decided, because the stars lie off the scale: {items}.")
        return device.release(ended, epoch)

    def _follow(self, history: History) -> None:
        """Deletions count under the names of the last letter, before names are merged: a deleted
        item does not come back because it is merged with a rated one. Where a rating stands under
        a new name already, its old name was not deleted."""
        state, aliases = self._state, self._disclosure.aliases
        anew = (old for old, new in aliases if new in history and state.undecided(new))
        state.withdraw({*history, *anew})
        state.follow(aliases)

    def _is_over(self, item: ItemId, over: int) -> bool:
        return self._state.arrivals.get(item, over - 1) < over

    def _again(self, history: History, epoch: int, distrust: Refused) -> Release | None:
        """The last letter's set, less what its owner deleted, for the disclosure of that letter."""
        state = self._state
        self._tell(f"Nothing new is decided: {distrust}.")
        state.withdraw(history)
        if state.letter is None:
            return None
        last, shown = Release.decode(state.letter), state.shown()
        ratings = tuple((item, level) for item, level in last.ratings if item in shown)
        return Release(last.disclosure, epoch, ratings)


def checked(log: Log, seen: Log, disclosure: Disclosure, epoch: int) -> Log:
    """The log, if it may be followed in this calendar epoch; Refused otherwise.

    It goes on from what was seen, holds one digest an epoch at most, and the latest one up to now
    is the disclosure's.
    """
    if log[: len(seen)] != seen:
        raise Refused("the service's log of disclosures is not the one it showed before")
    if any(later <= earlier for (earlier, _), (later, _) in pairwise(log)):
        raise Refused("the service's log has two disclosures in one epoch")
    counting = [digest for number, digest in log if number <= epoch]
    if not counting or counting[-1] != disclosure.digest:
        raise Refused("the service shows a disclosure that its log does not have for this epoch")
    return log
