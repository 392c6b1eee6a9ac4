"""A voter's number in a served run depends on nobody else: nobody's votes follow from another's."""

from __future__ import annotations

import json
import math
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.serve import steps as round_states
from tacit.designs.prec.serve.rounds import ServedRounds
from tacit.designs.prec.serve.steps import RoundsState, RoundSteps, compute_number
from tacit.errors import ConfigError, ModelFileError
from tacit.ledger import Request
from tacit.randomness import replay, secure, simulation
from tacit.service import Settings, open_service
from tacit.service.idempotency import add_salt, remove_salt
from tests.support.seen import require_any

FILMS = "/api/rounds/films"
NAMES = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,8}", fullmatch=True)
CANDIDATES = (1, 2, 3)


def given_settings(**changes) -> PRecSettings:
    asked = {"rounds": 9, "objects": 3, "voters": 99, "epsilon": math.inf, "diversity": 1}
    return PRecSettings(**{**asked, "radius": 1, "clients": 99, **changes})


def seen(state: bytes, asked: PRecSettings, clients) -> tuple[dict, dict, dict]:
    """By name: numbers and votes in the open round. By client: names of survivors."""
    now = RoundsState.decode(state)
    run = PRec.from_bytes(now.run, settings=asked, randomness=secure())
    numbers = now.numbers(now.voters)
    names = {number: name for name, number in numbers.items()}
    votes = {names[number]: candidate for number, candidate in run.votes().items()}
    told = {
        client: (run.transcript(client), {names[number] for number in run.survivors(client)})
        for client in clients
        if client in run.clients
    }
    return numbers, votes, told


def played(history, asked: PRecSettings) -> tuple[dict, dict, dict]:
    """Through the steps that the service takes: votes, rounds, recommendations, feedback.

    history: of each round, who votes for what. Each step has random words of its own, so that a
    voter more or less moves the words of no other step.
    """
    steps = RoundSteps(asked)
    state = steps.begin(replay("begin"))
    for number, votes in enumerate(history):
        _, state = steps.announce(CANDIDATES, secure(), state)
        for name, candidate in votes.items():
            answer, state = steps.vote(name, candidate, secure(), state)
            assert answer.status == 200
        answer, state = steps.open_next(None, {}, replay(f"open {number}"), state)
        assert answer.status == 200
        for client in ("ann", "bob"):
            source = replay(f"{client} {number}")
            answer, new = steps.recommend(client, source, state)
            liked = json.loads(answer.body)["item"] == 1
            _, state = steps.feedback(client, liked, source, new)
    return seen(state, asked, ("ann", "bob"))


ROUNDS = st.lists(
    st.dictionaries(NAMES, st.sampled_from(CANDIDATES), min_size=1, max_size=12),
    min_size=1,
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(ROUNDS, NAMES, st.lists(st.sampled_from((None, *CANDIDATES)), min_size=4, max_size=4))
def test_one_voter_more_changes_nobody_else(history, name, hers):
    """With one voter added, each other voter has the same number and the same vote, also where she
    abstains, and clients who saw and said the same have the same other survivors."""
    without = [{k: v for k, v in votes.items() if k != name} for votes in history]
    added = [
        votes | ({} if vote is None else {name: vote})
        for votes, vote in zip(without, hers, strict=False)
    ]
    with simulation():
        before, after = (played(one, given_settings()) for one in (without, added))
    numbers, votes, told = after
    assert {k: v for k, v in numbers.items() if k != name} == before[0]
    assert {k: v for k, v in votes.items() if k != name} == before[1]
    for client, (transcript, survivors) in told.items():
        other, others = before[2][client]
        if transcript == other:
            assert survivors - {name} == others


def test_the_check_sees_numbers_in_the_order_of_names(monkeypatch):
    """A planted fault: a voter who sorts first changes the votes of those who abstain."""
    history = [{f"v{k:02}": 1 for k in range(30)}, {"v00": 1}]
    more = [history[0] | {"a": 1}, history[1]]

    def in_order(self, names):
        return {name: str(at) for at, name in enumerate(sorted(names))}

    monkeypatch.setattr(RoundsState, "numbers", in_order)
    with simulation():
        before, after = (played(one, given_settings()) for one in (history, more))
    assert {k: v for k, v in after[1].items() if k != "a"} != before[1]


def test_one_voter_more_over_http(demo, folder, shops):
    """Two services that began the same run, and one voter more in one of them, whose name sorts
    before all others: over HTTP, votes, numbers and survivors of all others are equal.

    Of 60 clients, those count who saw the same in both; that there is none has a chance below
    1e-9 if a client's top candidate has a chance above 2/3 in each.
    """
    toml = folder / "tacit.toml"
    toml.write_text(toml.read_text().replace("clients = 20\n", "clients = 64\n"))
    open_service(Settings(folder)).close()
    with shops(demo, folder) as shop:
        served = shop.service.deployment.find_all(ServedRounds)["films"]
        served.begin(shop.service)
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy)
    clients = [f"c{number}" for number in range(60)]
    votes = {f"v{number:02}": 1 for number in range(30)}
    told = []
    for place, more in ((folder, {}), (copy, {"a": 2})):
        with shops(demo, place) as shop:

            def post(role, what, shop=shop, **body):
                headers = {}
                if role is not None and role != "operator":
                    key = shop.service.keys.person_key(role)
                    headers, role = {"authorization": f"Bearer {key}"}, None
                answer = shop.post(role, f"{FILMS}/{what}", headers=headers, **body)
                assert answer.status_code == 200, answer.text

            first = {"candidates": [1, 2, 3], "votes": votes | more}
            post("operator", "open", json=first)
            post("operator", "open", json={"candidates": [1, 2, 3], "votes": {"v00": 1}})
            for client in clients:
                post(client, "recommendations")
                post(client, "feedback", json={"liked": True})
            post("operator", "open", json={"candidates": [1, 2, 3], "votes": {"v00": 1}})
            state = remove_salt(shop.service.ledger.state("demo/rounds/films"))
            told.append(seen(state, served.settings, clients))
    (numbers, cast, survivors), (their_numbers, theirs, others) = told
    assert {k: v for k, v in their_numbers.items() if k != "a"} == numbers
    assert {k: v for k, v in theirs.items() if k != "a"} == cast
    same = [client for client in clients if survivors[client][0] == others[client][0]]
    assert same
    for client in same:
        assert others[client][1] - {"a"} == survivors[client][1]


