"""What leaves over HTTP, in which order, and what is refused."""

from __future__ import annotations

import ast
import hashlib
import json
import math
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import tacit.client
from tacit.client import Account, Client, FileMemory, Limits, Memory, ServiceError
from tacit.client.transport import Transport
from tacit.designs.sketches.device import Device
from tacit.designs.sketches.messages import Campaign, Report
from tacit.errors import ConfigError, PrivacyError

REPORTS = "/api/campaigns/films/reports"
HISTORY = {"film 3": 5.0, "film 8": 4.5, "film 12": 2.0}


def posts(service):
    return [
        (path, body, headers) for method, path, body, headers in service.asked if method == "POST"
    ]


def own():
    """What only this device has."""
    return {"account": Account(bytes(32)), "memory": Memory()}


def test_needs_the_standard_library_alone():
    """`import tacit.client` loads nothing from outside the standard library, and no other part of
    tacit than device halves, messages and errors."""
    code = (
        "import sys; before = set(sys.modules); import tacit.client; "
        "print(*sorted(set(sys.modules) - before))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = answer.stdout.split()
    roots = {module.partition(".")[0] for module in loaded}
    assert {root for root in roots if root not in sys.stdlib_module_names} == {"tacit"}
    ours = {m for m in loaded if m.startswith("tacit.") and not m.startswith("tacit.client")}
    halves = tuple(f"tacit.designs.{name}" for name in ("private", "sketches", "standard_scheme"))
    others = {module for module in ours if not module.startswith(halves)}
    shared = {"tacit.profile_sums", "tacit.profile_sums.device_format"}
    assert others == {"tacit.errors", "tacit.designs", *shared}


def test_imports_by_name():
    """Wherever in a file, the client imports device halves, messages and errors alone."""
    folder = Path(tacit.client.__file__).parent
    imported = set()
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tacit"):
                names = {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
                imported |= names
                designs = (f"tacit.designs.{name}" for name in ("private", "sketches", "standard"))
                allowed = ("tacit.client", "tacit.errors", *designs)
                assert all(name.startswith(allowed) for name in names)
                assert not any("server" in name or "recommender." in name for name in names)
    assert {"tacit.errors", "tacit.designs.sketches.messages"} <= imported


def test_report(service, client):
    """A report is what the device half makes of it all; the receipt comes back."""
    sent = client().report("films", HISTORY)
    campaign = Campaign.decode(service.answers["/api/campaigns/films"])
    items = json.loads(service.answers["/api/campaigns/films/catalogue"])["items"]
    assert sent.data == Device(bytes(range(32)), {}).report(campaign, items, HISTORY).encode()
    assert sent.receipt == {"counted": True}
    assert sent.meaning[0] == ["01", "version of the message"]
    [(path, body, headers)] = posts(service)
    assert (path, body) == (REPORTS, sent.data)
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Authorization"] == "Bearer tacit_1_abc"


def test_two_devices_of_one_secret(service, client):
    """Devices that share the secret and nothing else report the same bytes for the same stars."""
    for _ in range(2):
        client().report("films", HISTORY)
    first, second = posts(service)
    assert first[:2] == second[:2]


def test_report_again(service, client):
    """Another visit sends the same bytes under the same key, whatever the stars are then."""
    memory = Memory()
    for history in (HISTORY, {}, {"film 1": 5.0}):
        client(memory).report("films", history)
    [first, *others] = [(body, headers["Idempotency-Key"]) for _, body, headers in posts(service)]
    assert others == [first, first]


def test_recommend_sends_nothing(service, client):
    """Lists are made at home: nothing but public files is fetched."""
    best = client().recommend("films", HISTORY, liked_from=4.0, n=3)
    assert best == ["film 59", "film 58", "film 57"]
    assert posts(service) == []


def test_lists(service, client):
    """What the service says about campaigns and disclosures is handed on."""
    assert client().campaigns() == [{"name": "films"}]
    assert client().disclosures() == [{"name": "gender"}]


def test_remembered_before_it_is_sent(service, client, tmp_path):
    """When the first byte of a report arrives, the memory's file holds the message already."""
    memory = FileMemory(tmp_path / "memory")
    seen = {}
    answer = service.answers[REPORTS]

    def looked(body):
        with memory.transaction() as kept:
            seen[body] = kept
        return answer(body)

    service.answers[REPORTS] = looked
    client(memory).report("films", HISTORY)
    [(body, kept)] = seen.items()
    assert [sent for _, sent in kept.reports.values()] == [body]


def test_public_files_are_fetched_without_a_key(service, client):
    """No key, cookie or name goes along with a request for what everybody is shown."""
    device = client()
    device.report("films", HISTORY)
    device.recommend("films", HISTORY, liked_from=4.0)
    device.disclosures()
    device.disclosure("gender")
    device.recommend_on_device("gender", {}, now=0)
    fetched = [headers for method, *_, headers in service.asked if method == "GET"]
    assert len(fetched) == 8
    known = {"Accept-Encoding", "Host", "User-Agent", "Connection"}
    assert all(set(headers) <= known for headers in fetched)


def test_a_memory_that_cannot_be_written(service, client):
    """What cannot be remembered is not sent."""

    class Full(Memory):
        def transaction(self):
            raise OSError("disk full")

    with pytest.raises(OSError, match="full"):
        client(Full()).report("films", HISTORY)
    assert posts(service) == []


@pytest.mark.parametrize(
    "failure",
    [
        (503, {}, b""),
        (503, {"Retry-After": "7"}, b"{}"),
        (429, {"Retry-After": "Wed"}, b""),
        (500, {}, b"<html>"),
        ("drop", {}, b""),
        (200, {"Content-Length": "90"}, b"short"),
    ],
    ids=lambda failure: f"{failure[0]} {failure[1]}",
)
def test_retries_have_the_same_bytes(service, client, failure):
    """After an answer that may pass, or none, the same bytes go out under the same key."""
    waits = []
    transport = Transport(service.url, "key", sleep=waits.append)
    service.failures.extend([failure] * 2)
    assert transport.post(REPORTS, b"x") == b'{"counted": true}'
    sent = posts(service)
    assert len(sent) == 3
    assert {(path, body) for path, body, _ in sent} == {(REPORTS, b"x")}
    key = hashlib.sha256(REPORTS.encode() + b"\0\0x").hexdigest()[:32]
    assert {headers["Idempotency-Key"] for *_, headers in sent} == {key}
    assert waits == ([7.0, 7.0] if "7" in failure[1].values() else [0.5, 1.0])


@pytest.mark.parametrize(
    "url",
    [
        "https://host?",
        "https://host#",
        "https://host/?x=1",
        "https://@host",
        "https://a..b",
        "https://",
        "ftp://host",
    ],
)
def test_what_is_no_address_of_a_service_is_refused(url):
    """Also an empty query or fragment, after which the path of a request would be lost."""
    with pytest.raises(ConfigError, match="is not the address of a service"):
        Transport(url, "key")


def test_attempts_end(service, client):
    """After so many attempts the last failure is told, with its status and reason."""
    problem = b'{"title": "Busy", "detail": "Try later.\\u001b[2J", "status": 503}'
    service.failures.extend([(503, {}, problem)] * 3)
    with pytest.raises(ServiceError, match=r"503: Busy - Try later\. \[2J\.$") as raised:
        client().campaigns()
    assert raised.value.status == 503
    assert len(service.asked) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_refusals_are_final(service, client, status):
    """What the service refuses is not repeated."""
    service.failures.append((status, {}, b'{"title": "No"}'))
    with pytest.raises(ServiceError, match=rf"answered {status}: No\.$") as raised:
        client().campaigns()
    assert raised.value.status == status
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(service, client, status):
    """The key and the message go to the given address alone."""
    service.failures.append((status, {"Location": f"{service.url}/api/disclosures"}, b""))
    with pytest.raises(ServiceError, match="another address"):
        client().campaigns()
    assert [path for _, path, *_ in service.asked] == ["/api/campaigns"]


def test_answers_are_bounded(service, client):
    """An answer longer than allowed is not read to its end."""
    service.answers["/api/campaigns"] = b'{"campaigns":[' + b"{}," * 5000 + b"{}]}"
    assert len(client(largest=15_018).campaigns()) == 5001
    with pytest.raises(ServiceError, match="more than 15,017 bytes"):
        client(largest=15_017).campaigns()


def test_slow_services_are_left(service, client):
    """A service that does not answer in time gave no whole answer, and was reached."""
    stop = threading.Event()

    def slow(body):
        stop.wait()
        return b"{}"

    service.answers[REPORTS] = slow
    try:
        with pytest.raises(ServiceError, match="gave no whole answer: timed out"):
            client(timeout=0.1, attempts=2).report("films", HISTORY)
    finally:
        stop.set()


@pytest.mark.parametrize("failure", [(200, {"Content-Length": "90"}, b"short"), ("drop", {}, b"")])
def test_answers_that_break_off(service, client, failure):
    """A service whose answer breaks off was reached, and the error does not say otherwise."""
    service.failures.extend([failure] * 3)
    with pytest.raises(ServiceError, match="gave no whole answer"):
        client().campaigns()


def test_nobody_there():
    """Nothing at the address is an error in one sentence."""
    settings = {**own(), "sleep": lambda seconds: None}
    with pytest.raises(ServiceError, match="cannot be reached"):
        Client("http://127.0.0.1:9", "key", **settings).campaigns()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "http://192.0.2.1/",
        "http://localhost.example.org",
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "https://",
        "https://who:pass@example.org",
        "https://example.org/?key=1",
        "https://example.org/#x",
        "https://[::1",
        "https://host:port",
        "",
    ],
)
def test_addresses_that_are_refused(url):
    """Messages travel encrypted, or stay on this machine."""
    with pytest.raises(ConfigError):
        Client(url, "key", **own())


