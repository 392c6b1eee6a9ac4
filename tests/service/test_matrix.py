"""Who may do what: every operation of the OpenAPI document, asked by everybody.

The table is written by hand, so that roles are stated twice; an operation without a row fails.
"""

from __future__ import annotations

import pytest

from tacit.service.keys import KeyRing, Role, add_key, revoke_key

ALL = frozenset({"anonymous"})
STAFF = {
    "GET /metrics": {"auditor", "operator"},
    "GET /api/privacy/budgets": {"auditor", "operator"},
    "GET /api/privacy/ledger": {"auditor", "operator"},
    "GET /api/operations": {"auditor", "operator"},
    "GET /api/operations/log": {"auditor", "operator"},
    "POST /api/people": {"operator"},
    "GET /api/splits": {"analyst", "auditor", "operator"},
    "POST /api/campaigns/{name}/close": {"analyst", "operator"},
    "GET /api/campaigns/{name}/counts": {"analyst", "operator"},
    "POST /api/rounds/{name}/announce": {"operator"},
    "POST /api/rounds/{name}/open": {"operator"},
    "POST /api/vendors/{name}/forwards": {"vendor"},
    "GET /api/vendors/{name}/articles": {"editor", "operator"},
    "POST /api/vendors/{name}/articles": {"editor", "operator"},
    "DELETE /api/vendors/{name}/articles/{article}": {"editor", "operator"},
}
PEOPLE = {
    "GET /api/recommend/{user}": {"operator", "recommend", "subject"},
    "POST /api/recommend": {"operator", "recommend", "subject"},
    "POST /api/recommend-many": {"operator", "recommend"},
    "POST /api/splits/{name}/clicks": {"operator", "recommend"},
    "GET /v1/models/{model}/similar/{item}": {"operator", "recommend", "subject"},
    "POST /api/feedback": {"subject"},
    "GET /api/feedback": {"subject"},
    "DELETE /api/feedback": {"subject"},
    "GET /api/privacy/budget": {"subject"},
    "DELETE /api/users/{user}": {"operator", "subject"},
    "GET /api/disclosures/{name}/latest": {"subject"},
    "POST /api/disclosures/{name}/letters": {"subject"},
    "POST /api/campaigns/{name}/reports": {"subject"},
    "POST /api/rounds/{name}/votes": {"subject"},
    "POST /api/rounds/{name}/recommendations": {"subject"},
    "POST /api/rounds/{name}/feedback": {"subject"},
    "POST /api/vendors/{name}/visits": {"subject"},
    "POST /api/vendors/{name}/visits/{visit}/reward": {"subject"},
}
ANYBODY = (
    "GET /healthz",
    "GET /readyz",
    "GET /api/problems",
    "GET /api/models",
    "GET /api/models/{model}/device",
    "GET /api/models/{model}/items",
    "GET /api/guarantees",
    "GET /api/guarantees/{noun}/{name}",
    "GET /api/guarantees/{noun}/{name}/officer",
    "POST /api/visitors",
    "GET /api/disclosures",
    "GET /api/disclosures/{name}",
    "GET /api/disclosures/{name}/log",
    "GET /api/disclosures/{name}/item-table",
    "GET /api/disclosures/{name}/popular",
    "GET /api/campaigns",
    "GET /api/campaigns/{name}",
    "GET /api/campaigns/{name}/catalogue",
    "GET /api/campaigns/{name}/clusters",
    "GET /api/rounds",
    "GET /api/vendors",
)
TABLE = {**STAFF, **PEOPLE, **dict.fromkeys(ANYBODY, ALL)}
OWN = ("GET /api/recommend/{user}", "DELETE /api/users/{user}")
"""Operations on one person: another one is told what she is told of nobody."""
SIGNED = ("POST /api/vendors/{name}/forwards",)
"""A vendor that is no neighbour is not believed, whatever it signs."""
KNOWN = (
    *(
        "anonymous",
        "subject",
        "other",
        "analyst",
        "auditor",
        "vendor",
        "neighbour",
        "recommend",
        "editor",
        "operator",
    ),
)
NOT_KNOWN = ("revoked", "wrong", "wrong person", "other tenant", "other tenant's person", "no key")


@pytest.fixture(scope="module")
def crowd(shared_shop, tmp_path_factory):
    """The shop with keys that nobody should be known by."""
    file = shared_shop.folder / "keys.json"
    keys = shared_shop.keys
    keys["revoked"] = add_key(file, "gone", Role.OPERATOR, "demo")
    revoke_key(file, "gone")
    keys["wrong"] = "tacit_operator." + "0" * 64
    keys["wrong person"] = "tacit_person_ann." + "0" * 64
    keys["other tenant"] = add_key(file, "stranger", Role.OPERATOR, "elsewhere")
    secret = (shared_shop.folder / "service.secret").read_bytes()
    keys["other tenant's person"] = KeyRing(file, secret, "elsewhere").person_key("ann")
    keys["no key"] = "Basic b3BlcmF0b3I6b3BlcmF0b3I="
    return shared_shop


