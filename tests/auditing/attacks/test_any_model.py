"""Attacks on any recommender: every kind is understood, leaks are found, honest ones pass."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import tacit
from tacit.auditing.attacks.any_model import adapters, count_steps
from tacit.auditing.attacks.any_model.adapters import adapt
from tacit.auditing.attacks.any_model.attributes import auc_of_lists
from tacit.auditing.attacks.any_model.canaries import draw_canaries, join_canaries
from tacit.auditing.attacks.any_model.findings import share_found
from tacit.auditing.attacks.any_model.membership import count_targets, likelihood_ratios
from tacit.data.domains import with_domains
from tacit.errors import ConfigError, DataError
from tacit.recommenders.baselines import ALS, Popularity, PrivatePopularity
from tests.support.planted_models import NextItem, NoisyCounts

SMALL = {"targets": 40, "shadows": 6, "victims": 4, "length": 20}


@pytest.fixture(scope="module")
def ratings():
    return tacit.generate(users=120, items=100, ratings=3000, seed=1)


class Sums:
    """Scikit-learn-like: scores by sums of co-ratings."""

    def fit(self, x):
        self.both = (x.T @ x).toarray()
        return self

    def predict(self, x):
        return x @ self.both


class Lists(Sums):
    def recommend(self, x, n):
        return np.argsort(-self.predict(x), axis=1, kind="stable")[:, :n]


def favourites(history):
    return sorted(history, reverse=True)


@pytest.mark.parametrize("model", [Sums(), Lists, Popularity(), Popularity, lambda: Sums()])
def test_each_kind_of_recommender_answers(model, ratings):
    """Objects, classes and functions that make one give lists without what the account has."""
    answers = adapt(model).fit(ratings)
    own = ratings.history(ratings.user_ids[0])
    listed = answers.rank(own, 10)
    assert len(listed) == 10
    assert not set(ratings.item_ids[listed].tolist()) & set(own)
    assert answers.scores(own).shape == (ratings.n_items,)


@pytest.mark.parametrize("model", [Sums(), Lists, Popularity()])
def test_many_histories_are_answered_as_each_alone(model, ratings):
    """Lists and scores come in the order of the histories."""
    answers = adapt(model).fit(ratings)
    histories = [ratings.history(user) for user in ratings.user_ids[:3].tolist()]
    for history, listed in zip(histories, answers.rank_each(histories, 10), strict=True):
        assert listed.tolist() == answers.rank(history, 10).tolist()
    for history, scores in zip(histories, answers.scores_each(histories), strict=True):
        assert scores == pytest.approx(answers.scores(history), nan_ok=True)


def test_items_of_a_model_with_other_numbers_are_found(ratings):
    """A recommender of one of two domains lists items under the numbers that the ratings have."""
    domains = {item: "a" if item % 3 else "b" for item in ratings.item_ids.tolist()}
    genres = np.array([f"genre {item % 4}" for item in domains], dtype=object)
    with_genres = replace(ratings, item_metadata={"genres": genres})
    model = tacit.Private(epsilon=math.inf, source="a", target="b")
    answers = adapt(model).fit(with_domains(with_genres, domains))
    histories = [ratings.history(user) for user in ratings.user_ids[:5].tolist()]
    for history, listed in zip(histories, answers.rank_each(histories, 10), strict=True):
        assert listed.tolist() == answers.rank(history, 10).tolist()
        assert {domains[item] for item in ratings.item_ids[listed].tolist()} == {"b"}


class Reversed(Popularity):
    """Popularity whose `recommend` gives its list from the last item to the first."""

    def recommend(self, user=None, *, history=None, n=10):
        return super().recommend(user, history=history, n=n).item_ids[::-1]


def test_a_changed_recommend_is_what_is_attacked(ratings):
    """Where a class from elsewhere inherits `list_histories`, its own lists are read."""
    histories = [ratings.history(user) for user in ratings.user_ids[:3].tolist()]
    plain = adapt(Popularity()).fit(ratings)
    changed = adapt(Reversed()).fit(ratings)
    for one, other in zip(
        plain.rank_each(histories, 10), changed.rank_each(histories, 10), strict=True
    ):
        assert one.tolist() == other.tolist()[::-1]


def make_with_own_recommend():
    """Popularity whose `recommend` was replaced on the object."""
    model = Popularity()
    shipped = model.recommend
    model.recommend = lambda *, history, n: shipped(history=history, n=n).item_ids[::-1]
    return model


def test_a_recommend_that_was_replaced_on_the_object_is_what_is_attacked(ratings):
    """The lists of many are those that each person gets."""
    answers = adapt(make_with_own_recommend).fit(ratings)
    history = ratings.history(ratings.user_ids[0])
    (listed,) = answers.rank_each([history], 10)
    assert listed.tolist() == answers.rank(history, 10).tolist()
    assert listed.tolist() == adapt(Popularity()).fit(ratings).rank(history, 10).tolist()[::-1]


class Unfittable(Popularity):
    """A recommender that must not be fitted."""

    def fit(self, ratings):
        raise AssertionError("fitted")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"targets": 1}, "targets is a whole number, at least 10"),
        ({"shadows": 0}, "shadows is a whole number, at least 2"),
        ({"victims": 0}, "victims is a whole number, at least 1"),
        ({"canaries": 4}, "canaries is a whole number, at least 8"),
        ({"length": -1}, "length is a whole number, at least 1"),
        ({"seed": -1}, "seed is a whole number, at least 0"),
        ({"claim": math.nan}, "claim is an epsilon in nats"),
        ({"delta": 1.5}, "delta is a chance"),
        ({"panel": "slow"}, "No panel 'slow'"),
        ({"panel": ["guess"]}, "No attack 'guess'"),
    ],
)
def test_a_setting_out_of_its_range_is_refused_before_the_fits(ratings, setting, said):
    """In a sentence that names the setting."""
    with pytest.raises(ConfigError, match=said):
        tacit.attack(Unfittable, ratings, **setting)


def test_an_attribute_that_nobody_has_is_refused_before_the_fits(ratings):
    """The error names it."""
    with pytest.raises(DataError, match="height"):
        tacit.attack(Unfittable, ratings, attribute="height")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"attacks": ["membership"], "targets": 10, "victims": 1, "seed": 141}, "more targets"),
        ({"attacks": ["audit"], "canaries": 8, "seed": 8}, "more canaries"),
    ],
)
def test_coins_that_all_fall_alike_are_refused_before_the_fits(ratings, settings, said):
    """With all people in, or all out, there is no AUC; the seeds were searched for."""
    settings = {**settings, "shadows": 2, "claim": 1.0, "sees_scores": False}
    with pytest.raises(DataError, match=f"all of them out.*{said}"):
        tacit.attack(Unfittable, ratings, **settings)


def test_a_claim_is_not_tested_without_a_bound(ratings):
    """Reading an attribute bounds no epsilon: nothing is said of the claim."""
    found = tacit.attack(
        PrivatePopularity(epsilon=0.5), ratings, attacks=["reconstruction"], canaries=20, length=10
    )
    assert (found.claim, found.verdict) == (0.5, "not tested")
    assert "claimed 0.5: not tested" in found._repr_html_()


class _WithBrokenCard(Popularity):
    def guarantees(self):
        raise RuntimeError("no card here")


def test_a_card_that_fails_is_named(ratings):
    """And `guarantees` that is no function is no card."""
    few = {"attacks": ["reconstruction"], "canaries": 20, "length": 10}
    with pytest.raises(ConfigError, match="cannot state its guarantees"):
        tacit.attack(_WithBrokenCard(), ratings, **few)
    listed = type("Listed", (Popularity,), {"guarantees": ["none"]})
    assert tacit.attack(listed, ratings, **few).verdict == "no claim"


@pytest.mark.filterwarnings("ignore:Method expects CSR")  # of what implicit computed itself
def test_implicit_answers_many_histories_as_each_alone(monkeypatch, ratings):
    """Factors and item neighbours, in several calls, with an empty history among the others."""
    als = pytest.importorskip("implicit.als")
    neighbours = pytest.importorskip("implicit.nearest_neighbours")
    monkeypatch.setattr(adapters, "HISTORIES_AT_A_TIME", 2)
    histories = [ratings.history(user) for user in ratings.user_ids[:4].tolist()]
    histories.insert(1, {})
    with threadpool_limits(1, "blas"):  # it warns of more
        factors = als.AlternatingLeastSquares(factors=8, num_threads=1, random_state=0)
        for model in (factors, neighbours.CosineRecommender(K=20, num_threads=1)):
            answers = adapt(model).fit(ratings)
            lists = list(answers.rank_each(histories, 10))
            scores = list(answers.scores_each(histories))
            for number, history in enumerate(histories):
                assert lists[number].tolist() == answers.rank(history, 10).tolist()
                alone = answers.scores(history)
                assert scores[number] == pytest.approx(alone, abs=1e-6, nan_ok=True)  # 32-bit


@pytest.mark.parametrize("kept", [1, 30])
def test_implicits_lists_are_in_the_order_of_their_histories(monkeypatch, ratings, kept):
    """Lists keep the order of their histories, whatever the size of a block."""
    als = pytest.importorskip("implicit.als")
    monkeypatch.setattr(adapters, "HISTORIES_AT_A_TIME", 3)
    monkeypatch.setattr(adapters, "_LISTED_ITEMS_AT_A_TIME", 10 * kept)
    histories = [ratings.history(user) for user in ratings.user_ids[:20].tolist()]
    for number, history in enumerate(histories):
        histories[number] = dict(list(history.items())[: 1 + 7 * number % 20])
    with threadpool_limits(1, "blas"):  # it warns of more
        answers = adapt(als.AlternatingLeastSquares(factors=8, num_threads=1)).fit(ratings)
    lists = [listed.tolist() for listed in answers.rank_each(histories, 10)]
    assert lists == [answers.rank(history, 10).tolist() for history in histories]


def test_implicits_lists_without_known_likes_depend_on_nobody_else(ratings):
    """Of no likes, an unknown item, or one that nobody liked in training: all items tie."""
    als = pytest.importorskip("implicit.als")
    unliked = ratings.item_ids[-1]
    of_others = ratings.where(ratings.likes & (ratings.items != ratings.n_items - 1))
    with threadpool_limits(1, "blas"):  # it warns of more
        answers = adapt(als.AlternatingLeastSquares(factors=8, num_threads=1)).fit(of_others)
    companions = [ratings.history(user) for user in ratings.user_ids[:9].tolist()]
    for history in ({}, {"unknown": 5.0}, {unliked: 5.0}):
        together = list(answers.rank_each([*companions, history], 10))
        assert together[-1].tolist() == answers.rank(history, 10).tolist()
        assert all(listed.base is None for listed in together)


def test_scores_of_a_replaced_recommend_are_its_own(ratings):
    """If recommend was replaced, in a subclass or the object, scores are not of factors."""
    als = pytest.importorskip("implicit.cpu.als").AlternatingLeastSquares
    history = ratings.history(ratings.user_ids[0])

    def recommend(userid, user_items, N, **options):  # noqa: N803  as implicit names it
        shape = (len(userid), N)
        return np.broadcast_to(np.arange(N), shape), np.broadcast_to(np.float32(0.5), shape)

    replaced_in_object = als(factors=8, num_threads=1)
    replaced_in_object.recommend = recommend
    subclass = type(
        "Own", (als,), {"recommend": lambda self, *each, **more: recommend(*each, **more)}
    )
    for model in (replaced_in_object, subclass(factors=8, num_threads=1)):
        with threadpool_limits(1, "blas"):
            scores = adapt(model).fit(ratings).scores(history)
        assert set(scores[np.isfinite(scores)]) == {0.5}


def test_the_real_implicit_answers(ratings):
    """Its ALS gives lists, scores and factors for an account that it was not fitted to."""
    als = pytest.importorskip("implicit.als")
    with threadpool_limits(1, "blas"):  # it warns of more
        model = als.AlternatingLeastSquares(factors=8, num_threads=1, random_state=0)
        answers = adapt(model).fit(ratings)
    own = ratings.history(ratings.user_ids[0])
    assert len(answers.rank(own, 10)) == 10
    assert np.isfinite(answers.scores(own)).any()
    assert answers.factors.shape == (ratings.n_items, 8)


def test_the_real_implicit_lists_what_tacits_own_als_lists(ratings):
    """With the same settings; so nothing that the account rated, liked or not, takes a place."""
    als = pytest.importorskip("implicit.als")
    settings = {"factors": 8, "regularization": 30.0, "random_state": 0}
    with threadpool_limits(1, "blas"):  # it warns of more
        model = als.AlternatingLeastSquares(
            **settings, alpha=5.0, iterations=15, num_threads=1, dtype=np.float64
        )
        answers = adapt(model).fit(ratings)
    own = ALS(**settings, weight=5.0, sweeps=15).fit(ratings)
    for user in ratings.user_ids[:20].tolist():
        history = ratings.history(user)
        listed = ratings.item_ids[answers.rank(history, 10)].tolist()
        assert listed == list(own.recommend(history=history, n=10).item_ids)


def test_a_function_of_a_history_is_attacked_as_it_is(ratings):
    """It cannot be fitted again: one row without reference, and the reason for what is left out."""
    found = tacit.attack(
        favourites, ratings, attacks=("membership", "audit"), members=ratings.user_ids[:60]
    )
    assert [row.attack for row in found.rows] == ["membership-lists"]
    assert found.rows[0].epsilon_lower_bound is None
    assert found.left_out == ("audit: a fixed recommender cannot be fitted again",)


def test_membership_is_left_out_without_members(ratings):
    """Of a function, where it is not known whom it learned from."""
    found = tacit.attack(favourites, ratings, attacks=("membership",))
    assert found.rows == ()
    assert found.left_out == ("membership: a fixed recommender cannot be fitted again",)


def test_reconstruction_is_left_out_without_targets():
    """Where hardly anybody has likes enough, it says so."""
    few = tacit.generate(users=30, items=20, ratings=90, seed=1)
    found = tacit.attack(Popularity(), few, attacks=("reconstruction",))
    assert found.rows == ()
    assert found.left_out == (
        "reconstruction: fewer than two people have 10 likes, or all targets rated every item",
    )


def make_ratings_with_completists(users, items, completists):
    """Ratings of a random half of the items, but of every item by the last people."""
    rates = np.random.default_rng(0).random((users, items)) < 0.5
    rates[users - completists :] = True
    people, rated_items = np.nonzero(rates)
    return tacit.Ratings.from_arrays(people, rated_items, np.full(len(people), 5.0))


def test_a_target_who_rated_every_item_is_left_out_of_the_reconstruction():
    """Without an unrated item there is no AUC; the row is about the other targets."""
    ratings = make_ratings_with_completists(users=6, items=60, completists=3)
    found = tacit.attack(Lists, ratings, attacks=("reconstruction",), length=20)
    assert [row.attack for row in found.rows] == ["reconstruction-changes"]
    everybody = make_ratings_with_completists(users=6, items=60, completists=6)
    found = tacit.attack(Lists, everybody, attacks=("reconstruction",), length=20)
    assert found.rows == ()
    assert "all targets rated every item" in found.left_out[0]


@pytest.mark.parametrize("model", [3, "als", object()])
def test_what_is_no_recommender_is_refused(model):
    """With a sentence."""
    with pytest.raises(ConfigError, match="no recommender"):
        adapt(model)


def test_a_recommender_that_fails_is_named(ratings):
    """Its own exception is no bug of tacit."""

    class Broken(Sums):
        def fit(self, x):
            raise RuntimeError("no memory left")

    with pytest.raises(ConfigError, match=r"Broken cannot be fitted \(RuntimeError: no memory"):
        adapt(Broken()).fit(ratings)


class Answering(Sums):
    """Answers what a test gave it."""

    answer: object = None

    def recommend(self, x, n):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "it gave NoneType"),
        ((np.array([[1, 2]]), np.array([[0.5, 0.1]])), "it gave tuple"),
        (np.array([1, 2, 3]), "a row for each row of X"),
        ([["a", "b"]], "item numbers"),
        (np.array([[3, 100]]), "none of the 100 columns"),
        (np.array([[3, -7]]), "none of the 100 columns"),
        (np.array([[3.0, 2.5]]), "none of the 100 columns"),
        (np.array([[3.0, np.nan]]), "none of the 100 columns"),
        (np.array([[3, 4, 3]]), "holds an item twice"),
    ],
)
def test_an_answer_that_is_no_list_is_named(ratings, answer, said):
    """In a sentence with the model's name, not as a list without items."""
    answers = adapt(Answering).fit(ratings)
    answers.model.answer = answer
    with pytest.raises(ConfigError, match=f"Answering cannot answer .*{said}"):
        answers.rank({}, 5)


