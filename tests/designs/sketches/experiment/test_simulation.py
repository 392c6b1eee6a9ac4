"""Simulated campaigns find what is there, and say how they were made."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from tacit.data.synthetic_worlds import Blocks, draw_likes
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.counting import item_counts, pair_counts
from tacit.designs.sketches.experiment import simulation as simulations
from tacit.designs.sketches.experiment.one_bit import SCHEMES, count_answers
from tacit.designs.sketches.experiment.simulation import (
    choose_named_pairs,
    list_dislikes,
    simulate,
)
from tacit.designs.sketches.population import make_reports
from tacit.designs.sketches.server import Server
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
    (people,) = draw_likes(world, labels, users=4000, rated=3, seed=1)
    pair = people.rated[:, :2]
    with simulation():
        server.fold(
            make_reports(campaign, people.starts, people.items, replay("pairs"), pair), now=0
        )
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
        for likes in draw_likes(ONE_CLASS, labels, users=people, rated=rated, seed=6):
            server.fold(make_reports(campaign, likes.starts, likes.items, source), now=0)
    counts = item_counts(server)
    asked = campaign.set_size * rated / campaign.modulus  # theta of whole items
    high, low = maxsense_chances(
        items, rated, 4.0, asked, ONE_CLASS.people, ONE_CLASS.items, ONE_CLASS.likes
    )
    scores = [counts.normalised_scores[labels == label] for label in (0, 1)]
    assert scores[0].mean() - scores[1].mean() == pytest.approx(high - low, rel=0.1)
    spread = np.mean([score.var(ddof=1) for score in scores])
    binomial = np.mean(counts.normalised_scores * (1 - counts.normalised_scores) / counts.asked)
    assert spread / binomial == pytest.approx(1, abs=5 * np.sqrt(2 / items))


def test_identical_pairs_ask_whether_both_are_rated_alike():
    """Without noise, where everybody likes the first cluster alone, exactly the pairs within a
    cluster are answered with yes; who rated one item of a pair answers no."""
    world = Blocks(np.ones(1), np.array([0.4, 0.6]), np.array([[1.0, 0.0]]))
    labels = world.labels(10)
    (people,) = draw_likes(world, labels, users=4000, rated=7, seed=1)
    dislikes = list_dislikes(people, 10)
    rows = zip(people.rated, np.split(dislikes[1], dislikes[0][1:-1]), strict=True)
    assert all({*own} == {item for item in rated if labels[item]} for rated, own in rows)
    both_rated = np.zeros((10, 10))
    for rated in people.rated:
        both_rated[np.ix_(rated, rated)] += 1 / 4000
    one, other = np.triu_indices(10, 1)
    alike = labels[one] == labels[other]
    for method, chance in (
        ("pairwise-identical", both_rated[one, other]),
        ("pairwise-rated-identical", np.ones(45)),
    ):
        campaign = new_campaign(range(10), rated=7, epsilon=math.inf, method=method)
        server = Server(campaign, keep_tickets=False)
        pair = people.rated[:, :2] if campaign.names_pair else None
        with simulation():
            source, own = replay("alike"), (people.starts, people.items)
            server.fold(make_reports(campaign, *own, source, pair, dislikes), now=0)
        counts = pair_counts(server)
        assert counts.asked.sum() == 4000
        assert (counts.ones[~alike] == 0).all()
        expected = (counts.asked * chance)[alike]
        # Five standard deviations: fails by chance less than once in 10^5 runs.
        error = np.sqrt(expected * (1 - chance[alike])) + 1e-9
        assert (np.abs(counts.ones[alike] - expected) <= 5 * error).all()


def test_a_larger_number_of_people_holds_the_smaller_one(monkeypatch):
    """Of 300 people the 200 beyond the first 100 are drawn, not 300 others."""
    drawn = []

    def draw_and_note(world, labels, *, users, rated, seed):
        drawn.append(users)
        return draw_likes(world, labels, users=users, rated=rated, seed=seed)

    monkeypatch.setattr(simulations, "draw_likes", draw_and_note)
    simulate("maxsense", items=20, rated=10, epsilon=1.0, users=[300, 100], seed=1)
    assert drawn == [100, 200]


def test_all_pairs_of_two_items_are_named_alike():
    """Where everything is rated nobody names one item twice, and each of the 12 pairs of 4 items
    has a twelfth of 12,000 people; false alarm below 1e-6 (chi squared, 11 degrees of freedom)."""
    (people,) = draw_likes(ONE_CLASS, ONE_CLASS.labels(4), users=12_000, rated=4, seed=1)
    first, second = choose_named_pairs(people, 4, np.random.default_rng(1)).T
    counts = np.bincount(4 * first + second, minlength=16).reshape(4, 4)
    assert counts.diagonal().tolist() == [0, 0, 0, 0]
    others = counts[~np.eye(4, dtype=bool)]
    assert ((others - 1000) ** 2 / 1000).sum() < 49


@pytest.mark.parametrize("method", ["pairwise-rated", "pairwise-rated-identical"])
def test_everything_rated_names_any_pair(method):
    """Where all items are rated, people name different pairs, and the clusters are found."""
    row = simulate(
        method, items=20, rated=20, epsilon=2.0, users=[20_000], seed=1, blocks=ONE_CLASS
    )[0]
    assert row["accuracy"] == 1.0


def test_identical_pairs_find_the_clusters():
    """60 items, everybody rated all, epsilon 1, one class: about 8,600 people are planned, and at
    that number at least 97 % of the labels are right, where both-liked pairs have fewer."""
    setting = {"items": 60, "rated": 60, "epsilon": 1.0, "users": [8_600], "blocks": ONE_CLASS}
    right = {}
    for method in ("pairwise-identical", "pairwise-preference"):
        rows = [simulate(method, seed=seed, **setting)[0] for seed in range(3)]
        right[method] = np.mean([row["accuracy"] for row in rows])
    assert right["pairwise-identical"] >= 0.97
    assert right["pairwise-preference"] < 0.9


UNEQUAL = Blocks(np.array([0.2, 0.8]), np.array([0.7, 0.3]), np.array([[0.9, 0.2], [0.3, 0.8]]))


def test_scores_of_unequal_clusters_are_as_the_formula_has_them():
    """Shares 20 % and 80 % of people, 70 % and 30 % of items: the clusters' mean scores are as
    far apart as by the formula, to a tenth."""
    items, rated, people = 200, 20, 400_000
    campaign = new_campaign(range(items), rated=rated, epsilon=4.0, theta=0.9, seed=bytes(16))
    labels = np.random.default_rng(5).permutation(UNEQUAL.labels(items))
    assert np.bincount(labels).tolist() == [140, 60]
    server = Server(campaign, keep_tickets=False)
    with simulation():
        source = replay("unequal scores")
        for likes in draw_likes(UNEQUAL, labels, users=people, rated=rated, seed=6):
            server.fold(make_reports(campaign, likes.starts, likes.items, source), now=0)
    counts = item_counts(server)
    theta = campaign.set_size * rated / campaign.modulus
    world = UNEQUAL.people, UNEQUAL.items, UNEQUAL.likes
    expected = maxsense_chances(items, rated, 4.0, theta, *world)
    scores = [counts.normalised_scores[labels == label].mean() for label in (0, 1)]
    assert scores[0] - scores[1] == pytest.approx(expected[0] - expected[1], rel=0.1)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_told_of_a_rated_item(scheme):
    """One bit each: a yes comes from one person in 2N, and tells the item and its label; one bit
    on average: one person in log2(2N) tells all. No false label is ever told (5 sigma)."""
    world = Blocks(np.ones(1), np.full(2, 0.5), np.array([[1.0, 0.0]]))
    items, people = 16, 64_000
    labels = world.labels(items)
    told = count_answers(scheme, world, labels, users=people, seed=(3, 0))
    assert (told[0, labels == 0] == 0).all()
    assert (told[1, labels == 1] == 0).all()
    expected = people / 32 if scheme == "one-bit-question" else people / 5
    assert abs(told.sum() - expected) < 5 * math.sqrt(expected)
    assert told.max(axis=0).min() > 0.5 * expected / items


def test_a_bit_each_needs_more_people_than_a_bit_on_average():
    """30 items, one rated: with 1,500 people a bit on average labels all, a bit each does not;
    with 30,000 both do."""
    world = Blocks(np.ones(1), np.full(2, 0.5), np.array([[1.0, 0.0]]))
    setting = {"items": 30, "rated": 1, "epsilon": math.inf, "users": [1_500, 30_000]}
    right = {}
    for scheme in SCHEMES:
        rows = simulate(scheme, seed=1, blocks=world, **setting)
        right[scheme] = [row["accuracy"] for row in rows]
        assert {row["epsilon"] for row in rows} == {None}
    assert right["one-bit-on-average"] == [1.0, 1.0]
    assert right["one-bit-question"][0] < 0.95
    assert right["one-bit-question"][1] == 1.0


@pytest.mark.parametrize(
    ("wrong", "said"), [({"rated": 2}, "--rated 1, not 2"), ({"epsilon": 1.0}, "--epsilon inf")]
)
def test_schemes_without_privacy_say_so(wrong, said):
    """They are for one rated item, and claim no epsilon."""
    fields = {"items": 20, "rated": 1, "epsilon": math.inf, "users": [10], "seed": 0}
    with pytest.raises(ConfigError, match=said):
        simulate("one-bit-question", **(fields | wrong))
