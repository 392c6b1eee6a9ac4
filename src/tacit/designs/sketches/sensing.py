"""Which questions a ticket stands for: public, the same on devices and servers, never stored.

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
    """SplitMix64's finaliser: a permutation of 64-bit words."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _MASK
    return word ^ (word >> 31)


def halves(seed: bytes) -> tuple[int, int]:
    """The two words of a seed."""
    return int.from_bytes(seed[:8], "big"), int.from_bytes(seed[8:], "big")


def words(seed: bytes, ticket: int) -> Iterator[int]:
    """The stream of one ticket in a campaign with this seed."""
    first, second = halves(seed)
    state = mix(first ^ mix(second ^ ticket))
    while True:
        state = state + _STEP & _MASK
        yield mix(state)


def below(stream: Iterator[int], bound: int) -> int:
    """A uniform integer in [0, bound): words that would favour small results are skipped."""
    limit = (1 << 64) - (1 << 64) % bound
    word = next(stream)
    while word >= limit:
        word = next(stream)
    return word % bound


def wheel(campaign: Campaign, ticket: int) -> tuple[int, int]:
    """First place c in [0, p) and step a in [1, p) of a ticket's sets."""
    stream = words(campaign.seed, ticket)
    return below(stream, campaign.modulus), 1 + below(stream, campaign.modulus - 1)


def sensed_sets(campaign: Campaign, ticket: int) -> list[list[int]]:
    """Item numbers of each question's set, in the order of the wheel."""
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
    """The pair of item numbers of each question, the smaller first."""
    stream, found = words(campaign.seed, ticket), []
    for _ in range(campaign.questions):
        one, other = below(stream, campaign.items), below(stream, campaign.items - 1)
        other += other >= one
        found.append((min(one, other), max(one, other)))
    return found
