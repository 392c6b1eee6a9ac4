"""The standard scheme as one recommender: training, the device half and the server half together.

In production the halves run apart (`device.py`, `server.py`) and exchange the bytes of
`messages.py`. Here one object holds both, and even so every list is made from encoded messages.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.errors import ConfigError, DataError, NotFittedError, PrivacyError
from tacit.privacy import Guarantee, Measurement
from tacit.randomness import secure
from tacit.recommenders.base import Floats, History, Recommendations, checked_history, pick, top_n
from tacit.recommenders.files import titles_of
from tacit.recommenders.standard_scheme import disclosure, guarantees, storing
from tacit.recommenders.standard_scheme.checking import check_settings, check_use
from tacit.recommenders.standard_scheme.device import Device
from tacit.recommenders.standard_scheme.drawing import Dice
from tacit.recommenders.standard_scheme.memory import State
from tacit.recommenders.standard_scheme.messages import (
    MICRO,
    RELEASES,
    WEEK,
    Disclosure,
    Release,
    Rule,
    Scores,
)
from tacit.recommenders.standard_scheme.server import Profiles, Server
from tacit.recommenders.standard_scheme.training import (
    Consenting,
    Factorization,
    consenting,
    estimate,
    estimate_privately,
    published_factorization,
    sound_factorization,
    train_profiles,
    unit,
)

Variant = Literal["sound", "published"]


@dataclass(frozen=True)
class Exchange:
    """One list and the messages it took."""

    release: Release
    scores: Scores
    recommendations: Recommendations


class StandardScheme:
    """Hide an attribute of the person who asks, by what her device sends.

    attributes     names in `ratings.user_attributes` that people want to hide; each has two or more
                   values
    variant        "sound", or "published": raw gaps, add-one smoothing and the patent's penalties
    release        what a device sends, a name in `messages.RELEASES`
    mix            chance that a rating is obfuscated and not shown as it is, 0 to 1
    factors, regularization, ridge, sweeps   of the factorisation; penalties in levels, by
                   default what suits the scale (sound) or the patent's numbers (published)
    disclosure_epsilon   nats per consenting person (add or remove), for everything devices are told
                   about items; infinity: exact statistics. `contributions`: most ratings a person
                   then counts with
    service_sees_items   whether the service that asks for releases learns otherwise what people
                   watched, bought, opened or rated; the sound variant is fitted where it does not
    epoch_length   seconds between two letters of a device, a day at least
    aliases        old item id to new one, of items that were renamed, merged or split; an old id
                   is never used again
    random_state   seeds the start of the factorisation and the parts of the cross-validation; no
                   draw of a device and no privacy noise depends on it
    """

    def __init__(
        self,
        *,
        attributes: Sequence[str] = ("gender",),
        variant: Variant = "sound",
        release: str = "scheme+selection+rounding",
        mix: float = 1.0,
        factors: int = 20,
        regularization: float | None = None,
        ridge: float | None = None,
        sweeps: int | None = None,
        disclosure_epsilon: float = math.inf,
        contributions: int = 50,
        service_sees_items: bool | None = None,
        epoch_length: int = WEEK,
        aliases: Mapping[Any, Any] | None = None,
        random_state: int = 0,
    ) -> None:
        self.attributes = tuple(attributes)
        self.variant = variant
        self.release = release
        self.mix = mix
        self.factors = factors
        self.regularization = regularization
        self.ridge = ridge
        self.sweeps = sweeps
        self.disclosure_epsilon = disclosure_epsilon
        self.contributions = contributions
        self.service_sees_items = service_sees_items
        self.epoch_length = epoch_length
        self.aliases = dict(aliases or {})
        self.random_state = random_state
        self.measurements_: tuple[Measurement, ...] = ()
        check_settings(self)

    def fit(self, ratings: Ratings) -> StandardScheme:
        """Learn from consenting people: everybody in `ratings` whose attributes are all known."""
        check_use(self)
        rule = self.rule(ratings.scale)
        people, _ = consenting(ratings, self.attributes)
        coupling = rule.transform == "coupling"
        if math.isinf(self.disclosure_epsilon):
            tables = estimate(
                people,
                shrink=self.variant == "sound",
                coupling=coupling,
                seed=self.random_state,
            )
        else:
            tables = estimate_privately(
                people,
                secure(),
                epsilon=self.disclosure_epsilon,
                contributions=self.contributions,
                coupling=coupling,
            )
        profiles = train_profiles(
            people.levels,
            people.labels,
            list(tables.values()),
            self.factorization(people),
            lowest=ratings.scale.minimum / unit(ratings.scale),
        )
        self.measurements_ = ()
        self.n_consenting_ = people.n_people
        self.titles_ = titles_of(ratings)
        self.hold(ratings.item_ids, ratings.scale, tables, profiles)
        return self

    def rule(self, scale: RatingScale) -> Rule:
        """What devices will be asked to do on this scale; unsafe rules are refused here already."""
        rule = replace(RELEASES[self.release], mix=round(self.mix * MICRO))
        if not scale.discrete and rule.transform == "coupling":
            raise ConfigError(
                f"'{self.release}' needs a scale of whole stars; this one is {scale}. "
                "Use 'scheme+selection+rounding', which rounds to quarters of the scale."
            )
        if self.variant == "sound" and rule.transform == "scheme" and not rule.rounding:
            raise PrivacyError(
                f"'{self.release}' tells the attribute exactly: the stars people give end after a "
                "digit or two, and the released value plus or minus the public offset does for the "
                "true value only. Use 'scheme+selection+rounding', or variant='published' to "
                "reproduce the leak."
            )
        return rule

    def factorization(self, people: Consenting) -> Factorization:
        """How profiles are learned, from the settings and the scale."""
        if self.variant == "published":
            how = published_factorization(factors=self.factors, seed=self.random_state)
        else:
            how = sound_factorization(people.n_levels, factors=self.factors, seed=self.random_state)
        return replace(
            how,
            regularization=how.regularization
            if self.regularization is None
            else self.regularization,
            ridge=how.ridge if self.ridge is None else self.ridge,
            sweeps=how.sweeps if self.sweeps is None else self.sweeps,
        )

    def device(
        self,
        attributes: Mapping[str, str],
        memory: State | None = None,
        dice: bytes | Dice | None = None,
    ) -> Device:
        """One person's device. Keep `memory` and the secret: two decisions on one item tell.

        dice: the account's secret, or where draws come from; by default a new secret.
        """
        self._fitted()
        memory = State(created=0) if memory is None else memory
        dice = secrets.token_bytes(32) if dice is None else dice
        published = self.variant == "published"
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
        n: int = 10,
        exclude: Collection[Any] = (),
        candidates: Collection[Any] | None = None,
    ) -> Exchange:
        """A list made the way it is made in production: release, scores, completion."""
        device = self.device(attributes, memory)
        try:
            sent = device.release(checked_history(history), epoch).encode()
        except ValueError as error:
            raise DataError(str(error), expected=f"stars on {self.scale_}") from None
        answer = self.server_.score(Release.decode(sent)).encode()
        scores = Scores.decode(answer)
        completed = device.complete(scores)
        ranked = top_n(
            np.array([completed[item] for item in self.item_ids_.tolist()]),
            self.item_ids_,
            n=n,
            user=None,
            left_out={*history, *exclude},
            candidates=candidates,
        )
        return Exchange(Release.decode(sent), scores, ranked)

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
        """The n best unseen items for somebody with this history.

        With `attributes` the list is made from the obfuscated release, as a recommender far away
        would make it. Without, it is computed here from the true stars: nothing would be sent. The
        model keeps no person, so a bare `user` gets the list of somebody without ratings.
        """
        self._fitted()
        own = history or {}
        if attributes is not None:
            made = self.exchange(
                own, attributes, n=n, exclude=exclude, candidates=candidates
            ).recommendations
            rows = tuple(replace(row, user_id=user) for row in made)
            return Recommendations(rows)
        return top_n(
            self._at_home(own),
            self.item_ids_,
            n=n,
            user=user,
            left_out={*own, *exclude},
            candidates=candidates,
        )

    def predict(
        self, items: Sequence[Any], user: Any = None, *, history: History | None = None
    ) -> Floats:
        """(len(items),) predicted stars at home, from true stars; NaN for an unknown item."""
        self._fitted()
        return pick(self._at_home(history or {}), self.item_ids_, items)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """What is claimed for the people who obfuscate, and for those whose ratings train."""
        self._fitted()
        return (
            guarantees.for_the_person(
                attributes=self.attributes,
                release=self.release,
                mix=self.mix,
                variant=self.variant,
                measurements=self.measurements_,
            ),
            guarantees.for_the_consenting(
                epsilon=self.disclosure_epsilon, contributions=self.contributions
            ),
        )

    def save(self, path: str | Path) -> None:
        """Write items and public tables; no person is in the file."""
        self._fitted()
        storing.write(self, path)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> StandardScheme:
        """Back from a checked model file; ValueError for one of an earlier version."""
        model = cls(**storing.settings_of(header))
        storing.restore(model, header, arrays)
        return model

    def hold(
        self,
        item_ids: Column,
        scale: RatingScale,
        tables: dict[str, disclosure.Tables],
        profiles: Profiles,
    ) -> None:
        """Take these tables and profiles as the fitted ones."""
        self.item_ids_, self.scale_ = item_ids, scale
        self.tables_, self.profiles_ = tables, profiles
        self.disclosure_: Disclosure = disclosure.to_message(
            tables,
            self.rule(scale),
            minimum=scale.minimum,
            step=unit(scale),
            levels=scale.levels,
            items=tuple(item_ids.tolist()),
            epoch_length=self.epoch_length,
            aliases=tuple(self.aliases.items()),
        )
        self.server_ = Server(self.disclosure_.digest, self.disclosure_.items, profiles)

    def _at_home(self, history: History) -> Floats:
        """(n_items,) predicted stars from true stars. Made and used on this machine only."""
        known = self.disclosure_.item_number
        stars = {item: value for item, value in checked_history(history).items() if item in known}
        if not self.scale_.holds(np.array(list(stars.values()), dtype=float)).all():
            raise DataError("a rating in the history lies off the scale", expected=str(self.scale_))
        levels = {
            item: round((value - self.scale_.minimum) / unit(self.scale_) * MICRO)
            for item, value in stars.items()
        }
        ordered = tuple(sorted(levels.items(), key=lambda level: known[level[0]]))
        scores = self.server_.score(Release(self.disclosure_.digest, 0, ordered))
        micro = np.array([level for _, level, _ in scores.scores], dtype=float)
        predicted: Floats = self.scale_.minimum + unit(self.scale_) * micro / MICRO
        return predicted

    def _fitted(self) -> None:
        if not hasattr(self, "disclosure_"):
            raise NotFittedError("This StandardScheme is not fitted. Call fit(ratings) first.")
