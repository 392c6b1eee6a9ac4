"""Votes counted for blocks of 64 clients and charged after the feedback, in one compiled pass.

Voters come in chunks that stay in fast memory while each step passes over them; nothing of the size
of all voters is allocated. Shapes and rules are in `votes`; tests hold every count and every bit
equal to a readable version. A vote for no object raises; in the votes of a round that was never
tallied it may be met late, and the states of the voters are then good for nothing.

Counting   Each object has 64 counters of a byte, a cache line that a voter's word is added to at
           once, and is emptied into wide counters every 255 voters. Where few words have a bit,
           they are sorted out first. 64 bits are added to 64 counters in a few instructions: the
           compiler learns that a word is a row of single bits and finds the vector instructions of
           the machine (three per 32 counters on AVX2); written as a loop it does not. Bit c of the
           word goes to counter c, as every processor that Numba runs on has it (all store the low
           byte first).
One        client alone has a byte for each voter in place of a word, and four plain counters of
           each object.
Charging   Credits are planes of words, a binary digit each. One is taken from 64 of them by a
           borrow that runs through the planes, mostly not far; where it leaves the last one the
           voter is out.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tacit.engine.votes import (
    CLIENTS,
    Counts,
    Credits,
    States,
    Votes,
    Words,
    check,
    check_charges,
    unknown_object_error,
)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _add_bits(typing: Any, counters: Any, position: Any, word: Any) -> Any:
    """Compile `add_bits(counters, position, word)` for kernels.

    It adds bit c of the uint64 word to counters[position + c], uint8; bounds are not checked.
    """
    del typing, word  # Numba hands them over; the signature does not depend on them

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        row = ir.VectorType(ir.IntType(8), 64)
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.PointerType(row))
        bits = builder.bitcast(arguments[2], ir.VectorType(ir.IntType(1), 64))
        # A set bit, extended with its sign, is -1.
        sums = builder.sub(builder.load(place, align=1), builder.sext(bits, row))
        builder.store(sums, place, align=1)
        return context.get_dummy_value()

    return types.void(counters, position, types.uint64), generate


add_bits: Any = _add_bits

_CHUNK = 1024
"""Voters that all steps of a pass are done for before the next ones: what is held of them stays in
the fastest memory. A multiple of 8, and at most 8 * 255."""
_LONG_CHUNK = 128 * _CHUNK
"""The same with one client, whose voters have a byte each: long, for a step takes little time."""
_FEW = 16
"""Where fewer than one in so many counts for anybody, it pays to ask before adding."""
_NOBODY = np.uint64(0)

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_ONE, _FULL = np.uint8(1), np.uint8(255)
_LINE = np.uint64(6)


@_compiled
def _are_objects_known(votes: Any, objects: int) -> bool:
    """Tell whether every vote is for an object below `objects`."""
    largest = votes[0]
    for i in range(len(votes)):
        largest = max(largest, votes[i])
    within: bool = largest < objects
    return within


@_compiled
def _are_few(alive: Any) -> bool:
    living = 0
    for i in range(len(alive)):
        living += alive[i] != 0
    return living * _FEW < len(alive)


@_compiled
def _count(votes: Any, alive: Any, small: Any, filled: Any, wide: Any) -> None:
    for i in range(len(votes)):
        line = np.uint64(votes[i])
        add_bits(small, line << _LINE, alive[i])
        level = np.uint8(filled[line] + _ONE)
        filled[line] = level
        if level == _FULL:  # a call here, or a part of an array, would slow all voters down
            for c in range(CLIENTS):
                at = (line << _LINE) + np.uint64(c)
                wide[line, c] += small[at]
                small[at] = 0
            filled[line] = 0


@_compiled
def _copy_living(votes: Any, alive: Any, some_votes: Any, some_words: Any) -> int:
    """Copy the votes and words of those who count for anybody; give how many they are."""
    found = np.uint64(0)
    for i in range(len(votes)):
        some_votes[found], some_words[found] = votes[i], alive[i]
        found += np.uint64(alive[i] != _NOBODY)
    return np.int64(found)  # type: ignore[return-value]


@_compiled
def _count_chunk(
    votes: Any, alive: Any, some_votes: Any, some_words: Any, small: Any, filled: Any, wide: Any
) -> None:
    if _are_few(alive):
        found = _copy_living(votes, alive, some_votes, some_words)
        _count(some_votes[:found], some_words[:found], small, filled, wide)
    else:
        _count(votes, alive, small, filled, wide)


@_compiled
def _keep_and_tally(
    last: Any, kept: Any, votes: Any, alive: Any, small: Any, filled: Any, wide: Any
) -> Any:
    counted = True
    some_votes, some_words = np.empty(_CHUNK, votes.dtype), np.empty(_CHUNK, np.uint64)
    for begin in range(0, len(votes), _CHUNK):
        before, chosen = last[begin : begin + _CHUNK], votes[begin : begin + _CHUNK]
        words = alive[begin : begin + _CHUNK]
        if not _are_objects_known(before, len(kept)):
            return False, False
        for i in range(len(before)):
            words[i] &= kept[np.uint64(before[i])]
        counted = counted and _are_objects_known(chosen, len(wide))
        if counted:
            _count_chunk(chosen, words, some_votes, some_words, small, filled, wide)
    return True, counted


_inline = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")


@_compiled
def _decrease(planes: Any, begin: int, hit: Any) -> None:
    """Take one from the counters that are hit; what is left in `hit` are those that were at 0."""
    for k in range(len(planes)):
        words = planes[k, begin : begin + len(hit)]
        some = _NOBODY
        for i in range(len(words)):
            word = words[i]
            words[i] = word ^ hit[i]
            hit[i] &= ~word
            some |= hit[i]
        if some == _NOBODY:
            return


@_compiled
def _charge_chunk(
    votes: Any,
    diverse: Any,
    radius: Any,
    both: Any,
    near: Any,
    alive: Any,
    begin: int,
    one: Any,
    other: Any,
) -> None:
    """one, other: (_CHUNK,) words to work in."""
    one, other = one[: len(votes)], other[: len(votes)]
    words = alive[begin : begin + len(votes)]
    for i in range(len(votes)):
        vote = np.uint64(votes[i])
        disliked = radius[vote] & words[i]
        one[i] = disliked
        other[i] = disliked | (diverse[vote] & words[i])
    _decrease(near, begin, one)
    _decrease(both, begin, other)
    for i in range(len(words)):
        words[i] &= ~(one[i] | other[i])


@_compiled
def _charge_and_tally(
    last: Any,
    diverse: Any,
    radius: Any,
    both: Any,
    near: Any,
    alive: Any,
    votes: Any,
    small: Any,
    filled: Any,
    wide: Any,
    total: Any,
) -> Any:
    """total: (64,), where the credit beyond the first is added."""
    counted = True
    one, other = np.empty(_CHUNK, np.uint64), np.empty(_CHUNK, np.uint64)
    some_votes, some_words = np.empty(_CHUNK, votes.dtype), np.empty(_CHUNK, np.uint64)
    for begin in range(0, len(votes), _CHUNK):
        before, chosen = last[begin : begin + _CHUNK], votes[begin : begin + _CHUNK]
        if not _are_objects_known(before, len(radius)):
            return False, False
        _charge_chunk(before, diverse, radius, both, near, alive, begin, one, other)
        counted = counted and _are_objects_known(chosen, len(wide))
        if counted:
            words = alive[begin : begin + _CHUNK]
            _count_chunk(chosen, words, some_votes, some_words, small, filled, wide)
            _total_credit(both[:, begin : begin + _CHUNK], words, False, total)
    return True, counted


@_inline
def _full_add(one: Any, other: Any, third: Any) -> Any:
    """64 sums of three bits each: the twos and the ones."""
    odd = one ^ other
    return (one & other) | (odd & third), odd ^ third


@_compiled
def _add_columns(words: Any, alive: Any, weight: int, small: Any, total: Any) -> None:
    """For each bit, how many of a chunk's living words have it, times the weight; small: (128,)."""
    small[:] = 0
    ones, twos, fours = _NOBODY, _NOBODY, _NOBODY
    until = len(words) // 8 * 8
    for i in range(0, until, 8):
        a, ones = _full_add(ones, words[i] & alive[i], words[i + 1] & alive[i + 1])
        b, ones = _full_add(ones, words[i + 2] & alive[i + 2], words[i + 3] & alive[i + 3])
        c, twos = _full_add(twos, a, b)
        a, ones = _full_add(ones, words[i + 4] & alive[i + 4], words[i + 5] & alive[i + 5])
        b, ones = _full_add(ones, words[i + 6] & alive[i + 6], words[i + 7] & alive[i + 7])
        d, twos = _full_add(twos, a, b)
        eights, fours = _full_add(fours, c, d)
        add_bits(small, np.uint64(0), eights)
    rest = np.uint64(CLIENTS)
    for i in range(until, len(words)):
        add_bits(small, rest, words[i] & alive[i])
    add_bits(small, rest, ones)
    for _ in range(2):
        add_bits(small, rest, twos)
    for _ in range(4):
        add_bits(small, rest, fours)
    for c in range(CLIENTS):
        total[c] += weight * (8 * np.int64(small[c]) + np.int64(small[CLIENTS + c]))


