"""The owner of a ledger and its workers: strict frames, and kills that lose nothing."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import socket
import stat
import struct
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from ledger_faults import acknowledged_before_commit
from ledger_owner_kills import kill_owners
from service_requests import operations_of
from service_shop import open_shop, open_worker
from starlette.requests import Request
from starlette.responses import Response

from tacit.cli.app import main
from tacit.errors import DataError
from tacit.ledger import frames
from tacit.ledger.frames import Frame, Kind
from tacit.service.http_bodies import LONGEST_HEAD, Body
from tacit.service.keys import Caller, Role
from tacit.service.middleware import Middleware
from tacit.service.monitoring import Logger
from tacit.service.owner import Link, Owner, asked_of
from tacit.service.problems import Problem

HEAD = {
    "method": "GET",
    "path": "/readyz",
    "query": "",
    "headers": [],
    "scheme": "http",
    "client": None,
    "caller": ["demo", "anonymous", ""],
    "end": 2.0**40,
    "request": "r",
}


def until(enough, folder, fault=None):
    """Owners killed twelve at a time until that is true: on a busy machine they may live too short
    to answer. The hundredth time ends a test that hangs."""
    for seed in range(1, 100):
        place = folder / str(seed)
        place.mkdir()
        found = kill_owners(place, kills=12, seed=seed, fault=fault)
        if enough(found):
            break
    return found


def test_killed_owners_lose_nothing(tmp_path):
    """Owners killed under two workers: what was acknowledged is there, once, and unchanged."""
    found = until(lambda one: one.told or one.problems or one.miscounted, tmp_path)
    assert found.sound, found


def test_the_kills_notice_an_early_answer(tmp_path):
    """An owner that answers before its commit is found out."""
    assert until(lambda found: found.lost > 0, tmp_path, acknowledged_before_commit).lost > 0


@pytest.mark.long
def test_a_thousand_kills(tmp_path):
    """The first a thousand times."""
    assert kill_owners(tmp_path, kills=1000, seed=2).sound


def read(octets):
    """What a reader makes of these bytes and an end: the same in one piece and byte by byte."""
    found = []
    for pieces in ([octets], (octets[at : at + 1] for at in range(len(octets)))):
        reader = frames.Reader()
        found.append([frame for piece in pieces for frame in reader.feed(piece)])
        reader.end()
    assert found[0] == found[1]
    return found[0][0] if found[0] else None


WHOLE = Frame(Kind.ASK, 7, HEAD, b"body")


def test_a_frame_is_read_as_it_was_written():
    """Kind, number, head and body; and nothing after the end."""
    assert read(WHOLE.encode()) == WHOLE
    assert read(b"") is None


@pytest.mark.parametrize("end", [1, 10, 22, 23, 40, -1])
def test_a_frame_that_is_cut_off_is_refused(end):
    """Wherever it ends."""
    with pytest.raises(DataError):
        read(WHOLE.encode()[:end])


@pytest.mark.parametrize(
    "first",
    [
        *(("tacit2", 1, 2, 0), ("tacit1", 9, 2, 0), ("tacit1", 1, 2**31, 0)),
        ("tacit1", 1, 2, frames.LARGEST_BODY + 1),
    ],
    ids=["version", "kind", "a large head", "a large body"],
)
def test_what_is_no_frame_is_refused(first):
    """By its first bytes: nothing more is read, and no memory is taken for it."""
    mark, kind, head, body = first
    octets = struct.pack(">6sBQII", mark.encode(), kind, 1, head, body)
    with pytest.raises(DataError, match="no frame"):
        read(octets + b"{}")


def test_a_head_that_is_no_object_is_refused():
    """A list, a number, no JSON, and JSON that is too deep."""
    for head in (b"[]", b"1", b"{", b"[" * 50_000):
        octets = struct.pack(">6sBQII", b"tacit1", 1, 1, len(head), 0) + head
        with pytest.raises(DataError, match="object"):
            read(octets)
    with pytest.raises(DataError, match="larger"):
        Frame(Kind.ASK, 1, {"path": "x" * frames.LARGEST_HEAD}).encode()


@pytest.mark.parametrize("letter", ["\xe9", "\x01", '"'])
def test_the_largest_head_of_http_fits_into_a_frame(letter):
    """Whatever its bytes are."""
    whole = Frame(Kind.ASK, 1, {**HEAD, "headers": [["x", letter * LONGEST_HEAD]]})
    assert read(whole.encode()) == whole


@pytest.mark.parametrize(
    "change",
    [
        *({"path": 1}, {"caller": ["demo", "king", ""]}, {"caller": ["demo"]}, {"end": "x"}),
        *({"headers": [["a"]]}, {"headers": 3}, {"more": 1}, {"query": "\u20ac"}, {"client": 3}),
        *({"end": float("inf")}, {"client": ["a", float("inf")]}, {"headers": [[1, 2]]}),
    ],
    ids=str,
)
def test_a_question_says_exactly_what_it_has_to(change):
    """Another field, a role that does not exist, a wrong type: refused."""
    assert asked_of(WHOLE)[2] == HEAD["end"]
    with pytest.raises(DataError):
        asked_of(Frame(Kind.ASK, 1, {**HEAD, **change}))


def test_every_operation_is_the_same_through_a_worker(demo, folder, tmp_path, valid):
    """What is answered, by which kind of content and with which headers, does not depend on whether
    the process that was asked owns the ledger."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    varies = {"x-request-id", "content-length"}
    with open_shop(demo, folder) as alone, open_worker(demo, copy) as worker:
        for one in operations_of(alone.app):
            found = [valid(one.name).ask(shop, one.method) for shop in (alone, worker)]
            heads = [{*answer.headers} - varies for answer in found]
            assert found[0].status_code == found[1].status_code, (one.name, found[1].text)
            assert heads[0] == heads[1], one.name
            assert found[0].headers["content-type"] == found[1].headers["content-type"], one.name
        assert worker.get("operator", "/api/nothing").status_code == 404
        assert worker.get("subject", "/api/privacy/budgets").status_code == 403
        assert worker.post("subject", "/api/feedback", json={"x": 1}).status_code == 422
        assert worker.ask("subject", "HEAD", "/api/privacy/budget").content == b""


