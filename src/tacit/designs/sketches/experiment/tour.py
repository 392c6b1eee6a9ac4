"""One screen about sketches: what one bit says about a person, and what many say about items."""

from __future__ import annotations

from tacit.design import Tour
from tacit.designs.sketches import Device, cards, new_campaign, new_secret
from tacit.designs.sketches.experiment.simulation import simulate
from tacit.designs.sketches.sensing import pairs

METHOD, ITEMS, EPSILON, SEED = "pairwise-preference", 40, 1.0, 1
FEW, MANY, DEVICES = 1000, 20_000, 2000


def tour() -> Tour:
    campaign = new_campaign(
        range(ITEMS), rated=ITEMS, epsilon=EPSILON, method=METHOD, theta=0.5, questions=1
    )
    liked = set(range(ITEMS // 2))
    stars: dict[int | str, float] = {item: 5.0 if item in liked else 1.0 for item in range(ITEMS)}
    right = 0
    for _ in range(DEVICES):
        report = Device(new_secret(), {}).report(campaign, range(ITEMS), stars)
        (asked,) = pairs(campaign, report.ticket)
        right += bool(report.bits) == liked.issuperset(asked)
    few, many = simulate(
        METHOD, items=ITEMS, rated=ITEMS, epsilon=EPSILON, users=(FEW, MANY), seed=SEED
    )
    one, two = (f"item {item}" for item in asked)
    card = cards(campaign)[0]
    return Tour(
        asked=f"Each device is asked one question, such as: do you like both {one} and {two}? "
        f"Nobody has to be trusted. {MANY:,} generated people answer about {ITEMS} items.",
        left=f"One report of {len(report.encode())} bytes: a random number, which chose the "
        "question, and one bit, which is flipped with probability 0.27.",
        learned="About a person: an attacker who believes the bit is right in "
        f"{right / DEVICES:.0%} of {DEVICES:,} reports; a coin is right in 50 %. About the items: "
        f"{many.accuracy:.0%} are put into the right one of two clusters by {MANY:,} people, and "
        f"{few.accuracy:.0%} by {FEW:,}.",
        cost=f"Epsilon {card.epsilon:.3g} for one report and all of a person's ratings. It takes "
        "very many people: on MovieLens 100K popular items were better however many there were.",
        read_on="docs/sketches.md",
        figures={"right": right / DEVICES, "few": few.to_dict(), "many": many.to_dict()},
    )
