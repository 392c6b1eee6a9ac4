"""Letters of people with each value show equally many items, or the fit is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from tacit import StandardScheme
from tacit.data import Ratings, RatingScale
from tacit.designs.standard_scheme.training import fitting
from tacit.designs.standard_scheme.training import people as module
from tacit.designs.standard_scheme.training.letter_lengths import (
    LARGEST_RATIO,
    expected_items_shown,
    largest_ratio,
    simulate_exact_ratio,
)
from tacit.designs.standard_scheme.training.people import ConsentingPeople, find_consenting_people
from tacit.designs.standard_scheme.training.tables import estimate_all_tables
from tacit.errors import ConfigError

PEOPLE = 300
ITEMS = 80
SMALL = {"factors": 2, "service_sees_items": False}


def test_a_ratio_of_nothing():
    """Letters that show nothing are equally long; beside others, they are infinitely shorter."""
    assert largest_ratio(np.zeros(2)) == 1.0
    assert largest_ratio(np.array([3.0, 0.0])) == np.inf
    assert largest_ratio(np.array([0.5, 0.25])) == 2.0


def people_alike(people=PEOPLE, items=ITEMS, rated=20, seed=0):
    """(people, items) levels of people who all rate by one law, some more than others; -1: none."""
    generator = np.random.default_rng(seed)
    popularity = 1 / (np.arange(items) + 8.0)
    activity = np.clip(generator.lognormal(0, 0.5, people), 0.3, 3.0)
    chances = np.clip(activity[:, None] * popularity * rated / popularity.sum(), 0, 0.9)
    is_rated = generator.random((people, items)) < chances
    levels = generator.choice(5, (people, items), p=[0.06, 0.11, 0.27, 0.34, 0.22])
    return np.where(is_rated, levels, -1)


LEVELS = people_alike()


def ratings_of(levels=LEVELS, **attributes):
    """Ratings of people with these levels and columns of attributes."""
    users, items = np.nonzero(levels >= 0)
    return Ratings.from_arrays(
        users,
        items,
        levels[users, items] + 1.0,
        scale=RatingScale(1, 5, 1),
        user_attributes={name: dict(enumerate(column)) for name, column in attributes.items()},
    )


def rare(count, value="X", people=PEOPLE):
    """A column of F and M in which the first people have another value."""
    return [value if number < count else "FM"[number % 2] for number in range(people)]


@pytest.mark.parametrize(
    ("count", "items", "rated"),
    [(1, 80, 20), (2, 80, 20), (5, 80, 20), (10, 80, 20), (20, 400, 40)],
)
def test_a_value_of_few_people_is_refused(count, items, rated):
    """Everybody rates alike, but the rounded counts of few people are too small."""
    levels = people_alike(items=items, rated=rated)
    with pytest.raises(ConfigError, match="number of items in a letter would tell gender") as error:
        StandardScheme(**SMALL).fit(ratings_of(levels, gender=rare(count)))
    assert "rarest value is 'X' of gender, with" in str(error.value)
    assert "--values gender=F,M" in str(error.value)


def test_values_of_many_people_are_fitted():
    """And letters of the training people with each value show equally many items."""
    ratings = ratings_of(gender=rare(0))
    StandardScheme(**SMALL).fit(ratings)
    people, _ = find_consenting_people(ratings, ["gender"])
    shown = expected_items_shown(people, estimate_all_tables(people))["gender"]
    assert largest_ratio(shown) < (1 + LARGEST_RATIO) / 2


def test_values_may_differ_in_how_much_people_rate():
    """People with one value rate half as much: letters do not tell it, so nothing is refused."""
    levels = LEVELS.copy()
    leaves_out = np.random.default_rng(1).random(levels[::2].shape) < 0.5
    levels[::2][leaves_out] = -1
    StandardScheme(**SMALL).fit(ratings_of(levels, gender=rare(0)))


def test_one_person_who_rates_little_is_refused():
    """Their own letter is as short as those of others; the next person's would not be."""
    levels = LEVELS.copy()
    levels[0, np.flatnonzero(levels[0] >= 0)[2:]] = -1  # two ratings are left
    ratings = ratings_of(levels, gender=rare(1))
    people, _ = find_consenting_people(ratings, ["gender"])
    shown = expected_items_shown(people, estimate_all_tables(people))["gender"]
    assert largest_ratio(shown) < 2
    assert simulate_exact_ratio(people, 0) > 5
    with pytest.raises(ConfigError, match="would tell gender"):
        StandardScheme(**SMALL).fit(ratings)


