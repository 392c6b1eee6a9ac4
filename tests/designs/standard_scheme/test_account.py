"""One account on one device: what is due, what is trusted, and what is kept first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit.designs.standard_scheme.account import Account, check_log
from tacit.designs.standard_scheme.disclosure import RELEASES, RefusalError
from tacit.designs.standard_scheme.epochs import (
    FIRST_END,
    calendar_epoch,
    epoch_start,
    sending_time,
)
from tacit.designs.standard_scheme.memory import State, state_after_forgetting
from tacit.designs.standard_scheme.messages import DAY, WEEK, Release
from tests.support.written_numbers import spellings_of_integer

CREATED = 1_700_000_000
FIRST = calendar_epoch(CREATED, WEEK)
SECRET = bytes(32)
HISTORY = {f"item {number}": float(1 + number % 5) for number in range(6)}
LETTER = epoch_start(FIRST + 1, WEEK) + DAY
"""A second at which the first week's letter is due."""


class Person:
    """An account whose parts can be changed between two times at which its device is on."""

    def __init__(self, shown):
        self.shown, self.log = shown, ((FIRST, shown.digest),)
        self.own, self.state = {"gender": "F"}, State(created=CREATED)
        self.kept, self.heard = [], []

    def speak(self, now, history=HISTORY, entered=None):
        account = Account(
            self.state,
            self.shown,
            self.log,
            self.own,
            SECRET,
            lambda state: self.kept.append(state.encode()),
            self.heard.append,
        )
        entered = dict.fromkeys(history, CREATED) if entered is None else entered
        data = account.make_due_letter(history, entered, now)
        return None if data is None else Release.decode(data)

    def refit(self, shown, epoch):
        self.shown, self.log = shown, (*self.log, (epoch, shown.digest))


@pytest.fixture
def person(disclose):
    return Person(disclose())


def test_the_letter_is_kept_before_it_leaves(person):
    """The bytes and the epoch stand in what was kept; a retry sends the same bytes."""
    letter = person.speak(LETTER)
    assert len(person.kept) == 1
    kept = State.decode(person.kept[0])
    assert kept.letter == letter.encode()
    assert (kept.last_epoch, kept.spoken) == (FIRST, FIRST)
    assert set(kept.records) == set(HISTORY)
    person.state = kept
    assert person.speak(LETTER + DAY) == letter
    assert len(person.kept) == 1


def test_a_letter_holds_no_held_back_item_no_moment_and_no_attribute(person):
    """What is in it was shown; of other items, of moments and of the value there is nothing."""
    person.own = {"gender": "F"}
    history = HISTORY | {"canary-unknown": 5.0}
    entered = {item: CREATED + 1337 + number for number, item in enumerate(history)}
    letter = person.speak(LETTER, history, entered)
    data = letter.encode()
    shown = {item for item, _ in letter.ratings}
    held_back = set(history) - shown
    assert shown
    assert len(held_back) > 1
    secrets = [item.encode() for item in held_back] + [b"canary", b"gender", b'"F"']
    for moment in (CREATED, *entered.values()):
        secrets += spellings_of_integer(moment)
    for secret in secrets:
        assert secret not in data


def test_no_letter_leaves_that_could_not_be_kept(person, monkeypatch):
    """Where the memory cannot be written the error comes out, and no letter does."""

    def full(state):
        raise OSError("no space left")

    account = Account(
        person.state, person.shown, person.log, person.own, SECRET, full, person.heard.append
    )
    with pytest.raises(OSError, match="no space"):
        account.make_due_letter(HISTORY, {}, LETTER)


def test_a_device_speaks_though_nothing_is_new(person):
    """An empty history makes a letter a week like any other."""
    for week in range(3):
        letter = person.speak(LETTER + week * WEEK, {})
        assert (letter.epoch, letter.ratings) == (FIRST + week, ())


