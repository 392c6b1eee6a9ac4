"""Compiled passes over the votes of p-REC: count them, and update the voters after feedback.

Voters are handled in chunks that stay in a fast cache while each step passes over them; nothing of
the size of all voters is allocated, unless votes are not contiguous. Shapes and rules are in
`votes`. Tests compare counts and bits with a readable version.

Counting   Each object has 64 counters of a byte, which are one cache line. A voter's word is added
           to them at once. After 255 votes for an object, its counters are added to wide counters
           and cleared. If few words of a chunk have any bit set, those words are copied out first.
           64 bits are added to 64 counters in a few instructions: Numba gets a word as a vector of
           single bits, and then uses the vector instructions of the machine (three per 32 counters
           on AVX2). It does not use them for a loop over bits. Bit c is added to counter c, since
           all processors that Numba supports store the low byte first.
One client The functions `..._one` are for a single client: a byte for each voter in place of a
           word, and four sets of plain counters.
Charging   Credits are stored in bit planes. One credit is subtracted from 64 numbers by a borrow
           that runs through the planes, from the lowest bit up, and mostly ends after a few. A
           voter no longer counts for those clients for whom the borrow leaves the last plane.
Errors     A vote of this round for an object that does not exist raises DataError. So does such a
           vote of the last round, except with one client. The states of some or all voters may have
           been changed by then, so they must not be used after an error.
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

    `add_bits` adds bit c of the uint64 word to the uint8 counters[position + c], for c = 0 .. 63.
    Bounds are not checked.
    """
    del typing, word  # Numba hands them over; the signature does not depend on them

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
        counters_array, first_counter, word = arguments
        counters_type, *_ = signature.args
        data = context.make_array(counters_type)(context, builder, counters_array).data
        row = ir.VectorType(ir.IntType(8), 64)
        place = builder.bitcast(builder.gep(data, [first_counter]), ir.PointerType(row))
        bits = builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))
        # A set bit, extended with its sign, is -1.
        sums = builder.sub(builder.load(place, align=1), builder.sext(bits, row))
        builder.store(sums, place, align=1)
        return context.get_dummy_value()

    return types.void(counters, position, types.uint64), generate


add_bits: Any = _add_bits

_CHUNK = 1024
"""Number of voters of a chunk, whose words stay in the fastest cache. It must be a multiple of 8
and at most 8 * 255."""
_LONG_CHUNK = 128 * _CHUNK
"""Number of voters of a chunk for one client; more, since these have only a byte each."""
_FEW = 16
"""If fewer than one voter in this many counts for any client, the words of those who do are copied
out first."""
_NOBODY = np.uint64(0)
"""The word of a voter who counts for no client."""

_compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_ONE, _FULL = np.uint8(1), np.uint8(255)
"""One vote, and the largest number of votes that a counter of a byte can hold."""
_LINE = np.uint64(6)
"""Shift that turns the number of an object into the index of the first of its 64 counters."""


@_compiled
def _are_objects_known(votes: Any, objects: int) -> bool:
    """Tell whether all votes, of which there is at least one, are for objects below `objects`."""
    largest = votes[0]
    for i in range(len(votes)):
        largest = max(largest, votes[i])
    are_known: bool = largest < objects
    return are_known


@_compiled
def _are_few(alive: Any) -> bool:
    """Tell whether fewer than one voter in `_FEW` counts for any client."""
    counting = 0
    for i in range(len(alive)):
        counting += alive[i] != 0
    return counting * _FEW < len(alive)


