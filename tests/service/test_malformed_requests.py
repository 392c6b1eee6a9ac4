"""Malformed requests, generated for every operation and every field of the OpenAPI document.

Each is answered with a 4xx problem that repeats nothing of it; the service goes on afterwards.
"""

from __future__ import annotations

import gzip
import json
import secrets

import pytest

from tests.support.seen import require_any

CANARY = "c4n4ry"
"""Planted in what is sent; it must come back nowhere."""
REFUSED = (400, 413, 415, 422)
JSON = {"content-type": "application/json"}
FRAGMENTS = {
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "minus Infinity": b"-Infinity",
    "beyond doubles": b"1e999",
    "5,000 digits": b"9" * 5000,
    "64 bits and one": b"9223372036854775808",
    "100,000 levels": b"[" * 30_000 + b"]" * 30_000,
    "lone surrogate": b'"\\ud800c4n4ry"',
    "NUL": b'"c4n4ry\\u0000"',
    "right to left": '"\u202ec4n4ry"'.encode(),
    "decomposed": '"c4n4rye\u0301"'.encode(),
    "byte order mark": '"\ufeffc4n4ry"'.encode(),
    "not UTF-8": b'"c4n4ry\xff"',
    "escape sequence": b'"\\u001b[31mc4n4ry\\r\\n"',
    "long text": b'"' + b"c4n4ry" * 1000 + b'"',
    "repeated key": b'{"c4n4ry": 1, "c4n4ry": 2}',
    "nothing": b"",
    "not JSON": b"c4n4ry",
}
WRONG = {
    "string": (0, 1.5, True, [CANARY], {CANARY: 1}, ""),
    "number": (CANARY, "1", True, [1], {CANARY: 1}),
    "integer": (CANARY, "1", 1.5, True, [1], -(2**60), 2**60),
    "object": (CANARY, 1, True, [CANARY], {"": 1}),
    "array": (CANARY, 1, True, {CANARY: 1}),
    "boolean": (CANARY, 1, "true", [True]),
}
PATHS = (
    *("..%2f..%2fetc%2fpasswd", "%2e%2e", "%2e%2e%2f", "....//", "%00", "a%00b"),
    *("%ff", "%c0%ae", "%ed%a0%80", "/etc/passwd", "%2fetc%2fpasswd", "C:%5c", "%5c%5chost%5cc"),
    *("%E2%80%AEc4n4ry", "e%CC%81", "c4n4ry%0d%0aX-Evil:%201", "%1b[31mc4n4ry", "C4n4ry"),
    *("c4n4ry" * 500, "~c4n4ry", "c4n4ry.tacit", "c4n4ry%20", "%F0%9F%98%80", "null", "-1", "%25"),
)

OTHER_KINDS = (
    *("", "text/plain", "application/xml", "multipart/form-data", "application/jsonx"),
    "application/x-www-form-urlencoded",
)
NO_KEYS = ("", "short", "a" * 129, "c4n4ry with space", "c4n4ry\t1", "é" * 9)


def check(answer, statuses=REFUSED) -> None:
    """A problem as RFC 9457 has it, without echo."""
    assert answer.status_code in statuses, answer.text[:300]
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "detail"}
    assert problem["status"] == answer.status_code
    assert CANARY not in answer.text.lower()
    assert CANARY not in str(answer.headers).lower()


def json_operations(operations):
    return [operation for operation in operations if operation.body == "application/json"]


def schema_of(shop, operation):
    content = operation.content["requestBody"]["content"]["application/json"]
    return resolved(shop, content["schema"])


def resolved(shop, schema):
    while "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schema = shop.app.openapi()["components"]["schemas"][name]
    return schema


def kinds_of(shop, schema) -> set[str]:
    """The JSON types that a schema takes."""
    schema = resolved(shop, schema)
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if choices:
        return set().union(*(kinds_of(shop, one) for one in choices))
    if "const" in schema or "enum" in schema:
        return {"string"}
    return {schema["type"]}


def send(shop, operation, valid, content, headers=JSON, path=None):
    request = valid(operation.name)
    return shop.ask(
        request.by, operation.method, path or request.path, content=content, headers=headers
    )


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_fields(shared_shop, operations, valid, fragment):
    """Text that is no JSON, or JSON of two meanings, in place of each field in turn."""
    asked = 0
    for operation in json_operations(operations):
        body = valid(operation.name).given["json"]
        for name in body:
            holed = json.dumps({**body, name: "HOLE"}).encode()
            content = holed.replace(b'"HOLE"', FRAGMENTS[fragment])
            check(send(shared_shop, operation, valid, content))
            asked += 1
        check(send(shared_shop, operation, valid, FRAGMENTS[fragment]), (*REFUSED, 200, 201)[:4])
    assert asked >= 10


