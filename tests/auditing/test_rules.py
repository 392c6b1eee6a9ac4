"""The rule engine: what a described release can cost at most, and what no number bounds.

Source   for the gates: Lyu, Su, Li: Understanding the sparse vector technique (VLDB 2017), which
         numbers six published variants and says which of them hold.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest

from tacit.accounting.zcdp import epsilon_of_rho
from tacit.auditing.rules import (
    AboveThreshold,
    Branch,
    Composition,
    ExponentialMechanism,
    GaussianNoise,
    LaplaceNoise,
    PrivateValue,
    PublicValue,
    RandomizedResponse,
    Rule,
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
    Published("Laplace noise on a count", "Dwork et al., 2006", 1.0, LaplaceNoise(1, 1)),
    Published(
        "gate, threshold and counts noisy",
        "Lyu et al., 2017, Algorithm 1",
        1.0,
        AboveThreshold(1, 2, 4),
    ),
    Published(
        "gate that releases the noisy count",
        "Lyu et al., 2017, Algorithm 3",
        1.0,
        Composition((AboveThreshold(1, 2, 2), PrivateValue())),
    ),
    Published(
        "gate with a quarter of epsilon on the threshold",
        "Lyu et al., 2017, Algorithm 4",
        1.0,
        AboveThreshold(1, 4, 4 / 3),
    ),
    Published(
        "gate without noise on counts",
        "Lyu et al., 2017, Algorithm 5",
        1.0,
        AboveThreshold(1, 2, 0),
    ),
    Published(
        "tree over two steps with log2 T levels",
        "a misreading of Chan et al., 2011",
        1.0,
        LaplaceNoise(2, 1),
    ),
    Published(
        "choice among the items that the data hold",
        "candidates cut by the profile",
        1.0,
        ExponentialMechanism(1, 0.5, candidates_are_public=False),
    ),
    Published(
        "noise scaled by the largest change seen in the data",
        "local sensitivity as scale",
        1.0,
        LaplaceNoise(1, 1, scale_is_public=False),
    ),
    Published("the top item, every time", "a private mode without randomness", 1.0, PrivateValue()),
)
"""Right ones and wrong ones; `bound` against `epsilon` tells which."""


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        (PublicValue(5), 0),
        (PrivateValue(), math.inf),
        (LaplaceNoise(2, 4), 0.5),
        (LaplaceNoise(1, 0), math.inf),
        (LaplaceNoise(1, 1, scale_is_public=False), math.inf),
        (RandomizedResponse(Fraction(3, 4)), math.log(3)),
        (RandomizedResponse(Fraction(1)), math.inf),
        (RandomizedResponse(Fraction(0), 3), math.inf),
        (ExponentialMechanism(1, 0.5), 1),
        (ExponentialMechanism(1, 0.5, monotonic=True), 0.5),
        (ExponentialMechanism(1, 0.5, candidates_are_public=False), math.inf),
        (ExponentialMechanism(0, math.inf), math.inf),
        (AboveThreshold(1, 2, 4), 1),
        (AboveThreshold(1, 2, 2, monotonic=True), 1),
        (AboveThreshold(1, 2, 0), math.inf),
        (AboveThreshold(1, 0, 4), math.inf),
        (Branch(PublicValue(), LaplaceNoise(1, 2), LaplaceNoise(1, 1)), 1),
        (Branch(LaplaceNoise(1, 2), LaplaceNoise(1, 1), PublicValue()), 1.5),
        (Composition((LaplaceNoise(1, 2), LaplaceNoise(1, 4))), 0.75),
        (
            Composition(
                (LaplaceNoise(1, 2), Branch(PrivateValue(), PublicValue(1), LaplaceNoise(1, 1)))
            ),
            math.inf,
        ),
    ],
)
def test_rules(rule, cost):
    """A raw value, noise sized by the data and candidates from the data cost infinity."""
    assert upper_bound(rule) == pytest.approx(cost)


@pytest.mark.parametrize("side", [PublicValue("same"), LaplaceNoise(1, 1), PrivateValue()])
def test_branch_on_private_data(side):
    """It is infinite even if both sides look alike: which of them ran is visible."""
    assert upper_bound(Branch(PrivateValue(), side, side)) == math.inf


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: LaplaceNoise(-1, 1),
        lambda: LaplaceNoise(math.nan, 1),
        lambda: LaplaceNoise(math.inf, 1),
        lambda: LaplaceNoise(1, -1),
        lambda: LaplaceNoise(1, math.inf),
        lambda: ExponentialMechanism(1, math.nan),
        lambda: ExponentialMechanism(-1, 1),
        lambda: AboveThreshold(1, math.nan, 1),
        lambda: AboveThreshold(1, 1, -2),
        lambda: RandomizedResponse(Fraction(3, 2)),
        lambda: RandomizedResponse(Fraction(1, 2), 1),
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
    assert upper_bound(GaussianNoise(1.0, 1e-5)) == epsilon_of_rho(0.5, 1e-5)
    assert upper_bound(GaussianNoise(0.0, 1e-5)) == 0


def test_words_with_a_delta_check_themselves():
    """A distance that is no number."""
    with pytest.raises(ConfigError):
        GaussianNoise(math.nan, 0.1)
