"""One screen about P-DAP: vendors that learn together, and what a neighbour learns of a visit."""

from __future__ import annotations

import math

import numpy as np

from tacit.design import Tour
from tacit.designs.pdap.experiment.policies import World
from tacit.designs.pdap.experiment.simulation import Row, simulate
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.randomness import secure

VENDORS, ARRIVALS, EPSILON, SEED = 4, 1000, 1.0, 1
DRAWS = 2000


def tour() -> Tour:
    world = World(vendors=VENDORS, videos=5, dimension=2, arrivals=ARRIVALS)
    ours = _last("sound-joint", EPSILON, world)
    plain = _last("sound-joint", math.inf, world)
    chance = _last("uniform", math.inf, world)
    forwarder = Forwarder(Agreement(features=2, slices=2, epsilon=EPSILON), randomness=secure())
    sent = [forwarder.forward(np.array([0.9, 0.1])) for _ in range(DRAWS)]
    right = sum(each is not None and tuple(each.places) == (1, 0) for each in sent) / DRAWS
    assert sent[0] is not None
    return Tour(
        asked=f"{VENDORS} generated vendors show videos, learn from {ARRIVALS:,} visits each, and "
        "ask one another where a visitor may find something better.",
        left=f"To the other vendors: {len(sent[0].encode())} bytes a visit, with the visitor's "
        "context as one of four cells, at times a wrong one, as epsilon says; and noisy sums.",
        learned="Another vendor that believes the cell it was sent is right in "
        f"{right:.0%} of {DRAWS:,} visits; guessing is right in 25 %. From what others are "
        "recommended, a visit is hidden by the noise of the sums.",
        cost=f"Epsilon {ours.epsilon_spent_per_visit:g} for one visit; a person's visits add up. "
        f"Clicks: {ours.accuracy:.0%} of visits, without noise {plain.accuracy:.0%}, with videos "
        f"chosen by chance {chance.accuracy:.0%}.",
        read_on="docs/pdap.md",
        figures={
            "right": right,
            "accuracy": {
                "private": ours.accuracy,
                "without noise": plain.accuracy,
                "chance": chance.accuracy,
            },
            "epsilon_spent_per_visit": ours.epsilon_spent_per_visit,
        },
    )


def _last(policy: str, epsilon: float, world: World) -> Row:
    *_, row = simulate(policy, epsilon, world, seed=SEED)
    return row