def test_every_operation_has_its_row(operations):
    """What the document says of roles is what is written here, operation by operation."""
    assert {operation.name: operation.roles for operation in operations} == TABLE


@pytest.mark.parametrize("who", [*KNOWN, *NOT_KNOWN])
def test_everybody(crowd, operations, valid, who):
    """Each operation does for this caller what the table says, and nothing for the others."""
    found = {operation.name: _status(crowd, operation, valid, who) for operation in operations}
    expected = {name: _expected(name, roles, who, valid(name).by) for name, roles in TABLE.items()}
    wrong = {
        name: (found[name], status)
        for name, status in expected.items()
        if found[name] not in status
    }
    assert not wrong


def _status(shop, operation, valid, who) -> int:
    request = valid(operation.name)
    if who == request.by:
        return request.ask(shop, operation.method).status_code
    return shop.ask(who, operation.method, request.path, **request.given).status_code


def _expected(name: str, roles, who: str, by: str) -> tuple[int, ...]:
    """Statuses. Who may ask but is not whom the request is made for need not succeed with it."""
    if who in NOT_KNOWN:
        return (401,)
    if roles != ALL:
        role = {"other": "subject", "neighbour": "vendor"}.get(who, who)
        if role not in roles:
            return (401,) if who == "anonymous" else (403,)
        if who == "other" and name in OWN:
            return (404,)
        if who == "vendor" and name in SIGNED:
            return (401,)
    return (200, 201) if who == by else (200, 201, 404, 409, 422)


@pytest.mark.parametrize("name", OWN)
def test_foreign_and_unknown_are_one(crowd, valid, name):
    """Somebody else and nobody at all: the same status, the same bytes, the same headers."""
    method, _, path = name.partition(" ")
    valid("POST /api/feedback").ask(crowd, "POST")  # there is an ann
    answers = [
        crowd.ask("other", method, path.replace("{user}", user)) for user in ("ann", "never-seen")
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert _comparable(answers[0]) == _comparable(answers[1])


def _comparable(answer):
    return {name: text for name, text in answer.headers.items() if name != "x-request-id"}


def test_unknown_names_are_one(crowd, operations, valid):
    """Whatever is asked for that does not exist is answered with the same bytes."""
    bodies = set()
    for operation in operations:
        if "{" in operation.path and operation.name not in OWN:
            request = valid(operation.name)
            raw, parts = operation.path.split("/"), request.path.split("/")
            parts[raw.index("{name}" if "{name}" in raw else "{model}")] = "never-seen"
            path = "/".join(parts)
            answer = crowd.ask(request.by, operation.method, path, **request.given)
            assert answer.status_code == 404, operation.name
            bodies.add(answer.content)
    assert len(bodies) == 1


def test_a_key_by_another_scheme(crowd):
    """A key is a bearer's: no other scheme, not twice, not in the address."""
    key = crowd.keys["operator"]
    for given in (key, f"Basic {key}", f"Bearer  {key}", f"Bearer {key} ", f"Bearer {key[:-1]}"):
        answer = crowd.client.get("/metrics", headers={"authorization": given})
        assert answer.status_code == 401
    twice = [("authorization", f"Bearer {key}")] * 2
    assert crowd.client.get("/metrics", headers=twice).status_code == 401
    assert crowd.client.get(f"/metrics?key={key}").status_code == 401


def test_revoking_counts_at_once(crowd):
    """A key that is revoked while the service runs is unknown from the next request on."""
    file = crowd.folder / "keys.json"
    crowd.keys["short"] = add_key(file, "short", Role.AUDITOR, "demo")
    assert crowd.get("short", "/metrics").status_code == 200
    revoke_key(file, "short")
    assert crowd.get("short", "/metrics").status_code == 401


def test_a_broken_file_of_keys(demo, shops, folder):
    """While the file cannot be read, staff is not let in, people are, and nobody sees a fault."""
    with shops(demo, folder) as shop:
        whole = (folder / "keys.json").read_bytes()
        (folder / "keys.json").write_bytes(whole[:50])
        assert shop.get("operator", "/metrics").status_code == 503
        assert shop.get("subject", "/api/privacy/budget").status_code == 200
        (folder / "keys.json").write_bytes(whole)
        assert shop.get("operator", "/metrics").status_code == 200


def test_fields_that_nobody_may_set(crowd, operations, valid):
    """epsilon, cap, role and the like are refused in every body and query, never applied."""
    for operation in operations:
        request = valid(operation.name)
        if operation.body == "application/json":
            for name in ("epsilon", "cap", "spent", "tenant", "role", "seed"):
                given = {"json": {**request.given["json"], name: 1}}
                answer = crowd.ask(request.by, operation.method, request.path, **given)
                assert answer.status_code == 422, (operation.name, name)
        sign = "&" if "?" in request.path else "?"
        path = f"{request.path}{sign}epsilon=9"
        answer = crowd.ask(request.by, operation.method, path, **request.given)
        assert answer.status_code == 422, operation.name