@pytest.mark.parametrize("shape", [(2, 50), (100, 1, 1), (99,), ()])
@pytest.mark.parametrize("base", [Sums, Popularity])
def test_scores_of_another_shape_are_named(ratings, base, shape):
    """The error says the shape, also where the number of scores is right."""

    class Misshapen(base):
        def predict(self, *_, **__):
            return np.zeros(shape)

    said = re.escape(f"100 scores were expected, of shape (100,), not {shape}")
    with pytest.raises(ConfigError, match=f"Misshapen cannot answer .*{said}"):
        adapt(Misshapen).fit(ratings).scores({})


@pytest.mark.parametrize("shape", [(100,), (1, 100), (100, 1)])
def test_scores_of_one_row_are_read(ratings, shape):
    """With or without the axis of rows, and as a column."""

    class Shaped(Sums):
        def predict(self, x):
            return np.arange(100.0).reshape(shape)

    assert adapt(Shaped).fit(ratings).scores({}).tolist() == list(range(100))


def test_minus_one_ends_a_list(ratings):
    """As implicit pads its lists."""
    answers = adapt(Answering).fit(ratings)
    answers.model.answer = np.array([[4, 2, -1, -1]])
    assert answers.rank({}, 5).tolist() == [4, 2]


def test_an_item_without_a_score_is_not_listed(ratings):
    """A score of NaN is none, so that a broken model does not list the catalogue in its order."""

    class HalfScored(Sums):
        def predict(self, x):
            scores = np.arange(100.0)
            scores[10:] = np.nan
            return scores[None, :]

    assert adapt(HalfScored).fit(ratings).rank({}, 20).tolist() == list(range(9, -1, -1))


