"""The card of what a vendor learns about its neighbours from its own users' visits."""

from __future__ import annotations

import math

from tacit.accounting import PureAccountant
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.trust_noisy import release_for
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust


def learned_about_neighbours(
    caution: TrustSettings, *, visits_per_person: int | None = None
) -> Guarantee:
    """For a vendor whose home learner has a card. visits_per_person: None: nothing limits them."""
    if math.isinf(caution.epsilon) or not caution.looks:
        raise ConfigError("TrustSettings without noise, or that looks at nobody, has no card.")
    epsilon = PureAccountant().add(release_for(caution, caution.epsilon).event).epsilon()
    limited = visits_per_person is not None
    return Guarantee(
        name="What is learned about neighbours",
        sentence=(
            f"Which neighbours a vendor asks and trusts is {epsilon:g}-differentially private "
            "for each visit, on top of what its learner costs: it follows from public time and "
            f"from noisy sums, one release per neighbour and {caution.epoch} visits."
        ),
        protects="one visit: which neighbour was asked, what it offered and claimed, and the click",
        adjacency=Adjacency("visit", "add or remove"),
        against=(
            "everyone else together, with all noisy sums; a visit replaced by another costs twice "
            "as much"
        ),
        trust=Trust.OWN_VENDOR,
        basis=Basis.PROVED,
        epsilon=epsilon,
        delta=0.0,
        lifetime="a person with N visits pays N times",
        lifetime_epsilon=visits_per_person * epsilon if visits_per_person is not None else None,
        lifetime_delta=0.0 if limited else None,
        assumptions=(
            "which arms were open at a visit, and when neighbours join or leave, is public",
            (
                "a visit counts for the one neighbour whose offer is to be shown; its parts count "
                "once each, in whatever epoch"
            ),
            f"rewards that neighbours state are clamped to {caution.low:g} to {caution.high:g}"
            if caution.believed
            else "what a neighbour states about rewards is not used",
        ),
        not_covered=(
            "how a neighbour uses that it was asked: it may answer others differently",
            "a vendor whose own learner has no guarantee: the same rules then use exact numbers",
        ),
        sources=(
            "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",
            "Ghosh, Roughgarden, Sundararajan (STOC 2009), for noise on integers",
        ),
    )
