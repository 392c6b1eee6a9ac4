"""Adapters: recommenders of several kinds get one interface, to fit and to ask for answers.

A recommender is of the first of these kinds whose description applies to it:
  RecBole             a tuple with a trained model and its dataset: (model, dataset), or all that
                      RecBole's `load_data_and_model` returns. It is fixed, which means that it is
                      never fitted here, and it answers for people by their ids.
  history -> list     a function of one argument. It is fixed.
  implicit, lenskit   objects of these packages, on which tacit does not depend
  tacit               `fit(ratings)` and `recommend(history=..., n=...)`, as in `Recommender`
  of known people     `fit(ratings)` and `recommend(user=..., n=...)`. It answers only for people
                      that it learned from.
  scikit-learn-like   `fit(X)` and `recommend(X, n)` or `predict(X)`. X is (people, items) CSR of
                      stars; the answers are item numbers or scores, with a row for each row of X.
For each fit a new model is made: a class or a function without arguments is called; an object with
`get_params` is made anew from its class and these parameters; any other object is copied.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import ThreadpoolController, threadpool_limits

from tacit.auditing.attacks.base import Floats, Ints
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, TacitError
from tacit.recommenders.base import History, ItemRecommender

HISTORIES_AT_A_TIME = 100
"""Histories answered in one call; during the call memory holds each one's scores of all items."""
_LISTED_ITEMS_AT_A_TIME = 2_000_000
"""Most items in the lists of one block of histories, which is answered in the order of lengths."""


class Answers:
    """A fitted recommender that is asked for answers.

    Items are named by their numbers in the ratings that the recommender was fitted to; histories
    name them by ids. If the recommender's code raises an error, a ConfigError is raised from it.
    Each kind of recommender has a subclass, which replaces `_rank` and perhaps other methods.

    Args:
        ratings: Ratings that the recommender is fitted to.
    """

    factors: Floats | None = None
    """(items, f) item factors; None if the recommender has none."""
    name = "The recommender"
    """Name of the recommender in error messages."""

    def __init__(self, ratings: Ratings) -> None:
        self.ids = ratings.item_ids.tolist()
        self.number = {item: number for number, item in enumerate(self.ids)}
        self.liked_from = ratings.scale.liked_from

    def history_row(self, history: History) -> sparse.csr_matrix:
        """Return (1, items) CSR of the history's stars; unknown items are left out."""
        numbers = sorted(self.number[item] for item in history if item in self.number)
        stars = [history[self.ids[number]] for number in numbers]
        return self._make_matrix(numbers, stars, [0, len(numbers)])

    def like_rows(self, histories: Sequence[History]) -> sparse.csr_matrix:
        """Return (histories, items) CSR with 1 for each like; unknown items are left out."""
        numbers: list[int] = []
        ends = [0]
        for history in histories:
            liked = [item for item, stars in history.items() if stars >= self.liked_from]
            numbers += sorted(self.number[item] for item in liked if item in self.number)
            ends.append(len(numbers))
        return self._make_matrix(numbers, np.ones(len(numbers)), ends)

    def _make_matrix(
        self, numbers: Sequence[int], values: Sequence[float] | Floats, ends: Sequence[int]
    ) -> sparse.csr_matrix:
        """Return (rows, items) CSR of values.

        Args:
            numbers: Item number of each value, ascending in each row.
            values: The values, row by row.
            ends: (rows + 1) end of each row among the values, after 0.
        """
        columns = np.array(numbers, dtype=np.int32)
        content = (np.array(values, dtype=np.float64), columns, np.array(ends, dtype=np.int32))
        return sparse.csr_matrix(content, shape=(len(ends) - 1, len(self.ids)))

    def to_unseen_item_numbers(self, items: Iterable[Any], history: History, n: int) -> Ints:
        """Return the numbers of the first n items that are known and not in the history.

        Args:
            items: Ids of the items in a list, best first.
            history: Ratings of the account.
            n: Largest number of items.

        Raises:
            ValueError: `items` holds an unseen item twice.
        """
        numbers = [self.number[item] for item in items if item in self.number]
        return self.keep_unseen_items(np.array(numbers, dtype=np.int64), history, n)

    def keep_unseen_items(self, listed: Ints, history: History, n: int) -> Ints:
        """Return the first n item numbers that are not of items in the history.

        Args:
            listed: Numbers of the items in a list, best first.
            history: Ratings of the account.
            n: Largest number of items.

        Raises:
            ValueError: `listed` holds an unseen item twice.
        """
        rated = [self.number[item] for item in history if item in self.number]
        is_unseen = np.ones(len(self.ids), dtype=bool)
        is_unseen[rated] = False
        unseen = listed[is_unseen[listed]]
        if np.bincount(unseen, minlength=1).max() > 1:
            raise ValueError("a list holds an item twice")
        return unseen[:n]

    def rank_by_score(self, scores: Floats, history: History, n: int) -> Ints:
        """Return the numbers of the n items with the highest scores, best first.

        Args:
            scores: (items,) scores; an item whose score is NaN is left out.
            history: Ratings of the account; these items are left out.
            n: Largest number of items.
        """
        order = np.argsort(-scores, kind="stable")  # NaN goes last
        has_score = ~np.isnan(scores[order])
        return self.keep_unseen_items(order[has_score], history, n)

    def rank(self, history: History, n: int) -> Ints:
        """Return at most n item numbers for an account with this history, best first."""
        with as_config_error(self.name, "answer"):
            return self._rank(history, n)

    def rank_for_person(self, user: Any, history: History, n: int) -> Ints:
        """Return at most n item numbers, best first, for a person whom the recommender may know.

        Args:
            user: The person's id, which a recommender that answers for histories does not use.
            history: The person's ratings.
            n: Largest number of items.
        """
        with as_config_error(self.name, "answer"):
            return self._rank_for_person(user, history, n)

    def scores(self, history: History) -> Floats | None:
        """Return (items,) scores, NaN for items without one; None if the recommender gives none."""
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
        """Return the scores; raise ValueError unless they are (items,) or None."""
        n = len(self.ids)
        if scores is not None and scores.shape != (n,):
            raise ValueError(f"{n} scores were expected, of shape ({n},), not {scores.shape}")
        return scores

    def _rank_each(self, histories: Sequence[History], n: int) -> Iterator[Ints]:
        """Do what `rank_each` does; errors of the recommender's code are raised as they are."""
        for history in histories:
            yield self._rank(history, n)

    def _scores_each(self, histories: Sequence[History]) -> Iterator[Floats | None]:
        """Do what `scores_each` does, without checks and with errors as they are."""
        for history in histories:
            yield self._scores(history)

    def _rank(self, history: History, n: int) -> Ints:
        """Do what `rank` does; errors of the recommender's code are raised as they are."""
        raise NotImplementedError

    def _rank_for_person(self, user: Any, history: History, n: int) -> Ints:
        """Do what `rank_for_person` does; errors are raised as they are."""
        del user
        return self._rank(history, n)

    def _scores(self, history: History) -> Floats | None:
        """Do what `scores` does, without a check and with errors as they are."""
        return None


