"""A recommender that is fitted to everybody's rows by noisy sums, and serves lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource
from tacit.engine.best_items import BestItems
from tacit.errors import DataError
from tacit.privacy import Guarantee
from tacit.profile_sums import guarantees
from tacit.profile_sums.batch_lists import best_of_people
from tacit.profile_sums.catalogue import CatalogueChoices
from tacit.profile_sums.cold_items import (
    ColdItems,
    Facts,
    cold_item_tastes,
    fit_cold_model,
    read_cold_items,
    score_cold_items,
)
from tacit.profile_sums.device_files import ColdRows, pack_device_file
from tacit.profile_sums.files import fitted_from_parts, fitted_to_parts
from tacit.profile_sums.fits import Fit, count_fit
from tacit.profile_sums.fitted_lists import FittedLists, PreparedFit, fit_lists, prepare_fit
from tacit.profile_sums.people import read_history
from tacit.profile_sums.release import ReleasedLists, describe_release
from tacit.profile_sums.release_stars import StarModel
from tacit.profile_sums.scoring import (
    Reasons,
    largest_reasons,
    personal_scores,
    score_items,
    split_score,
)
from tacit.profile_sums.settings import DEFAULT_DELTA, DEFAULT_EPSILON, Mode, Settings
from tacit.recommenders import base, inputs
from tacit.recommenders.base import Floats, History, Recommendations
from tacit.recommenders.item_details import title_of_facts
from tacit.recommenders.public_facts import UNKNOWN_SPENDING

Likes = History | Iterable[Any]
"""One person's history: item id to stars, or the ids of the items that they like."""


