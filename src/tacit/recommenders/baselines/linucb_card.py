"""The card of the private linear learner. It always has a delta."""

from __future__ import annotations

import math

from tacit.accounting import ZCDPAccountant
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.recommenders.baselines.linucb import LinUCB


def linear(policy: LinUCB, *, visits_per_person: int | None = None) -> Guarantee:
    """visits_per_person: a limit that the caller enforces; None: nothing limits them."""
    if math.isinf(policy.epsilon):
        raise ConfigError("LinUCB without noise has no card.")
    account = ZCDPAccountant().add(policy.event)
    epsilon, delta = account.epsilon(policy.delta), policy.delta
    together = None
    if visits_per_person is not None:
        # A group of n: n times epsilon, and delta times 1 + e^epsilon + ... + e^((n - 1) epsilon).
        n = visits_per_person
        together = (n * epsilon, min(1.0, delta * math.expm1(n * epsilon) / math.expm1(epsilon)))
    return Guarantee(
        name="Private LinUCB: noisy matrices per arm",
        sentence=(
            f"What all others are shown is ({epsilon:g}, {delta:g})-differentially private for "
            "each visit: for its context, the arm and the reward together."
        ),
        protects="one visit: its context, the arm that was shown, and the reward",
        adjacency=Adjacency("visit", "add or remove"),
        against=(
            "everyone else together, with all they are ever shown and every released matrix; a "
            "visit replaced by another costs more"
        ),
        trust=Trust.OWN_VENDOR,
        basis=Basis.PROVED,
        epsilon=epsilon,
        delta=delta,
        lifetime=(
            f"after {policy.horizon} arrivals nothing more is learned; a person with N visits pays "
            f"N times epsilon, and more than N times delta"
        ),
        lifetime_epsilon=None if together is None else together[0],
        lifetime_delta=None if together is None else together[1],
        assumptions=(
            f"the horizon and the batches of {policy.batch} visits are fixed beforehand",
            (
                f"each visit is in at most {policy.levels} blocks of a binary tree on public time, "
                "each with Gaussian noise"
            ),
            "which arms could be chosen at a visit, and when arms join or leave, is public",
            "a context lies in the cube, and a reward enters within its public range",
        ),
        not_covered=(
            "a user's own video, towards anyone who sees it: it depends on the user's own context",
            (
                "the user's own vendor, which sees contexts and rewards, and neighbours that "
                "get a request"
            ),
            "that a visit took place, and when: arrivals are counted in public",
            "what a vendor learns about its neighbours: that costs extra",
        ),
        sources=(
            "Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS 2018)",
            "Bun, Steinke: Concentrated differential privacy (TCC 2016), for the account",
            "Canonne, Kamath, Steinke: The discrete Gaussian (NeurIPS 2020), for the sampler",
        ),
    )