def test_numbers_are_of_the_run_and_the_name():
    """Another run has other numbers, of 128 bits."""
    one, two = bytes(32), bytes(31) + b"\1"
    assert compute_number(one, "ann") == compute_number(one, "ann")
    assert len({compute_number(key, name) for key in (one, two) for name in ("ann", "bob")}) == 4
    assert len(bytes.fromhex(compute_number(one, "ann"))) * 8 >= 128
    with simulation():
        runs = [RoundSteps(given_settings()).begin(replay(seed)) for seed in (1, 2)]
    assert len({RoundsState.decode(run).key for run in runs}) == 2
    assert all(len(RoundsState.decode(run).key) == 32 for run in runs)


def test_two_names_with_one_number(monkeypatch):
    """They are not taken for one voter: the round is not opened, and nothing is kept."""
    steps = RoundSteps(given_settings())
    state = steps.begin(secure())
    monkeypatch.setattr(round_states, "compute_number", lambda key, name: "0" * 32)
    answer, after = steps.open_next([1, 2], {"ann": 1, "bob": 1}, secure(), state)
    assert (answer.status, after) == (409, None)
    assert b"another key" in answer.body


def test_the_forgotten_have_no_number():
    """What is kept after a person was forgotten holds her number no more."""
    steps = RoundSteps(given_settings())
    _, state = steps.open_next([1, 2], {"ann": 1, "bob": 1}, secure(), steps.begin(secure()))
    number = compute_number(RoundsState.decode(state).key, "ann").encode()
    assert number in state
    assert number not in steps.forget_person("ann", secure(), state)


def test_the_card_states_the_assumption(shop):
    """The key, its secrecy, and the chance of two equal numbers stand on each card of a run."""
    films = shop.service.deployment.find_all(ServedRounds)["films"]
    for card in require_any(films.guarantees()):
        (said,) = [one for one in card.assumptions if "number" in one and "name" in one]
        for part in ("HMAC-SHA256", "secret", "pseudo-random", "1e-32"):
            assert part in said


def test_a_run_of_another_version(folder):
    """A run in another format is refused at the start, with both formats."""
    service = open_service(Settings(folder))
    served = service.deployment.find_all(ServedRounds)["films"]
    run = PRec(served.settings, randomness=secure()).to_bytes()
    head = json.dumps({"format": 3}).encode()
    request = Request("demo", "test", "begin", "once", b"")
    service.ledger.release(
        request,
        [],
        lambda source, _: (b"", add_salt(source, head + b"\n" + run)),
        state="demo/rounds/films",
    )
    service.close()
    with pytest.raises(ConfigError) as told:
        open_service(Settings(folder))
    for part in ("rounds.films cannot be continued", "format 3", "format 2", "another version"):
        assert part in str(told.value)
    with pytest.raises(ModelFileError):
        RoundsState.decode(head + b"\n" + run)
