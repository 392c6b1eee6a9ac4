"""People new to a domain: the same people and ratings for everybody, and honest differences."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import XMap
from tacit.data.domains import cross_domain_split, items_in, with_domains
from tacit.data.ratings import Ratings
from tacit.data.synthetic import generate
from tacit.designs.xmap.experiment.contenders import METHODS, PAPERS_BUDGETS, Contender
from tacit.designs.xmap.experiment.evaluation import count_similarities, evaluate_cross_domain
from tacit.designs.xmap.experiment.grid import Grid
from tacit.designs.xmap.experiment.judgements import (
    Judgement,
    judge_target,
    mae_difference,
    ndcg_difference,
)
from tacit.errors import ConfigError, DataError
from tacit.recommenders.base import ItemRecommender
from tacit.recommenders.baselines import ItemMean
from tacit.terminal import to_json_types
from tests.support.seen import require_any

CHEAP = ("item-average", "popularity", "mf")


@pytest.fixture(scope="module")
def ratings():
    """Two hundred people, thirty books and thirty films."""
    generated = generate(users=200, items=60, ratings=6000, seed=4)
    domains = {item: "books" if item % 2 else "films" for item in generated.item_ids.tolist()}
    return with_domains(generated, domains)


@pytest.fixture(scope="module")
def table(ratings):
    """Three yardsticks, two seeds, two overlaps and two profile sizes."""
    return evaluate_cross_domain(
        ratings,
        "books",
        "films",
        methods=CHEAP,
        overlaps=(0.5, 1.0),
        profile_sizes=(0, 3),
        seeds=2,
        workers=1,
    )


def split_of(ratings, *, keep=0, seed=0):
    return cross_domain_split(ratings, source="books", target="films", keep=keep, seed=seed)


def is_target(ratings, name="films"):
    mask = np.zeros(ratings.n_items, dtype=bool)
    mask[items_in(ratings, name)] = True
    return mask


class Fixed(ItemRecommender):
    """Predicts what it is told, for every item and everybody."""

    def __init__(self, prediction):
        self.prediction = prediction

    def fit(self, ratings):
        self.item_ids_, self.people_ = ratings.item_ids, ratings
        return self

    def _score(self, history):
        return np.broadcast_to(self.prediction, len(self.item_ids_)).astype(float)


def judged_of(prediction, split, ratings):
    model = Fixed(prediction).fit(split.train)
    return judge_target(model, split, is_target(ratings), stars=True)


def test_a_prediction_is_not_rounded(ratings):
    """2.4 stars count as 2.4: the error is the mean distance from 2.4, not from 2."""
    split = split_of(ratings)
    expected = np.abs(split.test.values - 2.4).mean()
    assert judged_of(2.4, split, ratings).mae == pytest.approx(expected)


def test_a_prediction_is_clipped_to_the_scale(ratings):
    """Seven stars out of five count as five."""
    split = split_of(ratings)
    expected = np.abs(split.test.values - 5).mean()
    assert judged_of(7.0, split, ratings).mae == pytest.approx(expected)


def test_no_prediction_counts_as_the_mean_of_the_target(ratings):
    """Nothing is left out of the error: the mean training star of the target domain stands in."""
    split = split_of(ratings)
    mean = split.train.values[is_target(ratings)[split.train.items]].mean()
    expected = np.abs(split.test.values - mean).mean()
    assert judged_of(np.nan, split, ratings).mae == pytest.approx(expected)


def test_lists_hold_the_target_domain_only(ratings):
    """Source items ranked first by the recommender are no answer, and cost it nothing."""
    split = split_of(ratings)
    scores = np.arange(ratings.n_items, dtype=float)
    shifted = np.where(is_target(ratings), scores, scores + 1000)
    plain_lists = judged_of(scores, split, ratings).ndcg
    np.testing.assert_array_equal(judged_of(shifted, split, ratings).ndcg, plain_lists)


def test_kept_ratings_are_not_recommended(ratings):
    """A perfect ranking of what is held out has an NDCG of 1: what was kept is not in its way."""
    split = split_of(ratings, keep=3)
    person = int(np.flatnonzero(np.diff(split.test.offsets) > 12)[0])
    own = split.test.of_users(np.array([person]))
    gains = np.zeros(ratings.n_items)
    gains[own.items] = own.values
    gains[split.train.of_users(np.array([person])).items] = 9
    judged = judged_of(gains, split, ratings)
    assert judged.ndcg[judged.ids == ratings.user_ids[person]] == pytest.approx(1)


def test_everybody_is_judged_on_the_same_ratings(table):
    """In one setting and seed all contenders have the same number of test ratings."""
    tests = {}
    for row in table.rows:
        tests.setdefault((row["seed"], row["overlap"], row["profile_size"]), set()).add(
            row["n_test"]
        )
    assert all(len(counts) == 1 for counts in tests.values())
    assert len(tests) == 2 * 3


def test_one_thing_moves_at_a_time(table):
    """Overlaps are tried at the smallest profile and profiles at the largest overlap."""
    settings = {(row["overlap"], row["profile_size"]) for row in table.rows}
    assert settings == {(1.0, 0), (0.5, 0), (1.0, 3)}
    assert (table.base.overlap, table.base.profile_size) == (1.0, 0)


def test_profile_sizes_share_their_test_people(table):
    """Every profile size is judged on as many people; each has three held-out ratings fewer."""
    counts = {
        row["profile_size"]: row["n_test"]
        for row in table.rows
        if (row["seed"], row["overlap"]) == (0, 1)
    }
    assert counts[0] - counts[3] == 3 * table.people[0]


def test_whoever_has_too_few_ratings_for_the_largest_profile_is_not_tested(ratings):
    """Of people with different numbers of films the same are tested whatever the profile keeps."""
    table = evaluate_cross_domain(
        ratings,
        "books",
        "films",
        methods=("item-average",),
        profile_sizes=(0, 14),
        seeds=1,
        workers=1,
    )
    counts = {row["profile_size"]: row["n_test"] for row in table.rows}
    fewest = cross_domain_split(ratings, source="books", target="films", at_least=15, seed=0)
    everybody = cross_domain_split(ratings, source="books", target="films", seed=0)
    assert len(fewest.test.values) < len(everybody.test.values)
    assert counts == {0: len(fewest.test.values), 14: counts[0] - 14 * table.people[0]}


def test_points_are_means_of_rows(table):
    """A point of a figure is the mean over seeds, inside its interval."""
    for point in require_any(table.points):
        rows = [
            row
            for row in table.rows
            if (row["method"], row["overlap"], row["profile_size"])
            == (point.contender.method, point.setting.overlap, point.setting.profile_size)
        ]
        assert point.ndcg_at_10.mean == pytest.approx(np.mean([row["ndcg_at_10"] for row in rows]))
        assert (
            (point.mae is None) == (rows[0]["mae"] is None) == (rows[0]["method"] == "popularity")
        )
        if point.mae is not None:
            assert point.mae.mean == pytest.approx(np.mean([row["mae"] for row in rows]))
            assert point.mae.low <= point.mae.mean <= point.mae.high


def test_rows_are_the_machine_output(table):
    """Each row has the promised fields, and the whole table is strict JSON."""
    promised = {
        *("method", "variant", "epsilon", "delta", "k", "seed", "mae", "ndcg_at_10", "n_test"),
        *("overlap", "profile_size"),
    }
    result = json.loads(json.dumps(to_json_types(table.to_dict()), allow_nan=False))
    assert all(promised <= set(row) for row in result["rows"])
    assert {row["epsilon"] for row in result["rows"]} == {None}  # infinite: no privacy


def test_workers_do_not_change_results(ratings, table):
    """Two processes give the rows that one gives."""
    again = evaluate_cross_domain(
        ratings,
        "books",
        "films",
        methods=CHEAP,
        overlaps=(0.5, 1.0),
        profile_sizes=(0, 3),
        seeds=2,
        workers=2,
    )
    assert again.rows == table.rows


def test_progress_counts_to_its_end(ratings):
    """As many steps are reported as were announced."""
    done = []
    evaluate_cross_domain(
        ratings,
        "books",
        "films",
        methods=("item-average",),
        profile_sizes=(0, 2),
        seeds=2,
        workers=1,
        progress=done.append,
    )
    assert sum(done) == Grid(profile_sizes=(0, 2), seeds=2).steps


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"methods": ("magic",)}, "No method 'magic'. There are: nx-map-ib"),
        ({"variants": ("secret",)}, "No variant 'secret'. There are: sound"),
        ({"ks": ()}, "at least one k"),
        ({"ks": (0,)}, "Each k is 1 or more; got 0"),
        ({"overlaps": (1.5,)}, "Each overlap is a share"),
        ({"profile_sizes": (-1,)}, "Each profile size is 0 or more"),
        ({"alphas": (-1.0,)}, "Each alpha is 0 or more"),
        ({"epsilons": (0.0,)}, "Each epsilon is above 0"),
        ({"seeds": 0}, "at least one seed"),
    ],
)
def test_wrong_settings_are_named(ratings, wrong, said):
    """Before any work, with the value and what is allowed."""
    with pytest.raises(ConfigError, match=said):
        evaluate_cross_domain(ratings, "books", "films", workers=1, **wrong)


def test_an_unknown_domain_is_named(ratings):
    """A misspelt target is answered with the domains there are."""
    with pytest.raises(DataError, match="films"):
        evaluate_cross_domain(ratings, "books", "music", methods=CHEAP, seeds=1, workers=1)


def test_nobody_who_likes_anything_is_said():
    """Without a liked held-out item a list cannot be judged, and the error says so."""
    people = np.repeat(np.arange(20), 4)
    items = np.tile(np.arange(4), 20)
    low = Ratings.from_arrays(people, items, np.where(items < 2, 5, 2))
    low = with_domains(low, {item: "books" if item < 2 else "films" for item in range(4)})
    with pytest.raises(DataError, match="no test person liked"):
        judged_of(3.0, split_of(low), low)


def judged(errors, ids=None, ndcg=None, counts=None):
    errors = np.asarray(errors, dtype=float)
    people = np.arange(len(errors)) if ids is None else np.asarray(ids)
    return Judgement(
        ids=people,
        counts=np.full(len(errors), 4) if counts is None else np.asarray(counts),
        errors=errors,
        ndcg=np.zeros(len(errors)) if ndcg is None else np.asarray(ndcg, dtype=float),
    )


def test_a_constant_gain_has_no_width():
    """A tenth of a star less on every rating of everybody is -0.1, for certain."""
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 30, 40)
    theirs = rng.random(40) * counts
    mine = judged(theirs - 0.1 * counts, counts=counts)
    found, people = mae_difference([mine], [judged(theirs, counts=counts)])
    assert found == pytest.approx((-0.1, -0.1, -0.1))
    assert people == 40


def test_a_repeated_person_counts_once():
    """The same people under a second seed add no certainty."""
    rng = np.random.default_rng(1)
    mine, theirs = judged(rng.random(30)), judged(rng.random(30))
    once = mae_difference([mine], [theirs])
    twice = mae_difference([mine, mine], [theirs, theirs])
    assert twice[0] == pytest.approx(once[0])
    assert twice[1] == once[1] == 30


def test_people_without_anything_liked_take_no_part_in_ndcg():
    """NaN is left out of the difference and of the count."""
    mine = judged(np.ones(4), ndcg=[0.5, np.nan, 0.3, 0.4])
    theirs = judged(np.ones(4), ndcg=[0.4, np.nan, 0.2, 0.3])
    found, people = ndcg_difference([mine], [theirs])
    assert found.mean == pytest.approx(0.1)
    assert people == 3


def test_the_interval_covers_the_true_difference():
    """Of 300 experiments with a known difference, 95 % intervals hold it in 88 to 99 %: outside
    this by chance less than once in 10^5 runs; a width halved by mistake gives 67 %."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(300):
        counts = rng.integers(1, 20, 60)
        shift = 0.05 + 0.2 * rng.standard_normal(60)
        gap, _ = mae_difference(
            [judged(counts * (1 + shift), counts=counts)], [judged(counts * 1.0, counts=counts)]
        )
        held += gap.holds(0.05)
    assert 0.88 <= held / 300 <= 0.99