@_compiled
def _count(votes: Any, alive: Any, small: Any, filled: Any, wide: Any) -> None:
    """Count votes for each client; `small`, `filled` and `wide` are those of `_make_counters`.

    Args:
        votes: (voters,) votes for known objects.
        alive: (voters,) bit c is set if the voter counts for client c.
        small: Changed in place.
        filled: Changed in place.
        wide: Changed in place.
    """
    for i in range(len(votes)):
        line = np.uint64(votes[i])
        add_bits(small, line << _LINE, alive[i])
        votes_held = np.uint8(filled[line] + _ONE)
        filled[line] = votes_held
        if votes_held == _FULL:  # written out, since a function or a slice would slow the loop down
            for c in range(CLIENTS):
                counter = (line << _LINE) + np.uint64(c)
                wide[line, c] += small[counter]
                small[counter] = 0
            filled[line] = 0


@_compiled
def _copy_living(votes: Any, alive: Any, some_votes: Any, some_words: Any) -> int:
    """Copy the votes and words of the voters who count for any client; return their number."""
    copied = np.uint64(0)
    for i in range(len(votes)):
        # The copy of a voter who counts for no client is overwritten by the next voter's.
        some_votes[copied], some_words[copied] = votes[i], alive[i]
        copied += np.uint64(alive[i] != _NOBODY)
    return np.int64(copied)  # type: ignore[return-value]


@_compiled
def _count_chunk(
    votes: Any, alive: Any, some_votes: Any, some_words: Any, small: Any, filled: Any, wide: Any
) -> None:
    """Count the votes of a chunk.

    `small`, `filled` and `wide` are those of `_make_counters`; `some_votes` and `some_words`, of
    the length _CHUNK, are scratch.
    """
    if _are_few(alive):
        copied = _copy_living(votes, alive, some_votes, some_words)
        _count(some_votes[:copied], some_words[:copied], small, filled, wide)
    else:
        _count(votes, alive, small, filled, wide)


@_compiled
def _keep_and_tally(
    last_votes: Any, kept: Any, votes: Any, alive: Any, small: Any, filled: Any, wide: Any
) -> Any:
    """Update `alive` by the last round and count this round's votes.

    The arguments are those of `keep_and_tally`, and `small`, `filled` and `wide` of
    `_make_counters`.

    Returns:
        Whether all votes of the last round are for known objects, and whether all votes of this
        round are. After an unknown object of the last round the pass ends, and both are False.
    """
    are_known = True
    some_votes, some_words = np.empty(_CHUNK, votes.dtype), np.empty(_CHUNK, np.uint64)
    for begin in range(0, len(votes), _CHUNK):
        last_chunk, chunk = last_votes[begin : begin + _CHUNK], votes[begin : begin + _CHUNK]
        words = alive[begin : begin + _CHUNK]
        if not _are_objects_known(last_chunk, len(kept)):
            return False, False
        for i in range(len(last_chunk)):
            words[i] &= kept[np.uint64(last_chunk[i])]
        are_known = are_known and _are_objects_known(chunk, len(wide))
        if are_known:
            _count_chunk(chunk, words, some_votes, some_words, small, filled, wide)
    return True, are_known


_inline = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")


@_compiled
def _decrease(planes: Any, begin: int, hit: Any) -> None:
    """Subtract 1 from the numbers of those voters and clients whose bits are set in `hit`.

    Args:
        planes: (bits, n) bit planes of all voters, changed in place.
        begin: Index of the first voter of the chunk.
        hit: (voters of the chunk,) words, changed in place. Afterwards a bit is still set only if
            its number was 0 before, so that nothing could be subtracted.
    """
    for k in range(len(planes)):
        words = planes[k, begin : begin + len(hit)]
        borrows = _NOBODY
        for i in range(len(words)):
            word = words[i]
            words[i] = word ^ hit[i]
            hit[i] &= ~word
            borrows |= hit[i]
        if borrows == _NOBODY:
            return


