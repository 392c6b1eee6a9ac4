"""Simulated campaigns find what is there, and say how they were made."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tacit.data.synthetic_worlds import Blocks, draw
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.experiment import simulate
from tacit.designs.sketches.model import answer
from tacit.designs.sketches.server import Server, item_counts, pair_counts
from tacit.designs.sketches.theory import maxsense_chances
from tacit.errors import ConfigError
from tacit.randomness import replay, simulation

ONE_CLASS = Blocks(np.ones(1), np.full(2, 0.5), np.array([[0.9, 0.1]]))


def test_pairs_find_the_clusters():
    """60 items, everybody rated all, epsilon 1: 80,000 people label at least 97 % right."""
    rows = [
        simulate("pairwise-preference", items=60, rated=60, epsilon=1.0, users=[80_000], seed=seed)[
            0
        ]
        for seed in range(5)
    ]
    assert np.mean([row["accuracy"] for row in rows]) >= 0.97


def test_rated_pairs_are_those_that_were_rated():
    """Without noise a 1 is a pair of which both items are liked: where everybody likes one cluster
    alone, no pair with an item of the other has a 1, and each person names two items they rated."""
    world = Blocks(np.ones(1), np.full(2, 0.5), np.array([[1.0, 0.0]]))
    campaign = new_campaign(range(10), rated=3, epsilon=math.inf, method="pairwise-rated")
    labels, server = world.labels(10), Server(campaign, keep_tickets=False)
    (people,) = draw(world, labels, users=4000, rated=3, seed=1)
    pair = people.rated[:, :2]
    with simulation():
        server.fold(answer(campaign, people.starts, people.items, replay("pairs"), pair), now=0)
    counts = pair_counts(server)
    one, other = np.triu_indices(10, 1)
    inside = labels[one] + labels[other] == 0
    assert counts.asked.sum() == 4000
    assert (counts.ones[~inside] == 0).all()
    np.testing.assert_array_equal(counts.ones[inside], counts.asked[inside])


def test_public_rated_items_need_fewer_people():
    """Pairs of rated items find the clusters at a population where random pairs do not."""
    rows = {
        method: simulate(
            method, items=40, rated=10, epsilon=2.0, users=[60_000], seed=1, blocks=ONE_CLASS
        )[0]["accuracy"]
        for method in ("pairwise-preference", "pairwise-rated")
    }
    assert rows["pairwise-rated"] == 1 > rows["pairwise-preference"]


def test_more_people_find_more():
    """MaxSense fails with few people and finds all labels with many."""
    few, many = simulate(
        "maxsense",
        items=40,
        rated=10,
        epsilon=3.0,
        users=[300, 60_000],
        seed=1,
        blocks=ONE_CLASS,
    )
    assert few["accuracy"] < 0.9
    assert (many["accuracy"], many["ari"]) == (1.0, 1.0)


def test_several_questions_help():
    """At epsilon 6 three questions label more items right than one, with equally many people."""
    right = {
        method: np.mean(
            [
                simulate(
                    method,
                    items=100,
                    rated=20,
                    epsilon=6.0,
                    users=[2_500],
                    seed=seed,
                    blocks=ONE_CLASS,
                )[0]["accuracy"]
                for seed in range(4)
            ]
        )
        for method in ("maxsense", "multi-maxsense")
    }
    assert right["multi-maxsense"] > right["maxsense"] + 0.02


def test_without_noise_few_suffice():
    """The twin needs far fewer people than epsilon 1."""
    private, twin = (
        simulate(
            "maxsense",
            items=40,
            rated=10,
            epsilon=epsilon,
            users=[8_000],
            seed=2,
            blocks=ONE_CLASS,
        )[0]
        for epsilon in (0.5, math.inf)
    )
    assert twin["accuracy"] == 1.0
    assert private["accuracy"] < 0.9


def test_rows_are_plain():
    """A row has the documented fields, and JSON holds it at any epsilon."""
    (row,) = simulate("pairwise-preference", items=6, rated=6, epsilon=math.inf, users=[50], seed=0)
    content = row
    json.dumps(content, allow_nan=False)
    assert list(content) == [
        "method",
        "items",
        "rated",
        "epsilon",
        "users",
        "seed",
        "accuracy",
        "ari",
    ]


def test_seeds_repeat():
    """The same seed gives the same row, another one another."""
    one, same, other = (
        simulate("maxsense", items=40, rated=10, epsilon=1.0, users=[2000], seed=seed)[0]
        for seed in (1, 1, 2)
    )
    assert one == same
    assert one["ari"] != other["ari"]


@pytest.mark.parametrize(
    "wrong", [{"method": "guess"}, {"users": []}, {"users": [0]}, {"rated": 50}]
)
def test_nonsense_is_refused(wrong):
    """Parameters that make no sense are named."""
    fields = {"method": "maxsense", "items": 40, "rated": 10, "epsilon": 1.0, "users": [9]}
    with pytest.raises(ConfigError):
        simulate(**(fields | {"seed": 0} | wrong))


@pytest.mark.parametrize("items", [200, 600])
def test_scores_are_as_the_formula_has_them(items):
    """Where w is at most N / 10, scores are as far apart as by the formula, to a tenth.

    And they scatter as the answers to so many questions do.

    So what a crowd needs differs from the planner's number by how far its tail bound is from the
    normal distribution's own tail, and not by what a report tells.
    """
    rated, theta, people = 20, 0.9, 200_000
    campaign = new_campaign(range(items), rated=rated, epsilon=4.0, theta=theta, seed=bytes(16))
    labels = np.random.default_rng(5).permutation(ONE_CLASS.labels(items))
    server = Server(campaign, keep_tickets=False)
    with simulation():
        source = replay("scores")
        for likes in draw(ONE_CLASS, labels, users=people, rated=rated, seed=6):
            server.fold(answer(campaign, likes.starts, likes.items, source), now=0)
    counts = item_counts(server)
    asked = campaign.set_size * rated / campaign.modulus  # theta of whole items
    high, low = maxsense_chances(
        items, rated, 4.0, asked, ONE_CLASS.people, ONE_CLASS.items, ONE_CLASS.likes
    )
    scores = [counts.normalised[labels == label] for label in (0, 1)]
    assert scores[0].mean() - scores[1].mean() == pytest.approx(high - low, rel=0.1)
    spread = np.mean([score.var(ddof=1) for score in scores])
    binomial = np.mean(counts.normalised * (1 - counts.normalised) / counts.asked)
    assert spread / binomial == pytest.approx(1, abs=5 * np.sqrt(2 / items))
