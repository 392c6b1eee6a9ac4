"""Two vendors in two processes: whatever becomes of the one, the other keeps serving.

The long version, with figures, is benchmarks/two_vendors.py; it starts and taps the processes here.
"""

from __future__ import annotations

import http.client
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tacit.designs.pdap.features import GRAINS
from tacit.designs.pdap.messages import Forward
from tacit.designs.pdap.serve.state import unpack
from tacit.ledger import open_ledger
from tacit.ledger.inspection import backup
from tacit.service import Settings
from tacit.service.idempotency import remove_salt

_FILE = Path(__file__).parents[2] / "benchmarks" / "two_vendors.py"
_SPEC = importlib.util.spec_from_file_location("two_vendors", _FILE)
harness = importlib.util.module_from_spec(_SPEC)
sys.modules["two_vendors"] = harness
_SPEC.loader.exec_module(harness)

RAW = [0.123456789, 0.987654321]
"""A context whose digits cannot be there by chance."""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two processes, for all tests here. One video each, so that neighbours are asked often."""
    folder = tmp_path_factory.mktemp("two")
    patient = {"answer_within": 300.0}
    with harness.two_vendors(folder, patient, videos=1, share=1.0, lifetime=1e4) as found:
        yield found


@pytest.fixture(autouse=True)
def as_it_was(request):
    """Each test begins with both up and nothing in between."""
    yield
    if "two" not in request.fixturenames:
        return
    two = request.getfixturevalue("two")
    two.tap.mode = "pass"
    if two.other.running is None:
        two.other.start()
    two.other.send(signal.SIGCONT)


def visit(one, user="ann", repeat=None):
    name = one.folder.name
    answer = one.ask(f"/api/vendors/{name}/visits", one.person(user), {"context": RAW}, repeat)
    assert answer.status == 200, answer
    return answer.json()


def until_asked(one, **given):
    """The first visit whose video is the neighbour's. It may have been down until now."""
    return until(one, lambda shown: shown["source"] == "neighbour", **given)


def until(one, question, keys=None, **given):
    """The first visit of which something is true; each has the next one of the keys."""
    end = time.monotonic() + 300  # ends a test that hangs
    while time.monotonic() < end:
        shown = visit(one, repeat=keys and next(keys), **given)
        if question(shown):
            return shown
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def test_each_shows_the_others_video(two):
    """Both forward, and both serve the other's guests."""
    assert until_asked(two.home)["vendor"] == "arthouse"
    assert until_asked(two.other)["vendor"] == "cinema"


@pytest.mark.parametrize("mode", harness.HOSTILE)
def test_whatever_crosses_home_serves(two, mode):
    """A drip, 10 GB, a redirect, another type, a changed byte, a reset, silence, no signature."""
    two.tap.mode = mode
    before = len(two.tap.posted())
    shown = until(two.home, lambda _: len(two.tap.posted()) > before)
    assert shown["source"] == "own"


def test_the_other_dies_in_the_middle(two):
    """kill -9 while several are being served: each gets a video in time, then and afterwards; and
    when it is back it is asked again."""
    failed = []

    def many():
        try:
            for _ in range(8):
                visit(two.home)
        except AssertionError as error:
            failed.append(error)

    threads = [threading.Thread(target=many) for _ in range(3)]
    for thread in threads:
        thread.start()
    two.other.end(signal.SIGKILL)
    for thread in threads:
        thread.join()
    assert failed == []
    two.other.start()
    until_asked(two.home)


def test_the_other_stands_still(two):
    """SIGSTOP: connections are taken and nothing is answered."""
    two.other.send(signal.SIGSTOP)
    for _ in range(6):
        assert visit(two.home)["source"] == "own"


def test_a_retry_through_failure_repeats_the_answer(two):
    """An offer is lost: the retry shows what was shown, and nothing crosses again."""
    until_asked(two.home)
    two.tap.mode = "corrupt"
    first = visit(two.home, repeat="retry-00000001")
    until_true(lambda: len(contents(two)) > 0)
    two.tap.mode = "pass"
    assert visit(two.home, repeat="retry-00000001") == first
    assert all(len(bodies) == 1 for bodies in contents(two).values())