@_compiled
def _charge_chunk(
    votes: Any,
    loses_diversity: Any,
    loses_radius: Any,
    both_planes: Any,
    radius_planes: Any,
    alive: Any,
    begin: int,
    radius_hits: Any,
    both_hits: Any,
) -> None:
    """Charge the voters of a chunk, and clear the bits of `alive` of those who no longer count.

    Args:
        votes: (voters of the chunk,) votes of the last round.
        loses_diversity: As in `charge_and_tally`.
        loses_radius: As in `charge_and_tally`.
        both_planes: `Credits.both`, changed in place.
        radius_planes: `Credits.radius`, changed in place.
        alive: `Credits.alive`, changed in place.
        begin: Index of the first voter of the chunk.
        radius_hits: (_CHUNK,) uint64, scratch.
        both_hits: (_CHUNK,) uint64, scratch.
    """
    radius_hits, both_hits = radius_hits[: len(votes)], both_hits[: len(votes)]
    words = alive[begin : begin + len(votes)]
    for i in range(len(votes)):
        vote = np.uint64(votes[i])
        # A creditR less lowers both numbers, creditR - 1 and creditD + creditR - 1; a creditD less
        # lowers only the second.
        disliked = loses_radius[vote] & words[i]
        radius_hits[i] = disliked
        both_hits[i] = disliked | (loses_diversity[vote] & words[i])
    _decrease(radius_planes, begin, radius_hits)
    _decrease(both_planes, begin, both_hits)
    for i in range(len(words)):
        words[i] &= ~(radius_hits[i] | both_hits[i])


@_compiled
def _charge_and_tally(
    last_votes: Any,
    loses_diversity: Any,
    loses_radius: Any,
    both_planes: Any,
    radius_planes: Any,
    alive: Any,
    votes: Any,
    small: Any,
    filled: Any,
    wide: Any,
    total: Any,
) -> Any:
    """Charge the voters of the last round, and count this round's votes.

    The arguments are those of `charge_and_tally`, the arrays of `Credits` and `_make_counters`.
    Each client's entry of `total` (64,) grows by the sum of creditD + creditR - 1 over the voters
    who count for this client.

    Returns:
        Whether all votes of the last round are for known objects, and whether all votes of this
        round are. After an unknown object of the last round the pass ends, and both are False.
    """
    are_known = True
    radius_hits, both_hits = np.empty(_CHUNK, np.uint64), np.empty(_CHUNK, np.uint64)
    some_votes, some_words = np.empty(_CHUNK, votes.dtype), np.empty(_CHUNK, np.uint64)
    for begin in range(0, len(votes), _CHUNK):
        last_chunk, chunk = last_votes[begin : begin + _CHUNK], votes[begin : begin + _CHUNK]
        if not _are_objects_known(last_chunk, len(loses_radius)):
            return False, False
        _charge_chunk(
            last_chunk,
            loses_diversity,
            loses_radius,
            both_planes,
            radius_planes,
            alive,
            begin,
            radius_hits,
            both_hits,
        )
        are_known = are_known and _are_objects_known(chunk, len(wide))
        if are_known:
            words = alive[begin : begin + _CHUNK]
            _count_chunk(chunk, words, some_votes, some_words, small, filled, wide)
            _total_credit(both_planes[:, begin : begin + _CHUNK], words, False, total)
    return True, are_known


@_inline
def _full_add(first: Any, second: Any, third: Any) -> Any:
    """Add three words bit by bit: 64 sums from 0 to 3.

    Returns:
        A word of the sums' twos, and a word of their ones.
    """
    differs = first ^ second
    return (first & second) | (differs & third), differs ^ third


@_compiled
def _add_columns(words: Any, alive: Any, weight: int, small: Any, total: Any) -> None:
    """Count for each bit how many words of a chunk have it set, and add the counts to a total.

    Eight words at a time are added in registers: `ones`, `twos`, `fours` and `eights` hold the
    binary digits of 64 counts. The eights are counted in small[:64]. At the end, small[64:] counts
    the ones, twos and fours that are left, and the words after the last eight.

    Args:
        words: (voters of the chunk,) words.
        alive: (voters of the chunk,) bits of `words` that are counted.
        weight: Factor of the counts.
        small: (128,) uint8, scratch: counts of eights, and counts of the remainders.
        total: (64,) to which the counts, times the weight, are added.
    """
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
    remaining = np.uint64(CLIENTS)
    for i in range(until, len(words)):
        add_bits(small, remaining, words[i] & alive[i])
    add_bits(small, remaining, ones)
    for _ in range(2):
        add_bits(small, remaining, twos)
    for _ in range(4):
        add_bits(small, remaining, fours)
    for c in range(CLIENTS):
        total[c] += weight * (8 * np.int64(small[c]) + np.int64(small[CLIENTS + c]))


