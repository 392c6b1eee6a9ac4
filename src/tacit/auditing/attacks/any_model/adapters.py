"""Adapters: any recommender is fitted to `Ratings` and answers for a history.

Known kinds, in this order:
  RecBole             a trained model with its dataset, (model, dataset), or all that RecBole's
                      `load_data_and_model` returns; it is fixed and knows people by their ids
  history -> list     a function of one argument; it is fixed and never fitted
  implicit, lenskit   objects of these packages; tacit itself depends on neither
  tacit               `fit(ratings)` and `recommend(history=..., n=...)`, as `Recommender` has it
  of known people     `fit(ratings)` and `recommend(user=..., n=...)`: it answers for people that it
                      learned from, and for no other history
  scikit-learn-like   `fit(X)` and `recommend(X, n)` or `predict(X)`: X is (people, items) CSR of
                      stars, answers are item numbers or scores, a row for each row of X
A class, or a function without arguments, makes a new model for each fit; an object is copied.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from tacit.auditing.attacks.base import Floats, Ints
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, TacitError
from tacit.recommenders.base import History, ItemRecommender

HISTORIES_AT_A_TIME = 100
"""Histories that are answered in one call: scores of all items are held for each."""


class Answers:
    """Answers of a fitted recommender to one account. Items are numbers of the ratings fitted to.

    Whatever its code raises becomes a ConfigError.
    """

    factors: Floats | None = None
    """(items, f) item factors, or None."""
    name = "The recommender"
    """Name that errors call it by."""

    def __init__(self, ratings: Ratings) -> None:
        self.ids = ratings.item_ids.tolist()
        self.number = {item: place for place, item in enumerate(self.ids)}
        self.liked_from = ratings.scale.liked_from

    def row(self, history: History) -> sparse.csr_matrix:
        """Return (1, items) stars."""
        stars = [(self.number[item], history[item]) for item in history if item in self.number]
        return self._stack_rows([sorted(stars)])

    def like_rows(self, histories: Sequence[History]) -> sparse.csr_matrix:
        """Return (histories, items) with 1 for each like."""
        rows = []
        for history in histories:
            liked = [item for item, stars in history.items() if stars >= self.liked_from]
            numbers = sorted(self.number[item] for item in liked if item in self.number)
            rows.append([(number, 1.0) for number in numbers])
        return self._stack_rows(rows)

    def _stack_rows(self, rows: Sequence[Sequence[tuple[int, float]]]) -> sparse.csr_matrix:
        """Return (rows, items) CSR of rows of pairs: an item's number, ascending, and a value."""
        entries = list(chain.from_iterable(rows))
        columns = np.array([number for number, _ in entries], dtype=np.int32)
        values = np.array([value for _, value in entries], dtype=np.float64)
        ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
        return sparse.csr_matrix((values, columns, ends), shape=(len(rows), len(self.ids)))

    def numbers(self, items: Iterable[Any], history: History, n: int) -> Ints:
        """Return the numbers of known items that are not in the history, at most n.

        Raises:
            ValueError: An item stands in the list twice.
        """
        unseen = [item for item in items if item in self.number and item not in history]
        numbers = [self.number[item] for item in unseen]
        if len(set(numbers)) < len(numbers):
            raise ValueError("a list holds an item twice")
        return np.array(numbers[:n], dtype=np.int64)

    def numbers_by_score(self, scores: Floats, history: History, n: int) -> Ints:
        """Return the numbers of items with the highest scores; an item of score NaN is not listed.

        Args:
            scores: Shape (items,).
            history: What the account has: it is left out.
            n: Length of the list.
        """
        order = np.argsort(-scores, kind="stable")  # NaN goes last
        scored = order[~np.isnan(scores[order])]
        return self.numbers([self.ids[place] for place in scored], history, n)

    def rank(self, history: History, n: int) -> Ints:
        """Return at most n item numbers, best first."""
        with as_config_error(self.name, "answer"):
            return self._rank(history, n)

    def rank_for_person(self, user: Any, history: History, n: int) -> Ints:
        """Return at most n item numbers for a person of the ratings fitted to.

        Args:
            user: Their id; a recommender that answers histories needs none.
            history: What they rated.
            n: Length of the list.
        """
        with as_config_error(self.name, "answer"):
            return self._rank_for_person(user, history, n)

    def scores(self, history: History) -> Floats | None:
        """Return (items,) scores, NaN where there is none; None if the recommender gives none."""
        with as_config_error(self.name, "answer"):
            return self._check_scores(self._scores(history))

    def rank_each(self, histories: Sequence[History], n: int) -> Iterator[Ints]:
        """Yield for each history at most n item numbers, best first."""
        with as_config_error(self.name, "answer"):
            yield from self._rank_each(histories, n)

    def scores_each(self, histories: Sequence[History]) -> Iterator[Floats | None]:
        """Yield for each history (items,) scores, as `scores` returns them."""
        with as_config_error(self.name, "answer"):
            for scores in self._scores_each(histories):
                yield self._check_scores(scores)

    def _check_scores(self, scores: Floats | None) -> Floats | None:
        """Return the scores; ValueError unless there is one for each item, or None for all."""
        if scores is not None and scores.shape != (len(self.ids),):
            raise ValueError(f"{len(self.ids)} scores were asked for, not {scores.size}")
        return scores

    def _rank_each(self, histories: Sequence[History], n: int) -> Iterator[Ints]:
        for history in histories:
            yield self._rank(history, n)

    def _scores_each(self, histories: Sequence[History]) -> Iterator[Floats | None]:
        for history in histories:
            yield self._scores(history)

    def _rank(self, history: History, n: int) -> Ints:
        raise NotImplementedError

    def _rank_for_person(self, user: Any, history: History, n: int) -> Ints:
        del user
        return self._rank(history, n)

    def _scores(self, history: History) -> Floats | None:
        return None


