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
from tacit.designs.pdap.experiment.summary import Column, columns_of, rows_at_end_of_training
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.policies.gp_dap import GPDap
from tacit.designs.pdap.policies.p_dap import SIGMA, PDap
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
        corrected: the correct bound; equal to `printed` where that is correct.
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


def bounds_of(
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
    columns = [column for column in columns_of(last_rows) if column[0] in POLICIES]
    bounds: list[Bound] = []
    for column in columns:
        policy, epsilon = column
        if policy != "dap" and not math.isinf(epsilon):
            bounds += _bounds_of_draws(world, column)
        regrets_by_level: list[LevelRegret] = []
        for row in last_rows:
            if _is_of_column(row, column):
                regrets_by_level += levels[row.policy, row.epsilon, row.seed]
        bounds += _bounds_of_cells(world, column, regrets_by_level)
        regret = max(row.regret for row in last_rows if _is_of_column(row, column))
        bounds += _bounds_of_all_cells(world, column, regret, regrets_by_level)
    bounds += _bounds_of_saving(world, last_rows, columns)
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


def _is_of_column(row: Row, column: Column) -> bool:
    """Return whether a row is about this policy at this epsilon."""
    return (row.policy, row.epsilon) == column


def _bound(
    item: str,
    quantity: str,
    column: Column,
    level: int | None,
    *,
    printed: float,
    corrected: float,
    measured: float,
    largest_possible: float = math.inf,
) -> Bound:
    """Make a bound with its verdict.

    Args are the fields of `Bound`, policy and epsilon as `column`; and `largest_possible`, above
    which no measurement can be.
    """
    verdict: Outcome = "holds"
    if measured > printed * (1 + 1e-9):  # not by rounding alone
        verdict = "refuted"
    elif printed >= largest_possible:
        verdict = "says nothing"
    policy, epsilon = column
    return Bound(item, quantity, policy, epsilon, level, printed, corrected, measured, verdict)


def _bounds_of_draws(world: World, column: Column) -> list[Bound]:
    """Check the bounds on the loss by draws of own videos: Theorem 1, Lemma 3 and Theorem 2."""
    if world.videos == 1:
        return []
    name, epsilon = column
    policy_class = GPDap if name == "gp-dap" else PDap
    policy = policy_class(world.setting, epsilon=epsilon, randomness=secure(), gamma=0.0)
    return [
        _theorem_1(world, column, policy),
        _lemma_3(world, column, policy),
        _theorem_2(world, column, policy),
    ]


def _theorem_1(world: World, column: Column, policy: PDap) -> Bound:
    """Check Theorem 1 for one best video of mean 1, and all others at its shortfall below 1.

    The paper's choice of t is ln T. But a mean is at least 0, so the shortfall is at most 1, and
    t is at most epsilon / (2 Delta u) - ln K.
    """
    setting = world.setting
    videos = setting.videos
    _, epsilon = column
    spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, 0)
    largest_t = epsilon / (2 * spread) - math.log(videos)
    t = max(0.0, min(math.log(setting.horizon), largest_t))
    shortfall = min(1.0, theory.draw_shortfall(spread, epsilon, videos, 1, t))
    weights = policy.selection(0, videos).weights([1.0] + [1.0 - shortfall] * (videos - 1))
    return _bound(
        "Theorem 1",
        f"chance that a draw is {shortfall:.3g} or more below the best video",
        column,
        0,
        printed=math.exp(-t),
        corrected=math.exp(-t),
        measured=1 - int(weights[0]) / int(weights.sum()),
        largest_possible=1.0,
    )


def _lemma_3(world: World, column: Column, policy: PDap) -> Bound:
    """Check Lemma 3 for T draws in the whole cube, by the chances of a click in its middle."""
    setting = world.setting
    videos = setting.videos
    visits = setting.horizon
    _, epsilon = column
    spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, 0)
    middle = np.full((1, world.dimensions), 0.5)
    means = world.clicks(0).means(middle)[0, :videos].tolist()
    loss_of_draw, _ = draw_loss(policy, 0, means)
    return _bound(
        "Lemma 3",
        f"loss of {visits:,} draws by the means in the middle of the cube",
        column,
        0,
        printed=theory.draw_regret_as_printed(spread, epsilon, videos, visits),
        corrected=theory.draw_regret(spread, epsilon, videos, visits),
        measured=visits * loss_of_draw,
        largest_possible=visits,
    )


