"""Attacks on any recommender: `attack(model, ratings)`, which is `tacit.attack`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, cast

import numpy as np

from tacit.auditing.attacks.any_model.adapters import Answers, adapt, as_config_error
from tacit.auditing.attacks.any_model.attributes import attack_attribute, attribute_of
from tacit.auditing.attacks.any_model.canaries import (
    REFERENCES,
    audit_in_one_run,
    reconstruct_changes,
)
from tacit.auditing.attacks.any_model.findings import CONFIDENCE, LISTS, SCORES, AttackRow
from tacit.auditing.attacks.any_model.finished_fits import FinishedFits
from tacit.auditing.attacks.any_model.membership import (
    attack_membership,
    attack_membership_of_fixed_model,
)
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.privacy import Guarantee
from tacit.views import table

ATTACKS = ("membership", "audit", "reconstruction", "attribute")
REFITTING = ("membership", "audit", "reconstruction")
"""Attacks that fit the recommender again and again."""
DELTA = 1e-6
VIEWS_OF_ATTRIBUTE = 3
"""Lists, predictions and factors, of which not every recommender has all."""


@dataclass(frozen=True)
class AttackResult:
    """Findings of all attacks on one recommender."""

    model: str
    """Name of the recommender."""
    rows: tuple[AttackRow, ...]
    """Figures of each attack; all their bounds of epsilon hold together with the confidence."""
    claim: float | None
    """Epsilon that is claimed for a person's whole profile, added or removed: the one given, or
    that of the recommender's card. None: none was given, and there is no such card to read."""
    delta: float
    """Delta of the claim, and of the bounds."""
    confidence: float
    """Chance with which all bounds hold."""
    left_out: tuple[str, ...]
    """Attacks that were not made, and why."""

    @property
    def epsilon_lower_bound(self) -> float:
        """The largest lower bound of epsilon of all rows."""
        return max((row.epsilon_lower_bound or 0.0 for row in self.rows), default=0.0)

    @property
    def verdict(self) -> str:
        """'violation', 'no violation found', 'not tested' (nothing bounds epsilon), 'no claim'."""
        if self.claim is None:
            return "no claim"
        if all(row.epsilon_lower_bound is None for row in self.rows):
            return "not tested"
        return "violation" if self.epsilon_lower_bound > self.claim else "no violation found"

    def _repr_html_(self) -> str:
        """Return the findings as a notebook shows them: rows, then the verdict."""
        columns = ("attack", "AUC", "95 % interval", "epsilon at least")
        rows = []
        for row in self.rows:
            ends = f"{row.low:.3f} to {row.high:.3f}"
            rows.append((row.attack, row.auc, ends, row.epsilon_lower_bound))
        claim = "nothing is claimed"
        if self.claim is not None:
            claim = f"claimed {self.claim:.3g}: {self.verdict}"
        bound = f"epsilon at least {self.epsilon_lower_bound:.3f} (all bounds: 95 %)"
        notes = [f"{bound}, delta {self.delta:g}; {claim}."]
        notes += [f"Not made: {line}." for line in self.left_out]
        sentences = "".join(f"<p>{escape(note)}</p>" for note in notes)
        return table(f"Attacks on {self.model}", columns, rows) + sentences

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
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
    resume: Path | None = None,
    identity: str = "",
) -> AttackResult:
    """Attack any recommender that `adapters` knows.

    It is fitted to these ratings again and again, unless it is fixed, such as a function
    `history -> list`.

    Args:
        model: The recommender.
        ratings: Ratings that it is fitted to.
        attacks: Some of `ATTACKS`.
        sees_scores: Whether membership is attacked by predictions, too; None: where they are stars.
        claim: Epsilon that it claims for a person's whole profile; by default that of its card,
            which is read after a fit. Of a fixed model no card is read.
        delta: Delta of that claim; by default the card's where the claim is the card's, else 1e-6.
        attribute: User attribute that is guessed; by default the first of two values.
        panel: Attackers of the attribute: "quick", "full", or names.
        members: Ids of the people that a function `history -> list` learned from.
        targets: At most so many people whose membership is tossed.
        shadows: Fits whose coins the attacker knows.
        victims: Fits whose coins are guessed.
        canaries: At most so many made-up people of each kind.
        length: Length of the lists that are looked at.
        seed: Seed of all that the attacks draw.
        progress: Called with 1 after each fit, and after each view of the attribute attack.
        resume: File to which finished fits of the membership attack are added, and whose fits are
            not made again; as secret as the findings.
        identity: What tells this model and its settings from others in that file.

    Raises:
        ConfigError: An attack is unknown, delta is below the card's, the file is another one, or
            this is no recommender.
    """
    for name in attacks:
        if name not in ATTACKS:
            raise ConfigError(f"No attack '{name}'. Known: {', '.join(ATTACKS)}.")
    adapted = adapt(model)
    rows: list[AttackRow] = []
    left_out: list[str] = []
    refitting = [name for name in REFITTING if name in attacks]
    if adapted.fixed:
        if members is not None and "membership" in refitting:
            refitting.remove("membership")
            inside = np.isin(ratings.user_ids.astype(str), np.array(list(map(str, members))))
            rows += attack_membership_of_fixed_model(
                adapted, ratings, inside, length=length, seed=seed
            )
        if refitting:
            names = ", ".join(refitting)
            left_out.append(f"{names}: a function of a history cannot be fitted again")
        refitting = []
    reads_card = claim is None and not adapted.fixed
    finds_view = sees_scores is None and ("membership" in refitting or "audit" in refitting)
    if reads_card or finds_view:
        answers = adapted.fit(ratings)
        card = claim_of_card(answers) if reads_card else None
        if card is not None:
            claim = card.epsilon
            delta = _delta_to_judge_at(delta, card.delta)
        if finds_view:
            sees_scores = predicts_stars(answers, ratings)
    delta = DELTA if delta is None else delta
    views = (LISTS, SCORES) if sees_scores else (LISTS,)
    bounds = 2 * len(views) * ("membership" in refitting) + 2 * ("audit" in refitting)
    level = (1 - CONFIDENCE) / max(bounds, 1)
    if "membership" in refitting:
        rows += attack_membership(
            adapted,
            ratings,
            views=views,
            targets=targets,
            shadows=shadows,
            victims=victims,
            length=length,
            delta=delta,
            level=level,
            seed=seed,
            progress=progress,
            finished=FinishedFits(
                resume, f"{identity} {adapted.name} {ratings.digest} {targets} {length} {seed}"
            ),
        )
    if "audit" in refitting:
        rows += audit_in_one_run(
            adapted,
            ratings,
            canaries=canaries,
            delta=delta,
            level=level,
            seed=seed,
            progress=progress,
        )
    if "reconstruction" in refitting:
        rows += reconstruct_changes(adapted, ratings, length=length, seed=seed, progress=progress)
    if "attribute" in attacks:
        chosen = attribute_of(ratings, attribute)
        if chosen is None:
            left_out.append("attribute: no user attribute of two values; name one")
        else:
            rows += attack_attribute(
                adapted, ratings, chosen, panel=panel, length=length, seed=seed, progress=progress
            )
    return AttackResult(adapted.name, tuple(rows), claim, delta, CONFIDENCE, tuple(left_out))


