"""Attacks on any recommender: `attack(model, ratings)`, which is `tacit.attack`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from tacit.auditing.attacks.any_model.adapters import Adapted, adapt
from tacit.auditing.attacks.any_model.attributes import attribute_of, attributes
from tacit.auditing.attacks.any_model.canaries import one_run, reconstruction
from tacit.auditing.attacks.any_model.game import CONFIDENCE, LISTS, SCORES, AttackRow, membership
from tacit.auditing.attacks.any_model.game import members as of_members
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError

ATTACKS = ("membership", "audit", "reconstruction", "attribute")
DELTA = 1e-6
__all__ = ["ATTACKS", "AttackRow", "Attacked", "adapt", "attack"]


@dataclass(frozen=True)
class Attacked:
    """What was found. claim, delta: of a person's whole profile, added or removed, by the
    recommender's card or as given; claim None: nothing is claimed. All bounds of epsilon hold
    together with the confidence. left_out: attacks that were not made, and why."""

    model: str
    rows: tuple[AttackRow, ...]
    claim: float | None
    delta: float
    confidence: float
    left_out: tuple[str, ...]

    @property
    def epsilon_lower_bound(self) -> float:
        """The largest of all rows."""
        return max((row.epsilon_lower_bound or 0.0 for row in self.rows), default=0.0)

    @property
    def verdict(self) -> str:
        """'violation', 'no violation found', or 'no claim'."""
        if self.claim is None:
            return "no claim"
        return "violation" if self.epsilon_lower_bound > self.claim else "no violation found"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "model": self.model,
            "rows": [row.to_dict() for row in self.rows],
            "claim": self.claim,
            "delta": self.delta,
            "unit": "user",
            "adjacency": "add or remove one user",
            "confidence": self.confidence,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "verdict": self.verdict,
            "left_out": list(self.left_out),
        }

    def to_pandas(self) -> Any:
        """The rows as a data frame."""
        return import_module("pandas").DataFrame([row.to_dict() for row in self.rows])


def attack(
    model: Any,
    ratings: Ratings,
    *,
    attacks: Sequence[str] = ATTACKS,
    sees_scores: bool | None = None,
    claim: float | None = None,
    delta: float | None = None,
    attribute: str | None = None,
    panel: str | Sequence[str] = "quick",
    members: Collection[Any] | None = None,
    targets: int = 300,
    shadows: int = 16,
    victims: int = 8,
    canaries: int = 400,
    length: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> Attacked:
    """Attack any recommender that `adapters` knows, fitted to these ratings again and again.

    attacks: some of `ATTACKS`. sees_scores: whether membership is attacked by predictions, too;
    None: where they are stars. claim, delta: epsilon and delta that it claims for a person's whole
    profile; by default what its card says. members: ids of the people that a function
    `history -> list` learned from. length: of the lists that are looked at.
    """
    for name in attacks:
        if name not in ATTACKS:
            raise ConfigError(f"No attack '{name}'. Known: {', '.join(ATTACKS)}.")
    known = adapt(model)
    rows: list[AttackRow] = []
    left_out: list[str] = []
    refit = [name for name in ATTACKS[:3] if name in attacks]
    if known.fixed and refit:
        left_out.append(f"{', '.join(refit)}: a function of a history cannot be fitted again")
        if members is not None and "membership" in attacks:
            inside = np.isin(ratings.user_ids.astype(str), np.array(list(map(str, members))))
            rows += of_members(known, ratings, inside, length=length, seed=seed)
        refit = []
    stars = False
    if "membership" in refit or "audit" in refit:
        stated, stars = _first_look(known, ratings)
        if claim is None:
            claim, delta = stated[0], _delta(delta, stated[1])
    delta = DELTA if delta is None else delta
    views = (LISTS, SCORES) if (stars if sees_scores is None else sees_scores) else (LISTS,)
    bounds = 2 * len(views) * ("membership" in refit) + 2 * ("audit" in refit)
    common: dict[str, Any] = {"delta": delta, "seed": seed, "progress": progress}
    if "membership" in refit:
        rows += membership(
            known, ratings, views=views, targets=targets, shadows=shadows, victims=victims,
            length=length, level=(1 - CONFIDENCE) / bounds, **common,
        )  # fmt: skip
    if "audit" in refit:
        level = (1 - CONFIDENCE) / bounds
        rows += one_run(known, ratings, canaries=canaries, level=level, **common)
    if "reconstruction" in refit:
        rows += reconstruction(known, ratings, length=length, seed=seed, progress=progress)
    if "attribute" in attacks:
        chosen = attribute_of(ratings, attribute)
        if chosen is None:
            left_out.append("attribute: no user attribute of two values; name one")
        else:
            rows += attributes(
                known, ratings, chosen, panel=panel, length=length, seed=seed, progress=progress
            )
    return Attacked(known.name, tuple(rows), claim, delta, CONFIDENCE, tuple(left_out))


def _delta(asked: float | None, stated: float | None) -> float | None:
    """At which a card's epsilon is judged. It says nothing of smaller ones."""
    if asked is not None and stated is not None and asked < stated:
        raise ConfigError(
            f"The recommender's card states its epsilon at delta {stated:g}; at a smaller delta it "
            "claims another one. Leave --delta out, or give both --claim and --delta."
        )
    return stated if asked is None else asked


def _first_look(model: Adapted, ratings: Ratings) -> tuple[tuple[float | None, float | None], bool]:
    """Epsilon and delta of the card for whole profiles, and whether predictions are stars."""
    answers = model.fit(ratings)
    own = getattr(getattr(answers, "model", None), "guarantees", None)
    stated = next(
        (
            (card.epsilon, card.delta)
            for card in (own() if own is not None else ())
            if card.epsilon is not None and str(card.adjacency) == "add or remove one user"
        ),
        (None, None),
    )
    scale = ratings.scale
    if scale.maximum <= 1:  # scores between 0 and 1 need not be stars
        return stated, False
    for user in ratings.user_ids[:5].tolist():
        scores = answers.scores(ratings.history(user))
        if scores is None or np.isnan(scores).all():
            return stated, False
        if np.nanmin(scores) < scale.minimum - 1 or np.nanmax(scores) > scale.maximum + 1:
            return stated, False
        if np.nanmax(scores) < scale.minimum:
            return stated, False
    return stated, True
