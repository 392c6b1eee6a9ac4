"""The curator: one answer per client and round, the paper's state, refusals in a sentence."""

from __future__ import annotations

import math
import os
import pickle
import threading
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.designs.prec import OutputDistribution, PRec, PRecSettings
from tacit.designs.prec.round import Block
from tacit.engine import votes_compiled
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms.gate import GateRun
from tacit.randomness import SecureSource, secure

Pattern = NDArray[np.int64]
"""(rounds, voters) places of votes."""
THREE = ("a", "b", "c")


class Counting(SecureSource):
    """A source that knows how many words were drawn."""

    def __init__(self) -> None:
        self.drawn = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.drawn += count
        return super().words(count)


def twin(**changes: Any) -> PRec:
    """A curator without a gate."""
    wanted: dict[str, Any] = {"rounds": 40, "objects": 3, "voters": 100, "epsilon": math.inf}
    return PRec(PRecSettings(**wanted | changes), randomness=secure())


def gated(**changes: Any) -> PRec:
    wanted: dict[str, Any] = {"rounds": 40, "objects": 2, "voters": 2000, "epsilon": 10.0}
    return PRec(PRecSettings(**wanted | changes), randomness=secure())


def columns(votes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.arange(len(votes)), votes


def literal_weights(
    pattern: Pattern, outputs: list[int], likes: list[bool], diversity: int, radius: int
) -> NDArray[np.bool_]:
    """Who counts after these rounds, by the paper's rules for credits, as printed."""
    voters = pattern.shape[1]
    diverse, wrong = np.full(voters, 2 * diversity), np.full(voters, 2 * radius + 1)
    for votes, output, liked in zip(pattern, outputs, likes, strict=False):
        if liked:
            diverse[votes != output] -= 1
        else:
            wrong[votes == output] -= 1
    return (wrong > 0) & (diverse + wrong > 0)


@settings(deadline=None, max_examples=40)
@given(st.data(), st.integers(0, 2), st.integers(0, 2))
def test_state_is_the_papers(data: st.DataObject, diversity: int, radius: int) -> None:
    """After any answers, those who count are those with weight 1 in the printed algorithm."""
    rounds, voters = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 12))
    cells = st.lists(st.integers(0, 2), min_size=voters, max_size=voters)
    pattern = np.array(data.draw(st.lists(cells, min_size=rounds, max_size=rounds)))
    server = twin(diversity=diversity, radius=radius)
    likes, outputs = [], []
    for votes in pattern:
        server.open_round(range(3), columns(votes))
        outputs.append(int(server.recommend("ann")))
        likes.append(data.draw(st.booleans()))
        server.feedback("ann", likes[-1])
    server.open_round([0], ([], []))
    alive = literal_weights(pattern, outputs, likes, diversity, radius)
    assert server.survivors("ann") == set(np.flatnonzero(alive).tolist())


def test_asked_again_it_answers_the_same() -> None:
    """Within a round nothing new is drawn."""
    source = Counting()
    server = PRec(PRecSettings(40, 3, 100, epsilon=math.inf), randomness=source)
    server.open_round(THREE, {1: "a", 2: "b", 3: "c"})
    first, before = server.recommend("ann"), source.drawn
    assert [server.recommend("ann") for _ in range(20)] == [first] * 20
    assert source.drawn == before


def test_many_clients_do_not_disturb_each_other() -> None:
    """Of 130 clients in three blocks each has the state of her own answers."""
    server, rng = twin(rounds=40), np.random.default_rng(1)
    pattern = rng.integers(0, 3, (4, 60))
    told: dict[int, tuple[list[int], list[bool]]] = {client: ([], []) for client in range(130)}
    for votes in pattern:
        server.open_round(range(3), columns(votes))
        for client, (outputs, likes) in told.items():
            outputs.append(int(server.recommend(client)))
            likes.append(bool((client + len(likes)) % 3))
            server.feedback(client, likes[-1])
    server.open_round([0], ([], []))
    for client, (outputs, likes) in told.items():
        alive = literal_weights(pattern, outputs, likes, 0, 0)
        assert server.survivors(client) == set(np.flatnonzero(alive).tolist())


