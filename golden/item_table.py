"""Golden lists at home: item tables, whole levels, and the order that every client has to find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from golden.vectors import Item, Vector, message, outcome, readable, tagged
from tacit.designs.sketches.sensing import draw_below, random_words
from tacit.designs.standard_scheme.messages import ItemTable, weights_of_levels

ITEMS: tuple[Item, ...] = (12, "12", "é", "😀", -7, 2**53, 2**60, "", 'a "b"\\\n\u2028', 40)
DIGEST = "0123456789abcdef"
SMALL = ItemTable(DIGEST, weights_of_levels(5), (((1,), (7,)), ((0,), (-7,)), ((), ())))


def table(n_items: int, levels: int, seed: int, *, largest: int = 60_000) -> ItemTable:
    """Weights that mean nothing; some items have none."""
    stream = random_words(bytes(16), seed)

    def column(item: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        share = draw_below(stream, 4)
        rows = [row for row in range(n_items) if row != item and draw_below(stream, 4) < share]
        weights = [draw_below(stream, 2 * largest) - largest or 1 for _ in rows]
        return tuple(rows[:256]), tuple(weights[:256])

    return ItemTable(DIGEST, weights_of_levels(levels), tuple(map(column, range(n_items))))


def ranking(made: ItemTable, items: Sequence[Item], levels: Mapping[Item, Any]) -> Vector:
    """What a device makes of a table and its owner's whole levels."""

    def ranked() -> list[list[Any]]:
        return [[tagged(item), preference] for item, preference in made.rank(items, levels)]

    return {
        "table": made.encode().decode(),
        "items": [tagged(item) for item in items],
        "levels": [[tagged(item), level] for item, level in levels.items()],
        **outcome("ranked", ranked),
    }


def rankings() -> list[Vector]:
    found = []
    for seed, scale in enumerate((5, 10, 2, 11)):
        made = table(len(ITEMS), scale, seed)
        for rated in (0, 1, 4, len(ITEMS)):
            levels = {item: (3 * n + seed) % scale for n, item in enumerate(ITEMS[:rated])}
            found.append(ranking(made, ITEMS, levels | {"elsewhere": 0}))
    equal = ItemTable(DIGEST, (1, 10), tuple(((), ()) for _ in ITEMS))
    huge = table(len(ITEMS), 5, 9, largest=10**9)
    wide = table(60, 5, 10)
    return [
        *found,
        ranking(equal, ITEMS, {12: 1}),
        ranking(huge, ITEMS, dict.fromkeys(ITEMS[:5], 4)),
        ranking(wide, range(60), {n: n % 5 for n in range(0, 60, 3)}),
        ranking(SMALL, (), {}),
        ranking(SMALL, ITEMS, {}),
        *(ranking(SMALL, ITEMS[:3], {12: level}) for level in (-1, 5, 2**53 + 1)),
    ]


def refused() -> list[Vector]:
    """Bytes that are no item table."""
    whole = SMALL.encode()
    column = b"[[1],[7]]"
    changes = (
        ("an item's own weight", column, b"[[0],[7]]"),
        ("an item beyond the last", column, b"[[3],[7]]"),
        ("an item before the first", column, b"[[-1],[7]]"),
        ("an item twice", column, b"[[1,1],[7,7]]"),
        ("items that go down", column, b"[[2,1],[7,7]]"),
        ("an item without its weight", column, b"[[1],[]]"),
        ("a weight without its item", column, b"[[],[7]]"),
        ("a weight of 0", column, b"[[1],[0]]"),
        ("a weight beyond the largest", column, b"[[1],[1000000001]]"),
        ("a weight that is a float", column, b"[[1],[7.0]]"),
        ("a weight that is a text", column, b'[[1],["7"]]'),
        ("a column that is a number", column, b"7"),
        ("a column of three", column, b"[[1],[7],[7]]"),
        ("no columns", whole[whole.index(b"[[[") : whole.index(b',"disclosure"')], b"null"),
        ("a level that counts for more", b"10,10", b"10,11"),
        ("a level that counts for less than nothing", b"10,10", b"10,-1"),
        ("one level", b"[3,3,3,10,10]", b"[3]"),
        ("no digest", b'"0123456789abcdef"', b"7"),
        ("a key more", b'"version"', b'"users":7,"version"'),
        ("a space", b",", b", "),
        ("another message", b'"item-table"', b'"scores"'),
    )
    spoilt = [(why, whole.replace(old, new, 1)) for why, old, new in changes]
    return [message(ItemTable, data, why) for why, data in spoilt]


def content() -> dict[str, list[Any]]:
    tables = (SMALL, table(len(ITEMS), 10, 3), replace(SMALL, columns=()))
    return {
        "rankings": rankings(),
        "messages": [readable(made) for made in tables],
        "refused": refused(),
    }
