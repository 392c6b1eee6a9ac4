"""Bytes on a connection that no client library would send, against a process of its own."""

from __future__ import annotations

import json
import re
import socket
import threading
import time

import pytest
import uvicorn

from tacit.service import http_bodies, http_protocol, processes
from tacit.service.http_bodies import MOST_HEAD_BYTES
from tacit.service.http_protocol import MOST_PIPELINED

HOST = b"Host: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"
BODY = b'{"name": "c4n4ry"}'


def exchange(
    port: int, *parts: bytes, pause: float = 0.0, half: bool = False, answers: int = 1
) -> bytes:
    """Send the parts, perhaps close our half, and read until the other side closes, or a moment
    longer than so many answers take. Five minutes end a test that hangs."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(300)
        for part in parts:
            try:
                connection.sendall(part)
            except OSError:
                break  # it does not listen any more
            time.sleep(pause)
        if half:
            connection.shutdown(socket.SHUT_WR)
        found = b""
        try:
            while piece := connection.recv(65536):
                found += piece
                if whole(found) >= answers:
                    connection.settimeout(0.25)
        except (TimeoutError, ConnectionResetError):
            pass
        return found


def whole(found: bytes) -> int:
    """How many answers came to their end."""
    head, end, rest = found.partition(b"\r\n\r\n")
    if not end:
        return 0
    size = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    length = int(size[1]) if size else 0
    return 0 if len(rest) < length else 1 + whole(rest[length:])


def statuses(answer: bytes) -> list[int]:
    """Of all answers on the connection."""
    return [int(one[:3]) for one in answer.split(b"HTTP/1.1 ")[1:]]


def problem(answer: bytes) -> dict:
    """The body of the only answer, which is a problem and repeats nothing."""
    assert b"application/problem+json" in answer
    assert b"c4n4ry" not in answer
    return json.loads(answer.partition(b"\r\n\r\n")[2])


POST = b"POST /api/people HTTP/1.1\r\n" + HOST
GET = b"GET /healthz HTTP/1.1\r\n" + HOST
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNK = b"12\r\n" + BODY + b"\r\n0\r\n\r\n"
REFUSED = {
    "two lengths": POST + JSON + b"Content-Length: 5\r\nContent-Length: 18\r\n\r\n" + BODY,
    "a length twice in one": POST + JSON + b"Content-Length: 5, 18\r\n\r\n" + BODY,
    "a length of letters": POST + b"Content-Length: c4n4ry\r\n\r\n",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a length beside chunks": POST + JSON + CHUNKED + b"Content-Length: 18\r\n\r\n" + CHUNK,
    "chunks": POST + JSON + CHUNKED + b"\r\n" + CHUNK,
    "an extension of a chunk": POST + CHUNKED + b"\r\n12;c4n4ry=1" + CHUNK[2:],
    "another transfer encoding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "64 KiB of headers": GET + b"X: " + b"c4n4ry" * 11_000 + b"\r\n\r\n",
    "a line of 64 KiB": b"GET /" + b"c4n4ry" * 11_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "10,000 headers": GET + b"X: c4n4ry\r\n" * 10_000 + b"\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "two hosts": GET + HOST + b"\r\n",
    "a folded header": GET + b"X: c4n4ry\r\n c4n4ry\r\nY : 1\r\n\r\n",
    "a space before the colon": GET + b"X : c4n4ry\r\n\r\n",
    "NUL in a header": GET + b"X: c4n4ry\x00\r\n\r\n",
    "CR in a header": GET + b"X: c4n4ry\rY: 1\r\n\r\n",
    "a path of bytes": b"GET /c4n4ry\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "a path with a space": b"GET /c4n4ry c4n4ry HTTP/1.1\r\n" + HOST + b"\r\n",
    "no HTTP": b"c4n4ry\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"c4n4ry" * 20 + b"\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a version": b"GET /healthz HTTP/9.9\r\n" + HOST + b"\r\n",
    "a part of a page": b"GET /healthz#c4n4ry HTTP/1.1\r\n" + HOST + b"\r\n",
    "no path": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "a head without end": GET + b"X: " + b"c4n4ry" * 4_000,
    "a line without end": b"GET /" + b"c4n4ry" * 4_000,
    "another site's address": b"GET http://c4n4ry.example/healthz HTTP/1.1\r\n" + HOST + b"\r\n",
    "a path upwards": b"GET /api/models/../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n",
    "a path upwards, encoded": b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n",
    "CONNECT": b"CONNECT c4n4ry.example:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "another method by header": b"POST /healthz HTTP/1.1\r\n"
    + HOST
    + b"X-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(running, name):
    """Each is answered once, with a 4xx problem, and nothing else comes of it."""
    answer = exchange(running.port, REFUSED[name])
    (status,) = statuses(answer)
    assert 400 <= status < 500
    assert problem(answer)["status"] == status


def test_a_second_request_in_the_first(running):
    """What hides behind a body of two lengths is not taken for a request."""
    hidden = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    for framing in (b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",):
        answer = exchange(
            running.port, b"POST /api/people HTTP/1.1\r\n" + HOST + JSON + framing + hidden
        )
        assert statuses(answer) == [400]


def test_requests_in_a_row(running):
    """Several requests at once on one connection are answered one after the other."""
    one = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    assert statuses(exchange(running.port, one * 5, answers=5)) == [200] * 5


def test_what_follows_a_request(running):
    """Who sends no request behind one is answered that one, and nothing more."""
    one = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    for rest in (b"c4n4ry\r\n\r\n", b"GET /c4n4ry\xff HTTP/1.1\r\n\r\n"):
        assert statuses(exchange(running.port, one + rest)) == [200]
        assert statuses(exchange(running.port, one, rest, pause=0.2, answers=2)) == [200, 400]


def test_an_upgrade_is_not_taken(running):
    """Whoever asks for another protocol is answered in this one."""
    asked = b"GET /healthz HTTP/1.1\r\n" + HOST
    for protocol in (b"h2c\r\nHTTP2-Settings: AAMAAABk", b"websocket"):
        upgrade = b"Connection: Upgrade\r\nUpgrade: " + protocol + b"\r\n\r\n"
        assert statuses(exchange(running.port, asked + upgrade)) == [200]


def test_a_body_that_is_too_long(running):
    """What is announced or sent beyond the bound is refused, and the connection ends."""
    head = b"POST /api/people HTTP/1.1\r\n" + HOST + JSON
    announced = exchange(running.port, head + b"Content-Length: 99999999999\r\n\r\n")
    assert statuses(announced) == [413]
    assert b"connection: close" in announced.lower()


def test_half_a_request(running):
    """A sender that closes its half in the middle gets an end, and nobody else notices."""
    head = b"POST /api/people HTTP/1.1\r\n" + HOST + JSON + b"Content-Length: 18\r\n\r\n"
    for part in (b"", b"GET", b"GET / HTTP/1.1\r\nHo", head, head + BODY[:9]):
        answer = exchange(running.port, part, half=True)
        assert statuses(answer) in ([], [400])
    assert statuses(exchange(running.port, b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")) == [200]


def test_requests_far_ahead_of_their_answers(running):
    """A few wait on a connection; what comes behind them is not read, and the connection ends."""
    asked = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    few, many = 1 + MOST_PIPELINED, 2000
    assert statuses(exchange(running.port, asked * few, answers=few)) == [200] * few
    assert statuses(exchange(running.port, asked * many, answers=many)) == [200] * few


def test_a_head_leaves_the_connection_open(running):
    """What is asked behind it is answered, though its answer names a length and has no body."""
    rest = b" /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    answer = exchange(running.port, b"HEAD" + rest + b"GET" + rest, answers=2)
    assert statuses(answer) == [200, 200]


def test_a_drip_that_is_quick_enough(running):
    """A request in single bytes is a request."""
    asked = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    assert statuses(exchange(running.port, *[bytes([one]) for one in asked])) == [200]


def test_the_longest_head(running):
    """A head just below the bound is read."""
    filler = b"X: " + b"a" * (MOST_HEAD_BYTES - 1000) + b"\r\n"
    asked = b"GET /healthz HTTP/1.1\r\n" + HOST + filler + b"\r\n"
    assert statuses(exchange(running.port, asked)) == [200]


def test_a_body_does_not_count_for_the_next_head(running):
    """After a body above the bound of a head, the next head may come in two pieces."""
    filler = b'{"name": "' + b"a" * (MOST_HEAD_BYTES + 4000) + b'"}'
    length = b"Content-Length: " + str(len(filler)).encode() + b"\r\n\r\n"
    parts = (POST + JSON + length, filler, GET[:20], GET[20:] + b"\r\n")
    answer = exchange(running.port, *parts, pause=0.2, answers=2)
    assert len(statuses(answer)) == 2
    assert statuses(answer)[1] == 200


def test_nothing_was_written_down(running):
    """After all of this the log has no traceback, no fault and nothing that was sent."""
    log = running.log()
    for sign in ("Traceback", '"fault"', "RuntimeError", "c4n4ry", "shop.example"):
        assert sign not in log
    assert all(json.loads(line) for line in log.splitlines())


@pytest.fixture
def impatient(shared_shop, monkeypatch):
    """A server in this process that waits a second and a half for a request; its port."""
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", 2.0)
    monkeypatch.setattr(http_bodies, "BODY_SECONDS", 1.5)
    yield from served_here(shared_shop)


@pytest.fixture
def bounded(shared_shop, monkeypatch):
    """The same with few connections, which may stay as long as they like."""
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", 300.0)
    monkeypatch.setattr(http_protocol, "MOST_CONNECTIONS", 20)
    yield from served_here(shared_shop)


def served_here(shared_shop):
    """Its port, while it runs."""
    app = shared_shop.app
    config = processes.server_config(shared_shop.service.settings, app)
    config.lifespan = "off"  # the shop has begun
    server = uvicorn.Server(config)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield bound.getsockname()[1]
        server.should_exit = True
        thread.join()


def test_a_slow_head(impatient):
    """A head that does not come to its end ends the connection, however it drips."""
    for parts in ([b"GET /heal"], [b"GET /", *[b"G"] * 60], []):
        assert exchange(impatient, *parts, pause=0.05) == b""


def test_a_slow_body(impatient):
    """A body that does not come in time is told so, and the connection ends."""
    head = b"POST /api/people HTTP/1.1\r\n" + HOST + JSON + b"Content-Length: 1000\r\n\r\n"
    answer = exchange(impatient, head, *[b" "] * 10, pause=0.05)
    assert statuses(answer) == [408]
    assert problem(answer)["type"].endswith("#too-slow")
    assert b"connection: close" in answer.lower()


def test_empty_lines(impatient):
    """Lines between requests do not keep a connection open."""
    one = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    with socket.create_connection(("127.0.0.1", impatient)) as connection:
        connection.sendall(one)
        connection.settimeout(0.05)
        found = b""
        for _ in range(6000):  # five minutes
            try:
                connection.sendall(b"\r\n")
                if not (piece := connection.recv(65536)):
                    break
                found += piece
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            pytest.fail("the connection stays open")
    assert statuses(found) == [200]
    assert statuses(exchange(impatient, one, b"\r\n", one, pause=0.1, answers=2)) == [200, 200]


def test_a_connection_may_rest(impatient):
    """Between two requests a connection may rest for longer than a request may take."""
    one = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    assert statuses(exchange(impatient, one, one, pause=2.5, answers=2)) == [200, 200]


def test_a_bound_on_connections(bounded, wait_until):
    """Beyond the bound a connection is closed at once; when others end there is room again."""
    held = [socket.create_connection(("127.0.0.1", bounded)) for _ in range(20)]
    one = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    wait_until(lambda: exchange(bounded, one) == b"")
    for connection in held:
        connection.close()
    wait_until(lambda: statuses(exchange(bounded, one)) == [200])


def test_a_bound_on_one_address(bounded, monkeypatch, wait_until):
    """One address does not hold all places: beyond its own it is closed, and others come in."""
    monkeypatch.setattr(http_protocol, "MOST_CONNECTIONS_OF_NETWORK", 5)
    held = [socket.create_connection(("127.0.0.1", bounded)) for _ in range(5)]
    one = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    wait_until(lambda: exchange(bounded, one) == b"")
    with socket.create_connection(
        ("127.0.0.1", bounded), 300, source_address=("127.0.0.2", 0)
    ) as other:
        other.sendall(one)
        assert other.recv(65536).startswith(b"HTTP/1.1 200")
    for connection in held:
        connection.close()
