"""Draws are uniform, unrepeatable where they protect somebody, and repeatable where they do not."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest
from scipy.stats import binomtest, chisquare

from tacit import randomness
from tacit.errors import ConfigError, PrivacyError
from tacit.randomness import bernoulli, integers_below, replay, secure, simulation

FALSE_ALARM = 1e-6
FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
BOUND = 3 << 60  # 2**64 holds five of these and a third: a plain modulo favours the lowest third


def thirds(draws):
    """How many draws fall in each third of [0, BOUND)."""
    return np.bincount(draws // (1 << 60), minlength=3)


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10, 1000])
def test_small_bounds_are_uniform(bound):
    """Every integer below a small bound comes equally often (chi-square, false alarm 1e-6)."""
    draws = integers_below(secure(), bound, 60_000)
    counts = np.bincount(draws, minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or chisquare(counts).pvalue > FALSE_ALARM


def test_large_bounds_are_uniform():
    """Below 3 * 2**60 the three thirds come equally often (chi-square, false alarm 1e-6)."""
    assert chisquare(thirds(integers_below(secure(), BOUND, 60_000))).pvalue > FALSE_ALARM


def test_catches_a_plain_modulo():
    """The same test refuses draws made by a modulo without rejection."""
    biased = (secure().words(60_000) % np.uint64(BOUND)).astype(np.int64)
    assert chisquare(thirds(biased)).pvalue < FALSE_ALARM


def test_every_rejected_word_is_drawn_again():
    """A word at or above the limit is replaced until it lies below, and only that one."""

    rounds = [[5, 2**64 - 1, 7], [2**64 - 1], [BOUND + 9]]

    class Scripted:
        is_private = False

        def words(self, count):
            words = rounds.pop(0)
            assert len(words) == count
            return np.array(words, dtype=np.uint64)

    assert integers_below(Scripted(), BOUND, 3).tolist() == [5, 9, 7]


@pytest.mark.parametrize("bound", [0, -1, (1 << 62) + 1])
def test_bounds_in_range(bound):
    """A bound below 1 or above 2**62 is refused."""
    with pytest.raises(ConfigError, match="bound"):
        integers_below(secure(), bound, 1)


def test_largest_bound():
    """Draws below 2**62 reach the upper half and stay below the bound."""
    draws = integers_below(secure(), 1 << 62, 1000)
    assert (1 << 61) < draws.max() < 1 << 62
    assert draws.min() >= 0


def test_no_draws():
    """None asked, none given."""
    assert integers_below(secure(), 10, 0).shape == (0,)


@pytest.mark.parametrize("numerator", [1, 250_000, 999_999])
def test_events_happen_as_often_as_they_say(numerator):
    """numerator / 1,000,000 of 200,000 events happen (exact binomial test, false alarm 1e-6)."""
    events = bernoulli(secure(), np.full(200_000, numerator), 1_000_000)
    test = binomtest(int(events.sum()), events.size, numerator / 1_000_000)
    assert test.pvalue > FALSE_ALARM


def test_catches_a_wrong_chance():
    """The same test refuses events one per cent more likely than they say."""
    events = bernoulli(secure(), np.full(200_000, 260_000), 1_000_000)
    assert binomtest(int(events.sum()), events.size, 0.25).pvalue < FALSE_ALARM


def test_certain_and_impossible_events():
    """0 never happens and the whole denominator always does."""
    numerators = np.repeat(np.array([[0], [7]]), 1000, axis=1)
    assert (bernoulli(secure(), numerators, 7) == (numerators == 7)).all()


def _child(queue):
    queue.put(secure().words(4).tolist())


@FORKS
def test_forks_draw_apart():
    """The parent and several forked children share no secure draw."""
    source = secure()
    source.words(1)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=_child, args=(queue,)) for _ in range(4)]
    for child in children:
        child.start()
    drawn = [word for _ in children for word in queue.get()]
    for child in children:
        child.join()
    drawn += source.words(4).tolist()
    assert len(set(drawn)) == 20


def test_secure_source_is_private():
    """Only the system's generator says that it may protect somebody."""
    with simulation():
        assert (secure().is_private, replay(1).is_private) == (True, False)


def test_replay_is_refused_outside_a_simulation():
    """A seed is refused where a release might be made."""
    with pytest.raises(PrivacyError, match="simulation"):
        replay(1)


def test_simulation_ends():
    """After the block, also one that failed, and after a nested one, seeds are refused again."""

    def fail():
        with simulation():
            with simulation():
                pass
            replay(1)
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        fail()
    with pytest.raises(PrivacyError):
        replay(1)


def test_simulation_is_for_its_own_thread():
    """A simulation in one thread opens nothing in another."""
    refused = []

    def elsewhere():
        try:
            replay(1)
        except PrivacyError:
            refused.append(True)

    with simulation():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert refused == [True]


def test_same_seed_same_stream():
    """A seed names one stream: twice the same words."""
    with simulation():
        first, second = (replay("a").words(1000) for _ in range(2))
    assert (first == second).all()


def test_other_seeds_other_streams():
    """Streams of different seeds share no word, also where seeds look alike."""
    with simulation():
        drawn = [word for seed in (0, 1, "01", "1 ", "a") for word in replay(seed).words(100)]
    assert len(set(drawn)) == 500


def test_replayed_stream_is_uniform():
    """Replayed draws are uniform too (chi-square, false alarm 1e-6; the seed is fixed)."""
    with simulation():
        draws = integers_below(replay(7), 10, 100_000)
    assert chisquare(np.bincount(draws, minlength=10)).pvalue > FALSE_ALARM


@FORKS
def test_replay_does_not_cross_a_fork():
    """A stream carried into a child is refused there, where it would repeat the parent's."""
    with simulation():
        source = replay(1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with simulation():
                source.words(1)
            os.write(write, b"drawn")
        except PrivacyError:
            os.write(write, b"refused")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    assert os.read(read, 100) == b"refused"
    os.close(read)


def test_replay_does_not_cross_a_pickle(monkeypatch):
    """A stream sent to another process is refused there."""
    with simulation():
        sent = pickle.dumps(replay(1))
    monkeypatch.setattr(randomness.os, "getpid", lambda: -1)
    with simulation(), pytest.raises(PrivacyError, match="another process"):
        pickle.loads(sent).words(1)  # noqa: S301 (made three lines above)


def test_replay_ends_with_its_simulation():
    """A stream made in a simulation draws nothing after it: no release can be made with it."""
    with simulation():
        kept = replay(1)
        kept.words(1)
    with pytest.raises(PrivacyError, match="protects nobody"):
        kept.words(1)
