"""Populations as large as a plan asks for, drawn with replacement from the likes of real people.

Two ways. Reports: every drawn person answers, and the server counts. Marginals: an item's counts
are drawn from their own exact distribution, quickly for any population; what is left out is that
items in one set get the same answer, and that the wheel's sets are not quite all equally likely.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from tacit.designs.sketches.messages import WHOLE, Campaign
from tacit.designs.sketches.population import answer
from tacit.designs.sketches.server import ItemCounts, Server, item_counts
from tacit.errors import ConfigError
from tacit.randomness import replay, simulation

Floats = NDArray[np.float64]
_AT_ONCE = 20_000


def reported(campaign: Campaign, likes: sparse.csr_array, *, users: int, seed: int) -> ItemCounts:
    """Counts of so many reports, each of a person drawn from the rows of `likes`."""
    generator = np.random.default_rng((seed, users))
    server, sizes = Server(campaign), np.diff(likes.indptr).astype(np.int64)
    with simulation():
        source = replay(f"crowd {seed} {users}")
        for start in range(0, users, _AT_ONCE):
            people = generator.integers(len(sizes), size=min(_AT_ONCE, users - start))
            starts = np.concatenate([[0], np.cumsum(sizes[people])])
            # Places of each drawn row, one row behind the other.
            places = np.arange(starts[-1]) + np.repeat(
                likes.indptr[people] - starts[:-1], sizes[people]
            )
            items = likes.indices[places].astype(np.int64)
            server.fold(answer(campaign, starts, items, source), now=0)
    return item_counts(server)


def drawn(campaign: Campaign, likes: sparse.csr_array, *, users: int, seed: int) -> ItemCounts:
    """Counts of so many people by item, from their marginal distributions."""
    generator = np.random.default_rng((seed, users, 1))
    truth = campaign.truth / WHOLE
    hits = hit_chances(campaign, likes)
    chances = truth * hits + (1 - truth) * (1 - hits)
    share = campaign.questions * campaign.set_size / campaign.modulus
    asked = generator.binomial(users, share, size=campaign.items).astype(np.int64)
    return ItemCounts(asked, generator.binomial(asked, chances).astype(np.int64))


def hit_chances(campaign: Campaign, likes: sparse.csr_array) -> Floats:
    """(items,) chance that a random row of `likes` likes something in a set that holds the item.

    Under the unit 'user' only `rated` likes of each count, a random choice.
    """
    if not campaign.senses:
        raise ConfigError("Chances by item are for campaigns that sense sets.")
    liked = np.diff(likes.indptr).astype(np.int64)
    cap = campaign.likes_cap
    used = liked if cap is None else np.minimum(liked, cap)
    others = _some(campaign.modulus - 1, used, campaign.set_size - 1)
    # For who likes the item itself: used for sure with this share, and else as for all others.
    share = used / np.maximum(liked, 1)
    own = likes.T.astype(bool).astype(np.float64) @ (share * (1 - others))
    chances: Floats = others.mean() + np.asarray(own) / len(liked)
    return chances


def _some(places: int, marked: NDArray[np.int64], chosen: int) -> Floats:
    """Chance that some of the chosen places is marked: 1 - C(p - k, m) / C(p, m)."""
    left = places - marked
    possible = left >= chosen
    left = np.where(possible, left, chosen)
    none = (
        gammaln(left + 1)
        - gammaln(left - chosen + 1)
        - gammaln(places + 1)
        + gammaln(places - chosen + 1)
    )
    found: Floats = np.where(possible, -np.expm1(none), 1.0)
    return found
