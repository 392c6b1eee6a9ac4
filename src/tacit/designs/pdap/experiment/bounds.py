"""The paper's bounds on regret, as printed and corrected, compared with measured regret.

The regret of training visits is split by their purpose: exploring an own video (Lemma 1), training
or exploring a neighbour (Lemma 4), exploiting (Lemma 6). Each bound is about one cell and one arm,
and is compared with the largest regret of any of them in any run. The loss by draws of the
exponential mechanism (Theorem 1, Lemma 3, Theorem 2) is computed exactly, from the weights by which
the policy draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tacit.designs.pdap import regret_bounds, theory
from tacit.designs.pdap.experiment.run import LevelRegret, Row
from tacit.designs.pdap.experiment.summary import Contender, contenders_of, rows_at_end_of_training
from tacit.designs.pdap.experiment.visitors import generate_clicks
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.policies.gp_dap import GPDap
from tacit.designs.pdap.policies.p_dap import PDap
from tacit.designs.pdap.settings import SIGMA
from tacit.evaluation import group_by
from tacit.mechanisms.counter import TreeCounter
from tacit.randomness import secure

Outcome = Literal["holds", "says nothing", "refuted", "does not apply"]
POLICIES = ("dap", "p-dap", "gp-dap")
"""Policies whose regret the paper bounds."""


@dataclass(frozen=True)
class Bound:
    """One bound of the paper for one policy.

    Attributes:
        item: its name in the paper, such as "Lemma 1".
        quantity: what is bounded, in words.
        policy: its name on the command line.
        epsilon: of the policy; inf without noise.
        level: of the cell; None if the bound is about all cells.
        printed: the paper's bound.
        corrected: the correct bound; equal to `printed` where that is correct. For Theorem 6 it is
            the difference of two upper bounds, which bounds nothing itself.
        measured: the value in this experiment.
        verdict: on the printed bound. It "says nothing" if no run could exceed it, and "does not
            apply" if the policy that is run differs from that of the bound.
    """

    item: str
    quantity: str
    policy: str
    epsilon: float
    level: int | None
    printed: float
    corrected: float
    measured: float
    verdict: Outcome


def check_bounds(
    world: World,
    rows: Sequence[Row],
    levels: Mapping[tuple[str, float, int], Sequence[LevelRegret]],
) -> list[Bound]:
    """Compare all bounds of the policies that were run with the measurements.

    Args:
        world: the settings of the experiment.
        rows: of all runs.
        levels: the regret of each run by level of the cell; keys are policy, epsilon and seed.
    """
    last_rows = rows_at_end_of_training(rows)
    contenders = [
        contender for contender in contenders_of(last_rows) if contender.policy in POLICIES
    ]
    bounds: list[Bound] = []
    for contender in contenders:
        if contender.policy != "dap" and not math.isinf(contender.epsilon):
            bounds += _bounds_of_draws(world, contender)
        regrets_by_level: list[LevelRegret] = []
        for row in last_rows:
            if _is_of_contender(row, contender):
                regrets_by_level += levels[row.policy, row.epsilon, row.seed]
        bounds += _bounds_of_cells(world, contender, regrets_by_level)
        regret = max(row.regret for row in last_rows if _is_of_contender(row, contender))
        bounds += _bounds_of_all_cells(world, contender, regret, regrets_by_level)
    bounds += _bounds_of_saving(world, last_rows, contenders)
    return bounds


def draw_loss(policy: PDap, level: int, means: Sequence[float]) -> tuple[float, list[float]]:
    """Compute the exact expected loss of one draw among own videos with these means.

    Returns:
        The best mean minus the expected mean, and the part of it that is due to each video.
    """
    weights = policy.selection(level, len(means)).weights(list(means))
    total = int(weights.sum())
    best = max(means)
    parts = []
    for weight, mean in zip(weights.tolist(), means, strict=True):
        parts.append(weight / total * (best - mean))
    return sum(parts), parts


def _is_of_contender(row: Row, contender: Contender) -> bool:
    """Return whether a row is about this policy at this epsilon."""
    return row.policy == contender.policy and row.epsilon == contender.epsilon


def _judge_bound(
    item: str,
    quantity: str,
    contender: Contender,
    level: int | None,
    *,
    printed: float,
    corrected: float,
    measured: float,
    largest_possible: float = math.inf,
) -> Bound:
    """Make a bound with its verdict.

    Args are the fields of `Bound`, with policy and epsilon as `contender`; and `largest_possible`,
    above which no measurement can be.
    """
    verdict: Outcome = "holds"
    if measured > printed * (1 + 1e-9):  # not by rounding alone
        verdict = "refuted"
    elif printed >= largest_possible:
        verdict = "says nothing"
    return Bound(
        item=item,
        quantity=quantity,
        policy=contender.policy,
        epsilon=contender.epsilon,
        level=level,
        printed=printed,
        corrected=corrected,
        measured=measured,
        verdict=verdict,
    )


def _bounds_of_draws(world: World, contender: Contender) -> list[Bound]:
    """Check the bounds on the loss by draws of own videos: Theorem 1, Lemma 3 and Theorem 2."""
    if world.videos == 1:
        return []
    policy_class = GPDap if contender.policy == "gp-dap" else PDap
    policy = policy_class(world.setting, epsilon=contender.epsilon, randomness=secure(), gamma=0.0)
    return [
        _check_theorem_1(world, contender, policy),
        _check_lemma_3(world, contender, policy),
        _check_theorem_2(world, contender, policy),
    ]


def _check_theorem_1(world: World, contender: Contender, policy: PDap) -> Bound:
    """Check Theorem 1 for one best video of mean 1, and all others at its shortfall below 1.

    The paper's choice of t is ln T. But a mean is at least 0, so the shortfall is at most 1, and
    t is at most epsilon / (2 Delta u) - ln K.
    """
    setting = world.setting
    videos = setting.videos
    epsilon = contender.epsilon
    spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, 0)
    largest_t = epsilon / (2 * spread) - math.log(videos)
    t = max(0.0, min(math.log(setting.horizon), largest_t))
    shortfall = min(1.0, theory.draw_shortfall(spread, epsilon, videos, 1, t))
    weights = policy.selection(0, videos).weights([1.0] + [1.0 - shortfall] * (videos - 1))
    return _judge_bound(
        "Theorem 1",
        f"chance that a draw is {shortfall:.3g} or more below the best video",
        contender,
        0,
        printed=math.exp(-t),
        corrected=math.exp(-t),
        measured=1 - int(weights[0]) / int(weights.sum()),
        largest_possible=1.0,
    )


def _check_lemma_3(world: World, contender: Contender, policy: PDap) -> Bound:
    """Check Lemma 3 for T draws in the whole cube, by the chances of a click in its middle."""
    setting = world.setting
    videos = setting.videos
    visits = setting.horizon
    epsilon = contender.epsilon
    spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, 0)
    middle = np.full((1, world.dimensions), 0.5)
    means = generate_clicks(world, seed=0).means(middle)[0, :videos].tolist()
    loss_of_draw, _ = draw_loss(policy, 0, means)
    return _judge_bound(
        "Lemma 3",
        f"loss of {visits:,} draws by the means in the middle of the cube",
        contender,
        0,
        printed=theory.draw_regret_as_printed(spread, epsilon, videos, visits),
        corrected=theory.draw_regret(spread, epsilon, videos, visits),
        measured=visits * loss_of_draw,
        largest_possible=visits,
    )


def _check_theorem_2(world: World, contender: Contender, policy: PDap) -> Bound:
    """Check Theorem 2 for own videos of means 1 and 0.

    The cell is of the first level at which a mean of 0 is suboptimal in the theorem's sense.
    """
    setting = world.setting
    gap = theory.suboptimal_gap(setting.lipschitz, setting.dimension, setting.smoothness)
    level = math.floor(math.log(gap, setting.slices) / setting.smoothness) + 1
    draws = min(setting.horizon, setting.first_split * setting.slices ** (setting.p * level))
    means = [1.0] + [0.0] * (setting.videos - 1)
    epsilon_of_cell = theory.epsilon_at(
        contender.epsilon,
        setting.slices,
        setting.smoothness,
        level,
        geometric=contender.policy == "gp-dap",
    )
    _, loss_by_video = draw_loss(policy, level, means)
    return _judge_bound(
        "Theorem 2",
        f"loss by one video of mean 0 beside one of mean 1, in {draws:,.0f} draws",
        contender,
        level,
        printed=regret_bounds.own_video_regret_as_printed(
            setting, level, setting.horizon, epsilon_of_cell
        ),
        corrected=regret_bounds.own_video_regret(setting, level, setting.horizon, epsilon_of_cell),
        measured=draws * loss_by_video[1],
        largest_possible=draws,
    )


def _bounds_of_cells(
    world: World, contender: Contender, regrets_by_level: Sequence[LevelRegret]
) -> list[Bound]:
    """Check the bounds on one cell, Lemmas 1, 4 and 6, at each level that was reached.

    Args:
        world: the settings of the experiment.
        contender: the policy.
        regrets_by_level: of all its runs.
    """
    bounds: list[Bound] = []
    for level, regrets in sorted(group_by(regrets_by_level, lambda item: item.level).items()):
        own_video = max(regret.own_video for regret in regrets)
        bounds.append(_check_lemma_1(world, contender, level, own_video))
        if world.vendors > 1:
            neighbour = max(regret.neighbour for regret in regrets)
            bounds += _check_lemma_4(world, contender, level, neighbour)
        exploitation = max(regret.exploitation for regret in regrets)
        bounds.append(_check_lemma_6(world, contender, level, exploitation))
    return bounds


def _check_lemma_1(world: World, contender: Contender, level: int, largest_regret: float) -> Bound:
    """Check Lemma 1 against the largest regret of an own video in a cell of this level."""
    s = world.setting
    bound = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(s.horizon))
    return _judge_bound(
        "Lemma 1",
        "exploring one own video in one cell",
        contender,
        level,
        printed=bound,
        corrected=bound,
        measured=largest_regret,
        largest_possible=s.horizon,
    )


def _check_lemma_4(
    world: World, contender: Contender, level: int, largest_regret: float
) -> list[Bound]:
    """Check each version of Lemma 4 against the largest regret of a neighbour in a cell."""
    s = world.setting
    gamma = _gamma_of(world, contender)
    gamma_of_cell = gamma
    if contender.policy == "gp-dap":
        gamma_of_cell = gamma / float(s.slices ** (s.smoothness * level))
    sizes = (s.slices, s.smoothness, level, s.horizon, s.videos)
    corrected = theory.neighbour_regret(*sizes, gamma_of_cell)

    def check_version(version: str) -> Bound:
        bound = _judge_bound(
            "Lemma 4",
            f"training and exploring one neighbour in one cell ({version})",
            contender,
            level,
            printed=theory.neighbour_regret_as_printed(version, *sizes, gamma),
            corrected=corrected,
            measured=largest_regret,
            largest_possible=s.horizon,
        )
        if bound.verdict == "refuted":
            # The lemma assumes a training that is K times shorter than the one that is run.
            return replace(bound, verdict="does not apply")
        return bound

    return [check_version(version) for version in ("statement", "proof", "theorem 3")]


def _check_lemma_6(world: World, contender: Contender, level: int, largest_regret: float) -> Bound:
    """Check Lemma 6 against the largest regret of exploiting in a cell of this level."""
    s = world.setting
    gap = theory.suboptimal_gap(s.lipschitz, s.dimension, s.smoothness)
    bound = theory.near_optimal_regret(s.first_split, gap, s.p, s.slices, s.smoothness, level)
    return _judge_bound(
        "Lemma 6",
        "exploiting in one cell",
        contender,
        level,
        printed=bound,
        corrected=bound,
        measured=largest_regret,
        largest_possible=s.horizon,
    )


def _bounds_of_all_cells(
    world: World,
    contender: Contender,
    regret: float,
    regrets_by_level: Sequence[LevelRegret],
) -> list[Bound]:
    """Check the bounds on all cells together: Lemmas 5 and 7, Theorem 3 and Corollary 2.

    Args:
        world: the settings of the experiment.
        contender: the policy.
        regret: the largest of its runs.
        regrets_by_level: of all its runs.
    """
    has_noise = contender.policy == "p-dap" and not math.isinf(contender.epsilon)
    bounds: list[Bound] = []
    if has_noise and world.vendors > 1:
        bounds.append(_check_lemma_5(world, contender.epsilon))
    deepest_level = max(regret_of_level.level for regret_of_level in regrets_by_level)
    bounds.append(_check_lemma_7(world, contender, deepest_level))
    bounds.append(_check_theorem_3(world, contender, regret))
    has_uniform_contexts = world.groups == 0 and world.features == 0
    if has_uniform_contexts and contender.policy != "gp-dap":
        bounds.append(_check_corollary_2(world, contender, regret))
    return bounds


def _check_lemma_5(world: World, epsilon: float) -> Bound:
    """Check Lemma 5 against the largest noise in the totals of one simulated tree.

    The noise of a node has the lemma's scale.
    """
    s = world.setting
    scale = theory.noise_scale("lemma 5", s.horizon, world.vendors, s.videos, epsilon)
    # A counter takes an epsilon: the one whose noise has this scale.
    epsilon_of_counter = theory.tree_loss(s.horizon, scale)
    counter = TreeCounter(epsilon_of_counter, s.horizon).start()
    # With rewards of 0, each total is noise alone.
    noises = [abs(counter.add(0)) for _ in range(s.horizon)]
    gamma = theory.gamma(s.horizon, world.vendors, epsilon, SIGMA)
    return _judge_bound(
        "Lemma 5",
        f"noise in a total of rewards, with a chance of {1 - SIGMA:g}",
        Contender("p-dap", epsilon),
        None,
        printed=gamma,
        corrected=gamma,
        measured=max(noises),
    )


def _check_lemma_7(world: World, contender: Contender, deepest_level: int) -> Bound:
    """Check Lemma 7 against the deepest level that was reached."""
    s = world.setting
    rounds = max(s.horizon, s.first_split)
    bound = theory.deepest_level(rounds, s.first_split, s.p, s.slices)
    return _judge_bound(
        "Lemma 7",
        "deepest level of a cell",
        contender,
        None,
        printed=bound,
        corrected=bound,
        measured=deepest_level,
    )


def _check_theorem_3(world: World, contender: Contender, regret: float) -> Bound:
    """Check Theorem 3 against the largest regret of a run."""
    s = world.setting
    epsilon = contender.epsilon
    gamma = _gamma_of(world, contender)
    return _judge_bound(
        "Theorem 3",
        "regret of one vendor",
        contender,
        None,
        printed=regret_bounds.regret_bound_as_printed(s, s.horizon, epsilon=epsilon, gamma=gamma),
        corrected=regret_bounds.regret_bound(
            s, s.horizon, epsilon=epsilon, gamma=gamma, geometric=contender.policy == "gp-dap"
        ),
        measured=regret,
        largest_possible=s.horizon,
    )


def _check_corollary_2(world: World, contender: Contender, regret: float) -> Bound:
    """Check Corollary 2 against the largest regret of a run, where contexts are uniform."""
    s = world.setting
    epsilon = contender.epsilon
    symbols = _uniform_world(world, epsilon=epsilon, gamma=_gamma_of(world, contender))
    return _judge_bound(
        "Corollary 2",
        "regret of one vendor, uniform contexts",
        contender,
        None,
        printed=theory.uniform_regret_as_printed(symbols),
        corrected=theory.uniform_regret(symbols),
        measured=regret,
        largest_possible=s.horizon,
    )


def _uniform_world(world: World, *, epsilon: float, gamma: float) -> theory.UniformWorld:
    """Return the paper's symbols for this world."""
    s = world.setting
    return theory.UniformWorld(
        T=s.horizon,
        A=s.first_split,
        p=s.p,
        m=s.slices,
        al=s.smoothness,
        d=s.dimension,
        K=s.videos,
        M=world.vendors,
        L=s.lipschitz,
        epsilon=epsilon,
        Gamma=gamma,
    )


