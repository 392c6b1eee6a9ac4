"""When a device speaks: a function of the calendar, the account's creation and its secret alone."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.standard_scheme.epochs import (
    FIRST_END,
    calendar_epoch,
    due_epoch,
    epoch_end,
    epoch_start,
    latest_ended_epoch,
    sending_time,
)
from tacit.designs.standard_scheme.messages import DAY, WEEK

CREATED = 1_700_000_000
SECRET = bytes(32)
times = st.integers(CREATED, CREATED + 60 * WEEK)
lengths = st.integers(DAY, 10 * WEEK)


@pytest.mark.parametrize(
    ("text", "number"),
    [("1970-01-05 00:00", 0), ("1970-01-11 23:59", 0), ("2023-11-13 00:00", 2810)],
)
def test_weeks_begin_on_monday(text, number):
    """Epoch k of a week's length begins on Monday, 00:00 UTC, k weeks after 1970-01-05."""
    time = int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
    assert calendar_epoch(time, WEEK) == number
    first = datetime.fromtimestamp(epoch_start(number, WEEK), UTC)
    assert (first.weekday(), first.hour, first.minute) == (0, 0, 0)


def test_a_cold_start():
    """An account's first epochs end after 30 minutes and 24 hours, and letters are due at once."""
    for seconds, label in (
        (0, None),
        (FIRST_END - 1, None),
        (FIRST_END, 0),
        (DAY - 1, 0),
        (DAY, 1),
    ):
        assert latest_ended_epoch(CREATED, CREATED + seconds, WEEK) == label
        assert due_epoch(CREATED, -1, CREATED + seconds, WEEK, SECRET) == label
    assert (epoch_end(0, CREATED, WEEK), epoch_end(1, CREATED, WEEK)) == (
        CREATED + FIRST_END,
        CREATED + DAY,
    )


@given(times, lengths)
def test_labels_never_go_back(now, length):
    """As time goes on labels only grow; each one's epoch has ended."""
    before, after = (latest_ended_epoch(CREATED, time, length) for time in (now, now + 1))
    order = [-1 if label is None else label for label in (before, after)]
    assert order == sorted(order)
    if before is not None:
        assert epoch_end(before, CREATED, length) <= now


@given(times, lengths)
def test_no_second_is_in_two_epochs(now, length):
    """An epoch of the calendar ends where the next begins; the first ones end in their order."""
    label = calendar_epoch(now, length)
    assert epoch_end(label, CREATED, length) == epoch_start(label + 1, length)
    assert epoch_start(label, length) <= now < epoch_start(label + 1, length)


@given(times, lengths, st.binary(min_size=32, max_size=40))
def test_letters_leave_within_a_day(now, length, secret):
    """A letter is due within the day after its epoch's end, at the account's own moment."""
    label = calendar_epoch(now, length)
    after = sending_time(label, CREATED, length, secret) - epoch_end(label, CREATED, length)
    assert 0 <= after < DAY
    assert sending_time(label, CREATED + 7, length, secret) == sending_time(
        label, CREATED, length, secret
    )


def test_moments_are_spread_over_the_day():
    """Over 2,000 epochs and two secrets the moments fill the day evenly (false alarm below 1e-6).

    Each quarter of the day has 1,000 in the mean, with standard deviation 27.
    """
    for secret in (bytes(32), bytes([1]) * 32):
        after = [
            sending_time(k, 0, WEEK, secret) - epoch_end(k, 0, WEEK) for k in range(1000, 5000)
        ]
        quarters = [sum(q <= 4 * each // DAY < q + 1 for each in after) for q in range(4)]
        assert all(abs(count - 1000) < 140 for count in quarters)


def test_one_letter_an_epoch():
    """What was spoken is not due again, and of several missed epochs the latest is due."""
    now = CREATED + 5 * WEEK
    label = latest_ended_epoch(CREATED, now, WEEK)
    later = sending_time(label, CREATED, WEEK, SECRET)
    assert due_epoch(CREATED, 0, later - 1, WEEK, SECRET) is None
    assert due_epoch(CREATED, 0, later, WEEK, SECRET) == label
    assert due_epoch(CREATED, label, later, WEEK, SECRET) is None


def test_a_clock_at_its_beginning():
    """A device whose clock stands at 1970 has no calendar's letter before the cold start's."""
    assert [latest_ended_epoch(0, time, WEEK) for time in (0, FIRST_END, DAY, 2 * WEEK)] == [
        None,
        0,
        1,
        1,
    ]
