"""A visit at a vendor, from the request to the word of the neighbour that was asked."""

from __future__ import annotations

import asyncio
import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import httpx2
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.testclient import TestClient

from tacit.designs.pdap.features import GRAINS
from tacit.designs.pdap.forwarding import Forwarder
from tacit.designs.pdap.joint import JointLearner
from tacit.designs.pdap.messages import LARGEST_ANSWER, Forward, Offer
from tacit.designs.pdap.serve import visits
from tacit.designs.pdap.serve.recent_tasks import KEPT_SECONDS
from tacit.designs.pdap.serve.served_vendor import ServedVendor
from tacit.designs.pdap.serve.signatures import audience_of, sign
from tacit.designs.pdap.serve.visits import ticket_of
from tacit.errors import ConfigError
from tacit.ledger import Holder
from tacit.randomness import secure
from tacit.service import create_app, open_service
from tacit.service.commits import REQUEST_DEADLINE
from tacit.service.idempotency import reply
from tacit.service.keys import Caller, Role
from tacit.service.problems import LATE, retry_later

RAW = (0.123456789, 0.987654321)


def spent(one, user="ann"):
    return one.service.ledger.balance(Holder.subject("demo", f"vendors/{one.name}/{user}")).spent


def sums(one):
    """Visits learned since the last release, by the sums of the constant feature."""
    desk = one.served.cache.open_state(one.kept())
    return int(desk.vendor.policy.export_state()[1]["exact"][:, :, 0].sum()) // GRAINS


def test_a_visit_is_answered_charged_and_learned_once(pair):
    """An own video; its epsilon is spent before it is shown; the first reward is learned."""
    shown = pair.home.visit().json()
    assert shown["source"] == "own" or shown["vendor"] == "arthouse"
    assert spent(pair.home) >= 1_000_000
    for clicked in (True, True, False):
        answer = pair.home.reward(shown, clicked=clicked)
        assert (answer.status_code, answer.json()) == (200, {"received": True})
    assert sums(pair.home) == 1


@pytest.mark.usefixtures("asking")
def test_a_neighbours_video_is_shown(pair):
    """The offer is the neighbour's; what was paid covers learning, forwarding and watching. The
    visitor's own report teaches home; the neighbour is told nothing."""
    shown = pair.home.visit().json()
    assert (shown["source"], shown["vendor"]) == ("neighbour", "arthouse")
    assert shown["video"].startswith("arthouse-")
    assert spent(pair.home) == 2_100_000
    pair.home.reward(shown)
    assert sums(pair.home) == 1
    assert sums(pair.other) == 0
    assert [path for path, _, _ in pair.home.wire.crossed] == [f"{pair.other.path}/forwards"]


@pytest.mark.usefixtures("asking")
def test_a_retry_repeats_the_answer_and_what_left(pair):
    """Same key, same answer, same bytes to the neighbour, no second charge."""
    first = pair.home.visit(key="the-same-key", at=RAW)
    paid = spent(pair.home)
    second = pair.home.visit(key="the-same-key", at=RAW)
    assert first.content == second.content
    assert second.headers["idempotency-replayed"] == "true"
    assert spent(pair.home) == paid
    forwards = {body for path, body, _ in pair.home.wire.crossed if path.endswith("forwards")}
    assert len(forwards) == 1


@pytest.mark.usefixtures("asking")
def test_a_retry_after_a_lost_offer_keeps_to_what_was_shown(pair):
    """The neighbour failed, an own video was shown: a retry shows it again, though by then the
    neighbour answers."""

    async def broken(_):
        raise httpx2.ConnectError("gone")

    pair.home.wire.answers = broken
    first = pair.home.visit(key="the-same-key")
    pair.home.wire.answers = None
    second = pair.home.visit(key="the-same-key")
    assert first.json()["source"] == "own"
    assert first.content == second.content


