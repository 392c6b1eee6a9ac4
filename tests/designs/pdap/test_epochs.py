"""Public time: lengths of epochs, sets of arms, and the alarm of falling rewards."""

from __future__ import annotations

import json

import pytest

from tacit.designs.pdap.epochs import ChangeAlarm, Epochs


def lengths(epochs, count):
    """The lengths of the next epochs."""
    found = []
    for _ in range(count):
        found.append(epochs.ends_at - epochs.arrivals)
        epochs.count_visits((0,), found[-1])
        assert epochs.is_due
        epochs.begin_next()
    return found


def test_epochs_grow_by_half_up_to_a_twentieth():
    """30,000 visits: 150, 225, 338, ... 1,500, for ever."""
    found = lengths(Epochs(30_000), 12)
    assert found[:4] == [150, 225, 338, 507]
    assert found[-4:] == [1500] * 4


def test_lengths_start_anew_after_a_join_not_too_often():
    """At most once in a tenth of the horizon."""
    epochs = Epochs(2000)
    lengths(epochs, 6)
    epochs.start_anew()
    assert epochs.ends_at - epochs.begins_at == 10
    lengths(epochs, 3)
    long_before = epochs.ends_at - epochs.begins_at
    epochs.start_anew()
    assert epochs.ends_at - epochs.begins_at == long_before


def test_sets_are_counted_by_arrivals():
    """Arrivals of an epoch that were shown something here; rows of a log are not among them."""
    epochs = Epochs(2000)
    epochs.count_visits((0, 1), 3)
    epochs.count_visits((1,))
    epochs.count_log(5)
    assert (epochs.arrivals, epochs.own_arrivals) == (9, 4)
    assert dict(epochs.arrivals_by_set) == {(0, 1): 3, (1,): 1}
    epochs.begin_next()
    assert (epochs.own_arrivals, epochs.log_rows, len(epochs.arrivals_by_set)) == (0, 0, 0)


def test_time_comes_back():
    """Through JSON, to the last number."""
    epochs = Epochs(2000)
    epochs.count_visits((0, 1), 3)
    epochs.count_log(2)
    state = json.loads(json.dumps(epochs.export_state()))
    other = Epochs(2000)
    other.resume(state)
    assert other.export_state() == epochs.export_state()
    assert dict(other.arrivals_by_set) == {(0, 1): 3}


@pytest.mark.parametrize(
    ("likes", "alarm"), [((500, 500, 300), True), ((500, 500, 480), False), ((500, 300), True)]
)
def test_a_fall_beyond_noise_is_noticed(likes, alarm):
    """1,000 visits each without noise: a rate of .3 after .5 is a change, .48 is chance."""
    change = ChangeAlarm()
    noticed = [change.notice(liked, 1000.0, arrivals=1000, noise=0.0) for liked in likes]
    assert noticed[-1] is alarm
    assert not any(noticed[:-1])
    assert len(change.rates) == (1 if alarm else 2)


def test_noise_and_answers_that_fail_raise_no_alarm():
    """Released visits near 0 count as a tenth of the arrivals, and large noise tolerates much."""
    change = ChangeAlarm()
    assert not change.notice(50.0, 100.0, arrivals=1000, noise=40.0)
    assert not change.notice(1.0, 2.0, arrivals=1000, noise=40.0)


@pytest.mark.parametrize(("arrivals", "length"), [(199, 100), (200, 10)])
def test_lengths_start_anew_a_tenth_of_the_horizon_later(arrivals, length):
    """Of 2,000 visits: for arms that join 200 visits after the last start, and not one before."""
    epochs = Epochs(2000)
    lengths(epochs, 7)
    epochs.start_anew()
    started = epochs.arrivals
    while epochs.arrivals + epochs.ends_at - epochs.begins_at <= started + 100:
        lengths(epochs, 1)
    epochs.count_visits((0,), started + arrivals - epochs.arrivals)
    epochs.end_now()
    epochs.begin_next()
    grown = epochs.ends_at - epochs.begins_at
    epochs.start_anew()
    assert grown > 10
    assert epochs.ends_at - epochs.begins_at == (grown if length == 100 else 10)


def test_epochs_that_ended_are_counted():
    """None before the first has ended."""
    epochs = Epochs(2000)
    assert epochs.number == 0
    lengths(epochs, 3)
    assert epochs.number == 3


@pytest.mark.parametrize(("later", "alarm"), [(660, False), (630, True)])
def test_a_fall_is_held_against_the_released_noise(later, alarm):
    """1,000 visits in each of two epochs, K (B / epsilon)^2 = 40: v = .25 / 1000 + 80 / 1000^2, so
    that a fall by less than .05 + 4 sqrt(2 v) = .1528 is chance."""
    change = ChangeAlarm()
    change.notice(800.0, 1000.0, arrivals=1000, noise=40.0)
    assert change.notice(float(later), 1000.0, arrivals=1000, noise=40.0) is alarm


@pytest.mark.parametrize(("allowed", "fallen"), [(0.25, False), (0.2, True)])
def test_a_rate_may_fall_by_the_tolerance(allowed, fallen, monkeypatch):
    """Rewards have fallen if the rate lies further below an earlier one: here .5 is below .75."""
    monkeypatch.setattr(ChangeAlarm, "TOLERANCE", allowed)
    monkeypatch.setattr(ChangeAlarm, "STANDARD_ERRORS", 0.0)
    alarm = ChangeAlarm()
    assert not alarm.notice(75.0, 100.0, arrivals=100, noise=1.0)
    assert alarm.notice(50.0, 100.0, arrivals=100, noise=1.0) == fallen
