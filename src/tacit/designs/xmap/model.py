"""X-Map as one recommender: lists in a domain where a person has rated little or nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.data.stored_ratings import RatingsSource, catalogue_of
from tacit.designs.xmap.catalogue import keep_domains, read_catalogue_header
from tacit.designs.xmap.guarantees import card_of_sound, card_without_noise
from tacit.designs.xmap.settings import Kind, Pnsa, Settings, Variant, settings_from_header
from tacit.designs.xmap.sound_variant import SOUND_VERSION, make_sound_lists, read_sound_lists
from tacit.engine.best_items import BestItems
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.privacy import Guarantee
from tacit.profile_sums.fits import Fit
from tacit.profile_sums.model import PrivateLists
from tacit.profile_sums.scoring import Reasons
from tacit.recommenders import base, headers, inputs, public_facts
from tacit.recommenders.base import Floats, History, HistoryTimes, Recommendations

if TYPE_CHECKING:
    from tacit.designs.xmap.published_variant import PublishedModel
    from tacit.engine import Engine
    from tacit.randomness import Source


class XMap(base.ItemRecommender):
    """Recommend in `target` from what people rated in `source`.

    source, target   names of domains, one or several; source None: every other domain. From one
                     fit, `target=` of `recommend` picks one. domain: the item metadata with names
    variant          "sound": the design `private` (docs/private.md), `epsilon` and `delta` for a
                     person's whole profile. "published": the paper as printed, refuted; epsilon for
                     ONE replaced item, epsilon_prime (default: the same) for ONE list of
                     neighbours; inf is NX-Map
    recommender      "item-based", or "user-based" (published only)
    k                neighbours of the recommender; extender_k: of an item in each layer
    significance     co-raters below which a similarity is scaled down; 0 switches it off
    alpha            how fast old ratings of people lose weight, per rank in time; 0: not at all
    pnsa             of the published recommender: who can be drawn as a neighbour, "printed",
                     "counted" or "positive" (`settings.Pnsa`)
    engine           where similarities and paths are computed; None: the compiled one
    features, stars  of the sound variant, as `Private` has them: names of public item metadata, and
                     whether means of stars are released, too, for `predict`

    k, extender_k, significance and alpha have no effect on the sound variant.
    """

    sound_: PrivateLists | None = None
    """The fitted lists of the sound variant."""
    published_: PublishedModel | None = None
    """What the published variant has learned."""

    fits_: tuple[Fit, ...] = ()
    """All fits of the sound variant that count, the last one last."""

    def __init__(
        self,
        *,
        source: str | Sequence[str] | None = None,
        target: str | Sequence[str],
        domain: str = "domain",
        variant: Variant = "sound",
        epsilon: float = 1.0,
        epsilon_prime: float | None = None,
        delta: float = 1e-6,
        recommender: Kind = "item-based",
        k: int = 50,
        extender_k: int = 10,
        significance: int = 50,
        alpha: float = 0.0,
        pnsa: Pnsa = "printed",
        engine: Engine | None = None,
        features: Sequence[str] | None = None,
        stars: bool = False,
    ) -> None:
        self.source = source
        self.target = target
        self.domain = domain
        self.variant = variant
        self.epsilon = epsilon
        self.epsilon_prime = epsilon_prime
        self.delta = delta
        self.recommender = recommender
        self.k = k
        self.extender_k = extender_k
        self.significance = significance
        self.alpha = alpha
        self.pnsa = pnsa
        self.engine = engine
        self.features = features
        self.stars = stars
        _ = self.settings  # refuses bad ones

    @property
    def settings(self) -> Settings:
        """The parameters, checked.

        Raises:
            ConfigError: A parameter has no such value.
        """
        parameters = self.get_params()
        parameters.pop("engine")
        return Settings(**parameters)

    @property
    def weighs_by_time(self) -> bool:
        """Whether the fitted model gives old ratings of a person less weight."""
        self._require_fitted()
        return self.published_ is not None and self.settings_.weighs_by_time

    def fit(self, ratings: RatingsSource, *, draws: Source | None = None) -> XMap:
        """Learn from everybody.

        Earlier fits of the sound variant by this object, and of equal ratings in this process, are
        on the card.

        Args:
            ratings: In memory or stored; their items have the metadata `domain`.
            draws: Where the published variant draws from; by default the operating system. Noise
                takes no seed.

        Raises:
            ConfigError: A parameter has no such value.
            DataError: A domain has no item, or a target has no rating.
        """
        ratings = inputs.as_ratings_source(ratings)
        settings = self.settings
        chosen, domains = keep_domains(ratings, settings)
        known = catalogue_of(chosen)
        self.sound_ = self.published_ = None
        if hasattr(self, "item_ids_"):
            del self.item_ids_  # a fit that fails leaves no fitted model
        if settings.variant == "sound":
            lists = make_sound_lists(settings)
            lists.is_clone = self.is_clone
            self.sound_ = lists.fit_part(chosen, ratings, self.fits_)
            self.fits_ = lists.fitted_.fits
        else:
            from tacit.designs.xmap.published_variant import fit_published
            from tacit.engine import Engine
            from tacit.randomness import secure

            engine = self.engine or Engine()
            self.published_ = fit_published(chosen, domains, engine, draws or secure())
        self.settings_ = settings
        self.catalogue_ = domains
        self.people_ = known
        self.scale_ = known.scale
        self.titles_ = headers.titles_of(known)
        self.taken_ = public_facts.facts_read_off(known)
        self.item_ids_ = known.item_ids
        return self

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
        target: str | None = None,
        history_times: HistoryTimes | None = None,
        keep_seen: bool = False,
    ) -> Recommendations:
        """Recommend the n best unseen items of all targets, or of `target`.

        A score is what the list is ranked by, not stars.

        Args:
            user: Id of a person fitted to; without a history their ratings are used.
            history: The person's own ratings, item id to stars.
            n: How many items.
            exclude: Ids to leave out, beside the rated ones.
            candidates: Only these ids; None: all items of the targets.
            target: One target domain; None: all.
            history_times: When each item of the history was rated, in seconds. The published
                variant with an alpha above 0 weighs old ratings less; otherwise of no effect.
            keep_seen: Whether items of the history may be listed.
        """
        possible = self._target_ids(target)
        if candidates is not None:
            possible &= {*inputs.checked_ids(candidates, "candidates")}
        if self.published_ is None:
            return self._sound_lists().recommend(
                user,
                history=history,
                n=n,
                exclude=exclude,
                candidates=possible,
                keep_seen=keep_seen,
            )
        person = self.published_.read_person(user, history, history_times)
        seen = () if keep_seen else person.history
        left_out = {*seen, *inputs.checked_ids(exclude, "exclude")}
        scores = self.published_.score(person)
        ids = self.item_ids_
        made = base.top_n(scores, ids, n=n, user=user, left_out=left_out, candidates=possible)
        return made.with_titles(self.titles_)

    def recommend_many(self, histories: Sequence[Any], *, n: int = 10) -> list[Recommendations]:
        """Make a list for each history, as `recommend` does; `user_id` is its place."""
        self._require_fitted()
        if self.published_ is None:
            return self._sound_lists().recommend_many(histories, n=n)
        return [self.recommend(place, history=own, n=n) for place, own in enumerate(histories)]

    def list_users(
        self, users: Sequence[Any], *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> BestItems:
        """Make the lists of people fitted to, as `recommend` does; places are in `item_ids_`."""
        n = inputs.checked_n(n)
        place_of = {item: place for place, item in enumerate(self.item_ids_.tolist())}
        if self.published_ is None:
            lists = self._sound_lists()
            number_of = np.array([place_of[item] for item in lists.item_ids_.tolist()])
            possible = self._target_ids(None)
            if candidates is not None:
                possible &= {*inputs.checked_ids(candidates, "candidates")}
            return lists.list_users(users, n=n, candidates=possible).renumber(number_of)
        places = np.full((len(users), n), -1, dtype=np.int64)
        scores = np.full((len(users), n), np.nan)
        for row, user in enumerate(users):
            made = self.recommend(user, n=n, candidates=candidates)
            places[row, : len(made)] = [place_of[item] for item in made.item_ids]
            scores[row, : len(made)] = [entry.score for entry in made]
        return BestItems(places, scores)

    def predict(
        self,
        items: Sequence[Any],
        user: Any = None,
        *,
        history: History | None = None,
        history_times: HistoryTimes | None = None,
    ) -> Floats:
        """Predict stars, not rounded.

        Args:
            items: Ids of items.
            user: Id of a person fitted to; without a history their ratings are used.
            history: The person's own ratings, item id to stars.
            history_times: When each item of the history was rated, in seconds; as in `recommend`.

        Returns:
            (len(items),) stars; NaN for what is in no target domain.

        Raises:
            ConfigError: The sound variant was fitted without `stars`.
        """
        listed = self._target_ids(None)
        if self.published_ is not None:
            person = self.published_.read_person(user, history, history_times)
            return base.pick(self.published_.predict(person), self.item_ids_, items)
        if self._sound_lists().stars_ is None:
            raise ConfigError(
                "This model makes lists and predicts no stars: it was fitted without them. Fit it "
                "with --stars (from Python: stars=True), which takes 40 % of its budget."
            )
        stars = self._sound_lists().predict(items, user, history=history)
        return np.where([item in listed for item in items], stars, np.nan)

    def device_file(self) -> bytes:
        """Write the file from which devices make lists, as `Private.device_file` does.

        Raises:
            ConfigError: Not the sound variant, or several target domains.
        """
        self._require_fitted()
        if self.sound_ is None or len(self.settings_.target) > 1:
            raise ConfigError("The sound variant with one target has a file for devices, no other.")
        return self.sound_.device_file()

    def explain(
        self, item: Any, user: Any = None, *, history: History | None = None, n: int = 3
    ) -> Reasons:
        """Name the own items and features that add most to an item's score, as `Private.explain`.

        It spends nothing. The published variant has no reasons.

        Raises:
            DataError: The item is in no target domain.
        """
        if item not in self._target_ids(None):
            raise DataError("no such item in a target domain", found=item)
        lists = self.sound_
        return Reasons() if lists is None else lists.explain(item, user, history=history, n=n)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return one card: how much the lists that others see say about one person."""
        self._require_fitted()
        settings = self.settings_  # of the fit: parameters may have been set since
        if settings.noiseless:
            card = card_without_noise(settings.variant)
        elif self.published_ is not None:
            card = self.published_.card()
        else:
            spent = self._sound_lists().guarantees()[0]
            card = card_of_sound(settings.epsilon, settings.delta, spent)
        return public_facts.name_text_of_rows((card,), self.taken_)

    def __getstate__(self) -> dict[str, Any]:
        """Holds no person, as a file; PrivacyError for a user-based model."""
        state = base.without_people(self)
        if self.published_ is not None:
            self._check_items()
            state["published_"] = replace(self.published_, people=None)
        return state

    def _check_items(self) -> None:
        if self.settings_.user_based:
            raise PrivacyError(
                "A user-based model is everybody's profile, and a model file holds no people. Keep "
                "it in memory, or use recommender='item-based'."
            )

    def save(self, path: str | Path) -> None:
        """Write what is known about items; PrivacyError for a user-based model."""
        self._require_fitted()
        self._check_items()
        header = {
            "recommender": "xmap",
            "settings": self.settings_.to_header(),
            "source": list(self.settings_.source) or None,
            "target": list(self.settings_.target),
            "domains": self.catalogue_.domains.tolist(),
            "scale": [self.scale_.minimum, self.scale_.maximum, self.scale_.step],
            "taken": list(self.taken_),
            **headers.items_to_header(self.item_ids_, self.titles_),
        }
        if self.published_ is not None:
            from tacit.designs.xmap.files import PUBLISHED_VERSION, write_published

            header |= {"version": PUBLISHED_VERSION}
            arrays = write_published(self.published_)
        else:
            lists, arrays = self._sound_lists().parts()
            header |= {"version": SOUND_VERSION, "lists": lists}
        container.write(path, header, arrays)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> XMap:
        """Back from the arrays of a checked model file; ValueError for what no version wrote."""
        domains = {"source": header["source"], "target": header["target"]}
        model = cls(**domains, **settings_from_header(header["settings"]))
        model.settings_ = model.settings
        model.catalogue_ = read_catalogue_header(header, model.settings_)
        model.item_ids_ = headers.ids_from_header(header["items"])
        model.titles_ = headers.titles_from_header(header)
        model.scale_ = headers.scale_from_header(header["scale"])
        model.taken_ = headers.names_from_header(header["taken"])
        if not set(model.taken_) <= set(public_facts.PUBLIC_FACTS):
            raise ValueError("it takes something unknown for public")
        if model.variant == "sound":
            model.sound_ = read_sound_lists(header, arrays, model.item_ids_, model.catalogue_)
            model.fits_ = model.sound_.fitted_.fits
            return model
        from tacit.designs.xmap.files import read_published
        from tacit.engine import Engine

        known = model.catalogue_, model.item_ids_, model.scale_
        model.published_ = read_published(header, arrays, *known, Engine())
        return model

    def _sound_lists(self) -> PrivateLists:
        assert self.sound_ is not None
        return self.sound_

    def _target_ids(self, target: str | None) -> set[Any]:
        """Ids of the items of all targets, or of one."""
        self._require_fitted()
        every = self.settings_.target
        names = every if target is None else (target,)
        if not set(names) <= set(every):
            raise ConfigError(f"This model has no target '{target}'. It has: {', '.join(every)}.")
        listed = [self.item_ids_[self.catalogue_.targets(name)] for name in names]
        return set(np.concatenate(listed).tolist())


def describe_usefulness(model: XMap) -> str:
    """Say whether a fitted model's lists are expected to beat popularity.

    The sound variant says it from what was released; of the published one there are only the
    figures measured on MovieLens (docs/results.md).
    """
    if model.sound_ is not None:
        return model.sound_.summary()
    if model.settings_.noiseless:
        return (
            "Without noise, lists of this method beat a list of popular items on MovieLens. They "
            "protect nobody."
        )
    return (
        "With the paper's noise, lists of this method are worse than a list of popular items on "
        "MovieLens."
    )
