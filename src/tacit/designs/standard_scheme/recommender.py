"""The standard scheme as one recommender: training, the device half and the server half together.

In production the halves run apart (`device.py`, `server.py`) and exchange the bytes of
`messages.py`. Here one object holds both, and even so every list is made from encoded messages.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.designs.standard_scheme import guarantees, training
from tacit.designs.standard_scheme.device import Device, renamed
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.drawing import Dice
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import LARGEST, WEEK, ItemTable, Release, Scores
from tacit.designs.standard_scheme.server import AT_HOME, SERVED, Ease, Profiles, Server, one_person
from tacit.designs.standard_scheme.training.people import People, unit
from tacit.designs.standard_scheme.training.tables import Tables, to_message
from tacit.errors import DataError, NotFittedError, PrivacyError
from tacit.privacy import Guarantee, Measurement
from tacit.recommenders import inputs
from tacit.recommenders.base import Floats, History, Recommendation, Recommendations, pick, top_n


@dataclass(frozen=True)
class Exchange:
    """One list and the messages it took."""

    release: Release
    scores: Scores
    recommendations: Recommendations


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScheme:
    """Hide an attribute of the person who asks, by what their device sends.

    attributes     names in `ratings.user_attributes`, each of two or more values
    variant        "sound", or "published": raw gaps, add-one smoothing and the patent's penalties
    release        what a device sends, a name in `disclosure.RELEASES`
    factors        length of an item profile
    disclosure_epsilon   nats per consenting person (add or remove), for all that devices get
                   about items; infinity: exact statistics. `contributions`: most ratings a person
                   then counts with
    values         public values of attributes, by name; others are read off the consenting people,
                   and a private disclosure is then proved on condition that they are public
    service_sees_items   whether the service that asks for releases learns otherwise what people
                   watched, bought, opened or rated; the sound variant is fitted where it does not
    item_table     whether the consenting people agreed that `item_table_` is published, for lists
                   on the device from true stars
    epoch_length   seconds between two letters of a device, a day at least
    aliases        as in `Disclosure`, old id to new one
    random_state   of the factorisation and the cross-validation; no draw of a device and no
                   privacy noise depends on it
    """

    attributes: Sequence[str] = ("gender",)
    variant: Literal["sound", "published"] = "sound"
    release: str = "scheme+selection+rounding"
    factors: int = 20
    disclosure_epsilon: float = math.inf
    contributions: int = 50
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    service_sees_items: bool | None = None
    item_table: bool = False
    epoch_length: int = WEEK
    aliases: Mapping[Any, Any] = field(default_factory=dict)
    random_state: int = 0

    def __post_init__(self) -> None:
        self.attributes = tuple(self.attributes)
        self.values = {name: tuple(sorted(given)) for name, given in (self.values or {}).items()}
        self.taken_: tuple[str, ...] = tuple(inputs.TAKEN)
        self.aliases = dict(self.aliases or {})
        self.measurements_: tuple[Measurement, ...] = ()
        training.check_settings(self)

    def fit(self, ratings: Ratings, previous: StandardScheme | None = None) -> StandardScheme:
        """Learn from consenting people: everybody in `ratings` whose attributes are all known.

        previous: the model that this one replaces. ConfigError where fewer than 50 of the people
        changed since, but not none: two models would show what these like.
        """
        inputs.checked_ratings(ratings)
        former = None if previous is None else previous.people_
        training.fit(self, ratings, former)
        unlisted = set(self.attributes) - set(self.values)
        self.taken_ = (*inputs.taken_for_public(ratings), *(("values",) if unlisted else ()))
        return self

    def device(
        self,
        attributes: Mapping[str, str],
        memory: State | None = None,
        dice: bytes | Dice | None = None,
    ) -> Device:
        """One person's device. Keep `memory` and the secret: two decisions on one item tell.

        dice: the account's secret, or where draws come from; by default a new secret. DataError
        for an attribute or value that the disclosure does not name.
        """
        self._fitted()
        published = self.variant == "published"
        memory = State(created=0) if memory is None else memory
        dice = secrets.token_bytes(32) if dice is None else dice
        try:
            return Device(self.disclosure_, attributes, memory, dice, reproduce=published)
        except ValueError as error:
            raise DataError(str(error)) from None

    def exchange(
        self,
        history: History,
        attributes: Mapping[str, str],
        *,
        memory: State | None = None,
        epoch: int = 0,
        **wanted: Any,
    ) -> Exchange:
        """A list made the way it is made in production: release, scores, the best of them.

        wanted: n, exclude and candidates, as for `recommend`. DataError for stars off the scale.
        """
        device = self.device(attributes, memory)
        try:
            sent = device.release(inputs.checked_history(history), epoch).encode()
        except ValueError as error:
            raise DataError(str(error), expected=f"stars on {self.scale_}") from None
        release = Release.decode(sent)
        scores = Scores.decode(self.server_.score(release).encode())
        return Exchange(release, scores, self.ranked(scores, history, **wanted))

    def ranked(self, scores: Scores, history: History, **wanted: Any) -> Recommendations:
        """The list that a device makes of the scores of its last letter. wanted: as for
        `recommend`."""
        known = {item: preference for item, _, preference in scores.scores}
        preferences = np.array([known.get(item, -LARGEST) for item in self.disclosure_.items])
        return self._listed(preferences, history, **wanted)

    def recommend(
        self,
        user: Any = None,
        *,
        history: History | None = None,
        attributes: Mapping[str, str] | None = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """The n best unseen items for a person with this history.

        With `attributes` it is made from the obfuscated release, as a recommender far away would
        make it. Without, it is made here from the true stars, and nothing would be sent. The model
        keeps no person: a bare `user` gets the list of a person without ratings.
        """
        self._fitted()
        wanted: dict[str, Any] = {"user": user, "n": n}
        wanted |= {"exclude": exclude, "candidates": candidates}
        own = {} if history is None else inputs.checked_history(history, self.item_ids_)
        if attributes is not None:
            return self.exchange(own, attributes, **wanted).recommendations
        levels = self._levels(own)
        if self.item_table and levels:
            return self.recommend_at_device(own, **wanted)
        shown = one_person(levels, len(self.item_ids_))
        preferences = self.ease_.preferences(shown, self.profiles_.of_everything(shown))[0]
        return self._listed(preferences, own, **wanted)

    def recommend_at_device(
        self,
        history: History,
        *,
        user: Any = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """The list that a device makes from true stars and the published item table alone;
        PrivacyError where none is published."""
        if self.item_table_ is None:
            raise PrivacyError(
                "A list at the device needs the item table, which is published with the consent of "
                "the people it was fitted to: fit with item_table=True (--item-table) if they do."
            )
        n, levels, items = inputs.checked_n(n), self._levels(history), self.disclosure_.items
        rated = {items[number]: math.floor(level + 0.5) for number, level in levels.items()}
        wanted = set(items if candidates is None else inputs.checked_ids(candidates, "candidates"))
        wanted -= {*history, *inputs.checked_ids(exclude, "exclude")}
        ranked = (row for row in self.item_table_.rank(items, rated) if row[0] in wanted)
        rows = (
            Recommendation(user, item, preference / AT_HOME, rank)
            for rank, (item, preference) in enumerate(islice(ranked, n), 1)
        )
        return Recommendations(tuple(rows)).named(self.titles_)

    @property
    def item_table_(self) -> ItemTable | None:
        """What devices may fetch to make lists from true stars; None without the consent to it."""
        self._fitted()
        return self.ease_.table(self.disclosure_.digest) if self.item_table else None

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """(len(items),) predicted stars on the device, from true stars; NaN for an unknown item."""
        self._fitted()
        rated = one_person(self._levels({} if history is None else history), len(self.item_ids_))
        levels = self.profiles_.of_everything(rated)[0]
        return pick(self.scale_.minimum + unit(self.scale_) * levels, self.item_ids_, items)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is claimed for the people who obfuscate, and for those whose ratings train."""
        self._fitted()
        return guarantees.for_the_person(self), guarantees.for_the_consenting(self)

    def save(self, path: str | Path) -> None:
        """Write items, public tables, what scores, and a keyed hash of each consenting person."""
        self._fitted()
        training.write(self, path)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> StandardScheme:
        """Back from a checked model file; ValueError for one of an earlier version."""
        model = cls(**training.settings_of(header))
        training.restore(model, header, arrays)
        return model

    def hold(
        self,
        *,
        item_ids: Column,
        titles: inputs.Titles,
        scale: RatingScale,
        n_consenting: int,
        people: People | None,
        tables: dict[str, Tables],
        profiles: Profiles,
        ease: Ease,
        measurements: tuple[Measurement, ...] = (),
    ) -> None:
        """Take this as what was fitted. item_ids: (items,)."""
        self.item_ids_, self.titles_, self.scale_ = item_ids, titles, scale
        self.tables_, self.profiles_, self.ease_ = tables, profiles, ease
        self.n_consenting_, self.people_, self.measurements_ = n_consenting, people, measurements
        self.disclosure_: Disclosure = to_message(
            self.tables_,
            training.checked_rule(self, scale),
            minimum=scale.minimum,
            step=unit(scale),
            levels=scale.levels,
            items=tuple(item_ids.tolist()),
            epoch_length=self.epoch_length,
            aliases=tuple(self.aliases.items()),
        )
        self.server_ = Server(self.disclosure_, profiles, ease)

    def _listed(
        self,
        preferences: NDArray[np.int64],
        history: History,
        exclude: Collection[Any] = (),
        **wanted: Any,
    ) -> Recommendations:
        wanted = {"n": 10, "user": None, "candidates": None} | wanted
        wanted["left_out"] = {*history, *inputs.checked_ids(exclude, "exclude")}
        return top_n(preferences / SERVED, self.item_ids_, **wanted).named(self.titles_)

    def _levels(self, history: History) -> dict[int, float]:
        """True levels by number of the item; DataError for stars off the scale."""
        rated = renamed(inputs.checked_history(history, self.item_ids_), self.disclosure_)
        numbers = [n for n, item in enumerate(self.disclosure_.items) if item in rated]
        stars = np.array([rated[self.disclosure_.items[n]] for n in numbers], dtype=float)
        if not self.scale_.holds(stars).all():
            raise DataError("a rating in the history lies off the scale", expected=str(self.scale_))
        levels = (stars - self.scale_.minimum) / unit(self.scale_)
        return dict(zip(numbers, levels.tolist(), strict=True))

    def _fitted(self) -> None:
        if not hasattr(self, "disclosure_"):
            raise NotFittedError("This StandardScheme is not fitted. Call fit(ratings) first.")