@pytest.mark.parametrize("stars", [False, True])
def test_the_sound_variant_has_errors_only_with_stars(ratings, stars):
    """Without its fifth sum it predicts no stars, and no difference of errors is made up."""
    found = evaluate_cross_domain(
        ratings,
        "books",
        "films",
        methods=("x-map-ib", "item-average"),
        variants=("sound",),
        seeds=1,
        workers=1,
        options={"stars": stars},
    )
    (row,) = [each for each in found.rows if each["variant"] == "sound"]
    assert (row["mae"] is not None) == stars
    assert row["ndcg_at_10"] > 0
    measures = {each.measure for each in found.comparisons}
    assert measures == ({"mae", "ndcg_at_10"} if stars else {"ndcg_at_10"})


def test_the_methods_are_those_of_the_machine_output():
    """Eleven names, each once."""
    assert sorted(METHODS) == [
        *("item-average", "knn-cross", "knn-single", "mf", "nx-map-ib", "nx-map-ub"),
        *("popularity", "remote-user", "user-average", "x-map-ib", "x-map-ub"),
    ]


def test_alpha_moves_the_papers_item_based_methods_alone(ratings):
    """Each is compared with itself at the base's alpha, on the same people; baselines run once."""
    table = evaluate_cross_domain(
        ratings,
        "books",
        "films",
        methods=("nx-map-ib", "item-average"),
        ks=(5,),
        alphas=(0.0, 0.5),
        seeds=1,
        workers=1,
    )
    assert [(row["method"], row["alpha"]) for row in table.rows] == [
        ("nx-map-ib", 0.0),
        ("item-average", 0.0),
        ("nx-map-ib", 0.5),
    ]
    (found,) = [each for each in table.comparisons if each.alpha is not None]
    errors = {row["alpha"]: row["mae"] for row in table.rows if row["method"] == "nx-map-ib"}
    assert (found.method, found.against, found.alpha) == ("nx-map-ib", "nx-map-ib", 0.5)
    assert found.difference == pytest.approx(errors[0.5] - errors[0.0])