@_compiled
def _total_credit(planes: Any, alive: Any, add_one: bool, total: Any) -> None:
    """Sum the numbers in bit planes over the voters who count, and add the sums to a total.

    Args:
        planes: (bits, voters) creditD + creditR - 1.
        alive: (voters,) bit c is set if the voter counts for client c.
        add_one: Whether 1 is added for each voter who counts, so that the total is of
            creditD + creditR.
        total: (64,) one total for each client, changed in place.
    """
    small = np.empty(2 * CLIENTS, np.uint8)
    for begin in range(0, len(alive), _CHUNK):
        words = alive[begin : begin + _CHUNK]
        if add_one:
            _add_columns(words, words, 1, small, total)
        for k in range(len(planes)):
            _add_columns(planes[k, begin : begin + _CHUNK], words, 1 << k, small, total)


@_compiled
def _keep_one(last_votes: Any, alive: Any, chosen: Any, liked: bool, votes: Any) -> Any:
    """Update the states of one client's voters by the client's answer to the last round.

    Args:
        last_votes: (n,) votes of the last round.
        alive: (n,) states, changed in place.
        chosen: The object that the client was given.
        liked: Whether the client liked it. If so, only voters who voted for it may still count; if
            not, only voters who did not vote for it.
        votes: (n,) votes of this round.

    Returns:
        The largest of `votes`, found in the same pass. It is 0 if there are none.
    """
    largest = np.uint16(0)
    if liked:
        for i in range(len(last_votes)):
            alive[i] &= np.uint8(last_votes[i] == chosen)
            largest = max(largest, votes[i])
    else:
        for i in range(len(last_votes)):
            alive[i] &= np.uint8(last_votes[i] != chosen)
            largest = max(largest, votes[i])
    return largest


@_compiled
def _tally_one_client(votes: Any, alive: Any, counters: Any) -> None:
    """Count the votes of the voters who still count (state 1) for the only client.

    Four votes are read as one word, and added to four sets of counters (4, objects), so that equal
    votes in a row do not wait for each other. The number of votes must be a multiple of 4, and all
    votes must be for known objects.
    """
    four_votes, four_states = votes.view(np.uint64), alive.view(np.uint32)
    first, second, third, fourth = counters[0], counters[1], counters[2], counters[3]
    vote_mask = np.uint64(0xFFFF)
    state_mask = np.uint64(0xFF)
    for i in range(len(four_votes)):
        vote_word, state_word = four_votes[i], np.uint64(four_states[i])
        first[vote_word & vote_mask] += np.uint32(state_word & state_mask)
        second[vote_word >> np.uint64(16) & vote_mask] += np.uint32(
            state_word >> np.uint64(8) & state_mask
        )
        third[vote_word >> np.uint64(32) & vote_mask] += np.uint32(
            state_word >> np.uint64(16) & state_mask
        )
        fourth[vote_word >> np.uint64(48)] += np.uint32(state_word >> np.uint64(24))