def test_nothing_leaves_before_its_moment(person):
    """The second before the account's own moment there is no letter, and then there is."""
    due = sending_time(FIRST, CREATED, WEEK, SECRET)
    assert person.speak(due - 1) is None
    assert person.speak(due).epoch == FIRST


def test_items_wait_for_the_end_of_their_epoch(person):
    """An item entered after the end of the epoch is decided with the next letter."""
    entered = dict.fromkeys(HISTORY, CREATED) | {"item 0": CREATED + FIRST_END}
    person.speak(CREATED + FIRST_END, entered=entered)
    assert set(person.state.records) == set(HISTORY) - {"item 0"}
    assert person.state.arrivals == {"item 0": CREATED + FIRST_END}
    person.speak(CREATED + DAY, entered=entered)
    assert person.state.records["item 0"].epoch == 1
    assert person.state.arrivals == {}


def test_nothing_is_decided_after_the_first_day(person):
    """What is rated later stays on the device: letters never grow, and never tell an order."""
    few = {item: HISTORY[item] for item in list(HISTORY)[:4]}
    before = person.speak(CREATED + DAY, few)
    assert before.ratings
    for week in range(3):
        after = person.speak(LETTER + week * WEEK)
        assert after.ratings == before.ratings
    assert set(person.state.records) == set(few)
    assert person.heard == []


def test_a_late_starter_decides_in_one_letter(person):
    """Who rates nothing on the first day decides with the first letter that shows an item."""
    assert person.speak(CREATED + DAY, {}).ratings == ()
    few = {item: HISTORY[item] for item in list(HISTORY)[:4]}
    first = person.speak(LETTER, few)
    assert first.ratings
    assert person.speak(LETTER + WEEK).ratings == first.ratings
    assert set(person.state.records) == set(few)


def test_nothing_is_decided_after_a_refit(person, disclose, tables):
    """New tables decide nothing for an account that has shown an item under earlier ones."""
    few = {item: HISTORY[item] for item in list(HISTORY)[:4]}
    before = person.speak(CREATED + DAY, few)
    person.refit(disclose(tables={"gender": tables(99)}), FIRST + 1)
    after = person.speak(LETTER + WEEK)
    assert after.ratings == before.ratings
    assert after.disclosure != before.disclosure


def test_stars_off_the_scale_are_no_matter_later(person):
    """An account that decides no more says nothing of stars that it would not look at."""
    person.speak(CREATED + DAY, {item: HISTORY[item] for item in list(HISTORY)[:4]})
    assert person.speak(LETTER, HISTORY | {"item 5": 9.0}) is not None
    assert person.heard == []


def test_an_item_of_unknown_time_arrives_when_it_is_first_seen(person):
    """Without a time, that second counts as the one at which it was entered."""
    person.speak(LETTER - 2 * DAY, entered={})
    assert set(person.state.arrivals.values()) == {LETTER - 2 * DAY}
    person.speak(LETTER, entered={})
    assert set(person.state.records) == set(HISTORY)


def test_deleted_before_it_was_decided(person):
    """An item deleted in its own epoch leaves no record; rated again, it is decided then."""
    person.speak(LETTER - 2 * DAY, entered={})
    person.speak(LETTER, {})
    assert person.state.records == {}
    assert person.state.arrivals == {}
    person.speak(LETTER + DAY, entered={})
    assert person.speak(LETTER + WEEK).epoch == FIRST + 1
    assert set(person.state.records) == set(HISTORY)


def test_missed_epochs_are_one(person):
    """After a month the letter of the latest epoch leaves, with everything entered until then."""
    letter = person.speak(LETTER + 4 * WEEK)
    assert letter.epoch == FIRST + 4
    assert {record.epoch for record in person.state.records.values()} == {FIRST + 4}


def test_a_clock_that_goes_back(person):
    """Neither an old letter nor a new one leaves for an epoch that is closed."""
    person.speak(LETTER + 4 * WEEK)
    assert person.speak(LETTER) is None