@contextmanager
def as_config_error(name: str, what: str) -> Iterator[None]:
    """Raise a ConfigError in place of other errors, with the original error's message.

    A TacitError is raised as it is.

    Args:
        name: Name of the recommender whose code runs in this context.
        what: What the recommender cannot do, as the error says it: "be fitted".
    """
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
        name: Name of the recommender in errors and findings.
        fit: Makes a new model, fits it to ratings, and returns its answers.
        fixed: Whether the recommender never changes: then `fit` learns nothing from the ratings.
        trained: Whether it was trained before, perhaps on ratings that are held out for a test.
        answers_histories: Whether it answers for any history, which most attacks need.
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
        """Fit a new model to the ratings, unless the recommender is fixed, and return its answers.

        Raises:
            ConfigError: The recommender's code raised an error.
        """
        with as_config_error(self.name, "be fitted"):
            answers = self._fit(ratings)
        answers.name = self.name
        return answers


def adapt(model: Any) -> AdaptedModel:
    """Wrap a recommender, of any kind that the module's text lists, in the common interface.

    Args:
        model: An object, a class or function that makes one, a function of a history, or a tuple
            with a trained model of RecBole.

    Raises:
        ConfigError: The recommender is of no known kind, or cannot be made.
    """
    recbole_model_and_dataset = find_recbole_model(model)
    if recbole_model_and_dataset is not None:
        trained_model, dataset = recbole_model_and_dataset
        return AdaptedModel(
            type(trained_model).__name__,
            lambda ratings: _RecBole(trained_model, dataset, ratings),
            fixed=True,
            trained=True,
            answers_histories=False,
        )
    make_model = _find_maker(model)
    if make_model is None:
        return AdaptedModel(_name_of(model), lambda ratings: _Function(model, ratings), fixed=True)
    with as_config_error(_name_of(model), "be made"):
        unfitted = _make_on_one_thread(make_model)
    packages = {base.__module__.partition(".")[0] for base in type(unfitted).__mro__}
    recommend = getattr(unfitted, "recommend", None)
    parameters = set() if recommend is None else set(inspect.signature(recommend).parameters)
    has_fit = callable(getattr(unfitted, "fit", None))
    adapter: Callable[[Any, Ratings], Answers]
    if "implicit" in packages:
        adapter = _Implicit
    elif "lenskit" in packages:
        adapter = _LensKit
    elif has_fit and "history" in parameters:
        adapter = _Tacit
    elif has_fit and "user" in parameters:
        adapter = _OfKnownPeople
    elif has_fit and (recommend is not None or hasattr(unfitted, "predict")):
        adapter = _Matrix
    else:
        raise ConfigError(_describe_missing_methods(unfitted))
    return AdaptedModel(
        _name_of(unfitted),
        lambda ratings: adapter(_make_on_one_thread(make_model), ratings),
        answers_histories=adapter is not _OfKnownPeople,
    )