def test_before_the_first_round_nobody_votes() -> None:
    """Whoever has joined: there are no votes, and nobody counts for a client."""
    server = twin()
    assert server.votes() == {}
    server.join("ann")
    server.join_voters([1])
    assert server.votes() == {}
    assert server.survivors("ann") == set()


def test_a_seat_is_given_on_without_its_state() -> None:
    """Who takes the place of a client who left begins with all voters."""
    server = twin()
    server.open_round(THREE, {1: "a", 2: "b", 3: "c"})
    server.recommend("ann")
    server.feedback("ann", True)
    server.open_round(THREE, {1: "a", 2: "b", 3: "c"})
    assert len(server.survivors("ann")) == 1
    server.leave("ann")
    server.join("bea")
    assert server.survivors("bea") == {1, 2, 3}


def test_leaving_after_an_answer_charges_nobody_else() -> None:
    """The answer of a client who left is not charged to who sits there next."""
    server = twin()
    server.open_round(THREE, {1: "a", 2: "b", 3: "c"})
    server.recommend("ann")
    server.feedback("ann", True)
    server.leave("ann")
    server.join("bea")
    server.open_round(THREE, {1: "a", 2: "b", 3: "c"})
    assert server.survivors("bea") == {1, 2, 3}


def test_silence_is_a_dislike() -> None:
    """Voters of what was recommended are charged if the client says nothing."""
    silent, said = twin(), twin()
    for server in (silent, said):
        server.open_round(["a"], {1: "a", 2: "a"})
        server.recommend("ann")
    said.feedback("ann", False)
    for server in (silent, said):
        server.open_round(["a"], {})
        assert server.survivors("ann") == set()
    assert silent.transcript("ann").entries[0].liked is None


def test_not_asking_changes_nothing() -> None:
    """A round without a recommendation charges nobody."""
    server = twin()
    server.join("ann")
    for _ in range(3):
        server.open_round(THREE, {1: "a", 2: "b"})
    assert server.survivors("ann") == {1, 2}


def test_voters_who_come_later_count_for_later_clients() -> None:
    """An electorate is fixed when the client joins."""
    server = twin()
    server.open_round(THREE, {1: "a"})
    server.join("ann")
    server.open_round(THREE, {1: "a", 2: "b"})
    server.join("bea")
    assert (server.survivors("ann"), server.survivors("bea")) == ({1}, {1, 2})


def test_voters_who_leave_count_for_nobody_ever_again() -> None:
    """Also if the same id comes back: that is a new voter, for new clients."""
    server = twin()
    server.open_round(THREE, {1: "a", 2: "b"})
    server.join("ann")
    server.leave_voters([2])
    server.open_round(THREE, {1: "a"})
    assert server.survivors("ann") == {1}
    server.open_round(THREE, {1: "a", 2: "c"})
    server.join("bea")
    assert (server.survivors("ann"), server.survivors("bea")) == ({1}, {1, 2})


def test_clients_before_the_first_round_get_its_voters() -> None:
    """They wait for an electorate."""
    server = twin()
    server.join("ann")
    server.join_voters([7, 8])
    server.open_round(THREE, {9: "a"})
    assert server.survivors("ann") == {7, 8, 9}


@settings(deadline=None, max_examples=30)
@given(st.sets(st.integers(0, 40), min_size=1), st.integers(0, 40), st.integers(1, 3))
def test_an_abstainers_vote_is_her_own(others: set[int], voter: int, size: int) -> None:
    """It depends on the run, her id, the round and its size, and on nobody else."""
    found = []
    for crowd in (others | {voter}, {voter}):
        server = twin()
        server.number = 5
        server.join_voters(sorted(crowd))
        server.open_round(THREE[:size], {})
        server.join("ann")
        found.append(server.votes()[voter])
    assert found[0] == found[1] in THREE[:size]


