"""What the documentation proves about rounds, voters and silence, tried by enumeration.

The view of one client is told apart from the view without one voter by the sum over rounds of
ln(p / p'). Here every transcript of short runs is walked through, by the printed rules.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.designs.prec import Entry, PRec, PRecSettings, Round, Transcript
from tacit.designs.prec.output_distribution import OutputDistribution
from tacit.designs.prec.planner import floor_epsilon
from tacit.designs.prec.replay import replay
from tacit.randomness import secure

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def told(law: OutputDistribution, votes: Ints, alive: Bools, size: int) -> Ints:
    """(size,) ln(p / p') of each outcome; the voter who is in one pattern alone is the last."""
    present = np.bincount(votes[alive], minlength=size)
    absent = np.bincount(votes[:-1][alive[:-1]], minlength=size)
    return np.asarray(np.log(law.chances(present)) - np.log(law.chances(absent)))


def extremes(
    law: OutputDistribution,
    pattern: list[tuple[Ints, int, Ints]],
    credit: tuple[Ints, Ints],
    peers: int,
    each: int = 1,
) -> tuple[float, float]:
    """Highest and lowest sum over all outcomes and answers while the gate may be open.

    pattern: by round the votes, the number of objects, and voters who leave before it. credit:
    (voters,) creditD and creditR; each: their sum at the start. The gate may be open while all
    credit comes to `each` times `peers`, hers with it.
    """
    if not pattern:
        return 0.0, 0.0
    (votes, size, leaving), later = pattern[0], pattern[1:]
    diverse, wrong = credit[0].copy(), credit[1].copy()
    wrong[leaving] = 0
    alive = (wrong > 0) & (diverse + wrong > 0)
    if not alive[-1] or (diverse + wrong)[alive].sum() // each < peers:
        return 0.0, 0.0
    high = low = 0.0
    losses = told(law, votes, alive, size)
    for outcome in range(size):
        for liked in (True, False):
            after = (
                diverse - (liked & (votes != outcome)),
                wrong - (alive & (not liked) & (votes == outcome)),
            )
            best, worst = extremes(law, later, after, peers, each)
            high, low = max(high, losses[outcome] + best), min(low, losses[outcome] + worst)
    return high, low


def fresh(voters: int, diversity: int = 0, radius: int = 0) -> tuple[Ints, Ints]:
    """Credits at the start."""
    return np.full(voters, 2 * diversity), np.full(voters, 2 * radius + 1)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_rounds_of_any_size_and_leaving_voters_stay_below_the_floor(data: st.DataObject) -> None:
    """No transcript of 4 rounds tells more than the exact floor, whoever leaves and whatever m."""
    others = data.draw(st.integers(12, 24))
    pattern = []
    for _ in range(4):
        size = data.draw(st.integers(1, 2))
        counts = data.draw(st.integers(0, others))
        votes = np.where(np.arange(others + 1) < counts, 0, size - 1)
        votes[-1] = data.draw(st.integers(0, size - 1))
        leaving = data.draw(st.lists(st.integers(0, others - 1), max_size=3))
        pattern.append((votes, size, np.array(leaving, dtype=np.int64)))
    floor, _ = floor_epsilon(objects=2, rounds=4, peers=12, voters=others + 1)
    high, low = extremes(OutputDistribution(4, 2), pattern, fresh(others + 1), 12)
    assert -floor <= low <= high <= floor


@pytest.mark.parametrize(("diversity", "radius"), [(1, 0), (0, 1)])
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_credits_stay_below_the_floor(diversity: int, radius: int, data: st.DataObject) -> None:
    """The same with three credits for each voter, while their total is 3 times 12 or more."""
    others, rounds = data.draw(st.integers(12, 16)), 4 * (radius + 1)
    pattern = []
    for _ in range(4):
        counts = data.draw(st.integers(0, others))
        votes = np.where(np.arange(others + 1) < counts, 0, 1)
        votes[-1] = data.draw(st.integers(0, 1))
        pattern.append((votes, 2, np.array([], dtype=np.int64)))
    wanted = PRecSettings(
        rounds, 2, others + 1, peers=12, delta=0.5, diversity=diversity, radius=radius
    )
    start = fresh(others + 1, diversity, radius)
    high, low = extremes(wanted.output_distribution, pattern, start, 12, wanted.credit)
    floor, _ = floor_epsilon(
        objects=2,
        rounds=rounds,
        peers=12,
        voters=others + 1,
        diversity=diversity,
        radius=radius,
    )
    assert -floor <= low <= high <= floor


def test_the_walk_finds_a_leak_that_is_there() -> None:
    """The enumeration is not blind: with a floor of 1 it finds more than the floor of 12 allows."""
    floor, _ = floor_epsilon(objects=2, rounds=4, peers=12, voters=13)
    halves = [
        (np.array([0] * 6 + [1] * 7), 2, np.array([], dtype=np.int64)),
        (np.array([0] * 10 + [1] * 3), 2, np.array([], dtype=np.int64)),
        (np.array([0] * 12 + [1]), 2, np.array([], dtype=np.int64)),
    ]
    high, low = extremes(OutputDistribution(4, 2), halves, fresh(13), 1)
    assert max(high, -low) > floor


def passing(counts: list[int], threshold: int, scale: float) -> Ints:
    """Chance that a gate of discrete noise shuts at each count in turn, and last, at none."""
    q, far = math.exp(-1 / scale), 120
    steps = np.arange(-far, far + 1)
    chance = (1 - q) / (1 + q) * q ** np.abs(steps)
    beyond = chance[::-1].cumsum()[::-1]  # that the noise on a count is so much or more
    open_still, shut = chance.copy(), []
    for count in counts:
        stop = beyond[np.clip(count - threshold + steps, -far, far) + far]
        shut.append((open_still * stop).sum())
        open_still = open_still * (1 - stop)
    return np.array([*shut, open_still.sum()])


def view(
    wanted: PRecSettings, pattern: Ints, *, gated: bool, hers: Ints
) -> dict[tuple[tuple[int, ...], int], float]:
    """Chance of every (outputs until the stop, rounds open), for a client who follows one voter."""
    rounds, plan, law = len(pattern), wanted.plan, wanted.output_distribution
    found: dict[tuple[tuple[int, ...], int], float] = {}

    def walk(outputs: tuple[int, ...], alive: Bools, counts: list[int], chance: float) -> None:
        at = len(outputs)
        counts = [*counts, int(alive.sum())] if at < rounds else counts
        stops = passing(counts, plan.threshold, 2 / plan.gate_epsilon)
        if at == rounds or gated:
            last = stops[at] if gated else 1.0
            found[outputs, at] = chance * last
        if at < rounds:
            laws = law.chances(np.bincount(pattern[at][alive], minlength=2))
            for outcome in range(2):
                liked = outcome == hers[at]
                after = alive & ((pattern[at] == outcome) == liked)
                walk((*outputs, outcome), after, counts, chance * laws[outcome])

    walk((), np.ones(pattern.shape[1], dtype=bool), [], 1.0)
    return found


def hockey(first: dict[object, float], second: dict[object, float], epsilon: float) -> float:
    """The least delta at which epsilon holds for this pair, in both directions."""
    factor = math.exp(epsilon)
    return max(
        sum(max(0.0, one[key] - factor * other[key]) for key in first)
        for one, other in ((first, second), (second, first))
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_gated_view_keeps_epsilon_and_delta(seed: int) -> None:
    """All views of 6 rounds, enumerated with the gate's discrete noise, for a client who follows
    one voter among few: within delta at the plan's epsilon, where without a gate it is not."""
    wanted = PRecSettings(6, 2, 40, peers=12, epsilon=5.0, delta=0.02)
    rng, others = np.random.default_rng(seed), 1 + 3 * seed
    pattern = rng.integers(0, 2, (6, others + 1))
    both, alone = pattern, pattern[:, :-1]
    losses = {}
    for gated in (True, False):
        pair = [view(wanted, votes, gated=gated, hers=pattern[:, -1]) for votes in (both, alone)]
        for chances in pair:
            assert sum(chances.values()) == pytest.approx(1, abs=1e-9)
        losses[gated] = hockey(*pair, wanted.plan.epsilon)
    assert losses[True] <= wanted.plan.delta
    assert losses[False] > 10 * wanted.plan.delta or others > 3


def test_silence_without_a_charge_would_break_the_chain() -> None:
    """If nobody paid for silence, 100 equal rounds would tell 100 times as much as one."""
    votes = np.array([0] * 30 + [1] * 30 + [0])
    once = told(OutputDistribution(100, 2), votes, np.ones(61, dtype=bool), 2)[0]
    floor, _ = floor_epsilon(objects=2, rounds=100, peers=12, voters=61)
    assert 100 * once > 3 * floor


def test_leaving_abstainers_out_would_break_the_chain() -> None:
    """If shares were of those who vote, each round could be about 13 of 1,201 voters, all alive."""
    law = OutputDistribution(100, 2)
    votes = np.array([0] * 6 + [1] * 6 + [0])
    once = told(law, votes, np.ones(13, dtype=bool), 2)[0]
    floor, _ = floor_epsilon(objects=2, rounds=100, peers=12, voters=1201)
    assert 100 * once > 10 * floor


@pytest.mark.parametrize(("diversity", "radius"), [(0, 0), (1, 0), (0, 1), (2, 1)])
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_one_voter_moves_what_the_gate_is_asked_by_one(
    diversity: int, radius: int, data: st.DataObject
) -> None:
    """Along any transcript: who else counts is the same, and credit // c is 0 or 1 higher."""
    voters, size = data.draw(st.integers(1, 10)), 3
    cells = st.lists(st.integers(0, size - 1), min_size=voters, max_size=voters)
    pattern = np.array(data.draw(st.lists(cells, min_size=1, max_size=6)))
    entries = [
        Entry(number + 1, data.draw(st.integers(0, size - 1)), data.draw(st.booleans()))
        for number in range(len(pattern))
    ]
    wanted = PRecSettings(40, 3, 50, epsilon=math.inf, diversity=diversity, radius=radius)
    states = []
    for last in (voters, voters - 1):
        rounds = [Round(range(size), (np.arange(last), votes[:last])) for votes in pattern]
        rounds.append(Round([0], ([], [])))
        server = replay(
            wanted, rounds, {"ann": Transcript(1, tuple(entries))}, number=1, randomness=secure()
        )
        states.append((server.survivors("ann"), server.credit_left("ann") // wanted.credit))
    (beside, more), (without, less) = states
    assert beside - {voters - 1} == without
    assert more - less in (0, 1)


def test_recommendations_are_drawn_from_the_law_of_the_state() -> None:
    """The curator's counts are the ones whose log-ratios are added up here."""
    server = PRec(PRecSettings(40, 3, 100, epsilon=math.inf), randomness=secure())
    server.open_round(range(3), (np.arange(30), np.arange(30) % 3))
    chosen = server.recommend("ann")
    server.feedback("ann", True)
    server.open_round(range(2), (np.arange(30), np.arange(30) % 2))
    left = [voter for voter in range(30) if voter % 3 == chosen]
    assert server.counts("ann").tolist() == np.bincount(np.array(left) % 2).tolist()