def count_steps(attacks: Sequence[str], shadows: int, victims: int) -> int:
    """Count the steps that `attack` reports at most."""
    steps = {"membership": shadows + victims, "audit": 1 + REFERENCES}
    steps |= {"reconstruction": 2, "attribute": 1 + VIEWS_OF_ATTRIBUTE}
    return sum(steps[name] for name in attacks if name in steps)


def _delta_to_judge_at(given: float | None, stated: float | None) -> float | None:
    """Return the delta at which a card's epsilon is judged: it says nothing of smaller ones."""
    if given is not None and stated is not None and given < stated:
        raise ConfigError(
            f"The recommender's card states its epsilon at delta {stated:g}; at a smaller delta it "
            "claims another one. Leave --delta out, or give both --claim and --delta."
        )
    return stated if given is None else given


def claim_of_card(answers: Answers) -> Guarantee | None:
    """Return the card that states an epsilon for whole profiles, if the model has one.

    Raises:
        ConfigError: The model's code failed.
    """
    guarantees = getattr(getattr(answers, "model", None), "guarantees", None)
    if not callable(guarantees):
        return None
    with as_config_error(answers.name, "state its guarantees"):
        for card in guarantees():
            states_epsilon = getattr(card, "epsilon", None) is not None
            if states_epsilon and str(card.adjacency) == "add or remove one user":
                return cast("Guarantee", card)
    return None


def predicts_stars(answers: Answers, ratings: Ratings) -> bool:
    """Say whether the predictions are stars, judged by those for the first people."""
    scale = ratings.scale
    if scale.maximum <= 1:  # scores between 0 and 1 need not be stars
        return False
    for user in ratings.user_ids[:5].tolist():
        scores = answers.scores(ratings.history(user))
        if scores is None or np.isnan(scores).all():
            return False
        low, high = np.nanmin(scores), np.nanmax(scores)
        if low < scale.minimum - 1 or not scale.minimum <= high <= scale.maximum + 1:
            return False
    return True
