"""Rounds over HTTP, and their steps held against the library called directly."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from starlette.testclient import TestClient

from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.serve.rounds import ServedRounds
from tacit.designs.prec.serve.steps import RoundsState, RoundSteps
from tacit.errors import ConfigError
from tacit.ledger import Holder
from tacit.randomness import replay, secure, simulation
from tacit.service import Settings, create_app, open_service
from tacit.service.idempotency import remove_salt
from tacit.service.keys import Role, add_key
from tacit.service.served_things import Section

FILMS = "/api/rounds/films"
LONG = "t" * 64
SETTINGS = {"rounds": 4, "objects": 3, "voters": 60, "epsilon": 40.0, "delta": 1e-3, "clients": 5}


@pytest.fixture
def shop(demo, folder, shops):
    """An application that does not mind how long a busy machine takes."""
    with shops(demo, folder) as opened:
        yield opened


@pytest.fixture
def small(shop) -> ServedRounds:
    """The demonstration's run, with few voters and clients, before it began."""
    served = shop.service.deployment.find_all(ServedRounds)["films"]
    object.__setattr__(served, "settings", PRecSettings(**SETTINGS))
    served.__dict__.pop("steps", None)
    return served


def post(shop, name: str, what: str, **given):
    """With this person's key."""
    headers = {"authorization": f"Bearer {shop.service.keys.person_key(name)}"}
    return shop.post(None, f"{FILMS}/{what}", headers=headers, **given)


def kept(shop) -> RoundsState:
    return RoundsState.decode(remove_salt(shop.service.ledger.state("demo/rounds/films")))


def begun(shop, votes: dict[str, int] | None = None) -> None:
    """A first round of 1, 2 and 3."""
    votes = {f"v{n}": 1 + n % 3 for n in range(30)} if votes is None else votes
    answer = shop.post("operator", f"{FILMS}/open", json={"candidates": [1, 2, 3], "votes": votes})
    assert answer.status_code == 200, answer.text


def test_the_demonstration(shop):
    """Rounds that came with the deployment are opened in their order, and people are served."""
    (before,) = shop.get(None, "/api/rounds").json()["rounds"]
    assert before["round"] == 0
    for number in range(1, before["rounds"] + 1):
        opened = shop.post("operator", f"{FILMS}/open", json={}).json()
        assert opened["round"] == number
        given = shop.post("subject", f"{FILMS}/recommendations").json()
        assert given["item"] in opened["candidates"]
        assert shop.post("subject", f"{FILMS}/feedback", json={"liked": True}).status_code == 200
    assert shop.post("operator", f"{FILMS}/open", json={}).status_code == 409
    (after,) = shop.get(None, "/api/rounds").json()["rounds"]
    assert after["round"] == before["rounds"]


def test_people_vote(shop, small):
    """Votes of an announced round are those that it opens with; the last of each person counts."""
    assert post(shop, "ann", "votes", json={"candidate": 7}).status_code == 409
    announced = shop.post("operator", f"{FILMS}/announce", json={"candidates": [7, 8]})
    assert announced.json() == {"round": 1, "announced": [7, 8]}
    for candidate in (7, 8):
        assert post(shop, "ann", "votes", json={"candidate": candidate}).status_code == 200
    assert post(shop, "bob", "votes", json={"candidate": 9}).status_code == 422
    assert post(shop, "bob", "votes", json={"candidate": "7"}).status_code == 422
    assert kept(shop).votes == {"ann": 8}
    opened = shop.post("operator", f"{FILMS}/open", json={"votes": {"ann": 7, "carl": 7}})
    assert opened.json() == {"round": 1, "candidates": [7, 8]}
    run = PRec.from_bytes(kept(shop).run, settings=small.settings, randomness=secure())
    assert run.candidates == (7, 8)
    numbers = kept(shop).numbers(["ann", "carl"])
    assert run.votes() == {numbers["carl"]: 7, numbers["ann"]: 8}  # her own vote goes first