@contextmanager
def as_config_error(name: str, what: str) -> Iterator[None]:
    """Turn a failure of the recommender's code into a ConfigError that repeats what it said."""
    try:
        yield
    except TacitError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{name} cannot {what} ({type(error).__name__}: {error}). Correct it; --debug shows "
            "where."
        ) from error


class AdaptedModel:
    """A recommender of any known kind.

    Args:
        name: Name that errors and findings call it by.
        fit: Makes a new model and fits it.
        fixed: Whether fits change nothing: nothing is learned from people.
        trained: Whether it learned before, from ratings that may be among those held out.
        answers_histories: Whether it answers for any history, as an attack asks it.
    """

    def __init__(
        self,
        name: str,
        fit: Callable[[Ratings], Answers],
        *,
        fixed: bool = False,
        trained: bool = False,
        answers_histories: bool = True,
    ) -> None:
        self.name = name
        self.fixed = fixed
        self.trained = trained
        self.answers_histories = answers_histories
        self._fit = fit

    def fit(self, ratings: Ratings) -> Answers:
        """Fit a new model.

        Raises:
            ConfigError: The recommender's code failed; the error repeats what it said.
        """
        with as_config_error(self.name, "be fitted"):
            answers = self._fit(ratings)
        answers.name = self.name
        return answers


def adapt(model: Any) -> AdaptedModel:
    """Adapt a recommender by its kind.

    Raises:
        ConfigError: It is of no known kind.
    """
    trained = find_recbole_model(model)
    if trained is not None:
        name = type(trained[0]).__name__
        return AdaptedModel(
            name,
            lambda ratings: _RecBole(*trained, ratings),
            fixed=True,
            trained=True,
            answers_histories=False,
        )
    make = _maker(model)
    if make is None:
        return AdaptedModel(_name(model), lambda ratings: _Function(model, ratings), fixed=True)
    with as_config_error(_name(model), "be made"):
        unfitted = _make_on_one_thread(make)
    packages = {base.__module__.partition(".")[0] for base in type(unfitted).__mro__}
    recommend = getattr(unfitted, "recommend", None)
    asked_for = set() if recommend is None else set(inspect.signature(recommend).parameters)
    fits = callable(getattr(unfitted, "fit", None))
    kind: Callable[[Any, Ratings], Answers]
    if "implicit" in packages:
        kind = _Implicit
    elif "lenskit" in packages:
        kind = _LensKit
    elif fits and "history" in asked_for:
        kind = _Tacit
    elif fits and "user" in asked_for:
        kind = _OfKnownPeople
    elif fits and (recommend is not None or hasattr(unfitted, "predict")):
        kind = _Matrix
    else:
        raise ConfigError(_describe_missing_methods(unfitted))
    return AdaptedModel(
        _name(unfitted),
        lambda ratings: kind(_make_on_one_thread(make), ratings),
        answers_histories=kind is not _OfKnownPeople,
    )


