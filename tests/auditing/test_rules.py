"""The rule engine: what a described release can cost at most, and what no number bounds.

Source   for the gates: Lyu, Su, Li: Understanding the sparse vector technique (VLDB 2017), which
         numbers six published variants and says which of them hold.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

from tacit.accounting import concentrated
from tacit.auditing.rules import (
    Answered,
    Branch,
    Chosen,
    FirstPast,
    Gauss,
    Noised,
    Private,
    Public,
    Rule,
    Together,
    upper_bound,
)
from tacit.errors import ConfigError


@dataclass(frozen=True)
class Published:
    """epsilon: what is claimed for `rule`, which is the design at that epsilon."""

    name: str
    source: str
    epsilon: float
    rule: Rule

    @property
    def bound(self) -> float:
        """Nats; infinite if the description allows none."""
        return upper_bound(self.rule)


PUBLISHED: tuple[Published, ...] = (
    Published("Laplace noise on a count", "Dwork et al., 2006", 1.0, Noised(1, 1)),
    Published(
        "gate, threshold and counts noisy", "Lyu et al., 2017, Algorithm 1", 1.0, FirstPast(1, 2, 4)
    ),
    Published(
        "gate that releases the noisy count",
        "Lyu et al., 2017, Algorithm 3",
        1.0,
        Together((FirstPast(1, 2, 2), Private())),
    ),
    Published(
        "gate with a quarter of epsilon on the threshold",
        "Lyu et al., 2017, Algorithm 4",
        1.0,
        FirstPast(1, 4, 4 / 3),
    ),
    Published(
        "gate without noise on counts", "Lyu et al., 2017, Algorithm 5", 1.0, FirstPast(1, 2, 0)
    ),
    Published(
        "tree over two steps with log2 T levels",
        "a misreading of Chan et al., 2011",
        1.0,
        Noised(2, 1),
    ),
    Published(
        "choice among the items that the data hold",
        "candidates cut by the profile",
        1.0,
        Chosen(1, 0.5, candidates_are_public=False),
    ),
    Published(
        "noise scaled by the largest change seen in the data",
        "local sensitivity as scale",
        1.0,
        Noised(1, 1, scale_is_public=False),
    ),
    Published("the top item, every time", "a private mode without randomness", 1.0, Private()),
)
"""Right ones and wrong ones; `bound` against `epsilon` tells which."""


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        (Public(5), 0),
        (Private(), math.inf),
        (Noised(2, 4), 0.5),
        (Noised(1, 0), math.inf),
        (Noised(1, 1, scale_is_public=False), math.inf),
        (Answered(Fraction(3, 4)), math.log(3)),
        (Answered(Fraction(1)), math.inf),
        (Answered(Fraction(0), 3), math.inf),
        (Chosen(1, 0.5), 1),
        (Chosen(1, 0.5, monotonic=True), 0.5),
        (Chosen(1, 0.5, candidates_are_public=False), math.inf),
        (Chosen(0, math.inf), math.inf),
        (FirstPast(1, 2, 4), 1),
        (FirstPast(1, 2, 2, monotonic=True), 1),
        (FirstPast(1, 2, 0), math.inf),
        (FirstPast(1, 0, 4), math.inf),
        (Branch(Public(), Noised(1, 2), Noised(1, 1)), 1),
        (Branch(Noised(1, 2), Noised(1, 1), Public()), 1.5),
        (Together((Noised(1, 2), Noised(1, 4))), 0.75),
        (Together((Noised(1, 2), Branch(Private(), Public(1), Noised(1, 1)))), math.inf),
    ],
)
def test_rules(rule, cost):
    """A raw value, noise sized by the data and candidates from the data cost infinity."""
    assert upper_bound(rule) == pytest.approx(cost)


@pytest.mark.parametrize("side", [Public("same"), Noised(1, 1), Private()])
def test_branch_on_private_data(side):
    """It is infinite even if both sides look alike: which of them ran is visible."""
    assert upper_bound(Branch(Private(), side, side)) == math.inf


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Noised(-1, 1),
        lambda: Noised(math.nan, 1),
        lambda: Noised(math.inf, 1),
        lambda: Noised(1, -1),
        lambda: Noised(1, math.inf),
        lambda: Chosen(1, math.nan),
        lambda: Chosen(-1, 1),
        lambda: FirstPast(1, math.nan, 1),
        lambda: FirstPast(1, 1, -2),
        lambda: Answered(Fraction(3, 2)),
        lambda: Answered(Fraction(1, 2), 1),
    ],
)
def test_descriptions_are_checked(wrong):
    """A negative distance, a scale that is no number and an impossible chance are refused."""
    with pytest.raises(ConfigError):
        wrong()


def test_published_designs():
    """Two of the published designs hold, two cost 1.75 and 2 of 1, and five have no bound."""
    known = [design.bound for design in PUBLISHED]
    assert sorted(known) == pytest.approx([1, 1, 1.75, 2] + [math.inf] * 5)
    assert all(design.epsilon == 1 for design in PUBLISHED)


def test_gauss_is_its_zcdp():
    """A distance of one sigma is 1/2-zCDP, converted at the delta given."""
    assert upper_bound(Gauss(1.0, 1e-5)) == concentrated.epsilon_of_rho(0.5, 1e-5)
    assert upper_bound(Gauss(0.0, 1e-5)) == 0


def test_words_with_a_delta_check_themselves():
    """A distance that is no number."""
    with pytest.raises(ConfigError):
        Gauss(math.nan, 0.1)
