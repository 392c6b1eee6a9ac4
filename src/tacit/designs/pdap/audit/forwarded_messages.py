"""Messages that neighbours get about a context, by exact distributions of the shipped code."""

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
"""Claimed for one visit."""
PEERS = 3
"""Neighbours that put together what they get."""


def forwards_claim() -> AuditedClaim:
    """Claim of all bytes that any number of neighbours get about one context."""

    def check(features: int, slices: int, share: int) -> Check:
        agreement = Agreement(features, slices, EPSILON)
        a, b = np.full(features, 0.1), np.full(features, 0.9)
        return distribution_check(
            f"{slices} slices of {features} features, {PEERS} neighbours together",
            lambda: (sent_distribution(agreement, a), sent_distribution(agreement, b)),
            (
                partial(send_context, agreement, a, secure()),
                partial(send_context, agreement, b, secure()),
            ),
            share=share,
        )

    checks = (check(1, 2, 2), check(2, 3, 5))
    return AuditedClaim("messages, context", EPSILON, checks, unit="context", adjacency="any other")


class _BySide(Policy):
    """A learner that shows its own video on the left, and its last neighbour's on the right."""

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        return Choice(0 if context[0] < 0.5 else PEERS, "exploit", None)

    def update(self, choice: Choice, reward: float) -> None: ...


def send_context(
    agreement: Agreement, context: NDArray[np.float64], source: Source, *, asks_all: bool = True
) -> Hashable:
    """Send one context: which of `PEERS` colluding neighbours are asked, and what they get.

    The number of the request is left out.
    """
    home = Vendor(
        _BySide(1, PEERS),
        ["own"],
        peers=[f"peer {number}" for number in range(PEERS)],
        forwarder=Forwarder(agreement, randomness=source),
        trust_settings=TrustSettings(share=1.0),
        asks_all=asks_all,
    )
    visit = home.choose(context)
    if visit.forward is None:
        return ()
    request = Forward.decode(visit.forward).request
    return tuple((peer, visit.forward.replace(request, bytes(16))) for peer in visit.asks)


def sent_distribution(
    agreement: Agreement, context: NDArray[np.float64], *, asks_all: bool = True
) -> Distribution:
    """Distribution of what `send_context` gives."""
    if send_context(agreement, context, secure(), asks_all=asks_all) == ():
        return {(): Fraction(1)}
    response = Forwarder(agreement, randomness=secure()).response
    assert response is not None
    drawn: Any = partial(send_context, agreement, context, asks_all=asks_all)
    return response_distribution(drawn, agreement.answers, response.truth)
