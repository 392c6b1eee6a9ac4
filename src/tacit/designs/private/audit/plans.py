"""Replays of plans of two fits, and planted bugs in later fits that the audit has to catch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.bugs import RuleOf, plant
from tacit.auditing.claims import Tool, is_exceeded
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
"""Number of fits of each plan that is replayed."""


class PrivateWithTightClips(TightClips, Private):
    """`Private` with clips that are small enough to take effect in the audit's small tables."""


@dataclass(frozen=True)
class PlanWorld:
    """One way to fit: all fits of a plan, to the same people."""

    mode: Mode
    """How lists are made; "auto" chooses popularity here, since there are few people."""
    factors: bool = False
    """Whether stars have factors: never, since plans have no stars."""
    pairs: bool = False
    """Whether pairs of likes are released: never, since plans have none."""

    @property
    def name(self) -> str:
        """Name of the world."""
        return f"private, {self.mode}, a plan of {_FITS} fits"

    def fit(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Make both fits of a plan; return all numbers that they released, by fit and name.

        The fits are not counted for this process, because nothing of them is published.
        """
        with comparison():
            return self._fit_twice(table)

    def _fit_twice(self, table: Ratings) -> dict[str, NDArray[Any]]:
        """Make both fits and return their numbers; called by `fit` while fits are not counted."""
        first = PrivateWithTightClips(delta=DELTA, mode=self.mode, lifetime=EPSILON, fits=_FITS)
        second = PrivateWithTightClips(delta=DELTA, mode=self.mode, previous=first.fit(table))
        released = {}
        for name, model in (("first", first), ("second", second.fit(table))):
            for array, values in released_numbers(model).items():
                released[f"{name} {array}"] = values
        return released


PLAN_WORLDS = (PlanWorld("taste"), PlanWorld("auto"))


def reuse_noise(people: People, *arguments: Any) -> ItemTable:
    """Stand in for `release_item_table`, and add known noise instead of a new draw.

    This stands for the bug that a later fit uses the noise of an earlier fit again, so that the two
    tables together reveal the noise. The arguments are those of `release_item_table`.
    """
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
    """Stand in for `release_item_table`: return the mean of two draws, though one is charged."""
    table = release_item_table(*arguments)
    second_table = release_item_table(*arguments)
    return replace(table, values=(table.values + second_table.values) / 2)


@dataclass(frozen=True)
class PlantedPlanBug:
    """A bug that is planted in the later fits of a plan, to see whether the audit catches it."""

    name: str
    """What the bug does, in words."""
    fault: Fault
    """The functions that are replaced, and their replacements, by module."""
    person: str = "likes a third, rates all"
    """Key in `PERSONS` of the person who is added or removed."""
    tool: Tool = "grey-box"
    """The tool of the audit that has to catch it."""
    epsilon: float = EPSILON
    """Epsilon that all fits of the plan claim together."""
    rule_of: RuleOf | None = None
    """Describes the code for the rule engine; None, since no rule can describe it."""

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Replay a plan, with the bug if `planted`.

        Returns:
            Whether all fits together lose more than they claim; and None, since a replay gives no
            bound from below.
        """
        with plant(self.fault if planted else {}):
            tables = neighbouring_tables(PERSONS[self.person])
            replayed = run_replays(PlanWorld("taste").fit, tables, answer_sampler())
        mu = max(replay.mu for _, replay in replayed)
        return math.isinf(mu) or is_exceeded(EPSILON, epsilon_of_mu(mu, DELTA)), None


PLAN_BUGS = (
    PlantedPlanBug(
        "noise of an earlier fit for new sums",
        {plan_state: {"release_item_table": reuse_noise}},
    ),
    PlantedPlanBug("one fit's table drawn twice", {plan_state: {"release_item_table": draw_twice}}),
)
