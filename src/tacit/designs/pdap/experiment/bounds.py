"""The paper's bounds on regret, as printed and corrected, beside what was measured.

Regret of the training is parted by what a visit was for: exploring an own video (Lemma 1), training
or exploring a neighbour (Lemma 4), exploiting (Lemma 6), each in one cell; the largest cell and arm
of any run is shown. What the exponential mechanism loses (Theorem 1, Lemma 3, Theorem 2) is
computed exactly, from the weights that the shipped policy draws by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tacit.designs.pdap import regret_bounds, theory
from tacit.designs.pdap.experiment.run import LevelRegret, Row
from tacit.designs.pdap.experiment.summary import Column, columns_of
from tacit.designs.pdap.experiment.world import SIGMA, World
from tacit.designs.pdap.policies.gp_dap import GPDap
from tacit.designs.pdap.policies.p_dap import PDap
from tacit.mechanisms.counter import TreeCounter
from tacit.randomness import secure

Outcome = Literal["holds", "says nothing", "refuted", "does not apply"]
POLICIES = ("dap", "p-dap", "gp-dap")
"""Those whose regret the paper bounds."""


@dataclass(frozen=True)
class Bound:
    """One bound of the paper for one policy.

    Attributes:
        item: its number in the paper.
        quantity: what is bounded, in words.
        policy, epsilon: of which policy; inf without noise.
        level: of the cell; None where it is about all cells.
        printed: the paper's bound.
        corrected: what follows instead; the same where nothing is wrong.
        measured: in this run.
        verdict: of the printed bound. A bound says nothing if no run could go beyond it, and does
            not apply where what is run differs from what it is about.
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
    """All bounds of the policies that were run.

    Args:
        world: the settings of the experiment.
        rows: of all runs.
        levels: what the cells of each run lost, by policy, epsilon and seed.
    """
    last = max(row.arrivals for row in rows)
    ended = [row for row in rows if row.protocol == "cumulative" and row.arrivals == last]
    columns = [column for column in columns_of(ended) if column[0] in POLICIES]
    found: list[Bound] = []
    for column in columns:
        if column[0] != "dap" and not math.isinf(column[1]):
            found += _draws(world, column)
        visited: list[LevelRegret] = []
        for row in ended:
            if _is_of_column(row, column):
                visited += levels[row.policy, row.epsilon, row.seed]
        found += _cells(world, column, visited)
        regret = max(row.regret for row in ended if _is_of_column(row, column))
        found += _totals(world, column, regret, visited)
    return [*found, *_geometric(world, ended, columns)]


