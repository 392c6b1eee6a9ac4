"""X-Map as one recommender: lists in a domain where a person has rated little or nothing."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit import container
from tacit.data.ratings import Ratings, RatingScale
from tacit.designs.xmap import guarantees, storing
from tacit.designs.xmap.bridge import Because, Bridge, Times
from tacit.designs.xmap.catalogue import Catalogue, catalogue, routes
from tacit.designs.xmap.constant import Plan
from tacit.designs.xmap.fitting import fit_bridge, means_by_domain
from tacit.designs.xmap.item_model import ItemModel
from tacit.designs.xmap.release import release
from tacit.designs.xmap.settings import Kind, Settings, Variant, settings_from_header
from tacit.engine.base import Engine, Numbers
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.privacy import Guarantee
from tacit.randomness import Source, secure
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

Moments = Mapping[Any, int]
"""Item id to when it was rated, seconds."""


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
    variant          "sound": noisy sums over people, `epsilon` and `delta` for a person's whole
                     profile. "published": the paper as printed, refuted; epsilon for ONE replaced
                     item, epsilon_prime (default: the same) for ONE list of neighbours; inf is
                     NX-Map. "constant": the paper's mechanisms with a sensitivity that holds,
                     epsilon and delta for the whole profile
    recommender      "item-based", or "user-based" (published only)
    k                neighbours of the recommender; extender_k: of an item in each layer;
                     most_edges: strongest edges an item keeps towards a layer, None: no limit
    significance     co-raters below which a similarity is scaled down; 0 switches it off
    alpha            how fast old ratings lose weight, per rank in time; 0: not at all
    rho              chance with which PNSA may miss its bound
    engine           where similarities and paths are computed; None: the compiled one

    k, extender_k, most_edges, significance, alpha and rho are of no effect on the sound variant.
    """

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

    def fit(self, ratings: Ratings, *, draws: Source | None = None) -> XMap:
        """Learn from everybody. draws: where the published and constant variants draw from; by
        default the operating system, and `private_` says whether it was. Noise takes no seed."""
        chosen, domains = catalogue(ratings, self.settings.domain, self.routes)
        self._forget()
        if self.settings.variant == "sound":
            self.item_model_ = release(
                chosen, epsilon=self.settings.epsilon, delta=self.settings.delta
            )
        else:
            self._fit_bridges(chosen, domains, secure() if draws is None else draws)
        self.private_ = self.settings.variant == "sound" or draws is None or draws.private
        self.catalogue_, self.people_, self.scale_ = domains, chosen, chosen.scale
        self.titles_ = titles_of(chosen)
        self.taken_ = taken_for_public(chosen)
        self.item_ids_ = chosen.item_ids
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
        own, stars, moments = self._ratings_of(user, history, times)
        numbers = self._targets(target)
        possible = set(self.item_ids_[numbers].tolist())
        return top_n(
            self._everywhere(stars, moments, "scores")[0],
            self.item_ids_,
            n=n,
            user=user,
            left_out={*own, *exclude},
            candidates=possible if candidates is None else possible & set(candidates),
        )

    def predict(
        self,
        items: Sequence[Any],
        user: Any = None,
        *,
        history: History | None = None,
        times: Moments | None = None,
    ) -> Floats:
        """(len(items),) predicted stars, not rounded; NaN for what is in no target domain."""
        _, stars, moments = self._ratings_of(user, history, times)
        return pick(self._everywhere(stars, moments, "predict")[0], self.item_ids_, items)

    def predict_people(self, ratings: Ratings) -> Floats:
        """(n_users, n_items of the model) stars for everybody in `ratings`, each from their own
        ratings there; NaN outside the targets."""
        self._fitted()
        number = {item: place for place, item in enumerate(self.item_ids_.tolist())}
        places = np.array([number.get(item, -1) for item in ratings.item_ids.tolist()])
        rows = places[ratings.items] >= 0
        kept = ratings.where(rows)
        stars = sparse.csr_array(
            (kept.values, places[kept.items], kept.offsets),
            shape=(ratings.n_users, len(self.item_ids_)),
        )
        stars.sort_indices()  # ids are sorted on both sides, so times stay beside their stars
        return self._everywhere(stars, kept.timestamps, "predict")

    def explain(
        self,
        item: Any,
        user: Any = None,
        *,
        history: History | None = None,
        times: Moments | None = None,
        n: int = 3,
    ) -> tuple[Reason, ...]:
        """The n likes of theirs that add most to an item's predicted stars, largest first.

        Made from the released model and their own ratings: it spends nothing.
        """
        _, stars, moments = self._ratings_of(user, history, times)
        targets = self._targets(None)
        ids = self.item_ids_.tolist()
        number = ids.index(item) if item in ids else -1
        if number not in targets:
            raise DataError("no such item in a target domain", found=item)
        reasons = sorted(self._because(number, stars, moments), key=lambda each: -each.stars)
        return tuple(
            Reason(
                ids[each.item],
                None if each.image == each.item else ids[each.image],
                each.similarity,
                each.stars,
            )
            for each in reasons[:n]
            if each.stars > 0 and each.similarity > 0
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """One card: what other people get to see says this much about one person."""
        self._fitted()
        settings = self.settings
        if settings.noiseless:
            return (guarantees.without_noise(settings.variant),)
        if settings.variant == "sound":
            return (
                guarantees.sound(epsilon=settings.epsilon, delta=settings.delta, taken=self.taken_),
            )
        if settings.variant == "constant":
            plan = self._plan(self.catalogue_)
            return (guarantees.constant(plan, taken=self.taken_, private=self.private_),)
        drawn = sum(int((bridge.images >= 0).sum()) for bridge in self.bridges_.values())
        return (
            guarantees.published(
                epsilon=settings.epsilon,
                epsilon_prime=settings.for_neighbours,
                k=settings.k,
                images=drawn,
            ),
        )

    def save(self, path: str | Path) -> None:
        """Write what is known about items; a user-based model is made of people and refused."""
        self._fitted()
        if self.settings.recommender == "user-based":
            raise PrivacyError(
                "A user-based model is everybody's profile, and a model file holds no people. Keep "
                "it in memory, or use recommender='item-based'."
            )
        header = {
            "recommender": "xmap",
            "settings": self.settings.to_header(),
            "source": list(self.routes.sources) or None,
            "target": list(self.routes.targets),
            "domains": self.catalogue_.domains.tolist(),
            "scale": [self.scale_.minimum, self.scale_.maximum, self.scale_.step],
            "taken": list(self.taken_),
            **storing.draws_to_header(private=self.private_),
            **items_to_header(self.item_ids_, self.titles_),
        }
        if self.settings.variant == "sound":
            container.write(path, header, self.item_model_.arrays())
        else:
            container.write(path, header, storing.to_arrays(list(self.bridges_.values())))

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> XMap:
        """Back from a checked model file."""
        model = cls(
            source=header["source"],
            target=header["target"],
            **settings_from_header(header["settings"]),
        )
        model.catalogue_ = storing.catalogue(header, model.routes)
        model.item_ids_ = ids_from_header(header["items"])
        model.titles_ = titles_from_header(header)
        model.scale_ = RatingScale(*header["scale"])
        model.taken_ = tuple(header["taken"])
        drawn = storing.drawn_privately(header)
        model.private_ = drawn or model.settings.variant == "sound"  # which takes no seed
        if not set(model.taken_) <= set(TAKEN):
            raise ValueError("it takes something unknown for public")
        width = len(model.item_ids_)
        if model.settings.variant == "sound":
            model.item_model_ = storing.item_model(arrays, width, model.scale_)
        else:
            model.bridges_ = {
                target: storing.bridge(
                    arrays,
                    place,
                    targets=model.catalogue_.targets(target),
                    width=width,
                    settings=model.settings,
                    lowest=model.scale_.minimum,
                    engine=model._engine(),
                )
                for place, target in enumerate(model.routes.targets)
            }
        return model

    def _forget(self) -> None:
        for name in ("item_model_", "bridges_", "item_ids_", "_numbers"):
            self.__dict__.pop(name, None)

    def _number(self) -> dict[Any, int]:
        """Where each item stands; made once, because every list asks."""
        if "_numbers" not in self.__dict__:
            self._numbers = {item: place for place, item in enumerate(self.item_ids_.tolist())}
        return self._numbers

    def _fit_bridges(self, ratings: Ratings, domains: Catalogue, draws: Source) -> None:
        constant = self.settings.variant == "constant"
        if constant:  # an item's mean would have to be paid for
            middle = ratings.scale.minimum + ratings.scale.span / 2
            means = np.full(ratings.n_items, middle)
        else:
            means = means_by_domain(ratings, domains)
        each = self._plan(domains).each if constant else math.inf
        self.bridges_: dict[str, Bridge] = {
            target: fit_bridge(
                ratings,
                domains,
                target,
                means,
                self.settings,
                each=each,
                engine=self._engine(),
                draws=draws,
            )
            for target in self.routes.targets
        }

    def _plan(self, domains: Catalogue) -> Plan:
        targets = self.routes.targets
        return Plan(
            images=sum(len(domains.sources(target)) for target in targets),
            tables=sum(len(domains.targets(target)) for target in targets),
            k=self.settings.k,
            epsilon=self.settings.epsilon,
            delta=self.settings.delta,
        )

    def _engine(self) -> Engine:
        if self.engine is None:
            from tacit.engine.compiled import CompiledEngine

            self.engine = CompiledEngine()
        return self.engine

    def _targets(self, target: str | None) -> Numbers:
        """Sorted numbers of the items of all targets, or of one."""
        names = self.routes.targets if target is None else (target,)
        if not set(names) <= set(self.routes.targets):
            raise ConfigError(
                f"This model has no target '{target}'. It has: {', '.join(self.routes.targets)}."
            )
        return np.sort(np.concatenate([self.catalogue_.targets(name) for name in names]))

    def _ratings_of(
        self, user: Any, history: History | None, times: Moments | None
    ) -> tuple[History, sparse.csr_array, Times]:
        """Their ratings by id; (1, n_items) stars; times beside them, None if any is unknown."""
        self._fitted()
        width = len(self.item_ids_)
        if history is None:
            known = None if self.people_ is None else self.people_.user_number(user)
            if known is None or self.people_ is None:
                return {}, sparse.csr_array((1, width)), None
            rows = slice(self.people_.offsets[known], self.people_.offsets[known + 1])
            moments = self.people_.timestamps
            return (
                self.people_.history(user),
                self.people_.matrix[[known]],
                None if moments is None else moments[rows],
            )
        number = self._number()
        own = checked_history(history)
        known_items = sorted((number[item], item) for item in own if item in number)
        stars = np.array([own[item] for _, item in known_items], dtype=np.float64)
        if not self.scale_.holds(stars).all():
            raise DataError("a rating in the history lies off the scale", expected=str(self.scale_))
        places = np.array([place for place, _ in known_items], dtype=np.int32)
        row = sparse.csr_array((stars, places, np.array([0, len(stars)])), shape=(1, width))
        if times is None or any(item not in times for _, item in known_items):
            return own, row, None
        return own, row, np.array([times[item] for _, item in known_items], dtype=np.int64)

    def _everywhere(self, stars: sparse.csr_array, times: Times, what: str) -> Floats:
        """(people, n_items) stars ("predict") or ranking scores ("scores"), NaN off the targets."""
        found = np.full(stars.shape, np.nan)
        if self.settings.variant == "sound":
            targets = self._targets(None)
            made = (
                self.item_model_.predict_many(stars)
                if what == "predict"
                else self.item_model_.ranking_many(stars)
            )
            found[:, targets] = made[:, targets]
            return found
        for bridge in self.bridges_.values():
            found[:, bridge.targets] = getattr(bridge, what)(stars, times)
        return found

    def _because(self, number: int, stars: sparse.csr_array, times: Times) -> list[Because]:
        if self.settings.variant == "sound":
            return _from_sums(self.item_model_, number, stars)
        for bridge in self.bridges_.values():
            place = int(bridge.own[number])
            if place >= 0:
                return bridge.because(place, stars, times)
        return []


def _from_sums(model: ItemModel, number: int, stars: sparse.csr_array) -> list[Because]:
    """What each of their ratings adds: a prediction of the sound variant is linear in them."""
    covariance = model.persons(stars)[1][0]
    loadings, rated = model.loadings, stars.indices
    pulls = loadings[rated] @ (covariance @ loadings[number]) / model.variances[rated]
    added = pulls * (stars.data - model.means[rated])
    similar = model.similar(number)
    return [
        Because(int(item), int(item), float(similar[item]), float(gain))
        for item, gain in zip(rated, added, strict=True)
    ]
