"""Every operation of the interface, and a valid request of each."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI

from tacit.designs.pdap.messages import Forward
from tacit.designs.pdap.serve.signatures import (
    audience_of,
    read_private_key,
    sign,
)
from tacit.designs.sketches import Campaign, Device, new_secret
from tacit.recommenders.model_files import load_model
from tacit.service.demo import Demo
from tests.support.service_shop import Shop


@dataclass(frozen=True)
class Operation:
    """One operation of the interface, as the OpenAPI document describes it."""

    method: str
    path: str
    content: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(self.content["x-tacit-roles"])

    @property
    def changes(self) -> bool:
        """Whether it takes an Idempotency-Key."""
        return any(one["name"] == "Idempotency-Key" for one in self.content.get("parameters", ()))

    @property
    def body(self) -> str | None:
        """The kind of content that it takes."""
        kinds = list(self.content.get("requestBody", {}).get("content", {}))
        return kinds[0] if kinds else None


def operations_of(app: FastAPI) -> list[Operation]:
    return [
        Operation(method.upper(), path, content)
        for path, methods in app.openapi()["paths"].items()
        for method, content in methods.items()
    ]


@dataclass(frozen=True)
class Valid:
    """A request that is answered with success. by: the role that it is made for."""

    by: str
    path: str
    given: dict[str, Any] = field(default_factory=dict)
    before: tuple[Valid, ...] = ()
    """What has to be asked first, all of it with POST."""
    place: Callable[[Any], str] | None = None
    """Instead of `path`, from the last answer of what was asked before."""

    def prepared(self, shop: Shop) -> Valid:
        """The same after everything before it was asked."""
        path = self.path
        for one in self.before:
            answer = one.ask(shop, "POST")
            assert answer.status_code < 300, (one.path, answer.text)
            path = self.place(answer) if self.place is not None else path
        return Valid(self.by, path, self.given)

    def ask(self, shop: Shop, method: str, **more: Any) -> Any:
        ready = self.prepared(shop)
        return shop.ask(ready.by, method, ready.path, **{**ready.given, **more})


def valid_request(demo: Demo, name: str) -> Valid:
    path = name.partition(" ")[2]
    if name in _PLAIN:
        by, *rest = _PLAIN[name].split(" ")
        return Valid(by, rest[0] if rest else path)
    return _MADE[name](demo)


_PLAIN = {
    "GET /": "anonymous",
    "GET /healthz": "anonymous",
    "GET /readyz": "anonymous",
    "GET /metrics": "operator",
    "GET /api/problems": "anonymous",
    "GET /api/models": "anonymous",
    "GET /api/models/{model}/device": "anonymous /api/models/lists/device",
    "GET /api/models/{model}/items": "anonymous /api/models/films/items",
    "GET /api/recommend/{user}": "subject /api/recommend/ann?n=3",
    "GET /v1/models/{model}/similar/{item}": "recommend /v1/models/lists/similar/12",
    "GET /api/feedback": "subject",
    "GET /api/guarantees": "anonymous",
    "GET /api/guarantees/{noun}/{name}": "anonymous /api/guarantees/models/films",
    "GET /api/guarantees/{noun}/{name}/officer": "anonymous /api/guarantees/models/films/officer",
    "GET /api/privacy/budget": "subject",
    "GET /api/privacy/budgets": "operator",
    "GET /api/privacy/ledger": "auditor",
    "GET /api/operations": "operator",
    "GET /api/operations/log": "auditor",
    "GET /api/disclosures": "anonymous",
    "GET /api/disclosures/{name}": "anonymous /api/disclosures/gender",
    "GET /api/disclosures/{name}/log": "anonymous /api/disclosures/gender/log",
    "GET /api/disclosures/{name}/item-table": "anonymous /api/disclosures/gender/item-table",
    "GET /api/disclosures/{name}/popular": "anonymous /api/disclosures/gender/popular",
    "GET /api/disclosures/{name}/latest": "subject /api/disclosures/gender/latest",
    "GET /api/campaigns": "anonymous",
    "GET /api/campaigns/{name}": "anonymous /api/campaigns/taste",
    "GET /api/campaigns/{name}/catalogue": "anonymous /api/campaigns/taste/catalogue",
    "GET /api/campaigns/{name}/counts": "analyst /api/campaigns/taste/counts",
    "GET /api/rounds": "anonymous",
    "GET /api/vendors": "anonymous",
    "GET /api/splits": "operator",
    "GET /api/vendors/{name}/articles": "editor /api/vendors/cinema/articles",
}
"""What needs nothing: who asks, and where if that is not the operation's own path."""


def _json(by: str, path: str, content: Any, *before: Valid) -> Valid:
    return Valid(by, path, {"json": content}, before)


def _rating(_: Demo) -> Valid:
    return _json("subject", "/api/feedback", {"model": "films", "item": "1001", "stars": 4.0})


def _history(_: Demo) -> Valid:
    history = {"model": "films", "history": {"1001": 4.0}, "n": 3}
    return _json("subject", "/api/recommend", history)


def _close(demo: Demo) -> Valid:
    return Valid("operator", "/api/campaigns/taste/close", before=(_report(demo),))


def _announce(_: Demo) -> Valid:
    return _json("operator", f"{_ROUNDS}/announce", {"candidates": [1, 2, 3]})