def test_a_vote_is_in_no_answer(shop, small):
    """Whatever somebody votes, the answer is the same: answers are kept for ever."""
    shop.post("operator", f"{FILMS}/announce", json={"candidates": [7, 8]})
    answers = {post(shop, "ann", "votes", json={"candidate": one}).content for one in (7, 8)}
    assert len(answers) == 1


def test_the_log_cannot_be_tried_against_votes(shop, small):
    """The same vote again makes another state: no hash in the log fits a guess."""
    shop.post("operator", f"{FILMS}/announce", json={"candidates": [7, 8]})
    states = set()
    for _ in range(3):
        post(shop, "ann", "votes", json={"candidate": 7})
        states.add(shop.service.ledger.state("demo/rounds/films"))
    assert len(states) == 3


def test_one_round_after_the_other(shop, small):
    """Nothing is given before a round is open, and feedback is given once, after it."""
    assert post(shop, "ann", "recommendations").status_code == 409
    assert post(shop, "ann", "feedback", json={"liked": True}).status_code == 409
    begun(shop)
    early = post(shop, "ann", "feedback", json={"liked": True})
    assert (early.status_code, "after its recommendation" in early.json()["detail"]) == (409, True)
    first = post(shop, "ann", "recommendations").json()
    assert post(shop, "ann", "recommendations").json() == first
    assert post(shop, "ann", "feedback", json={"liked": False}).status_code == 200
    assert post(shop, "ann", "feedback", json={"liked": True}).status_code == 409


def test_the_run_is_charged_once(shop):
    """All clients' views together are charged when the run begins, and never again."""
    served = shop.service.deployment.find_all(ServedRounds)["films"]
    holder = Holder.dataset("demo", "rounds-films")
    assert shop.service.ledger.balance(holder).spent == 0
    for _ in range(2):
        assert shop.post("operator", f"{FILMS}/open", json={}).status_code == 200
    post(shop, "ann", "recommendations")
    balance = shop.service.ledger.balance(holder)
    card = served.guarantees()[-1]
    assert balance.spent == balance.cap.amount == math.ceil(card.lifetime_epsilon * 10**6)
    assert balance.delta_spent >= card.lifetime_delta * 10**18 * (1 - 1e-12)


def test_a_run_with_other_settings(shop, small):
    """A run that began is not gone on with under other settings."""
    begun(shop)
    object.__setattr__(small, "settings", PRecSettings(**{**SETTINGS, "rounds": 5}))
    small.__dict__.pop("steps")
    assert shop.post("operator", f"{FILMS}/open", json={"candidates": [1]}).status_code == 409


def test_a_retry(shop, small):
    """A retry of each operation gives the same bytes and changes nothing."""
    begun(shop)
    for what, content in (("recommendations", {}), ("feedback", {"json": {"liked": True}})):
        answers = [post(shop, "ann", what, key="a-retried-key", **content) for _ in range(2)]
        assert answers[0].content == answers[1].content
        assert answers[1].headers["idempotency-replayed"] == "true"
    body = {"candidates": [4, 5], "votes": {}}
    for _ in range(2):
        shop.post("operator", f"{FILMS}/open", json=body, key="opened-once")
    assert kept(shop).number == 2


def test_a_refused_step_changes_nothing(shop, small):
    """The kept run is the same bytes before and after every refusal."""
    begun(shop)
    post(shop, "ann", "recommendations")
    before = shop.service.ledger.state("demo/rounds/films")
    for what, content in (
        ("votes", {"candidate": 1}),
        ("votes", {"candidate": True}),
        ("feedback", {"liked": 1}),
        ("feedback", {"liked": None}),
        ("feedback", {}),
    ):
        assert post(shop, "ann", what, json=content).status_code in (409, 422)
    assert post(shop, "bob", "feedback", json={"liked": True}).status_code == 409
    for content in (
        {"candidates": [1, 2, 3, 4]},
        {"candidates": [1, 1]},
        {"candidates": [1, "1"]},
        {"candidates": []},
        {"candidates": [1], "votes": {"ann": 2}},
        {"candidates": [1], "votes": {"Ann!": 1}},
        {"candidates": [1.5]},
        {"candidates": None},
        {"candidates": [1], "votes": {f"w{n}": 1 for n in range(61)}},
    ):
        answer = shop.post("operator", f"{FILMS}/open", json=content)
        assert answer.status_code in (409, 422), (content, answer.text)
    assert shop.service.ledger.state("demo/rounds/films") == before