def test_alpha_is_in_the_figure(ratings):
    """The error of a row with an alpha is that of an XMap fitted with it, on the same split;
    without the alpha it is another."""
    moments = np.random.default_rng(2).permutation(len(ratings)).astype(np.int64)
    timed = replace(ratings, timestamps=moments)
    table = evaluate_cross_domain(
        timed,
        "books",
        "films",
        methods=("nx-map-ib",),
        ks=(5,),
        alphas=(0.0, 0.5),
        seeds=1,
        workers=1,
    )
    split = split_of(timed)
    for row in table.rows:
        settings = {"variant": "published", "epsilon": math.inf, "k": 5, "alpha": row["alpha"]}
        fitted = XMap(source="books", target="films", **settings).fit(split.train)
        assert judge_target(fitted, split, is_target(timed), stars=True).mae == row["mae"]
    first, second = (row["mae"] for row in table.rows)
    assert abs(first - second) > 1e-3


def test_readings_of_pnsa_are_judged_beside_each_other(ratings):
    """Each under its name, at the paper's budgets, and each compared with the baseline."""
    readings = ("printed", "counted", "positive")
    table = evaluate_cross_domain(
        ratings,
        "books",
        "films",
        methods=("x-map-ib", "item-average"),
        variants=("published",),
        readings=readings,
        ks=(5,),
        seeds=1,
        workers=1,
    )
    rows = {row["pnsa"]: row for row in table.rows}
    assert set(rows) == {*readings, None}
    assert all(rows[name]["epsilon_prime"] == 0.8 for name in readings)
    compared = [each.pnsa for each in table.comparisons if each.measure == "mae"]
    assert compared == list(readings)