def test_abstainers_votes_spread() -> None:
    """Over rounds and voters all candidates come up about equally often; false alarm 1e-6."""
    server = twin(voters=1000)
    server.number = 5
    server.join_voters(range(500))
    server.join_voters([1000 + k for k in range(500)])
    drawn = np.zeros(3)
    for _ in range(30):
        server.open_round(THREE, {})
        cast = Counter(server.votes().values())
        drawn += [cast[candidate] for candidate in THREE]
    assert (((drawn - 10_000) ** 2) / 10_000).sum() < 27.6


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"settings": None}, r"a PRecSettings\(\.\.\.\); got None"),
        ({"randomness": None}, r"tacit\.randomness\.secure\(\); got None"),
        ({"number": -1}, "from 0 to 2"),
        ({"number": 1 << 64}, "from 0 to 2"),
        ({"number": "5"}, "from 0 to 2"),
    ],
)
def test_a_run_is_not_built_of_other_things(changes: dict[str, Any], reason: str) -> None:
    """A sentence says what belongs there."""
    right: dict[str, Any] = {"settings": PRecSettings(40, 2, 100, epsilon=1.0)}
    with pytest.raises(ConfigError, match=reason):
        PRec(**{**right, "randomness": secure(), **changes})


def test_an_abstainers_vote_changes_with_the_round_and_the_run() -> None:
    """Any two of six rounds in two runs differ for about half of 1,000 voters; no draw in it."""
    patterns = []
    for number in (5, 6):
        server = twin(voters=1000)
        server.number = number
        server.join_voters(range(1000))
        for _ in range(6):
            server.open_round(("a", "b"), {})
            patterns.append(np.array([*server.votes().values()]))
    agreeing = [(one == two).mean() for one, two in combinations(patterns, 2)]
    assert 0.4 < min(agreeing) <= max(agreeing) < 0.6


def test_a_shut_gate_is_uniform_for_ever() -> None:
    """With too few voters the gate shuts at once; everybody votes for one object in vain."""
    server = gated()
    for _ in range(40):
        server.open_round([0, 1], dict.fromkeys(range(3), 0))
        server.recommend("ann")
    given_out = [entry.candidate for entry in server.transcript("ann").entries]
    assert server.transcript("ann").stopped_round == 1
    assert 5 <= sum(map(int, given_out)) <= 35  # false alarm 2e-6


def test_an_open_gate_follows_the_votes() -> None:
    """Far above the threshold, where all agree, all but gamma of the rounds go along."""
    server = gated()
    for _ in range(40):
        server.open_round([0, 1], columns(np.zeros(1500, dtype=int)))
        server.feedback("ann", server.recommend("ann") == 0)
    away = sum(entry.candidate == 1 for entry in server.transcript("ann").entries)
    assert not server.has_stopped("ann")
    assert away <= 6  # 0.3 are expected; false alarm 2e-7