def find_recbole_model(model: Any) -> tuple[Any, Any] | None:
    """Find a trained model of RecBole and its dataset in a tuple, by their public interfaces."""
    if not isinstance(model, tuple):
        return None
    asked = [part for part in model if callable(getattr(part, "full_sort_predict", None))]
    datasets = [part for part in model if hasattr(part, "field2token_id")]
    return (asked[0], datasets[0]) if asked and datasets else None


def _make_on_one_thread(make: Callable[[], Any]) -> Any:
    """Make a model while linear algebra has one thread: implicit warns of more."""
    with threadpool_limits(1, "blas"):
        return make()


def _describe_missing_methods(model: Any) -> str:
    """Say which methods an object lacks to be a recommender."""
    answers = [name for name in ("recommend", "predict") if callable(getattr(model, name, None))]
    missing = "fit(X)"
    if callable(getattr(model, "fit", None)):
        missing = "recommend(X, n) or predict(X)"
    elif not answers:
        missing = "fit(X), and recommend(X, n) or predict(X)"
    return (
        f"A {type(model).__name__} is no recommender: it lacks {missing}. Give an object or a "
        "class of implicit, lenskit or tacit, one with fit(X) and recommend(X, n) or predict(X), "
        "a function history -> list of items, or RecBole's (model, dataset)."
    )


def _refuse_history(name: str) -> ConfigError:
    """Say why a recommender of known people has no answer for a history."""
    return ConfigError(
        f"{name} answers only for people it learned from, by their ids: it can be compared where "
        "everybody is learned from, and not attacked. Give a function history -> list for more."
    )


def _name(model: Any) -> str:
    return str(getattr(model, "__name__", type(model).__name__))