def test_a_request_too_large_for_a_frame_ends_alone(demo, folder, monkeypatch):
    """The connection that all requests of a worker share stays as it is."""
    with open_worker(demo, folder) as worker:
        assert worker.get("anonymous", "/readyz").is_success
        with monkeypatch.context() as patched:
            patched.setattr(frames, "LARGEST_HEAD", 1)
            assert worker.get("anonymous", "/readyz").status_code not in (200, 503)
        line, asked = worker.app.answers.hand.opened
        assert line.open
        assert not asked


def test_an_owner_that_ends_answers_what_it_has(tmp_path):
    """What was in hand is answered, what comes meanwhile is asked again later, and then its
    connections end: nothing is left to threads that are gone."""
    store = tmp_path / "b.db"

    async def told():
        begun, over = asyncio.Event(), asyncio.Event()

        async def handed(*_):
            begun.set()
            await over.wait()
            return Response("done")

        owner = Owner(store, SimpleNamespace(failed=False), Logger(io.StringIO()))
        await owner.open(SimpleNamespace(answers=SimpleNamespace(handed=handed)))
        connection = await asyncio.to_thread(frames.connect, store, 60)
        connection.sendall(Frame(Kind.ASK, 1, HEAD).encode())
        await begun.wait()
        ending = asyncio.ensure_future(owner.close(60))
        await asyncio.sleep(0)
        connection.sendall(Frame(Kind.ASK, 2, HEAD).encode())
        found = [await asyncio.to_thread(frames.receive, connection)]
        over.set()
        found.append(await asyncio.to_thread(frames.receive, connection))
        await ending
        with connection, pytest.raises(DataError):
            await asyncio.to_thread(frames.receive, connection)
        return found

    later, now = asyncio.run(told())
    assert (later.number, later.head["status"]) == (2, 503)
    assert (now.number, now.body) == (1, b"done")