@pytest.mark.usefixtures("asking")
def test_a_retry_after_a_crash_sends_the_same_bytes(pair, again, monkeypatch):
    """Home dies between spending and showing: the retry, at a new process, forwards what was paid
    for and pays no more."""

    def dies(*_):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(visits.VisitRequest, "finish", dies)
        assert pair.home.visit(key="the-same-key").status_code == 500
    paid, before = spent(pair.home), pair.home.wire.crossed[-1][1]
    for new in again(pair):
        shown = new.home.visit(key="the-same-key").json()
        assert shown["source"] == "neighbour"
        assert new.home.wire.crossed[-1][1] == before
        assert spent(new.home) == paid


def test_a_key_is_for_one_context(pair):
    """The same key with another context is refused, and nothing is spent."""
    pair.home.visit(key="the-same-key")
    paid = spent(pair.home)
    assert pair.home.visit(key="the-same-key", at=(0.9, 0.9)).status_code == 422
    assert spent(pair.home) == paid


@pytest.fixture
def patient_pair(pairs):
    """Two vendors that learn from many visits of a person."""
    yield from pairs(lifetime=1e4)


@pytest.mark.usefixtures("asking")
def test_what_crosses_names_nobody_and_holds_no_context(patient_pair):
    """Of the visitor there is a randomised cell and a number used once; no name, no feature."""
    pair = patient_pair
    for user in ("ann-with-a-long-name", "bob"):
        for _ in range(3):
            pair.home.visit(user, at=RAW)
    numbers = set()
    for _, body, headers in pair.home.wire.crossed:
        message = Forward.decode(body)
        assert set(message.places) <= {0, 1}
        numbers.add(message.request)
        text = json.dumps(headers) + body.hex()
        for secret in ("ann", "bob", "0.12345", "0.98765", b"ann".hex()):
            assert secret not in text
    assert len(numbers) == 6


def test_a_spent_budget_is_served_and_not_learned(pairs):
    """After her lifetime she gets videos, own ones, and nothing of hers is learned or forwarded."""
    for pair in pairs(lifetime=2.5):
        for _ in range(2):
            pair.home.reward(pair.home.visit().json())
        learned, crossed = sums(pair.home), len(pair.home.wire.crossed)
        for _ in range(3):
            shown = pair.home.visit()
            assert shown.status_code == 200
            assert shown.json()["source"] == "own"
            assert pair.home.reward(shown.json()).status_code == 200
        assert sums(pair.home) == learned
        assert len(pair.home.wire.crossed) == crossed
        assert spent(pair.home) <= 2_500_000


@pytest.mark.usefixtures("asking")
def test_what_was_paid_for_is_shown(pair):
    """Who changed for free as much as she may is still shown what her visit was charged for."""
    for _ in range(pair.home.service.settings.changes_per_day):
        pair.home.service.free_changes.take("ann")
    shown = pair.home.visit()
    assert (shown.status_code, shown.json()["source"]) == (200, "neighbour")
    assert pair.home.reward(shown.json()).status_code == 429


def crossed(pair, messages):
    """What left home, once it is so many messages: of an own video nobody waits for the call."""
    end = time.monotonic() + 300  # ends a test that hangs
    while len(pair.home.wire.crossed) < messages and time.monotonic() < end:
        time.sleep(0.01)
    bodies = [body for _, body, _ in pair.home.wire.crossed]
    assert len(bodies) == messages
    return bodies


def test_every_visit_asks_whatever_its_context_and_whatever_is_shown(patient_pair, ready):
    """One message to the neighbour for each visit, own videos among what is shown, and one charge:
    neither that a request is made nor what it costs follows from the context."""
    pair = patient_pair
    sources, paid = set(), []
    while len(paid) < 40 or (len(sources) < 2 and len(paid) < 400):  # each shows a tenth or more
        shown = pair.home.visit(at=(0.1, 0.1) if len(paid) % 2 else (0.9, 0.9)).json()
        sources.add(shown["source"])
        paid.append(spent(pair.home))
        pair.home.reward(shown, clicked=shown["source"] == "own")
    assert sources == {"own", "neighbour"}
    assert paid == [2_100_000 * (number + 1) for number in range(len(paid))]
    assert len(set(crossed(pair, len(paid)))) == len(paid)