@pytest.mark.parametrize(
    "url", ["https://example.org/films/", "http://localhost:1", "http://[::1]:1"]
)
def test_addresses_that_are_taken(url):
    """https anywhere, http on this machine."""
    Client(url, "key", **own())


@pytest.mark.parametrize("key", ["", "a b", "a\r\nHost: x", "ключ"])
def test_keys_that_are_refused(key):
    """A key cannot add lines to a request."""
    with pytest.raises(ConfigError, match="key"):
        Client("https://example.org", key, **own())


def test_pins(service, client):
    """Another campaign or disclosure than the expected one is refused before anything is made."""
    digest = Campaign.decode(service.answers["/api/campaigns/films"]).digest.hex()
    client().report("films", HISTORY, digest=digest)
    client().disclosure("gender", digest=client().disclosure("gender").digest)
    service.asked.clear()
    with pytest.raises(PrivacyError, match="not the expected one"):
        client().report("films", HISTORY, digest="00" * 32)
    with pytest.raises(PrivacyError, match="not the expected one"):
        client().disclosure("gender", digest="00" * 8)
    assert posts(service) == []


def test_limits(service, client):
    """What is beyond the owner's limits is refused, and nothing is sent."""
    with pytest.raises(PrivacyError, match=r"at most 0\.5 .*Nothing was sent"):
        client(limits=Limits(epsilon=0.5)).report("films", HISTORY)
    assert posts(service) == []


