"""Golden refusals of sketches: bytes that are no message, and campaigns no device answers."""

from __future__ import annotations

import struct
from typing import Any

from golden.sketches import NUMBERS, ODD, SECRETS, TITLES, asked, most_truthful, stars
from golden.vectors import NOW, answer, message, recommendation
from tacit.designs.sketches.messages import (
    LARGEST_COUNT,
    NO_NOISE,
    UNITS,
    WHOLE,
    Campaign,
    Clusters,
    Report,
    catalogue_digest,
)

CAMPAIGN = asked(NUMBERS, questions=2)
PAIRS = asked(NUMBERS, method="pairwise-preference", questions=2)
RATED = asked(NUMBERS, method="pairwise-rated")
REPORT = Report(CAMPAIGN.id, 7, 2)
RATED_REPORT = Report(RATED.id, 7, 1, (3, 39))
CLUSTERS = Clusters(
    CAMPAIGN.digest, CAMPAIGN.catalogue_digest, bytes([0, 1, 1]), (-5, 0, 1_000_000)
)

_CAMPAIGNS: list[tuple[Campaign, int, str, Any, str]] = [
    (CAMPAIGN, 0, ">4s", b"tcix", "another magic"),
    (CAMPAIGN, 4, ">B", 2, "another version"),
    (CAMPAIGN, 5, ">B", 2, "another kind"),
    (CAMPAIGN, 6, ">B", 5, "an unknown method"),
    (CAMPAIGN, 7, ">B", 3, "an unknown unit"),
    (CAMPAIGN, 8, ">I", 1, "one item"),
    (CAMPAIGN, 8, ">I", 2**31, "more items than a signed integer counts"),
    (CAMPAIGN, 12, ">I", 0, "nothing rated"),
    (CAMPAIGN, 12, ">I", 41, "more rated than there are"),
    (CAMPAIGN, 16, ">I", 0, "sensed sets without theta"),
    (CAMPAIGN, 16, ">I", LARGEST_COUNT, "sets that do not fit"),
    (CAMPAIGN, 20, ">I", 0, "no question"),
    (CAMPAIGN, 20, ">I", 33, "more questions than a report has bits"),
    (CAMPAIGN, 20, ">I", 3, "a question more than epsilon pays for"),
    (CAMPAIGN, 24, ">I", 0, "epsilon 0"),
    (CAMPAIGN, 24, ">I", 999_999, "a millionth less than the truth costs"),
    (CAMPAIGN, 24, ">I", NO_NOISE, "noise, and epsilon infinite"),
    (CAMPAIGN, 28, ">i", -(2**31), "a threshold out of bounds"),
    (CAMPAIGN, 32, ">Q", CAMPAIGN.truth + 2**10, "a chance of the truth above what is stated"),
    (most_truthful(CAMPAIGN), 32, ">Q", most_truthful(CAMPAIGN).truth + 1, "a part of 2^53 more"),
    (CAMPAIGN, 32, ">Q", WHOLE // 2 - 1, "more lies than truths"),
    (CAMPAIGN, 32, ">Q", WHOLE, "no noise, and epsilon finite"),
    (CAMPAIGN, 32, ">Q", WHOLE + 1, "a chance above 1"),
    (CAMPAIGN, 32, ">Q", 2**64 - 1, "a chance of 2^64 parts"),
    (CAMPAIGN, 40, ">Q", WHOLE + 1, "a time that no number holds exactly"),
    (PAIRS, 16, ">I", 5, "pairs with theta"),
    (RATED, 20, ">I", 2, "two questions about one pair"),
]
_OTHERS: list[tuple[Any, Any, int, str, Any, str]] = [
    (Report, REPORT, 0, ">B", 2, "another version"),
    (Report, REPORT, 1, ">B", 1, "another kind"),
    (Report, RATED_REPORT, 22, ">I", 39, "the same item twice"),
    (Report, RATED_REPORT, 22, ">I", 40, "a pair out of order"),
    (Report, RATED_REPORT, 26, ">I", 2**31, "an item number out of bounds"),
    (Clusters, CLUSTERS, 0, ">B", 0, "another magic"),
    (Clusters, CLUSTERS, 4, ">B", 1, "the version without a catalogue"),
    (Clusters, CLUSTERS, 5, ">B", 1, "another kind"),
    (Clusters, CLUSTERS, 6, ">B", 1, "a byte that is not used, used"),
    (Clusters, CLUSTERS, 7, ">B", 1, "another byte that is not used, used"),
    (Clusters, CLUSTERS, 72, ">I", 2, "fewer items than it lists"),
    (Clusters, CLUSTERS, 72, ">I", 2**32 - 1, "items without end"),
    (Clusters, CLUSTERS, 79, ">i", -(2**31), "a score out of bounds"),
]


def spoiled(data: bytes, at: int, layout: str, value: Any) -> bytes:
    changed = bytearray(data)
    struct.pack_into(layout, changed, at, value)
    return bytes(changed)


def messages() -> list[dict[str, Any]]:
    found = [
        message(Campaign, spoiled(whole.encode(), at, layout, value), why)
        for whole, at, layout, value, why in _CAMPAIGNS
    ]
    found += [
        message(kind, spoiled(whole.encode(), at, layout, value), why)
        for kind, whole, at, layout, value, why in _OTHERS
    ]
    every: tuple[Any, ...] = (CAMPAIGN, REPORT, RATED_REPORT, CLUSTERS)
    for whole in every:
        data = whole.encode()
        found.append(message(type(whole), b"", "nothing"))
        found.append(message(type(whole), data[:-1], "cut short"))
        found.append(message(type(whole), data + b"\0", "a byte too long"))
    one = CLUSTERS.encode()[:72] + struct.pack(">IBi", 1, 0, 0)
    found.append(message(Clusters, one, "a single item"))
    return found


def answers() -> list[dict[str, Any]]:
    home = stars(NUMBERS, 2)
    bare = asked(NUMBERS, epsilon=float("inf"))
    again = [asked(NUMBERS, epsilon=1.5, seed=bytes([n]) * 16).encode() for n in range(3)]
    pairs = [asked(NUMBERS, method="pairwise-rated", seed=bytes([n]) * 16) for n in range(2)]
    rating = [
        asked(NUMBERS, unit="rating", questions=3, seed=bytes([n]) * 16).encode() for n in range(2)
    ]
    twice = asked([*NUMBERS[:-1], 41], questions=1)
    doubled = [*NUMBERS[:-1], NUMBERS[0]]
    of_doubled = spoiled(twice.encode(), 64, ">32s", catalogue_digest(doubled))
    one = {"epsilon": 1.0, "lifetime": 4.0}
    cases: list[tuple[list[bytes], list[Any], dict[Any, float], dict[str, Any]]] = [
        ([bare.encode()], NUMBERS, home, {"epsilon": float("1e308"), "lifetime": 1e308}),
        ([asked(NUMBERS, epsilon=1.000001).encode()], NUMBERS, home, one),
        ([asked(NUMBERS, epsilon=12.5).encode()], NUMBERS, home, {"epsilon": 0}),
        (again, NUMBERS, home, {"epsilon": 2.0}),
        (again[:2], NUMBERS, home, {"epsilon": 1.5, "lifetime": 2.999999}),
        ([asked(NUMBERS, unit="rating").encode()], NUMBERS, home, {}),
        ([asked(NUMBERS, unit="moved rating").encode()], NUMBERS, home, {"units": ("rating",)}),
        ([RATED.encode()], NUMBERS, home, {}),
        ([c.encode() for c in pairs], NUMBERS, home, {"rated_pairs": True, "most_rated_pairs": 1}),
        ([RATED.encode()], NUMBERS, {NUMBERS[0]: 5.0}, {"rated_pairs": True}),
        ([RATED.encode()], NUMBERS, {}, {"rated_pairs": True}),
        ([CAMPAIGN.encode()], NUMBERS[::-1], home, {}),
        ([CAMPAIGN.encode()], NUMBERS[:-1], home, {}),
        ([CAMPAIGN.encode()], [str(number) for number in NUMBERS], home, {}),
        ([CAMPAIGN.encode()], [], home, {}),
        ([of_doubled], doubled, home, {}),
        ([rating[0]], NUMBERS, home, {"units": UNITS, "epsilon": 2.999998}),
        (rating, NUMBERS, home, {"units": UNITS, "epsilon": 3.0, "lifetime": 5.999998}),
        ([asked(NUMBERS, closes=NOW - 1).encode()], NUMBERS, home, {}),
    ]
    found = [answer(*case[:3], SECRETS[0], case[3]) for case in cases]
    if not all(vector.get("error") == "Refused" for vector in found):
        raise AssertionError("a campaign was answered that should be refused")
    return found


def content() -> dict[str, list[Any]]:
    others = (TITLES, ODD, NUMBERS[:3])
    clusters = Clusters(CAMPAIGN.digest, CAMPAIGN.catalogue_digest, bytes(40), (0,) * 40).encode()
    return {
        "messages": messages(),
        "answers": answers(),
        "recommendations": [
            recommendation(clusters, items, {}, liked_from=4.0, n=10)
            for items in (*others, NUMBERS[::-1])
        ],
    }
