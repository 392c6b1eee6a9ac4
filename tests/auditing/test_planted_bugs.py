"""Planted bugs are caught, and their repaired twins are left in peace."""

import math

import pytest

from tacit.auditing.bugs import EnumeratedBug, examine, is_refuted_by_rules
from tacit.auditing.planted_bugs import BUGS
from tacit.auditing.rules import LaplaceNoise, PrivateValue, upper_bound


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_bug_is_caught_and_its_twin_is_not(bug):
    """The tool named in the table calls the fault broken, and not its repair."""
    caught, twin = examine(bug)
    assert caught.caught
    assert not twin.alarm


@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if bug.rule_of is not None], ids=lambda bug: bug.name
)
def test_rules_catch_what_they_describe(bug):
    """Where the rule engine has a description, it refuses the fault and bounds the repair."""
    assert is_refuted_by_rules(bug, True)
    assert not is_refuted_by_rules(bug, False)


@pytest.mark.parametrize(
    "name",
    [
        "item listed only if present",
        "NaN survives",
        "raw value once in 1,000",
        "scale taken from the data",
        "threshold gate whose stream has no noise on counts",
    ],
)
def test_deterministic_bugs_are_infinite(name):
    """A raw value, a branch on private data or missing noise has no bound at all."""
    (bug,) = (bug for bug in BUGS if bug.name == name)
    assert upper_bound(bug.rule_of(True)) == math.inf


def test_rules_alone_can_catch():
    """A bug that its tool does not see is caught by its description, and the answer says so."""
    blind = EnumeratedBug(
        "blind",
        lambda bit, bug: {0: 1},
        ((0, 1),),
        1.0,
        rule_of=lambda bug: PrivateValue() if bug else LaplaceNoise(5, 5),
    )
    caught, twin = examine(blind)
    assert (caught.caught, caught.by, twin.alarm) == (True, "rules", False)


def test_there_are_bugs_for_every_tool():
    """At least 20 bugs with different names, and each of the three tools has its own."""
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 20
    assert {bug.tool for bug in BUGS} == {"exact", "empirical", "grey-box"}
