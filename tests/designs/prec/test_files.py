"""A run in a file, and a run from its transcripts: the same state, and nothing twice."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import container
from tacit.designs.prec import (
    Entry,
    OutputDistribution,
    PRec,
    PRecSettings,
    Round,
    Transcript,
)
from tacit.designs.prec.replay import replay
from tacit.errors import DataError, ModelFileError, PrivacyError
from tacit.mechanisms.gate import GateRun, ThresholdGate
from tacit.randomness import secure


def played(path: Path, *, text: bool = False, **changes: Any) -> tuple[PRec, list[Round]]:
    """A run with clients who come and go, abstainers, voters who leave, and odd rounds."""
    wanted: dict[str, Any] = {"rounds": 40, "objects": 3, "voters": 600, "epsilon": math.inf}
    settings = PRecSettings(**wanted | changes)
    server, rng, rounds = PRec(settings, randomness=secure()), np.random.default_rng(3), []
    ids = np.array([f"v{k}" for k in range(500)], dtype=object) if text else np.arange(500)
    server.join("early")
    for number in range(8):
        size, voting = 1 + (number + 2) % 3, rng.random(500) < 0.9
        names = [f"{number}.{k}" for k in range(size)]
        votes = [names[k] for k in rng.integers(0, size, int(voting.sum()))]
        left = [ids[number]] if 2 < number < 5 else []
        if left:
            voting[number] = False
            votes = votes[: int(voting.sum())]
        rounds.append(Round(names, (ids[voting], votes), leaving_voters=left))
        server.leave_voters(left)
        server.open_round(names, (ids[voting], votes))
        for client in ("early", *range(number * 3)):
            if client == 2 and number > 5:
                continue
            server.recommend(client)
            if number % 4:
                server.feedback(client, (number + len(str(client))) % 3 > 0)
        if number == 5:
            server.leave(2)
    return server, rounds


def state(server: PRec) -> dict[Any, Any]:
    """Of every client: who counts, and how much credit is left."""
    return {
        client: (server.survivors(client), server.credit_left(client), server.transcript(client))
        for client in server.clients
    }


@pytest.mark.parametrize(
    "changes", [{}, {"text": True}, {"diversity": 1, "radius": 1}, {"epsilon": 30.0}]
)
def test_a_file_goes_on_where_the_run_was(
    tmp_path: Path, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """State, answers of the open round, gates and seats are the same after loading; saved again,
    it is the same file. No gate is opened for it."""
    server, rounds = played(tmp_path, **changes)
    before = state(server)
    server.save(tmp_path / "run")
    with monkeypatch.context() as patched:
        patched.setattr(ThresholdGate, "start", None)
        PRec.load(tmp_path / "run", randomness=secure()).save(tmp_path / "second")
        again = PRec.load(tmp_path / "second", randomness=secure())
    assert (tmp_path / "second").read_bytes() == (tmp_path / "run").read_bytes()
    assert state(again) == before
    for client, (_, _, transcript) in before.items():
        assert again.recommend(client) == transcript.entries[-1].candidate
    again.open_round(rounds[1].candidates, {})
    assert again.recommend("new") in rounds[1].candidates
    assert again.clients_joined == len(before) + 2


def test_a_saved_run_goes_on_in_its_file_alone(tmp_path: Path) -> None:
    """The object that was saved serves nobody any more."""
    server, _ = played(tmp_path)
    server.save(tmp_path / "run")
    with pytest.raises(PrivacyError, match="goes on there"):
        server.recommend("early")


def test_a_gate_that_let_pass_is_not_asked_again_after_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A draw fails, the run goes on in its file, and the client asks again in the same round."""
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
    server.save(tmp_path / "run")
    PRec.load(tmp_path / "run", randomness=secure()).recommend("ann")
    assert asked == [250]


def test_what_cannot_be_written_is_not_handed_over(tmp_path: Path) -> None:
    """If saving fails, the run goes on here."""
    server, _ = played(tmp_path)
    with pytest.raises(Exception, match="nowhere"):
        server.save(tmp_path / "nowhere" / "run")
    server.recommend("early")


@pytest.mark.parametrize("changes", [{}, {"diversity": 1, "radius": 1}, {"epsilon": 30.0}])
def test_a_replayed_transcript_gives_the_state(tmp_path: Path, changes: dict[str, Any]) -> None:
    """From votes and what clients saw and said alone, for abstainers and late clients too."""
    server, rounds = played(tmp_path, **changes)
    known: dict[int | str, Transcript] = {
        client: server.transcript(client) for client in server.clients
    }
    again = replay(server.settings, rounds, known, number=server.number, randomness=secure())
    assert state(again) == state(server)