def test_a_meta_path_joins_items_that_nobody_rated_together():
    """One reader of two books, one person in both domains, one viewer of two films: one pair of
    four has a cosine, and X-Sim reaches all four."""
    names = ["b0", "b1", "f0", "f1"]
    rows = [(0, 0, 1), (0, 1, 5), (1, 1, 4), (1, 2, 2), (2, 2, 5), (2, 3, 1)]
    people, items, stars = (np.array(column) for column in zip(*rows, strict=True))
    made = Ratings.from_arrays(people, np.array(names)[items], stars)
    two = with_domains(made, {name: "books" if name[0] == "b" else "films" for name in names})
    found = count_similarities(two, "books", "films")
    assert (found["adjusted_cosine"], found["x_sim"], found["pairs"]) == (1, 4, 4)


def test_seeds_and_the_share_of_test_people_reach_the_splits(ratings):
    """Half of the people in both domains are tested, in splits 7 and 8, each counted as its own."""
    table = evaluate_cross_domain(
        ratings, "books", "films", methods=("item-average",), seeds=2, first_seed=7, share=0.5,
        workers=1,
    )  # fmt: skip
    assert table.seeds == (7, 8)
    for row, seed, people in zip(table.rows, (7, 8), table.people, strict=True):
        split = cross_domain_split(ratings, source="books", target="films", share=0.5, seed=seed)
        assert (row["seed"], row["n_test"]) == (seed, len(split.test.values))
        assert people == (np.diff(split.test.offsets) > 0).sum()


