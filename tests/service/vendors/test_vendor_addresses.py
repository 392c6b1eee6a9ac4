"""No address from a request is ever fetched: the only ones are those of tacit.toml."""

from __future__ import annotations

import asyncio
import sys

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.designs.pdap.messages import Forward
from tacit.designs.pdap.serve.neighbours import Calls, Neighbour
from tacit.errors import ConfigError
from tacit.service.served_things import Section

PAYLOADS = [
    f"{scheme}{host}"
    for scheme in ("http://", "https://", "ftp://", "gopher://", "file:///", "//", "", "\\\\")
    for host in (
        *("127.0.0.1:9/x", "169.254.169.254/latest/meta-data", "[::1]:9/", "localhost:9"),
        *("0x7f000001:9/", "2130706433:9", "127.1:9", "example.org", "a@127.0.0.1:9"),
        *("[::ffff:127.0.0.1]:9", "127.0.0.1.nip.io:9", "metadata.google.internal/", "0:9"),
        *("127.0.0.1:9#@example.org", "example.org@127.0.0.1:9/", "127.0.0.1:9?http://x"),
        *("%31%32%37.0.0.1:9", "127。0。0。1:9", "①②⑦.0.0.1:9", "../../readyz", "localhost%00:9"),
        *("127.0.0.1:22", "10.0.0.1", "192.168.0.1", "unix:/var/run/docker.sock"),
    )
]
HEADERS = ("host", "x-forwarded-host", "tacit-audience", "signature-input", "location", "referer")
_connected: list[object] = []
_hooked = False


@pytest.fixture
def connected():
    """Every address that this process connects to or looks up, from here on."""
    global _hooked
    if not _hooked:
        sys.addaudithook(
            lambda event, given: (
                _connected.append(given[:2] if event == "socket.getaddrinfo" else given[1])
                if event in ("socket.connect", "socket.getaddrinfo")
                else None
            )
        )
        _hooked = True
    _connected.clear()
    return _connected


@pytest.mark.usefixtures("asking")
def test_two_hundred_addresses_in_every_field_reach_nobody(one_pair, connected):
    """In the context, the names in the path, the headers and the messages: the answers are refusals
    or videos, and the only address connected to is the neighbour's."""
    home = one_pair.home
    # From here on over the network, where nobody listens.
    home.served.reach.calls.transports.clear()
    assert len(PAYLOADS) >= 200
    for number, payload in enumerate(PAYLOADS):
        sent = payload.encode("ascii", "ignore").decode()
        body = {"context": [payload, payload], "url": payload}
        answers = [home.post("ann", "/visits", json=body), _another(home, number % 4, sent)]
        assert all(400 <= answer.status_code < 500 for answer in answers), payload
        if number % 20 == 0:
            name = HEADERS[number // 20 % len(HEADERS)]
            shown = home.post(
                "bob", "/visits", json={"context": [0.5, 0.5]}, headers={name: sent.strip()}
            )
            assert shown.status_code == (400 if name == "host" else 200)  # a host it does not have
    assert connected
    assert {(str(host), int(port)) for host, port in connected} == {("127.0.0.1", 8002)}


def _another(home, which, sent):
    """One more field that takes a text."""
    if which == 0:
        return home.post("ann", f"/visits/{sent}/reward", json={"clicked": True})
    if which == 1:
        return home.post("operator", f"/guests/{sent}/reward", json={"clicked": sent})
    if which == 2:
        return home.post("ann", "/visits", json={"context": [0.5, 0.5]}, key=sent)
    return home.post("ann", "/forwards", content=sent.encode())


@pytest.mark.parametrize(
    "url",
    [
        "https://h:abc/api/vendors/x",
        "https://h:99999/api/vendors/x",
        "https://[::1/api/vendors/x",
        "https://\u2028/api/vendors/x",
        "https://h\n/api/vendors/x",
        "http://h/api/vendors/x",
    ],
)
def test_an_address_that_cannot_be_called_is_refused_where_it_is_read(tmp_path, url):
    """With the form of an address: a port that is no port, an open bracket, a host of no name."""
    values = {"url": url, "public_key": "", "api_key": "x.key"}
    with pytest.raises(ConfigError, match=r"url is  https://HOST/api/vendors/NAME"):
        Neighbour.from_section("x", Section("t", "x", tmp_path, values))


def test_a_call_to_an_address_that_is_none_is_no_answer():
    """It ends as every other call that fails: nobody is ready, and nothing is answered."""
    key = Ed25519PrivateKey.generate()
    peer = Neighbour("x", "https://h:abc/api/vendors/x", key.public_key(), "secret")
    calls = Calls("here", key)

    async def ask():
        forward = Forward(bytes(16), 0, 1, ()).encode()
        return await calls.is_ready(peer), await calls.ask(peer, forward)

    assert asyncio.run(ask()) == (False, None)