def test_as_many_clients_as_paid_for(shop, small):
    """Beyond the number of clients that is paid for nobody is served, and those before her are."""
    begun(shop)
    for number in range(small.settings.clients):
        assert post(shop, f"c{number}", "recommendations").status_code == 200
    late = post(shop, "late", "recommendations")
    assert late.status_code == 409
    assert "the run has as many clients as it may have" in late.json()["detail"]
    assert "no more" not in late.json()["detail"]  # she had none
    assert post(shop, "c0", "recommendations").status_code == 200


def test_as_many_rounds_as_paid_for(shop, small):
    """A client has as many recommendations as the guarantee is computed for."""
    begun(shop)
    for _ in range(small.settings.rounds - 1):
        assert post(shop, "ann", "recommendations").status_code == 200
        begun(shop)
    assert post(shop, "ann", "recommendations").status_code == 200
    begun(shop)
    assert post(shop, "ann", "recommendations").status_code == 409


def test_as_many_voters_as_stated(shop, small):
    """At the stated number of voters nobody new votes, and those who voted may go on."""
    begun(shop, {f"v{n}": 1 for n in range(59)})
    shop.post("operator", f"{FILMS}/announce", json={"candidates": [1, 2]})
    assert post(shop, "ann", "votes", json={"candidate": 1}).status_code == 200
    assert post(shop, "bob", "votes", json={"candidate": 1}).status_code == 409
    assert post(shop, "v3", "votes", json={"candidate": 1}).status_code == 200


def test_refusals_do_not_tell_votes(shop, small):
    """Whoever votes what, the same requests are refused with the same bytes."""
    told = []
    for way in (1, 2):
        steps = RoundSteps(small.settings)
        state = steps.begin(secure())
        votes = {f"v{n}": way for n in range(30)}
        _, state = steps.open_next([1, 2], votes, secure(), state)
        _, state = steps.announce([3, 4], secure(), state)
        refused = [
            steps.vote("ann", 9, secure(), state)[0],
            steps.announce([5], secure(), state)[0],
            steps.open_next([5], {}, secure(), state)[0],
            steps.feedback("ann", True, secure(), state)[0],
        ]
        told.append([answer.encode() for answer in refused])
        assert all(answer.status >= 400 for answer in refused)
    assert told[0] == told[1]


def test_a_run_that_has_not_begun(small):
    """Announcing and opening need no open round: they say that the run has not begun."""
    steps = RoundSteps(small.settings)
    announced, _ = steps.announce([1, 2], secure(), None)
    opened, _ = steps.open_next([1, 2], {}, secure(), None)
    for answer in (announced, opened):
        assert (answer.status, b"has not begun" in answer.body) == (409, True)
    recommended, _ = steps.recommend("ann", secure(), None)
    assert b"No round is open" in recommended.body


def test_what_is_never_shown(shop, small):
    """Neither counts of votes nor survivors nor credit are in any answer or in the document."""
    begun(shop)
    post(shop, "ann", "recommendations")
    said = shop.get(None, "/api/rounds").text + shop.get(None, "/api/openapi.json").text
    for secret in ("survivors", "credit_left", "threshold"):
        assert secret not in said
    assert "v29" not in shop.get(None, "/api/rounds").text


