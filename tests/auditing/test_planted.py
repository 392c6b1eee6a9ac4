"""Planted bugs are caught, and their repaired twins are left in peace."""

import math

import numpy as np
import pytest

from tacit.auditing import bench, faults
from tacit.auditing.bugs import Enumerated, examine, ruled_out
from tacit.auditing.faults import in_two_processes
from tacit.auditing.planted import BUGS
from tacit.auditing.rules import Noised, Private, upper_bound
from tacit.errors import TacitError


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bug_is_caught_and_its_twin_is_not(bug):
    """The tool named in the table calls the fault broken, and not its repair."""
    caught, twin = examine(bug)
    assert caught.caught
    assert not twin.alarm


@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if bug.described is not None], ids=lambda bug: bug.name
)
def test_rules_catch_what_they_describe(bug):
    """Where the rule engine has a description, it refuses the fault and bounds the repair."""
    assert ruled_out(bug, True)
    assert not ruled_out(bug, False)


@pytest.mark.parametrize(
    "name",
    [
        "selection that always returns the top",
        "item listed only if present",
        "NaN survives",
        "raw value once in 1,000",
        "exact count in a denominator",
        "scale taken from the data",
        "no noise where the count is zero",
        "threshold gate without noise on counts",
        "threshold gate whose stream has no noise on counts",
    ],
)
def test_deterministic_bugs_are_infinite(name):
    """A raw value, a branch on private data or missing noise has no bound at all."""
    (bug,) = (bug for bug in BUGS if bug.name == name)
    assert upper_bound(bug.described(True)) == math.inf


def test_rules_alone_can_catch():
    """A bug that its tool does not see is caught by its description, and the answer says so."""
    blind = Enumerated(
        "blind",
        lambda bit, bug: {0: 1},
        ((0, 1),),
        1.0,
        described=lambda bug: Private() if bug else Noised(5, 5),
    )
    caught, twin = examine(blind)
    assert (caught.caught, caught.by, twin.alarm) == (True, "rules", False)


def test_fork_repeats_a_numpy_generator():
    """Parent and child of a fork draw the same bits from a generator in memory."""
    bits = faults.generator_shared_after_fork(0, 1_000, True)
    assert (bits[:, 0] == bits[:, 1]).all()


def test_fork_does_not_repeat_the_secure_source():
    """Parent and child of a fork draw different bits from the operating system."""
    bits = faults.generator_shared_after_fork(0, 1_000, False)
    assert 300 < (bits[:, 0] != bits[:, 1]).sum() < 500


def test_a_child_that_fails_is_noticed():
    """A forked process that sends nothing is an error, not an empty result."""
    with pytest.raises(TacitError, match="did not send"):
        in_two_processes(lambda: np.ones(3), lambda: np.ones(0))


def test_noisy_max_without_the_2_is_a_noisy_max():
    """The planted noisy max with its factor draws from permute-and-flip at epsilon 1."""
    scores = (1.0, 0.0, 0.0)
    drawn = faults.noisy_max_without_the_2(scores, 100_000, False)
    for one, chance in bench.permute_and_flip(0.5, scores).items():
        assert (drawn == one).mean() == pytest.approx(chance, abs=6 * 0.5 / 100_000**0.5)


def test_there_are_bugs_for_every_tool():
    """At least 20 bugs with different names, and each of the three tools has its own."""
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 20
    assert {bug.tool for bug in BUGS} == {"exact", "empirical", "grey-box"}
