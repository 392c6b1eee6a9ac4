"""X-Map as one recommender: lists in a domain where a person has rated little or nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.data.ratings import RatingScale
from tacit.data.stored import Given, known_of
from tacit.designs.xmap.settings import (
    Kind,
    Private,
    Settings,
    Variant,
    catalogue,
    catalogue_from_header,
    routes,
    settings_from_header,
    sound_card,
    sound_from_file,
    sound_lists,
    sound_to_file,
)
from tacit.designs.xmap.settings import Reason as ListReason
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.privacy import Guarantee
from tacit.recommenders import inputs
from tacit.recommenders.base import (
    Floats,
    History,
    ItemRecommender,
    Recommendations,
    pick,
    top_n,
    without_people,
)

if TYPE_CHECKING:
    from tacit.designs.xmap.boxes import Boxes, Moments
    from tacit.engine import Engine
    from tacit.randomness import Source


@dataclass(frozen=True, slots=True)
class Reason:
    """ "Because you liked X": one of their own ratings, and what it adds to a prediction.

    through: the target item that X stands for, None where X speaks for itself. similarity: released
    or public, of X (or what it stands for) with the recommended item. stars: added to the item's
    mean.
    """

    item_id: Any
    through: Any
    similarity: float
    stars: float


class XMap(ItemRecommender):
    """Recommend in `target` from what people rated in `source`.

    source, target   names of domains, one or several; source None: every other domain. From one
                     fit, `target=` of `recommend` picks one. domain: the item metadata with names
    variant          "sound": the design `private` (docs/private.md), `epsilon` and `delta` for a
                     person's whole profile. "published": the paper as printed, refuted; epsilon for
                     ONE replaced item, epsilon_prime (default: the same) for ONE list of
                     neighbours; inf is NX-Map. "constant": the paper's mechanisms with a
                     sensitivity that holds, epsilon and delta for the whole profile
    recommender      "item-based", or "user-based" (published only)
    k                neighbours of the recommender; extender_k: of an item in each layer;
                     most_edges: strongest edges an item keeps towards a layer, None: no limit
    significance     co-raters below which a similarity is scaled down; 0 switches it off
    alpha            how fast old ratings lose weight, per rank in time; 0: not at all
    rho              chance with which PNSA may miss its bound
    engine           where similarities and paths are computed; None: the compiled one
    features, stars  of the sound variant, as `Private` has them: names of public item metadata, and
                     whether means of stars are released, too, for `predict`

    k, extender_k, most_edges, significance, alpha and rho are of no effect on the sound variant.
    Fitted: `sound_`, a `Private`, or `boxes_` of the other variants.
    """

    sound_: Private | None = None
    boxes_: Boxes | None = None

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
        most_edges: int | None = None,
        significance: int = 50,
        alpha: float = 0.0,
        rho: float = 0.1,
        engine: Engine | None = None,
        features: Sequence[str] | None = None,
        stars: bool = False,
    ) -> None:
        self.source, self.target = source, target
        self.routes = routes(source, target)
        self.settings = Settings(
            domain=domain,
            variant=variant,
            epsilon=epsilon,
            epsilon_prime=epsilon_prime,
            delta=delta,
            recommender=recommender,
            k=k,
            extender_k=extender_k,
            most_edges=most_edges,
            significance=significance,
            alpha=alpha,
            rho=rho,
            features=features,
            stars=stars,
        )
        self.engine = engine

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Name and value of each of the constructor's arguments; deep has no effect."""
        own = {"source": self.source, "target": self.target, "engine": self.engine}
        return {
            name: own[name] if name in own else getattr(self.settings, name)
            for name in self._defaults()
        }

    def set_params(self, **parameters: Any) -> XMap:
        """Change some of them for the next `fit`; they are checked together."""
        known = self.get_params()
        super().set_params(**dict.fromkeys(parameters.keys() - known.keys()))
        XMap.__init__(self, **known | parameters)
        return self

    def fit(self, ratings: Given, *, draws: Source | None = None) -> XMap:
        """Learn from everybody. draws: where the published and constant variants draw from; by
        default the operating system, and `private_` says whether it was. Noise takes no seed."""
        inputs.checked_ratings(known_of(ratings))
        chosen, domains = catalogue(ratings, self.settings.domain, self.routes)
        known = known_of(chosen)
        self.sound_ = self.boxes_ = None
        self.__dict__.pop("item_ids_", None)
        if self.settings.variant == "sound":
            self.sound_ = sound_lists(self.settings, self.routes).fit(chosen)
        else:
            from tacit.designs.xmap.boxes import fitted
            from tacit.randomness import secure

            source = secure() if draws is None else draws
            self.boxes_ = fitted(chosen, domains, self.settings, self._engine(), source)
        self.private_ = self.boxes_ is None or self.boxes_.private
        self.catalogue_, self.people_, self.scale_ = domains, known, known.scale
        self.titles_ = inputs.titles_of(known)
        self.taken_ = inputs.taken_for_public(known)
        self.settings_, self.item_ids_ = self.settings, known.item_ids
        return self

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        times: Moments | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
        target: str | None = None,
    ) -> Recommendations:
        """The n best unseen items of all targets, or of `target`.

        times: when the history's items were rated, for alpha above 0. A score is what the list is
        ranked by, not stars.
        """
        possible = self._listed(target)
        if candidates is not None:
            possible &= {*inputs.checked_ids(candidates, "candidates")}
        if self.sound_ is not None:
            return self.sound_.recommend(
                user, history=history, n=n, exclude=exclude, candidates=possible
            )
        boxes = self._boxes()
        own = boxes.own(user, history, times)
        return top_n(
            boxes.everywhere(own, "scores"),
            self.item_ids_,
            n=n,
            user=user,
            left_out={*own.history, *inputs.checked_ids(exclude, "exclude")},
            candidates=possible,
        ).named(self.titles_)

    def predict(
        self,
        items: Sequence[Any],
        user: Any = None,
        *,
        history: History | None = None,
        times: Moments | None = None,
    ) -> Floats:
        """(len(items),) predicted stars, not rounded; NaN for what is in no target domain.

        ConfigError if the sound variant was fitted without `stars`.
        """
        listed = self._listed(None)
        if self.sound_ is None:
            boxes = self._boxes()
            own = boxes.own(user, history, times)
            return pick(boxes.everywhere(own, "predict"), self.item_ids_, items)
        if self.sound_.stars_ is None:
            raise ConfigError(
                "This model makes lists and predicts no stars: it was fitted without them. Fit it "
                "with --stars (from Python: stars=True), which takes 40 % of its budget."
            )
        found = self.sound_.predict(items, user, history=history)
        return np.where([item in listed for item in items], found, np.nan)

    def device_file(self) -> bytes:
        """As `Private.device_file`. ConfigError unless sound, with one target domain."""
        self._fitted()
        if self.sound_ is None or len(self.routes.targets) > 1:
            raise ConfigError("The sound variant with one target has a file for devices, no other.")
        return self.sound_.device_file()

    def explain(
        self,
        item: Any,
        user: Any = None,
        *,
        history: History | None = None,
        times: Moments | None = None,
        n: int = 3,
    ) -> tuple[Reason, ...] | tuple[ListReason, ...]:
        """The n likes of theirs that add most to an item's predicted stars, largest first; of the
        sound variant, as `Private.explain`: own items and features that add most to its score.

        It spends nothing. DataError for an item of no target domain.
        """
        if item not in self._listed(None):
            raise DataError("no such item in a target domain", found=item)
        if self.sound_ is not None:
            return self.sound_.explain(item, user, history=history, n=n)
        boxes, ids = self._boxes(), self.item_ids_.tolist()
        found = boxes.because(item, boxes.own(user, history, times))
        reasons = sorted(found, key=lambda each: -each.stars)
        return tuple(
            Reason(ids[each.item], None if through == each.item else ids[through], similar, stars)
            for each in reasons[:n]
            for _, through, similar, stars in [each]
            if stars > 0 and similar > 0
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """One card: what other people get to see says this much about one person."""
        self._fitted()
        settings = self.settings_  # of the fit: parameters may have been set since
        if settings.noiseless:
            from tacit.designs.xmap.guarantees import without_noise

            return (without_noise(settings.variant),)
        if self.sound_ is not None:
            spent = self.sound_.guarantees()[0]
            return (sound_card(settings.epsilon, settings.delta, spent),)
        return (self._boxes().card(self.taken_),)

    __getstate__ = without_people

    def save(self, path: str | Path) -> None:
        """Write what is known about items; a user-based model is made of people and refused."""
        self._fitted()
        if self.settings_.recommender == "user-based":
            raise PrivacyError(
                "A user-based model is everybody's profile, and a model file holds no people. Keep "
                "it in memory, or use recommender='item-based'."
            )
        header = {
            "recommender": "xmap",
            "settings": self.settings_.to_header(),
            "source": list(self.routes.sources) or None,
            "target": list(self.routes.targets),
            "domains": self.catalogue_.domains.tolist(),
            "scale": [self.scale_.minimum, self.scale_.maximum, self.scale_.step],
            "taken": list(self.taken_),
            **inputs.items_to_header(self.item_ids_, self.titles_),
        }
        own, arrays = sound_to_file(self.sound_) if self.sound_ else self._boxes().to_file()
        container.write(path, header | own, arrays)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> XMap:
        """Back from the arrays of a checked model file; ValueError for what no version wrote."""
        model = cls(
            source=header["source"],
            target=header["target"],
            **settings_from_header(header["settings"]),
        )
        model.settings_ = model.settings
        model.catalogue_ = catalogue_from_header(header, model.routes)
        model.item_ids_ = inputs.ids_from_header(header["items"])
        model.titles_ = inputs.titles_from_header(header)
        model.scale_ = RatingScale(*header["scale"])
        model.taken_ = tuple(header["taken"])
        if not set(model.taken_) <= set(inputs.TAKEN):
            raise ValueError("it takes something unknown for public")
        if model.settings.variant == "sound":
            model.private_ = True  # it takes no seed
            model.sound_ = sound_from_file(header, arrays, model.item_ids_, model.catalogue_)
            return model
        from tacit.designs.xmap import boxes

        model.boxes_ = boxes.from_file(
            header, arrays, model.settings, model.catalogue_, model.item_ids_, model.scale_,
            model._engine(),
        )  # fmt: skip
        model.private_ = model.boxes_.private
        return model

    def _boxes(self) -> Boxes:
        assert self.boxes_ is not None
        return self.boxes_

    def _engine(self) -> Engine:
        if self.engine is None:
            from tacit.engine import Engine

            self.engine = Engine()
        return self.engine

    def _listed(self, target: str | None) -> set[Any]:
        """Ids of the items of all targets, or of one."""
        self._fitted()
        names = self.routes.targets if target is None else (target,)
        if not set(names) <= set(self.routes.targets):
            raise ConfigError(
                f"This model has no target '{target}'. It has: {', '.join(self.routes.targets)}."
            )
        listed = [self.item_ids_[self.catalogue_.targets(name)] for name in names]
        return set(np.concatenate(listed).tolist())