def draw_loss(policy: PDap, level: int, means: Sequence[float]) -> tuple[float, list[float]]:
    """The expected loss of one draw among own videos, exactly, by the weights it is drawn by.

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
    most: float = math.inf,
) -> Bound:
    """A bound with its verdict. most: what could be measured at most, whatever happens."""
    verdict: Outcome = "holds"
    if measured > printed * (1 + 1e-9):
        verdict = "refuted"
    elif printed >= most:
        verdict = "says nothing"
    policy, epsilon = column
    return Bound(item, quantity, policy, epsilon, level, printed, corrected, measured, verdict)


def _draws(world: World, column: Column) -> list[Bound]:
    """Theorem 1, Lemma 3 and Theorem 2: what draws of own videos lose."""
    if world.videos == 1:
        return []
    name, epsilon = column
    kind = GPDap if name == "gp-dap" else PDap
    policy = kind(world.setting, epsilon=epsilon, randomness=secure(), gamma=0.0)
    return [
        _theorem_1(world, column, policy),
        _lemma_3(world, column, policy),
        _theorem_2(world, column, policy),
    ]


def _theorem_1(world: World, column: Column, policy: PDap) -> Bound:
    """One best video of mean 1, and all others so far below it that e^-t is smallest.

    A mean is at least 0, so t is at most epsilon / (2 Delta u) - ln K; ln T is the paper's choice.
    """
    setting = world.setting
    videos, epsilon = setting.videos, column[1]
    spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, 0)
    most = epsilon / (2 * spread) - math.log(videos)
    t = max(0.0, min(math.log(setting.horizon), most))
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
        most=1.0,
    )


def _lemma_3(world: World, column: Column, policy: PDap) -> Bound:
    """T draws in the whole cube, by the chances of a click in its middle."""
    setting = world.setting
    videos, visits = setting.videos, setting.horizon
    spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, 0)
    middle = np.full((1, world.dimensions), 0.5)
    means = world.clicks(0).means(middle)[0, :videos].tolist()
    return _bound(
        "Lemma 3",
        f"loss of {visits:,} draws by the means in the middle of the cube",
        column,
        0,
        printed=theory.draw_regret_as_printed(spread, column[1], videos, visits),
        corrected=theory.draw_regret(spread, column[1], videos, visits),
        measured=visits * draw_loss(policy, 0, means)[0],
        most=visits,
    )


def _theorem_2(world: World, column: Column, policy: PDap) -> Bound:
    """Own videos of means 1 and 0, in the first level at which 0 is suboptimal in its sense."""
    setting = world.setting
    name, epsilon = column
    gap = theory.suboptimal_gap(setting.lipschitz, setting.dimension, setting.smoothness)
    level = math.floor(math.log(gap, setting.slices) / setting.smoothness) + 1
    draws = min(setting.horizon, setting.first_split * setting.slices ** (setting.p * level))
    means = [1.0] + [0.0] * (setting.videos - 1)
    here = theory.epsilon_at(epsilon, setting.slices, setting.smoothness, level, name == "gp-dap")
    return _bound(
        "Theorem 2",
        f"loss by one video of mean 0 beside one of mean 1, in {draws:,.0f} draws",
        column,
        level,
        printed=regret_bounds.own_video_regret_as_printed(setting, level, setting.horizon, here),
        corrected=regret_bounds.own_video_regret(setting, level, setting.horizon, here),
        measured=draws * draw_loss(policy, level, means)[1][1],
        most=draws,
    )


def _cells(world: World, column: Column, visited: Sequence[LevelRegret]) -> list[Bound]:
    """Lemmas 1, 4 and 6 at each level that was reached."""
    found = []
    for level in sorted({one.level for one in visited}):
        at_level = [one for one in visited if one.level == level]
        found.append(_lemma_1(world, column, level, max(one.own_video for one in at_level)))
        if world.vendors > 1:
            largest = max(one.neighbour for one in at_level)
            found += _lemma_4(world, column, level, largest)
        largest = max(one.exploitation for one in at_level)
        found.append(_lemma_6(world, column, level, largest))
    return found


def _lemma_1(world: World, column: Column, level: int, largest: float) -> Bound:
    s = world.setting
    bound = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(s.horizon))
    return _bound(
        "Lemma 1",
        "exploring one own video in one cell",
        column,
        level,
        printed=bound,
        corrected=bound,
        measured=largest,
        most=s.horizon,
    )


def _lemma_4(world: World, column: Column, level: int, largest: float) -> list[Bound]:
    """Each version of the lemma."""
    s = world.setting
    gamma = _gamma(world, column)
    shrunk = gamma
    if column[0] == "gp-dap":
        shrunk = gamma / float(s.slices ** (s.smoothness * level))
    sizes = (s.slices, s.smoothness, level, s.horizon, s.videos)
    corrected = theory.neighbour_regret(*sizes, shrunk)

    def bound_of(version: str) -> Bound:
        bound = _bound(
            "Lemma 4",
            f"training and exploring one neighbour in one cell ({version})",
            column,
            level,
            printed=theory.neighbour_regret_as_printed(version, *sizes, gamma),
            corrected=corrected,
            measured=largest,
            most=s.horizon,
        )
        # The lemma is of a training that is K times shorter; `corrected` is of the one that is run.
        return replace(bound, verdict="does not apply") if bound.verdict == "refuted" else bound

    return [bound_of(version) for version in ("statement", "proof", "theorem 3")]


def _lemma_6(world: World, column: Column, level: int, largest: float) -> Bound:
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
        measured=largest,
        most=s.horizon,
    )


def _totals(
    world: World,
    column: Column,
    regret: float,
    visited: Sequence[LevelRegret],
) -> list[Bound]:
    """Lemmas 5 and 7, Theorem 3 and Corollary 2: of all cells together."""
    name, epsilon = column
    found = []
    if name == "p-dap" and not math.isinf(epsilon) and world.vendors > 1:
        found.append(_lemma_5(world, epsilon))
    reached = max(one.level for one in visited)
    found += [_lemma_7(world, column, reached), _theorem_3(world, column, regret)]
    if world.groups == 0 and world.features == 0 and name != "gp-dap":
        found.append(_corollary_2(world, column, regret))
    return found


def _lemma_5(world: World, epsilon: float) -> Bound:
    """The largest noise of the totals of one tree, with the lemma's scale of a node."""
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


