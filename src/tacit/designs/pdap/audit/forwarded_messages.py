"""Audit of forwarded contexts, by exact distributions of what the code sends to neighbours."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditedClaim, Check
from tacit.auditing.output_distributions import (
    Distribution,
    distribution_check,
    response_distribution,
)
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.messages import Forward
from tacit.designs.pdap.policies.base import Choice, Policy
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.randomness import Source, secure

EPSILON = 1.0
"""Epsilon that is claimed for one context."""
PEERS = 3
"""Number of neighbours that combine the bytes that they receive."""


def forwards_claim() -> AuditedClaim:
    """Make the claim about all bytes that `PEERS` neighbours receive about one context."""

    def check(features: int, slices: int, sample_divisor: int) -> Check:
        agreement = Agreement(features, slices, EPSILON)
        left = np.full(features, 0.1)
        right = np.full(features, 0.9)
        return distribution_check(
            f"{slices} slices of {features} features, {PEERS} neighbours together",
            lambda: (sent_distribution(agreement, left), sent_distribution(agreement, right)),
            (
                partial(send_context, agreement, left, secure()),
                partial(send_context, agreement, right, secure()),
            ),
            sample_divisor=sample_divisor,
        )

    checks = (
        check(features=1, slices=2, sample_divisor=2),
        check(features=2, slices=3, sample_divisor=5),
    )
    return AuditedClaim("messages, context", EPSILON, checks, unit="context", adjacency="any other")


class _PolicyBySide(Policy):
    """A policy that chooses the own video on the left, and the last neighbour on the right."""

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        return Choice(0 if context[0] < 0.5 else PEERS, "exploit", None)

    def update(self, choice: Choice, reward: float) -> None: ...


def send_context(
    agreement: Agreement, context: NDArray[np.float64], source: Source, *, asks_all: bool = True
) -> Hashable:
    """Send one context to `PEERS` colluding neighbours.

    Args:
        agreement: the agreement between vendors.
        context: (d,) in [0, 1].
        source: the source of randomness.
        asks_all: as in `Vendor`.

    Returns:
        (neighbour, bytes) for each neighbour that is asked. The number of the request, which is
        random, is set to zero.
    """
    vendor = Vendor(
        _PolicyBySide(1, PEERS),
        ["own"],
        peers=[f"peer {number}" for number in range(PEERS)],
        forwarder=Forwarder(agreement, randomness=source),
        trust_settings=TrustSettings(share=1.0),
        asks_all=asks_all,
    )
    visit = vendor.choose(context)
    if visit.forward is None:
        return ()
    request = Forward.decode(visit.forward).request
    return tuple((peer, visit.forward.replace(request, bytes(16))) for peer in visit.peers_to_ask)


def sent_distribution(
    agreement: Agreement, context: NDArray[np.float64], *, asks_all: bool = True
) -> Distribution:
    """Compute the exact distribution of what `send_context` returns."""
    output = send_context(agreement, context, secure(), asks_all=asks_all)
    # Whether any vendor is asked depends on the context and on `asks_all`, not on random draws.
    asks_nobody = output == ()
    if asks_nobody:
        return {(): Fraction(1)}
    response = Forwarder(agreement, randomness=secure()).response
    assert response is not None
    send: Any = partial(send_context, agreement, context, asks_all=asks_all)
    return response_distribution(send, agreement.cells, response.truth)
