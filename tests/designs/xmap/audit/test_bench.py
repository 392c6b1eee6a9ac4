"""Fits of the sound X-Map, replayed with one person more or less, and bugs planted into them."""

import math

import numpy as np
import pytest

from tacit.auditing.audits import audit_claim
from tacit.auditing.bugs import examine
from tacit.auditing.replays import compare_replay, record_fit, run_replays
from tacit.designs.xmap.audit.bench import BUGS, WORLD, sums
from tacit.designs.xmap.audit.tables import ratings
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.profile_sums.audit.worlds import (
    PERSONS,
    answer_sampler,
    largest_share_used,
    neighbouring_tables,
)
from tests.support.seen import require_any


def two_sums(table):
    """Two noisy sums of stars, the second clipped to the first's answer."""
    first = GaussianRelease(2.0, 5.0, 0, 1000, 2.0**-8)(table.values.sum())
    top = max(1.0, float(first))
    return {"second": GaussianRelease(2.0, 5.0, 0, top, 2.0**-8)(table.values.sum())}


ONE = [{"film": 3.0}, {"film": 5.0}], {"film": "films"}


def test_mu_of_two_sums():
    """Five stars over a sigma of ten, twice: mu is 0.5 sqrt(2), where nothing was clipped."""
    people, items = ONE
    first = record_fit(two_sums, ratings(people, items))
    moved = compare_replay(two_sums, first, ratings(people[:1], items))
    clipped = float(first.answers[0]) * 2.0**-8 < 8
    assert moved.differences == ()
    assert moved.moves[0] == pytest.approx(0.5, rel=0.01)
    assert moved.mu <= 0.5 * math.sqrt(2) + 1e-9
    assert clipped or moved.mu == pytest.approx(0.5 * math.sqrt(2), rel=0.01)


def test_same_table_is_no_move():
    """A transcript replayed on its own table moves nothing and differs in nothing."""
    _, table = neighbouring_tables(PERSONS["likes everything"])
    first = record_fit(WORLD.fit, table, answer_sampler())
    again = compare_replay(WORLD.fit, first, table)
    assert (again.mu, again.differences) == (0.0, ())


def test_raw_release_is_a_difference():
    """Something released without noise is found, whatever noise stands beside it."""
    people, items = ONE

    def leaking(table):
        return two_sums(table) | {"raw": np.array([table.values.max()])}

    first = record_fit(leaking, ratings(people, items))
    moved = compare_replay(leaking, first, ratings(people[:1], items))
    assert moved.differences == ("'raw', released without noise",)
    assert math.isinf(moved.mu)


def test_a_release_of_one_input_only_is_a_difference():
    """What one input releases and the other does not tells them apart by its presence."""
    people, items = ONE

    def leaking(table):
        extra = {"raw": np.zeros(1)} if len(table) > 1 else {}
        return two_sums(table) | extra

    first = record_fit(leaking, ratings(people, items))
    moved = compare_replay(leaking, first, ratings(people[:1], items))
    assert moved.differences == ("'raw', released for one of the inputs only",)


def test_scale_from_the_data_is_a_difference():
    """Noise whose scale follows the data is found."""
    people, items = ONE

    def scaled(table):
        return {"sum": GaussianRelease(2.0, table.values.max(), 0, 99, 2.0**-8)(1.0)}

    first = record_fit(scaled, ratings(people, items))
    moved = compare_replay(scaled, first, ratings(people[:1], items))
    assert any("noise of scale" in words for words in moved.differences)


@pytest.mark.parametrize("person", PERSONS)
def test_no_sum_of_a_fit_takes_more_than_its_event(person):
    """Nothing is released without noise, and no sum moves further than its own event says."""
    tables = neighbouring_tables(PERSONS[person])
    for _, moved in require_any(run_replays(WORLD.fit, tables, answer_sampler())):
        assert moved.differences == ()
        assert 0 < largest_share_used(WORLD, moved.moves) <= 1 + 1e-9


def test_claim_is_nearly_attained():
    """The exact loss of whole fits is within the claim and above half of it."""
    audit = audit_claim(sums(), samples=2_000)
    assert 0.5 * audit.epsilon < audit.exact <= audit.epsilon
    assert audit.verdict != "violation"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bugs_are_caught_and_the_shipped_fit_is_not(bug):
    """Each bug raises the alarm, and the fit without it stays quiet."""
    caught, twin = examine(bug)
    assert caught.caught
    assert not twin.alarm