def test_the_gate_speaks_before_votes_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it stops, the law is never asked."""
    server = gated()
    server.open_round([0, 1], {1: 0})

    def never(*_: object) -> int:
        raise AssertionError("the law was asked")

    monkeypatch.setattr(OutputDistribution, "draw", never)
    server.recommend("ann")
    assert server.has_stopped("ann")


def test_gates_count_credit_in_whole_voters(monkeypatch: pytest.MonkeyPatch) -> None:
    """With D, R > 0 the gate is asked about total credit over 2D + 2R + 1."""
    server = gated(epsilon=60.0, diversity=1, radius=1)
    asked: list[int] = []
    monkeypatch.setattr(GateRun, "stops_at", lambda _, count: bool(asked.append(count)))
    server.open_round([0, 1], columns(np.arange(1000) % 2))
    server.recommend("ann")
    server.feedback("ann", False)
    server.open_round([0, 1], columns(np.arange(1000) % 2))
    server.recommend("ann")
    assert (asked, server.credit_left("ann")) == ([1000, 900], 4500)


@pytest.mark.parametrize(
    ("candidates", "votes", "reason"),
    [
        ([], {}, "1 to 3"),
        (["a", "b", "c", "d"], {}, "1 to 3"),
        (["a", "a"], {}, "each once"),
        ("abc", {}, "a list of ids"),
        (None, {}, "a list of ids"),
        (["a"], (5, ["a"]), "a list of ids"),
        (["a"], {"\ud800": "a"}, "cannot be encoded"),
        (["a", 1], {}, "one kind"),
        (["a", 1.5], {}, "neither a whole number nor text"),
        (["a"], {1: "b"}, "row 1.*no candidate of this round"),
        (["a"], {1: "a", 2: None}, "neither a whole number nor text"),
        (["a"], ([1, 2], ["a"]), "different lengths"),
        (["a"], ([1, 1], ["a", "a"]), "votes twice"),
        (["a"], [(1, "a")], "neither a mapping"),
        (["a"], {True: "a"}, "neither a whole number nor text"),
        (["a"], dict.fromkeys(range(101), "a"), "at most 100"),
    ],
)
def test_bad_rounds_are_refused_whole(candidates: Any, votes: Any, reason: str) -> None:
    """With a sentence, and nothing of them is taken in."""
    server = twin()
    with pytest.raises(DataError, match=reason):
        server.open_round(candidates, votes)
    assert (server.round, server.candidates) == (0, ())
    server.open_round(["a"], {0: "a"})
    server.join("ann")
    assert server.survivors("ann") == {0}


def test_one_text_is_not_a_list_of_voters() -> None:
    """Its letters do not join one by one."""
    server = twin()
    with pytest.raises(DataError, match="a list of ids"):
        server.join_voters("bob")
    server.open_round(["a"], {})
    server.join("ann")
    assert server.survivors("ann") == set()


def test_feedback_is_given_once_and_for_something() -> None:
    """Before a recommendation, twice, or other than yes and no: refused."""
    server = twin()
    with pytest.raises(ConfigError, match="No round is open"):
        server.recommend("ann")
    server.open_round(["a"], {1: "a"})
    with pytest.raises(ConfigError, match="No client 'ann'"):
        server.feedback("ann", True)
    server.join("ann")
    with pytest.raises(ConfigError, match="recommended nothing"):
        server.feedback("ann", True)
    server.recommend("ann")
    with pytest.raises(DataError, match="True or False"):
        server.feedback("ann", "yes")  # type: ignore[arg-type]
    server.feedback("ann", True)
    with pytest.raises(ConfigError, match="given once"):
        server.feedback("ann", True)


def test_a_run_ends_after_its_rounds() -> None:
    """The guarantee is for so many recommendations, and there are no more."""
    server = twin(rounds=4)
    for _ in range(4):
        server.open_round(["a", "b"], {1: "a"})
        server.recommend("ann")
    server.open_round(["a", "b"], {1: "a"})
    with pytest.raises(PrivacyError, match="all 4 recommendations"):
        server.recommend("ann")


def test_no_more_clients_than_are_priced() -> None:
    """The last run that is paid for begins; the next, also of a client who left, is refused."""
    server = twin(clients=2)
    server.open_round(["a"], {1: "a"})
    server.recommend("ann")
    server.recommend("bea")
    server.leave("ann")
    with pytest.raises(PrivacyError, match="number of clients is 2"):
        server.recommend("cleo")
    with pytest.raises(PrivacyError, match="has left"):
        server.join("ann")


def test_a_run_is_not_copied_or_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of them would answer one round twice."""
    server = twin()
    server.open_round(["a"], {1: "a"})
    with pytest.raises(PrivacyError, match="cannot be copied"):
        pickle.dumps(server)
    another = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: another)
    with pytest.raises(PrivacyError, match="another process"):
        server.recommend("ann")


def test_both_variants_have_one_twin() -> None:
    """At epsilon = inf the same words give the same recommendations, and those of the law."""

    class Fixed(SecureSource):
        def words(self, count: int) -> NDArray[np.uint64]:
            return np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x1234567890ABCDEF)

    outputs = []
    for variant in ("sound", "published"):
        wanted = PRecSettings(40, 3, 100, epsilon=math.inf, variant=variant)  # type: ignore[arg-type]
        server = PRec(wanted, randomness=Fixed())
        for size in (3, 2, 3, 1, 3):
            server.open_round(range(size), columns(np.arange(30) % size))
            server.feedback("ann", server.recommend("ann") == 0)
        outputs.append(server.transcript("ann"))
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(("diversity", "radius", "bits"), [(0, 0, 1), (1, 0, 3), (1, 1, 6)])
def test_a_client_takes_a_few_bits_per_voter(diversity: int, radius: int, bits: int) -> None:
    """64 clients and 1,000 voters: so many words for each voter, one bit for each client."""
    credit = Block(1000, diversity=diversity, radius=radius).credit
    assert credit.alive.nbytes + credit.both.nbytes + credit.radius.nbytes == 8 * bits * 1000


