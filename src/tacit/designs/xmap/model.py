"""X-Map as a recommender: lists in a domain where a person has rated little or nothing."""

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
    """Recommends in `target` from what people rated in `source`.

    source           names of the domains that people have rated in, one or several; None for every
                     domain except the one that is recommended from
    target           names of the domains to recommend from, one or several; `recommend` can be
                     limited to one of them
    domain           name of the item metadata that says which domain an item is in
    variant          "sound": the design `private` (docs/private.md). "published": the paper as
                     printed, whose claims are refuted
    epsilon          sound: nats for a person's whole profile; infinity for no noise. published:
                     nats claimed for ONE replaced item; infinity for images without noise
    epsilon_prime    published: nats claimed for ONE list of neighbours; None for epsilon, infinity
                     for neighbours without noise. The published variant is NX-Map if epsilon and
                     epsilon_prime are infinite
    delta            sound: probability by which any event may exceed the bound of epsilon
    recommender      "item-based", or "user-based" (published only)
    engine           computes similarities and paths; None for the compiled engine

    Parameters of the published variant only:

    k                number of neighbours of the recommender
    extender_k       number of neighbours that an item keeps in each neighbouring layer
    significance     a similarity is scaled down if fewer people than this rated both items;
                     0: never
    alpha            how fast a person's old ratings lose weight: by e^-alpha for each rank in time;
                     0 for not at all. It has no effect on user-based models, nor on the lists of
                     NX-Map, which are ranked by votes
    pnsa             reading of PNSA, which says who can be drawn as a neighbour: "printed",
                     "counted" or "positive" (`settings.Pnsa`)

    Parameters of the sound variant only, as in `Private`:

    features         names of public item metadata to use; None for the usual ones
    stars            whether means of stars are released too, for `predict`
    """

    sound_: PrivateLists | None = None
    """The fitted lists of the sound variant; None for the published one."""
    published_: PublishedModel | None = None
    """The fitted published variant; None for the sound one."""

    fits_: tuple[Fit, ...] = ()
    """Fits of the sound variant that its card counts, the earliest first."""

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
        _ = self.settings  # raises ConfigError or PrivacyError if a parameter is invalid

    @property
    def settings(self) -> Settings:
        """The parameters as checked settings.

        Raises:
            ConfigError: A parameter has an invalid value.
            PrivacyError: The sound variant is asked for a user-based recommender.
        """
        parameters = self.get_params()
        parameters.pop("engine")
        return Settings(**parameters)

    @property
    def weighs_by_time(self) -> bool:
        """Whether the fitted model gives less weight to a person's older ratings in predictions.

        The lists of item-based NX-Map do not depend on predictions: they are ranked by votes.
        """
        self._require_fitted()
        return self.published_ is not None and self.settings_.weighs_by_time

    def fit(self, ratings: RatingsSource, *, draws: Source | None = None) -> XMap:
        """Fit the model to everybody's ratings.

        The card of the sound variant also counts earlier fits of this object, and of the same
        ratings object in this process.

        Args:
            ratings: Ratings in memory or stored. Their items have the metadata that the parameter
                `domain` names.
            draws: Source from which the published variant draws images and neighbours; None for the
                operating system. Noise always comes from the operating system.

        Raises:
            ConfigError: A parameter has an invalid value, or does not fit the ratings.
            PrivacyError: The sound variant is asked for a user-based recommender.
            DataError: A domain has no item, nobody rated anything in a target of the published
                variant, or the ratings or the catalogue cannot be used.
        """
        ratings = inputs.as_ratings_source(ratings)
        settings = self.settings
        ratings_of_domains, catalogue = keep_domains(ratings, settings)
        people_and_items = catalogue_of(ratings_of_domains)
        self.sound_ = self.published_ = None
        if hasattr(self, "item_ids_"):
            del self.item_ids_  # a fit that fails from here on leaves no fitted model
        if settings.variant == "sound":
            lists = make_sound_lists(settings)
            lists.is_clone = self.is_clone
            self.sound_ = lists.fit_part(ratings_of_domains, ratings, self.fits_)
            self.fits_ = lists.fitted_.fits
        else:
            from tacit.designs.xmap.published_variant import fit_published
            from tacit.engine import Engine
            from tacit.randomness import secure

            engine = self.engine or Engine()
            self.published_ = fit_published(
                ratings_of_domains, catalogue, engine, draws or secure()
            )
        self.settings_ = settings
        self.catalogue_ = catalogue
        self.people_ = people_and_items
        self.scale_ = people_and_items.scale
        self.titles_ = headers.titles_of(people_and_items)
        self.taken_ = public_facts.facts_read_off(people_and_items)
        self.item_ids_ = people_and_items.item_ids
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
        """Recommend the n best unseen items of all targets, or of one target.

        Lists are ranked by scores, which are not stars.

        Args:
            user: Id of a person of the fit, whose ratings are used if there is no history.
            history: The person's own stars by item id.
            n: Length of the list.
            exclude: Ids to leave out, besides the rated ones.
            candidates: Ids of target items that may be listed; None for all target items.
            target: Name of the only target domain to list from; None for all.
            history_times: Second at which each item of the history was rated. It has an effect only
                if the model gives less weight to older ratings (`weighs_by_time`) and ranks lists
                by predictions, not by votes.
            keep_seen: Whether rated items may be listed.

        Raises:
            NotFittedError: The model is not fitted.
            ConfigError: The model has no such target, n is no whole number above 0, or `exclude` or
                `candidates` is no collection of ids.
            DataError: The history or its times are not valid.
        """
        allowed = self._target_ids(target)
        if candidates is not None:
            allowed &= {*inputs.checked_ids(candidates, "candidates")}
        if self.published_ is None:
            return self._sound_lists().recommend(
                user,
                history=history,
                n=n,
                exclude=exclude,
                candidates=allowed,
                keep_seen=keep_seen,
            )
        person = self.published_.read_person(user, history, history_times)
        seen = () if keep_seen else person.history
        left_out = {*seen, *inputs.checked_ids(exclude, "exclude")}
        scores = self.published_.score(person)
        ids = self.item_ids_
        recommendations = base.top_n(
            scores, ids, n=n, user=user, left_out=left_out, candidates=allowed
        )
        return recommendations.with_titles(self.titles_)

    def list_histories(self, histories: Sequence[Any], *, n: int = 10) -> BestItems:
        """Make a list for each history, as `recommend` does, and return numbers in place of ids.

        Args:
            histories: For each person, stars by item id.
            n: Length of each list.

        Returns:
            As for `list_users`.

        Raises:
            NotFittedError: The model is not fitted.
            ConfigError: n is no whole number above 0.
            DataError: A history is not valid.
        """
        self._require_fitted()
        n = inputs.checked_n(n)
        if self.published_ is None:
            lists = self._sound_lists().list_histories(histories, n=n)
            return lists.renumber(self._numbers_of_sound_items())
        recommendations = [self.recommend(history=history, n=n) for history in histories]
        return self._number_lists(recommendations, n)

    def list_users(
        self, users: Sequence[Any], *, n: int = 10, candidates: Collection[Any] | None = None
    ) -> BestItems:
        """Make the lists of people of the fit, as `recommend` does.

        Args:
            users: Ids of the people.
            n: Length of each list.
            candidates: Ids of target items that may be listed; None for all target items.

        Returns:
            (len(users), n) item numbers, which are positions in `item_ids_`, and scores. Where a
            list is shorter than n, the numbers are -1 and the scores NaN.

        Raises:
            NotFittedError: The model is not fitted.
            ConfigError: n is no whole number above 0, or `candidates` is no collection of ids.
            DataError: A person is not one of the fit, or a history was given in place of an id.
        """
        self._require_fitted()
        n = inputs.checked_n(n)
        inputs.refuse_histories_as_users(users)
        if self.published_ is None:
            allowed = self._target_ids(None)
            if candidates is not None:
                allowed &= {*inputs.checked_ids(candidates, "candidates")}
            lists = self._sound_lists().list_users(users, n=n, candidates=allowed)
            return lists.renumber(self._numbers_of_sound_items())
        recommendations = [self.recommend(user, n=n, candidates=candidates) for user in users]
        return self._number_lists(recommendations, n)

    def _numbers_of_sound_items(self) -> NDArray[np.int64]:
        """Return the position in `item_ids_` of each item that the sound variant can list."""
        number_of = {item: number for number, item in enumerate(self.item_ids_.tolist())}
        return np.array([number_of[item] for item in self._sound_lists().item_ids_.tolist()])

    def _number_lists(self, lists: Sequence[Recommendations], n: int) -> BestItems:
        """Turn lists of at most n item ids into lists of positions in `item_ids_`."""
        number_of = {item: number for number, item in enumerate(self.item_ids_.tolist())}
        items = np.full((len(lists), n), -1, dtype=np.int64)
        scores = np.full((len(lists), n), np.nan)
        for row, recommendations in enumerate(lists):
            length = len(recommendations)
            items[row, :length] = [number_of[item] for item in recommendations.item_ids]
            scores[row, :length] = [entry.score for entry in recommendations]
        return BestItems(items, scores)

    def predict(
        self,
        items: Sequence[Any],
        user: Any = None,
        *,
        history: History | None = None,
        history_times: HistoryTimes | None = None,
    ) -> Floats:
        """Predict stars of items. The stars are not rounded.

        Args:
            items: Ids of the items.
            user: Id of a person of the fit, whose ratings are used if there is no history.
            history: The person's own stars by item id.
            history_times: Second at which each item of the history was rated, as in `recommend`.

        Returns:
            (len(items),) stars; NaN for items outside the target domains.

        Raises:
            NotFittedError: The model is not fitted.
            ConfigError: The sound variant was fitted without `stars`.
            DataError: The history, its times or an item is not valid.
        """
        target_ids = self._target_ids(None)
        if self.published_ is not None:
            person = self.published_.read_person(user, history, history_times)
            return base.scores_of_items(self.published_.predict(person), self.item_ids_, items)
        if self._sound_lists().stars_ is None:
            raise ConfigError(
                "This model makes lists and predicts no stars: it was fitted without them. Fit it "
                "with --stars (from Python: stars=True), which takes 40 % of its budget."
            )
        stars = self._sound_lists().predict(items, user, history=history)
        return np.where([item in target_ids for item in items], stars, np.nan)

    def device_file(self) -> bytes:
        """Return the file from which devices make lists, as `Private.device_file` does.

        Raises:
            NotFittedError: The model is not fitted.
            ConfigError: The model is of the published variant, or has several target domains.
        """
        self._require_fitted()
        if self.sound_ is None or len(self.settings_.target) > 1:
            raise ConfigError(
                "Only a model of the sound variant with one target domain has a file for devices."
            )
        return self.sound_.device_file()

    def explain(
        self, item: Any, user: Any = None, *, history: History | None = None, n: int = 3
    ) -> Reasons:
        """List the person's items and features that add most to an item's score.

        This is `Private.explain`, and costs no epsilon. A model of the published variant returns
        no reasons.

        Args:
            item: Id of the item.
            user: Id of a person of the fit, whose ratings are used if there is no history.
            history: The person's own stars by item id.
            n: Largest number of items, and largest number of features, that are listed.

        Raises:
            NotFittedError: The model is not fitted.
            DataError: The item is in no target domain, or the history is not valid.
        """
        if item not in self._target_ids(None):
            raise DataError("no such item in a target domain", found=item)
        lists = self.sound_
        return Reasons() if lists is None else lists.explain(item, user, history=history, n=n)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return one card, on what the lists of other people can reveal about one person."""
        self._require_fitted()
        settings = self.settings_  # those of the fit; parameters may have been changed since
        if settings.noiseless:
            card = card_without_noise(settings.variant)
        elif self.published_ is not None:
            card = self.published_.card()
        else:
            card_of_lists = self._sound_lists().guarantees()[0]
            card = card_of_sound(settings.epsilon, settings.delta, card_of_lists)
        return public_facts.add_titles_assumption((card,), self.taken_)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, which holds no person.

        Raises:
            PrivacyError: The model is fitted and user-based.
        """
        state = base.without_people(self)
        if self.published_ is not None:
            self._refuse_user_based()
            state["published_"] = replace(self.published_, people=None)
        return state

    def _refuse_user_based(self) -> None:
        """Refuse to store a user-based model, which consists of people's profiles.

        Raises:
            PrivacyError: The model is user-based.
        """
        if self.settings_.user_based:
            raise PrivacyError(
                "A user-based model is everybody's profile, and a model file holds no people. Keep "
                "it in memory, or use recommender='item-based'."
            )

    def save(self, path: str | Path) -> None:
        """Write the model file, which holds no person's ratings.

        Raises:
            NotFittedError: The model is not fitted.
            PrivacyError: The model is user-based.
        """
        self._require_fitted()
        self._refuse_user_based()
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
            from tacit.designs.xmap.files import PUBLISHED_VERSION, collect_published_arrays

            header |= {"version": PUBLISHED_VERSION}
            arrays = collect_published_arrays(self.published_)
        else:
            lists, arrays = self._sound_lists().parts()
            header |= {"version": SOUND_VERSION, "lists": lists}
        container.write(path, header, arrays)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> XMap:
        """Make a model from the header and arrays of a file whose hash was checked.

        Raises:
            ValueError or another of `errors.UNUSABLE_CONTENT`: A part is missing, has a wrong type,
                shape or number, or does not fit another part.
        """
        domains = {"source": header["source"], "target": header["target"]}
        model = cls(**domains, **settings_from_header(header["settings"]))
        model.settings_ = model.settings
        model.catalogue_ = read_catalogue_header(header, model.settings_)
        model.item_ids_ = headers.ids_from_header(header["items"])
        model.titles_ = headers.titles_from_header(header)
        model.scale_ = headers.scale_from_header(header["scale"])
        model.taken_ = headers.names_from_header(header["taken"])
        if not set(model.taken_) <= set(public_facts.PUBLIC_FACTS):
            raise ValueError("it assumes an unknown fact to be public")
        if model.variant == "sound":
            model.sound_ = read_sound_lists(header, arrays, model.item_ids_, model.catalogue_)
            model.fits_ = model.sound_.fitted_.fits
            return model
        from tacit.designs.xmap.files import read_published
        from tacit.engine import Engine

        model.published_ = read_published(
            header, arrays, model.catalogue_, model.item_ids_, model.scale_, Engine()
        )
        return model

    def _sound_lists(self) -> PrivateLists:
        """Return the lists of a fitted model that is known to be of the sound variant."""
        assert self.sound_ is not None
        return self.sound_

    def _target_ids(self, target: str | None) -> set[Any]:
        """Return the ids of the items of one target domain; None for all target domains.

        Raises:
            NotFittedError: The model is not fitted.
            ConfigError: The model has no such target.
        """
        self._require_fitted()
        all_targets = self.settings_.target
        names = all_targets if target is None else (target,)
        if not set(names) <= set(all_targets):
            listed_targets = ", ".join(all_targets)
            raise ConfigError(f"This model has no target '{target}'. It has: {listed_targets}.")
        ids_of_targets = [self.item_ids_[self.catalogue_.items_of(name)] for name in names]
        return set(np.concatenate(ids_of_targets).tolist())


def describe_usefulness(model: XMap) -> str:
    """Return sentences on how useful the lists of a fitted model are.

    For the sound variant they are those of `PrivateLists.summary`, estimated from the released
    sums. For the published variant they compare its lists with a list of popular items, as measured
    on MovieLens (docs/results.md).
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