def test_types(shared_shop, operations, valid):
    """A value of each type that a field does not take, and each field left out or null."""
    for operation in require_any(json_operations(operations)):
        body = valid(operation.name).given["json"]
        schema = schema_of(shared_shop, operation)
        for name, described in schema.get("properties", {}).items():
            kinds = kinds_of(shared_shop, described)
            values = [one for some in WRONG.values() for one in some if not _fits(one, kinds)]
            values += [] if "null" in kinds else [None]
            for value in values:
                answer = send(
                    shared_shop, operation, valid, json.dumps({**body, name: value}).encode()
                )
                assert answer.status_code in REFUSED, (operation.name, name, value, answer.text)
                check(answer)
        for name in schema.get("required", ()):
            without = {key: value for key, value in body.items() if key != name}
            check(send(shared_shop, operation, valid, json.dumps(without).encode()), (422,))


def _fits(value: object, kinds: set[str]) -> bool:
    """Whether a field of these types takes the value, as far as its type goes."""
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int):
        return "number" in kinds or ("integer" in kinds and abs(value) < 2**60)
    if isinstance(value, float):
        return "number" in kinds
    named = {str: "string", list: "array", dict: "object"}
    return bool(value) and named[type(value)] in kinds


def test_bodies(shared_shop, operations, valid):
    """Bodies that are no object, of the wrong kind, compressed, too large, or not there."""
    for operation in json_operations(operations):
        needs = schema_of(shared_shop, operation).get("required", ())
        for content in (
            b"[]",
            b"1",
            b'"c4n4ry"',
            b"null",
            b"true",
            b"",
            *([b"{}"] if needs else ()),
        ):
            check(send(shared_shop, operation, valid, content), (422,))
        whole = json.dumps(valid(operation.name).given["json"]).encode()
        for kind in (
            "",
            "text/plain",
            "application/xml",
            "multipart/form-data",
            "application/jsonx",
        ):
            check(send(shared_shop, operation, valid, whole, {"content-type": kind}), (415,))
        form = {"content-type": "application/x-www-form-urlencoded"}
        check(send(shared_shop, operation, valid, whole, form), (415,))
        large = json.dumps({"c4n4ry": "a" * 2**20}).encode()
        check(send(shared_shop, operation, valid, large), (413,))


def test_octets(shared_shop, operations, valid):
    """Bytes that are no message: empty, random, cut short, too long, a pickle, an archive."""
    kind = {"content-type": "application/octet-stream"}
    for operation in operations:
        if operation.body == "application/octet-stream":
            whole = valid(operation.name).given["content"]
            for content in (
                *(b"", b"\x00", whole[:-1], whole + b"\x00", whole * 2, b"\xff" * len(whole)),
                *(b"\x80\x04\x95c4n4ry", b"PK\x03\x04c4n4ry", gzip.compress(whole), b"{}"),
                *(secrets.token_bytes(size) for size in (1, 16, 22, 100, 1000, 60_000)),
            ):
                check(send(shared_shop, operation, valid, content, kind), (*REFUSED, 401, 403))
            check(send(shared_shop, operation, valid, b"a" * 2**20, kind), (413,))
            check(send(shared_shop, operation, valid, b"{}", JSON), (415, 422))


def test_a_gzip_bomb(shared_shop, operations, valid):
    """What is compressed is refused before anybody opens it."""
    bomb = gzip.compress(bytes(2**22))
    for operation in json_operations(operations):
        for encoding in ("gzip", "deflate", "br", "zstd", "gzip, gzip", "x-c4n4ry"):
            headers = {**JSON, "content-encoding": encoding}
            check(send(shared_shop, operation, valid, bomb, headers), (415,))


@pytest.mark.parametrize("payload", PATHS)
def test_paths(shared_shop, operations, valid, payload):
    """Names in an address that lead elsewhere, or are no names."""
    for operation in operations:
        if "{" in operation.path:
            request = valid(operation.name)
            raw, given = operation.path.split("/"), request.path.partition("?")[0].split("/")
            for place, part in enumerate(raw):
                if part.startswith("{"):
                    path = "/".join([*given[:place], payload, *given[place + 1 :]])
                    answer = shared_shop.ask(request.by, operation.method, path, **request.given)
                    check(answer, (400, 404, 405, 422))


