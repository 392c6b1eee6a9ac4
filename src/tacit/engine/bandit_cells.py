"""The cells of a compiled bandit: found by hash, made when a person comes, forgotten when too many.

One flat array of 8-byte words holds all there is, so that a call hands over one argument: a head,
each level's width and control functions, the keys, the context at hand, the nodes, and an open
table of where they are. `words` is that array as int64, `numbers` the same memory as float64.

Nodes   A node is the place where its words begin: which cell it is and who came, then means, sums
        and counts of all arms, then the trainings of the neighbours.
Names   A cell is known by two 64-bit hashes of its level and slices: sums of slices times random
        odd words, mixed. Of slices below 2^b, two different cells share their name with a chance of
        at most 2^(2b - 128) over those words, any two of a million cells with 2^(2b - 89).
Order   With a bound, nodes are linked from the longest unvisited to the last visited.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

(
    DIMENSION, LEVELS, OWN, ARMS, SHIFTS, FINEST, INHERIT, MOST, NODE, LAST_PLACE,
    WIDTHS, RULES, KEYS, FINE, NODES, TABLE, END,
    USED, OLDEST, NEWEST, ARRIVALS, PENDING, ARM, PHASE,
) = range(24)  # fmt: skip
HEAD = 24
KEY, OTHER_KEY, LEVEL, VISITORS, SPLIT, OLDER, NEWER, MEANS = range(8)
SPLIT_AFTER, TRIED, TRAINED, HEARD, COLUMNS = 0, 1, 3, 5, 7
FULL, OUTSIDE, SHAPE = -1, -2, -3

compiled = numba.njit(nogil=True, error_model="numpy")
inlined = numba.njit(nogil=True, error_model="numpy", inline="always")


@inlined
def _mix(number: Any) -> Any:
    word = np.uint64(number)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(word ^ (word >> np.uint64(31)))


@compiled
def quantise(words: Any, context: Any) -> int:
    """Keep the context's slices at the finest level; 0, or what is wrong with it."""
    begin = words[FINE]
    if len(context) != words[DIMENSION]:
        return SHAPE
    fine = words[begin : begin + len(context)]
    finest, last = np.float64(words[FINEST]), words[FINEST] - 1
    inside = True
    for j in range(len(context)):
        feature = context[j]
        inside &= (feature >= 0.0) & (feature <= 1.0)  # false for NaN as well
        fine[j] = min(np.int64(feature * finest), last)
    return 0 if inside else OUTSIDE


@compiled
def _name(words: Any, level: int) -> Any:
    """Both hashes of the cell of this level that holds the context at hand."""
    one = other = np.int64(0)
    dimension = words[DIMENSION]
    if level > 0:
        width = words[words[WIDTHS] + level]
        begin = words[KEYS]
        keys, others = words[begin : begin + dimension], words[begin + dimension : words[FINE]]
        fine = words[words[FINE] : words[FINE] + dimension]
        if words[SHIFTS]:
            for j in range(dimension):
                place = fine[j] >> width
                one += keys[j] * place
                other += others[j] * place
        else:
            for j in range(dimension):
                place = fine[j] // width
                one += keys[j] * place
                other += others[j] * place
    return _mix(one + level), _mix(other - level)


@inlined
def _lookup(words: Any, key: Any, other: Any) -> Any:
    """The node of that name, or 0."""
    table, last = words[TABLE], words[LAST_PLACE]
    place = key & last
    node = words[table + place]
    while node != 0 and not (words[node] == key and words[node + OTHER_KEY] == other):
        place = (place + 1) & last
        node = words[table + place]
    return node


@compiled
def enter(words: Any, node: int) -> None:
    """Put a node into the table."""
    table, last = words[TABLE], words[LAST_PLACE]
    place = words[node + KEY] & last
    while words[table + place] != 0:
        place = (place + 1) & last
    words[table + place] = node


@compiled
def _leave(words: Any, node: int) -> None:
    """Take a node out of the table; those behind it move up, so that no search ends early."""
    table, last = words[TABLE], words[LAST_PLACE]
    hole = words[node + KEY] & last
    while words[table + hole] != node:
        hole = (hole + 1) & last
    place = (hole + 1) & last
    while words[table + place] != 0:
        home = words[words[table + place] + KEY] & last
        if (place - home) & last >= (place - hole) & last:
            words[table + hole] = words[table + place]
            hole = place
        place = (place + 1) & last
    words[table + hole] = 0


@compiled
def _unlink(words: Any, node: int) -> None:
    older, newer = words[node + OLDER], words[node + NEWER]
    words[older + NEWER if older else OLDEST] = newer
    words[newer + OLDER if newer else NEWEST] = older


@compiled
def _append(words: Any, node: int) -> None:
    """The last to be forgotten."""
    newest = words[NEWEST]
    words[node + OLDER], words[node + NEWER] = newest, 0
    words[newest + NEWER if newest else OLDEST] = node
    words[NEWEST] = node


@compiled
def _make(words: Any, level: int, key: Any, other: Any, parent: Any) -> Any:
    """A new node, in the place of the longest unvisited if there are `most` of them; or FULL."""
    size = words[NODE]
    node = words[NODES] + words[USED] * size
    if node < words[TABLE]:
        words[USED] += 1
    elif words[USED] == words[MOST]:
        node = words[OLDEST]
        _leave(words, node)
        _unlink(words, node)
    else:
        return FULL
    for place in range(MEANS, size):
        words[node + place] = words[parent + place] if parent else 0
    words[node + KEY], words[node + OTHER_KEY] = key, other
    words[node + LEVEL], words[node + VISITORS], words[node + SPLIT] = level, 0, 0
    enter(words, node)
    if words[MOST]:
        _append(words, node)
    return node


@compiled
def find(words: Any) -> Any:
    """The node in use that holds the context at hand, made if there was none; or FULL."""
    parent = np.int64(0)
    for level in range(words[LEVELS]):
        key, other = _name(words, level)
        node = _lookup(words, key, other)
        if node == 0:
            return _make(words, level, key, other, parent)
        if words[MOST] and words[NEWEST] != node:
            _unlink(words, node)
            _append(words, node)
        if not words[node + SPLIT]:
            return node
        if words[INHERIT]:
            parent = node
    return FULL
