"""A stream made of ratings: rounds by time, votes by stars, clients apart from voters."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.studies.prec_ratings import evaluate_stream, main, stream
from tacit.data.ratings import Ratings
from tacit.errors import DataError

ITEMS, PEOPLE = 44, 90


def rated(*, times: bool = True) -> Ratings:
    """Everybody rates everything; even items 5 stars by half the people and 1 by the others.

    Item i was rated at about second 1000 (ITEMS - i): the last number comes first.
    """
    users, items = np.repeat(np.arange(PEOPLE), ITEMS), np.tile(np.arange(ITEMS), PEOPLE)
    even = (items % 2 == 0) == (users % 2 == 0)
    stamps = 1000 * (ITEMS - items) + users if times else None
    return Ratings.from_arrays(users, items, np.where(even, 5.0, 1.0), stamps)


def test_items_come_up_in_the_order_of_time():
    """Votes of two kinds of people differ in every round, and follow their stars."""
    made = stream(rated(), objects=2, per_item=5, liked_from=4.0, clients=10, seed=0)
    assert made.votes.shape == (22, 80)
    assert made.likes.shape == (22, 10, 2)
    assert made.asks.all()
    # A round is (43, 42), (41, 40), ...: its second item is even.
    assert set(made.votes.mean(axis=0).tolist()) == {0.0, 1.0}
    assert (made.likes.sum(axis=2) == 1).all()


def test_who_rated_none_of_a_round_abstains():
    """And a client takes no part in a round that she did not rate whole."""
    ratings = rated()
    kept = ~((ratings.users < 45) & (ratings.items >= ITEMS - 4))
    made = stream(ratings.where(kept), objects=2, per_item=5, liked_from=4.0, clients=10, seed=0)
    first = [number for number in range(22) if (made.votes[number] == -1).any()]
    assert len(first) == 2
    assert (made.asks.sum(axis=0) >= 20).all()
    assert not made.asks.all()


def test_people_of_two_minds_are_served_by_learning():
    """Half of the voters agree with a client: weights find them, the majority cannot."""
    rows = evaluate_stream(
        rated(),
        methods=("majority", "weighted-majority", "p-rec-no-gate"),
        per_item=5,
        clients=20,
        workers=1,
    )
    by_method = {row.method: row.loss for row in rows}
    assert by_method["weighted-majority"] < 0.1
    assert by_method["p-rec-no-gate"] < 0.2
    assert by_method["majority"] > 0.2
    assert {row.abstained for row in rows} == {0.0}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"per_item": 91}, "which gives 0 rounds"),
        ({"clients": 91}, "only 90 people"),
        ({"liked_from": 6.0}, "only 0 people"),
    ],
)
def test_ratings_that_make_no_stream_are_refused(settings, says):
    """With what is missing, and what to change."""
    wanted = {"objects": 2, "per_item": 5, "liked_from": 4.0, "clients": 5} | settings
    with pytest.raises(DataError, match=says):
        stream(rated(), **wanted, seed=0)


def test_ratings_without_times_are_refused():
    """There is no order in which to show items."""
    with pytest.raises(DataError, match="no times"):
        stream(rated(times=False), objects=2, per_item=5, liked_from=4.0, clients=5, seed=0)


def test_on_real_ratings_the_gate_shuts(ml_100k, capsys):
    """MovieLens 100K has no peers for 300 rounds: the gate says so, and the counters err less."""
    words = "--clients 16 --seeds 1 --workers 1 --method p-rec majority"
    assert main([str(ml_100k), *words.split()]) == 0
    points = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {point["method"]: point for point in points}
    assert found["p-rec"]["stopped"] == 1
    assert found["majority"]["loss"][0] < found["p-rec"]["loss"][0]