def test_queries(shared_shop, operations, valid):
    """Parameters of the query that are no numbers, beyond bounds, given twice or not known."""
    asked = 0
    for operation in operations:
        request = valid(operation.name)
        path = request.path.partition("?")[0]
        for one in operation.content.get("parameters", ()):
            if one["in"] != "query":
                continue
            asked += 1
            sent = [f"{one['name']}=1&{one['name']}=1", f"{one['name']}=%00c4n4ry"]
            sent += [f"{one['name']}={value}" for value in ("%ff", "%E2%80%AE", "c4n4ry" * 500)]
            if one["schema"].get("type") == "integer":
                sent += [
                    f"{one['name']}={value}"
                    for value in ("NaN", "1e3", "1.5", "0x1", "-1", "9" * 5000, "true", "")
                ]
            for query in sent:
                answer = shared_shop.ask(
                    request.by, operation.method, f"{path}?{query}", **request.given
                )
                assert answer.status_code in REFUSED, (operation.name, query[:80], answer.text)
                check(answer)
    assert asked >= 5


@pytest.mark.parametrize(
    "value", ["", "short", "a" * 129, "c4n4ry with space", "c4n4ry\t1", "é" * 9]
)
def test_idempotency_keys(shared_shop, operations, valid, value):
    """A key that is not as it is said to be, on every operation that takes one."""
    for operation in operations:
        if operation.changes:
            request = valid(operation.name)
            answer = shared_shop.ask(
                request.by, operation.method, request.path, **request.given, key=value.encode()
            )
            check(answer, (400, 422))


def test_no_idempotency_key(shared_shop, operations, valid):
    """Without a key nothing is changed."""
    for operation in operations:
        if operation.changes:
            request = valid(operation.name)
            headers = {"authorization": f"Bearer {shared_shop.keys[request.by]}"}
            headers |= request.given.get("headers", {})
            headers.pop("idempotency-key", None)
            given = {name: value for name, value in request.given.items() if name != "headers"}
            answer = shared_shop.client.request(
                operation.method, request.path, headers=headers, **given
            )
            check(answer, (422,))
            assert "Idempotency-Key" in answer.json()["detail"]


def test_headers_given_twice(shared_shop):
    """A header that says what is meant says it once."""
    body = b'{"name": "c4n4ry"}'
    for name, value in (("content-type", "application/json"), ("idempotency-key", "k" * 9)):
        headers = [*JSON.items(), (name, value), (name, value)]
        headers.append(("authorization", f"Bearer {shared_shop.keys['operator']}"))
        answer = shared_shop.client.post("/api/people", headers=headers, content=body)
        check(answer, (400,))
        assert answer.json()["detail"] == f"The header {name} is given more than once."


def test_wrong_queries_are_described(shared_shop):
    """The sentence says what is wrong: a parameter that is repeated, or one that is unknown."""
    repeated = shared_shop.get("operator", "/api/privacy/budgets?limit=1&limit=1")
    check(repeated, (400,))
    assert repeated.json()["detail"] == "A parameter of the query is given more than once."
    unknown = shared_shop.get("operator", "/api/privacy/budgets?c4n4ry=1")
    check(unknown, (422,))
    assert unknown.json()["detail"].startswith("The query has a parameter that this address does")


def test_methods(shared_shop, operations):
    """Every other method is refused with the ones that are taken."""
    paths = {operation.path for operation in operations}
    for path in paths:
        taken = {operation.method for operation in operations if operation.path == path}
        taken |= {"HEAD"} if "GET" in taken else set()
        for method in {"HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "C4N4RY", "GET", "POST"} - taken:
            answer = shared_shop.client.request(method, path.replace("{", "").replace("}", ""))
            assert answer.status_code == 405
            assert set(answer.headers["allow"].split(", ")) == taken, path
            if method != "HEAD":
                check(answer, (405,))


def test_head(shared_shop, operations, valid):
    """HEAD is answered wherever GET is, with the same status and kind of content and no body."""
    for operation in operations:
        if operation.method != "GET" or operation.path == "/metrics":
            continue
        request = valid(operation.name)
        got, head = (
            shared_shop.ask("operator", method, request.path, **request.given)
            for method in ("GET", "HEAD")
        )
        assert head.content == b""
        assert head.status_code == got.status_code
        for name in ("content-type", "content-length"):
            assert head.headers[name] == got.headers[name], operation.name


def test_nothing_of_it_was_kept(shared_shop):
    """After all of this no log line and no metric holds anything of it, and nobody is at fault."""
    log = shared_shop.logged.getvalue()
    assert log.count("\n") > 100
    for line in log.splitlines():
        told = json.loads(line)
        assert told["event"] != "fault", told
        assert told.get("status", 200) < 500, told
    metrics = shared_shop.get("operator", "/metrics").text
    for text in (log.lower(), metrics.lower()):
        assert CANARY not in text
        assert "ann" not in [word.strip('"') for word in text.split()]
