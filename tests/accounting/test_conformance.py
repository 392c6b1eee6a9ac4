"""Every accountant keeps the laws."""

from __future__ import annotations

from hypothesis import strategies as st

from tacit.accounting import (
    DiscreteGaussian,
    DiscreteGaussianVector,
    Gaussian,
    GDPAccountant,
    PostProcessing,
    PureAccountant,
    Tree,
    ZCDPAccountant,
)
from tests.support.accountant_conformance import AccountantConformance


class TestPure(AccountantConformance):
    """Sums of pure epsilons."""

    def make(self):
        return PureAccountant()


class TestZCDP(AccountantConformance):
    """Sums of rho, with Gaussian noise among the events."""

    def make(self):
        return ZCDPAccountant()

    def events(self):
        return super().events() | gaussian_events()


class TestGDP(AccountantConformance):
    """Gaussian noise alone, on fine grids and on coarse ones."""

    def make(self):
        return GDPAccountant()

    def events(self):
        return gaussian_events() | st.just(PostProcessing())


def gaussian_events():
    noise = st.floats(0.5, 50)
    return st.one_of(
        st.builds(Gaussian, noise),
        st.builds(Tree, st.integers(1, 5), noise, st.just(True)),
        st.builds(DiscreteGaussian, noise, st.none() | st.integers(1, 9)),
        st.builds(DiscreteGaussianVector, noise, st.floats(1, 1e5), st.integers(1, 10**9)),
    )