def test_the_overlap_reaches_the_splits(ratings):
    """At each overlap the error is that of a model fitted on the split that keeps so many."""
    table = evaluate_cross_domain(
        ratings,
        "books",
        "films",
        methods=("item-average",),
        overlaps=(0.2, 1.0),
        seeds=1,
        workers=1,
    )
    errors = {}
    for row in table.rows:
        split = cross_domain_split(
            ratings, source="books", target="films", overlap=row["overlap"], seed=0
        )
        model = ItemMean(damping=0.0).fit(split.train)
        expected = judge_target(model, split, is_target(ratings), stars=True).mae
        assert row["mae"] == pytest.approx(expected)
        errors[row["overlap"]] = row["mae"]
    assert errors[0.2] != errors[1.0]


@pytest.mark.parametrize("method", ["remote-user", "knn-single", "knn-cross"])
def test_yardsticks_have_as_many_neighbours_as_the_papers_methods(method):
    """Each takes the k of its contender."""
    assert Contender(method, k=7).make("books", "films", {}, 0).k == 7


def test_one_knn_alone_is_kept_to_the_target():
    """The other one finds neighbours in both domains."""
    domains = {
        method: Contender(method, k=7).make("books", "films", {}, 0).domain
        for method in ("knn-single", "knn-cross")
    }
    assert domains == {"knn-single": "films", "knn-cross": None}


def test_every_pair_of_budgets_is_planned_at_the_base_alone():
    """Three budgets make nine pairs beside the paper's; elsewhere the paper's pair stands alone."""
    grid = Grid(
        methods=("x-map-ib", "item-average"), variants=("published",), surface=(0.1, 0.3, 0.8),
        ks=(5, 10), overlaps=(0.5, 1.0),
    )  # fmt: skip
    planned = grid.plan()
    pairs = {(each.epsilon, each.epsilon_prime) for each in planned[grid.base] if each.has_k}
    assert pairs == {(a, b) for a in (0.1, 0.3, 0.8) for b in (0.1, 0.3, 0.8)}
    elsewhere = planned[replace(grid.base, overlap=0.5)]
    assert [(each.epsilon, each.epsilon_prime, each.k) for each in elsewhere if each.has_k] == [
        (0.3, 0.8, 10)
    ]


@pytest.mark.parametrize(("ks", "base"), [((10, 50, 100), 50), ((5, 9), 9), ((9, 5), 9)])
def test_the_base_has_the_papers_k_or_the_largest(ks, base):
    """Where fifty neighbours are among those that are tried, other settings are tried at fifty."""
    assert Grid(ks=ks).base_k == base


def test_an_evaluation_without_options_is_that_of_the_results():
    """10, 20 and 50 neighbours, epsilon 1 for a whole profile, five splits."""
    grid = Grid()
    assert (grid.ks, grid.epsilons, grid.seeds) == ((10, 20, 50), (1.0,), 5)


def test_the_papers_budgets_are_those_of_its_figures():
    """Epsilon and epsilon': .3 and .8 item-based, .6 and .3 user-based."""
    assert PAPERS_BUDGETS == {"x-map-ib": (0.3, 0.8), "x-map-ub": (0.6, 0.3)}


def test_a_method_without_privacy_has_neither_epsilon_nor_delta():
    """An infinite epsilon, a delta of 0, and no words about a budget."""
    method = Contender("mf")
    assert (method.epsilon, method.delta, method.budget) == (math.inf, 0.0, "")


def test_the_item_average_is_not_drawn_to_the_mean_of_all():
    """As in the paper, one rating is an average."""
    assert Contender("item-average").make("books", "films", {}, 0).damping == 0
