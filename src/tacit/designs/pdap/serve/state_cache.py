"""The stored state of a vendor, opened for one transaction of the ledger."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tacit.designs.pdap.serve.settings import VendorSettings
from tacit.designs.pdap.serve.state import VendorState
from tacit.designs.pdap.vendor import Vendor
from tacit.randomness import Source
from tacit.service.idempotency import Reply, Transition, refusal

OTHER_SETTINGS = "This vendor's settings are others than those it learned with: tell the operator."


class StateCache:
    """Opens the stored state for one transaction, and closes it again.

    The state made last is used again if its bytes are those that are stored: then no other worker
    changed it, and no transaction was undone. Names of videos and neighbours are those of the
    settings that were read last, by any worker: two workers that put their own names back in turns
    would make each other's videos start anew. Articles that are old enough leave first, by the
    clock alone.
    """

    def __init__(self, settings: VendorSettings) -> None:
        self._settings = settings
        self._since = time.time_ns()
        self._lock = threading.Lock()
        self._last: tuple[bytes, VendorState] | None = None
        self._fresh: Vendor | None = settings.vendor()
        self._made = settings.vendor()
        """Becomes the stored one; made before anybody waits."""

    def step(self, take: Callable[[VendorState], Reply]) -> Transition:
        """Wrap `take` as a transition of the stored state, for `idempotency.answer_once`."""

        def run(_: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
            with self._lock:
                state = self.open(stored)
                if state is None:
                    return refusal(409, OTHER_SETTINGS), None
                state.retire_articles(time.time(), self._settings.article_seconds)
                answer = take(state)
                new = state.encode(self._settings.lasting_settings)
                self._last = new, state
                return answer, None if new == stored else new

        return run

    def open(self, stored: bytes | None) -> VendorState | None:
        """Open a stored state; None if it was stored under other settings.

        Args:
            stored: its bytes; None opens the first state.
        """
        last = self._last
        self._last = None  # whatever fails from here on, it is not used again
        if stored is None:
            fresh = self._fresh or self._settings.vendor()
            self._fresh = None
            return VendorState(fresh, since=self._since)
        if last is not None and last[0] == stored:
            return last[1]
        state = VendorState.decode(stored, self._made, self._settings.lasting_settings)
        if state is not None and not self._since < state.since <= time.time_ns():
            state.rename(self._settings.videos, tuple(self._settings.peers or ()))
            state.since = self._since
        return state