def test_sparse_scores_are_scores(ratings):
    """A product of sparse matrices is one."""

    class Sparse(Sums):
        def fit(self, x):
            self.both = x.T @ x
            return self

    own = ratings.history(ratings.user_ids[0])
    dense = adapt(Sums).fit(ratings).rank(own, 10).tolist()
    assert adapt(Sparse).fit(ratings).rank(own, 10).tolist() == dense


def test_a_recommender_may_change_what_it_is_given(ratings):
    """A history, a row of stars and the matrix are its own copies."""

    class Greedy(Popularity):
        def recommend(self, history, n):
            history.clear()
            return list(self.item_ids_)

    class Wild(Sums):
        def fit(self, x):
            super().fit(x)
            x.data[:] = 0
            x.indices[:] = 0

        def predict(self, x):
            scores = super().predict(x)
            x.data[:] = -1
            return scores

    before = ratings.digest, ratings.values.sum(), ratings.items.sum()
    own = ratings.history(ratings.user_ids[0])
    had = dict(own)
    for model in (Greedy, Wild):
        listed = adapt(model).fit(ratings).rank(own, 10)
        assert own == had
        assert not set(ratings.item_ids[listed].tolist()) & set(had)
    assert (ratings.digest, ratings.values.sum(), ratings.items.sum()) == before


