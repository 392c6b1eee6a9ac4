"""The standard scheme as one recommender: training, the device half and the server half together.

In production the halves run apart (`device.py`, `server.py`) and exchange the bytes of
`messages.py`. Here one object holds both, and even so every list is made from encoded messages.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme import files, guarantees
from tacit.designs.standard_scheme.device import Device, follow_aliases
from tacit.designs.standard_scheme.dice import Dice
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import LARGEST, WEEK, ItemTable, Release, Scores
from tacit.designs.standard_scheme.server import AT_HOME, SERVED, Server, levels_to_row
from tacit.designs.standard_scheme.settings import Settings, Variant
from tacit.designs.standard_scheme.training import fitting
from tacit.designs.standard_scheme.training.attributes import bin_of
from tacit.designs.standard_scheme.training.people import PeopleHashes, level_size
from tacit.designs.standard_scheme.training.profiles import ProfileKind
from tacit.designs.standard_scheme.training.tables import make_disclosure
from tacit.errors import DataError, NotFittedError, PrivacyError
from tacit.privacy import Guarantee, Measurement
from tacit.recommenders import inputs
from tacit.recommenders.base import Floats, History, Recommendation, Recommendations, pick, top_n
from tacit.recommenders.fits_in_process import CountedFit


@dataclass(frozen=True)
class Exchange:
    """One list and the messages it took."""

    release: Release
    """The letter that leaves the device."""
    scores: Scores
    """What the recommender answers."""
    recommendations: Recommendations
    """The list that the device makes."""


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScheme:
    """Hide an attribute of the person who asks, by what their device sends.

    After a fit, `fitted_` is all that was learned, `disclosure_` what devices get, and `server_`
    the recommender.

    Raises:
        ConfigError: The settings cannot be.
        PrivacyError: The settings would tell the attribute.
    """

    attributes: Sequence[str] = ("gender",)
    """Names in `ratings.user_attributes`, each of two or more values."""
    variant: Variant = "sound"
    """"sound", or "published": raw gaps, add-one smoothing and the patent's penalties."""
    release: str = "scheme+selection+rounding"
    """What a device sends, a name in `disclosure.RELEASES`."""
    profiles: ProfileKind = "latent"
    """What describes an item where stars are predicted: "latent" factors, explicit "features"
    (genres and years of `ratings.item_metadata`), or "latent+features"."""
    factors: int = 20
    """Number of latent factors of an item."""
    disclosure_epsilon: float = math.inf
    """Nats per consenting person (add or remove), for all that devices get about items; infinity:
    exact statistics."""
    contributions: int = 50
    """Most ratings that a person counts with, where that epsilon is finite."""
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Public values of attributes, by name; others are read off the consenting people, and a
    private disclosure is then proved on condition that they are public."""
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Public edges of numeric attributes, by name, such as {"age": (25, 45)}: an attribute with
    many numbers is cut into bins; age is at 25 and 45 by default."""
    service_sees_items: bool | None = None
    """Whether the service that asks for releases learns otherwise what people watched, bought,
    opened or rated; the sound variant is fitted where it does not."""
    item_table: bool = False
    """Whether the consenting people agreed that `item_table_` is published, for lists on the device
    from true stars."""
    epoch_length: int = WEEK
    """Seconds between two letters of a device, a day at least."""
    aliases: Mapping[Any, Any] = field(default_factory=dict)
    """Old id to new one of items that were renamed, as in `Disclosure`."""
    random_state: int = 0
    """Seed of the factorisation and the cross-validation; no draw of a device and no privacy noise
    depends on it."""

    def __post_init__(self) -> None:
        self.attributes = tuple(self.attributes)
        self.values = {name: tuple(sorted(listed)) for name, listed in (self.values or {}).items()}
        self.edges = {name: tuple(map(float, ends)) for name, ends in (self.edges or {}).items()}
        self.aliases = dict(self.aliases or {})
        self.settings  # noqa: B018 - checks them

    @property
    def settings(self) -> Settings:
        """The settings, checked."""
        return Settings(
            attributes=tuple(self.attributes),
            variant=self.variant,
            release=self.release,
            profiles=self.profiles,
            factors=self.factors,
            disclosure_epsilon=self.disclosure_epsilon,
            contributions=self.contributions,
            values={name: tuple(listed) for name, listed in self.values.items()},
            edges={name: tuple(ends) for name, ends in self.edges.items()},
            service_sees_items=self.service_sees_items,
            item_table=self.item_table,
            epoch_length=self.epoch_length,
            aliases=self.aliases,
            random_state=self.random_state,
        )

    def fit(self, ratings: Ratings, previous: StandardScheme | None = None) -> StandardScheme:
        """Learn from consenting people: everybody in `ratings` whose attributes are all known.

        Args:
            ratings: With the attributes as `user_attributes`.
            previous: The model that this one replaces; None: what this object was fitted to before,
                if anything. The card counts its private disclosures too, and those of earlier fits
                to equal ratings in this process.

        Raises:
            ConfigError: Fewer than 50 of the people changed since `previous`, but not none: two
                models would show what these like. Or devices could show hardly any item.
            PrivacyError: The settings do not say that the service sees no items but those that are
                sent, or the release would tell the attribute on this scale.
            DataError: An attribute or the item features are missing.
        """
        ratings = inputs.as_ratings(ratings)
        replaced = self if previous is None and hasattr(self, "fitted_") else previous
        people: PeopleHashes | None = None
        disclosures: tuple[CountedFit, ...] = ()
        if replaced is not None:
            people, disclosures = replaced.fitted_.people, replaced.fitted_.disclosures
        self._hold(fitting.fit(self.settings, ratings, people, disclosures))
        return self

    def device(
        self,
        attributes: Mapping[str, str],
        memory: State | None = None,
        dice: bytes | Dice | None = None,
    ) -> Device:
        """Make one person's device.

        Keep the memory and the secret: two decisions about one item tell the attribute.

        Args:
            attributes: The person's values of the hidden attributes.
            memory: What was decided before; by default nothing.
            dice: The account's secret, or where draws come from; by default a new secret.

        Raises:
            DataError: The disclosure does not name such an attribute or value.
        """
        self._require_fit()
        memory = State(created=0) if memory is None else memory
        dice = secrets.token_bytes(32) if dice is None else dice
        values = {name: self._value_of(name, value) for name, value in attributes.items()}
        reproduce = self.settings.is_published
        try:
            return Device(self.disclosure_, values, memory, dice, reproduce=reproduce)
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
        release = Release.decode(self._release(history, attributes, memory, epoch).encode())
        scores = Scores.decode(self.server_.score(release).encode())
        return Exchange(release, scores, self.rank(scores, history, **wanted))

    def _release(
        self, history: History, attributes: Mapping[str, str], memory: State | None, epoch: int
    ) -> Release:
        """Make the release of a person's device; DataError for stars off the scale."""
        device = self.device(attributes, memory)
        try:
            return device.release(inputs.checked_history(history), epoch)
        except ValueError as error:
            raise DataError(str(error), expected=f"stars on {self.scale_}") from None

    def rank(self, scores: Scores, history: History, **wanted: Any) -> Recommendations:
        """Make the list that a device makes of the scores of its last letter.

        Args:
            scores: Scores for the letter.
            history: The person's true stars.
            wanted: Keywords of `recommend`.
        """
        known = {item: preference for item, _, preference in scores.scores}
        preferences = np.array([known.get(item, -LARGEST) for item in self.disclosure_.items])
        return self._make_list(preferences, history, **wanted)

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
        """List the n best unseen items for a person with this history.

        With `attributes` the list is made from the obfuscated release, as it is made for a device.
        Without them it is made from the true stars, and nothing would be sent. The model keeps no
        person: a bare `user` gets the list of a person without ratings.
        """
        self._require_fit()
        wanted: dict[str, Any] = {"user": user, "n": n}
        wanted |= {"exclude": exclude, "candidates": candidates}
        own = {} if history is None else inputs.checked_history(history, self.item_ids_)
        if attributes is not None:
            # The list of `exchange`, which also writes both messages and reads them again.
            release = self._release(own, attributes, memory=None, epoch=0)
            return self.rank(self.server_.score(release), own, **wanted)
        levels = self._levels(own)
        if self.item_table and levels:
            return self.recommend_at_device(own, **wanted)
        shown = levels_to_row(levels, len(self.item_ids_))
        stars = self.fitted_.profiles.predict_levels(shown)
        preferences = self.fitted_.ease.preferences(shown, stars)[0]
        return self._make_list(preferences, own, **wanted)

    def recommend_at_device(
        self,
        history: History,
        *,
        user: Any = None,
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """Make the list that a device makes from true stars and the published item table alone.

        Raises:
            PrivacyError: No table is published.
        """
        if self.item_table_ is None:
            raise PrivacyError(
                "A list at the device needs the item table, which is published with the consent of "
                "the people it was fitted to: fit with item_table=True (--item-table) if they do."
            )
        n = inputs.checked_n(n)
        levels = self._levels(history)
        items = self.disclosure_.items
        rated = {items[number]: math.floor(level + 0.5) for number, level in levels.items()}
        listable = set(
            items if candidates is None else inputs.checked_ids(candidates, "candidates")
        )
        listable -= {*history, *inputs.checked_ids(exclude, "exclude")}
        ranked = (row for row in self.item_table_.rank(items, rated) if row[0] in listable)
        rows = (
            Recommendation(user, item, preference / AT_HOME, rank)
            for rank, (item, preference) in enumerate(islice(ranked, n), 1)
        )
        return Recommendations(tuple(rows)).with_titles(self.titles_)

    @property
    def item_table_(self) -> ItemTable | None:
        """Table for lists from true stars on devices; None without consent to it."""
        self._require_fit()
        return self.fitted_.ease.table(self.disclosure_.digest) if self.item_table else None

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """(len(items),) predicted stars on the device, from true stars; NaN for an unknown item."""
        self._require_fit()
        rated = levels_to_row(self._levels({} if history is None else history), len(self.item_ids_))
        levels = self.fitted_.profiles.predict_levels(rated)[0]
        return pick(
            self.scale_.minimum + level_size(self.scale_) * levels,
            self.item_ids_,
            items,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Cards of the people who obfuscate, and of those whose ratings train."""
        self._require_fit()
        return guarantees.cards(
            self.settings,
            self.fitted_.measurements,
            self.fitted_.assumed_public,
            [disclosure.cost for disclosure in self.fitted_.disclosures],
        )

    def add_measurements(self, measurements: Sequence[Measurement]) -> None:
        """Put measured attacks on the card."""
        self._require_fit()
        self._hold(replace(self.fitted_, measurements=tuple(measurements)))

    def save(self, path: str | Path) -> None:
        """Write items, public tables, what scores, and a keyed hash of each consenting person."""
        self._require_fit()
        files.write_model(path, self.settings, self.fitted_)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> StandardScheme:
        """Restore a model from a checked file; ValueError for one of another format."""
        model = cls(**files.read_settings(header))
        model._hold(files.read_fitted(header, arrays, model.settings.attributes))
        return model

    def _hold(self, fitted: fitting.Fitted) -> None:
        """Take this as what was fitted, and make the disclosure and the server of it."""
        settings = self.settings
        self.fitted_: fitting.Fitted = fitted
        self.item_ids_ = fitted.item_ids
        self.titles_ = fitted.titles
        self.scale_ = fitted.scale
        self.disclosure_: Disclosure = make_disclosure(
            dict(fitted.tables),
            settings.rule_on(fitted.scale),
            minimum=fitted.scale.minimum,
            step=level_size(fitted.scale),
            levels=fitted.scale.levels,
            items=tuple(fitted.item_ids.tolist()),
            epoch_length=settings.epoch_length,
            aliases=tuple(settings.aliases.items()),
        )
        self.server_ = Server(self.disclosure_, fitted.profiles, fitted.ease)

    def _make_list(
        self,
        preferences: NDArray[np.int64],
        history: History,
        exclude: Collection[Any] = (),
        **wanted: Any,
    ) -> Recommendations:
        wanted = {"n": 10, "user": None, "candidates": None} | wanted
        wanted["left_out"] = {*history, *inputs.checked_ids(exclude, "exclude")}
        return top_n(preferences / SERVED, self.item_ids_, **wanted).with_titles(self.titles_)

    def _levels(self, history: History) -> dict[int, float]:
        """True levels by number of the item; DataError for stars off the scale."""
        rated = follow_aliases(inputs.checked_history(history, self.item_ids_), self.disclosure_)
        numbers = [n for n, item in enumerate(self.disclosure_.items) if item in rated]
        stars = np.array([rated[self.disclosure_.items[n]] for n in numbers], dtype=float)
        if not self.scale_.holds(stars).all():
            raise DataError("a rating in the history lies off the scale", expected=str(self.scale_))
        levels = (stars - self.scale_.minimum) / level_size(self.scale_)
        return dict(zip(numbers, levels.tolist(), strict=True))

    def _value_of(self, name: str, value: str) -> str:
        """Write the value as devices know it: a number is the bin that it lies in."""
        table = self.fitted_.tables.get(name)
        return value if table is None else bin_of(str(value), table.values)

    def _require_fit(self) -> None:
        if not hasattr(self, "fitted_"):
            raise NotFittedError("This StandardScheme is not fitted. Call fit(ratings) first.")
