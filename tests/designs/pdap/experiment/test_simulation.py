"""The simulation counts what it should, and repeats."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tacit import randomness
from tacit.cli.app import app
from tacit.designs.pdap.control import regret_bound
from tacit.designs.pdap.experiment import Row, checkpoints, simulate
from tacit.designs.pdap.experiment.policies import NAMES, World, make
from tacit.designs.pdap.experiment.report import orderings, page_of, verdict_of
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError
from tacit.evaluation import Interval

SMALL = World(vendors=3, videos=2, dimensions=1, arrivals=120, lipschitz=2.0, gamma=0.0)


def row(policy, accuracy, *, seed=0, arrivals=5000, epsilon=math.inf):
    return Row(policy, epsilon, arrivals, seed, accuracy, 10.0, 0.1, math.inf, 0.9, 0.5)


def vendors(name):
    made = make(name, math.inf, SMALL, [randomness.secure()] * SMALL.vendors)
    return list(made.vendors.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_runs_on_messages(name):
    """Each policy serves all visits of all vendors; only what is sound states a finite loss."""
    last = simulate(SMALL, name, 1.0, 1)[-1]
    assert last.arrivals == 120
    assert 0 <= last.accuracy <= 1
    assert last.average_regret * 120 == pytest.approx(last.regret)
    assert last.best - last.average_regret == pytest.approx(last.accuracy, abs=0.15)
    sound = name.startswith("sound") or name == "uniform"
    assert math.isfinite(last.epsilon_spent_per_visit) == sound


def test_what_is_spent_is_learning_and_forwarding():
    """Sound context: at most epsilon. Sound joint: epsilon of sums, and of the forwarded cell."""
    spent = {
        name: simulate(SMALL, name, 1.0, 1)[0].epsilon_spent_per_visit
        for name in ("sound-context", "sound-joint", "uniform")
    }
    assert spent["sound-context"] <= 1.0
    assert spent["sound-joint"] == pytest.approx(2.0)
    assert spent["uniform"] == 0.0


@pytest.mark.parametrize("name", ["sound-context", "sound-joint", "uniform"])
def test_a_click_that_only_the_device_reports_is_told_to_no_neighbour(name, monkeypatch):
    """What crosses besides the device's report would be spent, and is not counted: nothing does."""
    told = []
    monkeypatch.setattr(Vendor, "guest_clicked", lambda *given: told.append(given))
    last = simulate(SMALL, name, 1.0, 1)[-1]
    assert last.forwarded > 0
    assert told == []


def test_a_vendor_alone_forwards_nothing_and_spends_nothing_on_it():
    """Without neighbours sound joint costs epsilon of its sums, and no more."""
    alone = World(vendors=1, videos=2, dimensions=1, arrivals=20)
    spent = simulate(alone, "sound-joint", 1.0, 1)[0].epsilon_spent_per_visit
    assert spent == pytest.approx(1.0)