@pytest.fixture
def choosing(ready, monkeypatch):
    """`choosing("own")` or `choosing("neighbours")`: visits choose among these arms alone."""
    choose = JointLearner.select

    def choose_among(arms):
        monkeypatch.setattr(
            JointLearner,
            "select",
            lambda self, context, _=None: choose(self, context, list(getattr(self, arms))),
        )

    return choose_among


@pytest.mark.parametrize(("arms", "source"), [("own", "own"), ("neighbours", "neighbour")])
def test_retries_of_a_visit_send_nothing_again(pair, choosing, arms, source):
    """Twenty repeats of a visit that was charged once use up nothing at the neighbour, and tell it
    nothing."""
    choosing(arms)
    answers = [pair.home.visit(key="the-same-key") for _ in range(20)]
    assert answers[0].json()["source"] == source
    assert {answer.content for answer in answers} == {answers[0].content}
    assert answers[-1].headers["idempotency-replayed"] == "true"
    assert spent(pair.home) == 2_100_000
    pair.home.visit("bob")
    crossed(pair, 2)


def test_a_retry_joins_the_call_that_runs(pair, choosing):
    """A visitor who waits for a slow neighbour and repeats the request gets the same answer, and
    the neighbour sees one message, as it does of visits that show an own video."""
    choosing("neighbours")
    held = Event()

    async def slow(_):
        await asyncio.to_thread(held.wait)

    pair.home.wire.answers = slow
    with ThreadPoolExecutor(2) as pool:
        coming = [pool.submit(pair.home.visit, "ann", "the-same-key") for _ in range(2)]
        crossed(pair, 1)
        time.sleep(0.2)  # both wait
        held.set()
        first, second = (answer.result() for answer in coming)
    assert first.content == second.content
    assert len(crossed(pair, 1)) == 1


@pytest.mark.parametrize("arms", ["own", "neighbours"])
def test_nothing_is_sent_for_a_visit_of_long_ago(pair, choosing, again, monkeypatch, arms):
    """A process that did not send it sends it while the visit is young, and never afterwards."""
    choosing(arms)

    def dies(*_):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(visits.VisitRequest, "_ask", dies)
        assert pair.home.visit(key="the-same-key").status_code == 500
    long_after = time.time() + KEPT_SECONDS + 2
    for new in again(pair):
        monkeypatch.setattr(visits.time, "time", lambda: long_after)
        shown = new.home.visit(key="the-same-key")
        assert (shown.status_code, shown.json()["source"]) == (200, "own")
        time.sleep(0.2)
        assert new.home.wire.crossed == []


def entries_of_visits(one, entries):
    """The log's entries of visits, once there are so many: the last ones come after the answers."""
    end = time.monotonic() + 300  # ends a test that hangs
    found = []
    while len(found) < entries and time.monotonic() < end:
        time.sleep(0.02)
        bodies = [json.loads(row["body"]) for row in one.service.ledger.entries(0, 1000)]
        found = [body for body in bodies if "/visits" in body.get("operation", "")]
    assert len(found) == entries
    return found


def test_the_log_does_not_tell_at_which_visits_a_neighbour_was_chosen(patient_pair, choosing):
    """The log names the person and may be given to others: at every visit it holds two entries of
    the same form, one with the charge, and both with a new state."""
    home = patient_pair.home
    people = {"own": "ann", "neighbours": "bob"}
    for arms, person in people.items():
        choosing(arms)
        for _ in range(3):
            assert home.visit(person).json()["source"] == arms.removesuffix("s")
    forms = {person: [] for person in people.values()}
    for body in entries_of_visits(home, 12):
        form = (body["operation"], len(body["charges"]), sorted(body), body["state"][0])
        forms[body["subject"]].append(form)
    assert len(forms["ann"]) == 6
    assert sorted(forms["ann"]) == sorted(forms["bob"])


