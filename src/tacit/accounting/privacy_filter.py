"""A privacy filter: the total of all releases stays within a budget, in whatever order they come.

Source     Rogers, Roth, Ullman, Vadhan: Privacy odometers and filters (2016), for pure epsilons;
           Feldman, Zrnic: Individual privacy accounting (2021), for Renyi and zCDP.
Guarantee  (epsilon, delta) for all releases together, if a `spend` was granted before each of them.
           Each event may be chosen with knowledge of all earlier releases.
"""

from __future__ import annotations

import os
import threading
from typing import NoReturn, SupportsIndex

from tacit.accounting.base import Accountant, check_delta, check_epsilon
from tacit.accounting.events import Event
from tacit.errors import ConfigError, PrivacyError


class PrivacyFilter:
    """A budget from which each release is paid before it is made.

    Nothing is refunded, and after the first event that the budget does not cover, nothing is
    granted any more. To learn without that risk whether a spend would be granted, call `affords`. A
    filter serves one unit of privacy (such as one person) in one process; a budget that outlives
    the process belongs in a ledger.
    """

    def __init__(self, accountant: type[Accountant], *, epsilon: float, delta: float = 0.0) -> None:
        """Open a budget of `epsilon` nats at `delta`, counted by an adaptive accountant.

        Raises:
            ConfigError: The accountant's total does not hold for events chosen one by one, or
                epsilon or delta is out of range.
        """
        if not accountant.adaptive:
            raise ConfigError(
                f"{accountant.__name__} is no basis for a filter: its total holds for events fixed "
                "in advance. Use PureAccountant or ZCDPAccountant."
            )
        check_epsilon(epsilon)
        check_delta(delta)
        self._epsilon = epsilon
        self._delta = delta
        self._spent = accountant()
        self._has_halted = False
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def epsilon(self) -> float:
        """The budget, in nats; it never changes."""
        return self._epsilon

    @property
    def delta(self) -> float:
        """The delta of the budget; it never changes."""
        return self._delta

    @property
    def has_halted(self) -> bool:
        """Whether the budget did not cover a spend, so that nothing is granted any more."""
        return self._has_halted

    @property
    def spent_epsilon(self) -> float:
        """Cost of the granted events, as epsilon at the filter's delta."""
        return self._spent.epsilon(self.delta)

    def affords(self, event: Event) -> bool:
        """Say whether `spend(event)` would be granted now; nothing changes."""
        self._check_process()
        with self._lock:
            return self._add_within_budget(event) is not None

    def spend(self, event: Event) -> None:
        """Pay for all of `event`, or refuse it.

        Raises:
            PrivacyError: The budget does not cover the event, which halts the filter. Or the
                accountant does not know the event; this does not halt the filter, because it is a
                mistake of the program and does not depend on the data. Or this is not the process
                that made the filter.
        """
        self._check_process()
        with self._lock:
            total = self._add_within_budget(event)
            if total is None:
                self._has_halted = True
                raise PrivacyError(
                    f"The budget of epsilon {self.epsilon:g} at delta {self.delta:g} does not "
                    "cover this release, or did not cover an earlier one. Nothing was spent, and "
                    "nothing more will be granted: do not release."
                )
            self._spent = total

    def _add_within_budget(self, event: Event) -> Accountant | None:
        """Return a new accountant with all granted events and this one.

        Returns:
            The accountant; None if its total is over the budget, or if the filter has halted.
        """
        total = self._spent.copy().add(event)
        is_granted = not self._has_halted and total.epsilon(self.delta) <= self.epsilon
        return total if is_granted else None

    def _check_process(self) -> None:
        """Raise PrivacyError in a process other than the filter's own.

        Called before the lock is taken: a fork may have copied the lock while it was held.
        """
        if os.getpid() != self._process:
            raise PrivacyError(
                "This privacy filter belongs to another process, and here it would spend the same "
                "budget again. Spend where it was made; nothing was granted."
            )

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise PrivacyError("A privacy filter is not copied or pickled: two would spend twice.")
