"""Two vendors in two processes: whatever becomes of the one, the other keeps serving.

The long version, with figures, is benchmarks/two_vendors.py; it starts and taps the processes here.
"""

from __future__ import annotations

import http.client
import importlib.util
import itertools
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from tacit.recommenders.pdap.messages import Forward

_FILE = Path(__file__).parents[2] / "benchmarks" / "two_vendors.py"
_SPEC = importlib.util.spec_from_file_location("two_vendors", _FILE)
harness = importlib.util.module_from_spec(_SPEC)
sys.modules["two_vendors"] = harness
_SPEC.loader.exec_module(harness)

WITHIN = 6.0
"""Seconds: the promise of 2.5 is measured in the benchmark, for a shared machine stalls now and
then. What hangs here hangs longer."""
RAW = [0.123456789, 0.987654321]
"""A context whose digits cannot be there by chance."""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two processes, for all tests here. One video each, so that neighbours are asked often."""
    folder = tmp_path_factory.mktemp("two")
    patient = {"answer_within": 5.0}
    with harness.two_vendors(folder, patient, videos=1, share=1.0, lifetime=1e4) as found:
        yield found


@pytest.fixture(autouse=True)
def as_it_was(two):
    """Each test begins with both up and nothing in between."""
    yield
    two.tap.mode = "pass"
    if two.other.running is None:
        two.other.start()
    two.other.send(signal.SIGCONT)


def visit(one, user="ann", repeat=None):
    name = one.folder.name
    answer = one.ask(f"/api/vendors/{name}/visits", one.person(user), {"context": RAW}, repeat)
    assert answer.status == 200, answer
    assert answer.seconds < WITHIN
    return answer.json()


def until_asked(one, **given):
    """The first visit whose video is the neighbour's. It may have been down until now."""
    return until(one, lambda shown: shown["source"] == "neighbour", **given)


def until(one, question, keys=None, **given):
    """The first visit of which something is true; each has the next one of the keys."""
    end = time.monotonic() + 45
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


def test_words_cross_and_are_received(two):
    """The neighbour tells of a click, twice; home has the word, in the same bytes."""
    shown = until_asked(two.home)
    path = f"/api/vendors/arthouse/guests/{shown['reference']}/reward"
    for _ in range(2):
        answer = two.other.ask(path, two.other.operator, {"clicked": True}, "word-" + "0" * 8)
        assert (answer.status, answer.json()) == (200, {"received": True})


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


def test_a_retry_through_failure_repeats_the_bytes(two):
    """An offer is lost: the retry shows what was shown, and what crossed again is what crossed."""
    two.tap.mode = "corrupt"
    before, used = len(two.tap.posted()), []

    def keys():
        for number in itertools.count():
            used.append(f"retry-{number:08}")
            yield used[-1]

    first = until(two.home, lambda _: len(two.tap.posted()) > before, keys())
    two.tap.mode = "pass"
    assert visit(two.home, repeat=used[-1]) == first
    bodies = [body for _, body in two.tap.posted()[before:]]
    assert len(bodies) == 2
    assert len(set(bodies)) == 1


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
    for secret in (b"0.12345", b"0.98765", b"ann-with", b"ann", key, key.rpartition(b".")[2]):
        assert secret not in everything
    contents: dict[str, set[bytes]] = {}
    for headers, body in two.tap.posted():
        assert set(Forward.decode(body).places) <= {0, 1}
        contents.setdefault(headers["idempotency-key"], set()).add(body)
    assert contents
    assert all(len(bodies) == 1 for bodies in contents.values())


def test_nothing_was_a_fault(two):
    """In all of the tests here neither log has a fault or a 5xx of a visit."""
    visit(two.home)
    log = (two.home.folder / "log.jsonl").read_text() + (two.other.folder / "log.jsonl").read_text()
    assert '"event": "fault"' not in log
    assert '"status": 50' not in log


def _sent(port, data):
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(
        "POST", first.split(" ")[1], body, dict(line.split(": ", 1) for line in lines)
    )
    answer = connection.getresponse()
    result = answer.status, answer.read()
    connection.close()
    return result
