"""The card of what other vendors get to see of a visitor's context."""

from __future__ import annotations

import math

from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.errors import ConfigError
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.randomness import secure

_REQUEST = (
    "that a request was made, when, and to whom: a policy that forwards depending on the "
    "context reveals the true cell"
)
_OF_ALL = (
    "every visit is sent to all neighbours that can be asked; no context decides which those are",
    "only the own vendor shows the video and sees the click: no neighbour learns whose offer won",
)
_OWN_VENDOR = "the user's own vendor, which knows the context"


def forwarded(
    agreement: Agreement, *, visits: int | None = None, asks_all: bool = False
) -> Guarantee:
    """visits: of one person that are forwarded at most; None: nothing limits them.

    asks_all: as the `Vendor`'s. False: the card is for the content of a request alone.
    """
    spent = Forwarder(agreement, randomness=secure()).visit_epsilon
    if math.isinf(spent):
        raise ConfigError("A context in the clear has no card: nothing protects it.")
    limited = visits is not None
    return Guarantee(
        name="Context that is forwarded",
        sentence=(
            f"What all other vendors see together of one visit's context is {spent:g}-"
            "differentially private: each visit sends the same randomised cell to all of them, "
            "whatever is shown."
            if asks_all
            else "Given that a request is made, what all other vendors read in it about the "
            f"visit's context is {spent:g}-differentially private. Whether one is made, when, and "
            "to whom depends on the context itself, and no epsilon covers that."
        ),
        protects="the context of one visit" + ("" if asks_all else ", in the request's content"),
        adjacency=Adjacency("visit", "replace"),
        against="all vendors it is forwarded to, even if they combine all they got",
        trust=Trust.OWN_VENDOR,
        basis=Basis.PROVED,
        epsilon=spent,
        delta=0.0,
        lifetime=(
            f"{visits} visits of one person, then nothing of theirs is forwarded"
            if limited
            else "every visit costs as much again, unless a Forwarder reuses answers or has a "
            "budget"
        ),
        lifetime_epsilon=spent * visits if visits is not None else None,
        lifetime_delta=0.0 if limited else None,
        assumptions=(
            "a retry, and another vendor, get the bytes of the first request",
            f"{agreement.slices} slices of {agreement.features} features were agreed on beforehand",
            *(_OF_ALL if asks_all else ()),
        ),
        not_covered=(
            "when the visit was" if asks_all else _REQUEST,
            "the connection: addresses, times, accounts",
            "that a neighbour's video was fetched or clicked, where that neighbour sees it",
            _OWN_VENDOR,
        ),
        sources=(
            "Kairouz, Oh, Viswanath: Extremal mechanisms for local privacy (NeurIPS 2014)",
            "Erlingsson, Pihur, Korolova: RAPPOR (CCS 2014), for answers that are kept",
        ),
    )
