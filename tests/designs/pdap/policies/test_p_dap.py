"""P-DAP and GP-DAP for own users: DAP without noise, and the printed draw with it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.designs.pdap import theory
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.policies.gp_dap import GPDap
from tacit.designs.pdap.policies.p_dap import PDap
from tacit.designs.pdap.settings import Setting
from tacit.errors import ConfigError
from tacit.randomness import replay, simulation

HERE = np.array([0.2])


@pytest.fixture(autouse=True)
def _simulated():
    """Seeds are allowed: these are experiments."""
    with simulation():
        yield


def setting(**changes) -> Setting:
    plain = {"videos": 3, "neighbours": 2, "dimension": 1, "horizon": 2, "split_after": 1000}
    return Setting(**{**plain, **changes})


def learned(policy: Dap, means: list[float], context=HERE) -> None:
    """Four visits to each arm with these means, in quarters; training is done as well."""
    _, visits = policy.partition.find(context)
    for arm, mean in enumerate(means):
        visits.trained[arm] = 1000
        for visit in range(4):
            visits.learn(arm, float(visit < 4 * mean))


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 1), st.sets(st.integers(0, 4))), max_size=150
    ),
    st.sampled_from([PDap, GPDap]),
)
def test_without_noise_it_is_dap(stream, kind):
    """At epsilon = inf every choice is DAP's: arm, phase, cell and chance, subsets included."""
    both = setting(split_after=20)
    with simulation():
        policy, twin = kind(both, epsilon=math.inf, randomness=replay(0)), Dap(both)
    for feature, reward, allowed in stream:
        arms = sorted(allowed) or None
        one, other = (p.select(np.array([feature]), arms) for p in (policy, twin))
        assert one == other
        policy.update(one, reward)
        twin.update(other, reward)


def test_draws_come_with_their_chances():
    """4,000 draws: each video's share is the chance on its choices, within 5 errors, and chances
    are those of exp(epsilon mean / (2 Delta u))."""
    policy = PDap(setting(neighbours=0), epsilon=2.0, randomness=replay(1))
    learned(policy, [1.0, 0.5, 0.0])
    choices = [policy.select(HERE) for _ in range(4_000)]
    shares = Counter(choice.arm for choice in choices)
    chances = {choice.arm: choice.chance for choice in choices}
    weights = np.exp(np.array([1.0, 0.5, 0.0]))
    for arm in range(3):
        assert chances[arm] == pytest.approx(weights[arm] / weights.sum(), abs=1e-3)
        error = math.sqrt(chances[arm] * (1 - chances[arm]) / 4_000)
        assert abs(shares[arm] / 4_000 - chances[arm]) < 5 * error


def test_better_neighbour_takes_over():
    """If the drawn video's mean is below the best neighbour's, that one is taken; its chance is
    that of all worse videos, and chances add up to 1."""
    policy = PDap(setting(), epsilon=2.0, randomness=replay(2), gamma=0.0)
    learned(policy, [1.0, 0.5, 0.0, 0.25, 0.75])
    chances = {c.arm: c.chance for c in (policy.select(HERE) for _ in range(300))}
    assert set(chances) == {0, 4}
    assert sum(chances.values()) == pytest.approx(1)
    assert chances[0] == pytest.approx(math.e / (math.e + math.sqrt(math.e) + 1), abs=1e-3)


@pytest.mark.parametrize(("level", "nats"), [(3, 0.4), (5, 1.6), (7, 6.4)])
def test_what_one_draw_loses(level, nats):
    """epsilon' = 0.1, two videos whose means swap between two cells of this level: the log ratio of
    the weights that are really drawn from is the exact loss of the card."""
    policy = PDap(setting(videos=2), epsilon=0.1, randomness=replay(3))
    chances = policy.selection(level, 2).probabilities([[1.0, 0.0], [0.0, 1.0]])
    assert math.log(chances[0, 0] / chances[1, 0]) == pytest.approx(nats, rel=1e-6)


@pytest.mark.parametrize("lipschitz", [0.01, 2.0])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_means_are_kept_in_steps_far_below_what_one_person_moves(lipschitz, level):
    """The sensitivity is 64 steps or more, and a step at most a thousandth."""
    policy = PDap(setting(videos=2, lipschitz=lipschitz), epsilon=0.1, randomness=replay(3))
    selection = policy.selection(level, 2)
    assert selection.sensitivity >= 64 * selection.resolution
    assert selection.resolution <= 2.0**-10


def test_gp_dap_spends_more_in_smaller_cells():
    """epsilon_0 m^(alpha l), and a draw's exponent grows as m^(2 alpha l)."""
    policy = GPDap(setting(videos=2), epsilon=0.1, randomness=replay(4))
    chances = policy.selection(3, 2).probabilities([[1.0, 0.0], [0.0, 1.0]])
    assert math.log(chances[0, 0] / chances[1, 0]) == pytest.approx(0.8 * 8 / 2, rel=1e-6)


@pytest.mark.parametrize(("kind", "growth"), [(PDap, 2.0), (GPDap, 1.0)])
def test_noise_costs_visits(kind, growth):
    """Gamma / 4 more visits to a neighbour in the whole cube; in halves of it 2 Gamma / 4 for P-DAP
    and the same for GP-DAP."""
    asked = []
    for level in (0, 1):
        policy = kind(
            setting(videos=1, neighbours=1, split_after=1 if level else 1000),
            epsilon=1.0,
            randomness=replay(5),
            gamma=80.0,
        )
        if level:
            policy.update(policy.select(HERE), 0)
        _, visits = policy.partition.find(HERE)
        visits.trained[1] = 10**6
        visits.counts[0] = 10**6
        policy.arrivals = 0  # ln t = 0: all that is asked for is due to noise
        while policy.select(HERE).phase == "explore":
            visits.learn(1, 0.0)
        asked.append(visits.counts[1])
    assert asked == [20, 20 * growth]


def test_gamma_is_lemma_5s_unless_given():
    """A small epsilon asks neighbours for more visits than there are."""
    policy = PDap(setting(horizon=200_000), epsilon=0.01, randomness=replay(6))
    assert policy.controls.explore_neighbour(0, 1) == pytest.approx(
        theory.gamma(200_000, 3, 0.01, 0.05) / 4
    )


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"epsilon": math.nan}])
def test_nonsense_is_refused(change):
    """A parameter out of range is refused when the policy is made."""
    with pytest.raises(ConfigError):
        PDap(setting(), **{"epsilon": 1.0, "randomness": replay(7), **change})
