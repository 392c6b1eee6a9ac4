"""A small disclosure, its public log and item table, and what a service answers to a letter."""

from __future__ import annotations

import json

from tacit.designs.standard_scheme.disclosure import RELEASES, AttributeTable, Disclosure
from tacit.designs.standard_scheme.epochs import calendar_epoch
from tacit.designs.standard_scheme.messages import WEEK, ItemTable, Release, Scores

FILMS = (12, "12", "é", *range(40, 77))
"""Items of the disclosure."""


def disclosure(shift=0):
    """Tables of two values. shift: another number gives another digest."""
    chances = [
        tuple(950_000 if (n + value) % 2 else 300_000 for n in range(len(FILMS)))
        for value in range(2)
    ]
    offsets = [tuple(sign * (100_000 + shift + n) for n in range(len(FILMS))) for sign in (1, -1)]
    table = AttributeTable("gender", ("F", "M"), tuple(offsets), tuple(chances), (), ())
    rule = RELEASES["scheme+selection+rounding"]
    return Disclosure(rule, 1.0, 1.0, 5, FILMS, WEEK, (), (), (table,))


DISCLOSURE = disclosure()
ITEM_TABLE = ItemTable(
    DISCLOSURE.digest,
    (3, 3, 3, 10, 10),
    tuple(((n - 1,), (100_000 - n,)) if n else ((), ()) for n in range(len(FILMS))),
)
NOW = 1_800_000_000
"""The second at which accounts of tests are made."""


def scores(body):
    shown = Release.decode(body).disclosure
    rows = tuple((item, 1_500_000, number % 7) for number, item in enumerate(FILMS))
    return Scores(shown, rows).encode()


def log(*digests):
    """A log with these digests, in the epochs up to that of NOW."""
    last = calendar_epoch(NOW, WEEK)
    epochs = range(last - len(digests) + 1, last + 1)
    rows = [{"epoch": e, "digest": d} for e, d in zip(epochs, digests, strict=True)]
    return json.dumps({"log": rows}).encode()
