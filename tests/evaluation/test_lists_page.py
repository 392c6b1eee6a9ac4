"""The page of `tacit evaluate`: a verdict from the rows, a picture over epsilon, the table."""

from __future__ import annotations

import math

import pytest

from tacit.evaluation.any_design import table_of_lists
from tacit.evaluation.lists import ListRow
from tacit.evaluation.lists_page import make_lists_page, make_verdict


def row(model, epsilon, ndcg, kept=None):
    return ListRow(model, epsilon, ndcg, 0.5, None, ndcg - 0.01, ndcg + 0.01, kept)


@pytest.fixture
def rows():
    return [
        row("popularity", None, 0.2),
        row("ease", None, 0.4, 1.0),
        row("private", 0.5, 0.19, -0.05),
        row("private", 1.0, 0.32, 0.6),
        row("private", math.inf, 0.39, 0.95),
    ]


def test_the_verdict_is_of_the_epsilon_nearest_to_one(rows):
    """It says what is kept, with the interval; better than popularity where that lies below it."""
    verdict = make_verdict(rows)
    assert verdict.headline == "private at epsilon 1 keeps 60% of ease's gain over popularity."
    assert "0.320 [0.310, 0.330]" in verdict.sentence
    assert verdict.state == "good"


def test_worse_than_popularity_is_said_by_the_colour(rows):
    """The interval lies below popularity's mean; a gain below 0 is no share that is kept."""
    worse = [*rows[:2], row("private", 1.0, 0.15, -0.25)]
    verdict = make_verdict(worse)
    assert verdict.state == "worse"
    assert verdict.headline.startswith("private at epsilon 1 is below popularity here")


def test_no_epsilon_has_no_verdict(rows):
    """Without a claimed epsilon nothing is kept at one."""
    assert make_verdict([*rows[:2], rows[-1]]) is None


def test_the_page_has_verdict_picture_and_table(rows):
    """In this order, without an address or a script."""
    page = make_lists_page("Private", rows, table_of_lists(rows), {"date": "today"}).html()
    order = ["keeps 60%", "<svg", "Lists of ten"]
    assert [page.index(text) for text in order] == sorted(page.index(text) for text in order)
    assert "://" not in page
    assert "<script" not in page