@pytest.mark.parametrize("epsilon", [math.inf, 40.0])
def test_the_law_is_the_librarys(epsilon):
    """With the same random words, and the gate out of play, the steps recommend what PRec does."""
    settings = PRecSettings(**{**SETTINGS, "epsilon": epsilon})
    votes = [{f"v{n:02}": 1 + (n * t) % 3 for n in range(45)} for t in range(1, 5)]
    with simulation():
        ours, theirs = replay("rounds"), replay("rounds")
        steps, run = RoundSteps(settings), PRec(settings, randomness=theirs)
        state = steps.begin(ours)
        theirs.words(4)  # the key of the numbers
        numbers = RoundsState.decode(state).numbers(votes[0])
        for number, cast in enumerate(votes):
            _, state = steps.open_next([1, 2, 3], cast, ours, state)
            run.open_round([1, 2, 3], {numbers[name]: chosen for name, chosen in cast.items()})
            for client in ("ann", "bob"):
                answer, state = steps.recommend(client, ours, state)
                assert json.loads(answer.body)["item"] == run.recommend(client)
                if number % 2:
                    _, state = steps.feedback(client, number == 1, ours, state)
                    run.feedback(client, number == 1)
        ended = PRec.from_bytes(RoundsState.decode(state).run, settings=settings, randomness=ours)
        assert ended.survivors("ann") == run.survivors("ann")
        assert ended.counts("bob").tolist() == run.counts("bob").tolist()


def test_an_undone_step_leaves_the_run(shop, small, monkeypatch):
    """If the transaction fails after the draw, nothing is kept, and the retry is answered."""
    begun(shop)
    before = shop.service.ledger.state("demo/rounds/films")
    ledger = type(shop.service.ledger)
    real = ledger.release_all

    def failing(self, asked):
        def drawn(draw, source, state):
            draw(source, state)
            raise RuntimeError

        return real(self, [replace(one, draw=partial(drawn, one.draw)) for one in asked])

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "release_all", failing)
        assert post(shop, "ann", "recommendations").status_code == 409
    assert shop.service.ledger.state("demo/rounds/films") == before
    assert post(shop, "ann", "recommendations").status_code == 200


def test_several_at_once(shop, small):
    """Sixteen threads vote for 40 people, and no vote is lost."""
    shop.post("operator", f"{FILMS}/announce", json={"candidates": [1, 2]})
    with ThreadPoolExecutor(16) as threads:
        jobs = [
            threads.submit(post, shop, f"p{n}", "votes", json={"candidate": 1 + n % 2})
            for n in range(40)
        ]
        assert {job.result().status_code for job in jobs} == {200}
    assert kept(shop).votes == {f"p{n}": 1 + n % 2 for n in range(40)}


def test_forgetting_a_voter(shop, small):
    """Nothing of her is left but that she took part: no vote, no seat, no recommendation."""
    shop.post("operator", f"{FILMS}/announce", json={"candidates": [1, 2]})
    post(shop, "ann", "votes", json={"candidate": 1})
    others = {f"v{n}": 2 for n in range(30)}
    shop.post("operator", f"{FILMS}/open", json={"votes": others})
    post(shop, "ann", "recommendations")
    shop.post("operator", f"{FILMS}/announce", json={"candidates": [1, 2]})
    post(shop, "ann", "votes", json={"candidate": 2})
    assert shop.delete("subject", "/api/users/ann").status_code == 200
    now = kept(shop)
    assert (now.votes, "ann" in now.voters, now.gone) == ({}, False, {"ann"})
    run = PRec.from_bytes(now.run, settings=small.settings, randomness=secure())
    assert "ann" not in run.clients
    run.join("new")
    # She still counts in the round that was open, but has no name in it
    assert run.credit_left("new") == 31 * small.settings.credit
    assert run.survivors("new") == {*kept(shop).numbers(others).values()}
    assert post(shop, "ann", "votes", json={"candidate": 1}).status_code == 409
    assert post(shop, "ann", "recommendations").status_code == 409
    assert post(shop, "bob", "recommendations").status_code == 200
    assert shop.post("operator", f"{FILMS}/open", json={}).status_code == 200
    run = PRec.from_bytes(kept(shop).run, settings=small.settings, randomness=secure())
    run.join("new")
    assert len(run.survivors("new")) == 30


