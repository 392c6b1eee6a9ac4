"""An application in this process, on a folder of its own."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from tacit.designs.pdap.serve.signatures import (
    new_vendor_key,
)
from tacit.service import Service, Settings, create_app, open_service
from tacit.service.demo import TENANT, Demo
from tacit.service.event_log import EventLog
from tacit.service.keys import Role, add_key, create_private_file

PATIENT = 300.0
"""Seconds, for tests that are not about time, on a machine however busy."""
PEOPLE = {"subject": "ann", "other": "bob"}
"""Roles of people in tests, and their names."""


@dataclass
class Shop:
    """An application in this process. keys: by role; `subject` is ann, `other` is bob."""

    folder: Path
    service: Service
    app: FastAPI
    client: TestClient
    keys: dict[str, str]
    logged: io.StringIO

    def ask(self, role: str | None, method: str, path: str, **given: Any) -> Any:
        """A response; a new Idempotency-Key unless `key` names one. role None: anonymous."""
        headers = dict(given.pop("headers", {}))
        if role not in (None, "anonymous"):
            headers["authorization"] = f"Bearer {self.keys[role]}"
        if method in ("POST", "DELETE"):
            own = headers.pop("idempotency-key", secrets.token_hex(8))
            headers["idempotency-key"] = given.pop("key", own)
        return self.client.request(method, path, headers=headers, **given)

    def get(self, role: str | None, path: str, **given: Any) -> Any:
        return self.ask(role, "GET", path, **given)

    def post(self, role: str | None, path: str, **given: Any) -> Any:
        return self.ask(role, "POST", path, **given)

    def delete(self, role: str | None, path: str, **given: Any) -> Any:
        return self.ask(role, "DELETE", path, **given)


@contextmanager
def open_shop(demo: Demo, folder: Path, **settings: Any) -> Iterator[Shop]:
    """`with open_shop(demo, folder, answer_within=5) as shop:`; more settings as in Settings."""
    free: dict[str, Any] = {"per_second": 1e6, "burst": 10**6, "visitors": True}
    free |= {"answer_within": PATIENT}
    free |= {"visitors_per_hour": 10**6, "changes_per_day": 10**6}
    log = io.StringIO()
    service = open_service(Settings(folder, **{**free, **settings}))
    app = create_app(service, log=EventLog(log))
    keys = {**demo.keys, **{role: service.keys.person_key(n) for role, n in PEOPLE.items()}}
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield Shop(folder, service, app, client, keys, log)


def befriend(folder: Path) -> str:
    """Give the demonstration's vendor a neighbour, who is never at home; the neighbour's key."""
    public = new_vendor_key(folder / "neighbour.pem")
    new_vendor_key(folder / "vendor.pem")
    key = add_key(folder / "keys.json", "arthouse", Role.VENDOR, TENANT)
    create_private_file(folder / "neighbour.key", key.encode())
    toml = folder / "tacit.toml"
    section = "[vendors.cinema]\n"
    told = toml.read_text().replace(section, f'{section}key = "vendor.pem"\n')
    toml.write_text(
        f"""{told}
[vendors.cinema.peers.arthouse]
url = "http://127.0.0.1:9/api/vendors/arthouse"
public_key = "{public}"
api_key = "neighbour.key"
"""
    )
    return key