@_compiled
def _total_credit(planes: Any, alive: Any, first: bool, total: Any) -> None:
    """Add the credit of the living to total; their first credit only where it is wanted."""
    small = np.empty(2 * CLIENTS, np.uint8)
    for begin in range(0, len(alive), _CHUNK):
        words = alive[begin : begin + _CHUNK]
        if first:
            _add_columns(words, words, 1, small, total)
        for k in range(len(planes)):
            _add_columns(planes[k, begin : begin + _CHUNK], words, 1 << k, small, total)


@_compiled
def _keep_one(last: Any, alive: Any, chosen: Any, liked: bool, votes: Any) -> Any:
    """Stop counting the voters of a disliked object, or all but those of a liked one.

    Returns the largest of `votes`, which are read on the way.
    """
    largest = np.uint16(0)
    if liked:
        for i in range(len(last)):
            alive[i] &= np.uint8(last[i] == chosen)
            largest = max(largest, votes[i])
    else:
        for i in range(len(last)):
            alive[i] &= np.uint8(last[i] != chosen)
            largest = max(largest, votes[i])
    return largest


@_compiled
def _count_one(votes: Any, alive: Any, counters: Any) -> None:
    """Add each voter's 0 or 1 to the counter of its vote.

    Four votes are read as one word, and go to four sets of counters (4, objects): so no addition
    waits for the one before where two vote alike.
    """
    four_votes, four_states = votes.view(np.uint64), alive.view(np.uint32)
    first, second, third, fourth = counters[0], counters[1], counters[2], counters[3]
    vote, state = np.uint64(0xFFFF), np.uint64(0xFF)
    for i in range(len(four_votes)):
        chosen, living = four_votes[i], np.uint64(four_states[i])
        first[chosen & vote] += np.uint32(living & state)
        second[chosen >> np.uint64(16) & vote] += np.uint32(living >> np.uint64(8) & state)
        third[chosen >> np.uint64(32) & vote] += np.uint32(living >> np.uint64(16) & state)
        fourth[chosen >> np.uint64(48)] += np.uint32(living >> np.uint64(24))