def test_a_recommender_that_ends_the_process_is_named(ratings):
    """`sys.exit` in its code does not end the comparison."""

    class Leaving(Sums):
        def fit(self, x):
            raise SystemExit(3)

    with pytest.raises(ConfigError, match="Leaving cannot be fitted"):
        adapt(Leaving).fit(ratings)


def test_popularity_is_not_told_apart(ratings):
    """Lists that are the same for everybody move nothing: 0.5 lies in every interval."""
    found = tacit.attack(Popularity(likes=True), ratings, attacks=("membership",), **SMALL)
    assert [row.attack for row in found.rows] == ["membership-lists", "membership-lists-lira"]
    assert all(row.low <= 0.5 <= row.high for row in found.rows)


def test_a_next_item_of_a_training_person_is_found():
    """The planted leak: AUC near 1, and an epsilon above the claimed 1. The same attacks on
    popularity have a false alarm with a chance of 5 % at most."""
    ratings = tacit.generate(users=120, items=600, ratings=4000, seed=1)
    found = tacit.attack(NextItem(), ratings, attacks=("membership",), claim=1.0, **SMALL)
    assert max(row.auc for row in found.rows) > 0.9
    assert found.verdict == "violation"


COUNTED = {"attacks": ("audit",), "claim": 1.0, "delta": 0.0, "canaries": 250}