def find_recbole_model(model: Any) -> tuple[Any, Any] | None:
    """Find a trained model of RecBole and its dataset in a tuple, by their public interfaces.

    Returns:
        The model and the dataset; None if `model` is no tuple that holds both.
    """
    if not isinstance(model, tuple):
        return None
    models = [part for part in model if callable(getattr(part, "full_sort_predict", None))]
    datasets = [part for part in model if hasattr(part, "field2token_id")]
    return (models[0], datasets[0]) if models and datasets else None


def _make_on_one_thread(make: Callable[[], Any]) -> Any:
    """Call `make` with one thread for linear algebra: with several, implicit prints a warning."""
    with threadpool_limits(1, "blas"):
        return make()


def _describe_missing_methods(model: Any) -> str:
    """Return a sentence that names the methods that an object lacks to be a recommender."""
    has_answers = any(callable(getattr(model, name, None)) for name in ("recommend", "predict"))
    missing = "fit(X)"
    if callable(getattr(model, "fit", None)):
        missing = "recommend(X, n) or predict(X)"
    elif not has_answers:
        missing = "fit(X), and recommend(X, n) or predict(X)"
    return (
        f"A {type(model).__name__} is no recommender: it lacks {missing}. Give an object or a "
        "class of implicit, lenskit or tacit, one with fit(X) and recommend(X, n) or predict(X), "
        "a function history -> list of items, or RecBole's (model, dataset)."
    )


def _history_error(name: str) -> ConfigError:
    """Make the error for asking a recommender of known people about a history."""
    return ConfigError(
        f"{name} answers only for people it learned from, by their ids. It can be compared where "
        "it learns from everybody, but not attacked. Give a function history -> list to attack it."
    )


def _name_of(model: Any) -> str:
    """Return the name of a class or function; of other objects, the name of their class."""
    return str(getattr(model, "__name__", type(model).__name__))


def _find_maker(model: Any) -> Callable[[], Any] | None:
    """Return a function that makes a new unfitted model; None for a function of a history.

    Raises:
        ConfigError: `model` is neither a model nor callable.
    """
    if isinstance(model, type):
        return model
    if inspect.isroutine(model) or not (hasattr(model, "fit") or hasattr(model, "train")):
        if not callable(model):
            raise ConfigError(_describe_missing_methods(model))
        return None if _needs_argument(model) else model
    if hasattr(model, "get_params"):
        return lambda: type(model)(**model.get_params(deep=False))
    return lambda: copy.deepcopy(model)


def _needs_argument(function: Callable[..., Any]) -> bool:
    """Return whether a function has a positional parameter without default."""
    for parameter in inspect.signature(function).parameters.values():
        is_positional = parameter.kind in (
            parameter.POSITIONAL_ONLY,
            parameter.POSITIONAL_OR_KEYWORD,
        )
        if is_positional and parameter.default is parameter.empty:
            return True
    return False


class _Function(Answers):
    """A fixed function history -> list."""

    def __init__(self, function: Callable[[dict[Any, float]], Iterable[Any]], ratings: Ratings):
        super().__init__(ratings)
        self.function = function

    def _rank(self, history: History, n: int) -> Ints:
        return self.to_unseen_item_numbers(_ids(self.function(dict(history))), history, n)