def _bounds_of_saving(
    world: World, last_rows: Sequence[Row], contenders: Sequence[Contender]
) -> list[Bound]:
    """Check Theorem 6 at each epsilon at which both P-DAP and GP-DAP were run.

    Args:
        world: the settings of the experiment.
        last_rows: at the end of each training.
        contenders: the policies that were run.
    """
    bounds: list[Bound] = []
    for contender in contenders:
        epsilon = contender.epsilon
        without_growth = Contender("p-dap", epsilon)
        ran_both = contender.policy == "gp-dap" and without_growth in contenders
        if ran_both and not math.isinf(epsilon):
            p_dap = [row.regret for row in last_rows if _is_of_contender(row, without_growth)]
            gp_dap = [row.regret for row in last_rows if _is_of_contender(row, contender)]
            saved = float(np.mean(p_dap)) - float(np.mean(gp_dap))
            bounds.append(_check_theorem_6(world, epsilon, saved))
    return bounds


def _check_theorem_6(world: World, epsilon: float, saved: float) -> Bound:
    """Check Theorem 6 against the regret that GP-DAP saved, mean over seeds.

    It is a bound from below, so a smaller saving refutes it.
    """
    s = world.setting
    gamma = world.gamma_at(epsilon)
    printed = theory.geometric_saving_as_printed(
        _uniform_world(world, epsilon=epsilon, gamma=gamma)
    )
    bound_of_p_dap = regret_bounds.regret_bound(s, s.horizon, epsilon=epsilon, gamma=gamma)
    bound_of_gp_dap = regret_bounds.regret_bound(
        s, s.horizon, epsilon=epsilon, gamma=gamma, geometric=True
    )
    return Bound(
        item="Theorem 6",
        quantity="regret that GP-DAP saves, at least; corrected: difference of their upper bounds",
        policy="gp-dap",
        epsilon=epsilon,
        level=None,
        printed=printed,
        corrected=bound_of_p_dap - bound_of_gp_dap,
        measured=saved,
        verdict="refuted" if saved < printed else "holds",
    )


def _gamma_of(world: World, contender: Contender) -> float:
    """Return Gamma, the bound of a neighbour's noise that this policy uses; 0 for DAP."""
    return 0.0 if contender.policy == "dap" else world.gamma_at(contender.epsilon)
