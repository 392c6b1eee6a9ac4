"""Sketches on ratings: crowds are what they say, lists are the device's, and more people help."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import sparse

from tacit.data.synthetic import generate
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.counting import item_counts
from tacit.designs.sketches.device import Device
from tacit.designs.sketches.experiment.ratings import (
    draw_counts,
    evaluate_ratings,
    hit_chances,
    make_lists,
    plan_campaign,
)
from tacit.designs.sketches.messages import WHOLE, Clusters, catalogue_digest
from tacit.designs.sketches.planner import plan
from tacit.designs.sketches.population import count_simulated_reports
from tacit.errors import ConfigError, DataError
from tacit.randomness import replay, simulation

ITEMS = 60


@pytest.fixture(scope="module")
def likes() -> sparse.csr_array:
    """40 people, some items far better liked than others; one person likes nothing."""
    rng = np.random.default_rng(4)
    table = rng.random((40, ITEMS)) < np.linspace(0.02, 0.6, ITEMS)
    table[7] = False
    return sparse.csr_array(table.astype(float))


def campaign(**wanted):
    fields = {"rated": 10, "theta": 1.0, "questions": 2, "epsilon": 2.0, "seed": bytes(16)}
    return new_campaign(range(ITEMS), **(fields | wanted))


@pytest.mark.parametrize("unit", ["user", "rating"])
@pytest.mark.parametrize("way", ["reports", "marginals"])
def test_counts_have_the_stated_chances(likes, way, unit):
    """With the likes capped and not, both ways give shares of ones as hit_chances has them."""
    made, users = campaign(unit=unit), 60_000
    if way == "reports":
        people = sparse.vstack([likes] * (users // likes.shape[0])).tocsr()
        with simulation():
            counts = item_counts(count_simulated_reports(made, people, replay("crowd 1")))
    else:
        counts = draw_counts(made, likes, users=users, seed=1)
    truth = made.truth / WHOLE
    hits = hit_chances(made, likes)
    expected = truth * hits + (1 - truth) * (1 - hits)
    error = np.sqrt(expected * (1 - expected) / counts.asked)
    # Sets of the wheel are not all equally likely: allowed for by a hundredth.
    assert np.all(np.abs(counts.normalised_scores - expected) < 4.5 * error + 0.01)
    asked = made.questions * made.set_size / made.modulus * users
    assert counts.asked.mean() == pytest.approx(asked, rel=0.01)


def test_chances_by_hand():
    """Two people, of whom one likes the first item alone: 1/2 for it, and who is beside it."""
    made = campaign(rated=60, theta=2.0, questions=1)
    assert (made.modulus, made.set_size) == (61, 2)
    table = np.zeros((2, ITEMS))
    table[0, 0] = 1
    chances = hit_chances(made, sparse.csr_array(table))
    assert chances[0] == pytest.approx(1 / 2)
    assert chances[1:] == pytest.approx(np.full(ITEMS - 1, 1 / 60 / 2))


def test_lists_are_the_devices(likes):
    """The same lists, item by item, as `Device.recommend` makes for each person."""
    rng = np.random.default_rng(2)
    labels = bytes(rng.integers(3, size=ITEMS).tolist())
    scores = tuple(rng.integers(5, size=ITEMS).tolist())  # many are equal
    clusters = Clusters(bytes(32), catalogue_digest(range(ITEMS)), labels, scores)
    stars = likes.copy()
    stars.data[:] = rng.integers(1, 6, size=likes.nnz)
    liked = stars.copy()
    liked.data = (liked.data >= 4).astype(float)
    found = make_lists(clusters, stars, liked, n=50)
    device = Device(bytes(32), {})
    for person in range(stars.shape[0]):
        part = slice(stars.indptr[person], stars.indptr[person + 1])
        history = dict(zip(stars.indices[part].tolist(), stars.data[part].tolist(), strict=True))
        own = device.recommend(clusters, range(ITEMS), history, liked_from=4, n=50)
        assert found[person][found[person] >= 0].tolist() == own


@pytest.fixture(scope="module")
def curve():
    ratings = generate(users=150, items=ITEMS, ratings=4_000, seed=3)
    return evaluate_ratings(
        ratings, users=[50, 10**9], epsilons=[1.0, math.inf], rated=20, seeds=[0, 1], liked_from=4
    )


def test_every_setting_has_a_row(curve):
    """Each crowd, the planner's own, endless reports, and the methods in the clear, by seed."""
    crowds = {
        (row["epsilon"], row["users"]) for row in curve["rows"] if row["method"] == "multi-maxsense"
    }
    planned = round(curve["needed"][0]["users_clt"])
    assert crowds == {
        *((1.0, users) for users in (50, planned, 10**9, math.inf)),
        *((math.inf, users) for users in (50, 10**9, math.inf)),
    }
    clear = {row["method"] for row in curve["rows"] if row["epsilon"] is None}
    assert clear == {"spectral-coclustering", "popularity", "item-knn"}
    assert {row["seed"] for row in curve["rows"]} == {0, 1}
    json.dumps(curve["points"][0] | {"users": None}, allow_nan=False)