def test_a_passed_deadline_begins_nothing(tmp_path):
    """Neither in the owner, whose clock is the worker's, nor in a worker that waited for another
    one's connecting; and an owner that does not answer keeps no place in its worker."""
    store, ran = tmp_path / "b.db", []

    async def handed(*_):
        ran.append(1)
        await asyncio.Event().wait()

    async def told():
        loop = asyncio.get_running_loop()
        owner = Owner(store, SimpleNamespace(failed=False), Logger(io.StringIO()))
        await owner.open(SimpleNamespace(answers=SimpleNamespace(handed=handed)))
        frame = Frame(Kind.ASK, 1, {**HEAD, "end": time.monotonic() - 0.001})
        with await asyncio.to_thread(frames.connect, store, 60) as connection:
            connection.sendall(frame.encode())
            late = await asyncio.to_thread(frames.receive, connection)
        link, request = Link(store), requested()
        with pytest.raises(Problem):
            await link.hand(request, loop.time() - 1)
        assert link.opened is None
        with pytest.raises(Problem):
            await asyncio.wait_for(link.hand(request, loop.time() + 0.2), 60)
        line, asked = link.opened
        assert not asked
        assert line.open
        line.close()
        await owner.close(0)
        return late

    assert asyncio.run(told()).head["status"] == 503
    assert len(ran) <= 1  # the last one's


def requested():
    """A request that passed the door of a worker."""
    state = {"caller": Caller("demo", Role.ANONYMOUS, ""), "body": Body(), "request_id": "r"}
    scope = {"type": "http", "method": "GET", "path": "/readyz", "query_string": b""}
    return Request({**scope, "headers": [], "scheme": "http", "client": None, "state": state})


def test_what_needs_no_ledger_waits_for_none(demo, folder, monkeypatch):
    """With all places of handed requests taken, a worker answers what it executes itself."""
    with open_worker(demo, folder) as worker:
        answers = worker.app.answers
        monkeypatch.setattr(answers, "away", asyncio.Semaphore(0))
        assert worker.get("operator", "/api/models").is_success
        monkeypatch.setattr(answers, "settings", replace(answers.settings, answer_within=0.2))
        assert worker.get("operator", "/readyz").status_code == 503


def test_one_worker_takes_questions_from_nobody(shop):
    """Its socket is for its user and for copies: an operation, or nonsense, ends the connection."""
    store = shop.folder / "budgets.db"
    place = frames.folder_of(store)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "socket").stat().st_mode) == 0o600
    for octets in (Frame(Kind.ASK, 1, HEAD).encode(), b"GET / HTTP/1.1\r\n\r\n" + bytes(40)):
        with frames.connect(store, 60) as connection:
            connection.sendall(octets)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(100) == b""
    assert shop.get("anonymous", "/readyz").is_success


def test_a_fault_of_the_owner_has_the_number_of_its_request(demo, folder, monkeypatch):
    """The line in its log is found by what the person who asked got."""
    handed = Middleware.handed

    async def faulty(self, scope, *rest):
        return await handed(self, {**scope, "path": None}, *rest)

    monkeypatch.setattr(Middleware, "handed", faulty)
    with open_worker(demo, folder) as worker:
        found = worker.get("operator", "/readyz")
        assert found.status_code == 500
        lines = [json.loads(line) for line in worker.logged.getvalue().splitlines()]
        faults = [line["request_id"] for line in lines if line["event"] == "fault"]
        assert faults == [found.headers["x-request-id"]]


def test_a_copy_that_no_one_fetches_is_removed(shop, wait_until):
    """It has every stored state, so it lasts as long as the connection of who wanted it."""
    store = shop.folder / "budgets.db"
    with frames.connect(store, 60) as connection:
        connection.sendall(Frame(Kind.COPY, 1).encode())
        copy = frames.folder_of(store) / frames.receive(connection).head["file"]
        assert copy.exists()
    wait_until(lambda: not copy.exists())


def test_a_running_service_is_looked_at(shop, capsys, tmp_path):
    """`show`, `verify` and `backup` go beside it, and nothing of the copies is left."""
    store = shop.folder / "budgets.db"
    assert main(["ledger", "verify", str(store), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sound"]
    assert main(["ledger", "show", str(store)]) == 0
    assert main(["ledger", "backup", str(store), "--to", str(tmp_path / "copy.db")]) == 0
    assert [file.name for file in frames.folder_of(store).iterdir()] == ["socket"]
    assert main(["ledger", "advance", str(store), "--token", "x"]) == 1
    assert "this process itself" in capsys.readouterr().err