def test_a_replayed_client_is_not_served(tmp_path: Path) -> None:
    """Her gate is another one, and would cost again; a file keeps that."""
    server, rounds = played(tmp_path)
    known: dict[int | str, Transcript] = {"early": server.transcript("early")}
    again = replay(server.settings, rounds, known, number=server.number, randomness=secure())
    before = state(again)
    again.save(tmp_path / "run")
    again = PRec.load(tmp_path / "run", randomness=secure())
    assert state(again) == before
    again.open_round(["x", "y"], {})
    with pytest.raises(PrivacyError, match="was replayed"):
        again.recommend("early")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("round", -1),
        ("round", "1"),
        ("begun", 3),
        ("blocks", 0),
        ("candidates", ["only one"]),
        ("number", "xyz"),
        ("clients", [["a", [0, 64], None, False, [1, [], None], 0]]),
        ("clients", [["a", [0, 0], None, False, [9, [], None], 0]]),
        ("clients", [["a", [0, 0], None, False, [1, [[1, "x", 2]], None], 0]]),
        ("clients", [["a", [0, 0], None, False, [1, [[2, "x", None], [1, "x", None]], None], 0]]),
        ("clients", [["a", [0, 0], None, False, [2, [[1, "x", None]], None], 0]]),
        ("clients", [["a", [0, 0], None, False, [1, [[1, "x", None]], 2], 0]]),
        ("clients", [["a", [0, 0], None, 1, [1, [], None], 0]]),
        ("left", ["early"]),
        ("settings", {"rounds": 1}),
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path: Path, part: str, value: Any) -> None:
    """Though its hash is right: each part is held against the others."""
    server, _ = played(tmp_path)
    server.save(tmp_path / "run")
    header, arrays = container.read(tmp_path / "run")
    container.write(tmp_path / "other", header | {part: value}, arrays)
    with pytest.raises(ModelFileError, match="incomplete"):
        PRec.load(tmp_path / "other", randomness=secure())


@pytest.mark.parametrize(
    ("passed", "reason"), [(9, "not opened"), (True, "from 0 up"), (-1, "from 0 up")]
)
def test_a_gate_s_last_round_is_one_of_the_run(tmp_path: Path, passed: Any, reason: str) -> None:
    """With a later one a gate would not be asked when that round comes."""
    server, _ = played(tmp_path)
    server.save(tmp_path / "run")
    header, arrays = container.read(tmp_path / "run")
    header["clients"][0][-1] = passed
    container.write(tmp_path / "other", header, arrays)
    with pytest.raises(ModelFileError, match=reason):
        PRec.load(tmp_path / "other", randomness=secure())


@pytest.mark.parametrize("name", ["votes", "electorate", "present", "voters", "0.alive"])
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, name: str) -> None:
    """Cut short, or with values that mean nothing."""
    server, _ = played(tmp_path)
    server.save(tmp_path / "run")
    header, arrays = container.read(tmp_path / "run")
    for broken in (arrays[name][:-1], arrays[name].astype(float)):
        container.write(tmp_path / "other", header, arrays | {name: broken})
        with pytest.raises(ModelFileError, match="incomplete"):
            PRec.load(tmp_path / "other", randomness=secure())


def test_other_files_are_refused(tmp_path: Path) -> None:
    """With what would be one."""
    container.write(tmp_path / "other", {"recommender": "popularity"}, {})
    with pytest.raises(ModelFileError, match="no run of p-REC"):
        PRec.load(tmp_path / "other", randomness=secure())


