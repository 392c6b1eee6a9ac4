"""One screen about P-DAP: vendors that learn together, and what a neighbour learns of a visit."""

from __future__ import annotations

import math

import numpy as np

from tacit import randomness
from tacit.design import Tour
from tacit.designs.pdap.experiment.run import Row, simulate
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.forwarding import Agreement, Forwarder

DRAWS = 2000
EPSILON = 1.0


def tour() -> Tour:
    """Run three policies on one world, and send one context many times."""
    world = World(arrivals=1000, lipschitz=2.0)
    private = _last_row(world, "sound-joint", EPSILON)
    exact = _last_row(world, "sound-joint", math.inf)
    chance = _last_row(world, "uniform", math.inf)
    ended = {"private": private, "without noise": exact, "chance": chance}

    agreement = Agreement(features=2, slices=2, epsilon=EPSILON)
    forwarder = Forwarder(agreement, randomness=randomness.secure())
    sent = [forwarder.forward(np.array([0.9, 0.1])) for _ in range(DRAWS)]
    right = sum(message.places == (1, 0) for message in sent) / DRAWS
    return Tour(
        asked=f"{world.vendors} generated vendors show videos, learn from {world.arrivals:,} "
        "visits each, and ask one another where a visitor may find something better.",
        left=f"To the other vendors: {len(sent[0].encode())} bytes a visit, with the visitor's "
        "context as one of four cells, at times a wrong one, as epsilon says; and noisy sums.",
        learned="Another vendor that believes the cell it was sent is right in "
        f"{right:.0%} of {DRAWS:,} visits; guessing is right in 25 %. From what others are "
        "recommended, a visit is hidden by the noise of the sums.",
        cost=f"Epsilon {private.epsilon_spent_per_visit:g} for one visit; a person's visits add "
        f"up. Clicks: {private.accuracy:.0%} of visits, without noise {exact.accuracy:.0%}, with "
        f"videos chosen by chance {chance.accuracy:.0%}.",
        read_on="docs/pdap.md",
        figures={
            "right": right,
            "accuracy": {name: row.accuracy for name, row in ended.items()},
            "epsilon_spent_per_visit": private.epsilon_spent_per_visit,
        },
    )


def _last_row(world: World, policy: str, epsilon: float) -> Row:
    return simulate(world, policy, epsilon, 1).rows[-1]
