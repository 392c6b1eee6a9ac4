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

OTHER_SETTINGS = "This vendor's settings differ from those that it learned with: tell the operator."


class StateCache:
    """Decodes the stored state for one transaction, and encodes it again.

    The `VendorState` of the last transaction is used again if the bytes that it was encoded to are
    the stored ones: then no other worker has changed the state, and no transaction was undone.

    Videos and neighbours are those of the newest settings that any worker has read. Otherwise two
    workers with different settings would each restore their own names in turn, and videos would
    start anew each time. Articles that are too old are removed before each transaction, by the
    clock alone.
    """

    def __init__(self, settings: VendorSettings) -> None:
        """Make the vendors that will be needed, before any request waits for them."""
        self._settings = settings
        self._settings_read_at = time.time_ns()
        """In nanoseconds since 1970."""
        self._lock = threading.Lock()
        self._last: tuple[bytes, VendorState] | None = None
        """The stored bytes and the object of the last transaction; None if there was none, or if it
        failed."""
        self._new_vendor: Vendor | None = settings.make_vendor()
        """The vendor of the first state, if none is stored; None once it is used."""
        self._vendor_to_restore = settings.make_vendor()
        """The vendor into which stored states are loaded."""

    def make_transition(
        self, change_state: Callable[[VendorState], Reply], *, stores_unchanged: bool = False
    ) -> Transition:
        """Make a transition of the stored state, for `idempotency.answer_once`.

        Args:
            change_state: changes the state and returns the answer.
            stores_unchanged: whether the state is stored even if it has not changed. Then the log
                does not tell whether it has.

        Returns:
            A function of a source, which is not used, and of the stored bytes. It returns the
            answer and the new bytes. In place of the bytes it returns None if they were stored
            under other settings, and, unless `stores_unchanged`, if they have not changed.
        """

        def run(_: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
            with self._lock:
                state = self.open_state(stored)
                if state is None:
                    return refusal(409, OTHER_SETTINGS), None
                state.retire_articles(time.time(), self._settings.article_seconds)
                answer = change_state(state)
                encoded = state.encode(self._settings.lasting_settings)
                self._last = (encoded, state)
                is_unchanged = encoded == stored
                return answer, None if is_unchanged and not stores_unchanged else encoded

        return run

    def open_state(self, stored: bytes | None) -> VendorState | None:
        """Open a stored state; None if it was stored under other settings.

        Args:
            stored: its bytes; None if there is none yet, which makes the first state.
        """
        last = self._last
        self._last = None  # `make_transition` sets it again, but not after a failure
        if stored is None:
            vendor = self._new_vendor
            if vendor is None:
                vendor = self._settings.make_vendor()
            self._new_vendor = None
            return VendorState(vendor, settings_read_at=self._settings_read_at)
        if last is not None:
            last_bytes, last_state = last
            if last_bytes == stored:
                return last_state
        lasting = self._settings.lasting_settings
        state = VendorState.decode(stored, self._vendor_to_restore, lasting)
        if state is None:
            return None
        # A time in the future comes from a wrong clock, and is not trusted.
        has_newer_names = self._settings_read_at < state.settings_read_at <= time.time_ns()
        if not has_newer_names:
            peers = self._settings.peers
            state.adopt_settings(self._settings.videos, () if peers is None else tuple(peers))
            state.settings_read_at = self._settings_read_at
        return state
