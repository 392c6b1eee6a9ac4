"""Golden answers of sketches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from golden.vectors import answer, readable, recommendation, tagged
from tacit.designs.sketches import sensing
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.device import explain
from tacit.designs.sketches.messages import (
    LARGEST_COUNT,
    METHODS,
    UNITS,
    WHOLE,
    Campaign,
    Clusters,
    MessageError,
    Report,
    catalogue_digest,
    micros,
)

SEED = bytes(range(16))
SECRETS = (bytes([7]) * 32, bytes(range(100, 164)))
NUMBERS: list[Any] = list(range(1, 41))
TITLES: list[Any] = [f"film {number}" for number in range(60)]
ODD: list[Any] = [1, "1", "", "é", "😀", "\ud800", "\u202egnp", "a\tb", 2**53, 2**60, -3, "s1"]
LISTS: tuple[list[Any], ...] = (NUMBERS, TITLES, ODD)
ASKED: list[dict[str, Any]] = [
    *(
        {"method": method, "unit": unit, "questions": questions}
        for method in METHODS[:3]
        for unit in UNITS
        for questions in ((1, 3, 6) if method != "pairwise-rated" else (1,))
    ),
    {"questions": 32, "theta": 0.1, "rated": 8, "epsilon": 0.000001},
    {"questions": 1, "epsilon": 12.5, "liked_from": -1.5},
    {"method": "pairwise-preference", "questions": 32, "epsilon": 3.0},
    {"rated": 1, "theta": 0.05, "questions": 5, "epsilon": 20.0},
    {"method": "pairwise-identical", "questions": 3, "liked_from": 3.0},
    {"method": "pairwise-identical", "questions": 32, "epsilon": 20.0},
    {"method": "pairwise-rated-identical", "unit": "rating", "epsilon": 20.0},
    {"method": "pairwise-rated-identical", "liked_from": 20.0, "epsilon": 20.0},
]
_SHORT: tuple[list[Any], ...] = ([], [1, "1"], ["\udfff"])
LIMITS: dict[str, Any] = {"epsilon": 20.0, "lifetime": 40.0, "units": UNITS, "rated_pairs": True}


def asked(items: list[Any], **wanted: Any) -> Campaign:
    """A campaign about these items; small enough for the shortest list."""
    fields: dict[str, Any] = {"rated": 6, "epsilon": 1.0, "theta": 0.9, "seed": SEED}
    return new_campaign(items, **(fields | {"closes": 2_000_000_000} | wanted))


def stars(items: list[Any], every: int) -> dict[Any, float]:
    """Half stars from 0.5 to 5 for every so-many-th item, and one item that no list has."""
    rated = items[::every]
    return {item: 0.5 + (3 * number) % 10 / 2 for number, item in enumerate(rated)} | {
        "elsewhere": 5.0
    }


def answers() -> list[dict[str, Any]]:
    found = []
    for number, wanted in enumerate(ASKED):
        items = LISTS[number % len(LISTS)]
        campaign = asked(items, **wanted)
        home = stars(items, 1 + number % 3)
        found.append(answer([campaign.encode()], items, home, SECRETS[number % 2], LIMITS))
    return found


def explained(vector: dict[str, Any], items: list[Any]) -> dict[str, Any]:
    """A campaign, its answer, and what a person is told about that."""
    campaign = Campaign.decode(bytes.fromhex(vector["campaigns"][0]))
    report = Report.decode(bytes.fromhex(vector["report"]))
    meaning = explain(campaign, report, items)
    return {name: vector[name] for name in ("campaigns", "report", "catalogue")} | {
        "explained": meaning
    }


def capped() -> list[dict[str, Any]]:
    """As many likes as a device uses, one less and one more; hardly a bit is turned round."""
    campaign = asked(NUMBERS, rated=2, theta=0.1, questions=20, epsilon=80.0)
    generous = LIMITS | {"epsilon": 80.0, "lifetime": 80.0}
    return [
        answer([campaign.encode()], NUMBERS, dict.fromkeys(NUMBERS[:likes], 5.0), secret, generous)
        for likes in (1, 2, 3)
        for secret in SECRETS
    ]


def most_truthful(campaign: Campaign) -> Campaign:
    """With the highest chance of the truth that its epsilon allows."""
    low, high = campaign.truth, campaign.truth + 2**30
    while low + 1 < high:
        middle = (low + high) // 2
        try:
            replace(campaign, truth=middle)
            low = middle
        except MessageError:
            high = middle
    return replace(campaign, truth=low)


def messages() -> list[dict[str, Any]]:
    """Ends of every range."""
    whole = asked(NUMBERS)
    return [
        *map(readable, (whole, most_truthful(whole))),
        readable(most_truthful(asked(NUMBERS, questions=3, epsilon=7.5))),
        readable(
            replace(whole, truth=WHOLE // 2, epsilon=1, closes=WHOLE, liked_from=-LARGEST_COUNT)
        ),
        readable(asked(NUMBERS, epsilon=float("inf"))),
        readable(replace(whole, n_items=LARGEST_COUNT, rated=LARGEST_COUNT, theta=LARGEST_COUNT)),
        readable(Report(bytes(8), 2**64 - 1, 2**32 - 1)),
        readable(Report(bytes(8), 0, 0, (LARGEST_COUNT - 1, LARGEST_COUNT))),
        readable(Clusters(bytes(32), bytes(32), b"\xff\0", (LARGEST_COUNT, -LARGEST_COUNT))),
    ]


def questions() -> list[dict[str, Any]]:
    found = []
    for items, ticket in ((NUMBERS, 0), (TITLES, 2**64 - 1), (ODD, 0x0123456789ABCDEF)):
        wanted: dict[str, Any]
        for wanted in ({"questions": 3}, {"method": "pairwise-preference", "questions": 32}):
            campaign = asked(items, **wanted)
            known = {"campaign": campaign.encode().hex(), "ticket": f"{ticket:016x}"}
            sets: Any = sensing.sensed_sets if campaign.asks_about_sets else sensing.pairs
            found.append(known | {"asked": [list(one) for one in sets(campaign, ticket)]})
    return found


def recommendations() -> list[dict[str, Any]]:
    found = []
    for number, items in enumerate(LISTS):
        labels = bytes((7 * item) % 3 * 127 for item in range(len(items)))
        scores = tuple((item * 1_000_003) % 11 - 5 for item in range(len(items)))
        name = asked(items).digest
        clusters = Clusters(name, catalogue_digest(items), labels, scores).encode()
        for every, n in ((2, 5), (3, 100), (100, 0)):
            history = stars(items, every)
            found.append(recommendation(clusters, items, history, liked_from=3.5 - number, n=n))
    return found


def content() -> dict[str, list[Any]]:
    return {
        "catalogues": [
            {"items": [tagged(item) for item in items], "digest": catalogue_digest(items).hex()}
            for items in (*LISTS, *_SHORT)
        ],
        "limits": [
            {"nats": nats, "micros": micros(nats)}
            for nats in (0, 0.1, 0.3, 1 / 3, 1.0, 2.000001, 1e-7, 12345.678901, 1e-300, 2**0.5)
        ],
        "questions": questions(),
        "messages": messages(),
        "answers": [*answers(), *capped()],
        "explanations": [
            explained(vector, LISTS[number % len(LISTS)]) for number, vector in enumerate(answers())
        ],
        "recommendations": recommendations(),
    }