def _open(_: Demo) -> Valid:
    votes = {f"v{number}": 1 + number % 3 for number in range(30)}
    return _json("operator", f"{_ROUNDS}/open", {"candidates": [1, 2, 3], "votes": votes})


def _recommendation(demo: Demo) -> Valid:
    return Valid("subject", f"{_ROUNDS}/recommendations", before=(_open(demo),))


def _visit(_: Demo) -> Valid:
    return _json("subject", f"{_VENDOR}/visits", {"context": [0.5, 0.5]})


def _articles() -> Valid:
    return _json("editor", f"{_VENDOR}/articles", {"articles": ["Breaking"]})


def _visit_reward(demo: Demo) -> Valid:
    nowhere = f"{_VENDOR}/visits/{'0' * 96}/reward"
    click = {"json": {"clicked": True}}
    return Valid(
        *("subject", nowhere, click, (_visit(demo),)),
        place=lambda visit: f"{_VENDOR}/visits/{visit.json()['visit']}/reward",
    )


_ROUNDS = "/api/rounds/films"
_VENDOR = "/api/vendors/cinema"
_MADE: dict[str, Callable[[Demo], Valid]] = {
    "POST /api/recommend": _history,
    "POST /api/recommend-many": lambda _: _json(
        "recommend", "/api/recommend-many", {"model": "lists", "people": [{"history": ["12"]}]}
    ),
    "POST /api/splits/{name}/clicks": lambda _: _json(
        "recommend", "/api/splits/home/clicks", {"customers": ["Ann.Lee@example.com"]}
    ),
    "POST /api/feedback": _rating,
    "DELETE /api/feedback": lambda d: Valid("subject", "/api/feedback", before=(_rating(d),)),
    "DELETE /api/users/{user}": lambda d: Valid("subject", "/api/users/ann", before=(_rating(d),)),
    "POST /api/people": lambda _: _json("operator", "/api/people", {"name": "cleo"}),
    "POST /api/visitors": lambda _: _json("anonymous", "/api/visitors", {"token": "t" * 43}),
    "POST /api/disclosures/{name}/letters": lambda d: _letter(d),
    "GET /api/campaigns/{name}/clusters": lambda d: Valid(
        "anonymous", "/api/campaigns/taste/clusters", before=(_close(d),)
    ),
    "POST /api/campaigns/{name}/reports": lambda d: _report(d),
    "POST /api/campaigns/{name}/close": _close,
    "POST /api/rounds/{name}/announce": _announce,
    "POST /api/rounds/{name}/open": _open,
    "POST /api/rounds/{name}/votes": lambda d: _json(
        "subject", f"{_ROUNDS}/votes", {"candidate": 1}, _announce(d)
    ),
    "POST /api/rounds/{name}/recommendations": _recommendation,
    "POST /api/rounds/{name}/feedback": lambda d: _json(
        "subject", f"{_ROUNDS}/feedback", {"liked": True}, _recommendation(d)
    ),
    "POST /api/vendors/{name}/visits": _visit,
    "POST /api/vendors/{name}/visits/{visit}/reward": _visit_reward,
    "POST /api/vendors/{name}/articles": lambda _: _articles(),
    "DELETE /api/vendors/{name}/articles/{article}": lambda _: Valid(
        "editor", f"{_VENDOR}/articles/Breaking", before=(_articles(),)
    ),
    "POST /api/vendors/{name}/forwards": lambda d: _sign_answer(d, "forwards", _forward()),
}


def _octets(by: str, path: str, content: bytes) -> Valid:
    headers = {"content-type": "application/octet-stream"}
    return Valid(by, path, {"content": content, "headers": headers})


_MESSAGES: dict[str, bytes] = {}
"""Of this process: a device sends the same one again."""


def _letter(demo: Demo) -> Valid:
    """Of a person whom no other request has forgotten."""
    if "letter" not in _MESSAGES:
        device = load_model(demo.folder / "gender.tacit").device({"gender": "F"})
        _MESSAGES["letter"] = device.release({1: 5.0, 2: 3.0, 5: 1.0}, 0).encode()
    return _octets("other", "/api/disclosures/gender/letters", _MESSAGES["letter"])


def _report(demo: Demo) -> Valid:
    if "report" not in _MESSAGES:
        campaign = Campaign.decode((demo.folder / "taste.campaign").read_bytes())
        items = json.loads((demo.folder / "taste.items.json").read_text())
        report = Device(new_secret(), {}).report(campaign, items, {1: 5.0, 7: 4.0})
        _MESSAGES["report"] = report.encode()
    return _octets("subject", "/api/campaigns/taste/reports", _MESSAGES["report"])


def _sign_answer(demo: Demo, what: str, message: Forward) -> Valid:
    """From the neighbour, whose messages have their own number as Idempotency-Key."""
    path = f"{_VENDOR}/{what}"
    content = message.encode()
    key = read_private_key(demo.folder / "neighbour.pem")
    headers = sign(
        key,
        sender="arthouse",
        audience=audience_of("cinema", read_private_key(demo.folder / "vendor.pem").public_key()),
        path=path,
        body=content,
        nonce=message.request.hex(),
        now=time.time(),
    )
    return Valid("neighbour", path, {"content": content, "headers": headers})


def _forward() -> Forward:
    return Forward(secrets.token_bytes(16), 1_000_000, 2, (0, 1))