def test_forgotten_votes_of_later_given_rounds_are_not_counted() -> None:
    """Somebody whose first vote is in a later round of the file has none there once forgotten."""
    first_votes = {f"v{n}": 1 + n % 2 for n in range(30)}
    later_votes = {f"v{n}": 3 + n % 2 for n in range(30)} | {"late": 4}
    steps = RoundSteps(PRecSettings(**SETTINGS), (((1, 2), first_votes), ((3, 4), later_votes)))
    source = secure()
    _, state = steps.open_next(None, {}, source, steps.begin(source))
    state = steps.forget_person("late", source, state)
    answer, state = steps.open_next(None, {}, source, state)
    stored = RoundsState.decode(state)
    assert answer.status == 200
    assert stored.number == 2
    assert "late" not in stored.voters
    run = PRec.from_bytes(stored.run, settings=steps.settings, randomness=secure())
    assert len(run.votes()) == 30


def test_only_those_who_took_part_or_will_vote_stay_named() -> None:
    """The name of a forgotten person is kept for votes, votes to come, or recommendations."""
    skipped_votes = {"skipped": 1}
    steps = RoundSteps(PRecSettings(**SETTINGS), (((1, 2), skipped_votes), ((3, 4), {"late": 4})))
    source = secure()
    _, state = steps.open_next((7, 8), {"voter": 7}, source, steps.begin(source))
    _, state = steps.recommend("client", source, state)
    names = ("skipped", "late", "voter", "client", "stranger")
    for name in names:
        state = steps.forget_person(name, source, state)
    assert RoundsState.decode(state).gone == {"late", "voter"}
    assert [name for name in names if name.encode() in state] == ["late", "voter", "client"]


def test_a_receipt_says_whose_name_stays(small):
    """Not that everyone took part: the receipt is the same for those who did not."""
    (personal,) = small.personal_states("ann")
    assert "still stored if you voted, got recommendations or have votes" in personal.description
    assert "that you took part" not in personal.description


def test_a_run_that_cannot_go_on_says_what_a_new_one_costs(shop, small, monkeypatch):
    """Another name has a budget of its own, and the same voters pay again."""
    begun(shop)
    bound = PRecSettings.rounds_epsilon

    def larger_bound(settings, *sizes):
        epsilon, basis = bound(settings, *sizes)
        return 1.5 * epsilon, basis

    state = shop.service.ledger.state("demo/rounds/films")
    monkeypatch.setattr(PRecSettings, "rounds_epsilon", larger_bound)
    later = replace(small, settings=PRecSettings(**SETTINGS))
    with pytest.raises(ConfigError, match="cannot be continued") as told:
        later.continue_stored(lambda _: state)
    assert str(told.value).count("epsilon and delta again") == 1


def test_forgetting_somebody_who_was_never_here(shop, small):
    """A receipt is the same for whoever took part and whoever did not."""
    begun(shop)
    post(shop, "ann", "recommendations")
    told = [
        shop.delete(role, f"/api/users/{name}").json()
        for role, name in (("subject", "ann"), ("other", "bob"))
    ]
    for one in told:
        one.pop("user")
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"variant": "published", "epsilon": None, "peers": 30}, "published"),
        ({"epsilon": math.inf}, "no finite epsilon"),
        ({"clients": None}, "clients"),
        ({"clients": 10**4, "epsilon": 3.0, "delta": 0.5}, "clients"),
        ({"wonder": 1}, "no setting 'wonder'"),
        ({"rounds": None}, "rounds"),
        ({"rounds": "x"}, "rounds"),
        ({"voters": 10**6, "epsilon": 40.0}, "bytes for all voters"),
        (
            {"clients": 5000, "rounds": 10**6, "voters": 100, "epsilon": 1e6},
            "bytes for all clients",
        ),
    ],
)
def test_what_is_not_served(tmp_path, change, said):
    """Runs that protect nobody, are for ever more clients, or are too large, are refused."""
    values = {k: v for k, v in {**SETTINGS, **change}.items() if v is not None}
    with pytest.raises(ConfigError, match=said):
        ServedRounds.from_section(Section("t", "x", tmp_path, values))