@_compiled
def _keep_and_tally_one(
    last_votes: Any,
    chosen: Any,
    liked: bool,
    votes: Any,
    alive: Any,
    has_answer: bool,
    counters: Any,
) -> bool:
    """Update the states by the last round if there is an answer, and count this round's votes.

    The arguments are those of `keep_and_tally_one`, and `counters` (4, objects) of
    `_tally_one_client`.

    Returns:
        Whether all votes of this round are for known objects.
    """
    whole = len(votes) // 4 * 4
    for begin in range(0, whole, _LONG_CHUNK):
        end = min(begin + _LONG_CHUNK, whole)
        chunk, states = votes[begin:end], alive[begin:end]
        if has_answer:
            are_known = (
                _keep_one(last_votes[begin:end], states, chosen, liked, chunk) < counters.shape[1]
            )
        else:
            are_known = _are_objects_known(chunk, counters.shape[1])
        if not are_known:
            return False
        _tally_one_client(chunk, states, counters)
    if has_answer:
        _keep_one(last_votes[whole:], alive[whole:], chosen, liked, votes[whole:])
    for i in range(whole, len(votes)):
        if votes[i] >= counters.shape[1]:
            return False
        counters[0, votes[i]] += np.uint32(alive[i])
    return True


def tally_one(votes: Votes, alive: States, objects: int) -> Counts:
    """Count each object's votes from the voters who count for the only client.

    Args:
        votes: (n,) votes.
        alive: (n,) 1 for each voter who counts, else 0.
        objects: Number of objects.

    Returns:
        (1, objects) counts.

    Raises:
        DataError: The type or length of an array is wrong, or a vote is for no object.
    """
    return _tally_one(votes, 0, False, votes, alive, False, objects)


def keep_and_tally_one(
    last_votes: Votes, chosen: int, liked: bool, votes: Votes, alive: States, objects: int
) -> Counts:
    """Update one client's voters by the client's answer to the last round, then count.

    There are no credits: voters who voted against the answer no longer count.

    Args:
        last_votes: (n,) votes of the last round; it is not checked that their objects exist.
        chosen: The object that the client was given in the last round.
        liked: Whether the client liked it.
        votes: (n,) votes of this round.
        alive: (n,) 1 for each voter who counts, else 0; changed in place.
        objects: Number of objects of this round.

    Returns:
        (1, objects) counts, as `tally_one` returns them.

    Raises:
        DataError: The type or length of an array is wrong, or a vote of this round is for no
            object.
    """
    check(last_votes, alive, is_one_client=True)
    return _tally_one(last_votes, chosen, liked, votes, alive, True, objects)


def _tally_one(
    last_votes: Votes,
    chosen: int,
    liked: bool,
    votes: Votes,
    alive: States,
    has_answer: bool,
    objects: int,
) -> Counts:
    """Do what `keep_and_tally_one` does, or what `tally_one` does if there is no answer."""
    check(votes, alive, is_one_client=True)
    counters = np.zeros((4, objects), np.uint32)
    last_votes = np.ascontiguousarray(last_votes)
    votes = np.ascontiguousarray(votes)
    are_known = _keep_and_tally_one(
        last_votes, np.uint16(chosen), liked, votes, alive, has_answer, counters
    )
    if not are_known:
        raise unknown_object_error(objects)
    return np.asarray(counters.sum(axis=0, dtype=np.int64)[None])


def tally(votes: Votes, alive: Words, objects: int) -> Counts:
    """Count, for each client, each object's votes from the voters who count for that client.

    Args:
        votes: (n,) votes.
        alive: (n,) bit c is set if the voter counts for client c.
        objects: Number of objects.

    Returns:
        (64, objects) counts.

    Raises:
        DataError: The type or length of an array is wrong, or a vote is for no object.
    """
    all_objects = np.full(objects, ~_NOBODY)  # every client keeps every object
    return keep_and_tally(votes, all_objects, votes, alive, objects)


