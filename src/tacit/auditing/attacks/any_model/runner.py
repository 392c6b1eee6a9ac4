"""Attacks on any recommender: `attack(model, ratings)`, which is `tacit.attack`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, cast

import numpy as np

from tacit.accounting.base import check_delta
from tacit.auditing.attacks.any_model.adapters import Answers, adapt, as_config_error
from tacit.auditing.attacks.any_model.attributes import attack_attribute, attribute_of
from tacit.auditing.attacks.any_model.canaries import (
    LEAST_LIKES_OF_TARGETS,
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
from tacit.auditing.attacks.panel import check_attackers, panel_names
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_whole
from tacit.privacy import Guarantee
from tacit.views import table

ATTACKS = ("membership", "audit", "reconstruction", "attribute")
"""Names of all attacks, in the order in which they run."""
REFITTING = ("membership", "audit", "reconstruction")
"""Attacks that fit the recommender several times."""
DELTA = 1e-6
"""Delta of the bounds, if neither the caller nor the recommender's card states one."""
VIEWS_OF_ATTRIBUTE = 3
"""Most views of the attribute attack: lists, predictions and factors."""
LEAST_TARGETS = 10
"""Fewest targets: with fewer, chance too often puts all of them in a fit, or none."""
LEAST_SHADOWS = 2
"""Fewest shadow fits: each target has to be in one of them and out of another."""
LEAST_CANARIES = 8
"""Fewest canaries of each kind: with fewer, chance too often lets all of them join, or none."""
PEOPLE_TO_JUDGE_PREDICTIONS = 5
"""Number of people whose predictions decide whether the recommender predicts stars."""


@dataclass(frozen=True)
class AttackResult:
    """Findings of all attacks on one recommender."""

    model: str
    """Name of the recommender."""
    rows: tuple[AttackRow, ...]
    """Figures of each attack. All bounds of epsilon hold at once, with the chance `confidence`."""
    claim: float | None
    """Epsilon claimed for adding or removing a person's whole profile: by the caller, or by the
    recommender's card. None: by neither."""
    delta: float
    """Delta of the claim, and of the bounds."""
    confidence: float
    """Chance with which all bounds hold, at least."""
    left_out: tuple[str, ...]
    """Attacks that did not run, each with the reason."""

    @property
    def epsilon_lower_bound(self) -> float:
        """The largest lower bound of epsilon of all rows; 0 if no row has one."""
        return max((row.epsilon_lower_bound or 0.0 for row in self.rows), default=0.0)

    @property
    def verdict(self) -> str:
        """Whether the bounds refute the claim.

        It is "no claim"; or "not tested", if no row bounds epsilon; or "violation", if the largest
        bound is above the claim; or "no violation found".
        """
        if self.claim is None:
            return "no claim"
        if all(row.epsilon_lower_bound is None for row in self.rows):
            return "not tested"
        return "violation" if self.epsilon_lower_bound > self.claim else "no violation found"

    def _repr_html_(self) -> str:
        """Return the findings as HTML for a notebook: a table of the rows, then the verdict."""
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
    """Attack a recommender of any kind that `adapters` lists.

    The recommender is fitted to these ratings several times, unless it is fixed: a function
    `history -> list` or a trained model.

    Args:
        model: The recommender.
        ratings: Ratings that the recommender is fitted to.
        attacks: Names of attacks, out of `ATTACKS`.
        sees_scores: Whether membership is attacked by predictions, too. None: only if the
            predictions look like stars.
        claim: Epsilon that the recommender claims for adding or removing a person's whole profile.
            None: that of its card, which is read after a fit; a fixed model's card is not read.
        delta: Delta of the claim. None: the card's if the claim is the card's, else 1e-6.
        attribute: User attribute to guess. None: the first, by name, that has two values.
        panel: Attackers of the attribute: "quick", "full", or names.
        members: Ids of the people from whom a fixed recommender learned; None: they are not known,
            and its membership is not attacked. Ignored if the recommender is not fixed.
        targets: Largest number of people who are attacked, at least 10; chance decides in which
            fits each of them is a member.
        shadows: Number of fits for which the attacker knows who is in, at least 2.
        victims: Number of fits for which the attacker guesses who is in, at least 1.
        canaries: Largest number of made-up people of each kind, at least 8.
        length: Length of the lists that are read, at least 1.
        seed: Seed of all random draws of the attacks.
        progress: Called with 1 after each fit that an attack makes and after each view of the
            attribute attack, at most as often as `count_steps` returns.
        resume: File with the findings of fits that the membership attack has finished. These fits
            are not made again; the findings of further fits are added to the file. It is as secret
            as the result.
        identity: Text that tells this model and its settings from others in that file.

    Raises:
        ConfigError: An attack or attacker is unknown, a number is out of its range, delta is below
            the card's, `resume` is a file of another kind, or `model` is no recommender or fails.
        DataError: There are too few people or items for an attack, no such attribute, or chance
            put all people of a fit in, or all of them out.
    """
    for name in attacks:
        if name not in ATTACKS:
            raise ConfigError(f"No attack '{name}'. Known: {', '.join(ATTACKS)}.")
    # Before the fits, which may take hours.
    least_values: tuple[tuple[str, Any, int], ...] = (
        ("targets", targets, LEAST_TARGETS),
        ("shadows", shadows, LEAST_SHADOWS),
        ("victims", victims, 1),
        ("canaries", canaries, LEAST_CANARIES),
        ("length", length, 1),
        ("seed", seed, 0),
    )
    for name, value, least in least_values:
        check_whole(name, int(value) if isinstance(value, np.integer) else value, least=least)
    if claim is not None and not claim >= 0:  # so written, NaN is refused too
        raise ConfigError(f"claim is an epsilon in nats, at least 0; got {claim}.")
    if delta is not None:
        check_delta(delta)
    chosen_attribute = None
    if "attribute" in attacks:
        check_attackers(panel_names(panel) if isinstance(panel, str) else panel)
        chosen_attribute = attribute_of(ratings, attribute)
    adapted = adapt(model)
    rows: list[AttackRow] = []
    left_out: list[str] = []
    refitting = [name for name in REFITTING if name in attacks]
    if adapted.fixed:
        if members is not None and "membership" in refitting:
            refitting.remove("membership")
            member_ids = np.array(list(map(str, members)))
            is_member = np.isin(ratings.user_ids.astype(str), member_ids)
            rows += attack_membership_of_fixed_model(
                adapted, ratings, is_member, length=length, seed=seed
            )
        if refitting:
            names = ", ".join(refitting)
            left_out.append(f"{names}: a fixed recommender cannot be fitted again")
        refitting = []
    reads_card = claim is None and not adapted.fixed
    chooses_views = sees_scores is None and "membership" in refitting
    if reads_card or chooses_views:
        answers = adapted.fit(ratings)
        card = find_card_with_epsilon(answers) if reads_card else None
        if card is not None:
            claim = card.epsilon
            delta = _delta_to_judge_at(delta, card.delta)
        if chooses_views:
            sees_scores = predicts_stars(answers, ratings)
    delta = DELTA if delta is None else delta
    views = (LISTS, SCORES) if sees_scores else (LISTS,)
    # Rows with a bound of epsilon: two of each view for membership, two kinds of canaries.
    n_bounds = 0
    if "membership" in refitting:
        n_bounds += 2 * len(views)
    if "audit" in refitting:
        n_bounds += 2
    level = (1 - CONFIDENCE) / max(n_bounds, 1)
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
        found = reconstruct_changes(adapted, ratings, length=length, seed=seed, progress=progress)
        rows += found
        if not found:
            left_out.append(
                f"reconstruction: fewer than two people have {LEAST_LIKES_OF_TARGETS} likes, or "
                "all targets rated every item"
            )
    if "attribute" in attacks:
        if chosen_attribute is None:
            left_out.append("attribute: no user attribute of two values; name one")
        else:
            rows += attack_attribute(
                adapted,
                ratings,
                chosen_attribute,
                panel=panel,
                length=length,
                seed=seed,
                progress=progress,
            )
    return AttackResult(adapted.name, tuple(rows), claim, delta, CONFIDENCE, tuple(left_out))


