"""Guarantees add up where they speak about the same unit, and nowhere else."""

from __future__ import annotations

import pytest

from tacit.accounting import total
from tacit.errors import ConfigError, PrivacyError
from tacit.privacy import Adjacency, Basis, Claim, Guarantee, Trust


def card(**changes):
    return Guarantee(
        **{
            "name": "a name",
            "sentence": "what it means",
            "protects": "your secret",
            "adjacency": Adjacency("user", "add or remove"),
            "against": "everybody",
            "trust": Trust.PLATFORM,
            "basis": Basis.PROVED,
            "epsilon": 1.0,
            "delta": 1e-6,
            "lifetime": "once",
            "assumptions": (),
            "not_covered": ("the rest",),
            "sources": ("a paper",),
            "claims": (Claim("epsilon = 0", "false", ("one rating tells",)),),
        }
        | changes
    )


def test_same_unit_adds_up():
    """Epsilons and deltas about one unit are summed."""
    epsilon, delta = total([card(), card(epsilon=0.5, delta=0.0), card(epsilon=2.0)])
    assert (epsilon, delta) == (3.5, pytest.approx(2e-6))


@pytest.mark.parametrize(
    "other", [Adjacency("rating", "add or remove"), Adjacency("user", "replace")]
)
def test_different_units_never_add_up(other):
    """Another unit, or another change of the same unit, is an error that names both."""
    with pytest.raises(PrivacyError, match="never add up") as refused:
        total([card(), card(adjacency=other)])
    assert str(other) in str(refused.value)
    assert "add or remove one user" in str(refused.value)


def test_units_are_checked_before_anything_else():
    """A refuted claim about another unit is still a matter of units."""
    with pytest.raises(PrivacyError, match="never add up"):
        total([card(), card(adjacency=Adjacency("visit", "replace"), basis=Basis.REFUTED)])


@pytest.mark.parametrize(
    "change",
    [
        {"basis": Basis.UNMEASURED, "epsilon": None, "delta": None},
        {"basis": Basis.REFUTED, "epsilon": None, "delta": None},
        {"basis": Basis.REFUTED},
    ],
)
def test_no_epsilon_no_total(change):
    """What was only measured, or refuted, has nothing to add."""
    with pytest.raises(PrivacyError, match="no epsilon that holds"):
        total([card(), card(**change)])


def test_nothing_to_add():
    """No guarantee at all is a mistake, not a perfect one."""
    with pytest.raises(ConfigError, match="at least one"):
        total([])


def test_delta_stays_a_chance():
    """Deltas that add up to more than 1 say nothing more than 1."""
    assert total([card(delta=0.7), card(delta=0.7)])[1] == 1.0


def test_one_guarantee_is_its_own_total():
    """A list of one adds nothing to it."""
    assert total([card()]) == (1.0, 1e-6)


def test_the_first_of_two_units_is_named_first():
    """The refusal names both guarantees in the order in which they were given."""
    other = card(name="another", adjacency=Adjacency("rating", "replace"))
    with pytest.raises(PrivacyError, match=r"^'a name' protects .* 'another' against"):
        total([card(), other])
