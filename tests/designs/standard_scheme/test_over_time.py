"""What leaves over many epochs, refits and schedules: nothing is ever lost, changed or late."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import generate
from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.disclosure import RELEASES, Disclosure
from tacit.designs.standard_scheme.epochs import calendar_epoch, epoch_end
from tacit.designs.standard_scheme.memory import State, open_state
from tacit.designs.standard_scheme.messages import DAY, WEEK, Release
from tacit.designs.standard_scheme.training.people import find_consenting_people
from tacit.designs.standard_scheme.training.tables import estimate_all_tables

PEOPLE, ITEMS = 400, 60
CREATED = 1_700_000_000
WEEKS = 10
REFITS = (0, 2, 4, 7)
"""Weeks after the first in which a disclosure begins to count."""


@pytest.fixture(scope="module")
def people():
    return generate(users=PEOPLE + 600, items=ITEMS, ratings=24_000, seed=3)


@pytest.fixture(scope="module")
def disclosures(people, make_disclosure):
    """Four fits to consenting people of whom a tenth leave and others come; and their log."""
    crowd, _ = find_consenting_people(people, ["gender"])
    found = []
    for number in range(len(REFITS)):
        some = np.arange(PEOPLE + 60 * number, PEOPLE + 60 * number + 400)
        of_some = replace(crowd, levels=crowd.levels[some], labels=crowd.labels[some])
        tables = estimate_all_tables(of_some, seed=number)
        found.append(make_disclosure(tables, RELEASES["scheme+selection+rounding"]))
    first = calendar_epoch(CREATED, WEEK)
    log = tuple((first + week, one.digest) for week, one in zip(REFITS, found, strict=True))
    return found, log


def shown_at(disclosures, now):
    """The disclosure that counts, and the log as it stands."""
    found, log = disclosures
    count = sum(epoch <= calendar_epoch(now, WEEK) for epoch, _ in log)
    return found[count - 1], log[:count]


def history_of(people, number):
    """Item to (stars, the second at which they were entered), in an order by chance."""
    chance = np.random.default_rng(number)
    rated = people.history(people.user_ids[number])
    return {
        f"item {people.item_number(item)}": (
            stars,
            CREATED + int(WEEKS * WEEK * chance.random() ** 2),
        )
        for item, stars in rated.items()
    }


def lived(history, value, secret, disclosures, moments, begin=None):
    """The letter or None at each moment: an account that keeps its state."""
    state, kept = begin or State(created=CREATED), []
    for now in moments:
        disclosure, log = shown_at(disclosures, now)
        account = Account(
            State.decode(state.encode()), disclosure, log, {"gender": value}, secret, kept.append
        )
        entered = {item: at for item, (_, at) in history.items() if at <= now}
        stars = {item: history[item][0] for item in entered}
        letter = account.make_due_letter(stars, entered, now)
        state = kept[-1] if kept else state
        yield None if letter is None else Release.decode(letter)


def schedule(number):
    """When a device is on: from every day to once in two weeks."""
    chance = np.random.default_rng(number)
    how_often = chance.choice((DAY, 5 * DAY, 2 * WEEK))
    now, moments = CREATED, []
    while now < CREATED + (WEEKS + 2) * WEEK:
        now += 1 + int(chance.exponential(how_often))
        moments.append(now)
    return moments


def faults(letters, eligible):
    """How many items were lost, changed or late over these letters.

    eligible: for each letter, the items that could be decided then or before.
    """
    lost = changed = late = 0
    for (before, now), known in zip(pairwise(letters), eligible, strict=False):
        lost += len(set(before) - set(now))
        changed += sum(now[item] != before[item] for item in set(before) & set(now))
        late += len((set(now) - set(before)) & known)
    return lost, changed, late


def by_epoch(letters):
    """The last letter of each epoch; all letters of one epoch are the same bytes."""
    found = {}
    for letter in letters:
        if letter is not None:
            assert found.setdefault(letter.epoch, letter).encode() == letter.encode()
    return [found[epoch] for epoch in sorted(found)]


def test_nothing_is_lost_changed_or_late(people, disclosures):
    """400 people, each with a schedule by chance, three refits: no item and no star ever moves.

    An item is late when it is shown although an earlier letter could have shown it.
    """
    found = {shown.digest: shown for shown in disclosures[0]}
    totals, letters_sent, items_shown = np.zeros(3, dtype=int), 0, 0
    for number in range(PEOPLE):
        history = history_of(people, number)
        value = str(people.attribute("gender")[number])
        secret = number.to_bytes(32, "big")
        letters = by_epoch(lived(history, value, secret, disclosures, schedule(number)))
        eligible, known = [], set()
        for letter in letters:
            over = epoch_end(letter.epoch, CREATED, WEEK)
            known = known | decidable(found[letter.disclosure], history, over)
            eligible.append(known)
        totals += faults([dict(letter.ratings) for letter in letters], eligible)
        letters_sent += len(letters)
        items_shown += len(letters[-1].ratings)
    assert totals.tolist() == [0, 0, 0]
    assert letters_sent > 5 * PEOPLE
    assert items_shown > 4 * PEOPLE


def decidable(disclosure: Disclosure, history, over):
    chances = disclosure.attributes[0].keep[0]
    return {
        item
        for item, chance in zip(disclosure.items, chances, strict=True)
        if chance and item in history and history[item][1] < over
    }


def test_planted_faults_are_counted():
    """A lost, a changed and a late item are each counted as what they are."""
    eligible = [{1, 2}] * 3
    assert faults([{1: 5, 2: 5}, {1: 5}, {1: 5}], eligible) == (1, 0, 0)
    assert faults([{1: 5}, {1: 4}, {1: 4}], eligible) == (0, 1, 0)
    assert faults([{1: 5}, {1: 5}, {1: 5, 2: 5}], eligible) == (0, 0, 1)


def test_held_back_items_do_not_show(people, disclosures):
    """Without what was held back, the same letters leave at the same times, byte by byte.

    Nor does it matter when those items were entered, or that their stars change.
    """
    compared = 0
    for number in range(60):
        history, moments = history_of(people, number), schedule(number)
        value, secret = str(people.attribute("gender")[number]), number.to_bytes(32, "big")
        whole = list(lived(history, value, secret, disclosures, moments))
        shown = {item for letter in whole if letter is not None for item, _ in letter.ratings}
        fewer = {item: entry for item, entry in history.items() if item in shown}
        assert list(lived(fewer, value, secret, disclosures, moments)) == whole
        other = fewer | {
            item: (6 - stars, at) for item, (stars, at) in history.items() if item not in shown
        }
        assert list(lived(other, value, secret, disclosures, moments)) == whole
        compared += len(history) - len(fewer)
    assert compared > 100


@settings(max_examples=30, deadline=None)
@given(st.integers(0, PEOPLE - 1), st.lists(st.integers(1, 3 * WEEK), min_size=2, max_size=25))
def test_any_schedule_ends_with_the_same_dice(people, disclosures, number, gaps):
    """However often a device is on, it speaks once an epoch, and sets only grow."""
    moments = np.cumsum([CREATED, *gaps]).tolist()
    history = history_of(people, number)
    letters = by_epoch(lived(history, "F", bytes(32), disclosures, moments))
    sets = [set(letter.ratings) for letter in letters]
    assert all(before <= now for before, now in pairwise(sets))
    assert [letter.epoch for letter in letters] == sorted({letter.epoch for letter in letters})


def test_a_second_device_says_nothing(people, disclosures):
    """A device with the secret of another one and without its memory sends nothing at all."""
    for number in range(40):
        history, begin = history_of(people, number), CREATED + 3 * WEEK
        state = open_state(None, None, {}, begin, WEEK)
        moments = [now for now in schedule(number) if now > begin]
        letters = lived(history, "F", number.to_bytes(32, "big"), disclosures, moments, state)
        assert not any(letters)


def test_a_lost_memory_says_nothing_about_what_was_rated(people, disclosures):
    """A device that lost its memory after a letter sends letters, and shows no item in them.

    What was rated before may have been decided; what is rated later, after the first day, is not.
    """
    sent = 0
    for number in range(40):
        history, begin = history_of(people, number), CREATED + 3 * WEEK
        before = {item for item, (_, at) in history.items() if at <= begin}
        state = open_state(None, 2810, before, begin, WEEK)
        moments = [now for now in schedule(number) if now > begin]
        letters = lived(history, "F", number.to_bytes(32, "big"), disclosures, moments, state)
        sent += sum(letter is not None for letter in letters)
        assert not any(letter.ratings for letter in letters if letter)
    assert sent > 100


def test_the_moment_does_not_depend_on_what_was_rated(people, disclosures):
    """Letters leave in the same epochs for an empty history as for a long one."""
    for number in range(20):
        moments, secret = schedule(number), number.to_bytes(32, "big")
        spoken = [
            [
                letter and letter.epoch
                for letter in lived(history, value, secret, disclosures, moments)
            ]
            for history, value in (({}, "F"), (history_of(people, number), "M"))
        ]
        assert spoken[0] == spoken[1]
