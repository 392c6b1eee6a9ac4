"""Questions of a ticket: sensed sets or pairs of items, computed alike on devices and servers.

A ticket is the random number of 64 bits in a report. Ticket and campaign determine the questions,
which are public and never stored. (For RATED_METHODS the device chooses the question instead.)

Stream     Words of 64 bits, SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
           generators, 2014) from a key made of the campaign's seed and the ticket. Integers only.
Sets       The numbers c, c + a, c + 2a, ... modulo a prime p run through all of 0 .. p - 1, called
           the places of a wheel. Place i stands for item i. A set is a run of successive numbers,
           and several sets are runs one after the other. So the sets of one ticket are disjoint,
           all items are equally likely to be in a set, and all pairs of items are equally likely to
           be in the same set. p is the smallest prime that is at least the number of items; places
           beyond the last item are empty.
Pairs      Two different items, all pairs equally likely.

The randomness of these questions affects how much the recommender learns, never privacy: they do
not depend on what a person rated. Standard library only: the device half imports this file.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacit.designs.sketches.messages import Campaign

_MASK = (1 << 64) - 1
"""Keeps the lowest 64 bits of an integer."""
_STEP = 0x9E3779B97F4A7C15
"""Step of SplitMix64's state."""


def mix(word: int) -> int:
    """Apply SplitMix64's finaliser, a permutation of 64-bit words."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _MASK
    return word ^ (word >> 31)


def seed_words(seed: bytes) -> tuple[int, int]:
    """Split a seed of 16 bytes into two words of 64 bits."""
    return int.from_bytes(seed[:8], "big"), int.from_bytes(seed[8:], "big")


def random_words(seed: bytes, ticket: int) -> Iterator[int]:
    """Yield random words of 64 bits, without end, for one ticket in a campaign with this seed."""
    first, second = seed_words(seed)
    state = mix(first ^ mix(second ^ ticket))
    while True:
        state = (state + _STEP) & _MASK
        yield mix(state)


def draw_below(stream: Iterator[int], bound: int) -> int:
    """Draw a uniform integer in [0, bound).

    The largest words are skipped, so that the remainder is equally likely to be each integer.
    """
    first_skipped = (1 << 64) - (1 << 64) % bound
    word = next(stream)
    while word >= first_skipped:
        word = next(stream)
    return word % bound


def draw_wheel(campaign: Campaign, ticket: int) -> tuple[int, int]:
    """Draw the first place c in [0, p) and the step a in [1, p) of a ticket's sets."""
    stream = random_words(campaign.seed, ticket)
    first_place = draw_below(stream, campaign.modulus)
    step = 1 + draw_below(stream, campaign.modulus - 1)
    return first_place, step


def sensed_sets(campaign: Campaign, ticket: int) -> list[list[int]]:
    """List the item numbers in the set of each question, in the order of the wheel's run.

    Places of the wheel without an item are left out, so a set may have fewer items than places.
    """
    place, step = draw_wheel(campaign, ticket)
    sets = []
    for _ in range(campaign.questions):
        members = []
        for _ in range(campaign.set_size):
            if place < campaign.n_items:
                members.append(place)
            place = (place + step) % campaign.modulus
        sets.append(members)
    return sets


def pairs(campaign: Campaign, ticket: int) -> list[tuple[int, int]]:
    """List the two item numbers of each question, the smaller first."""
    stream = random_words(campaign.seed, ticket)
    drawn = []
    for _ in range(campaign.questions):
        first = draw_below(stream, campaign.n_items)
        second = draw_below(stream, campaign.n_items - 1)
        if second >= first:  # `first` is left out, so that the items differ
            second += 1
        drawn.append((min(first, second), max(first, second)))
    return drawn