def test_gates_of_another_plan_go_on_if_they_keep_to_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that divides epsilon otherwise goes on with the old gates, and its cards say so."""
    server, _ = played(tmp_path, epsilon=30.0)
    server.save(tmp_path / "run")
    monkeypatch.setattr("tacit.designs.prec.settings._SAFE", 0.9)
    loaded = PRec.load(tmp_path / "run", randomness=secure())
    assert loaded.settings.plan != server.plan
    assert loaded.plan == server.plan
    assert loaded.guarantees() == server.guarantees()
    assert loaded.to_bytes() == (tmp_path / "run").read_bytes()


@pytest.mark.parametrize("wanted", [{"epsilon": 30.0}, {"epsilon": None, "peers": 60}])
@pytest.mark.parametrize(("factor", "is_refused"), [(1 - 1e-15, False), (0.5, False), (2, True)])
def test_gates_go_on_unless_a_bound_of_the_rounds_is_larger(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    wanted: dict[str, Any],
    factor: float,
    is_refused: bool,
) -> None:
    """Another logarithm or a sharper bound does not end a run; a larger bound of its cost does."""
    server, _ = played(tmp_path, **wanted)
    server.save(tmp_path / "run")
    bound = PRecSettings.rounds_epsilon

    def changed_bound(settings: PRecSettings, *sizes: int) -> tuple[float, str]:
        epsilon, basis = bound(settings, *sizes)
        return epsilon * factor, basis

    monkeypatch.setattr(PRecSettings, "rounds_epsilon", changed_bound)
    if is_refused:
        with pytest.raises(ModelFileError, match=r"version of tacit that began it\.$"):
            PRec.load(tmp_path / "run", randomness=secure())
        return
    loaded = PRec.load(tmp_path / "run", randomness=secure())
    assert loaded.plan is not None
    assert server.plan is not None
    assert loaded.plan.gate_epsilon == server.plan.gate_epsilon
    assert loaded.guarantees()[0].epsilon == loaded.plan.epsilon <= server.plan.epsilon


@pytest.mark.parametrize(
    "gate",
    [
        None,
        [],
        ["x", 1, 1.0],
        [18, 1, 0.5],
        [40, -1, 0.5],
        [40, 10**4, 100.0],
        [700, 10**4, 0.5],
    ],
)
def test_gates_that_do_not_keep_to_the_settings_are_refused(tmp_path: Path, gate: Any) -> None:
    """Too little noise, too small a distance, or no parameters at all."""
    server, _ = played(tmp_path, epsilon=1.0)
    server.save(tmp_path / "run")
    header, arrays = container.read(tmp_path / "run")
    container.write(tmp_path / "other", {**header, "plan": gate}, arrays)
    with pytest.raises(ModelFileError):
        PRec.load(tmp_path / "other", randomness=secure())


def test_replayed_runs_of_clients_who_left_count() -> None:
    """They are among the runs that may begin, and their ids cannot begin another."""
    settings = PRecSettings(40, 2, 100, epsilon=math.inf, clients=2)
    rounds = [Round([0, 1], {1: 0})]
    server = replay(settings, rounds, {}, number=1, randomness=secure(), clients_who_left=["ann"])
    with pytest.raises(PrivacyError, match="has left"):
        server.join("ann")
    server.join("bob")
    with pytest.raises(PrivacyError, match="so many have joined"):
        server.join("cy")


def replayed(known: dict[int | str, Transcript]) -> PRec:
    """One round, in which voter 1 votes for 0."""
    settings = PRecSettings(40, 2, 100, epsilon=math.inf)
    return replay(settings, [Round([0, 1], {1: 0})], known, number=1, randomness=secure())


@pytest.mark.parametrize(
    "told",
    [
        Transcript(1, (Entry(2, 0, True),)),
        Transcript(1, (Entry(1, 0, True), Entry(1, 1, True))),
        Transcript(1, (Entry(1, 2, True),)),
        Transcript(1, (Entry(1, 0, True),), 2),
        Transcript(2),
        Transcript(2, (Entry(1, 0, True),)),
    ],
)
def test_transcripts_that_do_not_fit_the_rounds_are_refused(told: Transcript) -> None:
    """Left out in silence, an answer or a client would be missing from the state."""
    with pytest.raises(DataError, match="does not fit the rounds"):
        replayed({"ann": told})


def test_who_joined_before_the_first_round_is_replayed() -> None:
    """Her electorate are the first round's voters."""
    assert replayed({"ann": Transcript(None)}).survivors("ann") == {1}


def test_bytes_go_on_where_the_run_was(tmp_path: Path) -> None:
    """Bytes give the run that a file gives, with the plan that is known, and use the object up."""
    server, _ = played(tmp_path, epsilon=30.0)
    before, settings = state(server), server.settings
    data = server.to_bytes()
    again = PRec.from_bytes(data, settings=settings, randomness=secure())
    assert state(again) == before
    assert again.plan is settings.plan
    (tmp_path / "run").write_bytes(data)
    assert state(PRec.load(tmp_path / "run", randomness=secure())) == before
    with pytest.raises(PrivacyError, match="handed over"):
        server.recommend("early")


def test_bytes_of_another_run_are_refused(tmp_path: Path) -> None:
    """Settings that the run was not begun with, and cut bytes, are refused."""
    server, _ = played(tmp_path, epsilon=30.0)
    data = server.to_bytes()
    other = PRecSettings(rounds=40, objects=3, voters=600, epsilon=29.0)
    with pytest.raises(ModelFileError, match="other settings"):
        PRec.from_bytes(data, settings=other, randomness=secure())
    for length in (0, 7, 100, len(data) - 1):
        with pytest.raises(ModelFileError):
            PRec.from_bytes(data[:length], settings=server.settings, randomness=secure())
