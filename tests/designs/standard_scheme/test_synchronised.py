"""One account on several devices."""

from __future__ import annotations

import pytest
from passing_store import PassingStore

from tacit.client.device_memory import FileStore
from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.disclosure import Refused
from tacit.designs.standard_scheme.drawing import calendar, start
from tacit.designs.standard_scheme.memory import Record, State, forgotten
from tacit.designs.standard_scheme.messages import DAY, MICRO, WEEK, Release
from tacit.designs.standard_scheme.synchronised import (
    LEASE,
    LEAST_BYTES,
    Rating,
    Shared,
    forget,
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
    """Let a device have its turn at a store; it comes back with its letter and all stars."""
    shown = disclose()
    log = ((FIRST, shown.digest),)

    def make(store, device, stars, now, account="ann", entered=None):
        def made(state, keep):
            return Account(state, shown, log, {"gender": "F"}, bytes(32), keep)

        def bring(shared):
            shared.bring(device, stars, entered or dict.fromkeys(stars, CREATED), now)

        begin = Shared(account, State(created=CREATED))
        letter, shared = speak(store, device, begin, made, bring, now)
        return letter and Release.decode(letter), shared.rated()[0]

    return make


def rated(*numbers, stars=4.0):
    return {f"item {number}": stars for number in numbers}


def test_one_device_speaks(store, turn):
    """The one with the lease gets the letter; the other brings its ratings in and gets none."""
    letter, _ = turn(store, "one", rated(0, 1), LETTER)
    assert letter.epoch == FIRST
    assert turn(store, "two", rated(2), LETTER + 1) == (None, rated(0, 1, 2))
    assert turn(store, "two", rated(2), LETTER + WEEK)[0] is None
    later, history = turn(store, "one", rated(0, 1), LETTER + WEEK)
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
    assert turn(store, "one", rated(0, 1, 2), LETTER + LEASE + 1)[0] is None


def test_the_letter_is_in_the_store_before_it_leaves(store, turn):
    """A device that asks again gets the same bytes from there."""
    letter, _ = turn(store, "one", rated(0, 1), LETTER)
    assert Shared.decode(store.read()[1]).state.letter == letter.encode()
    assert turn(store, "one", rated(0, 1), LETTER + 5)[0] == letter


def test_the_later_change_of_an_item_counts(store, turn):
    """What a device has no more is deleted for all; a star that did not change undoes nothing."""
    turn(store, "one", rated(0, 1), LETTER)
    turn(store, "two", rated(0, 1, 2, stars=2.0), LETTER + 1)
    _, history = turn(store, "one", rated(1), LETTER + WEEK)
    assert history == rated(1, 2, stars=2.0)
    assert "item 0" not in Shared.decode(store.read()[1]).state.shown()
    assert turn(store, "one", rated(1, stars=5.0), LETTER + WEEK + 1)[1]["item 1"] == 5.0


def test_of_two_changes_in_one_second_a_star_counts():
    """Whichever device's they are: the outcome depends on no order."""
    for one, two in (("a", "b"), ("b", "a")):
        shared = Shared("ann", State(created=CREATED))
        shared.bring(one, {"x": 4.0}, {}, CREATED)
        shared.bring(one, {}, {}, CREATED + 1)
        shared.bring(two, {"x": 2.0}, {}, CREATED + 1)
        assert shared.rated()[0] == {"x": 2.0}


def test_another_accounts_store_is_refused(store, turn):
    """The records of one account are not another's."""
    turn(store, "one", rated(0), LETTER)
    before = store.read()
    with pytest.raises(Refused, match="another account's"):
        turn(store, "one", rated(0), LETTER + WEEK, account="bob")
    assert store.read() == before


def test_forgetting_leaves_frozen_ids(store, turn):
    """No star, level or letter is left in the store, and a next account decides none of it."""
    turn(store, "one", rated(0, 1), LETTER)
    turn(store, "two", rated(2), LETTER + 1)
    begin = Shared("ann", State(created=CREATED))
    left = forget(store, begin, lambda state: forgotten(state, ["item 3"], LETTER + 2))
    everything = {f"item {number}" for number in range(4)}
    assert left.frozen == everything
    shared = Shared.decode(store.read()[1])
    assert (shared.account, shared.history, shared.state) == ("forgotten ann", {}, left)
    turn(store, "one", rated(0, 1, 2, 3, 4), LETTER + WEEK, account="bob")
    state = Shared.decode(store.read()[1]).state
    assert (state.frozen, set(state.records)) == (everything, {"item 4"})


class Overtaking(PassingStore):
    """Another device writes between a read and the next write, a few times."""

    def __init__(self, times):
        super().__init__()
        self.times = times

    def swap(self, number, data):
        if self.times:
            self.times -= 1
            kept = self._held[1]
            other = Shared.decode(kept) if kept else Shared("ann", State(CREATED))
            other.bring("two", rated(5), {}, CREATED + self.times)
            super().swap(self._held[0], other.encode())
        return super().swap(number, data)


def test_of_two_that_write_at_once_one_begins_again(turn):
    """What the other wrote is not lost: the letter is made from it."""
    store = Overtaking(2)
    letter, history = turn(store, "one", rated(0), LETTER)
    assert letter is not None
    assert set(history) == {"item 0", "item 5"}
    assert set(Shared.decode(store.read()[1]).state.records) == {"item 0", "item 5"}
    with pytest.raises(RuntimeError, match="all the time"):
        turn(Overtaking(99), "one", rated(0), LETTER)
    with pytest.raises(RuntimeError, match="all the time"):
        forget(Overtaking(99), Shared("ann", State(CREATED)), lambda state: state)


def test_the_stores_record_wins(turn):
    """A decision that another device wrote first stands, whatever this one would have decided."""
    store = Overtaking(0)
    turn(store, "one", {}, LETTER)
    number, data = store.read()
    shared = Shared.decode(data)
    shared.state.records["item 0"] = Record(None, "", FIRST)
    store.swap(number, shared.encode())
    letter, _ = turn(store, "one", rated(0), LETTER + WEEK)
    assert letter.ratings == ()
    assert Shared.decode(store.read()[1]).state.records["item 0"].level is None


@pytest.mark.parametrize("stars", [float("nan"), float("inf"), -float("inf")])
def test_a_star_that_is_no_number_stops_nothing(store, turn, stars):
    """It cannot be written down, and counts neither as a rating nor as a deletion."""
    turn(store, "one", rated(0), LETTER)
    letter, history = turn(store, "one", {"item 0": stars, "item 1": stars}, LETTER + WEEK)
    assert letter is not None
    assert history == rated(0)


def test_the_size_is_that_of_the_whole_catalogue():
    """Whether nothing or everything is rated, shown or held back, on each of several devices."""
    items = [*range(1_000), *(f'"é" {number}' for number in range(1_000))]
    sizes = set()
    for count in (0, 1, 999, 2_000):
        shown = {item: Record(MICRO, "0" * 16, 2_999) for item in items[: count // 2]}
        held = {item: Record(None, "0" * 16, 2_999) for item in items[count // 2 : count]}
        letter = Release("0" * 16, 2_999, tuple((item, MICRO) for item in shown)).encode()
        shared = Shared("ann", State(CREATED, "", shown | held, letter=letter), holder="one")
        for device in ("one", "two"):
            shared.bring(device, dict.fromkeys(items[:count], 0.1), {}, LETTER)
        shared.fill(items)
        sizes.add(len(shared.encode()))
        assert Shared.decode(shared.encode()) == shared
    assert len(sizes) == 1


def test_a_size_never_shrinks(store, turn):
    """A content that was longer once, or is forgotten, fills what it filled."""
    turn(store, "one", rated(0), LETTER)
    number, data = store.read()
    longer = Shared.decode(data)
    longer.size = 1 << 18
    store.swap(number, longer.encode())
    turn(store, "one", {}, LETTER + WEEK)
    assert len(store.read()[1]) == 1 << 18
    forget(store, Shared("ann", State(CREATED)), lambda state: forgotten(state, [], LETTER))
    assert len(store.read()[1]) == 1 << 18


def test_sizes_do_not_tell_how_much_is_rated(store, turn):
    """The content fills a power of two of 64 kB at least, whatever is in it."""
    sizes = set()
    for count in (0, 1, 6):
        turn(store, "one", rated(*range(count)), LETTER + count * WEEK)
        sizes.add(len(store.read()[1]))
    assert sizes == {LEAST_BYTES}
    many = {number: Rating(3.0, 0, 0) for number in range(20_000)}
    large = Shared("ann", State(CREATED), {"one": many})
    assert len(large.encode()) == 1 << 19
    assert Shared.decode(large.encode()) == large