def test_half_the_noise_is_found():
    """The planted lie: epsilon 2 where 1 is claimed. Found in 20 of 20 trials with 500 canaries."""
    ratings = tacit.generate(users=60, items=1000, ratings=3000, seed=3)
    found = tacit.attack(NoisyCounts(lie=2.0, seed=0), ratings, **COUNTED)
    assert found.epsilon_lower_bound > 1
    assert found.verdict == "violation"


def test_a_recommender_that_keeps_its_word_passes():
    """A false alarm has a chance of 5 % at most in each trial; of 3 trials 2 have one with a chance
    below 1 %, and the draws are fixed."""
    ratings = tacit.generate(users=60, items=1000, ratings=3000, seed=3)
    alarms = [
        tacit.attack(NoisyCounts(seed=seed), ratings, seed=seed, **COUNTED).verdict == "violation"
        for seed in range(3)
    ]
    assert sum(alarms) < 2


def test_canaries_are_new_people_of_known_items(ratings):
    """Single items differ, and no group holds one of them."""
    kinds = draw_canaries(ratings, 20, seed=0)
    singles, groups = kinds["one-run-single-items"], kinds["one-run-groups"]
    assert len({int(each[0]) for each in singles}) == len(singles) == 20
    assert not {int(each[0]) for each in singles} & set(np.concatenate(groups).tolist())
    more = join_canaries(ratings, [*singles, *groups])
    assert more.n_users == ratings.n_users + 40
    assert more.n_items == ratings.n_items
    assert len(more) == len(ratings) + 20 * 5


