"""Requests that schemathesis makes up from the OpenAPI document, valid and invalid, in every role.

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
PARTS = 7
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


def fuzz(operations, running, role: str, examples: int, seen: Counter[int]) -> None:
    """Each of these operations with so many made-up requests of both kinds."""
    headers = {} if role == "anonymous" else {"authorization": f"Bearer {running.keys[role]}"}
    for operation in operations:
        for mode in MODES:
            _fuzz(operation, mode, headers, examples, seen)


def _fuzz(operation, mode, headers, examples: int, seen: Counter[int]) -> None:
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
        answer = case.call(headers=headers)
        seen[answer.status_code] += 1
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


@pytest.mark.parametrize("role", ROLES)
def test_made_up_requests(interface, running, role):
    """A few requests of each kind for every operation."""
    seen = _check(interface, running, role, 5, part=0, parts=1)
    assert seen[200] > 0


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("role", ROLES)
def test_many_made_up_requests(interface, running, role, part):
    """Two hundred requests of each kind for every operation, a few operations in each test."""
    _check(interface, running, role, MANY, part=part, parts=PARTS)


def _check(interface, running, role: str, examples: int, *, part: int, parts: int) -> Counter[int]:
    seen: Counter[int] = Counter()
    every = sorted((found.ok() for found in interface.get_all_operations()), key=lambda o: o.label)
    assert len(every) >= 40
    operations = every[part::parts]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of schemathesis, about what it cannot make up
        fuzz(operations, running, role, examples, seen)
    # An operation that takes nothing is asked a few times: there is nothing to make up.
    taking = [o for o in operations if o.path_parameters or o.query or o.headers or o.body]
    assert seen.total() >= examples * len(taking)
    assert not [status for status in seen if status >= 500]
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
