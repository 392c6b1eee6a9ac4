"""The screen of `tacit demo` about sketches."""

from __future__ import annotations

from typing import Any

from tacit.design import Bar, Tour
from tacit.design.people_needed import people_needed
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import Device, new_secret
from tacit.designs.sketches.experiment.simulation import simulate
from tacit.designs.sketches.guarantees import cards
from tacit.designs.sketches.messages import WHOLE
from tacit.designs.sketches.sensing import pairs
from tacit.privacy import format_upper_bound

SETTING: dict[str, Any] = {"items": 40, "rated": 40, "epsilon": 1.0}
"""Number of items, number of items that each person rated, and epsilon of a report."""
METHOD = "pairwise-preference"
FEW_PEOPLE = 1000
MANY_PEOPLE = 1_000_000
DEVICES = 1000
"""Number of devices whose reports are compared with the truth."""


def tour() -> Tour:
    """Show that a bit tells little about its person, and that many bits tell much about items."""
    items = SETTING["items"]
    campaign = new_campaign(
        range(items), rated=items, epsilon=SETTING["epsilon"], method=METHOD, theta=0.5
    )
    liked = set(range(items // 2))
    stars: dict[int | str, float] = {item: 5.0 if item in liked else 1.0 for item in range(items)}
    true_reports = 0
    for _ in range(DEVICES):
        report = Device(new_secret(), {}).report(campaign, range(items), stars)
        (pair,) = pairs(campaign, report.ticket)
        if bool(report.bits) == liked.issuperset(pair):
            true_reports += 1
    true_share = true_reports / DEVICES
    few, many = simulate(METHOD, **SETTING, users=(FEW_PEOPLE, MANY_PEOPLE), seed=1)
    flip_probability = 1 - campaign.truth / WHOLE
    first_item, second_item = pair
    card = cards(campaign)[0]
    return Tour(
        headline=f"One bit is right {true_share:.0%} of the time, a coin 50%; {MANY_PEOPLE:,} "
        f"bits put {many['accuracy']:.0%} of items into the right cluster.",
        bars=(
            Bar("one person's answer", true_share),
            Bar("clusters of items", many["accuracy"]),
        ),
        trusted="nobody",
        real_data=people_needed("sketches").real_data,
        asked=f"Each device is asked one question, such as: do you like both item {first_item} and "
        f"item {second_item}? Nobody has to be trusted. {MANY_PEOPLE:,} generated people answer "
        f"about {items} items.",
        left=f"One report of {len(report.encode())} bytes: a random number, which chose the "
        f"question, and one bit, which is flipped with probability {flip_probability:.2f}.",
        learned="About a person: an attacker who takes the bit at its word is right in "
        f"{true_share:.0%} of {DEVICES:,} reports; a coin is right in 50%. About the "
        f"items: {many['accuracy']:.0%} are put into the right one of two clusters by "
        f"{MANY_PEOPLE:,} people, and {few['accuracy']:.0%} by {FEW_PEOPLE:,}.",
        cost=f"Epsilon {format_upper_bound(card.epsilon or 0.0, digits=3)} for one report and all "
        "of a person's ratings. It takes very many people: on MovieLens 100K popular items were "
        "better however many there were.",
        read_on="docs/sketches.md",
        figures={"right": true_share, "few": few, "many": many},
    )
