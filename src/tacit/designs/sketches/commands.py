"""What `tacit plan sketches` asks, does and shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.data.synthetic_worlds import Blocks, example
from tacit.design import Command, Run, option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table

if TYPE_CHECKING:
    from tacit.designs.sketches.planner import Plan

CLUSTERS = "How many item clusters there are."
LIKES = (
    "The assumed world: chances of a like by item cluster, one class of people after another, such "
    "as 0.9,0.2/0.3,0.8; all equally large. Left out, an example of the library."
)
UNIT = "What epsilon is for: 'user', 'rating' or 'moved rating'."


def world(likes: str | None, clusters: int) -> Blocks:
    """Who likes what, from `--likes`."""
    if likes is None:
        return example(clusters)
    try:
        rows = [[float(chance) for chance in row.split(",")] for row in likes.split("/")]
    except ValueError:
        rows = []
    if not rows or any(len(row) != clusters for row in rows):
        raise ConfigError(
            f"--likes has a chance for each of {clusters} item clusters, in every class; got "
            f"{likes!r}. Name another number with --clusters."
        )
    people, items = np.full(len(rows), 1 / len(rows)), np.full(clusters, 1 / clusters)
    return Blocks(people, items, np.array(rows))


@dataclass(frozen=True)
class PlanSettings:
    """Of `tacit plan sketches`."""

    items: int = option("Items of the catalogue.")
    rated: int = option("Items that a person has rated.")
    epsilon: float = option("Epsilon of a whole report, for the unit.")
    clusters: int = option(CLUSTERS, default=2, least=2)
    eta: float = option("Chance that a label may be wrong.", default=0.1)
    wrong: float = option(
        "Share of labels that may be wrong, for the lower bounds.", default=0.0, least=0
    )
    unit: str = option(UNIT, default="user")
    likes: str | None = option(LIKES, default=None)


def plan(settings: PlanSettings, _: Run) -> Result:
    """Count the people that sketches need.

    Prints a lower bound for every method, and the need of each method here.

    Lower bounds hold whatever people like. What methods need depends on how different the clusters
    are: see --likes.
    """
    from tacit.designs.sketches import planner

    blocks = world(settings.likes, settings.clusters)
    asked = {name: value for name, value in vars(settings).items() if name != "likes"}
    planned = planner.plan(**asked, blocks=blocks)
    columns = {
        "method": lambda one: one.method,
        "theta": lambda one: None if one.theta is None else f"{one.theta:g}",
        "questions": lambda one: one.questions,
        "people needed": lambda one: people(one.users_clt),
        "proved enough": lambda one: (
            "–" if one.users_theorem is None else people(one.users_theorem)
        ),
    }
    shown: list[Table | str] = [
        Table.of("", columns, planned.methods),
        advice(planned),
        "Needed: by the normal approximation, in the assumed world. Proved enough: by Chernoff.",
    ]
    unit = "" if planned.unit == "user" else f" --method multi-maxsense --unit '{planned.unit}'"
    after = (
        f"tacit simulate sketches --items {planned.items} --rated {planned.rated} "
        f"--epsilon {planned.epsilon:g} --people 1000,10000{unit}"
    )
    return Result(planned.to_dict(), shown, after)


def advice(planned: Plan) -> str:
    """In one sentence: at least so many, and what to use."""
    best, bounds = planned.best, planned.lower_bounds
    if bounds:
        any_learner = max(bounds["ldp"], bounds.get("adaptive", 0.0))
        fixed = max(any_learner, bounds["scarce"])
        least = f"Nobody can do with fewer than {at_least(any_learner)} people"
        if fixed > any_learner:
            least += f", or {at_least(fixed)} if questions do not depend on earlier answers"
    else:
        least = f"No lower bound is known for the unit {planned.unit}"
    if math.isinf(best.users_clt):
        return f"{least}; and no method here can tell these clusters apart."
    asked = (
        f"{best.questions} random pair{'s' if best.questions > 1 else ''}"
        if best.theta is None
        else f"theta {best.theta:g} and {best.questions} "
        f"question{'s' if best.questions > 1 else ''}"
    )
    needed = f"which takes about {people(best.users_clt)} people"
    return f"{least}; use {best.method} with {asked}, {needed}."


def people(number: float) -> str:
    """A number of people to two digits: no plan is exacter."""
    return "infinitely many" if math.isinf(number) else f"{int(float(f'{number:.2g}')):,}"


def at_least(bound: float) -> str:
    """A lower bound as a whole number of people."""
    return f"{math.ceil(bound):,}"


PLAN = Command(PlanSettings, plan)
