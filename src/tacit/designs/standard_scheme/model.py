"""The standard scheme as one recommender: training, the device half and the server half together.

In production the two halves run on different machines (`device.py`, `server.py`) and exchange the
bytes of `messages.py`. Here one object holds both halves: `exchange` encodes the messages, and
`recommend` hands them over as objects.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.designs.standard_scheme import files, guarantees
from tacit.designs.standard_scheme.bins import listed_value
from tacit.designs.standard_scheme.device import Device, follow_aliases
from tacit.designs.standard_scheme.dice import Dice
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import LARGEST, WEEK, ItemTable, Release, Scores
from tacit.designs.standard_scheme.server import (
    PREFERENCE_UNIT_OF_DEVICE,
    PREFERENCE_UNIT_OF_SERVER,
    Server,
    levels_to_row,
)
from tacit.designs.standard_scheme.settings import Settings, Variant
from tacit.designs.standard_scheme.training import fitting
from tacit.designs.standard_scheme.training.attributes import read_edges, read_values
from tacit.designs.standard_scheme.training.people import PeopleHashes, level_size
from tacit.designs.standard_scheme.training.profiles import ProfileKind
from tacit.designs.standard_scheme.training.tables import make_disclosure
from tacit.errors import ConfigError, DataError, NotFittedError, PrivacyError
from tacit.privacy import Guarantee, Measurement
from tacit.recommenders import inputs
from tacit.recommenders.base import (
    Floats,
    History,
    Recommendation,
    Recommendations,
    scores_of_items,
    top_n,
)
from tacit.recommenders.fits_in_process import CountedFit


@dataclass(frozen=True)
class Exchange:
    """One list, with the messages from which it was made."""

    release: Release
    """What the device sends."""
    scores: Scores
    """The recommender's answer."""
    recommendations: Recommendations
    """The list that the device makes of the scores."""


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScheme:
    """Hide an attribute of the person who asks, by what their device sends.

    After a fit, `fitted_` holds everything that was learned, `disclosure_` is what devices get, and
    `server_` is the recommender half.

    Raises:
        ConfigError: A setting has an unknown name or a number out of range, or two settings
            contradict each other.
        PrivacyError: The settings would reveal the attribute.
    """

    attributes: Sequence[str] = ("gender",)
    """Names in `ratings.user_attributes`, each of two or more values."""
    variant: Variant = "sound"
    """"sound", or "published": raw gaps, add-one smoothing and the patent's penalties."""
    release: str = "scheme+selection+rounding"
    """What a device sends, a name in `disclosure.RELEASES`."""
    profiles: ProfileKind = "latent"
    """What describes an item when stars are predicted: "latent" factors, explicit "features"
    (genres and years of `ratings.item_metadata`), or "latent+features"."""
    factors: int = 20
    """Number of latent factors of an item."""
    disclosure_epsilon: float = math.inf
    """Epsilon, in nats, of the disclosure for one consenting person (add or remove); infinity for
    exact statistics without noise."""
    contributions: int = 50
    """Most ratings of a person that are used, if `disclosure_epsilon` is finite."""
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Public values of attributes, by name. Values of other attributes are read from the consenting
    people; the guarantee of a private disclosure then holds on condition that they are public."""
    edges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Public edges at which numeric attributes are cut into bins, by name, such as
    {"age": (25, 45)}, which is the default for age."""
    service_sees_items: bool | None = None
    """Whether the service that gets releases learns in another way what people watched, bought,
    opened or rated. The sound variant is fitted only if this is False."""
    item_table: bool = False
    """Whether the consenting people agreed that `item_table_` is published. Devices then make lists
    from true stars."""
    epoch_length: int = WEEK
    """Seconds of a calendar epoch, a day at least. After the first day a device sends one release
    in each epoch."""
    aliases: Mapping[Any, Any] = field(default_factory=dict)
    """New id of each renamed item by its old id, as in `Disclosure`."""
    random_state: int = 0
    """Seed of the factorisation, of cross-validation and of the people on whom the penalty of the
    weights is chosen; no draw of a device and no privacy noise depends on it."""

    def __post_init__(self) -> None:
        """Bring the parameters into one form, such as sorted values, and check them."""
        self.attributes = tuple(self.attributes)
        given_values = self.values or {}
        given_edges = self.edges or {}
        self.values = {name: read_values(name, values) for name, values in given_values.items()}
        self.edges = {name: read_edges(name, edges) for name, edges in given_edges.items()}
        self.aliases = dict(self.aliases or {})
        self.settings  # noqa: B018 - checks them, and raises if they are wrong

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
            values={name: tuple(values) for name, values in self.values.items()},
            edges={name: tuple(edges) for name, edges in self.edges.items()},
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
            previous: The model that this one replaces; None for the earlier fit of this object, if
                there is one. The card also counts the private disclosures of that model, and those
                of earlier fits to the same ratings object in this process.

        Raises:
            ConfigError: `previous` is not a fitted StandardScheme; from 1 to 49 of the people came,
                left or have other ratings since the replaced model or one that it replaced, so that
                the two models would reveal what these people like (other attributes alone are not
                noticed); devices could show hardly any item; the number of items in a letter would
                tell the value of an attribute; or the settings do not fit the ratings.
            PrivacyError: The variant is sound and `service_sees_items` is not False, or the release
                would reveal the attribute on this scale.
            DataError: An attribute or the item features are missing, or their values are unusable.
        """
        ratings = inputs.as_ratings(ratings)
        replaced = self if previous is None and hasattr(self, "fitted_") else previous
        earlier_people: PeopleHashes | None = None
        earlier_disclosures: tuple[CountedFit, ...] = ()
        if replaced is not None:
            if not isinstance(replaced, StandardScheme) or not hasattr(replaced, "fitted_"):
                raise ConfigError(
                    "previous must be the fitted StandardScheme that this one replaces "
                    "(tacit.load_model reads one from its file); got an object of class "
                    f"{type(replaced).__name__} without a fit."
                )
            earlier_people = replaced.fitted_.people
            earlier_disclosures = replaced.fitted_.disclosures
        self._set_fitted(fitting.fit(self.settings, ratings, earlier_people, earlier_disclosures))
        return self

    def device(
        self,
        attributes: Mapping[str, str],
        memory: State | None = None,
        dice: bytes | Dice | None = None,
    ) -> Device:
        """Make one person's device.

        Store the memory and the secret. Without them the device decides about each item again, and
        two decisions about one item can reveal the attribute.

        Args:
            attributes: The person's values of the hidden attributes.
            memory: What was decided before; by default nothing.
            dice: The account's secret, or the `Dice` that are made from one; by default a new
                secret.

        Raises:
            DataError: The value of a hidden attribute is missing or not disclosed, the memory was
                made under other choices, or the secret is too short.
        """
        self._require_fit()
        memory = State(created=0) if memory is None else memory
        dice = secrets.token_bytes(32) if dice is None else dice
        values = {name: self._disclosed_value(name, value) for name, value in attributes.items()}
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
        **list_options: Any,
    ) -> Exchange:
        """Make one list as in production: the device's release, the scores for it, the list.

        Args:
            history: The person's true stars by item.
            attributes: The person's values of the hidden attributes.
            memory: What was decided before; by default nothing.
            epoch: Label of the release's epoch.
            list_options: `n`, `user`, `exclude` and `candidates`, as for `recommend`.

        Raises:
            DataError: A star is off the scale, or as for `device`.
        """
        release = Release.decode(self._release(history, attributes, memory, epoch).encode())
        scores = Scores.decode(self.server_.score(release).encode())
        return Exchange(release, scores, self.rank(scores, history, **list_options))

    def _release(
        self, history: History, attributes: Mapping[str, str], memory: State | None, epoch: int
    ) -> Release:
        """Make the release of a person's device for one epoch, by the arguments of `exchange`.

        Raises:
            DataError: A star is off the scale, or as for `device`.
        """
        device = self.device(attributes, memory)
        try:
            return device.release(inputs.checked_history(history), epoch)
        except ValueError as error:
            raise DataError(str(error), expected=f"stars on {self.scale_}") from None

    def rank(self, scores: Scores, history: History, **list_options: Any) -> Recommendations:
        """Make the list that a device makes of the scores for its last release.

        Args:
            scores: Scores for the release.
            history: The person's true stars by item.
            list_options: `n`, `user`, `exclude` and `candidates`, as for `recommend`.
        """
        preference_of_item = {item: preference for item, _, preference in scores.scores}
        lowest = -LARGEST  # for items without a score
        preferences = np.array(
            [preference_of_item.get(item, lowest) for item in self.disclosure_.items]
        )
        return self._make_list(preferences, history, **list_options)

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

        With `attributes`, the list is made from the obfuscated release of the person's device.
        Without them it is made from the true stars: on the device by the item table, if the model
        publishes one, and otherwise by the recommender's weights. The model stores no person:
        without a history, everybody gets the list of a person without ratings.

        Args:
            user: The person's name in the returned rows.
            history: The person's true stars by item.
            attributes: The person's values of the hidden attributes; None for a list from true
                stars.
            n: Length of the list.
            exclude: Ids to leave out, besides the rated ones.
            candidates: The only ids that may be listed; None for all.
        """
        self._require_fit()
        list_options: dict[str, Any] = {
            "user": user,
            "n": n,
            "exclude": exclude,
            "candidates": candidates,
        }
        stars = {} if history is None else inputs.checked_history(history, self.item_ids_)
        if attributes is not None:
            # As in `exchange`, but no message is encoded and none made of the scores.
            release = self._release(stars, attributes, memory=None, epoch=0)
            _, preferences = self.server_.compute_scores(release)
            return self._make_list(preferences, stars, **list_options)
        levels = self._levels_by_number(stars)
        if self.item_table and levels:
            return self.recommend_at_device(stars, **list_options)
        row = levels_to_row(levels, len(self.item_ids_))
        predicted_levels = self.fitted_.profiles.predict_levels(row)
        preferences = self.fitted_.ease.preferences(row, predicted_levels)[0]
        return self._make_list(preferences, stars, **list_options)

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

        Arguments are those of `recommend`.

        Raises:
            PrivacyError: No table is published.
        """
        if self.item_table_ is None:
            raise PrivacyError(
                "A list at the device needs the item table, which is published with the consent of "
                "the people it was fitted to: if they agree, fit with item_table=True "
                "(--item-table)."
            )
        n = inputs.checked_n(n)
        items = self.disclosure_.items
        whole_levels = {}
        for number, level in self._levels_by_number(history).items():
            whole_levels[items[number]] = math.floor(level + 0.5)
        if candidates is None:
            listable = set(items)
        else:
            listable = set(inputs.checked_ids(candidates, "candidates"))
        listable -= {*history, *inputs.checked_ids(exclude, "exclude")}
        rows: list[Recommendation] = []
        for item, preference in self.item_table_.rank(items, whole_levels):
            if len(rows) == n:
                break
            if item in listable:
                score = preference / PREFERENCE_UNIT_OF_DEVICE
                rows.append(Recommendation(user, item, score, len(rows) + 1))
        return Recommendations(tuple(rows)).with_titles(self.titles_)

    @property
    def item_table_(self) -> ItemTable | None:
        """Table by which devices rank from true stars; None if it is not published."""
        self._require_fit()
        return self.fitted_.ease.table(self.disclosure_.digest) if self.item_table else None

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """Predict stars from true stars. No effect of an attribute is subtracted or added.

        Args:
            items: Ids of items.
            user: Not used; the model stores no person.
            history: The person's true stars by item.

        Returns:
            (len(items),) stars; NaN for an unknown item.
        """
        self._require_fit()
        levels = self._levels_by_number({} if history is None else history)
        row = levels_to_row(levels, len(self.item_ids_))
        predicted_levels = self.fitted_.profiles.predict_levels(row)[0]
        stars = self.scale_.minimum + level_size(self.scale_) * predicted_levels
        return scores_of_items(stars, self.item_ids_, items)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the cards of people who hide an attribute, and of consenting people."""
        self._require_fit()
        return guarantees.cards(
            self.settings,
            self.fitted_.measurements,
            self.fitted_.assumed_public,
            [disclosure.cost for disclosure in self.fitted_.disclosures],
        )

    def add_measurements(self, measurements: Sequence[Measurement]) -> None:
        """Put measured attacks on the card, in place of those measured before."""
        self._require_fit()
        self._set_fitted(replace(self.fitted_, measurements=tuple(measurements)))

    def save(self, path: str | Path) -> None:
        """Write the model file: settings, items, tables, profiles, weights, people's hashes."""
        self._require_fit()
        files.write_model(path, self.settings, self.fitted_)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> StandardScheme:
        """Make a model from the header and arrays of a checked file.

        Raises:
            ValueError or another of `errors.UNUSABLE_CONTENT`: The content is bad.
        """
        model = cls(**files.read_settings(header))
        model._set_fitted(files.read_fitted(header, arrays, model.settings.attributes))
        return model

    def _set_fitted(self, fitted: fitting.Fitted) -> None:
        """Set the fitted attributes, among them the disclosure and the server."""
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
        *,
        n: int = 10,
        user: Any = None,
        candidates: Collection[Any] | None = None,
    ) -> Recommendations:
        """List the items of the largest preferences that are neither rated nor excluded.

        Args:
            preferences: (items,) preferences of the server, in thousandths.
            history: The person's true stars by item.
            exclude: Ids to leave out, besides the rated ones.
            n: Length of the list.
            user: The person's name in the returned rows.
            candidates: The only ids that may be listed; None for all.
        """
        recommendations = top_n(
            preferences / PREFERENCE_UNIT_OF_SERVER,
            self.item_ids_,
            n=n,
            user=user,
            candidates=candidates,
            left_out={*history, *inputs.checked_ids(exclude, "exclude")},
        )
        return recommendations.with_titles(self.titles_)

    def _levels_by_number(self, history: History) -> dict[int, float]:
        """Compute the true level of each rated item, by the item's number.

        Raises:
            DataError: A star is off the scale.
        """
        checked_history = inputs.checked_history(history, self.item_ids_)
        rated = follow_aliases(checked_history, self.disclosure_.aliases)
        items = self.disclosure_.items
        numbers = [number for number, item in enumerate(items) if item in rated]
        stars = np.array([rated[items[number]] for number in numbers], dtype=float)
        if not self.scale_.holds(stars).all():
            raise DataError("a rating in the history lies off the scale", expected=str(self.scale_))
        levels = (stars - self.scale_.minimum) / level_size(self.scale_)
        return dict(zip(numbers, levels.tolist(), strict=True))

    def _disclosed_value(self, name: str, value: str) -> str:
        """Return a person's value of an attribute as the disclosure names it.

        That is the bin of a number, if the attribute is cut into bins; otherwise the value itself,
        written as in training.
        """
        table = self.fitted_.tables.get(name)
        return value if table is None else listed_value(value, table.values)

    def _require_fit(self) -> None:
        """Raise NotFittedError if the model is not fitted."""
        if not hasattr(self, "fitted_"):
            raise NotFittedError("This StandardScheme is not fitted. Call fit(ratings) first.")
