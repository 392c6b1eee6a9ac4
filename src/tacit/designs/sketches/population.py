"""Reports of many people at once, for simulations.

They have the same distribution as the reports of `device`, but tickets and noise come from one
source in place of secrets. The code sees the likes of all people, so it protects nobody.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.sketches.messages import WHOLE, Campaign
from tacit.designs.sketches.sensing import seed_words
from tacit.designs.sketches.server import Server, report_dtype, report_head
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
    """Compute the true answers of many people to the questions of their tickets.

    Args:
        campaign: The campaign; not one in which devices name pairs of rated items.
        tickets: (people,) tickets, which determine the questions.
        starts: (people + 1,) where each person's likes begin.
        likes: (likes,) item numbers: person n likes the items likes[starts[n]:starts[n + 1]].
        dislikes: Starts and item numbers, in the same layout, of the items that each person rated
            and does not like. They are needed if the campaign asks whether a pair is rated alike.

    Returns:
        (people,) unsigned integers of 32 bits, of which bit q is the answer to question q.

    Raises:
        ConfigError: Devices name pairs, or dislikes are needed and missing.
    """
    from tacit.engine.sketch_compiled import find_liked_pairs, find_liked_sets

    if campaign.names_pair:
        raise ConfigError(
            "Pairs of rated items are chosen on the device, and likes alone do not show them."
        )
    first_word, second_word = map(np.uint64, seed_words(campaign.seed))
    answers = np.empty(len(tickets), dtype=np.uint32)
    questions = campaign.questions
    if campaign.asks_about_sets:
        find_liked_sets(
            first_word,
            second_word,
            tickets,
            starts,
            likes,
            questions,
            campaign.set_size,
            np.uint64(campaign.modulus),
            _inverses(campaign.modulus),
            answers,
        )
        return answers
    items = np.uint64(campaign.n_items)
    find_liked_pairs(first_word, second_word, tickets, starts, likes, questions, items, answers)
    if campaign.asks_identical:
        if dislikes is None:
            raise ConfigError("Whether a pair is rated alike depends on dislikes, too: pass them.")
        both_disliked = np.empty_like(answers)
        find_liked_pairs(
            first_word, second_word, tickets, *dislikes, questions, items, both_disliked
        )
        answers |= both_disliked
    return answers


def mark_likes(matrix: sparse.csr_array, liked_from: float) -> sparse.csr_array:
    """Mark the likes among ratings: 1 for at least `liked_from` stars, no entry otherwise.

    Args:
        matrix: (people, items) stars.
        liked_from: Least stars of a like.
    """
    likes = matrix.copy()
    likes.data = (likes.data >= liked_from).astype(float)
    likes.eliminate_zeros()
    return likes


def count_simulated_reports(campaign: Campaign, likes: sparse.csr_array, source: Source) -> Server:
    """Make a server that has counted one simulated report of each person.

    Args:
        campaign: The campaign, whose answers depend on likes alone.
        likes: (people, items) 1 for a like, no entry otherwise.
        source: Source of tickets and noise.

    Raises:
        ConfigError: The answers depend on rated items that are not liked.
    """
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
    named_pairs: Ints | None = None,
    dislikes: tuple[Ints, Ints] | None = None,
) -> bytes:
    """Make the reports of many people, and return their bytes, concatenated.

    If the campaign caps likes, the used likes of a person are chosen at random, as on a device.

    Args:
        campaign: The campaign.
        starts: (people + 1,) where each person's likes begin.
        likes: (likes,) item numbers.
        source: Source of tickets and noise.
        named_pairs: (people, 2) the two rated items that each device names; None if devices do not
            name pairs.
        dislikes: As for `true_bits`.

    Raises:
        ConfigError: The campaign needs `named_pairs` or `dislikes`, and they are missing.
    """
    if campaign.likes_cap is not None:
        starts, likes = _cap_likes(starts, likes, campaign.likes_cap, source)
    people = len(starts) - 1
    tickets = np.maximum(source.words(people), np.uint64(1))  # servers refuse the ticket 0
    records = np.empty(people, dtype=report_dtype(campaign))
    if named_pairs is None:
        bits = true_bits(campaign, tickets, starts, likes, dislikes)
    else:
        records["pair"] = np.sort(named_pairs, axis=1)
        bits = _answer_named_pairs(campaign, starts, likes, named_pairs)
    if campaign.truth < WHOLE:
        truth = np.full(people, campaign.truth, dtype=np.int64)
        for question in range(campaign.questions):
            is_flipped = ~bernoulli(source, truth, WHOLE)
            bits ^= is_flipped.astype(np.uint32) << np.uint32(question)
    records["head"], records["campaign"] = report_head(campaign)
    records["ticket"] = tickets
    records["bits"] = bits
    return records.tobytes()


def _answer_named_pairs(
    campaign: Campaign, starts: Ints, likes: Ints, named_pairs: Ints
) -> NDArray[np.uint32]:
    """Compute the true answers about the pairs that devices name: (people,) 0 or 1.

    Both items of a pair are rated, so an item that is not liked is disliked.

    Args:
        campaign: A campaign in which devices name pairs.
        starts: (people + 1,) where each person's likes begin.
        likes: (likes,) item numbers.
        named_pairs: (people, 2) item numbers.
    """
    person = np.arange(len(starts) - 1)
    # A pair of a person and an item is the number person * items + item.
    liked = np.repeat(person, np.diff(starts)) * campaign.n_items + likes
    is_liked = np.isin(person[:, None] * campaign.n_items + named_pairs, liked)
    is_yes = is_liked.all(axis=1)
    if campaign.asks_identical:
        is_yes |= ~is_liked.any(axis=1)
    return np.asarray(is_yes, dtype=np.uint32)


def _cap_likes(starts: Ints, likes: Ints, cap: int, source: Source) -> tuple[Ints, Ints]:
    """Choose at most `cap` likes of each person at random.

    Args:
        starts: (people + 1,) where each person's likes begin.
        likes: (likes,) item numbers.
        cap: Largest number of likes of a person.
        source: Source of the choice.

    Returns:
        Starts and likes in the layout of `true_bits`.
    """
    counts = np.diff(starts)
    if len(counts) == 0 or counts.max() <= cap:
        return starts, likes
    words = source.words(len(likes))
    is_chosen = np.ones(len(likes), dtype=bool)
    for person in np.flatnonzero(counts > cap).tolist():
        begin, end = starts[person], starts[person + 1]
        # Likes in the order of random words are shuffled; those after the first `cap` are left out.
        shuffled = np.argsort(words[begin:end], kind="stable")
        is_chosen[begin + shuffled[cap:]] = False
    new_starts = np.concatenate([[0], np.cumsum(np.minimum(counts, cap))])
    return new_starts, likes[is_chosen]


@cache
def _inverses(prime: int) -> Ints:
    """Compute the inverse of each a modulo a prime: (prime,), with 0 for a = 0."""
    inverses = [pow(a, -1, prime) for a in range(1, prime)]
    return np.array([0, *inverses], dtype=np.int64)
