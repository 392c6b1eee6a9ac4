"""The opened service: what the functions of all resources work with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from tacit.errors import ConfigError
from tacit.ledger import CapChanged, Ledger, open_ledger
from tacit.service.commits import CommitQueue
from tacit.service.deployment import Deployment, Kinds
from tacit.service.keys import KeyRing, read_secret
from tacit.service.limits import RateLimits, VisitorLimits
from tacit.service.setting_tables import TOML
from tacit.service.settings import Settings

LEDGER_SHARE_OF_TIME = 5 / 6
"""Share of `answer_within` for which the ledger waits for its store, so that the error of a store
that does not answer is sent in time."""


@dataclass(frozen=True)
class Service:
    """An opened service."""

    settings: Settings
    """How the service runs."""
    deployment: Deployment
    """What is served."""
    keys: KeyRing
    """Keys of callers."""
    ledger: Ledger
    """Budgets, stored answers and states."""
    visitors: VisitorLimits
    """Limits on the new names that visitors take."""
    free_changes: RateLimits
    """Limits on a person's changes that are stored and charged to no budget."""
    commits: CommitQueue
    """The changes that wait for a commit of the ledger."""

    @classmethod
    def open(cls, settings: Settings, kinds: Kinds) -> Self:
        """Read the folder, open the ledger, and open the budgets of what is served.

        Args:
            settings: How the service runs.
            kinds: For each kind of thing that may be served, such as "models", the function that
                loads its class.

        Raises:
            ConfigError: The folder cannot be served.
            TacitError: A file of the folder or the ledger cannot be used.
            OSError: The keys' file cannot be read, or the secret's file cannot be made.
        """
        deployment = Deployment.read(settings.folder, kinds)
        keys = KeyRing(settings.keys, read_secret(settings.secret), deployment.tenant)
        patience = settings.answer_within * LEDGER_SHARE_OF_TIME
        ledger = open_ledger(settings.ledger, second=settings.second, patience=patience)
        try:
            _continue_stored(ledger, deployment)
            _open_budgets(ledger, deployment)
            _check_balances_and_states(ledger, deployment)
        except BaseException:
            ledger.close()
            raise
        return cls(
            settings=settings,
            deployment=deployment,
            keys=keys,
            ledger=ledger,
            visitors=VisitorLimits(settings.visitors_per_hour),
            free_changes=RateLimits.per_day(settings.changes_per_day),
            commits=CommitQueue(ledger),
        )

    def read_state(self, name: str) -> bytes | None:
        """Read the bytes of a state of the tenant; None before its first change."""
        return self.ledger.state(f"{self.deployment.tenant}/{name}")

    def cached_state_size(self, name: str) -> int | None:
        """Return the size in bytes of a state of the tenant, if the ledger has it in memory.

        None: it is not in memory, so that `read_state` may wait for a commit or the disk.
        """
        return self.ledger.cached_state_size(f"{self.deployment.tenant}/{name}")

    def close(self) -> None:
        """Start no further commit, and close the ledger."""
        self.commits.close()
        self.ledger.close()


def _continue_stored(ledger: Ledger, deployment: Deployment) -> None:
    """Serve each thing as it goes on from its stored states.

    Raises:
        ConfigError: The stored states of a thing cannot be continued.
    """

    def read_state(name: str) -> bytes | None:
        return ledger.state(f"{deployment.tenant}/{name}")

    for address, thing in tuple(deployment.served.items()):
        continued = thing.continue_stored(read_state)
        if continued is not thing:
            deployment.replace(address, continued)


def _open_budgets(ledger: Ledger, deployment: Deployment) -> None:
    """Open the budgets of data sets.

    Raises:
        ConfigError: A budget was opened before with another cap.
    """
    for thing in deployment.served.values():
        for holder, cap in thing.budgets():
            try:
                ledger.open_budget(holder, cap)
            except CapChanged:
                raise ConfigError(
                    f"{TOML}: the budget of {holder.name} was opened with another epsilon or "
                    "delta than its settings give in this version of tacit, and a budget is for "
                    "life. Restore the settings or the version, or rename its section."
                ) from None


def _check_balances_and_states(ledger: Ledger, deployment: Deployment) -> None:
    """Check that the stored budgets and states of each thing fit its present settings.

    Raises:
        ConfigError: They do not fit.
    """

    def read_state(name: str) -> bytes | None:
        return ledger.state(f"{deployment.tenant}/{name}")

    for thing in deployment.served.values():
        thing.check_balances(ledger.balances())
        thing.check_stored_states(read_state)