def contents(two):
    """Of all that was posted, by its number."""
    found: dict[str, list[bytes]] = {}
    for headers, body in two.tap.posted():
        found.setdefault(headers["idempotency-key"], []).append(body)
    return found


def test_a_replay_is_answered_and_not_applied(two):
    """What crossed is sent again, before and after the receiver was killed: the same answer."""
    until_asked(two.home)
    sent = next(data for data in reversed(two.tap.crossed) if data.startswith(b"POST"))
    first = _sent(two.other.port, sent)
    two.other.end(signal.SIGKILL)
    two.other.start()
    second = _sent(two.other.port, sent)
    assert first == second
    assert first[0] == 200


def test_nothing_that_crossed_tells_who_or_where(two):
    """Of everything that left home, in every test here: no feature, no name, no key of hers; the
    cells are randomised ones; one number per visit, and one content per number."""
    until_asked(two.home, user="ann-with-a-long-name")
    everything = b"".join(two.tap.crossed)
    key = two.home.person("ann-with-a-long-name").encode()
    for secret in (b"0.12345", b"0.98765", b"ann-with", key, key.rpartition(b".")[2]):
        assert secret not in everything
    found = contents(two)
    assert found
    for bodies in found.values():
        assert len(set(bodies)) == 1
        assert set(Forward.decode(bodies[0]).places) <= {0, 1}


def test_nothing_was_a_fault(two):
    """In all of the tests here neither log has a fault or a 5xx of a visit."""
    visit(two.home)
    log = (two.home.folder / "log.jsonl").read_text() + (two.other.folder / "log.jsonl").read_text()
    assert '"event": "fault"' not in log
    assert '"status": 50' not in log


MANY = [
    pytest.param(("postgres", 2), id="PostgreSQL, two workers", marks=pytest.mark.long),
]
WAYS = [pytest.param(("postgres", 1), id="PostgreSQL"), *MANY]


@pytest.fixture(scope="module", params=WAYS)
def shared(request, tmp_path_factory):
    """Two vendors whose state is shared: by processes, in a database, or both."""
    where, workers = request.param
    databases = ()
    if where == "postgres":
        server = request.getfixturevalue("postgres")
        databases = (server.database(), server.database())
    folder = tmp_path_factory.mktemp("shared")
    service = {"answer_within": 300.0, "workers": workers}
    given = {"databases": databases, "videos": 1, "share": 1.0, "lifetime": 1e4}
    with harness.two_vendors(folder, service, **given) as found:
        yield found


def test_a_crowd_is_served_from_one_state(shared):
    """Visits of many at once, at both vendors, and what came of them, through whichever worker:
    each gets a video, and the state that is kept has all of them, none twice."""
    homes = (shared.home, shared.other)
    before = [visits_at(home) for home in homes]

    def come(number):
        home = homes[number % 2]
        shown = visit(home, user=f"user-{number % 5}", repeat=f"crowd-{number:08}")
        clicked(home, shown, f"user-{number % 5}")
        return number, shown

    with ThreadPoolExecutor(6) as pool:
        came = list(pool.map(come, range(40)))
    assert [visits_at(home) - old for home, old in zip(homes, before, strict=True)] == [20, 20]
    assert any(shown["source"] == "neighbour" for _, shown in came)
    for number, shown in came:  # once more, on other connections: nothing is done again
        assert come(number) == (number, shown)
    assert [visits_at(home) - old for home, old in zip(homes, before, strict=True)] == [20, 20]


def test_a_click_reaches_a_visit_whichever_worker_began_it(shared):
    """A neighbour's video was shown: home learns of the click once, whoever took the visit, the
    report and its repetitions."""
    shown = until_asked(shared.home)
    before = held(shared.home)
    for _ in range(4):
        clicked(shared.home, shown, "ann")
    assert held(shared.home) - before == GRAINS


def test_a_replay_is_the_same_at_every_worker(shared):
    """A message that is sent again on many connections has one answer."""
    until_asked(shared.home)
    sent = next(data for data in reversed(shared.tap.crossed) if data.startswith(b"POST"))
    assert len({_sent(shared.other.port, sent) for _ in range(8)}) == 1


