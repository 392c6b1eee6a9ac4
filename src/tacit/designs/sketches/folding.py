"""Reports counted in parts, each part anywhere, and added up: counts are sums.

Runs at   the recommender, or workers of its cluster. Sees reports: tickets and randomised bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.designs.sketches.messages import Campaign
from tacit.designs.sketches.server import Server

TICKET = (10, 8)
"""Where the ticket stands in a report, and its bytes."""


def counts_of(messages: Sequence[bytes], campaign: bytes, now: int) -> NDArray[np.int64]:
    """Totals, ones and refusals of these reports, one behind the other. Of equal tickets the first
    counts: all reports of a ticket belong in one part."""
    server = Server(Campaign.decode(campaign))
    server.fold_each(messages, now=now)
    return np.concatenate([server.totals.ravel(), server.ones, [*server.rejected.values()]])


def server_of(campaign: bytes, counts: NDArray[np.int64]) -> Server:
    """A server that has these counts, and no tickets."""
    server = Server(Campaign.decode(campaign), keep_tickets=False)
    places, kinds = server.totals.size, len(server.ones)
    server.totals[:] = counts[:places].reshape(server.totals.shape)
    server.ones[:] = counts[places : places + kinds]
    server.rejected = dict(zip(server.rejected, counts[places + kinds :].tolist(), strict=True))
    return server
