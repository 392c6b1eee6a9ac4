"""The page of a simulation: its sentence follows from its figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.cli.app import main
from tacit.designs.prec.experiment.game import Game
from tacit.designs.prec.experiment.report import compare_with_exponential
from tacit.designs.prec.experiment.simulation import Point, play
from tacit.evaluation import Interval

ROW = play(Game(10, 2, 40, 20), "uniform", 0)


def point(method: str, low: float, high: float, *, stopped: float = 0.0, **changed) -> Point:
    row = replace(ROW, method=method, loss_bound=6.0, **changed)
    loss = Interval((low + high) / 2, low, high)
    return Point(row, loss, loss, stopped)


@pytest.mark.parametrize(
    ("ours", "other", "state"),
    [((0, 2), (3, 5), "good"), ((1, 4), (3, 5), "none"), ((6, 8), (3, 5), "poor")],
)
def test_intervals_decide_who_errs_less(ours, other, state):
    """Apart, or not told apart."""
    assert (
        compare_with_exponential([point("p-rec", *ours), point("exponential", *other)]).state
        == state
    )


def test_a_gate_that_shut_is_said_first():
    """Whatever the figures: most runs were uniform."""
    found = compare_with_exponential(
        [point("p-rec", 0, 1, stopped=0.6, threshold=33), point("exponential", 3, 5)]
    )
    assert found.state == "poor"
    assert "33 survivors" in found.sentence


def test_the_bound_is_compared_with_the_mean():
    """Within or above."""
    assert "within the bound" in compare_with_exponential([point("p-rec", 5, 6)]).sentence
    assert "above the bound" in compare_with_exponential([point("p-rec", 6, 7)]).sentence


def test_in_the_victim_s_world_a_small_loss_is_a_breach():
    """There the client dislikes what is not her victim's vote."""
    read, kept = (point("p-rec", low, low, world="victim") for low in (1, 5))
    assert compare_with_exponential([read]).state == "poor"
    assert compare_with_exponential([kept]).state == "good"


def test_without_a_gate_nothing_is_judged():
    """The page is about what can be promised."""
    assert compare_with_exponential([point("p-rec-no-gate", 0, 1)]).state == "none"


@pytest.mark.parametrize("world", ["planted", "victim", "one-round"])
def test_the_command_writes_a_page(tmp_path, capsys, world):
    """Verdict of the first setting, a row for each setting and method, and how it was made."""
    out = tmp_path / "out.html"
    words = f"simulate prec --world {world} --rounds 20 --voters 60 --peers 30,20 --seeds 2"
    assert main([*words.split(), "--workers", "1", "--report", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert f"World: {world}." in page
    assert 'class="verdict' in page
    assert page.count("weighted-majority") == 2
    assert "settings.rounds" in page


def test_without_p_rec_the_method_that_errs_least_is_named():
    """Of those that were played, with its own loss."""
    found = compare_with_exponential(
        [point("counters", 4, 6), point("uniform", 1, 3), point("other", 7, 9)]
    )
    assert found.headline == "uniform errs least"
    assert found.sentence.startswith("2.0 of 10 recommendations")


def test_a_gate_that_shut_in_half_of_the_runs_is_judged_by_its_loss():
    """Only more than half of the runs call the figures uniform."""
    found = compare_with_exponential(
        [point("p-rec", 0, 1, stopped=0.5), point("exponential", 3, 5)]
    )
    assert found.state == "good"
