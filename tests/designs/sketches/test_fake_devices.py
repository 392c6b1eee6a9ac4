"""Honest people are left alone, crude fakes are seen, and the rest is bounded."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.designs.sketches import sensing
from tacit.designs.sketches.counting import item_counts
from tacit.designs.sketches.fake_devices import Findings, inspect, manipulation
from tacit.designs.sketches.messages import Report
from tacit.designs.sketches.population import make_reports
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError
from tacit.randomness import replay, simulation

TARGET = 7


def honest(made, people, seed, share=0.1):
    """Reports of people who each like a random share of the items."""
    rng = np.random.default_rng(seed)
    liked = rng.random((people, made.n_items)) < share
    starts = np.concatenate([[0], np.cumsum(liked.sum(axis=1))])
    with simulation():
        return make_reports(made, starts, np.nonzero(liked)[1], replay(seed))


def crafted(made, fakes, seed, chosen):
    """Reports that say yes to everything; chosen: under tickets that ask about the target."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < fakes:
        ticket = int(rng.integers(1, 2**63))
        if not chosen or any(TARGET in s for s in sensing.sensed_sets(made, ticket)):
            found.append(Report(made.id, ticket, 2**made.questions - 1).encode())
    return b"".join(found)


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("wanted", [{}, {"questions": 4, "rated": 8}])
def test_honest_people_are_left_alone(campaign, share, wanted):
    """Whatever they like: nothing is found (each test errs once in a million)."""
    made = campaign(60, **wanted)
    server = Server(made)
    server.fold(honest(made, 20_000, 1, share), now=0)
    assert not inspect(server).suspicious


def test_chosen_tickets_are_seen(campaign):
    """A twentieth of fakes that choose their tickets show at their target, and only there."""
    made = campaign(60)
    server = Server(made)
    server.fold(honest(made, 19_000, 2) + crafted(made, 1_000, 3, chosen=True), now=0)
    assert TARGET in inspect(server).asked


def test_too_many_yes_are_seen(campaign):
    """Where hardly anybody is honest, there are more ones than lies can make."""
    made = campaign(60, epsilon=0.5)
    server = Server(made)
    server.fold(crafted(made, 3_000, 4, chosen=False), now=0)
    found = inspect(server)
    assert found.share
    assert len(found.answered) == 60


@pytest.mark.parametrize("seed", range(3))
def test_a_large_honest_crowd_has_reports_of_many_ones(campaign, seed):
    """Among 20,000 honest reports some look odd by themselves; so many are no sign of fakes."""
    made = campaign(200, questions=32, rated=64, epsilon=4.0)
    server = Server(made)
    server.fold(honest(made, 20_000, seed, 1.0), now=0)
    found = inspect(server, false_alarm=1e-3)
    assert 0 < found.reports <= found.most_reports
    assert not found.suspicious


def test_a_planted_crowd_among_many_is_seen(campaign):
    """Fakes that say yes stand out of a crowd in which honest reports of many ones happen too."""
    made = campaign(200, questions=32, rated=64, epsilon=4.0)
    server = Server(made)
    server.fold(honest(made, 20_000, 9, 0.0) + crafted(made, 60, 10, chosen=False), now=0)
    found = inspect(server, false_alarm=1e-3)
    assert found.reports >= 60 > found.most_reports
    assert found.suspicious


NOTHING = Findings(
    asked=np.empty(0, int),
    answered=np.empty(0, int),
    reports=2,
    most_ones=3,
    most_reports=2,
    share=False,
)


@pytest.mark.parametrize(
    "trace",
    [{"asked": np.array([4])}, {"answered": np.array([4])}, {"reports": 3}, {"share": True}],
)
def test_one_trace_is_enough(trace):
    """Each of the four tests makes a campaign suspicious by itself."""
    assert not NOTHING.suspicious
    assert replace(NOTHING, **trace).suspicious


def test_nobody_is_not_suspected(campaign):
    """A server without reports has nothing to find."""
    assert not inspect(Server(campaign(questions=4, rated=8))).suspicious


def test_reports_of_ones_alone_are_seen(campaign):
    """With many questions, a report of ones alone is beyond chance."""
    made = campaign(200, questions=32, rated=64, epsilon=4.0)
    server = Server(made)
    server.fold(honest(made, 2_000, 5) + crafted(made, 40, 6, chosen=False), now=0)
    found = inspect(server)
    assert found.most_ones < 32
    assert found.reports == 40


@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("fakes", [0.01, 0.05])
def test_the_bound_holds(campaign, fakes, chosen):
    """Fakes that say yes move their target by at most the bound (and 5 sigma of noise)."""
    made, people = campaign(60), 20_000
    bound = manipulation(made, people=people, fakes=fakes)
    clean, dirty = Server(made), Server(made)
    count = round(fakes * people)
    clean.fold(honest(made, people, 7), now=0)
    data = honest(made, people, 7)[: 22 * (people - count)]
    dirty.fold(data + crafted(made, count, 8, chosen), now=0)
    moved = (
        item_counts(dirty).normalised_scores[TARGET] - item_counts(clean).normalised_scores[TARGET]
    )
    noise = 5 * np.sqrt(0.5 / (people * made.set_size / made.modulus))
    allowed = bound.chosen if chosen else bound.assigned
    assert moved <= allowed + noise
    if chosen:
        assert moved > bound.chosen / 4


def test_what_stays_unnoticed(campaign):
    """Hiding from the test costs fakes most of what they could do, the more so in a crowd."""
    made = campaign(1000, rated=20)
    few, many = (manipulation(made, people=n, fakes=0.05) for n in (10**5, 10**8))
    assert few.assigned < few.unnoticed < few.chosen
    assert many.unnoticed < few.unnoticed
    assert many.unnoticed == pytest.approx(many.assigned, rel=0.15)


def test_no_fakes_move_nothing(campaign):
    """Without fakes every bound but the gap is 0."""
    bound = manipulation(campaign(), people=1000, fakes=0.0)
    assert (bound.assigned, bound.chosen, bound.unnoticed) == (0, 0, 0)


@pytest.mark.parametrize(
    "wrong",
    [{"fakes": 1.0}, {"fakes": -0.1}, {"people": 0}, {"false_alarm": 0.0}, {"false_alarm": 1.0}],
)
def test_nonsense_is_refused(campaign, wrong):
    """The share, the number of people and the chance of a false alarm are in their ranges."""
    with pytest.raises(ConfigError):
        manipulation(campaign(), **({"people": 10, "fakes": 0.1} | wrong))


def test_pairs_are_not_inspected(campaign):
    """The facts that are tested are about sensed sets."""
    with pytest.raises(ConfigError):
        manipulation(campaign(method="pairwise-preference"), people=10, fakes=0.1)


def test_one_report_has_a_bound(campaign):
    """A single person, who is not crafted, moves nothing."""
    assert manipulation(campaign(), people=1, fakes=0.0).assigned == 0