def test_the_binding_never_leaves(person):
    """What names the owner's value is in the memory and in no letter."""
    letter = person.speak(LETTER)
    assert person.state.binding
    assert person.state.binding not in letter.encode().decode()


def silent(person, change):
    """Bring about what a device does not follow; what its owner then reads."""
    other = replace(person.shown, minimum=0.5, step=0.5, levels=5)
    if change == "value":
        person.own = {"gender": "M"}
        return "another rule, scale, epoch or attribute value"
    if change == "unknown value":
        person.own = {"gender": "X"}
        return "has to be one of"
    if change == "scale":
        person.refit(other, FIRST + 1)
        return "another rule, scale"
    if change == "true stars":
        person.refit(replace(person.shown, rule=RELEASES["selection"]), FIRST + 1)
        return "true stars"
    if change == "two digests":
        person.log = (*person.log, (FIRST, other.digest))
        return "two disclosures in one epoch"
    if change == "not in the log":
        person.shown = replace(person.shown, aliases=(("old", "item 0"),))
        return "its log does not have"
    if change == "not yet":
        person.refit(replace(person.shown, aliases=(("old", "item 0"),)), FIRST + 9)
        return "its log does not have"
    person.log = ((FIRST, other.digest),)
    return "not the one it showed before"


CHANGES = (
    "value",
    "unknown value",
    "scale",
    "true stars",
    "two digests",
    "not in the log",
    "not yet",
    "another log",
)


@pytest.mark.parametrize("change", CHANGES)
def test_silence_looks_like_speaking(person, change):
    """Where nothing new may be decided the last set goes on, week by week, and its owner hears why.

    The set, its epoch and the moment are those of a device that has nothing new.
    """
    few = {item: HISTORY[item] for item in list(HISTORY)[:4]}
    before = person.speak(LETTER, few)
    reason = silent(person, change)
    after = person.speak(LETTER + WEEK)
    assert after.ratings == before.ratings
    assert after.epoch == FIRST + 1
    assert set(person.state.records) == set(few)
    assert len(person.heard) == 1
    assert reason in person.heard[0]
    assert "Nothing new is decided" in person.heard[0]


def test_a_letter_that_was_lost_is_no_reason_to_be_silent(person):
    """Who sent letters goes on: a memory that lost the last one shows what it decided."""
    few = {item: HISTORY[item] for item in list(HISTORY)[:4]}
    before = person.speak(LETTER, few)
    person.state.letter = None
    silent(person, "value")
    after = person.speak(LETTER + WEEK)
    assert after.ratings == before.ratings
    assert len(person.heard) == 1


@pytest.mark.parametrize("change", ["value", "two digests"])
def test_silence_ends(person, change):
    """When what was changed is as it was, the device decides again what came meanwhile."""
    person.speak(LETTER, {})
    own, log = person.own, person.log
    silent(person, change)
    person.speak(LETTER + WEEK)
    person.own, person.log = own, log
    person.speak(LETTER + 2 * WEEK)
    assert set(person.state.records) == set(HISTORY)


def test_a_deletion_counts_in_silence(person):
    """A shown item that its owner deletes is left out, whatever else is silent."""
    before = person.speak(LETTER)
    gone = before.ratings[0][0]
    for change in ("value", "another log"):
        silent(person, change)
        fewer = {item: stars for item, stars in HISTORY.items() if item != gone}
        after = person.speak(LETTER + (1 + len(person.heard)) * WEEK, fewer)
        assert after.ratings == before.ratings[1:]


def test_an_unsafe_disclosure_from_the_first(person):
    """Without a letter there is no set to send again, and none to send."""
    silent(person, "true stars")
    person.log = person.log[1:]
    assert person.speak(LETTER + WEEK) is None
    assert person.state.last_epoch == -1
    assert person.heard