def keep_and_tally(
    last_votes: Votes, kept: Words, votes: Votes, alive: Words, objects: int
) -> Counts:
    """Update all clients' voters by the clients' answers to the last round, then count.

    There are no credits: a voter still counts for a client only if the client keeps the object that
    they voted for.

    Args:
        last_votes: (n,) votes of the last round.
        kept: (objects of the last round,) bit c is set if client c keeps the object: after a like
            only this object, after a dislike all other objects.
        votes: (n,) votes of this round.
        alive: (n,) bit c is set if the voter counts for client c; changed in place.
        objects: Number of objects of this round.

    Returns:
        (64, objects) counts, as `tally` returns them.

    Raises:
        DataError: The type or length of an array is wrong, or a vote of either round is for no
            object.
    """
    check(last_votes, alive)
    check(votes, alive)
    counters = _make_counters(objects)
    last_votes = np.ascontiguousarray(last_votes)
    votes = np.ascontiguousarray(votes)
    last_known, known = _keep_and_tally(last_votes, kept, votes, alive, *counters)
    if not (last_known and known):
        raise unknown_object_error(objects if last_known else len(kept))
    return _counts_by_client(counters)


def total_credit(credit: Credits) -> Counts:
    """Sum creditD + creditR over the voters who count: (64,), one sum for each client."""
    total = np.zeros(CLIENTS, np.int64)
    _total_credit(credit.both, credit.alive, True, total)
    return total


def charge_and_tally(
    last_votes: Votes,
    loses_diversity: Words,
    loses_radius: Words,
    votes: Votes,
    credit: Credits,
    objects: int,
) -> tuple[Counts, Counts]:
    """Charge the last round's voters, then count this round's votes and the credits.

    A voter for an object loses one creditD with each client whose bit is set for the object in
    `loses_diversity`, and one creditR with each whose bit is set for it in `loses_radius`. Once a
    voter's creditR or creditD + creditR with a client is 0, they no longer count for this client.

    Args:
        last_votes: (n,) votes of the last round.
        loses_diversity: (objects of the last round,) a bit for each client: after a like of an
            object, it is set for all other objects.
        loses_radius: (objects of the last round,) a bit for each client: after a dislike of an
            object, it is set for this object alone.
        votes: (n,) votes of this round.
        credit: The voters' credits, changed in place.
        objects: Number of objects of this round.

    Returns:
        The counts, as `tally` returns them, and the credits, as `total_credit` returns them.

    Raises:
        DataError: The type or length of an array is wrong, an object costs a client's voters both
            kinds of credit, or a vote of either round is for no object.
    """
    check(last_votes, credit.alive)
    check(votes, credit.alive)
    check_charges(loses_diversity, loses_radius)
    counters = _make_counters(objects)
    total = np.zeros(CLIENTS, np.int64)
    last_votes = np.ascontiguousarray(last_votes)
    votes = np.ascontiguousarray(votes)
    state = credit.both, credit.radius, credit.alive
    last_known, known = _charge_and_tally(
        last_votes, loses_diversity, loses_radius, *state, votes, *counters, total
    )
    if not (last_known and known):
        raise unknown_object_error(objects if last_known else len(loses_radius))
    counts = _counts_by_client(counters)
    # `total` sums creditD + creditR - 1, so 1 is added for each voter who counts.
    return counts, total + counts.sum(axis=1)


def _make_counters(objects: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Counts]:
    """Make the counters of a pass over votes, all 0.

    Returns:
        `small`: (objects * 64,) uint8 counters, which begin at the start of a cache line; `filled`:
        (objects,) uint8 number of votes since each object's small counters were cleared; and
        `wide`: (objects, 64) int64 counters.
    """
    room = np.zeros((objects + 1) * CLIENTS, np.uint8)
    begin = -room.ctypes.data % CLIENTS  # the first address that is a multiple of 64
    small = room[begin : begin + objects * CLIENTS]
    return small, np.zeros(objects, np.uint8), np.zeros((objects, CLIENTS), np.int64)


def _counts_by_client(counters: tuple[NDArray[np.uint8], NDArray[np.uint8], Counts]) -> Counts:
    """Add the small counters to the wide ones, in place, and return the counts (64, objects)."""
    small, _, wide = counters
    wide += small.reshape(wide.shape)
    return np.ascontiguousarray(wide.T)
