"""Letters are made of what was decided on the first day: of later ratings they tell nothing.

Two lives are equal in what is rated on the first day, in what is deleted of it, and in all that the
service and the device do: names, refits, restored and lost memories. One of them also rates other
items later. Their letters are the same bytes. No later rating is of an item that a letter has
shown: that is rating it again.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.disclosure import CAP
from tacit.designs.standard_scheme.epochs import FIRST_END, calendar_epoch, epoch_start
from tacit.designs.standard_scheme.memory import State, open_state
from tacit.designs.standard_scheme.messages import DAY, WEEK, Release
from tests.designs.standard_scheme.test_names import CREATED, SECRET, shown

FIRST = calendar_epoch(CREATED, WEEK)
ITEMS = tuple(range(6))
EARLY = ITEMS[:3]
"""Rated on the first day, or never."""


class Life:
    """An account under a service that renames items; its device loses and restores memories."""

    def __init__(self, early, secret=SECRET):
        self.secret, self.state = secret, State(created=CREATED)
        self.history = dict.fromkeys(early, 3.0)
        self.entered = dict.fromkeys(early, CREATED)
        self.aliases, self.log, self.week = (), (), 0
        self.spoken, self.copies, self.letters = -1, [], []

    def begin(self):
        """Send the two letters of the first day."""
        for now in (CREATED + FIRST_END, CREATED + DAY):
            self.speak(now)

    def turn(self, *events):
        """Live one week in which these things happen; then the letter is due."""
        self.week += 1
        now = epoch_start(FIRST + self.week + 1, WEEK) + DAY
        for event in events:
            self.happen(now, *event)
        self.speak(now)

    def happen(self, now, event, item, other=0, entered_late=False):
        """Let one thing happen."""
        if event == "rate" and item not in EARLY:
            self.history.setdefault(item, 5.0)
            self.entered.setdefault(item, now if entered_late else now - DAY - WEEK // 2)
        elif event == "delete" and item in EARLY:
            self.history.pop(item, None)
        elif event == "rename":
            self.rename(item, other)
        elif event == "restore":
            self.open(self.copies[other % len(self.copies)], now)
        elif event == "lose":
            self.open(None, now)

    def rename(self, old, new):
        """List another name of an item: a new id, or that of another item."""
        names = dict(self.aliases)
        if names.get(old, old) == names.get(new, new) or old in names or new in names:
            return
        renamed = {before: new if after == old else after for before, after in names.items()}
        self.aliases = tuple((renamed | {old: new}).items())

    def open(self, copy, now):
        """Start the device with an older copy of its memory, or without one."""
        found = None if copy is None else State.decode(copy)
        self.state = open_state(found, self.spoken, self.history, now, WEEK)

    def keep(self, state):
        """Store the memory and the last epoch of a letter."""
        self.copies.append(state.encode())
        self.spoken = state.spoken

    def speak(self, now):
        """Make the letter that is due."""
        names = dict(self.aliases)
        items = tuple(item for item in ITEMS if item not in names)
        tables = shown(items, self.aliases, chance=CAP)
        epoch = calendar_epoch(now, WEEK)
        if not self.log or self.log[-1][1] != tables.digest:
            self.log = (*(row for row in self.log if row[0] < epoch), (epoch, tables.digest))
        account = Account(self.state, tables, self.log, {"gender": "F"}, self.secret, self.keep)
        self.letters.append(account.make_due_letter(self.history, self.entered, now))


events = st.tuples(
    st.sampled_from(["rate", "delete", "rename"] * 3 + ["restore", "lose"]),
    st.sampled_from(ITEMS),
    st.sampled_from(ITEMS),
    st.booleans(),
)
"""What happens, its item, another item or copy, and whether a rating is entered late."""
weeks = st.lists(st.lists(events, max_size=2), max_size=12)


def is_again(life, event):
    """Tell whether an event rates an item under a name that the service has listed."""
    return event[0] == "rate" and any(event[1] in pair for pair in life.aliases)


@settings(max_examples=200, deadline=None)
@given(
    st.sets(st.sampled_from(EARLY), min_size=1),
    weeks,
    st.binary(min_size=32, max_size=32),
)
def test_later_ratings_are_in_no_letter(early, turns, secret):
    """Whatever happens later: with and without later ratings, the letters are the same bytes."""
    plain, more = Life(early, secret), Life(early, secret)
    for life in (plain, more):
        life.begin()
    if not Release.decode(plain.letters[-1]).ratings:
        return  # such an account decides later
    for week in turns:
        later = [event for event in week if not is_again(plain, event)]
        plain.turn(*[event for event in week if event[0] != "rate"])
        more.turn(*later)
        assert plain.letters == more.letters


@settings(max_examples=200, deadline=None)
@given(
    st.sets(st.sampled_from(EARLY), min_size=1),
    weeks,
    st.binary(min_size=32, max_size=32),
)
def test_letters_only_lose_items(early, turns, secret):
    """Under the names of its time, each letter holds levels of the last one of the first day."""
    life = Life(early, secret)
    life.begin()
    first = Release.decode(life.letters[-1]).ratings
    if not first:
        return
    for turn in turns:
        life.turn(*turn)
        if life.letters[-1] is None:
            continue
        names = dict(life.aliases)
        expected = {(names.get(item, item), level) for item, level in first}
        assert set(Release.decode(life.letters[-1]).ratings) <= expected


@pytest.mark.parametrize("later", [(), (4,), (5,)])
def test_a_new_name_of_a_deleted_item_asks_nothing(later):
    """The service renames a shown item, deleted before, to one that may be rated."""
    life = Life((0, 1, 2))
    life.begin()
    assert [item for item, _ in Release.decode(life.letters[-1]).ratings] == [0, 1, 2]
    life.turn(("delete", 0))
    for item in later:
        life.turn(("rate", item))
    life.turn(("rename", 0, 4))
    assert [item for item, _ in Release.decode(life.letters[-1]).ratings] == [1, 2]


def test_deleted_and_renamed_the_first_day_stays_over():
    """Shown ratings are all deleted, and their items take new names: nothing later is decided."""
    life = Life((0, 1, 2))
    life.begin()
    for item in (0, 1, 2):
        life.turn(("delete", item))
    life.turn(("rate", 4))
    for item in (0, 1, 2):
        life.turn(("rename", item, item + 9))
    assert Release.decode(life.letters[-1]).ratings == ()


@pytest.mark.parametrize("event", ["restore", "lose"])
def test_after_a_lost_memory_nothing_is_decided(event):
    """A memory that does not know its letters takes it that they showed items."""
    life = Life((0, 1, 2))
    life.copies.append(life.state.encode())
    life.begin()
    life.turn((event, 0))
    life.turn(("rate", 4))
    life.turn(("rate", 5))
    assert Release.decode(life.letters[-1]).ratings == ()


@pytest.mark.parametrize("first_stars", [{0: 3.0, 1: 3.0}, {}], ids=["after ratings", "after none"])
def test_an_old_memory_decides_nothing_on_the_first_day(first_stars):
    """An item that was decided and deleted is unknown to the copy, and is not decided again."""
    life = Life(first_stars)
    life.copies.append(life.state.encode())
    life.speak(CREATED + FIRST_END)
    assert len(Release.decode(life.letters[-1]).ratings) == len(first_stars)
    life.history.clear()
    life.open(life.copies[0], CREATED + 2 * FIRST_END)
    life.history.update({0: 5.0, 4: 5.0})
    life.entered.update(dict.fromkeys((0, 4), CREATED + 3 * FIRST_END))
    life.speak(CREATED + DAY)
    last = Release.decode(life.letters[-1])
    assert (last.epoch, last.ratings) == (1, ())
    assert life.state.records == {}


def test_a_memory_that_is_current_decides_on_the_whole_first_day():
    """Opened again between the two letters of the first day, it decides what was rated since."""
    life = Life((0,))
    life.speak(CREATED + FIRST_END)
    life.open(life.copies[-1], CREATED + 2 * FIRST_END)
    life.history[4] = 5.0
    life.entered[4] = CREATED + 3 * FIRST_END
    life.speak(CREATED + DAY)
    assert [item for item, _ in Release.decode(life.letters[-1]).ratings] == [0, 4]


def test_a_merged_rating_does_not_keep_a_shown_item():
    """A later rating is merged with a shown item; that one is deleted, and it goes."""
    life = Life((0, 1, 2))
    life.begin()
    life.turn(("rate", 4))
    life.turn(("rename", 0, 4))
    assert [item for item, _ in Release.decode(life.letters[-1]).ratings] == [1, 2, 4]
    life.turn(("delete", 0))
    assert [item for item, _ in Release.decode(life.letters[-1]).ratings] == [1, 2]


@pytest.mark.parametrize("rated", [False, True])
def test_a_rating_entered_late_does_not_hide_a_shown_item(rated):
    """An item rated on the day of the letter, and merged with a shown one, moves nothing."""
    life = Life((0, 1, 2))
    life.begin()
    late = [("rate", 4, 0, True)] if rated else []
    life.turn(*late, ("rename", 0, 4))
    assert [item for item, _ in Release.decode(life.letters[-1]).ratings] == [1, 2, 4]


@pytest.mark.parametrize("rated", [False, True])
def test_a_deletion_and_a_new_name_in_one_week(rated):
    """A rating that a letter could have known of is not taken for the deleted item's new name."""
    life = Life((0, 1, 2))
    life.begin()
    life.turn(*([("rate", 4)] if rated else []))
    life.turn(("delete", 0), ("rename", 0, 4))
    assert [item for item, _ in Release.decode(life.letters[-1]).ratings] == [1, 2]