def _lemma_7(world: World, column: Column, reached: int) -> Bound:
    s = world.setting
    rounds = max(s.horizon, s.first_split)
    deepest = theory.deepest_level(rounds, s.first_split, s.p, s.slices)
    return _bound(
        "Lemma 7",
        "deepest level of a cell",
        column,
        None,
        printed=deepest,
        corrected=deepest,
        measured=reached,
    )


def _theorem_3(world: World, column: Column, regret: float) -> Bound:
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
        most=s.horizon,
    )


def _corollary_2(world: World, column: Column, regret: float) -> Bound:
    s = world.setting
    uniform = _uniform_world(world, epsilon=column[1], gamma=_gamma(world, column))
    return _bound(
        "Corollary 2",
        "regret of one vendor, uniform contexts",
        column,
        None,
        printed=theory.uniform_regret_as_printed(uniform),
        corrected=theory.uniform_regret(uniform),
        measured=regret,
        most=s.horizon,
    )


def _uniform_world(world: World, *, epsilon: float, gamma: float) -> theory.UniformWorld:
    """The paper's symbols for a world of this setting."""
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


def _geometric(world: World, ended: Sequence[Row], columns: Sequence[Column]) -> list[Bound]:
    """Theorem 6: regret of P-DAP minus that of GP-DAP, mean over seeds."""
    found = []
    for name, epsilon in columns:
        both = name == "gp-dap" and ("p-dap", epsilon) in columns
        if both and not math.isinf(epsilon):
            uniform = [row.regret for row in ended if _is_of_column(row, ("p-dap", epsilon))]
            geometric = [row.regret for row in ended if _is_of_column(row, ("gp-dap", epsilon))]
            saved = float(np.mean(uniform)) - float(np.mean(geometric))
            found.append(_theorem_6(world, epsilon, saved))
    return found


def _theorem_6(world: World, epsilon: float, saved: float) -> Bound:
    """A bound from below, so it is refuted by a smaller saving."""
    s = world.setting
    gamma = world.gamma_at(epsilon)
    printed = theory.geometric_saving_as_printed(
        _uniform_world(world, epsilon=epsilon, gamma=gamma)
    )
    uniform, geometric = (
        regret_bounds.regret_bound(s, s.horizon, epsilon=epsilon, gamma=gamma, geometric=shrinks)
        for shrinks in (False, True)
    )
    return Bound(
        item="Theorem 6",
        quantity="regret that GP-DAP saves, at least; corrected: between their two bounds",
        policy="gp-dap",
        epsilon=epsilon,
        level=None,
        printed=printed,
        corrected=uniform - geometric,
        measured=saved,
        verdict="refuted" if saved < printed else "holds",
    )


def _gamma(world: World, column: Column) -> float:
    """Visits that the noise of a neighbour costs this policy."""
    name, epsilon = column
    return 0.0 if name == "dap" else world.gamma_at(epsilon)