@pytest.mark.parametrize("most", [10, 40, 100, 300])
def test_more_people_never_mean_fewer_targets(most):
    """From twenty people on, up to the stated number."""
    counts = [count_targets(attackable, most) for attackable in range(20, 4 * most + 20)]
    assert counts == sorted(counts)
    assert all(count <= min(20 + n, most) for n, count in enumerate(counts))
    assert counts[-1] == most


@pytest.mark.parametrize(
    ("attackable", "expected"),
    [(20, 20), (99, 99), (150, 100), (300, 100), (301, 100), (600, 200), (899, 299), (943, 300)],
)
def test_a_third_of_many_people_are_targets(attackable, expected):
    """So that two thirds of them are in every fit; of few people, all are targets."""
    assert count_targets(attackable, 300) == expected


def test_the_people_left_out_of_a_fit_are_among_the_targets():
    """Of 290 people with likes enough, each fit has at least two thirds."""
    ratings = make_ratings_with_completists(users=290, items=12, completists=290)
    sizes = []

    class Counted(Popularity):
        def fit(self, ratings):
            sizes.append(len(np.unique(ratings.users)))
            return super().fit(ratings)

    tacit.attack(Counted, ratings, attacks=("membership",), shadows=2, victims=2, length=5)
    assert min(sizes) >= 190
    assert min(sizes) < 290


