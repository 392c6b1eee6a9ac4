"""Models that are served: what may be rated, what is recommended, and what is promised.

    [models.films]
    file = "films.tacit"            # made by  tacit fit ... -o films.tacit
    scale = "1:5:1"                 # where the file does not hold it
    without_guarantee = false       # true serves a model that promises no privacy

A model file holds items and no people: lists are made from the ratings that a person keeps here, or
sends with their question. What a person keeps lies in a state of the ledger that is theirs alone,
one for all models. No model learns from it, so it costs no budget; how many there are is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from tacit import container
from tacit.data.ratings import RatingScale
from tacit.errors import ConfigError, DataError
from tacit.ledger import Cap, Holder
from tacit.privacy import Basis, Guarantee
from tacit.randomness import Source
from tacit.recommenders import Recommendation, load_model
from tacit.service.deployment import Section, Service
from tacit.service.idempotency import Kept, salted, state_of, unsalted
from tacit.service.settings import setting

LONGEST_LIST = 100


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    file: str = setting(
        "a model file of `tacit fit`", refused="outside of the folder, unreadable, or refuted"
    )
    scale: str | None = setting(
        "the stars that people may give, as `lowest:highest:step`, such as `1:5:1`",
        None,
        default_text="the model's own",
        refused="missing where the model has none, or other than the model's own",
    )
    without_guarantee: bool = setting(
        "serve a model that promises no privacy to the people it was fitted on",
        False,
        refused="`false` for such a model",
    )


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """recommended: it may be in a list. All items may be rated."""

    item_id: str
    title: str | None
    domain: str | None
    recommended: bool


@dataclass(frozen=True, eq=False)
class ServedModel:
    """kind, variant: as the model file names them. Ids are texts outside, and the model's inside.
    Threads share one: nothing changes after it is made."""

    SETTINGS: ClassVar = ModelSettings

    name: str
    kind: str
    variant: str | None
    scale: RatingScale
    model: Any

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """The model of a file; ConfigError in a sentence for what is not served, and why."""
        where = f"models.{section.name}"
        given = section.read(ModelSettings)
        path = section.file("file")
        header, _ = container.read(path)
        kind = str(header.get("recommender"))
        variant = header.get("settings", {}).get("variant")
        if reason := _REFUSED.get(variant or "") or _REFUSED.get(kind):
            raise ConfigError(f"{where} is {reason}")  # before anything is loaded from the file
        model = load_model(path)
        _check_promise(where, tuple(model.guarantees()), given.without_guarantee)
        scale = _scale(where, model, given.scale)
        made = cls(section.name, kind, variant, scale, model)
        _ = made.popular, made.places, made.device_file  # not while the first person waits
        return made

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """None: what the model cost was spent when it was fitted, and lists from it are free."""
        return iter(())

    def guarantees(self) -> tuple[Guarantee, ...]:
        return tuple(self.model.guarantees())

    def released(self) -> str:
        return (
            f"the model '{self.name}', and lists that others got from it: it was fitted before, on "
            "ratings that its makers had; what you rated here never went into it"
        )

    @cached_property
    def ids(self) -> Mapping[str, Any]:
        """Item ids as the model has them, by how they are written."""
        every = (*self.model.history_ids_.tolist(), *self.model.item_ids_.tolist())
        return {str(item): item for item in every}

    @cached_property
    def items(self) -> tuple[CatalogueItem, ...]:
        """The catalogue, in the model's order."""
        recommended = set(self.model.recommend(history={}, n=len(self.ids)).item_ids)
        catalogue = getattr(self.model, "catalogue_", None)
        domains: Mapping[Any, str] = {}
        if catalogue is not None:
            pairs = zip(self.model.item_ids_.tolist(), catalogue.domains.tolist(), strict=True)
            domains = dict(pairs)
        titles = self.model.titles_
        return tuple(
            CatalogueItem(text, titles.get(item), domains.get(item), item in recommended)
            for text, item in self.ids.items()
        )

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each item stands in `items`."""
        return {item.item_id: place for place, item in enumerate(self.items)}

    @cached_property
    def popular(self) -> tuple[Recommendation, ...]:
        """The list of a person who rated nothing. The same for everybody, so it is made once."""
        return tuple(self.model.recommend(history={}, n=LONGEST_LIST))

    @cached_property
    def device_file(self) -> bytes | None:
        """From which devices make lists; None for a model that has no such file."""
        made = getattr(self.model, "device_file", None)
        try:
            return None if made is None else bytes(made())
        except ConfigError:  # another variant, or several target domains
            return None

    def known(self, ratings: Mapping[str, float]) -> dict[str, float]:
        """Those of an item of the catalogue, with stars on the scale: what a list is made from."""
        rated = {item: stars for item, stars in ratings.items() if item in self.ids}
        fits = self.scale.holds(np.array(list(rated.values()), dtype=float))
        return {item: rated[item] for item, good in zip(rated, fits, strict=True) if good}

    def recommend(self, known: Mapping[str, float], n: int) -> tuple[Recommendation, ...]:
        """The n best for a person with ratings as `known` gives them; n is 1 to `LONGEST_LIST`."""
        if not known:
            return self.popular[:n]
        own = {self.ids[item]: stars for item, stars in known.items()}
        return tuple(self.model.recommend(history=own, n=n))

    def title(self, item: str) -> str | None:
        """What people call it."""
        place = self.places.get(item)
        return None if place is None else self.items[place].title


_REFUSED = {
    "published": "the published variant, made to reproduce what a paper got wrong. It is not "
    "served. Fit it again with  --variant sound.",
    "standard-scheme": "a standard scheme, whose people send obfuscated ratings from their "
    "devices; a model here gets true ones. Serve it as [disclosures.NAME].",
}


def _check_promise(where: str, cards: tuple[Guarantee, ...], without: bool) -> None:
    """No privacy only where it is asked for by name."""
    if any(card.basis is Basis.REFUTED for card in cards):
        raise ConfigError(f"{where} rests on a claim that is refuted. It is not served.")
    if not without and all(card.epsilon is None for card in cards):
        raise ConfigError(
            f"{where} promises no privacy to the people it was fitted on. Fit one that does, such "
            "as  tacit fit xmap, or write  without_guarantee = true  beside its file."
        )


def _scale(where: str, model: Any, text: str | None) -> RatingScale:
    """Of the stars that people may give: the model's own, or else the section's."""
    own: RatingScale | None = getattr(model, "scale_", None)
    if text is None:
        if own is None:
            raise ConfigError(f'{where}.scale is missing, such as  scale = "1:5:1".')
        return own
    try:
        given = RatingScale.parse(text)
    except DataError as error:
        raise ConfigError(f"{where}.scale: {error}") from None
    if own is not None and own != given:
        raise ConfigError(f"{where}.scale is {given}, and the model's own is {own}.")
    return given


MOST = 1000  # ratings that are kept of one person, of all models together


@dataclass(frozen=True)
class Feedback:
    """of: model to item to stars; names and ids as texts."""

    of: Mapping[str, Mapping[str, float]]

    @classmethod
    def decode(cls, state: bytes | None) -> Self:
        """What `encode` gave; nothing where nothing was kept."""
        content = unsalted(state)
        return cls(json.loads(content) if content else {})

    @classmethod
    def of_user(cls, service: Service, user: str) -> Self:
        """As it is kept now."""
        return cls.decode(
            service.ledger.state(f"{service.deployment.tenant}/{feedback_state(user)}")
        )

    def encode(self, source: Source) -> bytes:
        """Always with new random bytes in front."""
        text = json.dumps(self.of, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return salted(source, text.encode())

    def rated(self, model: str, item: str, stars: float) -> Self | None:
        """With one rating more or changed; None if there are too many."""
        mine = self.of.get(model, {})
        if item not in mine and len(self) >= MOST:
            return None
        return type(self)({**self.of, model: {**mine, item: stars}})

    def taken_back(self, model: str, item: str) -> Self:
        """Without one rating, whether it was there or not."""
        rest = {one: stars for one, stars in self.of.get(model, {}).items() if one != item}
        others = {name: ratings for name, ratings in self.of.items() if name != model}
        return type(self)({**others, model: rest} if rest else others)

    def __len__(self) -> int:
        return sum(len(ratings) for ratings in self.of.values())


def feedback_state(user: str) -> str:
    return state_of("feedback", user)


def forget_feedback(user: str) -> Kept:
    """Everything that a person rated. What stays is a state that says: nothing."""
    what = "the ratings that you gave, of every model"
    return Kept(feedback_state(user), what, lambda source, _: Feedback({}).encode(source))
