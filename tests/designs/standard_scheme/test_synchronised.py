"""One account on several devices."""

from __future__ import annotations

import pytest

from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.epochs import calendar, start
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import DAY, WEEK, Release
from tacit.designs.standard_scheme.synchronised import (
    LEASE,
    LEAST_BYTES,
    FileStore,
    PassingStore,
    Rating,
    Shared,
    speak,
)

CREATED = 1_700_000_000
FIRST = calendar(CREATED, WEEK)
LETTER = start(FIRST + 1, WEEK) + DAY


@pytest.fixture(params=["passing", "file"])
def store(request, tmp_path):
    return PassingStore() if request.param == "passing" else FileStore(tmp_path / "shared")


@pytest.fixture
def turn(disclose):
    """Let a device have its turn at a store."""
    shown = disclose()
    log = ((FIRST, shown.digest),)

    def make(store, device, changes, now):
        def account(state, keep):
            return Account(state, shown, log, {"gender": "F"}, bytes(32), keep)

        begin = State(created=CREATED)
        letter, history = speak(store, device, begin, account, changes, now)
        return letter and Release.decode(letter), history

    return make


def rated(*numbers, stars=4.0, at=CREATED):
    return {f"item {number}": Rating(stars, at, at) for number in numbers}


def test_one_device_speaks(store, turn):
    """The one with the lease gets the letter; the other brings its ratings in and gets none."""
    letter, _ = turn(store, "one", rated(0, 1), LETTER)
    assert letter.epoch == FIRST
    assert turn(store, "two", rated(2), LETTER + 1) == (None, rated(0, 1, 2))
    assert turn(store, "two", {}, LETTER + WEEK)[0] is None
    later, history = turn(store, "one", {}, LETTER + WEEK)
    assert set(history) == {"item 0", "item 1", "item 2"}
    assert set(letter.ratings) <= set(later.ratings)
    shared = Shared.decode(store.read()[1])
    assert set(shared.state.records) == set(history)


def test_a_lease_ends(store, turn):
    """When the first device is not seen for two weeks, another speaks, with the same dice."""
    first, _ = turn(store, "one", rated(0, 1, 2), LETTER)
    second, _ = turn(store, "two", rated(3), LETTER + LEASE)
    assert second.epoch > first.epoch
    assert set(first.ratings) <= set(second.ratings)
    assert turn(store, "one", {}, LETTER + LEASE + 1)[0] is None


def test_the_letter_is_in_the_store_before_it_leaves(store, turn):
    """A device that asks again gets the same bytes from there."""
    letter, _ = turn(store, "one", rated(0, 1), LETTER)
    assert Shared.decode(store.read()[1]).state.letter == letter.encode()
    assert turn(store, "one", {}, LETTER + 5)[0] == letter


def test_the_later_change_of_an_item_counts(store, turn):
    """Deletions are changes, and an older one does not undo a newer one."""
    turn(store, "one", rated(0, 1, at=CREATED + 5), LETTER)
    gone = {"item 0": Rating(None, CREATED, CREATED + 9), "item 1": Rating(1.0, CREATED, CREATED)}
    _, history = turn(store, "one", gone, LETTER + WEEK)
    assert history["item 0"].stars is None
    assert history["item 1"].stars == 4.0
    state = Shared.decode(store.read()[1]).state
    assert "item 0" not in state.shown()


class Overtaking(PassingStore):
    """Another device writes between a read and the next write, a few times."""

    def __init__(self, turn, times):
        super().__init__()
        self.turn, self.times = turn, times

    def swap(self, number, data):
        if self.times:
            self.times -= 1
            other = Shared.decode(self._held[1]) if self._held[1] else Shared(State(CREATED))
            other.merge(rated(5, at=CREATED + self.times))
            super().swap(self._held[0], other.encode())
        return super().swap(number, data)


def test_of_two_that_write_at_once_one_begins_again(turn):
    """What the other wrote is not lost: the letter is made from it."""
    store = Overtaking(turn, 2)
    letter, history = turn(store, "one", rated(0), LETTER)
    assert letter is not None
    assert set(history) == {"item 0", "item 5"}
    assert set(Shared.decode(store.read()[1]).state.records) == {"item 0", "item 5"}
    with pytest.raises(RuntimeError, match="all the time"):
        turn(Overtaking(turn, 99), "one", rated(0), LETTER)


def test_sizes_do_not_tell_how_much_is_rated(store, turn):
    """The content fills a power of two of 64 kB at least, whatever is in it."""
    sizes = set()
    for count in (0, 1, 6):
        turn(store, "one", rated(*range(count)), LETTER + count * WEEK)
        sizes.add(len(store.read()[1]))
    assert sizes == {LEAST_BYTES}
    large = Shared(State(CREATED), {number: Rating(3.0, 0, 0) for number in range(20_000)})
    assert len(large.encode()) == 1 << 19
    assert Shared.decode(large.encode()) == large