@pytest.mark.parametrize("arms", ["own", "neighbours"])
def test_step_3_has_no_deadline_whatever_was_chosen(pair, choosing, monkeypatch, arms):
    """Otherwise a busy service would store it for own videos, and not for neighbours' ones."""
    choosing(arms)
    deadlines, tasks = [], []
    finish = visits.VisitRequest.finish

    async def finish_and_note(*given):
        deadlines.append(REQUEST_DEADLINE.get())
        tasks.append(asyncio.current_task())
        return await finish(*given)

    monkeypatch.setattr(visits.VisitRequest, "finish", finish_and_note)
    assert pair.home.visit(key="the-same-key").status_code == 200
    entries_of_visits(pair.home, 2)
    assert deadlines == [math.inf]
    assert tasks == [pair.home.served.last_steps.find(("ann", "the-same-key"))]


@pytest.mark.parametrize("arms", ["own", "neighbours"])
def test_a_retry_tries_a_step_3_that_failed_again(pair, choosing, monkeypatch, arms):
    """At once, and not only when a minute is over: the log then has its second entry."""
    choosing(arms)
    tried = []

    async def fails(*_):
        tried.append(True)
        raise retry_later(LATE)

    with monkeypatch.context() as patch:
        patch.setattr(visits.VisitRequest, "finish", fails)
        first = pair.home.visit(key="the-same-key")
        assert first.status_code == (200 if arms == "own" else 503)
        end = time.monotonic() + 300  # ends a test that hangs
        while pair.home.served.last_steps.find(("ann", "the-same-key")) is not None or not tried:
            assert time.monotonic() < end
            time.sleep(0.01)
    entries_of_visits(pair.home, 1)
    second = pair.home.visit(key="the-same-key")
    assert (second.status_code, second.json()["source"]) == (200, arms.removesuffix("s"))
    entries_of_visits(pair.home, 2)
    crossed(pair, 1)


@pytest.mark.parametrize("arms", ["own", "neighbours"])
def test_nothing_is_sent_for_a_visit_without_a_time(pair, choosing, again, monkeypatch, arms):
    """Step 1 was stored by an earlier tacit, which did not store when the visit began."""
    choosing(arms)

    def dies(*_):
        raise RuntimeError

    def reply_without_time(content, status=200):
        content.pop("began", None)
        return reply(content, status)

    with monkeypatch.context() as patch:
        patch.setattr(visits, "reply", reply_without_time)
        patch.setattr(visits.VisitRequest, "_ask", dies)
        assert pair.home.visit(key="the-same-key").status_code == 500
    for new in again(pair):
        shown = new.home.visit(key="the-same-key")
        assert (shown.status_code, shown.json()["source"]) == (200, "own")
        time.sleep(0.2)
        assert new.home.wire.crossed == []


def test_no_call_is_made_or_remembered_without_time_for_it(pair):
    """A retry that has time makes the call; one that has none gets what was called before."""
    calls = pair.home.served.reach.calls
    peer = pair.home.served.neighbours["arthouse"]
    forward = Forward(bytes(16), 0, 1, ()).encode()
    made = []

    async def answer(request):
        made.append(request)
        raise httpx2.ConnectError("gone")

    async def run():
        pair.home.wire.answers = answer
        for seconds in (0.0, 1e-6):
            assert calls.ask(peer, forward, seconds=seconds) is None
        call = calls.ask(peer, forward)
        await asyncio.wait([call])
        assert calls.ask(peer, forward, seconds=0.0) is call

    asyncio.run(run())
    assert len(made) == 1


def test_a_call_is_not_cut_short_when_its_visitor_leaves(pair):
    """A visitor who hangs up does not end the call: the neighbour would see whose offer counted."""
    calls = pair.home.served.reach.calls
    peer = pair.home.served.neighbours["arthouse"]
    done = []

    async def run():
        going = asyncio.Event()

        async def slow(_):
            going.set()
            await asyncio.sleep(0)
            done.append(True)
            raise httpx2.ConnectError("gone")

        pair.home.wire.answers = slow
        call = calls.ask(peer, Forward(bytes(16), 0, 1, ()).encode())
        visitor = asyncio.create_task(_shielded(call))
        await going.wait()
        visitor.cancel()
        await asyncio.wait([call])

    async def _shielded(call):
        return await asyncio.shield(call)

    asyncio.run(run())
    assert done == [True]


