"""Sketches on generated people: how many it takes until the item clusters are found."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.data.synthetic_blocks import Blocks, draw, example
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.messages import Campaign
from tacit.designs.sketches.model import cluster
from tacit.designs.sketches.planner import plan
from tacit.designs.sketches.population import answer
from tacit.designs.sketches.server import Server
from tacit.errors import ConfigError
from tacit.evaluation.metrics import adjusted_rand, label_accuracy
from tacit.randomness import replay, simulation

METHODS = ("maxsense", "multi-maxsense", "pairwise-preference")


@dataclass(frozen=True)
class SketchRow:
    """One simulated campaign. accuracy: share of right labels; ari: adjusted Rand index."""

    method: str
    items: int
    rated: int
    epsilon: float
    users: int
    seed: int
    accuracy: float
    ari: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite epsilon is null."""
        return asdict(self) | {"epsilon": None if math.isinf(self.epsilon) else self.epsilon}


def simulate(
    method: str,
    *,
    items: int,
    rated: int,
    epsilon: float,
    users: Iterable[int],
    seed: int,
    blocks: Blocks | None = None,
    clusters: int = 2,
    theta: float | None = None,
    questions: int | None = None,
    unit: str = "user",
) -> tuple[SketchRow, ...]:
    """One row for each number of users; a smaller number is a part of the same population.

    theta, questions: as the planner advises by default, theta for the number of questions that is
    asked. epsilon: inf for the non-private variant.
    blocks: who likes what (default: `synthetic_blocks.example(clusters)`). The items' clusters are
    dealt out at random.
    """
    world = example(clusters) if blocks is None else blocks
    stops = sorted(set(users))
    if not stops or stops[0] < 1:
        raise ConfigError("A simulation needs at least one person.")
    campaign = _campaign(method, items, rated, epsilon, world, theta, questions, unit, seed)
    labels = np.random.default_rng((seed, 1)).permutation(world.labels(items))
    # Tickets are random words of 64 bits here: nobody sends two.
    server, rows = Server(campaign, keep_tickets=False), []
    with simulation():
        source = replay(f"sketches {seed}")
        for part, stop in enumerate(stops):
            people = stop - (stops[part - 1] if part else 0)
            for likes in draw(world, labels, users=people, rated=rated, seed=(seed, 2, part)):
                server.fold(answer(campaign, likes.starts, likes.items, source), now=0)
            found = cluster(server, len(world.items)).labels
            rows.append(
                SketchRow(
                    method,
                    items,
                    rated,
                    epsilon,
                    stop,
                    seed,
                    label_accuracy(found, labels),
                    adjusted_rand(found, labels),
                )
            )
    return tuple(rows)


def _campaign(
    method: str,
    items: int,
    rated: int,
    epsilon: float,
    world: Blocks,
    theta: float | None,
    questions: int | None,
    unit: str,
    seed: int,
) -> Campaign:
    if method not in METHODS:
        raise ConfigError(f"A method is one of {', '.join(METHODS)}; got {method!r}.")
    if method == "maxsense" and questions not in (None, 1):
        raise ConfigError(f"maxsense asks one question, not {questions}: use multi-maxsense.")
    if theta is None or questions is None:
        # Without noise there is nothing to share: planned as for a large epsilon.
        advice = plan(
            items=items,
            rated=rated,
            epsilon=min(epsilon, 1e3) if method == "maxsense" else min(epsilon, 20.0),
            clusters=len(world.items),
            unit=unit,
            questions=questions if method == "multi-maxsense" else None,
            blocks=world,
        )
        own = next(row for row in advice.methods if row.method == method)
        theta = own.theta if theta is None else theta
        questions = own.questions if questions is None else questions
    return new_campaign(
        range(items),
        rated=rated,
        epsilon=epsilon,
        method="pairwise-preference" if method == "pairwise-preference" else "multi-maxsense",
        theta=theta or 0.0,
        questions=questions,
        unit=unit,
        seed=np.random.default_rng((seed, 3)).bytes(16),
    )