class PrivateLists(base.ItemRecommender):
    """Lists from four noisy sums over people, in one domain or across two.

    For very many people in one domain, a fifth sum has pairs of likes. Stars add three sums.

    Args:
        epsilon: Bound for one person's whole profile, added or removed; inf: no privacy.
        delta: Delta of the guarantee.
        source: Name or names of the domains of the context items, from which profiles are made;
            None: every domain that is not a target.
        target: Name or names of the domains of the items in lists; None: all items are one domain.
        domain: Name of the item metadata that holds each item's domain.
        features: Names of public item metadata that tastes are made of; None: genres, tags,
            categories, price and year, if the items have them; (): none.
        mode: "taste": lists by tastes in features; "top-items": lists by products of the most
            popular items; "auto": chosen by the noisy counts, which may also lead to popularity.
        like_at: Least rating that is a like; None: 70 % of the way up the scale.
        stars: Whether `predict` returns stars; their sums take 40 % of the budget mu^2 of
            Gaussian differential privacy.

    Attributes:
        fitted_: The result of the fit; no protected person's rows are in it.
        released_: The released lists.
        stars_: The released stars; None if `stars` is False.
        item_ids_: (target items,) ids of the items that lists are made of.
        context_ids_: (context items,) ids of the items whose ratings make profiles.
        settings_: The settings of the fit.
        scale_: The scale of the ratings.
        titles_: Item id to title.
        details_: Categories, prices and pictures of items, for display.
        people_: The ratings that were fitted to; of stored ratings, the catalogue without people;
            None in a model that was loaded or copied.
    """

    fitted_: FittedLists
    released_: ReleasedLists
    stars_: StarModel | None
    context_ids_: Column
    settings_: Settings
    scale_: RatingScale

    def __init__(
        self,
        epsilon: float = DEFAULT_EPSILON,
        delta: float = DEFAULT_DELTA,
        *,
        source: str | Sequence[str] | None = None,
        target: str | Sequence[str] | None = None,
        domain: str = "domain",
        features: Sequence[str] | None = None,
        mode: Mode = "auto",
        like_at: float | None = None,
        stars: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.source = source
        self.target = target
        self.domain = domain
        self.features = features
        self.mode: Mode = mode
        self.like_at = like_at
        self.stars = stars

    @property
    def settings(self) -> Settings:
        """The parameters as settings; ConfigError if one is not valid."""
        return Settings(self.epsilon, self.delta, self.mode, self.like_at, self.stars)

    @property
    def choices(self) -> CatalogueChoices:
        """Choices of items and metadata from the catalogue."""
        return CatalogueChoices(self.source, self.target, self.domain, self.features)

    @property
    def consenting_people_(self) -> int:
        """Number of people who agreed not to be protected and were learned from."""
        return self.fitted_.n_consenting

    def fit(self, ratings: RatingsSource, y: None = None) -> Self:
        """Fit the model to everybody's ratings.

        The card also counts earlier fits of this object, and of the same ratings object in
        this process.

        Args:
            ratings: In memory, in buckets on disk or on a cluster; the sums are the same. A
                data frame is read as `tacit.ratings_from` reads it.
            y: Not used; scikit-learn's interface has it.

        Raises:
            DataError: The ratings or the catalogue cannot be used.
            ConfigError: A parameter is not valid, or does not fit the ratings.
        """
        ratings = inputs.as_ratings_source(ratings)
        earlier = self.fitted_.fits if hasattr(self, "fitted_") else ()
        return self.fit_part(ratings, ratings, earlier)

    def fit_part(self, part: RatingsSource, ratings: RatingsSource, earlier: Sequence[Fit]) -> Self:
        """Fit the model to a part of some ratings; the card counts it as a fit of all of them.

        Args:
            part: The ratings that are fitted to.
            ratings: All ratings, of which `part` is a part.
            earlier: Earlier fits of these people, which the card counts, too.

        Raises:
            DataError: The ratings or the catalogue cannot be used.
            ConfigError: A parameter is not valid, or does not fit the ratings.
        """
        prepared = prepare_fit(part, self.settings, self.choices)
        prepared = self._add_unknown_spending(prepared, is_first=not earlier)
        new_fit = Fit.with_random_name(prepared.settings, prepared.assumed_public)
        fits = count_fit(ratings, new_fit, earlier)
        self._hold(fit_lists(prepared, fits, None), prepared.catalogue)
        return self

    def _add_unknown_spending(self, prepared: PreparedFit, *, is_first: bool) -> PreparedFit:
        """Add the condition `UNKNOWN_SPENDING` to the first fit of a clone.

        scikit-learn's `clone` copies the parameters of an object and not its fits.
        """
        if not (self.is_clone and is_first):
            return prepared
        conditions = (*prepared.assumed_public, UNKNOWN_SPENDING)
        return replace(prepared, assumed_public=conditions)

    def _hold(self, fitted: FittedLists, people: Ratings | None) -> None:
        """Set the fitted attributes.

        Args:
            fitted: The result of the fit.
            people: The ratings that were fitted to, or the catalogue of stored ones; None: the
                model is read from a file.
        """
        self.fitted_ = fitted
        self.released_ = fitted.released
        self.stars_ = fitted.stars
        self.item_ids_ = fitted.item_ids
        self.context_ids_ = fitted.context_ids
        self.settings_ = fitted.settings
        self.scale_ = fitted.scale
        self.titles_ = fitted.titles
        self.details_ = fitted.details
        self.people_ = people

    @property
    def history_ids_(self) -> Column:
        """(context and target items,) ids that a history may have."""
        return self.fitted_.history_ids

    def recommend(
        self,
        user: Any = None,
        *,
        history: Likes | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
        keep_seen: bool = False,
        cold: Mapping[Any, Facts] | None = None,
    ) -> Recommendations:
        """Recommend the n best items that are not in the history.

        Args:
            user: Id of a person who was fitted to. A model knows none if it was loaded, copied or
                fitted to stored ratings.
            history: Item id to stars, or ids of liked items; it is used in place of the user's.
            n: Length of the list.
            exclude: Further item ids to leave out.
            candidates: Item ids to choose from; None: all. Cold items need not be among them.
            keep_seen: Whether items of the history may be listed.
            cold: Items that no one rated, which may be listed, too: item id to public facts, by the
                names of the catalogue's columns, as {"new-1": {"genre": ["Drama"]}}. Their score is
                that of an item of average popularity with these features. Items without a feature
                that the model knows are not listed.

        Raises:
            ConfigError: There are cold items, and the model cannot score them.
            DataError: A rating is off the scale, or a cold item is one of the model's items.
        """
        own_rows = self._history(user, history)
        seen = () if keep_seen else own_rows
        left_out = {*seen, *inputs.checked_ids(exclude, "exclude")}
        best = base.top_n(
            self._score(own_rows),
            self.item_ids_,
            n=n,
            user=user,
            left_out=left_out,
            candidates=candidates,
        )
        if cold:
            return self._with_cold_items(best, user, own_rows, cold, left_out, n)
        return best.with_titles(self.titles_)

    def read_cold_items(self, cold: Mapping[Any, Facts]) -> ColdItems:
        """Read the features of items that no one rated.

        Args:
            cold: Item id to public facts, as for `recommend`.

        Raises:
            ConfigError: The model cannot score cold items.
            DataError: A cold item is one of the model's items.
        """
        self._require_fitted()
        return read_cold_items(self.fitted_, cold)

    def _with_cold_items(
        self,
        best: Recommendations,
        user: Any,
        own_rows: History,
        cold: Mapping[Any, Facts],
        left_out: Collection[Any],
        n: int,
    ) -> Recommendations:
        """Rank cold items and the model's best items together; in ties, cold items come last.

        Args:
            best: The list without cold items.
            user: Id of the person, for the entries of the list.
            own_rows: The person's history.
            cold: Item id to public facts.
            left_out: Item ids that are not listed.
            n: Length of the list.
        """
        items = self.read_cold_items(cold)
        scores = score_cold_items(own_rows, self.fitted_, items)
        rows = list(best)
        for item, score in zip(items.ids, scores.tolist(), strict=True):
            if item not in left_out:
                rows.append(base.Recommendation(user, item, score, 0, cold=True))
        rows.sort(key=lambda row: (-row.score, row.cold))
        ranked = [replace(row, rank=rank) for rank, row in enumerate(rows[:n], 1)]
        return Recommendations(tuple(ranked)).with_titles(self.titles_)

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: Likes | None = None
    ) -> Floats:
        """Predict a person's stars for items, or their scores if `stars` is False.

        Args:
            items: Item ids.
            user: As for `recommend`.
            history: As for `recommend`.

        Returns:
            (len(items),) stars or scores; NaN for an item that lists are not made of.
        """
        own_rows = self._history(user, history)
        if self.stars_ is None:
            return base.scores_of_items(self._score(own_rows), self.item_ids_, items)
        targets, context = self.fitted_.target_places, self.fitted_.context_places
        places = []
        # In the model of stars, target items come first, then context items of other domains.
        for item in own_rows:
            if item in targets:
                places.append(targets[item])
            elif item in context:
                places.append(len(targets) + context[item])
            else:
                places.append(-1)
        stars = np.fromiter(own_rows.values(), float)
        predicted = self.stars_.predict(
            stars, np.array(places, dtype=np.int64), len(targets), self.scale_
        )
        return base.scores_of_items(predicted, self.item_ids_, items)

    def similar_items(self, item: Any, *, n: int = 10) -> Recommendations:
        """Find the n items whose scores a like of `item` alone raises most, beyond popularity.

        Raises:
            DataError: `item` is neither a context nor a target item of the model.
        """
        liked = self._history(None, [item])
        if item not in self.history_ids_.tolist():
            raise DataError("no such item", found=item)
        profile = self.fitted_.profile(liked)
        scores = personal_scores(profile, self.released_, self.settings_)[0]
        best = base.top_n(scores, self.item_ids_, n=n, user=None, left_out=liked, candidates=None)
        return best.with_titles(self.titles_)

    def explain(
        self, item: Any, user: Any = None, *, history: Likes | None = None, n: int = 3
    ) -> Reasons:
        """Explain an item's score by the person's own items, and by features of these items.

        Explanations are made from the release and the person's own rows, so they cost no epsilon.

        Args:
            item: Id of a target item.
            user: As for `recommend`.
            history: As for `recommend`.
            n: Largest number of reasons of each kind.

        Returns:
            Reasons by items, then by features, each largest first. Empty if everybody gets the same
            list.

        Raises:
            NotFittedError: The model is not fitted.
            DataError: Lists are not made of this item.
        """
        likes = self._history(user, history)
        profile = self.fitted_.profile(likes)
        n = inputs.checked_n(n)
        ids = self.item_ids_.tolist()
        if item not in ids:
            raise DataError("no such item among those that lists are made of", found=item)
        parts = split_score(profile, ids.index(item), self.released_, self.settings_)
        own_ids = self.context_ids_[parts.items].tolist()
        reasons_by_item = largest_reasons("item", own_ids, parts.added_by_item, n)
        names = self.fitted_.named_features
        added_by_named = parts.added_by_feature[: len(names)]  # dense features come after these
        reasons_by_feature = largest_reasons("feature", names, added_by_named, n)
        return Reasons((*reasons_by_item, *reasons_by_feature))

    def device_file(self, cold: Mapping[Any, Facts] | None = None) -> bytes:
        """Return the file from which devices make lists.

        It has released and public values, and weights from people who agreed not to be protected.
        Most numbers have 16 bits, so scores differ a little from those of `recommend`.

        Args:
            cold: Items that no one rated, which lists may hold, too; as for `recommend`.

        Raises:
            ConfigError: There are cold items, and the model cannot score them.
            DataError: A cold item is one of the model's items.
        """
        (card,) = self.guarantees()
        return pack_device_file(self.fitted_, card, self._cold_rows(cold or {}))

    def _cold_rows(self, cold: Mapping[Any, Facts]) -> ColdRows:
        """Prepare, for a device file, those cold items that have a feature of the model."""
        if not cold:
            return ColdRows()
        items = self.read_cold_items(cold)
        titles = {}
        for item in items.ids:
            title = title_of_facts(cold[item])
            if title is not None:
                titles[item] = title
        return ColdRows(
            ids=items.ids,
            titles=titles,
            tastes=cold_item_tastes(self.fitted_, items),
            popularity=fit_cold_model(self.fitted_).popularity,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return one card of all fits of these people, and of those still to come in a plan."""
        usefulness = self.summary()
        fitted = self.fitted_
        card = guarantees.card_of_fits(
            fitted.fits,
            self.settings_.delta,
            usefulness=usefulness,
            planned=fitted.planned_fits,
            consenting=fitted.n_consenting,
            lifetime=fitted.lifetime,
            has_pairs=fitted.released.has_pairs,
        )
        return (card,)

    def summary(self) -> str:
        """Describe in sentences how useful the lists are; all numbers in them are released."""
        self._require_fitted()
        return describe_release(self.released_)

    __getstate__ = base.without_people

    def save(self, path: str | Path) -> None:
        """Write the model file: released and public values, and what consenting people gave.

        Only people who agreed not to be protected can be found in the file.
        """
        container.write(path, *self.parts())

    def parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the header of the model file as JSON values, and its arrays by name."""
        self._require_fitted()
        return fitted_to_parts(self.fitted_)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Make a model from the parts of a file; `people_` is None.

        Raises:
            ValueError or another of `errors.UNUSABLE_CONTENT`: The parts are no model of this kind.
        """
        fitted = fitted_from_parts(header, arrays)
        settings, choices = fitted.settings, fitted.choices
        model = cls(
            settings.epsilon,
            settings.delta,
            source=choices.source,
            target=choices.target,
            domain=choices.domain,
            features=choices.features,
            mode=settings.mode,
            like_at=settings.like_at,
            stars=settings.stars,
        )
        model._hold(fitted, None)
        return model

    def _history(self, user: Any, history: Likes | None) -> History:
        """Return the given history, item id to stars, or else that of the user; {} if unknown."""
        self._require_fitted()
        if history is not None:
            return read_history(history, self.scale_, self.item_ids_)
        inputs.refuse_history_as_user(user)
        return self.people_.history(user) if self.people_ is not None else {}

    def _best_of_rows(
        self, rows: sparse.csr_array, n: int, allowed: NDArray[np.int64] | None
    ) -> BestItems:
        """Make the lists of many people; see `best_of_people`."""
        return best_of_people(rows, self.fitted_, n, allowed)

    def _score(self, history: History) -> Floats:
        """Return the scores (target items,) of one person."""
        person = self.fitted_.profile(history)
        scores: Floats = score_items(person, self.released_, self.settings_)[0]
        return scores