def test_anothers_visit_is_nothing(pair):
    """A visit is rewarded by the one who made it."""
    shown = pair.home.visit("ann").json()
    assert pair.home.reward(shown, "bob").status_code == 404
    other = format(int(shown["visit"][-1], 16) ^ 1, "x")
    for forged in (shown["visit"][:-1] + other, "0" * 96):
        assert pair.home.reward({"visit": forged}).status_code == 404


def test_a_visits_name_tells_nothing(pair):
    """It is stored for as long as the ledger is: the same context twice has nothing in common."""
    first, second = (bytes.fromhex(pair.home.visit().json()["visit"]) for _ in range(2))
    assert len(first) == len(second) == 16 + 24 + 2 * 2  # tag, numbers, and two features
    shared = sum((one ^ other).bit_count() for one, other in zip(first, second, strict=True))
    assert 100 < shared < 284  # of 384 bits; fair coins leave these bounds once in 10^20


def test_budgets_larger_than_the_card_says_are_refused(pairs):
    """A lifetime that was lowered is untrue of whoever came before: the service does not start."""
    for pair in pairs(lifetime=5.0):
        pair.home.visit()
        path = pair.home.service.settings.folder / "tacit.toml"
        told = path.read_text()
        pair.home.service.close()
        path.write_text(told.replace("lifetime = 5.0", "lifetime = 3.0"))
        with pytest.raises(ConfigError, match="a budget is for life"):
            open_service(pair.home.service.settings)
        path.write_text(told)
        open_service(pair.home.service.settings).close()


@pytest.mark.usefixtures("asking")
def test_visits_that_wait_for_a_neighbour_leave_others_their_place(pair):
    """All places of a service may wait for a slow neighbour, and it still answers."""
    settings = replace(pair.home.service.settings, threads=1)
    pair.home.service.close()
    app = create_app(open_service(settings))
    held = Event()

    async def slow(request):
        await asyncio.to_thread(held.wait)

    pair.home.wire.answers = slow
    with TestClient(app, base_url="http://localhost") as client:
        calls = app.state.service.deployment.find_all(ServedVendor)[pair.home.name].reach.calls
        calls.transports[pair.other.name] = pair.home.wire
        one = replace(pair.home, app=app, client=client, service=app.state.service)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(one.visit)
            while not pair.home.wire.crossed:
                time.sleep(0.01)
            assert client.get("/api/vendors").status_code == 200
            assert not waiting.done()
            held.set()
            assert waiting.result().status_code == 200


@pytest.mark.usefixtures("asking")
def test_state_outlives_the_process(pair, again):
    """What one learned, the next goes on from; a visit of the one is rewarded at the next."""
    shown = pair.home.visit().json()
    for new in again(pair):
        assert new.home.reward(shown).status_code == 200
        assert sums(new.home) == 1
        assert new.home.visit("bob").status_code == 200
        bob = Caller("demo", Role.SUBJECT, "bob")
        third = new.home.visit("bob").json()["visit"]
        assert ticket_of(new.home.service, new.home.served, bob, third).number == 3


def test_contexts_of_another_length_are_refused_before_anything(one_pair):
    """Nothing is spent, and the answer does not repeat what was sent."""
    answer = one_pair.home.visit(at=(0.123456, 0.5, 0.5))
    assert answer.status_code == 422
    assert "0.123456" not in answer.text
    for bad in ([2.0, 0.1], [], [True, 0.5], ["0.5", 0.5], [0.5] * 17):
        assert one_pair.home.post("ann", "/visits", json={"context": bad}).status_code == 422