def test_a_rare_value_of_a_second_attribute_is_refused():
    """Each of several attributes is looked at."""
    ratings = ratings_of(gender=rare(0), country=rare(5, "other"))
    with pytest.raises(ConfigError, match="would tell country"):
        StandardScheme(attributes=("gender", "country"), **SMALL).fit(ratings)


def test_a_value_that_nobody_has_is_refused():
    """Its tables would be made up, and letters of the people who have it would be long."""
    ages = [str(20 + number % 4) for number in range(PEOPLE)]
    scheme = StandardScheme(attributes=("age",), edges={"age": (22, 50)}, **SMALL)
    with pytest.raises(ConfigError, match="No training person has the value '50 and above' of age"):
        scheme.fit(ratings_of(age=ages))


@pytest.mark.parametrize("other", [{"variant": "published"}, {"release": "scheme+rounding"}])
def test_what_is_not_looked_at(other):
    """The paper's own variant, which is only reproduced, and releases without selection."""
    StandardScheme(**SMALL, **other).fit(ratings_of(gender=rare(3)))


def test_noise_that_tells_a_rare_value_is_refused():
    """At the least epsilon, noise makes the counts of 20 people look like those of many."""
    ratings = ratings_of(gender=rare(20))
    scheme = StandardScheme(disclosure_epsilon=16, values={"gender": ("F", "M", "X")}, **SMALL)
    with pytest.raises(ConfigError, match="the noise of this disclosure alone"):
        scheme.fit(ratings)


def test_a_private_fit_is_refused_by_its_release_alone(monkeypatch):
    """The exact people are not looked at, so one person cannot decide the refusal."""
    looked_at = []
    monkeypatch.setattr(fitting, "refuse_uneven_letters", lambda *_: looked_at.append(1))
    StandardScheme(disclosure_epsilon=1000, **SMALL).fit(ratings_of(gender=rare(0)))
    assert not looked_at


def test_noise_does_not_shorten_letters_of_a_rarer_value():
    """Of 60 people among 2,000, letters show most of what others' do: half, if cells are clipped.

    Everybody rates alike. The share of ratings that people with the rarer value show is divided by
    that of the others.
    """
    levels = people_alike(2000, 400, 40)
    rows, columns = np.nonzero(levels >= 0)
    levels = sparse.csr_array((levels[rows, columns] * 1.0, (rows, columns)), levels.shape)
    labels = (np.arange(2000) < 60).astype(np.int64)
    people = ConsentingPeople(levels, labels[:, None], ("gender",), (("M", "X"),), 5)
    raters = np.bincount(levels.indices, minlength=400)
    keep = estimate_all_tables(people, epsilon=16)["gender"].keep @ raters
    assert keep[1] / keep[0] > 0.65


def test_the_order_of_popular_items_is_that_of_the_noisy_likes(monkeypatch):
    """Anybody may read the order, so a private disclosure makes it from what it released."""
    ratings = ratings_of(gender=rare(0))
    item = int(np.bincount(ratings.items).argmin())
    shipped = module.discrete_laplace

    def add_likes(numbers, scale):
        """Make one unpopular item the most liked one, by noise."""
        noisy = shipped(numbers, scale)
        histogram = noisy[-2 * 2 * ratings.n_items * 5 :].reshape(2, 2, ratings.n_items, 5)
        histogram[:, :, item, 4] += 10_000
        return noisy

    monkeypatch.setattr(module, "discrete_laplace", add_likes)
    scheme = StandardScheme(disclosure_epsilon=100, values={"gender": ("F", "M")}, **SMALL)
    # The faked noise is looked at no further.
    monkeypatch.setattr(fitting, "refuse_uneven_noisy_letters", lambda *_: None)
    assert scheme.fit(replace(ratings)).fitted_.ease.popularity_rank[item] == 0
