"""p-REC among what competes with it: who loses where, and how rows are made."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from tacit.accounting.events import Exponential, repeat
from tacit.accounting.zcdp import ZCDPAccountant
from tacit.cli.app import main
from tacit.designs.prec.experiment.commands import SimulateSettings
from tacit.designs.prec.experiment.game import METHODS, Game
from tacit.designs.prec.experiment.leaks import leak
from tacit.designs.prec.experiment.methods import (
    PLAYERS,
    ExponentialPlayer,
    Player,
    epsilon_per_choice,
)
from tacit.designs.prec.experiment.simulation import play, points, runs
from tacit.errors import ConfigError
from tacit.randomness import simulation

GAME = Game(120, 2, 600, 250)


def test_every_method_has_a_player():
    """The command names the methods that can be played, in their order."""
    assert tuple(PLAYERS) == METHODS


def losses(world: str, method: str, game: Game = GAME, seeds: int = 3):
    return [play(replace(game, world=world), method, seed).loss for seed in range(seeds)]


@pytest.mark.parametrize("world", ["planted", "opposed", "adaptive", "search", "sybils"])
def test_the_loss_is_within_the_bound(world):
    """The proved bound, for peers who are enough for the gate."""
    rows = [play(replace(GAME, world=world), "p-rec", seed) for seed in range(4)]
    assert all(row.loss_bound is not None and row.loss_bound < 10 for row in rows)
    assert np.mean([row.loss for row in rows]) <= rows[0].loss_bound


def test_a_standing_majority_of_strangers_beats_the_counters():
    """Opposed by most, the raw counts are wrong in nearly all rounds, and p-REC in a few."""
    assert np.mean(losses("opposed", "p-rec")) < 10
    assert np.mean(losses("opposed", "exponential")) > 60
    assert np.mean(losses("opposed", "majority")) == GAME.rounds


def test_too_few_peers_shut_the_gate():
    """Then all is uniform, the bound owns up to it, and the exponential mechanism errs less."""
    game = Game(120, 2, 600, 60)
    row = play(game, "p-rec", 0)
    assert row.stopped is not None
    assert row.loss > 30
    assert row.loss_bound > 30
    assert np.mean(losses("planted", "exponential", game)) < 30


def test_a_victim_is_read_without_the_gate_and_not_with_it():
    """Whoever likes what one voter votes for is given it nearly always, unless a gate is shut."""
    assert np.mean(losses("victim", "p-rec-no-gate")) < 15
    assert np.mean(losses("victim", "p-rec")) > 40


def test_colluding_clients_learn_no_more_of_a_victim():
    """What most of five clients were given is about as often right as a coin."""
    row = play(replace(GAME, world="victim", clients=5), "p-rec", 0)
    assert row.joint_loss > 35
    assert row.clients == 5


def test_infinite_epsilon_is_the_paper_s_algorithm():
    """p-REC at epsilon = inf draws the very same as without a gate, the other becomes majority."""
    free = replace(GAME, epsilon=math.inf)
    assert losses("planted", "p-rec", free) == losses("planted", "p-rec-no-gate")
    assert losses("planted", "exponential", free) == losses("planted", "majority")


def test_the_competitor_spends_all_of_epsilon_and_no_more():
    """Its rounds together cost epsilon by zCDP, and a little more per round would be too much."""
    each = epsilon_per_choice(1.0, 1e-6, 1000)
    assert each == pytest.approx(0.0178, abs=0.004)

    def spent(one: float) -> float:
        return ZCDPAccountant().add(repeat(Exponential(one), 1000)).epsilon(1e-6)

    assert spent(each) <= 1 < spent(each * 1.01)


@pytest.mark.parametrize("together", [1, 3])
def test_the_competitor_s_rounds_are_priced_for_all_clients_together(together):
    """Three clients' choices see the same votes: all 360 of them share epsilon."""
    with simulation():
        event = ExponentialPlayer(replace(GAME, clients=4, clients_together=together), 0).draw.event
    spent = ZCDPAccountant().add(repeat(event, GAME.rounds * together)).epsilon(1e-6)
    assert 0.99 < spent <= 1


class _OneGoodOfThree(Player):
    """Gives the first client what they like and the others what they do not."""

    def play(self, votes, wanted):
        return [int(np.flatnonzero(likes == (client == 0))[0]) for client, likes in wanted.items()]

    def stopped_round(self, client):
        return (3, 7, 5)[client]


