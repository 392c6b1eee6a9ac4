"""Whole fits with one person more or less, and bugs planted into them."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.auditing.audits import audit_claim
from tacit.auditing.bugs import plant
from tacit.auditing.gaussian import epsilon_of_mu
from tacit.auditing.replays import run_replays
from tacit.designs.private.audit.bench import CLAIMS, LARGE, LARGE_BUGS, WORLDS
from tacit.designs.private.audit.plans import PLAN_BUGS, PLAN_WORLDS
from tacit.profile_sums.audit.planted_bugs import BUGS
from tacit.profile_sums.audit.real_sizes import large_tables, list_faults, replay_once
from tacit.profile_sums.audit.worlds import (
    DELTA,
    EPSILON,
    PERSONS,
    answer_sampler,
    largest_share_used,
    neighbouring_tables,
)

ONE_OF_EACH_TWIN = {(bug.world, bug.person, str(bug.conditions)): bug for bug in BUGS}.values()
LARGE_BUG_WORLDS = dict.fromkeys(bug.world for bug in LARGE_BUGS)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("person", PERSONS)
def test_no_sum_takes_more_than_its_event(world, person):
    """Nothing is released without noise, no sum moves further than its own event says, and the
    extreme person uses up the last sum."""
    shares = []
    for _, moved in run_replays(
        world.fit,
        neighbouring_tables(PERSONS[person]),
        answer_sampler(factors=world.factors, pairs=world.pairs),
    ):
        assert moved.differences == ()
        shares.append(largest_share_used(world, moved.moves))
    assert 0 < max(shares) <= 1 + 1e-9
    assert person != "likes everything" or max(shares) > 0.99


@pytest.mark.parametrize("world", PLAN_WORLDS, ids=lambda world: world.name)
@pytest.mark.parametrize("person", PERSONS)
def test_all_fits_of_a_plan_cost_what_it_claims(world, person):
    """Nothing is released without noise, and both fits together are within the lifetime."""
    tables = neighbouring_tables(PERSONS[person])
    for _, moved in run_replays(world.fit, tables, answer_sampler()):
        assert moved.differences == ()
        assert epsilon_of_mu(moved.mu, DELTA) <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("bug", [*BUGS, *PLAN_BUGS], ids=lambda bug: bug.name)
def test_planted_bug_is_caught(bug):
    """The replay calls the faulty fit broken."""
    caught, _ = bug.audit(planted=True)
    assert caught


@pytest.mark.parametrize("bug", [*ONE_OF_EACH_TWIN, PLAN_BUGS[0]], ids=lambda bug: bug.name)
def test_shipped_twin_of_a_bug_is_silent(bug):
    """The same replay does not call the shipped fit broken. Bugs of one way to fit, one person and
    the same conditions have the same one: nothing in it is drawn anew."""
    alarm, _ = bug.audit(planted=False)
    assert not alarm


@pytest.mark.parametrize("bug", LARGE_BUGS, ids=lambda bug: bug.name)
def test_a_fault_that_begins_above_a_size_is_caught(bug):
    """At a threshold that is drawn anew, the large fit calls it broken."""
    caught, _ = bug.audit(planted=True)
    assert caught


@pytest.mark.parametrize("world", LARGE_BUG_WORLDS, ids=lambda world: world.name)
def test_the_shipped_large_fit_is_not_called_broken(world):
    """Nor is it at tables and answers that are drawn anew, for each way to fit of the bugs."""
    bug = next(bug for bug in LARGE_BUGS if bug.world == world)
    alarm, _ = bug.audit(planted=False)
    assert not alarm


def test_small_worlds_miss_what_large_ones_catch():
    """The reason for real sizes: with 40 people and 20 items the faults do not begin."""
    tables = neighbouring_tables(PERSONS["likes everything"])
    for bug in LARGE_BUGS:
        with plant(bug.fault(bug.most)):
            replayed = replay_once(WORLDS[0], tables, 1)
        assert not list_faults(WORLDS[0], replayed), bug.name


@pytest.mark.parametrize("world", LARGE, ids=lambda world: world.name)
def test_the_large_pair_holds_and_is_as_large_as_it_says(world):
    """2,000 people, one of them with 5,000 entries, a Gram matrix of 64 rows or more, and in mode
    "taste" 12 directions, 30,000 cells or more of one sum; with pairs of likes all of 800 items; no
    alarm."""
    tables = large_tables(np.random.default_rng(5))
    replayed = replay_once(world, tables, 5)
    assert not list_faults(world, replayed)
    assert tables[1].n_users >= 2_000
    assert np.diff(tables[0].offsets).max() >= 5_000
    shapes = [call.values.shape for call in replayed[0].calls]
    assert max(shape[0] for shape in shapes if len(shape) == 1) >= 64 * 63 // 2
    if world.mode == "taste":
        assert shapes[-1][1] >= 12
        assert shapes[-1][0] * 12 >= 30_000
    if world.pairs:
        assert shapes[-1] == (800 * 799 // 2, 1)


def test_there_are_enough_bugs_and_pairs():
    """Six that the proof names and six more; twelve pairs of neighbours or more."""
    assert len(BUGS) >= 12
    assert len(WORLDS) * len(PERSONS) >= 12
    assert len({bug.name for bug in BUGS}) == len(BUGS)


def test_a_line_holds_its_claim():
    """With few samples: the exact loss is within the claim and near it, nothing is violated."""
    audit = audit_claim(CLAIMS[0](), samples=2_000)
    assert 0.99 * audit.epsilon < audit.exact <= audit.epsilon
    assert audit.verdict != "violation"