class _Tacit(Answers):
    """A recommender with `fit(ratings)` and `recommend(history=..., n=...)`."""

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.model = model.fit(ratings) or model
        factors = getattr(self.model, "item_factors_", None)
        self.factors = factors if factors is not None and len(factors) == len(self.ids) else None

    def _rank(self, history: History, n: int) -> Ints:
        listed = self.model.recommend(history=dict(history), n=n)
        return self.to_unseen_item_numbers(_ids(listed), history, n)

    def _rank_each(self, histories: Sequence[History], n: int) -> Iterator[Ints]:
        if not _can_list_many(self.model):
            yield from super()._rank_each(histories, n)
            return
        model_ids = self.model.item_ids_.tolist()
        numbers = np.array([self.number.get(item, -1) for item in model_ids], dtype=np.int64)
        for start in range(0, len(histories), HISTORIES_AT_A_TIME):
            block = histories[start : start + HISTORIES_AT_A_TIME]
            lists = self.model.list_histories(block, n=n).renumber(numbers).places
            for history, listed in zip(block, lists, strict=True):
                yield self.keep_unseen_items(listed[listed >= 0], history, n)

    def _scores(self, history: History) -> Floats | None:
        if not hasattr(self.model, "predict"):
            return None
        return np.asarray(self.model.predict(self.ids, history=dict(history)), dtype=np.float64)


def _can_list_many(model: Any) -> bool:
    """Return whether `list_histories` is known to give the same lists as `recommend`.

    That holds for tacit's own recommenders. It need not hold if a method was replaced by other
    code, in a subclass, in the class or in the object: `list_histories` may not use that code.
    """
    names = ("recommend", "list_histories", "_score", "_score_rows")
    return isinstance(model, ItemRecommender) and _has_own_methods(model, "tacit", names)


def _has_own_methods(model: Any, package: str, names: Sequence[str]) -> bool:
    """Say whether a model has these methods, and they are functions of a package.

    They are not if one was replaced by other code, in a subclass, in the class or in the object.
    """
    for name in names:
        function = getattr(type(model), name, None)
        module = getattr(function, "__module__", None) or ""
        if name in vars(model) or not module.startswith(f"{package}."):
            return False
    return True


class _OfKnownPeople(Answers):
    """A recommender with `fit(ratings)` and `recommend(user=..., n=...)`."""

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.model = model.fit(ratings) or model

    def _rank(self, history: History, n: int) -> Ints:
        del history, n
        raise _history_error(self.name)

    def _rank_for_person(self, user: Any, history: History, n: int) -> Ints:
        # The list may hold items of the history, which are then dropped.
        length = min(n + len(history), len(self.ids))
        return self.to_unseen_item_numbers(
            _ids(self.model.recommend(user=user, n=length)), history, n
        )