def count_steps(attacks: Sequence[str], shadows: int, victims: int) -> int:
    """Return the largest number of steps that `attack` reports to `progress`.

    Args:
        attacks: Names of attacks; unknown ones have no steps.
        shadows: Shadow fits of the membership attack.
        victims: Victim fits of the membership attack.
    """
    steps = {
        "membership": shadows + victims,
        "audit": 1 + REFERENCES,
        "reconstruction": 2,
        "attribute": 1 + VIEWS_OF_ATTRIBUTE,
    }
    return sum(steps[name] for name in attacks if name in steps)


def _delta_to_judge_at(callers_delta: float | None, cards_delta: float | None) -> float | None:
    """Return the delta at which a card's epsilon is judged: the caller's, or else the card's.

    Raises:
        ConfigError: The caller's delta is smaller than the card's. The card's epsilon need not hold
            at a smaller delta.
    """
    if callers_delta is None:
        return cards_delta
    if cards_delta is not None and callers_delta < cards_delta:
        raise ConfigError(
            f"The recommender's card states its epsilon at delta {cards_delta:g}; that epsilon "
            "need not hold at a smaller delta. Leave --delta out, or give both --claim and --delta."
        )
    return callers_delta


def find_card_with_epsilon(answers: Answers) -> Guarantee | None:
    """Return the model's first card with an epsilon for adding or removing a whole profile.

    None if there is no such card, if `answers` holds no model, or if its model has no `guarantees`.

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
    """Return whether the predictions look like stars, judged by those for the first five people.

    For each of them there has to be a prediction, none may be more than one star below the scale,
    and the largest has to lie on the scale or at most one star above it. On a scale up to 1 the
    answer is False: scores between 0 and 1 need not be stars.
    """
    scale = ratings.scale
    if scale.maximum <= 1:
        return False
    for user in ratings.user_ids[:PEOPLE_TO_JUDGE_PREDICTIONS].tolist():
        scores = answers.scores(ratings.history(user))
        if scores is None or np.isnan(scores).all():
            return False
        low, high = np.nanmin(scores), np.nanmax(scores)
        if low < scale.minimum - 1 or not scale.minimum <= high <= scale.maximum + 1:
            return False
    return True