def test_likelihood_ratios_tell_shifted_people_apart():
    """Each person has their own level; only the ratio knows it."""
    generator = np.random.default_rng(0)
    level = generator.normal(0, 10, 200)
    inside = generator.random((24, 200)) < 0.5
    seen = level + inside + generator.normal(0, 0.3, (24, 200))
    scores = likelihood_ratios(seen[:16], inside[:16], seen[16:])
    assert share_found(inside[16:], scores, 0.01) > 0.8
    assert share_found(inside[16:], seen[16:], 0.01) < 0.2


def test_found_at_allows_the_share_of_false_alarms():
    """With 1,000 people out, one of them may score higher at 0.1 %."""
    labels = np.r_[np.zeros(1000), np.ones(10)].astype(bool)
    scores = np.r_[np.arange(1000.0), np.full(10, 998.5)]
    assert share_found(labels, scores, 0.001) == 1.0
    assert share_found(labels, scores, 0.0) == 0.0


def test_lately_rated_items_are_read_off_changing_lists(ratings):
    """Co-ratings move a list when a person adds items; the same list for all moves less."""
    found = tacit.attack(Lists, ratings, attacks=("reconstruction",), length=50)
    assert found.rows[0].low > 0.6
    assert found.rows[0].epsilon_lower_bound is None


def test_an_attribute_is_inferred_from_lists_and_factors(ratings):
    """A row for each attacker and view; predictions of the same for all say nothing."""
    found = tacit.attack(
        Popularity(), ratings, attacks=("attribute",), panel=("logistic-regression",), length=20
    )
    rows = {row.attack: row.auc for row in found.rows}
    assert rows["attribute-gender-predictions: logistic-regression"] == 0.5
    assert "attribute-gender-lists: logistic-regression" in rows


def test_an_attribute_without_known_values_is_refused(ratings):
    """Nobody's value is known: nobody can be told apart, and that is said."""
    unknown = np.full(ratings.n_users, None, dtype=object)
    silent = replace(ratings, user_attributes={"gender": unknown})
    with pytest.raises(DataError, match="too few people differ in 'gender'"):
        tacit.attack(Popularity(), silent, attacks=("attribute",), attribute="gender")


def test_a_card_is_the_claim(ratings):
    """The epsilon of a private recommender's own card is what is tested, and it holds."""
    model = tacit.Private(1.0)
    found = tacit.attack(model, ratings, attacks=("audit",), canaries=20)
    assert found.claim == pytest.approx(1.0)
    assert found.delta == 1e-6
    assert found.verdict == "no violation found"


def test_a_card_is_the_claim_of_any_attack(ratings):
    """Also where no attack yields a bound of epsilon; and a delta below the card's is refused."""
    settings = {"attacks": ("reconstruction",), "length": 20}
    found = tacit.attack(tacit.Private(1.0), ratings, **settings)
    assert found.claim == pytest.approx(1.0)
    assert found.delta == 1e-6
    assert found.verdict == "not tested"
    with pytest.raises(ConfigError, match="The recommender's card states its epsilon at delta"):
        tacit.attack(tacit.Private(1.0), ratings, delta=1e-9, **settings)


