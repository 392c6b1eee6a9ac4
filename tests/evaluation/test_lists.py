"""Lists judged on held-out likes: what is held out, what counts, and shares of a rival's gain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.data import Ratings, generate, on_catalogue
from tacit.data.synthetic_worlds import generate_domains
from tacit.errors import ConfigError, DataError
from tacit.evaluation import lists as module
from tacit.evaluation.lists import Contender, ListTrial, evaluate_lists, judge_lists, list_trial
from tacit.recommenders.base import Recommendation, Recommendations


@pytest.fixture(scope="module")
def one() -> Ratings:
    return generate(users=80, items=60, ratings=2400, seed=1)


@pytest.fixture(scope="module")
def two() -> Ratings:
    return generate_domains(300, (60, 60), pull=0.5, seed=1)


class Oracle:
    """Recommends what it is given for each person, and predicts one number."""

    def __init__(self, lists: dict[Any, list[Any]], stars: float = 3.0) -> None:
        self.lists, self.stars = lists, stars
        self.seen: list[Ratings] = []

    def fit(self, ratings: Ratings) -> Oracle:
        self.seen.append(ratings)
        return self

    def recommend(self, user: Any, *, n: int, candidates: Any) -> Recommendations:
        chosen = [item for item in self.lists[user] if candidates is None or item in candidates]
        rows = enumerate(chosen[:n], 1)
        return Recommendations(tuple(Recommendation(user, item, 0.0, rank) for rank, item in rows))

    def predict(self, items: Any, user: Any) -> Any:
        return np.full(len(items), self.stars)


def held_likes(trial: ListTrial) -> dict[Any, list[Any]]:
    likes = trial.test.where(trial.test.likes)
    return {user: list(likes.history(user)) for user in trial.test.user_ids.tolist()}


def test_one_domain_holds_out_a_fifth_of_the_likes(one: Ratings) -> None:
    """Training and test ratings are all there were, and a fifth of each person's likes is held out,
    at least one and never all; no other rating is."""
    trial = list_trial(one, seed=0)
    assert len(trial.train) + len(trial.test) == len(one)
    assert trial.test.likes.all()
    likes = np.bincount(one.users[one.likes], minlength=one.n_users)
    expected = np.minimum(np.maximum(np.round(0.2 * likes), 1), np.maximum(likes - 1, 0))
    assert np.array_equal(np.diff(trial.test.offsets), expected)
    assert trial.candidates is None


def test_two_domains_hold_out_the_target(two: Ratings) -> None:
    """Test people have no rating in the target domain in training; all its items may be listed."""
    trial = list_trial(two, source="source", target="target", seed=0)
    left = trial.train.item_metadata["domain"][
        trial.train.items[np.isin(trial.train.users, trial.people)]
    ]
    assert set(left.tolist()) == {"source"}
    assert trial.candidates == list(range(60, 120))
    assert len(trial.people) == pytest.approx(60, abs=2)


def test_people_are_limited(one: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most so many test people, and each has a held-out like."""
    monkeypatch.setattr(module, "MOST_PEOPLE", 7)
    trial = list_trial(one, seed=0)
    assert len(trial.people) == 7
    assert (np.diff(trial.relevant.indptr) > 0).all()


def test_known_figures(one: Ratings) -> None:
    """Lists of exactly the held-out likes score 1, lists of nothing liked 0."""
    trial = list_trial(one, seed=0)
    found = judge_lists(Oracle(held_likes(trial)), trial)
    counts = np.array([len(held_likes(trial)[u]) for u in one.user_ids[trial.people].tolist()])
    assert found.ndcg == pytest.approx(1)
    assert found.recall == pytest.approx(np.mean(np.minimum(10, counts) / counts))
    nothing: dict[Any, list[Any]] = {user: [] for user in one.user_ids.tolist()}
    assert judge_lists(Oracle(nothing), trial).ndcg == 0


def test_only_likes_count(two: Ratings) -> None:
    """Held-out ratings below a like are no hits: a list of them scores 0."""
    trial = list_trial(two, source="source", target="target", seed=0)
    others = trial.test.where(~trial.test.likes)
    lists = {user: list(others.history(user)) for user in two.user_ids.tolist()}
    assert judge_lists(Oracle(lists), trial).ndcg == 0