WEEKS = (LETTER, LETTER + WEEK, LETTER + 2 * WEEK)
LISTS = (("F", "Z"), ("M", "Z"), ("F", "M", "Z"))
"""Values that the service lists in three weeks."""


def live_under_lists(value, disclose, tables, history=HISTORY, lists=LISTS):
    """What leaves in each of the weeks, and the person."""
    shown = [disclose(tables={"gender": tables(values=listed)}) for listed in lists]
    person = Person(shown[0])
    person.own = {"gender": value}
    left = []
    for week, (now, disclosure) in enumerate(zip(WEEKS, shown, strict=True)):
        if week > 0:
            person.refit(disclosure, FIRST + week)
        account = Account(person.state, disclosure, person.log, person.own, SECRET, str)
        left.append((account.may_send(now), person.speak(now, history)))
    return left, person


@pytest.mark.parametrize("value", ["M", "X"])
def test_before_the_first_letter_an_unlisted_value_sends_nothing(disclose, tables, value):
    """Not in the week that lists it either: that week would tell the value."""
    left, person = live_under_lists(value, disclose, tables)
    assert left == [(False, None)] * 3
    assert person.state.records == {}
    assert len(person.heard) == 3
    assert all("Nothing new is decided or sent" in notice for notice in person.heard)


@pytest.mark.parametrize("value", ["F", "Z"])
def test_other_lists_of_values_decide_nothing_whatever_the_value(disclose, tables, value):
    """An owner who sends letters goes on, and no list lets later ones show more."""
    few = {item: HISTORY[item] for item in list(HISTORY)[:4]}
    for history in (few, {}):
        left, person = live_under_lists(value, disclose, tables, history)
        letters = [letter for _, letter in left]
        assert all(may_send for may_send, _ in left)
        assert letters[1].ratings == letters[2].ratings == letters[0].ratings
        again = person.speak(LETTER + 3 * WEEK, HISTORY)
        assert again.ratings == letters[0].ratings
        assert set(person.state.records) == set(history)


def test_the_list_is_stored_though_nothing_is_sent(disclose, tables):
    """Else a device that starts again would take the next list for the first one."""
    shown = disclose(tables={"gender": tables(values=("F", "Z"))})
    person = Person(shown)
    person.own = {"gender": "M"}
    assert person.speak(LETTER) is None
    stored = State.decode(person.kept[-1])
    assert stored.values == (("gender", ("F", "Z")),)
    assert stored.last_epoch == FIRST


def test_nothing_is_asked_for_while_a_disclosure_is_refused(person):
    """Before the first letter, a refused disclosure lets no request name the account."""
    silent(person, "true stars")
    for value in ("F", "M", "X"):
        account = Account(person.state, person.shown, person.log, {"gender": value}, SECRET, str)
        assert not account.may_send(LETTER + WEEK)


def test_the_list_is_kept_when_an_account_is_forgotten(person):
    """The next account on this device decides under no other list."""
    person.speak(LETTER)
    after = state_after_forgetting(person.state, HISTORY, LETTER)
    assert after.values == person.state.values == (("gender", ("F", "M")),)


def test_the_log_only_grows(person):
    """Each log seen is kept, and the next one has to begin with it."""
    person.speak(LETTER)
    assert person.state.log == person.log
    later = replace(person.shown, aliases=(("old", "item 0"),))
    person.refit(later, FIRST + 1)
    letter = person.speak(LETTER + WEEK)
    assert letter.disclosure == later.digest
    assert person.state.log == person.log


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ((), "does not have"),
        (((5, "x"),), "does not have"),
        (((5, "d"), (5, "d")), "two disclosures"),
        (((5, "d"), (4, "d")), "two disclosures"),
        (((5, "d"), (6, "x")), "does not have"),
        (((8, "d"),), "does not have"),
    ],
)
def test_logs_that_are_not_followed(log, reason):
    """The digest that counts now has to be the disclosure's, and epochs go up."""

    class Shown:
        digest = "d"

    with pytest.raises(RefusalError, match=reason):
        check_log(log, (), Shown, 7)
    assert check_log(((5, "x"), (6, "d"), (9, "x")), ((5, "x"),), Shown, 7)


