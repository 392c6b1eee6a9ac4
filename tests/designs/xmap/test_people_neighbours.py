"""Predictions from people like a person, against the formulas, with and without draws."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from scipy import sparse

from tacit.designs.xmap import recommender
from tacit.designs.xmap.generator import Profiles
from tacit.designs.xmap.private_neighbours import NeighbourParameters, draw_neighbours
from tacit.designs.xmap.recommender import PeopleNeighbours
from tacit.randomness import secure

STARS = [[5, 4, 1], [5, 5, 2], [4, 5, 1], [1, 1, 5]]


def profiles(rows):
    """Deviations from means of 3."""
    matrix = sparse.csr_array(np.array(rows, dtype=float))
    return Profiles(matrix, matrix.data - 3.0, None)


def people(rows, *, k=9, budget=None, reading="positive"):
    pnsa = None if budget is None else NeighbourParameters(k, budget, reading)
    return PeopleNeighbours(np.full(3, 3.0), profiles(rows), k, pnsa, secure())


def test_similarity():
    """Co-rated deviations from item means over both norms, which run over all ratings; a person of
    negative similarity is no neighbour."""
    chosen, similarities = people([[5, 0, 2], [0, 4, 0]]).neighbours(profiles([[4, 2, 0]]))
    assert chosen.tolist() == [0]
    assert similarities == pytest.approx([2 * 1 / (math.sqrt(5) * math.sqrt(2))])


def test_the_k_most_alike():
    """The largest first, k at most."""
    chosen, similarities = people([*STARS, [4, 4, 2]], k=2).neighbours(profiles([[5, 5, 1]]))
    assert chosen.tolist() == [4, 0]
    assert similarities.tolist() == pytest.approx([1, 16 / (6 * math.sqrt(8))], abs=0.1)


@pytest.mark.parametrize("budget", [None, 1.0])
def test_the_very_same_profile_is_herself(budget):
    """A person in training is not her own neighbour; other stars or items make another person."""
    rows = [[5, 0, 2], [5, 1, 2], [5, 0, 1], [4, 0, 2]]
    chosen, _ = people(rows, budget=budget).neighbours(profiles([[5, 0, 2]]))
    assert sorted(chosen.tolist()) == [1, 2, 3]


def test_formula():
    """Her own mean plus neighbours' deviations from THEIR means, divided by |similarities|."""
    model, mine = people([[5, 0, 2], [4, 1, 0]]), profiles([[4, 2, 0]])
    chosen, (first, second) = model.neighbours(mine)
    assert chosen.tolist() == [1, 0]
    (stars,), (weight,) = model.predict(mine), model.support(mine)
    assert stars[0] == pytest.approx(3 + (second * 1.5 + first * 1.5) / (first + second))
    assert stars.tolist()[1:] == pytest.approx([3 - 1.5, 3 - 1.5])
    assert weight.tolist() == pytest.approx([first + second, first, second])


def test_without_ratings_the_means():
    """Nobody is like a person without ratings."""
    assert people(STARS).predict(profiles([[0, 0, 0]])).tolist() == [[3, 3, 3]]


def test_everybody_alike_may_be_drawn():
    """With as many places as people of positive similarity all of them are neighbours, the first
    of the data too; who rates the other way round is none."""
    chosen, similarities = people(STARS, k=4, budget=1.0).neighbours(profiles([[5, 5, 1]]))
    assert sorted(chosen.tolist()) == [0, 1, 2]
    assert len(similarities) == 3


def test_everybody_else_may_be_drawn_as_printed():
    """As printed, who rates the other way round can be a neighbour too, with a similarity below 0;
    the person themselves cannot."""
    model = people([*STARS, [5, 5, 1]], k=4, budget=1e9, reading="printed")
    chosen, similarities = model.neighbours(profiles([[5, 5, 1]]))
    assert sorted(chosen.tolist()) == [0, 1, 2, 3]
    assert similarities[chosen == 3] < -0.5


def test_drawn_people_are_as_alike_as_without_draws():
    """At a large budget: the same cosines."""
    mine = profiles([[5, 5, 1]])
    chosen, similarities = people(STARS, budget=1e9).neighbours(mine)
    exact = dict(zip(*(each.tolist() for each in people(STARS).neighbours(mine)), strict=True))
    assert similarities == pytest.approx([exact[person] for person in chosen], abs=1e-4)


def test_threads_that_draw_at_once_share_the_first_draw(monkeypatch):
    """Two draws for one profile would reveal more than one: only the stored one is returned."""
    model, mine = people(STARS, k=2, budget=1.0), profiles([[5, 5, 1]])
    both_draw = Barrier(2, timeout=60)

    def draw_together(*arguments):
        both_draw.wait()
        return draw_neighbours(*arguments)

    monkeypatch.setattr(recommender, "draw_neighbours", draw_together)
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(model.neighbours, [mine, mine])
    assert first is second