NOT_ANSWERS = [b"", b"null", b"{", b'{"items": 1}', b'{"items": [1.5]}', b'{"items": [true]}']
NOT_ANSWERS += [
    b"[" * 100_000,
    b'{"items": [NaN]}',
    b'{"items": [1], "items": [1]}',
    b"\xff",
    b"[1]",
]


@pytest.mark.parametrize("data", NOT_ANSWERS, ids=lambda data: data[:20].hex())
@pytest.mark.parametrize(
    "path",
    ["/api/campaigns/films", "/api/campaigns/films/catalogue", "/api/campaigns/films/clusters"],
)
def test_answers_that_are_none(service, client, path, data):
    """Whatever a service sends instead of a message is its error, in one sentence."""
    service.answers[path] = data
    visit = client().report
    if "clusters" in path:
        visit = partial(client().recommend, liked_from=4.0)
    with pytest.raises(ServiceError):
        visit("films", HISTORY)


def test_another_catalogue(service, client):
    """A list that the campaign does not name is refused before anything is made, also later on."""
    memory = Memory()
    client(memory).report("films", HISTORY)
    service.answers["/api/campaigns/films/catalogue"] = b'{"items": ["film 0"]}'
    with pytest.raises(ServiceError, match="not the list"):
        client(memory).report("films", HISTORY)
    assert len(posts(service)) == 1


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"campaigns": {}}', b'{"campaigns": [1]}'])
def test_lists_that_are_none(service, client, data):
    """A list of campaigns that is none is the service's error."""
    service.answers["/api/campaigns"] = data
    with pytest.raises(ServiceError, match="not a list"):
        client().campaigns()


@pytest.mark.parametrize("name", ["a/b", "../x", "a?b", "a b", "é"])
def test_names_are_one_part_of_a_path(service, client, name):
    """A name cannot lead to another address of the service."""
    with pytest.raises(ServiceError):
        client().campaign(name)
    [(_, path, *_)] = service.asked
    assert path.count("/") == 3
    assert "?" not in path


@pytest.mark.parametrize("name", ["", ".", "..", "\ud800"], ids=ascii)
def test_names_that_are_none(client, name):
    """What would be taken for a folder is refused."""
    with pytest.raises(ConfigError):
        client().campaign(name)


def test_report_is_the_message_that_was_sent(service, client):
    """What the person is shown is what went out."""
    sent = client().report("films", HISTORY)
    assert Report.decode(sent.data).encode() == posts(service)[0][1]


@pytest.mark.parametrize(
    "settings",
    [{"timeout": math.inf}, {"timeout": 10**400}, {"attempts": math.inf}, {"attempts": 2.5}],
    ids=lambda settings: str(settings)[:20],
)
def test_numbers_that_no_request_can_use_are_refused(client, settings):
    """When the client is made, not at its first request."""
    with pytest.raises(ConfigError, match="timeout is at most 86,400 seconds"):
        client(**settings)


def test_many_attempts_wait_as_long_as_the_longest_pause(service, client):
    """The pause between attempts is bounded, however many there are."""
    pauses = []
    service.failures.extend([(503, {}, b"")] * 1100)
    device = client(attempts=1100, sleep=pauses.append)
    with pytest.raises(ServiceError, match="503"):
        device.campaigns()
    assert len(pauses) == 1099
    assert max(pauses) == 30