OFF_SCALE = [9.0, 0.0, 3.5, float("nan"), float("inf"), None, "4", 10**400, 4j, [4.0], object()]


@pytest.mark.parametrize("stars", OFF_SCALE, ids=lambda stars: ascii(stars)[:9])
def test_a_star_off_the_scale_does_not_stop_the_letter(person, stars):
    """Its item is not decided, and its owner hears of it; put right, it is decided next."""
    letter = person.speak(CREATED + FIRST_END, HISTORY | {"item 5": stars})
    assert letter.epoch == 0
    assert set(person.state.records) == set(HISTORY) - {"item 5"}
    assert person.heard == ['Not decided, because the stars lie off the scale: "item 5".']
    person.speak(CREATED + DAY, HISTORY)
    assert set(person.state.records) == set(HISTORY)


def test_a_decided_item_needs_no_star_on_the_scale(person):
    """A star that is put off the scale later changes nothing: it is not looked at."""
    letter = person.speak(LETTER)
    wrong = dict.fromkeys(HISTORY, 99.0)
    assert person.speak(LETTER + WEEK, wrong).ratings == letter.ratings != ()
    assert person.heard == []


@pytest.mark.parametrize("trusted", [True, False])
def test_another_epoch_length_does_not_set_the_calendar(person, trusted):
    """Whatever a later disclosure says, letters leave as those of the first one."""
    before = person.speak(LETTER)
    shown = replace(person.shown, epoch_length=DAY)
    if trusted:
        person.refit(shown, FIRST + 1)
    else:
        person.shown = shown
    spoken = {}
    for now in range(LETTER, LETTER + 3 * WEEK, 3600):
        letter = person.speak(now)
        spoken.setdefault(letter and letter.epoch, now)
    assert set(spoken) == {None, FIRST, FIRST + 1, FIRST + 2, FIRST + 3}
    for epoch in (FIRST + 1, FIRST + 2):
        due = sending_time(epoch, CREATED, WEEK, SECRET)
        assert due <= spoken[epoch] < due + 3600
    assert letter.ratings == before.ratings


def test_a_deletion_in_silence_counts_under_followed_names(person):
    """A rating under an old id is not deleted, whatever a disclosure that is not trusted says."""
    first, second, *others = person.shown.items
    before = person.speak(LETTER, dict.fromkeys((first, second, *others), 3.0))
    person.refit(named(person.shown, ["new", second, *others], ((first, "new"),)), FIRST + 1)
    renamed = person.speak(LETTER + WEEK, dict.fromkeys((first, second, *others), 3.0))
    assert [level for _, level in renamed.ratings] == [level for _, level in before.ratings]
    silent(person, "not in the log")
    after = person.speak(LETTER + 2 * WEEK, dict.fromkeys((first, *others), 3.0))
    assert after.ratings == tuple(pair for pair in renamed.ratings if pair[0] != second)
    assert {first, second} & {item for item, _ in before.ratings}


def named(shown, items, aliases):
    """The same tables under other ids."""
    return replace(shown, items=tuple(items), aliases=tuple(aliases))


def test_renamed_items_are_followed_before_anything(person):
    """The record moves, and a rating under the old id is not taken for a deletion."""
    before = person.speak(LETTER, {"item 0": 1.0, "item 1": 2.0})
    (first, *others) = person.shown.items
    person.refit(named(person.shown, ["new", *others], [(first, "new")]), FIRST + 1)
    after = person.speak(LETTER + WEEK, {"item 0": 1.0, "item 1": 2.0})
    renamed = {"item 0": "new"}
    assert after.ratings == tuple((renamed.get(i, i), level) for i, level in before.ratings)
    assert len(after.ratings) > 0