def _theorem_2(world: World, column: Column, policy: PDap) -> Bound:
    """Check Theorem 2 for own videos of means 1 and 0.

    The cell is of the first level at which a mean of 0 is suboptimal in the theorem's sense.
    """
    setting = world.setting
    name, epsilon = column
    gap = theory.suboptimal_gap(setting.lipschitz, setting.dimension, setting.smoothness)
    level = math.floor(math.log(gap, setting.slices) / setting.smoothness) + 1
    draws = min(setting.horizon, setting.first_split * setting.slices ** (setting.p * level))
    means = [1.0] + [0.0] * (setting.videos - 1)
    epsilon_of_cell = theory.epsilon_at(
        epsilon, setting.slices, setting.smoothness, level, name == "gp-dap"
    )
    _, loss_by_video = draw_loss(policy, level, means)
    return _bound(
        "Theorem 2",
        f"loss by one video of mean 0 beside one of mean 1, in {draws:,.0f} draws",
        column,
        level,
        printed=regret_bounds.own_video_regret_as_printed(
            setting, level, setting.horizon, epsilon_of_cell
        ),
        corrected=regret_bounds.own_video_regret(setting, level, setting.horizon, epsilon_of_cell),
        measured=draws * loss_by_video[1],
        largest_possible=draws,
    )


def _bounds_of_cells(
    world: World, column: Column, regrets_by_level: Sequence[LevelRegret]
) -> list[Bound]:
    """Check the bounds on one cell, Lemmas 1, 4 and 6, at each level that was reached.

    Args:
        world: the settings of the experiment.
        column: the policy.
        regrets_by_level: of all its runs.
    """
    bounds: list[Bound] = []
    for level, regrets in sorted(group_by(regrets_by_level, lambda item: item.level).items()):
        own_video = max(regret.own_video for regret in regrets)
        bounds.append(_lemma_1(world, column, level, own_video))
        if world.vendors > 1:
            neighbour = max(regret.neighbour for regret in regrets)
            bounds += _lemma_4(world, column, level, neighbour)
        exploitation = max(regret.exploitation for regret in regrets)
        bounds.append(_lemma_6(world, column, level, exploitation))
    return bounds


def _lemma_1(world: World, column: Column, level: int, largest_regret: float) -> Bound:
    """Check Lemma 1 against the largest regret of an own video in a cell of this level."""
    s = world.setting
    bound = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(s.horizon))
    return _bound(
        "Lemma 1",
        "exploring one own video in one cell",
        column,
        level,
        printed=bound,
        corrected=bound,
        measured=largest_regret,
        largest_possible=s.horizon,
    )