def test_what_is_lost_is_lost_by_the_mean_client(monkeypatch):
    """Two of three clients are given what they dislike, each round: the loss is two thirds of the
    rounds, the most frequent recommendation is always wrong, and all is uniform for all from the
    round in which the last client's stopped."""
    monkeypatch.setitem(PLAYERS, "uniform", lambda game, seed: _OneGoodOfThree())
    row = play(Game(12, 2, 40, 20, clients=3), "uniform", 0)
    assert row.loss == pytest.approx(8.0)
    assert row.joint_loss == 12
    assert row.stopped == 7


def test_the_share_of_runs_that_stopped():
    """Two of the four runs of a setting became uniform."""
    row = play(Game(10, 2, 40, 20), "uniform", 0)
    found = points([replace(row, seed=seed, stopped=(3, None, 8, None)[seed]) for seed in range(4)])
    assert [point.stopped for point in found] == [0.5]


def test_one_thing_moves_at_a_time():
    """The base comes once, and every other setting differs from it in one thing."""
    found = SimulateSettings(peers=(250, 100), epsilon=(1.0, 2.0)).games
    assert [(game.peers, game.epsilon) for game in found] == [(250, 1), (100, 1), (250, 2)]


def test_methods_without_privacy_are_played_once_for_all_epsilons():
    """Their rows have no epsilon, and are not repeated."""
    games = [Game(20, 2, 50, 20, epsilon=epsilon) for epsilon in (1.0, 2.0)]
    rows = [play(*run) for run in runs(games, ("exponential", "majority"), range(2))]
    assert [(row.method, row.epsilon) for row in rows] == [
        *[("exponential", 1.0)] * 2,
        *[("majority", None)] * 2,
        *[("exponential", 2.0)] * 2,
    ]
    assert [point.row.method for point in points(rows)] == [
        "exponential",
        "majority",
        "exponential",
    ]


@pytest.mark.parametrize(
    ("changes", "method"),
    [
        ({"world": "nowhere"}, "p-rec"),
        ({}, "magic"),
        ({"world": "opposed", "radius": 2}, "p-rec"),
        ({"clients": 2, "clients_together": 3}, "p-rec"),
    ],
)
def test_what_cannot_be_played_is_refused(changes, method):
    """Before anything is played."""
    with pytest.raises(ConfigError):
        runs([replace(GAME, **changes)], [method], [0])


def test_the_command_prints_rows_for_every_method(capsys):
    """One JSON object, a row for each method and seed, with its setting and its loss."""
    words = "simulate prec --rounds 30 --voters 200 --peers 100 --seeds 2 --workers 1 --json"
    assert main(words.split()) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["method"] for row in rows] == [name for name in METHODS for _ in range(2)]
    assert {"rounds", "objects", "voters", "peers", "epsilon", "delta", "seed", "loss"} <= set(
        rows[0]
    )


def test_both_patterns_are_played_and_their_leak_is_printed(capsys):
    """`both-ways` plays pattern 1 and pattern 2 with each seed; leaks are those of `leak`."""
    words = "simulate prec --world both-ways --rounds 50 --voters 16 --peers 16 --diversity 20 "
    words += "--radius 5 --method p-rec-no-gate --seeds 2 --workers 1"
    assert main([*words.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    played = [(row["pattern"], row["seed"]) for row in found["rows"]]
    assert sorted(played) == [(1, 0), (1, 1), (2, 0), (2, 1)]
    game = Game(50, 2, 16, 16, diversity=20, radius=5, world="both-ways")
    assert found["leaks"] == [asdict(leak(game, seed)) for seed in (0, 1)]
    for row in found["rows"]:
        again = play(replace(game, pattern=row["pattern"]), "p-rec-no-gate", row["seed"])
        assert row["loss"] == again.loss
    assert main(words.split()) == 0
    said = capsys.readouterr().out
    assert "two voting patterns of the proof" in " ".join(said.split())
    assert f"{found['leaks'][0]['worst']:.4g}" in said


def test_other_worlds_have_no_leak(capsys):
    """Nothing is computed where no proof compares two patterns."""
    words = "simulate prec --rounds 30 --voters 60 --peers 30 --method uniform --seeds 1 --json"
    assert main([*words.split(), "--workers", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["leaks"] == []


def test_the_table_has_a_row_for_each_setting_and_method(capsys):
    """With what moves first; methods without privacy have no epsilon."""
    words = "simulate prec --rounds 30 --voters 200 --peers 100,40 --epsilon 1,2 --seeds 2 "
    assert main([*words.split(), "--workers", "1", "--method", "p-rec,majority"]) == 0
    said = capsys.readouterr().out
    assert said.count("majority") == 2
    assert said.count("p-rec ") >= 3
    assert "none" in said