def test_candidates_alone_are_listed(two: Ratings) -> None:
    """What a recommender would list of another domain never enters."""
    trial = list_trial(two, source="source", target="target", seed=0)
    lists = {user: list(range(120)) for user in two.user_ids.tolist()}
    model = Oracle(lists)
    model.fit(trial.train)
    found = module.lists_of(model, trial.train, trial.people, candidates=trial.candidates)
    assert found.min() == 60


def test_errors_are_of_all_held_out_ratings(two: Ratings) -> None:
    """RMSE in stars over every held-out rating of the test people, clipped to the scale."""
    trial = list_trial(two, source="source", target="target", seed=0)
    mine = np.isin(trial.test.users, trial.people)
    found = judge_lists(Oracle(held_likes(trial), stars=9.0), trial, stars=True)
    assert found.rmse == pytest.approx(np.sqrt(np.mean((5 - trial.test.values[mine]) ** 2)))


def test_a_model_learns_from_training_alone(one: Ratings) -> None:
    """`fit` receives the training ratings, none of the held-out ones."""
    trial = list_trial(one, seed=0)
    model = Oracle(held_likes(trial))
    judge_lists(model, trial)
    assert [seen.digest for seen in model.seen] == [trial.train.digest]


def test_nobody_with_a_like_is_refused() -> None:
    """Ratings without a like cannot be judged."""
    dull = Ratings.from_arrays([1, 1, 2, 2], [1, 2, 1, 2], [1, 2, 1, 2])
    with pytest.raises(DataError, match="like"):
        list_trial(dull, seed=0)


def test_catalogue_items_are_candidates() -> None:
    """Items that nobody rated are listed where the catalogue has them."""
    made = generate(users=40, items=30, ratings=800, seed=1)
    whole = on_catalogue(made, dict.fromkeys(range(1, 41), "all"))
    rows = evaluate_lists(whole, [], seeds=(0,))
    assert {row.model for row in rows} == {"popularity", "ease"}


def test_rows(two: Ratings) -> None:
    """Popularity keeps nothing by definition, the rival all, a contender its share of the gain."""
    rows = evaluate_lists(
        two,
        [Contender("ridge"), Contender("popularity"), Contender("ease", {"penalty": 50.0})],
        source="source",
        target="target",
        seeds=(0, 1),
    )
    popularity, ridge, ease = rows
    assert [row.model for row in rows] == ["popularity", "ridge", "ease"]
    assert (popularity.kept, ridge.kept) == (None, pytest.approx(1))
    share = (ease.ndcg - popularity.ndcg) / (ridge.ndcg - popularity.ndcg)
    assert ease.kept == pytest.approx(share)
    assert all(row.low <= row.ndcg <= row.high for row in rows)


def test_the_rival_is_the_best_of_its_settings(one: Ratings) -> None:
    """Its mean is that of the penalty with the best mean over the seeds, not of each seed alone."""
    from tacit.evaluation.lists import PENALTIES
    from tacit.recommenders.baselines import EASE

    seeds = (0, 1, 2)
    trials = [list_trial(one, seed=seed) for seed in seeds]
    means = [
        np.mean([judge_lists(EASE(penalty=penalty), trial).ndcg for trial in trials])
        for penalty in PENALTIES
    ]
    rows = evaluate_lists(one, [], seeds=seeds)
    assert rows[1].ndcg == pytest.approx(max(means))


def test_workers_change_nothing(one: Ratings) -> None:
    """Two processes give the rows of one."""
    assert evaluate_lists(one, [], seeds=(0, 1)) == evaluate_lists(one, [], seeds=(0, 1), workers=2)


@pytest.mark.parametrize(
    "bad",
    [{"source": "a"}, {"target": "a"}, {"seeds": ()}],
)
def test_impossible_runs_are_refused(one: Ratings, bad: dict[str, Any]) -> None:
    """One domain's name alone, and no seed."""
    with pytest.raises(ConfigError):
        evaluate_lists(one, [], **bad)


def test_unknown_contenders_are_refused(one: Ratings) -> None:
    """The message lists the names."""
    with pytest.raises(ConfigError, match="popularity"):
        evaluate_lists(one, [Contender("nothing")], seeds=(0,))
