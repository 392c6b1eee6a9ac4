"""A private recommender for one file of ratings or events, within one domain or across two."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.designs.private import guarantees, lists, storing
from tacit.designs.private.device_file import at_device, device_file
from tacit.designs.private.features import features
from tacit.designs.private.fitting import release
from tacit.designs.private.people import like_threshold, one, profiles
from tacit.designs.private.settings import Mode, Settings, noise_multipliers
from tacit.designs.private.sides import sides_of
from tacit.designs.private.stars import star_means
from tacit.designs.private.tastes import Features
from tacit.engine.profile_sums_compiled import Profiles
from tacit.errors import DataError
from tacit.privacy import Guarantee
from tacit.recommenders.base import (
    Floats,
    History,
    ItemRecommender,
    Recommendations,
    checked_history,
    pick,
    top_n,
)
from tacit.recommenders.files import (
    ids_from_header,
    items_to_header,
    titles_from_header,
    titles_of,
)
from tacit.recommenders.public import TAKEN, taken_for_public

Likes = History | Iterable[Any]
"""One person's own rows: item id to stars, or the ids of items they like."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One of a person's own items, or a feature of them, and what it adds to an item's score."""

    kind: Literal["item", "feature"]
    name: Any
    score: float


class Private(ItemRecommender):
    """Lists from four noisy sums over people.

    epsilon, delta   for a person's whole profile, added or removed; epsilon inf: no privacy
    source, target   names of domains, one or several; both None: one domain, all items
    domain           the item metadata that names domains
    features         names of public item metadata that tastes are made of; None: genres, tags,
                     categories, year, price where there are any; (): none
    mode             "auto": by the noisy number of people; "taste"; "top-items"
    like_at          the least rating that is a like; None: 70 % of the way up the scale
    stars            whether to release means of stars, too, with 40 % of mu^2, for `predict`

    Fitted: `released_`, all that left the platform; `item_ids_`, what lists are made of;
    `context_ids_`, what a history is read for.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        source: str | Sequence[str] | None = None,
        target: str | Sequence[str] | None = None,
        domain: str = "domain",
        features: Sequence[str] | None = None,
        mode: Mode = "auto",
        like_at: float | None = None,
        stars: bool = False,
    ) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.source, self.target, self.domain = source, target, domain
        self.features, self.mode, self.like_at, self.stars = features, mode, like_at, stars

    @property
    def settings(self) -> Settings:
        """The parameters, checked; ConfigError for one that cannot be."""
        return Settings(self.epsilon, self.delta, self.mode, self.like_at, self.stars)

    def fit(self, ratings: Ratings, y: None = None) -> Private:
        """Learn from everybody. y: not used, as scikit-learn has it."""
        settings = self.settings
        sides = sides_of(ratings, self.source, self.target, self.domain)
        names, table = features(ratings, self.features)
        threshold = like_threshold(ratings.scale, self.like_at)
        people = profiles(ratings, sides, threshold, settings.other_weight)
        both = Features(table[sides.context], table[sides.targets])
        usable = min(_used(both.context), _used(both.targets)) >= 2
        sizes = len(sides.context), len(sides.targets)
        self.released_ = release(people, sizes, both if usable else None, settings)
        self.stars_ = None
        if settings.stars:
            known, noise = both.targets if usable else None, noise_multipliers(settings)[-1]
            self.stars_ = star_means(ratings, sides.targets, known, noise)
        self.feature_names_, self.context_features_ = names, both.context if usable else None
        self.item_ids_ = ratings.item_ids[sides.targets]
        self.context_ids_ = ratings.item_ids[sides.context]
        self.joint_, self.scale_, self.threshold_ = sides.joint, ratings.scale, threshold
        self.settings_, self.taken_ = settings, taken_for_public(ratings)
        self.titles_, self.people_ = titles_of(ratings), ratings
        return self

    @property
    def history_ids_(self) -> Column:
        """Ids that a history may hold."""
        return self.item_ids_ if self.joint_ else np.union1d(self.context_ids_, self.item_ids_)

    def recommend(
        self,
        user: Any = None,
        *,
        history: Likes | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """The n best items that are not in the history or `exclude`, among `candidates` if given.

        history: item id to stars, or ids of liked items. user: one of those fitted to, who is
        known until the model is saved.
        """
        own = self._own(user, history)
        return top_n(
            self._score(own), self.item_ids_,
            n=n, user=user, left_out={*own, *exclude}, candidates=candidates,
        )  # fmt: skip

    def device_file(self) -> bytes:
        """What devices need to make lists: all of it is released or public.

        Numbers have 16 bits, so scores differ a little from `recommend`'s.
        """
        card = self.guarantees()[0]
        said = items_to_header(self.item_ids_, self.titles_) | {
            "context": None if self.joint_ else list(self.context_ids_.tolist()),
            "scale": [self.scale_.minimum, self.scale_.maximum],
            "liked_from": self.threshold_ - 1e-9,
            "card": card.to_dict(),
        }
        return device_file(self.released_, self.context_features_, self.settings_, said)

    def recommend_at_device(self, history: Likes, *, n: int = 10, **given: Any) -> Recommendations:
        """The list as a device makes it from `device_file`: nothing leaves it.

        given: `exclude` and `candidates`, as of `recommend`.
        """
        return at_device(self.device_file(), self._own(None, history), n, **given)

    def recommend_many(self, histories: Sequence[Likes], *, n: int = 10) -> list[Recommendations]:
        """A list for each history, in their order; `user_id` is its place."""
        owns = [self._own(None, history) for history in histories]
        return [
            top_n(
                self._score(own), self.item_ids_, n=n, user=place, left_out=own, candidates=None
            )
            for place, own in enumerate(owns)
        ]  # fmt: skip

    def score_people(self, ratings: Ratings) -> Floats:
        """(n_users, items) of everybody in `ratings` of the catalogue that was fitted to."""
        self._fitted()
        sides = sides_of(ratings, self.source, self.target, self.domain)
        same = np.array_equal(ratings.item_ids[sides.targets], self.item_ids_)
        if not (same and np.array_equal(ratings.item_ids[sides.context], self.context_ids_)):
            raise DataError("the ratings have another catalogue than the model")
        people = profiles(ratings, sides, self.threshold_, self.settings_.other_weight)
        return self._scores(people)

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: Likes | None = None
    ) -> Floats:
        """(len(items),) predicted stars if `stars`, else scores; NaN for what is in no list."""
        own = self._own(user, history)
        if self.stars_ is None:
            return pick(self._score(own), self.item_ids_, items)
        places = np.array([self._numbers[1].get(item, -1) for item in own], dtype=np.int64)
        stars = np.array(list(own.values()), dtype=np.float64)
        return pick(self.stars_.predict(stars, places, self.scale_), self.item_ids_, items)

    def similar_items(self, item: Any, *, n: int = 10) -> Recommendations:
        """The n items that liking `item` alone speaks most for, beyond their popularity."""
        self._fitted()
        own = self._own(None, [item])
        if item not in self.history_ids_.tolist():
            raise DataError("no such item", found=item)
        added = lists.personal(
            self._profile(own), self.released_, self.context_features_, self.settings_
        )
        return top_n(added[0], self.item_ids_, n=n, user=None, left_out=own, candidates=None)

    def explain(
        self, item: Any, user: Any = None, *, history: Likes | None = None, n: int = 3
    ) -> tuple[Reason, ...]:
        """Up to n own items and up to n features that add most to an item's score, largest first.

        Made from the release and the person's own rows: it spends nothing. Nothing where everybody
        gets the same list.
        """
        profile = self._profile(self._own(user, history))
        ids = self.item_ids_.tolist()
        if item not in ids:
            raise DataError("no such item among those that lists are made of", found=item)
        own, by_feature = lists.parts(
            profile, ids.index(item), self.released_, self.context_features_, self.settings_
        )
        context = self.context_ids_.tolist()
        reasons = [Reason("item", context[number], score) for number, score in own]
        reasons = sorted(reasons, key=lambda reason: -reason.score)[:n]
        named = zip(self.feature_names_, by_feature, strict=False)
        more = [Reason("feature", name, float(score)) for name, score in named]
        more = sorted(more, key=lambda reason: -reason.score)[:n]
        return tuple(reason for reason in (*reasons, *more) if reason.score > 0)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """One card, composed from the events that the fit was charged."""
        self._fitted()
        return (guarantees.card(self.settings_, taken=self.taken_, found=self.summary()),)

    def summary(self) -> str:
        """What the fit found about the use of lists, from released numbers alone."""
        self._fitted()
        return lists.in_words(self.released_)

    def save(self, path: str | Path) -> None:
        """Write what was released. No person is in the file."""
        self._fitted()
        header = {
            "recommender": "private",
            "settings": storing.settings_to_header(self.settings_),
            "parameters": {
                "source": _names(self.source),
                "target": _names(self.target),
                "domain": self.domain,
                "features": None if self.features is None else list(self.features),
            },
            "scale": [self.scale_.minimum, self.scale_.maximum, self.scale_.step],
            "taken": list(self.taken_),
            "feature_names": list(self.feature_names_),
            "context": None if self.joint_ else list(self.context_ids_.tolist()),
            **storing.released_to_header(self.released_),
            **items_to_header(self.item_ids_, self.titles_),
        }
        arrays = storing.to_arrays(self.released_, self.context_features_)
        container.write(path, header, arrays | storing.stars_to_arrays(self.stars_))

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Private:
        """Back from a checked model file."""
        settings = storing.settings_from_header(header["settings"])
        model = cls(
            settings.epsilon, settings.delta, mode=settings.mode, like_at=settings.like_at,
            stars=settings.stars, **header["parameters"],
        )  # fmt: skip
        model.settings_, model.taken_ = settings, tuple(header["taken"])
        if not set(model.taken_) <= set(TAKEN):
            raise ValueError("it takes something unknown for public")
        model.item_ids_ = ids_from_header(header["items"])
        model.joint_ = header["context"] is None
        model.context_ids_ = (
            model.item_ids_ if model.joint_ else ids_from_header(header["context"])
        )  # fmt: skip
        model.released_, model.context_features_ = storing.from_file(
            header, arrays, len(model.context_ids_), len(model.item_ids_)
        )
        model.stars_ = storing.stars_from(arrays, len(model.item_ids_)) if model.stars else None
        model.feature_names_ = tuple(header["feature_names"])
        model.scale_ = RatingScale(*header["scale"])
        model.threshold_ = like_threshold(model.scale_, model.like_at)
        model.titles_ = titles_from_header(header)
        return model

    def _own(self, user: Any, history: Likes | None) -> History:
        self._fitted()
        if history is None:
            return self.people_.history(user) if self.people_ is not None else {}
        if isinstance(history, str):
            raise DataError("a history is a list of item ids or item ids with stars", found=history)
        if not isinstance(history, Mapping):
            return dict.fromkeys(history, self.scale_.maximum)
        own = checked_history(history)
        if not self.scale_.holds(np.array(list(own.values()), dtype=np.float64)).all():
            raise DataError(
                "a rating in the history lies off the scale", expected=str(self.scale_)
            )  # fmt: skip
        return own

    def _profile(self, own: History) -> Profiles:
        context, targets = self._numbers
        items = np.array(sorted(context[item] for item in own if item in context), dtype=np.int64)
        ids = self.context_ids_
        liked = np.array(
            [own[item] >= self.threshold_ - 1e-9 for item in ids[items].tolist()], bool
        )
        likes = [
            targets[item]
            for item, stars in own.items()
            if item in targets and stars >= self.threshold_ - 1e-9
        ]
        return one(
            items, liked, np.array(sorted(likes), dtype=np.int64),
            self.settings_.other_weight, self.joint_,
        )  # fmt: skip

    @property
    def _numbers(self) -> tuple[dict[Any, int], dict[Any, int]]:
        """Where each id stands among context and target items; made once for a fit."""
        known = self.__dict__.get("_known")
        if known is None or known[0] is not self.item_ids_:
            tables = [
                {item: place for place, item in enumerate(ids.tolist())}
                for ids in (self.context_ids_, self.item_ids_)
            ]
            known = self._known = (self.item_ids_, tables[0], tables[1])
        return known[1], known[2]

    def _scores(self, people: Profiles) -> Floats:
        return lists.scores(people, self.released_, self.context_features_, self.settings_)

    def _score(self, history: History) -> Floats:
        scores: Floats = self._scores(self._profile(history))[0]
        return scores


def _names(given: str | Sequence[str] | None) -> list[str] | str | None:
    return given if given is None or isinstance(given, str) else list(given)


def _used(table: sparse.csr_array) -> int:
    """How many columns an item of this side has."""
    return len(np.unique(table.indices))
