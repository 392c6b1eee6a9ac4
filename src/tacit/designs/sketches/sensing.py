"""Questions that a ticket stands for: public, the same on devices and servers, never stored.

Stream     Words of 64 bits, SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
           generators, 2014) from a key made of the campaign's seed and the ticket. Integers only.
Sets       Places c, c + a, c + 2a, ... modulo a prime p are all p places in another order; a set is
           a run of them, several sets are runs one after the other. So sets of one person are
           disjoint, every item is as likely as any other to be in one, and so is every pair. The
           prime is the smallest that is not below the number of items; places beyond the last item
           are empty.
Pairs      Two different items, all pairs equally likely.

Whether questions are random matters for what the recommender learns, never for privacy: they do not
depend on what a person rated. Standard library only: the device half imports this file.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacit.designs.sketches.messages import Campaign

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def mix(word: int) -> int:
    """Apply SplitMix64's finaliser, a permutation of 64-bit words."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _MASK
    return word ^ (word >> 31)


def halves(seed: bytes) -> tuple[int, int]:
    """Split a seed of 16 bytes into its two words."""
    return int.from_bytes(seed[:8], "big"), int.from_bytes(seed[8:], "big")


def random_words(seed: bytes, ticket: int) -> Iterator[int]:
    """Yield the stream of one ticket in a campaign with this seed."""
    first, second = halves(seed)
    state = mix(first ^ mix(second ^ ticket))
    while True:
        state = (state + _STEP) & _MASK
        yield mix(state)


def draw_below(stream: Iterator[int], bound: int) -> int:
    """Draw a uniform integer in [0, bound), skipping words that would favour small results."""
    limit = (1 << 64) - (1 << 64) % bound
    word = next(stream)
    while word >= limit:
        word = next(stream)
    return word % bound


def wheel(campaign: Campaign, ticket: int) -> tuple[int, int]:
    """Draw the first place c in [0, p) and the step a in [1, p) of a ticket's sets."""
    stream = random_words(campaign.seed, ticket)
    return draw_below(stream, campaign.modulus), 1 + draw_below(stream, campaign.modulus - 1)


def sensed_sets(campaign: Campaign, ticket: int) -> list[list[int]]:
    """List the item numbers of each question's set, in the order of the wheel."""
    place, step = wheel(campaign, ticket)
    sets = []
    for _ in range(campaign.questions):
        members = []
        for _ in range(campaign.set_size):
            if place < campaign.items:
                members.append(place)
            place = (place + step) % campaign.modulus
        sets.append(members)
    return sets


def pairs(campaign: Campaign, ticket: int) -> list[tuple[int, int]]:
    """List the pair of item numbers of each question, the smaller first."""
    stream = random_words(campaign.seed, ticket)
    found = []
    for _ in range(campaign.questions):
        one = draw_below(stream, campaign.items)
        other = draw_below(stream, campaign.items - 1)
        other += other >= one
        found.append((min(one, other), max(one, other)))
    return found