def test_rows_have_the_names_of_the_machine_output(ratings):
    """As documented."""
    found = tacit.attack(Popularity(), ratings, attacks=("audit",), canaries=8)
    assert list(found.to_dict()["rows"][0]) == [
        "attack",
        "auc",
        "low",
        "high",
        "tpr_at_fpr_0.001",
        "tpr_at_fpr_0.01",
        "epsilon_lower_bound",
    ]
    assert math.isfinite(found.epsilon_lower_bound)


def test_lists_that_depend_on_a_group_are_read():
    """Disjoint lists for two groups: an AUC of 1. Lists drawn alike: inside 0.35 to 0.65, outside
    which 120 people fall less than once in 200 seeds; this seed is fixed."""
    labels = np.arange(120) % 2
    rng = np.random.default_rng(3)
    alike = rng.permuted(np.tile(np.arange(40), (120, 1)), axis=1)[:, :5]
    apart = np.where(labels[:, None] == 1, alike, alike + 40)
    assert auc_of_lists(apart, labels, seed=0) == 1.0
    assert 0.35 < auc_of_lists(alike, labels, seed=0) < 0.65


def test_few_people_of_a_group_are_not_attacked():
    """Nineteen of a kind are too few to learn from."""
    labels = (np.arange(100) < 19).astype(int)
    assert auc_of_lists(np.zeros((100, 3), dtype=int), labels, seed=0) is None


def test_progress_counts_the_steps_that_are_announced(ratings):
    """As many steps as `count_steps` says at most; the bar's end is the attack's."""
    done = []
    attacks = ("membership", "reconstruction")
    settings = {key: SMALL[key] for key in ("targets", "shadows", "victims", "length")}
    tacit.attack(Popularity(), ratings, attacks=attacks, progress=done.append, **settings)
    assert sum(done) == count_steps(attacks, SMALL["shadows"], SMALL["victims"])


def test_a_notebook_shows_findings(ratings):
    """A row for each attack, the verdict in words, text on the left and no colour."""
    found = tacit.attack(Popularity(), ratings, attacks=("reconstruction",), length=20)
    view = found._repr_html_()
    assert "Attacks on Popularity" in view
    assert "nothing is claimed" in view
    assert "text-align:left" in view
    assert "color:#" not in view


def test_a_stopped_attack_goes_on_from_its_file(ratings, tmp_path):
    """Finished fits are not made again, and the findings are those of an attack in one go."""
    fits = []

    class Counted(Popularity):
        def fit(self, ratings):
            fits.append(1)
            if len(fits) == 6:
                raise KeyboardInterrupt
            return super().fit(ratings)

    file = tmp_path / "fits.jsonl"
    settings = {**SMALL, "attacks": ("membership",), "resume": file}
    with pytest.raises(KeyboardInterrupt):
        tacit.attack(Counted, ratings, **settings)
    assert file.stat().st_mode & 0o777 == 0o600  # it tells how much lists gave away of each person
    found = tacit.attack(Counted, ratings, **settings)
    whole = tacit.attack(Popularity, ratings, **{**settings, "resume": None})
    assert [row.auc for row in found.rows] == [row.auc for row in whole.rows]
    fits_in_one_go = 1 + SMALL["shadows"] + SMALL["victims"]  # the first is for the card
    assert len(fits) == fits_in_one_go + 1 + 1  # the card again, and the fit that was stopped


def test_another_file_is_not_added_to(ratings, tmp_path):
    """A sentence, and its content stays."""
    file = tmp_path / "notes.txt"
    file.write_text("mine\n")
    with pytest.raises(ConfigError, match="no finished fits"):
        tacit.attack(Popularity, ratings, attacks=("membership",), resume=file, **SMALL)
    assert file.read_text() == "mine\n"