def _maker(model: Any) -> Callable[[], Any] | None:
    """Return what makes a new unfitted model; None for a function of a history."""
    if isinstance(model, type):
        return model
    if inspect.isroutine(model) or not (hasattr(model, "fit") or hasattr(model, "train")):
        if not callable(model):
            raise ConfigError(_describe_missing_methods(model))
        needed = [
            each
            for each in inspect.signature(model).parameters.values()
            if each.default is each.empty
            and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
        return None if needed else model
    if hasattr(model, "get_params"):
        return lambda: type(model)(**model.get_params(deep=False))
    return lambda: copy.deepcopy(model)


class _Function(Answers):
    """A fixed function history -> list."""

    def __init__(self, function: Callable[[dict[Any, float]], Iterable[Any]], ratings: Ratings):
        super().__init__(ratings)
        self.function = function

    def _rank(self, history: History, n: int) -> Ints:
        return self.numbers(_ids(self.function(dict(history))), history, n)


class _Tacit(Answers):
    """`fit(ratings)` and `recommend(history=..., n=...)`."""

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.model = model.fit(ratings) or model
        factors = getattr(self.model, "item_factors_", None)
        self.factors = factors if factors is not None and len(factors) == len(self.ids) else None

    def _rank(self, history: History, n: int) -> Ints:
        listed = self.model.recommend(history=dict(history), n=n)
        return self.numbers(_ids(listed), history, n)

    def _rank_each(self, histories: Sequence[History], n: int) -> Iterator[Ints]:
        if not _has_own_lists(self.model):
            yield from super()._rank_each(histories, n)
            return
        for start in range(0, len(histories), HISTORIES_AT_A_TIME):
            block = histories[start : start + HISTORIES_AT_A_TIME]
            for history, listed in zip(block, self.model.recommend_many(block, n=n), strict=True):
                yield self.numbers(_ids(listed), history, n)

    def _scores(self, history: History) -> Floats | None:
        if not hasattr(self.model, "predict"):
            return None
        return np.asarray(self.model.predict(self.ids, history=dict(history)), dtype=np.float64)


def _has_own_lists(model: Any) -> bool:
    """Whether the lists of many histories are those that `recommend` gives: of tacit's own classes.

    What was replaced elsewhere, in a subclass, in the class or in the object, is what people get,
    and `recommend_many` may not know of it.
    """
    if not isinstance(model, ItemRecommender):
        return False
    for name in ("recommend", "recommend_many", "_score", "_score_rows"):
        function = getattr(type(model), name)
        if name in vars(model) or not function.__module__.startswith("tacit."):
            return False
    return True


class _OfKnownPeople(Answers):
    """`fit(ratings)` and `recommend(user=..., n=...)`."""

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.model = model.fit(ratings) or model

    def _rank(self, history: History, n: int) -> Ints:
        del history, n
        raise _refuse_history(self.name)

    def _rank_for_person(self, user: Any, history: History, n: int) -> Ints:
        longer = min(n + len(history), len(self.ids))  # it may list what they have
        return self.numbers(_ids(self.model.recommend(user=user, n=longer)), history, n)


class _RecBole(Answers):
    """A trained model of RecBole, asked for all items of a person as its own evaluation asks.

    Ids of RecBole are texts. Who is not in its dataset gets no list.
    """

    def __init__(self, model: Any, dataset: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        if hasattr(model, "ITEM_SEQ"):
            raise ConfigError(
                f"{type(model).__name__} is a sequential model: it needs the order of a history. "
                "Give a function history -> list that asks it."
            )
        # A caller with such an object has the package; tacit does not depend on it.
        self.interaction = import_module("recbole.data.interaction").Interaction
        self.model, self.dataset = model, dataset
        self.people = dataset.field2token_id[dataset.uid_field]
        own = {str(item): number for number, item in enumerate(self.ids)}
        n_items = len(dataset.field2token_id[dataset.iid_field])
        tokens = dataset.id2token(dataset.iid_field, np.arange(n_items))
        self.items = np.array([own.get(str(token), -1) for token in tokens], dtype=np.int64)
        self.items[0] = -1  # RecBole's padding
        model.eval()

    def _rank(self, history: History, n: int) -> Ints:
        del history, n
        raise _refuse_history(self.name)

    def _rank_for_person(self, user: Any, history: History, n: int) -> Ints:
        if str(user) not in self.people:
            return np.array([], dtype=np.int64)
        asked = self.interaction({self.dataset.uid_field: np.array([self.people[str(user)]])})
        scores = self.model.full_sort_predict(asked.to(self.model.device))
        values = scores.detach().cpu().numpy().reshape(-1).astype(np.float64)
        if len(values) != len(self.items):
            raise ValueError(f"{len(self.items)} scores were expected, not {len(values)}")
        is_known = self.items >= 0
        own = np.full(len(self.ids), np.nan)
        own[self.items[is_known]] = values[is_known]
        return self.numbers_by_score(own, history, n)


class _Implicit(Answers):
    """A model of implicit, fitted to likes; an account's factors come from its own likes."""

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.model = model
        stars = ratings.matrix
        likes = sparse.csr_matrix(
            (ratings.likes.astype(np.float32), stars.indices.copy(), stars.indptr.copy()),
            shape=stars.shape,
        )
        likes.eliminate_zeros()
        with threadpool_limits(1, "blas"):
            model.fit(likes[np.diff(likes.indptr) > 0], show_progress=False)
        factors: Any = getattr(model, "item_factors", None)
        if hasattr(factors, "to_numpy"):  # a matrix on a GPU
            factors = factors.to_numpy()
        if factors is not None:
            self.factors = np.asarray(factors, np.float64)

    def _rank(self, history: History, n: int) -> Ints:
        return next(self._rank_each([history], n))

    def _scores(self, history: History) -> Floats | None:
        return next(self._scores_each([history]))

    def _rank_each(self, histories: Sequence[History], n: int) -> Iterator[Ints]:
        # implicit leaves out likes alone: what the account rated and did not like is dropped here.
        longest = max(map(len, histories), default=0)
        answers = self._query(histories, n + longest)
        for history, (items, _) in zip(histories, answers, strict=True):
            yield self.numbers([self.ids[number] for number in items.tolist()], history, n)

    def _scores_each(self, histories: Sequence[History]) -> Iterator[Floats | None]:
        for items, scores in self._query(histories, len(self.ids)):
            of_items = np.full(len(self.ids), np.nan)
            of_items[items] = scores
            yield of_items

    def _query(self, histories: Sequence[History], n: int) -> Iterator[tuple[Ints, Floats]]:
        """Yield for each history at most n item numbers, best first, and their scores."""
        for start in range(0, len(histories), HISTORIES_AT_A_TIME):
            likes = self.like_rows(histories[start : start + HISTORIES_AT_A_TIME])
            # Item-based models of implicit accept `recalculate_user` and ignore it.
            with threadpool_limits(1, "blas"):
                items, scores = self.model.recommend(
                    np.arange(likes.shape[0]),
                    likes,
                    N=min(n, len(self.ids)),
                    filter_already_liked_items=True,
                    recalculate_user=True,
                )
            for row_items, row_scores in zip(items, scores, strict=True):
                is_listed = (row_items >= 0) & (row_scores > np.finfo(np.float32).min)
                listed = np.asarray(row_items, np.int64)[is_listed]
                yield listed, np.asarray(row_scores, np.float64)[is_listed]


class _LensKit(Answers):
    """A scorer or pipeline of LensKit."""

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.trained = set(ratings.item_ids[np.unique(ratings.items)].tolist())
        # A caller with such an object has the package; tacit does not depend on it.
        pipelines = import_module("lenskit.pipeline")
        self.data = import_module("lenskit.data")
        is_pipeline = isinstance(model, pipelines.Pipeline)
        self.pipeline = model if is_pipeline else pipelines.topn_pipeline(model)
        columns = {
            "user_id": ratings.user_ids[ratings.users],
            "item_id": ratings.item_ids[ratings.items],
            "rating": ratings.values,
        }
        frame = import_module("pandas").DataFrame(columns)
        self.pipeline.train(self.data.from_interactions_df(frame))

    def _rank(self, history: History, n: int) -> Ints:
        # Ratings of items that the pipeline was not trained on are left out.
        ratings = {item: stars for item, stars in history.items() if item in self.trained}
        user_items = self.data.ItemList(item_ids=list(ratings), rating=list(ratings.values()))
        query = self.data.RecQuery(user_items=user_items)
        recommended = import_module("lenskit").recommend(self.pipeline, query, n=n)
        return self.numbers(recommended.ids().tolist(), history, n)


class _Matrix(Answers):
    """`fit(X)` and `recommend(X, n)` or `predict(X)`; X is (people, items) CSR of stars."""

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.model = model
        self.lists = callable(getattr(model, "recommend", None))
        stars = ratings.matrix
        has_ratings = np.diff(stars.indptr) > 0
        model.fit(sparse.csr_matrix(stars)[has_ratings])

    def _rank(self, history: History, n: int) -> Ints:
        if self.lists:
            longer = min(n + len(history), len(self.ids))  # it may list what they have
            listed = self._item_numbers(self.model.recommend(self.row(history), longer))
            return self.numbers([self.ids[number] for number in listed], history, n)
        scores = self.scores(history)
        assert scores is not None
        return self.numbers_by_score(scores, history, n)

    def _item_numbers(self, listed: Any) -> list[int]:
        """Read the one row that `recommend` gave; -1 stands where a list has ended.

        Raises:
            ValueError: It is no row of item numbers.
        """
        rows = None if isinstance(listed, tuple) else np.asarray(listed)
        if rows is None or rows.ndim != 2 or len(rows) != 1 or rows.dtype.kind not in "iuf":
            raise ValueError(
                "recommend(X, n) has to give item numbers, a row for each row of X; it gave "
                f"{type(listed).__name__}"
            )
        numbers = rows[0][rows[0] != -1].astype(np.int64)
        if ((numbers < 0) | (numbers >= len(self.ids))).any():
            raise ValueError(f"it listed an item that is none of the {len(self.ids)} columns of X")
        item_numbers: list[int] = numbers.tolist()
        return item_numbers

    def _scores(self, history: History) -> Floats | None:
        if not hasattr(self.model, "predict"):
            return None
        scores = self.model.predict(self.row(history))
        if sparse.issparse(scores):
            scores = scores.toarray()
        return np.asarray(scores, np.float64).reshape(-1)


def _ids(listed: Any) -> Sequence[Any]:
    """Return the item ids of `Recommendations`, or of a list of ids or of (id, score)."""
    if hasattr(listed, "item_ids"):
        return list(listed.item_ids)
    return [each[0] if isinstance(each, tuple) else each for each in listed]
