"""Reports of many people at once, for simulations.

They are the sketches of `device`, without the secrets. This sees the likes of all people, and does
not run where people are to be protected.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.sketches.messages import WHOLE, Campaign
from tacit.designs.sketches.sensing import halves
from tacit.designs.sketches.server import Server, head_of, record
from tacit.errors import ConfigError
from tacit.randomness import Source, bernoulli

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


def true_bits(
    campaign: Campaign,
    tickets: Words,
    starts: Ints,
    likes: Ints,
    dislikes: tuple[Ints, Ints] | None = None,
) -> NDArray[np.uint32]:
    """Answer for many people without noise, question q in bit q.

    Args:
        campaign: The questions; not about pairs of rated items, which devices choose.
        tickets: (people,) from which the questions follow.
        starts: (people + 1,) beginnings of people's likes.
        likes: (likes,) item numbers: likes[starts[n]:starts[n + 1]] are those that person n likes.
        dislikes: Starts and items of the same layout, what each person rated and does not like;
            for questions whether a pair is rated alike.

    Returns:
        (people,) one word of bits each.

    Raises:
        ConfigError: Devices choose the pairs, or dislikes are needed and missing.
    """
    from tacit.engine.sketch_compiled import first_hits, pair_hits

    if campaign.names_pair:
        raise ConfigError("Pairs of rated items are chosen on the device; this takes likes alone.")
    first, second = map(np.uint64, halves(campaign.seed))
    hits = np.empty(len(tickets), dtype=np.uint32)
    questions = campaign.questions
    items = np.uint64(campaign.items)
    if campaign.senses:
        modulus = np.uint64(campaign.modulus)
        inverses = _inverses(campaign.modulus)
        sets = questions, campaign.set_size, modulus, inverses
        first_hits(first, second, tickets, starts, likes, *sets, hits)
        return hits
    pair_hits(first, second, tickets, starts, likes, questions, items, hits)
    if campaign.asks_identical:
        if dislikes is None:
            raise ConfigError("Whether a pair is rated alike depends on dislikes, too: pass them.")
        both_disliked = np.empty_like(hits)
        pair_hits(first, second, tickets, *dislikes, questions, items, both_disliked)
        hits |= both_disliked
    return hits


def likes_of(matrix: sparse.csr_array, liked_from: float) -> sparse.csr_array:
    """Mark likes: a sparse matrix of 1 where a rating is a like."""
    likes = matrix.copy()
    likes.data = (likes.data >= liked_from).astype(float)
    likes.eliminate_zeros()
    return likes


def server_of_reports(campaign: Campaign, likes: sparse.csr_array, source: Source) -> Server:
    """A server that counted one report from each row of `likes`."""
    server = Server(campaign, keep_tickets=False)
    starts = likes.indptr.astype(np.int64)
    items = likes.indices.astype(np.int64)
    server.fold(make_reports(campaign, starts, items, source), now=0)
    return server


def make_reports(
    campaign: Campaign,
    starts: Ints,
    likes: Ints,
    source: Source,
    chosen: Ints | None = None,
    dislikes: tuple[Ints, Ints] | None = None,
) -> bytes:
    """Make the reports of people with these likes, one behind the other.

    Under unit 'user' only `rated` likes of each count, chosen at random, as on a device.

    Args:
        campaign: The questions.
        starts: See `true_bits`.
        likes: See `true_bits`.
        source: Source of tickets and noise.
        dislikes: See `true_bits`.
        chosen: (people, 2) the two rated items that each device names, where devices choose pairs.
    """
    if campaign.likes_cap is not None:
        starts, likes = _cap_likes(starts, likes, campaign.likes_cap, source)
    people = len(starts) - 1
    tickets = np.maximum(source.words(people), np.uint64(1))
    records = np.empty(people, dtype=record(campaign))
    if chosen is None:
        bits = true_bits(campaign, tickets, starts, likes, dislikes)
    else:
        records["pair"] = np.sort(chosen, axis=1)
        person = np.arange(people)
        liked = np.repeat(person, np.diff(starts)) * campaign.items + likes
        is_liked = np.isin(person[:, None] * campaign.items + chosen, liked)
        is_yes = is_liked.all(axis=1)
        if campaign.asks_identical:
            is_yes |= ~is_liked.any(axis=1)
        bits = np.asarray(is_yes, dtype=np.uint32)
    if campaign.truth < WHOLE:
        truth = np.full(people, campaign.truth, dtype=np.int64)
        for question in range(campaign.questions):
            bits ^= (~bernoulli(source, truth, WHOLE)).astype(np.uint32) << np.uint32(question)
    records["head"], records["campaign"] = head_of(campaign)
    records["ticket"] = tickets
    records["bits"] = bits
    return records.tobytes()


def _cap_likes(starts: Ints, likes: Ints, cap: int, source: Source) -> tuple[Ints, Ints]:
    """Keep at most `cap` likes of each person, chosen at random."""
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
    """(prime,) 1 / a modulo the prime, at place a."""
    return np.array([0, *(pow(a, -1, prime) for a in range(1, prime))], dtype=np.int64)