def test_everybody_may_know_the_vendors_and_nobody_their_videos(one_pair):
    """The list has names and numbers of what is promised."""
    answer = one_pair.home.client.get("/api/vendors")
    (one,) = answer.json()["vendors"]
    assert (one["name"], one["neighbours"], one["features"]) == ("cinema", ["arthouse"], 2)
    assert "cinema-1" not in answer.text


def _answer(pair, request, body, **changed):
    headers = sign(
        pair.other.served.reach.calls.key,
        **{
            "sender": "arthouse",
            "audience": pair.home.served.reach.calls.audience,
            "status": 200,
            "body": body,
            "nonce": request.headers["idempotency-key"],
            "now": time.time(),
            **changed,
        },
    )
    return {"content-type": "application/octet-stream", **headers}


def _offer(request):
    return Offer(Forward.decode(request.content).request, "arthouse-1").encode()


async def _whole(body):
    yield body


async def _drip():
    while True:
        yield b"x"
        await asyncio.sleep(0.05)


async def _flood():
    for _ in range(10_000):
        yield bytes(1 << 20)


def _redirect(pair, request):
    return httpx2.Response(307, headers={"location": "http://127.0.0.1:1/x"})


def _unsigned(pair, request):
    return httpx2.Response(
        200, headers={"content-type": "application/octet-stream"}, content=_whole(_offer(request))
    )


def _by_another(pair, request):
    body = _offer(request)
    return httpx2.Response(
        200, headers=_answer(pair, request, body, sender="cinema"), content=_whole(body)
    )


def _for_another(pair, request):
    body = _offer(request)
    headers = _answer(pair, request, body, nonce="0" * 32)
    return httpx2.Response(200, headers=headers, content=_whole(body))


def _for_another_asker(pair, request):
    body, someone = _offer(request), Ed25519PrivateKey.generate().public_key()
    headers = _answer(pair, request, body, audience=audience_of("cinema", someone))
    return httpx2.Response(200, headers=headers, content=_whole(body))


def _wrong_type(pair, request):
    body = _offer(request)
    headers = {**_answer(pair, request, body), "content-type": "text/html"}
    return httpx2.Response(200, headers=headers, content=_whole(body))


def _packed(pair, request):
    body = _offer(request)
    headers = {**_answer(pair, request, body), "content-encoding": "gzip"}
    return httpx2.Response(200, headers=headers, content=_whole(body))


def _rubbish(pair, request):
    return httpx2.Response(200, headers=_answer(pair, request, b"?"), content=_whole(b"?"))


def _ugly(pair, request):
    body = Offer(Forward.decode(request.content).request, "a\u202eb\u0000").encode()
    return httpx2.Response(200, headers=_answer(pair, request, body), content=_whole(body))


def _slow(pair, request):
    headers = {"content-type": "application/octet-stream"}
    return httpx2.Response(200, headers=headers, content=_drip())


def _huge(pair, request):
    headers = {"content-type": "application/octet-stream"}
    return httpx2.Response(200, headers=headers, content=_flood())


def _long(pair, request):
    body = _offer(request)
    body += bytes(LARGEST_ANSWER + 1 - len(body))
    return httpx2.Response(200, headers=_answer(pair, request, body), content=_whole(body))


def _fault(pair, request):
    return httpx2.Response(500)


KINDS = [_redirect, _unsigned, _by_another, _for_another, _for_another_asker, _wrong_type, _packed]
KINDS += [_rubbish, _ugly, _long]


@pytest.mark.usefixtures("asking")
@pytest.mark.parametrize("kind", [*KINDS, _slow, _huge, _fault])
def test_whatever_a_neighbour_answers_home_shows_something(one_pair, kind):
    """Redirects, missing and wrong signatures, other types, compression, rubbish, names with
    control signs, drips and floods without end, and faults cost the visit an own video."""

    async def answers(request):
        return kind(one_pair, request)

    one_pair.home.wire.answers = answers
    answer = one_pair.home.visit()
    assert answer.status_code == 200
    assert answer.json()["source"] == "own"
    assert one_pair.home.wire.crossed
    assert one_pair.home.reward(answer.json()).status_code == 200


