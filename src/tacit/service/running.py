"""A service that is up: its settings, what it serves, who may ask, and the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from fastapi import Request

from tacit.errors import ConfigError
from tacit.ledger import Cap, CapChanged, Holder, Ledger, open_ledger
from tacit.service.deployment import Deployment
from tacit.service.keys import KeyRing, read_secret
from tacit.service.limits import Limits, Newcomers
from tacit.service.settings import FILE, Settings


@dataclass(frozen=True)
class Service:
    """What every resource needs. One for each worker; workers share the ledger and the folder.

    newcomers: names that visitors take. changes: of people, stored without being charged.
    """

    settings: Settings
    deployment: Deployment
    keys: KeyRing
    ledger: Ledger
    newcomers: Newcomers
    changes: Limits

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Read the folder, open the ledger and the budgets of what is served."""
        deployment = Deployment.read(settings.folder)
        keys = KeyRing(settings.keys, read_secret(settings.secret), deployment.tenant)
        patience = settings.answer_within * 5 / 6  # so that a refusal is in time
        ledger = open_ledger(settings.ledger, second=settings.second, patience=patience)
        try:
            for holder, cap in deployment.budgets():
                _open(ledger, holder, cap)
            deployment.check_opened(ledger.balances())
            deployment.check_kept(lambda name: ledger.state(f"{deployment.tenant}/{name}"))
        except BaseException:
            ledger.close()
            raise
        newcomers = Newcomers(settings.visitors_per_hour)
        changes = Limits.daily(settings.changes_per_day)
        return cls(settings, deployment, keys, ledger, newcomers, changes)

    def close(self) -> None:
        """Give everything back."""
        self.ledger.close()


def _open(ledger: Ledger, holder: Holder, cap: Cap) -> None:
    try:
        ledger.open_budget(holder, cap)
    except CapChanged:
        raise ConfigError(
            f"{FILE}: the budget of {holder.name} was opened with another epsilon or delta than "
            "its settings give now, and a budget is for life. Put them back, or take another name."
        ) from None


def running(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service
