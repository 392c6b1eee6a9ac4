"""A service that is up: its settings, what it serves, who may ask, and the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from fastapi import Request

from tacit.ledger import Ledger, open_ledger
from tacit.service.deployment import Deployment
from tacit.service.keys import KeyRing, read_secret
from tacit.service.settings import Settings


@dataclass(frozen=True)
class Service:
    """What every resource needs. One for each worker; workers share the ledger and the folder."""

    settings: Settings
    deployment: Deployment
    keys: KeyRing
    ledger: Ledger

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Read the folder, open the ledger and the budgets of what is served."""
        deployment = Deployment.read(settings.folder)
        keys = KeyRing(settings.keys, read_secret(settings.secret), deployment.tenant)
        ledger = open_ledger(settings.ledger, second=settings.second, patience=1.5)
        try:
            for holder, cap in deployment.budgets():
                ledger.open_budget(holder, cap)
            deployment.check_opened(ledger.balances())
        except BaseException:
            ledger.close()
            raise
        return cls(settings, deployment, keys, ledger)

    def close(self) -> None:
        """Give everything back."""
        self.ledger.close()


async def running(request: Request) -> Service:
    """The service that a request came to."""
    service: Service = request.app.state.service
    return service