@pytest.mark.parametrize("shared", MANY, indirect=True)
def test_the_neighbour_goes_and_comes_at_every_worker(shared):
    """Each worker notices for itself; all of them serve while it is gone, and ask it afterwards."""
    until_asked(shared.home)
    shared.other.end(signal.SIGTERM)
    for _ in range(12):
        assert visit(shared.home)["source"] == "own"
    shared.other.start()
    until_asked(shared.home)


def test_nothing_was_a_fault_where_state_is_shared(shared):
    """Neither log has a fault or a 5xx, both ledgers are whole, no budget is over its cap; and as
    many workers as were asked for had begun."""
    for home in (shared.home, shared.other):
        log = (home.folder / "log.jsonl").read_text()
        assert log.count('"event": "started"') >= Settings.gather(home.folder, {}, {}).workers
        assert '"event": "fault"' not in log
        assert '"status": 50' not in log
        with opened(home) as ledger:
            ledger.verify()
            assert all(found.spent <= found.cap.amount for found in ledger.balances())


@pytest.mark.parametrize("shared", MANY, indirect=True)
def test_a_worker_dies_in_the_middle(shared):
    """kill -9 of one of two: who got no answer asks the other with the same key, and each visit is
    one; another worker takes the place of the dead one."""
    before, children = visits_at(shared.home), workers_of(shared.home)
    assert len(children) == 2

    def come(number):
        path, key = "/api/vendors/cinema/visits", shared.home.person("ann")
        for _ in range(50):
            answer = shared.home.ask(path, key, {"context": RAW}, f"dies-{number:08}")
            if answer.status:
                return answer.status
            time.sleep(0.05)
        return 0

    with ThreadPoolExecutor(6) as pool:
        coming = [pool.submit(come, number) for number in range(30)]
        time.sleep(0.1)
        os.kill(children[0], signal.SIGKILL)
        assert [one.result() for one in coming] == [200] * 30
    assert visits_at(shared.home) - before == 30
    until_true(lambda: len(set(workers_of(shared.home)) - {children[0]}) == 2)


def workers_of(one):
    """Processes of one service that have its port, but for the one above them."""
    above = one.running.pid
    found = Path(f"/proc/{above}/task/{above}/children").read_text().split()
    return [int(pid) for pid in found if b"spawn_main" in _command(pid)]


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def until_true(question):
    end = time.monotonic() + 300  # ends a test that hangs
    while not question():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


@contextmanager
def opened(one):
    """Its ledger as it stands: of one in a file a copy."""
    settings = Settings.gather(one.folder, {}, {})
    if settings.ledger_file is None:
        with open_ledger(settings.ledger, second=settings.second) as ledger:
            yield ledger
        return
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "budgets.db"
        shutil.copy(one.folder / "budgets.db.head", f"{copy}.head")
        backup(one.folder / "budgets.db", copy)
        with open_ledger(copy) as ledger:
            yield ledger


def kept(one):
    """Numbers of its vendor's state."""
    with opened(one) as ledger:
        return unpack(remove_salt(ledger.state(f"{harness.TENANT}/vendors/{one.folder.name}")))[0]


def held(one):
    """The constant's sums since the last release, in grains: of one visit `GRAINS`."""
    with opened(one) as ledger:
        found = ledger.state(f"{harness.TENANT}/vendors/{one.folder.name}")
    return int(unpack(remove_salt(found))[1]["exact"][:, :, 0].sum())


def visits_at(one):
    """That its vendor counts; none before the first."""
    with opened(one) as ledger:
        found = ledger.state(f"{harness.TENANT}/vendors/{one.folder.name}")
    return 0 if found is None else unpack(remove_salt(found))[0]["visits"]


def clicked(one, shown, user):
    path = f"/api/vendors/{one.folder.name}/visits/{shown['visit']}/reward"
    key = f"click-{shown['visit'][:16]}"
    answer = one.ask(path, one.person(user), {"clicked": True}, key)
    assert (answer.status, answer.json()) == (200, {"received": True})


def _sent(port, data):
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(
        "POST", first.split(" ")[1], body, dict(line.split(": ", 1) for line in lines)
    )
    answer = connection.getresponse()
    result = answer.status, answer.read()
    connection.close()
    return result