def _lemma_4(world: World, column: Column, level: int, largest_regret: float) -> list[Bound]:
    """Check each version of Lemma 4 against the largest regret of a neighbour in a cell."""
    s = world.setting
    gamma = _gamma(world, column)
    gamma_of_cell = gamma
    if column[0] == "gp-dap":
        gamma_of_cell = gamma / float(s.slices ** (s.smoothness * level))
    sizes = (s.slices, s.smoothness, level, s.horizon, s.videos)
    corrected = theory.neighbour_regret(*sizes, gamma_of_cell)

    def check_version(version: str) -> Bound:
        bound = _bound(
            "Lemma 4",
            f"training and exploring one neighbour in one cell ({version})",
            column,
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


def _lemma_6(world: World, column: Column, level: int, largest_regret: float) -> Bound:
    """Check Lemma 6 against the largest regret of exploiting in a cell of this level."""
    s = world.setting
    gap = theory.suboptimal_gap(s.lipschitz, s.dimension, s.smoothness)
    bound = theory.near_optimal_regret(s.first_split, gap, s.p, s.slices, s.smoothness, level)
    return _bound(
        "Lemma 6",
        "exploiting in one cell",
        column,
        level,
        printed=bound,
        corrected=bound,
        measured=largest_regret,
        largest_possible=s.horizon,
    )


def _bounds_of_all_cells(
    world: World,
    column: Column,
    regret: float,
    regrets_by_level: Sequence[LevelRegret],
) -> list[Bound]:
    """Check the bounds on all cells together: Lemmas 5 and 7, Theorem 3 and Corollary 2.

    Args:
        world: the settings of the experiment.
        column: the policy.
        regret: the largest of its runs.
        regrets_by_level: of all its runs.
    """
    name, epsilon = column
    bounds: list[Bound] = []
    if name == "p-dap" and not math.isinf(epsilon) and world.vendors > 1:
        bounds.append(_lemma_5(world, epsilon))
    deepest_level = max(regret_of_level.level for regret_of_level in regrets_by_level)
    bounds.append(_lemma_7(world, column, deepest_level))
    bounds.append(_theorem_3(world, column, regret))
    has_uniform_contexts = world.groups == 0 and world.features == 0
    if has_uniform_contexts and name != "gp-dap":
        bounds.append(_corollary_2(world, column, regret))
    return bounds


def _lemma_5(world: World, epsilon: float) -> Bound:
    """Check Lemma 5 against the largest noise in the totals of one simulated tree.

    The noise of a node has the lemma's scale.
    """
    s = world.setting
    scale = theory.noise_scale("lemma 5", s.horizon, world.vendors, s.videos, epsilon)
    counter = TreeCounter(theory.tree_loss(s.horizon, scale), s.horizon).start()
    noises = [abs(counter.add(0)) for _ in range(s.horizon)]
    gamma = theory.gamma(s.horizon, world.vendors, epsilon, SIGMA)
    return _bound(
        "Lemma 5",
        f"noise in a total of rewards, with a chance of {1 - SIGMA:g}",
        ("p-dap", epsilon),
        None,
        printed=gamma,
        corrected=gamma,
        measured=max(noises),
    )


def _lemma_7(world: World, column: Column, deepest_level: int) -> Bound:
    """Check Lemma 7 against the deepest level that was reached."""
    s = world.setting
    rounds = max(s.horizon, s.first_split)
    bound = theory.deepest_level(rounds, s.first_split, s.p, s.slices)
    return _bound(
        "Lemma 7",
        "deepest level of a cell",
        column,
        None,
        printed=bound,
        corrected=bound,
        measured=deepest_level,
    )


def _theorem_3(world: World, column: Column, regret: float) -> Bound:
    """Check Theorem 3 against the largest regret of a run."""
    s = world.setting
    name, epsilon = column
    gamma = _gamma(world, column)
    return _bound(
        "Theorem 3",
        "regret of one vendor",
        column,
        None,
        printed=regret_bounds.regret_bound_as_printed(s, s.horizon, epsilon=epsilon, gamma=gamma),
        corrected=regret_bounds.regret_bound(
            s, s.horizon, epsilon=epsilon, gamma=gamma, geometric=name == "gp-dap"
        ),
        measured=regret,
        largest_possible=s.horizon,
    )


def _corollary_2(world: World, column: Column, regret: float) -> Bound:
    """Check Corollary 2 against the largest regret of a run, where contexts are uniform."""
    s = world.setting
    _, epsilon = column
    symbols = _uniform_world(world, epsilon=epsilon, gamma=_gamma(world, column))
    return _bound(
        "Corollary 2",
        "regret of one vendor, uniform contexts",
        column,
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
    world: World, last_rows: Sequence[Row], columns: Sequence[Column]
) -> list[Bound]:
    """Check Theorem 6 at each epsilon at which both P-DAP and GP-DAP were run.

    Args:
        world: the settings of the experiment.
        last_rows: at the end of each training.
        columns: the policies that were run.
    """
    bounds: list[Bound] = []
    for name, epsilon in columns:
        ran_both = name == "gp-dap" and ("p-dap", epsilon) in columns
        if ran_both and not math.isinf(epsilon):
            p_dap = [row.regret for row in last_rows if _is_of_column(row, ("p-dap", epsilon))]
            gp_dap = [row.regret for row in last_rows if _is_of_column(row, ("gp-dap", epsilon))]
            saved = float(np.mean(p_dap)) - float(np.mean(gp_dap))
            bounds.append(_theorem_6(world, epsilon, saved))
    return bounds


def _theorem_6(world: World, epsilon: float, saved: float) -> Bound:
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
        quantity="regret that GP-DAP saves, at least; corrected: between their two bounds",
        policy="gp-dap",
        epsilon=epsilon,
        level=None,
        printed=printed,
        corrected=bound_of_p_dap - bound_of_gp_dap,
        measured=saved,
        verdict="refuted" if saved < printed else "holds",
    )


def _gamma(world: World, column: Column) -> float:
    """Compute Gamma, the visits that a neighbour's noise costs this policy in the whole cube."""
    name, epsilon = column
    return 0.0 if name == "dap" else world.gamma_at(epsilon)