def test_the_longest_names_are_served(tmp_path):
    """Tenant, run and person of 64 signs each: she is recommended something and forgotten; two runs
    whose names differ in the last sign have two states."""
    names = ("x" * 63 + "a", "x" * 63 + "b")
    tables = [
        f"[rounds.{name}]\n" + "".join(f"{k} = {v}\n" for k, v in SETTINGS.items())
        for name in names
    ]
    (tmp_path / "tacit.toml").write_text("\n".join([f'tenant = "{LONG}"', *tables]))
    service = open_service(Settings(tmp_path, answer_within=300))
    operator = add_key(service.settings.keys, "boss", Role.OPERATOR, LONG)
    hers = service.keys.person_key("p" * 64)
    body = {"candidates": [1, 2], "votes": {"p" * 64: 1}}
    with TestClient(create_app(service), base_url="http://localhost") as client:

        def ask(key: str, method: str, path: str, **given):
            headers = {"authorization": f"Bearer {key}", "idempotency-key": "the-first-one"}
            answer = client.request(method, path, headers=headers, **given)
            assert answer.status_code == 200, answer.text

        for number, name in enumerate(names):
            ask(operator, "POST", f"/api/rounds/{name}/open", json=body)
            ask(hers, "POST", f"/api/rounds/{name}/recommendations")
            runs = service.deployment.find_all(ServedRounds).values()
            kept = [service.ledger.state(f"{LONG}/{run.state_name}") for run in runs]
            assert len([one for one in kept if one is not None]) == number + 1
        ask(hers, "DELETE", f"/api/users/{'p' * 64}")
    open_service(Settings(tmp_path)).close()


@pytest.mark.parametrize(
    "content",
    [
        "[",
        "{}",
        "[1]",
        '[{"candidates": [1]}]',
        '[{"candidates": [1], "votes": {"a": 2}}]',
        '[{"candidates": [1,2,3,4], "votes": {}}]',
        '[{"candidates": [], "votes": {}}]',
        '[{"candidates": [1.5], "votes": {}}]',
        '[{"candidates": [null], "votes": {}}]',
        '[{"candidates": [true], "votes": {}}]',
        '[{"candidates": [[1]], "votes": {}}]',
        '[{"candidates": [1, 1], "votes": {}}]',
        '[{"candidates": [1, "a"], "votes": {}}]',
        '[{"candidates": "ab", "votes": {}}]',
        '[{"candidates": {"a": 1}, "votes": {}}]',
        '[{"candidates": [1], "votes": [["ann", 1]]}]',
        '[{"candidates": ["b"], "votes": ["ab"]}]',
    ],
)
def test_wrong_given_rounds(tmp_path, content):
    """A file of votes that is no list of rounds is refused with its form."""
    (tmp_path / "v").write_text(content)
    with pytest.raises(ConfigError, match="votes"):
        ServedRounds.from_section(Section("t", "x", tmp_path, {**SETTINGS, "votes": "v"}))


@pytest.mark.parametrize(("per_round", "n_rounds"), [(61, 1), (31, 2)])
def test_given_rounds_of_more_voters_than_stated_are_refused(tmp_path, per_round, n_rounds):
    """One round alone, or rounds together, since `voters` is for the whole run."""
    rounds = []
    for number in range(n_rounds):
        votes = {f"v{voter}": 1 for voter in range(number * per_round, (number + 1) * per_round)}
        rounds.append({"candidates": [1, 2], "votes": votes})
    (tmp_path / "v").write_text(json.dumps(rounds))
    said = f"round {n_rounds} of x.votes brings the run to {per_round * n_rounds} voters"
    with pytest.raises(ConfigError, match=said):
        ServedRounds.from_section(Section("t", "x", tmp_path, {**SETTINGS, "votes": "v"}))


def test_given_rounds_of_as_many_voters_as_stated_are_accepted(tmp_path):
    """The same sixty people vote in both rounds."""
    votes = {f"v{voter}": 1 for voter in range(60)}
    (tmp_path / "v").write_text(json.dumps([{"candidates": [1, 2], "votes": votes}] * 2))
    served = ServedRounds.from_section(Section("t", "x", tmp_path, {**SETTINGS, "votes": "v"}))
    assert [len(votes_of_round) for _, votes_of_round in served.given] == [60, 60]