def test_a_gate_is_asked_once_a_round_whatever_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the draw fails after the gate let pass, the next try does not ask the gate again."""
    asked: list[int] = []
    shipped = GateRun.stops_at

    def stops_at(gate: GateRun, count: int) -> bool:
        asked.append(count)
        return shipped(gate, count)

    def failing(*_: object) -> int:
        raise OSError("no random words")

    server = PRec(PRecSettings(20, 2, 300, epsilon=6.0), randomness=secure())
    server.open_round([0, 1], (np.arange(250), np.arange(250) % 2))
    monkeypatch.setattr(GateRun, "stops_at", stops_at)
    with monkeypatch.context() as broken:
        broken.setattr(OutputDistribution, "draw", failing)
        with pytest.raises(OSError, match="no random words"):
            server.recommend("ann")
    server.recommend("ann")
    assert asked == [250]
    assert len(server.transcript("ann").entries) == 1


def test_who_joins_in_a_counted_round_has_voters_with_all_their_credits() -> None:
    """Her gate is asked about them; the round was counted for another client of her block."""
    settings = PRecSettings(40, 2, 100, diversity=1, radius=1, epsilon=math.inf)
    server = PRec(settings, randomness=secure())
    server.open_round([0, 1], dict.fromkeys(range(7), 0))
    server.join("ann")
    assert server.credit_left("ann") == 35
    server.join("bob")
    assert server.credit_left("bob") == 35


def test_an_audit_leaves_no_counts_of_a_closed_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next round opens in another thread while the votes are being counted."""
    server = twin()
    server.open_round(["a", "b"], {1: "a", 2: "a", 3: "a"})
    server.join("ann")
    opening = threading.Thread(
        target=server.open_round, args=(["a", "b"], dict.fromkeys(range(1, 4), "b"))
    )
    shipped = votes_compiled.tally_one

    def count_slowly(*arguments: Any) -> Any:
        counted = shipped(*arguments)
        if opening.ident is None:
            opening.start()
            opening.join(timeout=0.3)
        return counted

    monkeypatch.setattr(votes_compiled, "tally_one", count_slowly)
    assert server.counts("ann").tolist() == [3, 0]
    opening.join()
    assert server.counts("ann").tolist() == [0, 3]


@pytest.mark.parametrize("names", [range(20), [f"v{number}" for number in range(20)]])
def test_a_voter_who_left_is_never_taken_for_another(names: Any) -> None:
    """Voters 0 to 19 vote, and two leave: those who are named are the same after a load."""
    server = twin()
    server.open_round(["a"], dict.fromkeys(names, "a"))
    server.join("ann")
    server.leave_voters([names[3], names[4]])
    server.join_voters([names[4]])  # a new voter of the same name
    again = PRec.from_bytes(server.to_bytes(), settings=server.settings, randomness=secure())
    for run in (server, again):
        assert run.credit_left("ann") == 20
        assert run.survivors("ann") == {*names} - {names[3], names[4]}
        assert run.votes().keys() == run.survivors("ann")


def test_an_interrupted_round_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two blocks of clients and an exception between them, no call goes on."""
    server = PRec(PRecSettings(50, 2, 300, epsilon=math.inf, diversity=1), randomness=secure())
    server.open_round([1, 2], {voter: 1 + voter % 2 for voter in range(200)})
    for client in range(70):
        server.join(client)
    server.recommend(0)
    server.recommend(69)
    shipped = Block.advance
    advanced: list[Block] = []

    def interrupt(block: Block, *arguments: Any) -> None:
        if advanced:
            raise KeyboardInterrupt
        advanced.append(block)
        shipped(block, *arguments)

    monkeypatch.setattr(Block, "advance", interrupt)
    with pytest.raises(KeyboardInterrupt):
        server.open_round([1, 2], dict.fromkeys(range(200), 1))
    monkeypatch.setattr(Block, "advance", shipped)
    for call in (
        lambda: server.recommend(1),
        lambda: server.open_round([1, 2], dict.fromkeys(range(200), 1)),
        lambda: server.feedback(0, True),
        server.to_bytes,
    ):
        with pytest.raises(PrivacyError, match="Opening a round was interrupted"):
            call()


def test_a_refused_round_does_not_end_the_run() -> None:
    """What is wrong with candidates or votes is found before anybody is charged."""
    server = twin()
    server.open_round(["a"], {1: "a"})
    with pytest.raises(DataError):
        server.open_round(["a"], {1: "b"})
    server.open_round(["a"], {1: "a"})
    assert server.recommend("ann") == "a"