@_compiled
def _keep_and_tally_one(
    last: Any, chosen: Any, liked: bool, votes: Any, alive: Any, has_answer: bool, counters: Any
) -> bool:
    whole = len(votes) // 4 * 4
    for begin in range(0, whole, _LONG_CHUNK):
        end = min(begin + _LONG_CHUNK, whole)
        now, states = votes[begin:end], alive[begin:end]
        if has_answer:
            known = _keep_one(last[begin:end], states, chosen, liked, now) < counters.shape[1]
        else:
            known = _are_objects_known(now, counters.shape[1])
        if not known:
            return False
        _count_one(now, states, counters)
    if has_answer:
        _keep_one(last[whole:], alive[whole:], chosen, liked, votes[whole:])
    for i in range(whole, len(votes)):
        if votes[i] >= counters.shape[1]:
            return False
        counters[0, votes[i]] += np.uint32(alive[i])
    return True


def tally_one(votes: Votes, alive: States, objects: int) -> Counts:
    """(1, objects): how many of those who count for the only client vote for each object."""
    return _tally_one(votes, 0, False, votes, alive, False, objects)


def keep_and_tally_one(
    last: Votes, chosen: int, liked: bool, votes: Votes, alive: States, objects: int
) -> Counts:
    """Count without credits for one client: who voted against its answer counts no more.

    Args:
        last: Votes of the last round.
        chosen: The object that the client was given.
        liked: Whether it liked it.
        votes: Votes of this round.
        alive: (n,) 1 for each voter who counts; changed in place.
        objects: Number of objects of this round.

    Returns:
        (1, objects) counts, as `tally_one` gives them.
    """
    check(last, alive, is_one_client=True)
    return _tally_one(last, chosen, liked, votes, alive, True, objects)


