"""Requests that schemathesis makes up from the OpenAPI document, valid and invalid.

Making one up takes longer than its answer, so each is made up once and sent in every role.

No 5xx, no status or content that is not documented, no schema that does not hold, no operation
that forgets to ask for a key, nothing taken that the document says is invalid.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import urllib.request
import warnings
import zlib
from collections import Counter

import hypothesis
import pytest
import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    missing_required_header,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

CHECKS = [
    *(not_a_server_error, status_code_conformance, content_type_conformance),
    *(response_schema_conformance, response_headers_conformance, negative_data_rejection),
    *(missing_required_header, unsupported_method),
]
ROLES = ("anonymous", "subject", "analyst", "auditor", "neighbour", "operator")
PARTS = 14
MANY = int(os.environ.get("TACIT_MADE_UP", "200"))
"""Requests of each kind; fewer for a short look."""
MODES = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
KEYS = {
    "Idempotency-Key": "made-up-once",
    "noun": "models",
    "user": "ann",
    "model": "films",
}


@pytest.fixture(scope="module")
def interface(running):
    """The document of a service in a process of its own, where nothing is said of keys.

    They are added to every request, so that none is taken for invalid because it lacks one.
    """
    with urllib.request.urlopen(f"{running.address}/api/openapi.json") as answer:
        document = json.load(answer)
    del document["components"]["securitySchemes"]
    for methods in document["paths"].values():
        for operation in methods.values():
            operation.pop("security", None)
    interface = schemathesis.openapi.from_dict(document)
    interface.config.update(base_url=running.address)
    return interface


Seen = dict[str, Counter[int]]
"""How many answers of each status, by role."""


def fuzz(operations, running, examples: int) -> Seen:
    """Each of these operations with so many made-up requests of both kinds, in every role."""
    seen: Seen = {role: Counter() for role in ROLES}
    with requests.Session() as session:
        session.headers = {}  # as for a request without a session
        session.trust_env = False  # or a proxy is looked for before each request
        for operation in operations:
            for mode in MODES:
                _fuzz(operation, mode, session, running, examples, seen)
    return seen


def _fuzz(operation, mode, session, running, examples: int, seen: Seen) -> None:
    @hypothesis.seed(1)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def ask(case) -> None:
        if mode is schemathesis.GenerationMode.POSITIVE:
            _named(case)
        for role in ROLES:
            hypothesis.note(f"in the role {role}")
            key = {} if role == "anonymous" else {"authorization": f"Bearer {running.keys[role]}"}
            answer = case.call(headers=key, session=session)
            seen[role][answer.status_code] += 1
            case.validate_response(answer, checks=CHECKS)

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # nothing of it can be invalid
        ask()


def _named(case) -> None:
    """Half of what is made up names what exists, or little would get past the names."""
    if case.path_parameters and zlib.crc32(str(case.path_parameters).encode()) % 2:
        path = case.operation.path
        noun = path.split("/")[2]
        names = {"campaigns": "taste", "disclosures": "gender", "vendors": "cinema"}
        for name in case.path_parameters:
            known = names.get(noun, "films") if name == "name" else KEYS.get(name)
            case.path_parameters[name] = known or case.path_parameters[name]


def test_made_up_requests(interface, running):
    """A few requests of each kind for every operation, in every role."""
    seen = _check(interface, running, 5, part=0, parts=1)
    for role in ROLES:
        assert seen[role][200] > 0, role


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_many_made_up_requests(interface, running, part):
    """Two hundred requests of each kind for every operation, a few operations in each test."""
    _check(interface, running, MANY, part=part, parts=PARTS)


def _check(interface, running, examples: int, *, part: int, parts: int) -> Seen:
    every = sorted((found.ok() for found in interface.get_all_operations()), key=lambda o: o.label)
    assert len(every) >= 40
    operations = every[part::parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of schemathesis, about what it cannot make up
        seen = fuzz(operations, running, examples)
    # An operation that takes nothing is asked a few times: there is nothing to make up.
    taking = [o for o in operations if o.path_parameters or o.query or o.headers or o.body]
    for role, statuses in seen.items():
        assert statuses.total() >= examples * len(taking), role
        assert not [status for status in statuses if status >= 500], role
    assert '"fault"' not in running.log()
    assert "Traceback" not in running.log()
    return seen


def test_keys_are_asked_for(interface, shared_shop, operations, valid):
    """Without a key, or with one that nobody has, every operation that needs one says 401."""
    for operation in operations:
        if "anonymous" in operation.roles:
            continue
        request = valid(operation.name)
        for key in (None, "Bearer tacit_nobody." + "0" * 64):
            headers = {"idempotency-key": "asked-without", **request.given.get("headers", {})}
            headers |= {"authorization": key} if key else {}
            given = {name: one for name, one in request.given.items() if name != "headers"}
            answer = shared_shop.client.request(
                operation.method, request.path, headers=headers, **given
            )
            assert answer.status_code == 401, operation.name


def test_what_is_refused_is_in_the_document(shared_shop):
    """Control characters, names of visitors, and requests without a key: the document says it."""
    document = shared_shop.app.openapi()
    schemas = document["components"]["schemas"]
    for text in ("control", "NFC", "64 bits", "HEAD"):
        assert text in document["info"]["description"]
    name = schemas["Person"]["properties"]["name"]
    assert name["not"] == {"pattern": "^(visitor-|customer-)"}
    assert "visitor-" in name["description"]
    history = schemas["Question"]["properties"]["history"]["anyOf"][0]
    item = schemas["Rating"]["properties"]["item"]
    for pattern in (item["pattern"], *history["patternProperties"]):
        assert not re.match(pattern, "a\u0007")
        assert re.match(pattern, "caf\u00e9")
    once = document["paths"]["/api/recommend"]["post"]
    assert once["security"] == [{"key": []}]
    assert "needs no key" not in once["description"]
    assert "needs the key of a person" in " ".join(once["description"].split())


@pytest.mark.parametrize("text", ["a\u0007", "a\u200b", "e\u0301"])
def test_texts_that_are_refused(shared_shop, text):
    """Control and format characters, and what is not composed, are refused with 400."""
    body = {"model": "films", "history": {text: 3.0}}
    answer = shared_shop.post("subject", "/api/recommend", json=body)
    assert answer.status_code == 400


def test_the_document(shared_shop):
    """It is OpenAPI 3.1, and every operation is described, and names its roles and problems."""
    document = shared_shop.app.openapi()
    assert document["openapi"].startswith("3.1")
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["description"]
            assert operation["x-tacit-roles"]
            assert "422" in operation["responses"]
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    assert list(answer["content"]) == ["application/problem+json"]