class _RecBole(Answers):
    """A trained model of RecBole; as in RecBole's own evaluation, it scores all items for a person.

    Ids in RecBole are texts. A person who is not in its dataset gets an empty list.

    Raises:
        ConfigError: The model is sequential.
    """

    def __init__(self, model: Any, dataset: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        if hasattr(model, "ITEM_SEQ"):
            raise ConfigError(
                f"{type(model).__name__} is a sequential model: it needs the order of a history. "
                "Give a function history -> list that asks it."
            )
        # A caller with such an object has the package; tacit does not depend on it.
        self.interaction_class = import_module("recbole.data.interaction").Interaction
        self.model = model
        self.dataset = dataset
        self.recbole_users = dataset.field2token_id[dataset.uid_field]
        number_of = {str(item): number for number, item in enumerate(self.ids)}
        n_items = len(dataset.field2token_id[dataset.iid_field])
        tokens = dataset.id2token(dataset.iid_field, np.arange(n_items))
        numbers = [number_of.get(str(token), -1) for token in tokens]
        # For each item of RecBole its number in the ratings; -1 for unknown items.
        self.item_numbers = np.array(numbers, dtype=np.int64)
        self.item_numbers[0] = -1  # RecBole's padding
        model.eval()

    def _rank(self, history: History, n: int) -> Ints:
        del history, n
        raise _history_error(self.name)

    def _rank_for_person(self, user: Any, history: History, n: int) -> Ints:
        if str(user) not in self.recbole_users:
            return np.array([], dtype=np.int64)
        recbole_user = np.array([self.recbole_users[str(user)]])
        query = self.interaction_class({self.dataset.uid_field: recbole_user})
        predicted = self.model.full_sort_predict(query.to(self.model.device))
        values = predicted.detach().cpu().numpy().reshape(-1).astype(np.float64)
        if len(values) != len(self.item_numbers):
            raise ValueError(f"{len(self.item_numbers)} scores were expected, not {len(values)}")
        is_known = self.item_numbers >= 0
        scores = np.full(len(self.ids), np.nan)
        scores[self.item_numbers[is_known]] = values[is_known]
        return self.rank_by_score(scores, history, n)


class _Implicit(Answers):
    """A model of implicit, fitted to likes.

    Its answer for an account depends on the account's likes alone, not on its other ratings.
    """

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.model = model
        stars = ratings.matrix
        likes = sparse.csr_matrix(
            (ratings.likes.astype(np.float32), stars.indices.copy(), stars.indptr.copy()),
            shape=stars.shape,
        )
        likes.eliminate_zeros()
        self._liked_in_training = set(ratings.item_ids[np.unique(likes.indices)].tolist())
        # Found once: finding them takes as long as several answers.
        self._thread_pools = ThreadpoolController()
        with self._thread_pools.limit(limits=1, user_api="blas"):
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
        block_size = max(HISTORIES_AT_A_TIME, _LISTED_ITEMS_AT_A_TIME // max(n, 1))
        for start in range(0, len(histories), block_size):
            yield from self._rank_block(histories[start : start + block_size], n)

    def _rank_block(self, histories: Sequence[History], n: int) -> list[Ints]:
        """Return for each history at most n item numbers, best first.

        A history's items are dropped from a list that is long enough to have n items left. So that
        few lists are longer than they need to be, histories are asked for in the order of their
        lengths.
        """
        lengths = np.array([self._count_items_to_drop(history) for history in histories])
        order = np.argsort(lengths, kind="stable")
        lists = [np.array([], dtype=np.int64)] * len(histories)
        for start in range(0, len(order), HISTORIES_AT_A_TIME):
            places = order[start : start + HISTORIES_AT_A_TIME]
            length = n + int(lengths[places[-1]])
            likes = self.like_rows([histories[place] for place in places])
            for place, (items, _) in zip(
                places.tolist(), self._list_rows(likes, length), strict=True
            ):
                # Copied, since a part of an array keeps the whole array in memory.
                lists[place] = self.keep_unseen_items(items, histories[place], n).copy()
        return lists

    def _count_items_to_drop(self, history: History) -> int:
        """Count the items by which a list is longer than it has to be: those of the history.

        They are all items if the model learned nothing about any like of the history. All items
        then tie, and the order that implicit gives them depends on the list's length.
        """
        liked = (item for item, stars in history.items() if stars >= self.liked_from)
        is_known = any(item in self._liked_in_training for item in liked)
        return len(history) if is_known else len(self.ids)

    def _scores_each(self, histories: Sequence[History]) -> Iterator[Floats | None]:
        for start in range(0, len(histories), HISTORIES_AT_A_TIME):
            likes = self.like_rows(histories[start : start + HISTORIES_AT_A_TIME])
            scores = self._score_rows(likes)
            rows = np.repeat(np.arange(likes.shape[0]), np.diff(likes.indptr))
            # Likes get no score, as they are left out of lists.
            scores[rows, likes.indices] = np.nan
            yield from scores

    def _score_rows(self, likes: sparse.csr_matrix) -> Floats:
        """Return (rows, items) scores for accounts with these (rows, items) likes.

        An item that implicit gives no score is NaN.
        """
        if self._is_scored_by_factors():
            with self._thread_pools.limit(limits=1, user_api="blas"):
                user_factors = self.model.recalculate_user(np.arange(likes.shape[0]), likes)
                return np.asarray(user_factors @ self.model.item_factors.T, dtype=np.float64)
        scores = np.full(likes.shape, np.nan)
        for row, (items, scores_of_items) in enumerate(self._list_rows(likes, len(self.ids))):
            scores[row, items] = scores_of_items
        return scores

    def _is_scored_by_factors(self) -> bool:
        """Say whether an item's score is its factors times those of the user, in memory.

        That is so for implicit's own ALS. Scores of other models, and of a model whose code was
        replaced in a subclass or in the object, are read from lists of all items; this takes
        longer, because implicit sorts them.
        """
        names = ("recommend", "recalculate_user")
        factors = getattr(self.model, "item_factors", None)
        return isinstance(factors, np.ndarray) and _has_own_methods(self.model, "implicit", names)

    def _list_rows(self, likes: sparse.csr_matrix, n: int) -> Iterator[tuple[Ints, Floats]]:
        """Yield the best n items and their scores, for each account with these (rows, items) likes.

        Likes are among them: to leave them out, implicit copies its matrix anew for each account.
        """
        # Item-based models of implicit accept `recalculate_user` and ignore it.
        with self._thread_pools.limit(limits=1, user_api="blas"):
            items, scores = self.model.recommend(
                np.arange(likes.shape[0]),
                likes,
                N=min(n, len(self.ids)),
                filter_already_liked_items=False,
                recalculate_user=True,
            )
        # implicit fills lists that are too short with -1, or with the least score.
        is_listed = (items >= 0) & (scores > np.finfo(np.float32).min)
        for row_items, row_scores, is_row_listed in zip(items, scores, is_listed, strict=True):
            yield row_items[is_row_listed], row_scores[is_row_listed]


class _LensKit(Answers):
    """A scorer or a pipeline of LensKit."""

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.trained_items = set(ratings.item_ids[np.unique(ratings.items)].tolist())
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
        ratings = {item: stars for item, stars in history.items() if item in self.trained_items}
        user_items = self.data.ItemList(item_ids=list(ratings), rating=list(ratings.values()))
        query = self.data.RecQuery(user_items=user_items)
        recommended = import_module("lenskit").recommend(self.pipeline, query, n=n)
        return self.to_unseen_item_numbers(recommended.ids().tolist(), history, n)


class _Matrix(Answers):
    """A recommender with `fit(X)`, and `recommend(X, n)` or `predict(X)`.

    X is (people, items) CSR of stars.
    """

    def __init__(self, model: Any, ratings: Ratings) -> None:
        super().__init__(ratings)
        self.model = model
        self.has_recommend = callable(getattr(model, "recommend", None))
        stars = ratings.matrix
        has_ratings = np.diff(stars.indptr) > 0
        model.fit(sparse.csr_matrix(stars)[has_ratings])

    def _rank(self, history: History, n: int) -> Ints:
        if self.has_recommend:
            # The list may hold items of the history, which are then dropped.
            length = min(n + len(history), len(self.ids))
            listed = self._read_item_numbers(
                self.model.recommend(self.history_row(history), length)
            )
            return self.keep_unseen_items(listed, history, n)
        scores = self.scores(history)
        assert scores is not None
        return self.rank_by_score(scores, history, n)

    def _read_item_numbers(self, listed: Any) -> Ints:
        """Read the answer of `recommend` to one row.

        Args:
            listed: (1, length) item numbers. A shorter list ends with entries of -1, which are
                dropped.

        Raises:
            ValueError: `listed` is something else, or holds a number that no item has.
        """
        rows = None if isinstance(listed, tuple) else np.asarray(listed)
        if rows is None or rows.ndim != 2 or len(rows) != 1 or rows.dtype.kind not in "iuf":
            raise ValueError(
                "recommend(X, n) has to give item numbers, a row for each row of X; it gave "
                f"{type(listed).__name__}"
            )
        listed_numbers = rows[0][rows[0] != -1]
        is_item = (listed_numbers >= 0) & (listed_numbers < len(self.ids))  # false for NaN as well
        if not (is_item & (listed_numbers == np.floor(listed_numbers))).all():
            raise ValueError(f"it listed an item that is none of the {len(self.ids)} columns of X")
        numbers: Ints = listed_numbers.astype(np.int64)
        return numbers

    def _scores(self, history: History) -> Floats | None:
        if not hasattr(self.model, "predict"):
            return None
        scores = self.model.predict(self.history_row(history))
        if sparse.issparse(scores):
            scores = scores.toarray()
        scores = np.asarray(scores, np.float64)
        # A row or a column of scores has only one order.
        return scores.reshape(-1) if scores.ndim == 2 and 1 in scores.shape else scores


def _ids(listed: Any) -> Sequence[Any]:
    """Return the item ids of `Recommendations`, of a list of ids, or of a list of (id, score)."""
    if hasattr(listed, "item_ids"):
        return list(listed.item_ids)
    return [entry[0] if isinstance(entry, tuple) else entry for entry in listed]
