"""Many devices at once, for simulations: the same sketches as `device.py`, without the secrets.

Sees     the likes of everybody: nothing here runs where people are to be protected.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.sketches.messages import VERSION, WHOLE, Campaign
from tacit.errors import ConfigError
from tacit.randomness import Source, happens

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
_REPORT = np.dtype(
    [("version", "u1"), ("kind", "u1"), ("campaign", "S8"), ("ticket", ">u8"), ("bits", ">u4")]
)
_KIND = 2


def true_bits(campaign: Campaign, tickets: Words, starts: Ints, likes: Ints) -> NDArray[np.uint32]:
    """(people,) what each would answer without noise, question q in bit q.

    likes[starts[n]:starts[n + 1]]: numbers of the items that person n likes.
    """
    from tacit.engine.sketch_compiled import first_hits, pair_hits

    if campaign.method == "pairwise-rated":
        raise ConfigError("Pairs of rated items are chosen on the device; this takes likes alone.")
    first, second = (
        np.uint64(int.from_bytes(half, "big")) for half in (campaign.seed[:8], campaign.seed[8:])
    )
    hits = np.empty(len(tickets), dtype=np.uint32)
    if campaign.senses:
        modulus = np.uint64(campaign.modulus)
        first_hits(
            first,
            second,
            tickets,
            starts,
            likes,
            campaign.questions,
            campaign.set_size,
            modulus,
            _inverses(campaign.modulus),
            hits,
        )
    else:
        items = np.uint64(campaign.items)
        pair_hits(first, second, tickets, starts, likes, campaign.questions, items, hits)
    return hits


def answer(campaign: Campaign, starts: Ints, likes: Ints, source: Source) -> bytes:
    """The reports of people with these likes, one behind the other.

    Under unit 'user' only `rated` likes of each count, chosen at random, as on a device.
    """
    if campaign.likes_cap is not None:
        starts, likes = _capped(starts, likes, campaign.likes_cap, source)
    people = len(starts) - 1
    tickets = np.maximum(source.words(people), np.uint64(1))
    bits = true_bits(campaign, tickets, starts, likes)
    if campaign.truth < WHOLE:
        bits ^= _lies(campaign, people, source)
    records = np.empty(people, dtype=_REPORT)
    records["version"], records["kind"], records["campaign"] = VERSION, _KIND, campaign.id
    records["ticket"], records["bits"] = tickets, bits
    return records.tobytes()


def _lies(campaign: Campaign, people: int, source: Source) -> NDArray[np.uint32]:
    """Which bits are flipped."""
    truth = np.full(people, campaign.truth, dtype=np.int64)
    lies = np.zeros(people, dtype=np.uint32)
    for question in range(campaign.questions):
        lies |= (~happens(source, truth, WHOLE)).astype(np.uint32) << np.uint32(question)
    return lies


def _capped(starts: Ints, likes: Ints, cap: int, source: Source) -> tuple[Ints, Ints]:
    counts = np.diff(starts)
    if len(counts) == 0 or counts.max() <= cap:
        return starts, likes
    people = np.repeat(np.arange(len(counts)), counts)
    shuffled = np.lexsort((source.words(len(likes)), people))
    rank = np.arange(len(likes)) - np.repeat(starts[:-1], counts)
    kept: NDArray[Any] = shuffled[rank < cap]
    return np.concatenate([[0], np.cumsum(np.minimum(counts, cap))]), likes[kept]


@cache
def _inverses(prime: int) -> Ints:
    """(prime,) 1 / a modulo the prime, at place a; 1 / a = -(p // a) / (p % a)."""
    found = [0, 1]
    for a in range(2, prime):
        found.append((prime - prime // a) * found[prime % a] % prime)
    return np.array(found, dtype=np.int64)
