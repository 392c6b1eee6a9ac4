"""The dynamic program: known values, a slow twin, and the algorithm itself run on every output."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.designs.prec import planner, theory
from tacit.engine.prec_chain_compiled import largest_loss, largest_loss_with_credits
from tacit.errors import ConfigError

# The table: (m, T, P, n), without a gate on a promise, and under a gate

TABLE = [
    ((2, 10, 12, 60), 0.627, 1.182),
    ((2, 100, 12, 60), 1.362, 2.623),
    ((2, 1000, 50, 300), 0.525, 1.007),
    ((2, 1000, 100, 500), 0.263, 0.500),
    ((2, 10000, 200, 800), 0.180, 0.303),
    ((3, 100, 18, 72), 1.412, 3.377),
    ((3, 1000, 30, 90), 1.095, 3.075),
]


def named(m, T, P, n, D=0, R=0):
    return {"objects": m, "rounds": T, "peers": P, "voters": n, "diversity": D, "radius": R}


@pytest.mark.parametrize(("setting", "promise", "floor"), TABLE)
def test_table(setting, promise, floor):
    """The exact worst case, found again to 0.002."""
    value, basis = planner.promise_epsilon(**named(*setting))
    assert (value, basis) == (pytest.approx(promise, abs=0.002), "exact")
    value, basis = planner.floor_epsilon(**named(*setting))
    assert (value, basis) == (pytest.approx(floor, abs=0.002), "exact")


@pytest.mark.parametrize(("D", "R", "known"), [(1, 0, 4.620), (0, 1, 4.883)])
def test_table_with_credits(D, R, known):
    """Two objects, 100 rounds, 16 voters, at least 24 credits left: all that a promise keeps."""
    value, basis = planner.promise_epsilon(**named(2, 100, 12, 16, D, R))
    assert (value, basis) == (pytest.approx(known, abs=0.002), "bound")
    assert value < theory.eps_tight(2, 100, D, R, 12) / 20


@pytest.mark.parametrize(("rounds", "needed", "theorem"), [(1000, 51, 498), (10000, 69, 664)])
def test_voters_for_epsilon_1(rounds, needed, theorem):
    """A tenth of what the theorem asks for, with six times as many voters as the floor."""
    for peers in (needed - 1, needed):
        value, _ = planner.floor_epsilon(**named(2, rounds, peers, 6 * peers))
        assert (value <= 1) == (peers == needed)
    assert math.ceil(theory.eps_tight(2, rounds, 0, 0, 1)) == theorem


# A slow twin: every count, every vote, every outcome, every answer, by the paper's formulas


def chance(counts, b, m, r):
    """p(b) by the text: phi, lambda, rho and gamma as printed."""
    gamma, lam, rho = m / (3 * r - 1), 2 * m * math.log(r), 1 / (2 * m)
    shares = [count / sum(counts) for count in counts]
    phi = [
        0 if 2 * m * count <= sum(counts) else math.exp(lam * x) - math.exp(lam * rho)
        for count, x in zip(counts, shares, strict=True)
    ]
    return gamma / m + (1 - gamma) * phi[b] / sum(phi)


def plus(counts, object_):
    return tuple(count + (place == object_) for place, count in enumerate(counts))


def twin(m, T, least, most, sign, promise):
    """sup of the signed sum over T rounds of a game on counts, any start up to `most` others."""

    @cache
    def value(left, others):
        if left == 0 or others < least:
            return 0.0
        best = value(left, others - 1)
        for counts in itertools.product(range(others + 1), repeat=m):
            if sum(counts) != others:
                continue
            for b, hers in itertools.product(range(m), repeat=2):
                with_her = chance(plus(counts, hers), b, m, T)
                told = sign * math.log(with_her / chance(counts, b, m, T))
                for liked in likings(counts):
                    if b in liked:
                        after = value(left - 1, counts[b]) if hers == b else 0.0
                    else:
                        after = value(left - 1, others - counts[b]) if hers != b else 0.0
                    best = max(best, told + after)
        return best

    def likings(counts):
        if promise:
            return [(g,) for g in range(m) if counts[g] >= least]
        return [(), tuple(range(m))]

    return value(T, most)


@pytest.mark.parametrize("promise", [False, True])
@pytest.mark.parametrize(
    ("m", "T", "least", "most"), [(2, 3, 3, 17), (2, 9, 2, 12), (3, 4, 2, 10), (3, 12, 4, 9)]
)
def test_kernel_equals_a_slow_twin(m, T, least, most, promise):
    """Both directions, few rounds and many, down to floors that no setting allows."""
    limited = largest_loss(math.log(T), theory.gamma(m, T, 0), m, least, most, T, promise)
    slow = [twin(m, T, least, most, sign, promise) for sign in (1, -1)]
    assert limited == pytest.approx(slow, abs=1e-10)
    assert min(slow) > 0
    unlimited = largest_loss(math.log(T), theory.gamma(m, T, 0), m, least, most, 0, promise)
    assert np.all(unlimited >= limited - 1e-12)


# The algorithm itself, on every sequence of outputs


def leak(votes, hers, answers, m, T, floor):
    """Largest and smallest sum of ln(p / p') over all outputs b, by the kick-out rule.

    votes: (T, others); hers: (T,); answers: (T, m) whether b is liked. Summed while the pattern
    with her has `floor` survivors.
    """
    ends = []
    for outputs in itertools.product(range(m), repeat=T):
        alive, she, total = np.ones(votes.shape[1], dtype=bool), True, 0.0
        for t, b in enumerate(outputs):
            if not she or alive.sum() + 1 < floor:
                break
            counts = tuple(np.bincount(votes[t][alive], minlength=m).tolist())
            if sum(counts) == 0:
                break
            total += math.log(chance(plus(counts, hers[t]), b, m, T) / chance(counts, b, m, T))
            alive &= (votes[t] == b) == answers[t][b]
            she = (hers[t] == b) == answers[t][b]
        ends.append(total)
    return max(ends), min(ends)


def pattern(rng, m, T, peers, most, promise):
    """Votes of a random number of others, hers, and the answers; `peers` agree on a promise."""
    others = int(rng.integers(peers, most + 1))
    liked = rng.integers(0, m, size=T)
    drift = rng.random(T)
    votes = np.where(
        rng.random((T, others)) < drift[:, None], liked[:, None], rng.integers(0, m, (T, others))
    )
    answers = np.arange(m) == liked[:, None]
    if promise:
        votes[:, :peers] = liked[:, None]
    else:
        answers = rng.random((T, m)) < 0.5
    return votes, np.where(rng.random(T) < 0.7, liked, rng.integers(0, m, size=T)), answers


def extremes(patterns, m, T, peers, voters, promise, seed):
    rng = np.random.default_rng(seed)
    least = peers if promise else peers - 1
    found = [
        leak(*pattern(rng, m, T, least, voters - 1, promise), m, T, peers) for _ in range(patterns)
    ]
    return max(high for high, _ in found), min(low for _, low in found)


def both_sides(m, T, peers, voters, promise):
    least = peers if promise else peers - 1
    high, low = largest_loss(math.log(T), theory.gamma(m, T, 0), m, least, voters - 1, T, promise)
    return high, -low


@pytest.mark.parametrize(
    ("m", "T", "peers", "voters", "promise"),
    [(2, 4, 12, 24, True), (2, 4, 12, 24, False), (3, 3, 18, 30, True), (3, 3, 18, 30, False)],
)
def test_no_run_exceeds_the_program(m, T, peers, voters, promise):
    """Random neighbouring patterns, all m^T outputs, the algorithm as printed."""
    high, low = both_sides(m, T, peers, voters, promise)
    found_high, found_low = extremes(120, m, T, peers, voters, promise, seed=1)
    assert 0.1 * high < found_high <= high + 1e-9
    assert 0.1 * low > found_low >= low - 1e-9


def climbed(rng, m, T, peers, voters, side, tries):
    """The best run for one direction that small changes of a random pattern lead to."""

    def score(votes, hers, answers):
        return (1, -1)[side] * leak(votes, hers, answers, m, T, peers)[side]

    votes, hers, answers = pattern(rng, m, T, peers, voters - 1, True)
    best = score(votes, hers, answers)
    for _ in range(tries):
        new_votes, new_hers = votes.copy(), hers.copy()
        t, size = rng.integers(T), votes.shape[1]
        change = rng.integers(3)
        if change == 0:
            new_hers[t] = rng.integers(m)
        elif change == 1 and size > peers:
            new_votes[t, rng.integers(peers, size)] = rng.integers(m)
        elif size > peers and rng.random() < 0.5:
            new_votes = np.delete(new_votes, rng.integers(peers, size), axis=1)
        elif size < voters - 1:
            new_votes = np.column_stack([new_votes, rng.integers(0, m, size=T)])
        value = score(new_votes, new_hers, answers)
        if value >= best:
            votes, hers, best = new_votes, new_hers, value
    return best


@pytest.mark.long
@pytest.mark.parametrize(("side", "known"), [(0, 0.2647), (1, 0.1588)])
def test_runs_reach_the_program(side, known):
    """T = 4, P = 12, at most 24 voters: +0.2647 and -0.1588 are reached and never exceeded."""
    rng = np.random.default_rng(7)
    computed = abs(both_sides(2, 4, 12, 24, True)[side])
    found = [climbed(rng, 2, 4, 12, 24, side, 400) for _ in range(10)]
    assert computed == pytest.approx(known, abs=5e-5)
    assert max(found) == pytest.approx(computed, abs=1e-9)
    assert max(found) <= computed + 1e-9


# Credits


def credited_twin(m, r, D, R, floor, most, rounds, sign):
    """The game with each voter's two credits as the paper updates them; her credits first."""

    def charge(voter, votes_b, liked):
        d, radius = voter
        if liked and not votes_b:
            return d - 1, radius
        if not liked and votes_b:
            return d, radius - 1
        return voter

    def counts_on(voter):
        return voter[1] > 0 and sum(voter) > 0

    @cache
    def value(left, state):
        her, others = state[0], state[1:]
        if left == 0 or not others or sum(map(sum, state)) < floor:
            return 0.0
        best = max(
            value(left, (her, *others[:gone], *others[gone + 1 :])) for gone in range(len(others))
        )
        for votes in itertools.product((False, True), repeat=len(others) + 1):
            counts = (sum(votes[1:]), len(others) - sum(votes[1:]))
            with_her = chance(plus(counts, 0 if votes[0] else 1), 0, m, r)
            told = sign * math.log(with_her / chance(counts, 0, m, r))
            for liked in (False, True):
                next_ = [
                    charge(voter, vote, liked) for voter, vote in zip(state, votes, strict=True)
                ]
                after = 0.0
                if counts_on(next_[0]):
                    rest = sorted(voter for voter in next_[1:] if counts_on(voter))
                    after = value(left - 1, (next_[0], *rest))
                best = max(best, told + after)
        return best

    start = (2 * D, 2 * R + 1)
    return value(rounds, (start,) * (most + 1))


@pytest.mark.parametrize(("D", "R"), [(1, 0), (0, 1)])
def test_credited_kernel_equals_a_slow_twin(D, R):
    """Three others with the paper's own two credits each; each of 10 rounds costs one at least."""
    T, most, floor = 30, 3, 6
    r = T / (R + 1)
    fast = largest_loss_with_credits(math.log(r), theory.gamma(2, T, R), floor, most, R == 0)
    slow = [credited_twin(2, r, D, R, floor, most, 10, sign) for sign in (1, -1)]
    assert fast == pytest.approx(slow, abs=1e-10)


# What the public functions do with it


@settings(max_examples=40, deadline=None)
@given(
    m=st.sampled_from([2, 3, 5]),
    T=st.sampled_from([10, 100, 3000]),
    extra=st.integers(0, 30),
    more=st.integers(0, 60),
)
def test_more_peers_cost_less_and_more_voters_cost_more(m, T, extra, more):
    """Monotone in both; a promise is never dearer than a gate; the theorem is never below."""
    peers = 6 * m + extra
    voters = peers + more
    floor, _ = planner.floor_epsilon(**named(m, T, peers, voters))
    assert floor <= planner.floor_epsilon(**named(m, T, peers, voters + 7))[0] + 1e-9
    if more:
        assert planner.floor_epsilon(**named(m, T, peers + 1, voters))[0] <= floor + 1e-9
    promise, _ = planner.promise_epsilon(**named(m, T, peers, voters))
    assert promise <= floor + 1e-9
    assert floor <= theory.eps_gated(m, T, 0, 0, peers) + 1e-9


def test_many_voters_add_little(monkeypatch):
    """Beyond the exact part the chain bound goes on: above the exact number, and not far."""
    setting = named(2, 1000, 50, 800)
    whole, basis = planner.floor_epsilon(**setting)
    assert basis == "exact"
    monkeypatch.setattr(planner, "EXACT_VOTERS", {2: 400, 3: 100})
    planner.cached_epsilon.cache_clear()
    part, basis = planner.floor_epsilon(**setting)
    planner.cached_epsilon.cache_clear()
    assert basis == "bound"
    assert whole < part < whole + theory.eps_gated(2, 1000, 0, 0, 400)


def test_other_settings_have_a_bound():
    """Ten objects, or larger D and R: below the theorem, and said to be a bound."""
    value, basis = planner.floor_epsilon(**named(10, 1000, 1000, 10**6))
    assert basis == "bound"
    assert value < theory.eps_tight(10, 1000, 0, 0, 1000) / 3.5
    value, basis = planner.promise_epsilon(**named(3, 10000, 100, 5000, 20, 10))
    assert (basis, value < theory.eps_tight(3, 10000, 20, 10, 100)) == ("bound", True)


@given(epsilon=st.floats(0.3, 20))
@settings(max_examples=15, deadline=None)
def test_peers_needed_is_the_smallest(epsilon):
    """The floor found costs epsilon at most, and one voter fewer costs more."""
    setting = {"objects": 2, "rounds": 200, "voters": 150}
    peers = planner.peers_needed(epsilon, **setting)
    if peers is None:
        assert planner.floor_epsilon(**setting, peers=150)[0] > epsilon
        return
    assert planner.floor_epsilon(**setting, peers=peers)[0] <= epsilon
    if peers > 12:
        assert planner.floor_epsilon(**setting, peers=peers - 1)[0] > epsilon


def test_peers_needed_may_be_more_than_there_are():
    """None, also where the smallest floor allowed is above all voters."""
    assert planner.peers_needed(0.001, objects=2, rounds=200, voters=150) is None
    assert planner.peers_needed(100, objects=2, rounds=200, voters=11) is None


def test_refusals_are_those_of_the_theory():
    """No number for a setting that the proofs do not carry."""
    with pytest.raises(ConfigError, match=r"at least 2\.83"):
        planner.floor_epsilon(**named(2, 2, 12, 20))
    with pytest.raises(ConfigError, match="fewer than 18 survivors"):
        planner.promise_epsilon(**named(3, 100, 17, 20))
