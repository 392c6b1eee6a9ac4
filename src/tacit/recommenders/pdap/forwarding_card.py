"""The card of what other vendors get to see of a visitor's context."""

from __future__ import annotations

import math

from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.randomness import secure
from tacit.recommenders.pdap.forwarding import Agreement, Forwarder

_REQUEST = (
    "that a request was made, when, and to whom: a policy that forwards because of where the "
    "context lies tells as much by it"
)


def forwarded(agreement: Agreement, *, visits: int | None = None) -> Guarantee:
    """visits: of one person that are forwarded at most; None: nothing limits them."""
    spent = Forwarder(agreement, randomness=secure()).visit_epsilon
    if math.isinf(spent):
        raise ConfigError("A context in the clear has no card: nothing protects it.")
    limited = visits is not None
    return Guarantee(
        name="Context that is forwarded",
        sentence=(
            f"What all other vendors see together of one visit's context is {spent:g}-"
            "differentially private: they get the same randomised cell."
        ),
        protects="the context of one visit",
        adjacency=Adjacency("visit", "replace"),
        against="all vendors it is forwarded to, also if they put together all they were ever sent",
        trust=Trust.OWN_VENDOR,
        basis=Basis.PROVED,
        epsilon=spent,
        delta=0.0,
        lifetime=(
            f"{visits} visits of one person, then nothing of her is forwarded"
            if limited
            else "every visit costs as much again, unless a Forwarder keeps answers or a budget"
        ),
        lifetime_epsilon=spent * visits if visits is not None else None,
        lifetime_delta=0.0 if limited else None,
        assumptions=(
            "a retry, and another vendor, get the bytes of the first request",
            f"{agreement.slices} slices of {agreement.features} features were agreed on beforehand",
        ),
        not_covered=(
            _REQUEST,
            "the connection: addresses, times, accounts",
            "her own vendor, which knows the context",
        ),
        sources=(
            "Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014)",
            "Erlingsson, Pihur, Korolova: RAPPOR (CCS 2014), for answers that are kept",
        ),
    )
