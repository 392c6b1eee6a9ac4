"""A private recommender for one file of ratings or events, within one domain or across two."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.data.ratings import Column, RatingScale
from tacit.data.stored import Given, known_of
from tacit.designs.private import guarantees, lists, people, releases
from tacit.designs.private.fitting import Prepared, in_words, prepared, release
from tacit.designs.private.lists import Reason
from tacit.designs.private.releases import Account
from tacit.designs.private.settings import Mode, Settings, noise_multipliers
from tacit.designs.private.stars import star_model
from tacit.engine.profile_sums_compiled import Profiles
from tacit.errors import DataError
from tacit.privacy import Guarantee
from tacit.recommenders import base, inputs
from tacit.recommenders.base import Floats, History, Recommendations

Likes = History | Iterable[Any]
"""One person's own rows: item id to stars, or the ids of items they like."""


class Private(base.ItemRecommender):
    """Lists from four noisy sums over people.

    epsilon, delta   for a person's whole profile, added or removed; epsilon inf: no privacy
    source, target   names of domains, one or several; both None: one domain, all items
    domain           the item metadata that names domains
    features         names of public item metadata that tastes are made of; None: genres, tags,
                     categories, year, price where there are any; (): none
    mode             "auto": by the noisy number of people; "taste"; "top-items"
    like_at          the least rating that is a like; None: 70 % of the way up the scale
    stars            whether to release means of stars, too, with 40 % of mu^2, for `predict`
    previous         the newest earlier model of the same people, or its file: costs add up
    lifetime         epsilon of all fits together, at delta; None: that of `previous`, if any

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
        previous: Private | str | Path | None = None,
        lifetime: float | None = None,
    ) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.source, self.target, self.domain = source, target, domain
        self.features, self.mode, self.like_at, self.stars = features, mode, like_at, stars
        self.previous, self.lifetime = previous, lifetime

    @property
    def settings(self) -> Settings:
        """The parameters, checked; ConfigError for one that cannot be."""
        return Settings(self.epsilon, self.delta, self.mode, self.like_at, self.stars)

    def fit(self, ratings: Given, y: None = None, *, account: Account | None = None) -> Private:
        """Learn from everybody. y: not used, as scikit-learn has it.

        ratings: in memory, in buckets on disk or on a cluster; the sums are the same.
        account: a ledger's budget that pays; `standing_` says what is left. PrivacyError, before
        anything is drawn, where the lifetime of all fits would be passed.
        """
        known, settings = people.catalogue_of(ratings), self.settings
        sides = people.sides_of(known, self.source, self.target, self.domain)
        given = prepared(known, sides, self.features, settings.mode)
        threshold = people.like_threshold(known.scale, self.like_at)
        everybody = people.everybody(ratings, sides, threshold, settings.other_weight)
        taken = inputs.taken_for_public(known)
        before, lifetime = releases.earlier(self.previous, self.lifetime, settings.delta)
        if self.lifetime is not None and hasattr(self, "releases_"):
            before = releases.united(self.releases_, before)  # its own fits count, too
        repeated = False
        if account is None:
            releases.check(before, settings, lifetime)
            fits = (*before, releases.Fit.new(settings, taken))
            self._learn(given, ratings, everybody, fits, lifetime)
        else:
            limit, _ = account.lifetime(lifetime, settings.delta)
            asked = lists.settings_to_header(settings) | lists.parameters(self)

            def make(fits: tuple[releases.Fit, ...]) -> bytes:
                fresh = type(self)(**self.get_params())
                made = fresh._learn(given, ratings, everybody, fits, limit)
                return container.pack(*made.parts())

            file, repeated = account.release(before, settings, asked, lifetime, make, taken)
            made = type(self).from_parts(*container.unpack(file))
            self.__dict__ |= {name: what for name, what in vars(made).items() if name[-1] == "_"}
        self.people_ = known
        self.__dict__.pop("_numbers", None)
        stood = releases.standing(self.releases_, settings.delta, self.lifetime_)
        self.standing_ = replace(stood, repeated=repeated)
        return self

    def _learn(
        self, given: Prepared, rows: Given, everybody: people.People,
        fits: tuple[releases.Fit, ...], lifetime: float | None,
    ) -> Private:  # fmt: skip
        settings, known, (sides, names, features) = self.settings, known_of(rows), given
        sizes = len(sides.context), len(sides.targets)
        released, stars = release(everybody, sizes, features, settings), None
        if settings.stars:
            noises, number = noise_multipliers(settings)[4:], released.usefulness.people
            stars = star_model(rows, sides, features, noises, number)
        self.released_, self.stars_ = released, stars  # all of a fit, or nothing of it
        self.item_ids_ = known.item_ids[sides.targets]
        self.context_ids_ = known.item_ids[sides.context]
        self.joint_, self.scale_, self.feature_names_ = sides.joint, known.scale, names
        self.threshold_ = people.like_threshold(known.scale, self.like_at)
        self.settings_, self.taken_ = settings, releases.taken_by(fits)
        self.titles_, self.releases_, self.lifetime_ = inputs.titles_of(known), fits, lifetime
        return self

    @property
    def history_ids_(self) -> Column:
        """(items,) ids that a history may hold."""
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
        return base.top_n(
            self._score(own), self.item_ids_,
            n=n, user=user, candidates=candidates,
            left_out={*own, *inputs.checked_ids(exclude, "exclude")},
        ).named(self.titles_)  # fmt: skip

    def device_file(self) -> bytes:
        """What devices need to make lists: all of it is released or public.

        Numbers have 16 bits, so scores differ a little from `recommend`'s.
        """
        card = self.guarantees()[0]
        public = inputs.items_to_header(self.item_ids_, self.titles_) | {
            "context": None if self.joint_ else list(self.context_ids_.tolist()),
            "scale": [self.scale_.minimum, self.scale_.maximum],
            "liked_from": self.threshold_ - 1e-9,
            "card": card.to_dict(),
        }
        return lists.device_file(self.released_, self.settings_, public)

    def recommend_many(self, histories: Sequence[Likes], *, n: int = 10) -> list[Recommendations]:
        """A list for each history, in their order; `user_id` is its place."""
        return [self.recommend(place, history=own, n=n) for place, own in enumerate(histories)]

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: Likes | None = None
    ) -> Floats:
        """(len(items),) predicted stars if `stars`, else scores; NaN for what is in no list."""
        own = self._own(user, history)
        if self.stars_ is None:
            return base.pick(self._score(own), self.item_ids_, items)
        context, first = self._numbers  # target items come first, then those of another domain
        others = {item: len(first) + place for item, place in context.items()}
        places = np.array([first.get(item, others.get(item, -1)) for item in own], dtype=np.int64)
        made = self.stars_.predict(
            np.fromiter(own.values(), float), places, len(first), self.scale_
        )
        return base.pick(made, self.item_ids_, items)

    def similar_items(self, item: Any, *, n: int = 10) -> Recommendations:
        """The n items that liking `item` alone speaks most for, beyond popularity; or DataError."""
        own = self._own(None, [item])
        if item not in self.history_ids_.tolist():
            raise DataError("no such item", found=item)
        added = lists.personal(self._profile(own), self.released_, self.settings_)[0]
        made = base.top_n(added, self.item_ids_, n=n, user=None, left_out=own, candidates=None)
        return made.named(self.titles_)

    def explain(
        self, item: Any, user: Any = None, *, history: Likes | None = None, n: int = 3
    ) -> tuple[Reason, ...]:
        """Up to n own items and up to n features that add most to an item's score, largest first.

        Made from the release and the person's own rows: it spends nothing. Nothing where everybody
        gets the same list; DataError for an item of no list.
        """
        profile, n = self._profile(self._own(user, history)), inputs.checked_n(n)
        ids = self.item_ids_.tolist()
        if item not in ids:
            raise DataError("no such item among those that lists are made of", found=item)
        numbers, added, by_feature = lists.parts(
            profile, ids.index(item), self.released_, self.settings_
        )
        own = self.context_ids_[numbers].tolist()
        return (
            *lists.reasons("item", own, added, n),
            *lists.reasons("feature", self.feature_names_, by_feature, n),
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """One card, composed from the events that the fit was charged."""
        useful, fits = self.summary(), self.releases_
        return (guarantees.card(self.settings_, taken=self.taken_, useful=useful, fits=fits),)

    def summary(self) -> str:
        """What the fit found about the use of lists, from released numbers alone."""
        self._fitted()
        return in_words(self.released_)

    __getstate__ = base.without_people

    def save(self, path: str | Path) -> None:
        """Write what was released. No person is in the file."""
        container.write(path, *self.parts())

    def parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Header of the model file, and the arrays of it."""
        self._fitted()
        header = {
            "recommender": "private",
            "settings": lists.settings_to_header(self.settings_),
            "parameters": lists.parameters(self),
            "releases": {"fits": [fit.row for fit in self.releases_], "lifetime": self.lifetime_},
            "scale": [self.scale_.minimum, self.scale_.maximum, self.scale_.step],
            "taken": list(self.taken_),
            "feature_names": list(self.feature_names_),
            "context": None if self.joint_ else list(self.context_ids_.tolist()),
            "version": lists.VERSION,
            "mode": self.released_.mode,
            "usefulness": asdict(self.released_.usefulness),
            "deviation": self.released_.deviation,
            **inputs.items_to_header(self.item_ids_, self.titles_),
        }
        return header, lists.to_arrays(self.released_, self.stars_)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Private:
        """Back from the arrays of a checked model file; ValueError for what no version wrote."""
        settings = lists.settings_from_header(header["settings"])
        model = cls(
            settings.epsilon, settings.delta, mode=settings.mode, like_at=settings.like_at,
            stars=settings.stars, **header["parameters"],
        )  # fmt: skip
        model.settings_, model.taken_ = settings, tuple(header["taken"])
        model.releases_, model.lifetime_ = releases.from_header(header, settings, model.taken_)
        model.lifetime = model.lifetime_
        if not set(model.taken_) <= set(inputs.TAKEN):
            raise ValueError("it takes something unknown for public")
        model.item_ids_ = inputs.ids_from_header(header["items"])
        other = header["context"]
        model.joint_ = other is None
        model.context_ids_ = model.item_ids_ if other is None else inputs.ids_from_header(other)
        model.released_ = lists.from_file(
            header, arrays, len(model.context_ids_), len(model.item_ids_)
        )
        sizes = len(model.item_ids_), 0 if model.joint_ else len(model.context_ids_)
        model.stars_ = lists.stars_from(arrays, *sizes) if model.stars else None
        model.feature_names_ = tuple(header["feature_names"])
        model.scale_ = RatingScale(*header["scale"])
        model.threshold_ = people.like_threshold(model.scale_, model.like_at)
        model.titles_ = inputs.titles_from_header(header)
        return model

    def _own(self, user: Any, history: Likes | None) -> History:
        self._fitted()
        if history is None:
            return self.people_.history(user) if self.people_ is not None else {}
        return people.read_history(history, self.scale_, self.item_ids_)

    def _profile(self, own: History) -> Profiles:
        numbers, low = self._numbers, self.settings_.other_weight
        return people.of_history(own, *numbers, self.threshold_, low, self.joint_)

    @cached_property
    def _numbers(self) -> tuple[dict[Any, int], dict[Any, int]]:
        """Where each id stands among context and target items; made once for a fit."""
        context, targets = (
            {item: place for place, item in enumerate(ids.tolist())}
            for ids in (self.context_ids_, self.item_ids_)
        )
        return context, targets

    def _score(self, history: History) -> Floats:
        made: Floats = lists.scores(self._profile(history), self.released_, self.settings_)[0]
        return made