def test_a_seed_repeats():
    """The same seed gives the same rows, another one others; of policies that add no noise."""
    one, again, other = (simulate(SMALL, "dap", 1.0, seed) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_without_noise_the_private_twin_is_dap():
    """At epsilon inf and Gamma 0, P-DAP and GP-DAP make the clicks of DAP."""
    dap = [one.accuracy for one in simulate(SMALL, "dap", math.inf, 3)]
    for name in ("p-dap", "gp-dap"):
        assert [one.accuracy for one in simulate(SMALL, name, math.inf, 3)] == dap


def test_cap_is_one_learner_of_all_vendors():
    """The paper's CAP has the videos and visitors of every vendor; each vendor of solo its own."""
    cap = vendors("cap")
    assert len({id(vendor.home) for vendor in cap}) == 1
    assert len(cap[0].videos) == SMALL.vendors * SMALL.videos
    solo = vendors("solo")
    assert len({id(vendor.home) for vendor in solo}) == SMALL.vendors
    assert len(solo[0].videos) == SMALL.videos


def test_the_page_shows_regret_against_its_bound():
    """Of DAP alone, whose bound is known; measured regret stays below it."""
    rows = simulate(SMALL, "dap", math.inf, 1)
    assert "over its bound" in page_of(rows, SMALL, {}).html()
    last = rows[-1]
    assert last.regret < regret_bound(SMALL.setting, last.arrivals)
    rows = simulate(SMALL, "cap", math.inf, 1)
    assert "over its bound" not in page_of(rows, SMALL, {}).html()


def test_a_test_learns_nothing():
    """Whatever is tested after the last visit, a longer test leaves the learner as it was, and the
    accuracy of one is a chance that is no better than the best."""
    *_, last = simulate(replace(SMALL, test=50), "dap", math.inf, 1)
    *_, none = simulate(SMALL, "dap", math.inf, 1)
    assert none.test_accuracy is None
    assert replace(last, test_accuracy=None) == none
    assert 0 < last.test_accuracy < 0.95


def test_cap_never_forwards():
    """A vendor alone shows own videos only; DAP forwards."""
    assert simulate(SMALL, "cap", math.inf, 1)[-1].forwarded == 0
    assert simulate(SMALL, "dap", math.inf, 1)[-1].forwarded > 0


def test_checkpoints_hold_the_papers_numbers():
    """Curves have equal steps and the rows of the paper's tables; the last visit is one."""
    found = checkpoints(20_000)
    assert {5_000, 10_000, 15_000, 20_000} <= set(found)
    assert found[-1] == 20_000
    assert checkpoints(3) == [1, 2, 3]
    with pytest.raises(ConfigError):
        checkpoints(0)


def test_orderings_are_paired_over_seeds():
    """Differences of 5, 6 and 7 points hold; one seed tells nothing; the reverse is said."""
    rows = [row("dap", 0.8, seed=s) for s in range(3)]
    rows += [row("cap", 0.75 - 0.01 * s, seed=s) for s in range(3)]
    rows += [row("dup", 0.9 - 0.01 * s, seed=s) for s in range(3)]
    found = {(one.above, one.below): one for one in orderings(rows)}
    assert found["dap", "cap"].verdict == "holds"
    assert found["dap", "cap"].difference.mean == pytest.approx(0.06)
    assert found["dap", "dup"].verdict == "the reverse"
    assert orderings(rows[:1] + rows[3:4])[0].verdict == "one seed only"
    assert verdict_of(Interval(0.0, -0.1, 0.1)) == "not distinguished"


def test_the_page_stands_alone():
    """No script and no address; every policy and both halves of each cell are on it."""
    rows = [
        found
        for name in ("cap", "dap", "p-dap")
        for seed in (0, 1)
        for found in simulate(SMALL, name, 0.01, seed)
    ]
    page = page_of(rows, SMALL, {"seed": "<b>"}).html()
    assert "<script" not in page
    assert not re.search(r"https?://", page)
    assert "&lt;b&gt;" in page
    assert "P-DAP, ε = 0.01" in page
    assert page.count("<svg") >= 3


def test_the_command_prints_rows_with_these_keys(tmp_path):
    """Strict JSON: rows with the documented keys, an infinite epsilon as null, and the page."""
    page = tmp_path / "out.html"
    asked = "simulate pdap --arrivals 60 --vendors 2 --videos 2 --policies dap,p-dap,uniform"
    found = CliRunner().invoke(
        app, [*asked.split(), "--epsilon", "1,inf", "--seeds", "1", "--json", "--report", str(page)]
    )
    assert found.exit_code == 0, found.output
    result = json.loads(found.stdout)
    assert {
        "policy",
        "epsilon",
        "arrivals",
        "seed",
        "accuracy",
        "regret",
        "average_regret",
        "epsilon_spent_per_visit",
    } <= set(result["rows"][0])
    assert {(one["policy"], one["epsilon"]) for one in result["rows"]} == {
        ("dap", None),
        ("p-dap", 1.0),
        ("p-dap", None),
        ("uniform", None),
    }
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
