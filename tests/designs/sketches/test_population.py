"""Many devices at once answer as each would by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.designs.sketches.device import Device, Limits
from tacit.designs.sketches.messages import Report
from tacit.designs.sketches.population import make_reports, true_bits
from tacit.errors import ConfigError
from tacit.randomness import replay, simulation

ANY = Limits(epsilon=50, lifetime=500)


def crowd(people=60, items=40, seed=0):
    """starts, likes of random people, everybody at most 8."""
    rng = np.random.default_rng(seed)
    liked = [rng.permutation(items)[: rng.integers(0, 9)] for _ in range(people)]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in liked])])
    return starts.astype(np.int64), np.concatenate(liked).astype(np.int64), liked


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"items": 41},
        {"questions": 5, "theta": 1.2},
        {"method": "pairwise-preference", "questions": 3},
    ],
)
def test_the_same_bits_as_devices(campaign, wanted):
    """Without noise, bit for bit what the shipped device computes for the same tickets."""
    made = campaign(rated=8, **wanted)
    starts, likes, liked = crowd(items=made.n_items)
    reports = []
    for n, own in enumerate(liked):
        device = Device(n.to_bytes(32, "big"), {}, ANY, coin=lambda question: 0)
        reports.append(device.report(made, range(made.n_items), dict.fromkeys(own.tolist(), 5.0)))
    tickets = np.array([report.ticket for report in reports], dtype=np.uint64)
    bits = true_bits(made, tickets, starts, likes)
    assert bits.tolist() == [report.bits for report in reports]
    assert len(set(bits.tolist())) > 1


def test_the_twin_tells_the_truth(campaign):
    """With an infinite epsilon the reports hold the true bits."""
    made = campaign(rated=8, epsilon=math.inf)
    starts, likes, _ = crowd()
    with simulation():
        data = make_reports(made, starts, likes, replay(1))
    reports = [Report.decode(data[at : at + 22]) for at in range(0, len(data), 22)]
    tickets = np.array([report.ticket for report in reports], dtype=np.uint64)
    bits = true_bits(made, tickets, starts, likes)
    assert [report.bits for report in reports] == bits.tolist()


def test_lies_are_as_often_as_stated(campaign):
    """Of people who like nothing, a quarter says yes to each question at ln 3 (5 sigma)."""
    made = campaign(rated=8, epsilon=3 * math.log(3), questions=3, theta=0.5)
    with simulation():
        data = make_reports(made, np.zeros(4001, dtype=np.int64), np.empty(0, np.int64), replay(2))
    bits = [Report.decode(data[at : at + 22]).bits for at in range(0, len(data), 22)]
    for question in range(3):
        share = sum(b >> question & 1 for b in bits) / 4000
        assert abs(share - 0.25) < 5 * math.sqrt(3 / 16 / 4000)


def test_likes_are_capped(campaign):
    """Under unit user nobody answers with more likes than epsilon is calibrated for."""
    made = campaign(rated=2, theta=0.05, questions=32, epsilon=math.inf)
    starts = np.arange(0, 40 * 51, 40)
    with simulation():
        data = make_reports(made, starts, np.tile(np.arange(40), 50), replay(3))
    counts = [Report.decode(data[at : at + 22]).bits.bit_count() for at in range(0, len(data), 22)]
    assert max(counts) == 2
    free = campaign(rated=2, theta=0.05, questions=32, epsilon=math.inf, unit="rating")
    with simulation():
        data = make_reports(free, starts, np.tile(np.arange(40), 50), replay(3))
    assert all(
        Report.decode(data[at : at + 22]).bits.bit_count() >= 31 for at in range(0, len(data), 22)
    )


def test_pairs_of_rated_items_are_refused(campaign):
    """Likes alone do not say which items were rated."""
    made = campaign(method="pairwise-rated")
    with pytest.raises(ConfigError, match="on the device"):
        true_bits(made, np.ones(1, np.uint64), np.zeros(2, np.int64), np.empty(0, np.int64))
