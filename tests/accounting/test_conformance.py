"""Every accountant keeps the laws."""

from __future__ import annotations

from hypothesis import strategies as st

from tacit.accounting import DiscreteGaussian, Gaussian, PureAccountant, Tree, ZCDPAccountant
from tacit.testing.accountants import AccountantConformance


class TestPure(AccountantConformance):
    """Sums of pure epsilons."""

    def make(self):
        return PureAccountant()


class TestZCDP(AccountantConformance):
    """Sums of rho, with Gaussian noise among the events."""

    def make(self):
        return ZCDPAccountant()

    def events(self):
        noise = st.floats(0.5, 50)
        gaussian = st.builds(Tree, st.integers(1, 5), noise, st.just(True))
        discrete = st.builds(DiscreteGaussian, noise, st.none() | st.integers(1, 9))
        return super().events() | st.builds(Gaussian, noise) | discrete | gaussian
