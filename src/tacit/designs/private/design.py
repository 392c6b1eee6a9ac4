"""The design `private` as the registry knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.design import Design, option
from tacit.design.people_needed import people_needed
from tacit.privacy import Guarantee
from tacit.privacy.officer_card import FitCount
from tacit.profile_sums.settings import DEFAULT_DELTA, DELTA_HELP, EPSILON_HELP, Settings


@dataclass(frozen=True)
class CardSettings:
    """Options of `tacit guarantee private`."""

    epsilon: float = option(EPSILON_HELP)
    delta: float = option(DELTA_HELP, default=DEFAULT_DELTA)


def make_cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Return the card of a fit with these settings whose catalogue and scale are public."""
    from tacit.profile_sums import guarantees

    return (guarantees.card_before_fit(Settings(settings.epsilon, settings.delta)),)


def describe_usefulness(model: Any) -> str:
    """Say in sentences whether a fitted model's lists are expected to beat popularity."""
    return str(model.summary())


def count_fits(model: Any) -> FitCount:
    """Count the fits so far of a fitted model's people, and the further fits that are allowed.

    With a plan, the further fits are the rest of the plan. Without one, they are as many fits like
    the last one as the lifetime allows; None without a lifetime.
    """
    from tacit.designs.private.refits import compute_budget_status

    status = compute_budget_status(
        model.releases_,
        model.settings_.delta,
        model.lifetime_,
        repeated=False,
        planned=model.fitted_.planned_fits,
    )
    return FitCount(status.fits, status.further, status.lifetime)


DESIGN = Design(
    name="private",
    title="Private lists",
    citation="tacit: noisy sums over people (docs/private.md)",
    models={"private": "Private"},
    card_settings=CardSettings,
    cards=make_cards,
    after_cards="tacit audit private  looks for violations of it.",
    parts={
        "audit": "audit.bench:audit",
        "fit": "commands:FIT",
        "evaluate": "commands:EVALUATE",
        "plan": "commands:PLAN",
        "models": "serve:make_demo",
        "tour": "experiment.tour:make_tour",
        "compare": "experiment.tour:comparison_entries",
        "useful": "design:describe_usefulness",
        "count_fits": "design:count_fits",
    },
    works_from=people_needed("private").works_from,
)