def test_many_people_come_near_endless_reports(curve):
    """A thousand million people at epsilon 1 are as good as endless reports; fifty are not."""
    ndcg = {
        (point["epsilon"], point["users"]): point["ndcg_at_10"][0]
        for point in curve["points"]
        if point["method"] == "multi-maxsense"
    }
    endless = ndcg[1.0, math.inf]
    assert ndcg[1.0, 10**9] == pytest.approx(endless, rel=0.05)
    assert ndcg[1.0, 50] < 0.9 * endless


def test_the_sentence_is_honest(curve):
    """It names the bound, the plan, how many there are, and what was measured."""
    (need,) = curve["needed"]
    (sentence,) = curve["sentences"]
    assert f"{math.ceil(need['lower_bound']):,}" in sentence
    assert "These ratings have 150 people." in sentence
    assert "with a chance of 90%" in sentence
    assert need["users_near"] is not None
    assert f"{need['users_near']:,.0f}" in sentence


@pytest.mark.parametrize(
    "wrong", [{"users": []}, {"users": [0]}, {"users": [0, 5]}, {"epsilons": []}, {"seeds": []}]
)
def test_nothing_to_do_is_refused(wrong):
    """A curve without a crowd, an epsilon or a seed."""
    ratings = generate(users=20, items=10, ratings=100, seed=0)
    with pytest.raises(ConfigError, match="A curve needs"):
        evaluate_ratings(ratings, **({"users": [5]} | wrong))


def test_without_a_wish_reports_cost_epsilon_1():
    """One row of reports for each crowd, at the epsilon that nobody named."""
    ratings = generate(users=60, items=20, ratings=900, seed=1)
    rows = evaluate_ratings(ratings, users=[50], rated=10, seeds=[0])["rows"]
    assert {row["epsilon"] for row in rows} == {1.0, None}


def test_the_bound_of_one_question_does_not_limit_several_questions():
    """For one rated item, several questions at epsilon 6 are not held to Theorem 4.3's bound."""
    ratings = generate(users=60, items=20, ratings=900, seed=1)
    curve = evaluate_ratings(ratings, users=[50], epsilons=[6.0], rated=1, seeds=[0])
    planned = plan(items=ratings.n_items, rated=1, epsilon=6.0)
    bounds = planned.lower_bounds
    assert planned.method_plan("multi-maxsense").questions > 1
    expected = max(bounds["ldp"], bounds["scarce"], bounds["adaptive"])
    assert expected < bounds["one_bit"]
    assert curve["needed"][0]["lower_bound"] == expected


def test_ratings_without_likes_are_refused():
    """Nobody likes anything at six stars."""
    ratings = generate(users=20, items=10, ratings=100, seed=0)
    with pytest.raises(DataError, match="one side of the split has no likes"):
        evaluate_ratings(ratings, users=[5], rated=5, liked_from=6.0)


def test_on_movielens(ml_100k):
    """At epsilon 1 its 943 people are far too few, and a hundred million are enough; lists in the
    clear are better than any that two clusters allow."""
    from tacit.data import load

    curve = evaluate_ratings(load(ml_100k), users=[943, 10**8], epsilons=[1.0], seeds=[0])
    ndcg = {(row["method"], row["users"]): row["ndcg_at_10"] for row in curve["rows"]}
    endless = ndcg["multi-maxsense", math.inf]
    assert ndcg["multi-maxsense", 943] < 0.3 * endless
    assert ndcg["multi-maxsense", 10**8] > 0.95 * endless
    assert ndcg["popularity", None] > 1.1 * endless
    assert ndcg["item-knn", None] > 1.5 * endless
    assert curve["needed"][0]["users_clt"] > 1e9


def test_the_campaign_is_the_advised_one():
    """Sets as large as the plan's theta makes them, and as many questions; not those of theta 1."""
    for epsilon, rated in ((1.0, 10), (6.0, 20)):
        advice = plan(items=200, rated=rated, epsilon=epsilon)
        advised = advice.method_plan("multi-maxsense")
        made = plan_campaign(range(200), advice, epsilon, 3.5, seed=1)
        sized, other = (
            new_campaign(range(200), rated=rated, epsilon=epsilon, theta=theta).set_size
            for theta in (advised.theta, 1.0)
        )
        assert made.set_size == sized != other
        assert (made.questions, made.rated, made.liked_from) == (advised.questions, rated, 3500)
