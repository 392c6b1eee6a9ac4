"""The entry of the sketches in the registry of designs."""

from __future__ import annotations

from tacit.design import Design, ServedSection
from tacit.design.people_needed import people_needed
from tacit.designs.sketches.settings import CardSettings
from tacit.privacy import Guarantee


def cards(settings: CardSettings) -> tuple[Guarantee, ...]:
    """Make the cards of one report of a campaign with these settings.

    Raises:
        ConfigError: No campaign can have these settings, or epsilon is infinite.
    """
    from tacit.designs.sketches.campaigns import new_campaign
    from tacit.designs.sketches.guarantees import cards as campaign_cards

    # Cards depend neither on theta nor on the catalogue. With this theta a set has one place, and
    # the catalogue has one for each question.
    campaign = new_campaign(
        range(max(2, settings.questions, settings.rated)),
        rated=settings.rated,
        epsilon=settings.epsilon,
        method=settings.method,
        theta=1e-6,
        questions=settings.questions,
        unit=settings.unit,
    )
    return campaign_cards(campaign)


DESIGN = Design(
    name="sketches",
    title="Sketches",
    citation=(
        "Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines "
        "(2012)"
    ),
    models={},
    card_settings=CardSettings,
    cards=cards,
    after_cards="tacit device explain  shows what is sent, byte by byte.",
    parts={
        "audit": "audit.audits:audit_plan",
        "plan": "commands:PLAN",
        "simulate": "commands:SIMULATE",
        "evaluate": "commands:EVALUATE",
        "tour": "experiment.tour:tour",
        "compare": "experiment.comparison:contenders",
        "reproduce": "paper_results:PAPER_RESULTS",
    },
    works_from=people_needed("sketches").works_from,
    served=(
        ServedSection(
            "campaigns",
            "serve.campaigns:ServedCampaign",
            "serve.router:router",
            "serve.campaigns:make_demo",
            counts_names=True,
        ),
    ),
)
