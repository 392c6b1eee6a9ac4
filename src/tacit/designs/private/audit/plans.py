"""Plans of two fits on the audit's bench, and faulty later fits, which the audit has to catch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import RuleOf, plant
from tacit.auditing.claims import Tool, exceeds
from tacit.auditing.gaussian import epsilon_of_mu
from tacit.auditing.replays import run_replays
from tacit.data.ratings import Ratings
from tacit.designs.private.model import Private
from tacit.profile_sums import plan_state
from tacit.profile_sums.audit.planted_bugs import Fault
from tacit.profile_sums.audit.worlds import (
    DELTA,
    EPSILON,
    PERSONS,
    TightClips,
    answer_sampler,
    neighbouring_tables,
    released_numbers,
)
from tacit.profile_sums.people import People
from tacit.profile_sums.settings import Mode
from tacit.profile_sums.sums.item_tastes import ItemTable, release_item_table, sum_item_tastes
from tacit.recommenders.fits_in_process import comparison

_FITS = 2


class PrivateWithTightClips(TightClips, Private):
    """The design with clips that bind among few people."""


@dataclass(frozen=True)
class PlanWorld:
    """All fits of a plan, of the same people."""

    mode: Mode
    """'auto' comes to popularity among so few people."""
    factors: bool = False
    """Never: plans have no stars."""
    pairs: bool = False
    """Never: plans have no pairs of likes."""

    @property
    def name(self) -> str:
        """Name of the world."""
        return f"private, {self.mode}, a plan of {_FITS} fits"

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Make both fits; give all numbers that they released. Nothing is published."""
        with comparison():
            return self._fit_twice(table)

    def _fit_twice(self, table: Ratings) -> dict[str, NDArray[Any]]:
        first = PrivateWithTightClips(delta=DELTA, mode=self.mode, lifetime=EPSILON, fits=_FITS)
        second = PrivateWithTightClips(delta=DELTA, mode=self.mode, previous=first.fit(table))
        released = {}
        for name, model in (("first", first), ("second", second.fit(table))):
            for array, values in released_numbers(model).items():
                released[f"{name} {array}"] = values
        return released


PLAN_WORLDS = (PlanWorld("taste"), PlanWorld("auto"))


def reuse_noise(people: People, *arguments: Any) -> ItemTable:
    """Add noise to a later fit's sum that an earlier fit has shown: no new draw is asked for."""
    centre, features, directions, query, noise, settings = arguments
    mechanism = replace(query.mechanism(noise), noise_multiplier=0.0)
    add = partial(
        sum_item_tastes,
        centre=centre,
        features=features,
        directions=directions,
        query=query,
        mechanism=mechanism,
        settings=settings,
    )
    known_noise = np.random.default_rng(1).normal(0, mechanism.norm, (len(query.items) + 1, 1))
    return ItemTable(query, people.total(add) + known_noise, mechanism.norm)


def draw_twice(*arguments: Any) -> ItemTable:
    """Draw the table of one fit twice, and take the mean."""
    one, other = release_item_table(*arguments), release_item_table(*arguments)
    return replace(one, values=(one.values + other.values) / 2)


@dataclass(frozen=True)
class PlantedPlanBug:
    """A step of later fits replaced, and the person who shows it."""

    name: str
    fault: Fault
    person: str = "likes a third, rates all"
    tool: Tool = "grey-box"
    epsilon: float = EPSILON
    rule_of: RuleOf | None = None

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Tell whether all fits of the plan lose more than they claim together, without a bound."""
        with plant(self.fault if planted else {}):
            tables = neighbouring_tables(PERSONS[self.person])
            replayed = run_replays(PlanWorld("taste").fit, tables, answer_sampler())
        mu = max(moved.mu for _, moved in replayed)
        return math.isinf(mu) or exceeds(EPSILON, epsilon_of_mu(mu, DELTA)), None


PLAN_BUGS = (
    PlantedPlanBug(
        "noise of an earlier fit for new sums",
        {plan_state: {"release_item_table": reuse_noise}},
    ),
    PlantedPlanBug("one fit's table drawn twice", {plan_state: {"release_item_table": draw_twice}}),
)