def _tally_one(
    last: Votes,
    chosen: int,
    liked: bool,
    votes: Votes,
    alive: States,
    has_answer: bool,
    objects: int,
) -> Counts:
    check(votes, alive, is_one_client=True)
    counters = np.zeros((4, objects), np.uint32)
    before, now = np.ascontiguousarray(last), np.ascontiguousarray(votes)
    answer = np.uint16(chosen), liked
    if not _keep_and_tally_one(before, *answer, now, alive, has_answer, counters):
        raise unknown_object_error(objects)
    return np.asarray(counters.sum(axis=0, dtype=np.int64)[None])


def tally(votes: Votes, alive: Words, objects: int) -> Counts:
    """(64, objects): for each client, how many of those who count for them vote for each object."""
    everything = np.full(objects, ~_NOBODY)
    return keep_and_tally(votes, everything, votes, alive, objects)


def keep_and_tally(last: Votes, kept: Words, votes: Votes, alive: Words, objects: int) -> Counts:
    """Count without credits: who voted for a kept object of the last round counts, in this one.

    Args:
        last: Votes of the last round.
        kept: (objects of the last round,) bit c is set where client c kept the object.
        votes: Votes of this round.
        alive: Who counts for which client; changed in place.
        objects: Number of objects of this round.

    Returns:
        (64, objects) counts, as `tally` gives them.
    """
    check(last, alive)
    check(votes, alive)
    counters = _counters(objects)
    before, now = np.ascontiguousarray(last), np.ascontiguousarray(votes)
    known, counted = _keep_and_tally(before, kept, now, alive, *counters)
    if not (known and counted):
        raise unknown_object_error(objects if known else len(kept))
    return _by_client(counters)


def total_credit(credit: Credits) -> Counts:
    """(64,): for each client the sum of creditD + creditR over the voters who count for them."""
    total = np.zeros(CLIENTS, np.int64)
    _total_credit(credit.both, credit.alive, True, total)
    return total


def charge_and_tally(
    last: Votes, diverse: Words, radius: Words, votes: Votes, credit: Credits, objects: int
) -> tuple[Counts, Counts]:
    """Charge the last round's voters, then `tally` this round's votes, and `total_credit`.

    Voters of the objects in `diverse` lose one creditD, those of the objects in `radius` one
    creditR; who has run out counts no more.

    diverse, radius: (objects of the last round,), a bit per client. After a like of j `diverse` has
    all objects but j, after a dislike `radius` has j alone. No object costs both at once.
    """
    check(last, credit.alive)
    check(votes, credit.alive)
    check_charges(diverse, radius)
    counters, total = _counters(objects), np.zeros(CLIENTS, np.int64)
    before, now = np.ascontiguousarray(last), np.ascontiguousarray(votes)
    state = credit.both, credit.radius, credit.alive
    known, counted = _charge_and_tally(before, diverse, radius, *state, now, *counters, total)
    if not (known and counted):
        raise unknown_object_error(objects if known else len(radius))
    counts = _by_client(counters)
    return counts, total + counts.sum(axis=1)


def _counters(objects: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Counts]:
    """Make small counters, what the fullest of an object can hold, and wide counters.

    Their shapes are (objects * 64,), which begins with a cache line, (objects,) and (objects, 64).
    """
    room = np.zeros((objects + 1) * CLIENTS, np.uint8)
    begin = -room.ctypes.data % CLIENTS
    small = room[begin : begin + objects * CLIENTS]
    return small, np.zeros(objects, np.uint8), np.zeros((objects, CLIENTS), np.int64)


def _by_client(counters: tuple[NDArray[np.uint8], NDArray[np.uint8], Counts]) -> Counts:
    small, _, wide = counters
    wide += small.reshape(wide.shape)
    return np.ascontiguousarray(wide.T)