def message(pair, *, sender="cinema", key=None, path="/forwards", **changed):
    """A Forward from cinema to arthouse, as cinema sends it, or changed."""
    agreement = pair.home.served.settings.agreement
    forward = Forwarder(agreement, randomness=secure()).forward([0.2, 0.7])
    sent = {
        "sender": sender,
        "audience": pair.other.served.reach.calls.audience,
        "path": pair.other.path + path,
        "body": forward.encode(),
        "nonce": forward.request.hex(),
        "now": time.time(),
        **changed,
    }
    headers = sign(key or pair.home.served.reach.calls.key, **sent)
    return sent["body"], headers


def send(pair, body, headers, bearer=None, path="/forwards"):
    bearer = bearer or pair.home.served.neighbours["arthouse"].api_key
    return pair.other.client.post(
        pair.other.path + path,
        content=body,
        headers={"authorization": f"Bearer {bearer}", **headers},
    )


def test_a_message_counts_once(pair, again):
    """Sent again, now or after a restart, it gets the same answer; nothing is kept of a guest."""
    body, headers = message(pair)
    first = send(pair, body, headers)
    assert first.status_code == 200
    kept = pair.other.kept()
    assert send(pair, body, headers).content == first.content
    assert send(pair, *message(pair)).status_code == 200
    assert pair.other.kept() == kept
    for new in again(pair):
        assert send(new, body, headers).content == first.content


def test_messages_that_are_not_for_here_are_refused(pair):
    """Another audience, path, digest, key, time, or an API key of somebody else: 401, 403."""
    now = time.time()
    refused = [
        message(pair, audience=pair.home.served.reach.calls.audience),
        message(pair, path="/rewards"),
        message(pair, key=pair.other.served.reach.calls.key),
        message(pair, sender="arthouse"),
        message(pair, now=now - 600),
        message(pair, now=now + 600),
    ]
    body, headers = message(pair)
    refused += [(body + b"\x00", headers), (body, {**headers, "idempotency-key": "f" * 32})]
    for sent in refused:
        assert send(pair, *sent).status_code == 401
    assert send(pair, *message(pair), bearer=pair.other.keys["operator"]).status_code == 403
    assert send(pair, *message(pair, nonce="f" * 32)).status_code == 422
    assert pair.other.kept() is None


def test_a_number_is_used_for_one_message(pair):
    """Other content under a number that was used is refused."""
    body, headers = message(pair)
    send(pair, body, headers)
    changed = bytearray(body)
    changed[-1] ^= 1
    nonce = Forward.decode(body).request.hex()
    again = message(pair, body=bytes(changed), nonce=nonce)
    assert send(pair, *again).status_code == 422


@pytest.mark.usefixtures("asking")
def test_a_guest_is_never_passed_on(one_pair):
    """One hop: a vendor that is asked asks nobody, whatever its learner would rather do."""
    body, headers = message(one_pair)
    assert send(one_pair, body, headers).status_code == 200
    assert one_pair.other.wire.crossed == []


def test_the_card_says_what_is_forwarded(one_pair):
    """Home, forwarded contexts, and what is learned of neighbours. Every visit is forwarded."""
    _, *cards = one_pair.home.served.guarantees()
    assert [card.epsilon is not None for card in cards] == [True] * 3
    assert "whatever is shown" in cards[1].sentence
    assert not any("a request was made" in line for line in cards[1].not_covered)
    assert cards[0].lifetime_epsilon == pytest.approx(5.0)


def test_a_visit_costs_one_number_everywhere(one_pair):
    """The first card, what the service says of the vendor, and the charge agree."""
    home = one_pair.home.served
    (charge,) = home.charges("ann", asks=True)
    together = home.guarantees()[0]
    assert together.epsilon == home.describe()["epsilon"] == charge.cost.amount / 10**6
    parts = [card.epsilon for card in home.guarantees()[1:]]
    assert len(parts) == 3
    assert together.epsilon == pytest.approx(sum(parts), abs=1e-5)
