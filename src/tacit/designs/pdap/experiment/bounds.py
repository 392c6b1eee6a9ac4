"""The paper's bounds, printed and corrected, and measured values. Letters are those of `theory`.

Lemmas 1, 4, 6       bound regret in one cell. The regret of training visits is split by their
                     purpose: exploring an own video (1), training or exploring a neighbour (4),
                     exploiting (6). At each level, the bound is compared with the largest regret
                     in any run: of a cell for Lemma 6, of one arm in a cell for Lemmas 1 and 4.
Theorems 1, 2,       bound the loss by draws of the exponential mechanism. It is computed exactly,
Lemma 3              from the weights by which the policy draws, in one chosen example each.
Theorem 3,           bound the regret of a vendor. They are compared with the largest regret of any
Corollary 2          run.
Lemmas 5, 7          bound the noise in a total of rewards, and the level of the deepest cell.
Theorem 6            bounds from below the regret that GP-DAP saves compared with P-DAP. The saving
                     is averaged over seeds.
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
_ROUNDING = 1e-9
"""A measurement refutes a bound only if it exceeds the bound by more than this share of the bound;
a smaller excess may be due to rounding."""


@dataclass(frozen=True)
class Bound:
    """One bound of the paper for one policy.

    Attributes:
        item: its name in the paper, such as "Lemma 1".
        quantity: the bounded quantity, in words.
        policy: its name on the command line.
        epsilon: epsilon of the policy; inf without noise.
        level: level of the cell; None if the bound is about all cells.
        printed: the paper's bound.
        corrected: the correct bound; equal to `printed` where that is correct. For Theorem 6 it is
            the difference of two upper bounds, which bounds nothing itself.
        measured: the value in this experiment.
        verdict: the verdict on the printed bound. The bound "says nothing" if no run could exceed
            it. It "does not apply" if it was exceeded, but assumes another policy than the one that
            is run.
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
    level_regrets: Mapping[tuple[str, float, int], Sequence[LevelRegret]],
) -> list[Bound]:
    """Compare the measurements with all bounds of the policies that were run.

    Args:
        world: the settings of the experiment.
        rows: the rows of all runs.
        level_regrets: the regret of each run by level of the cells; keys are policy, epsilon and
            seed.
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
                regrets_by_level += level_regrets[row.policy, row.epsilon, row.seed]
        bounds += _bounds_of_cells(world, contender, regrets_by_level)
        regret = max(row.regret for row in last_rows if _is_of_contender(row, contender))
        bounds += _bounds_of_all_cells(world, contender, regret, regrets_by_level)
    bounds += _bounds_of_saving(world, last_rows, contenders)
    return bounds


def draw_loss(policy: PDap, level: int, means: Sequence[float]) -> tuple[float, list[float]]:
    """Compute the exact expected loss of one draw among own videos.

    Args:
        policy: the policy that draws.
        level: level of the cell.
        means: mean reward of each own video in the cell.

    Returns:
        The best mean minus the expected mean, and the part of this loss that is due to each video.
    """
    weights = policy.selection(level, len(means)).weights(list(means))
    total_weight = int(weights.sum())
    best_mean = max(means)
    loss_by_video: list[float] = []
    for weight, mean in zip(weights.tolist(), means, strict=True):
        loss_by_video.append(weight / total_weight * (best_mean - mean))
    return sum(loss_by_video), loss_by_video


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
    """Make a bound with its verdict, "holds", "refuted" or "says nothing".

    Args:
        item: as in `Bound`.
        quantity: as in `Bound`.
        contender: policy and epsilon of the bound.
        level: as in `Bound`.
        printed: as in `Bound`.
        corrected: as in `Bound`.
        measured: as in `Bound`.
        largest_possible: value that no measurement can exceed.
    """
    verdict: Outcome = "holds"
    if measured > printed * (1 + _ROUNDING):
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
    """Check the bounds on the loss by draws of own videos: Theorem 1, Lemma 3 and Theorem 2.

    With a single video there is no draw, and no bound is returned.
    """
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
    """Check Theorem 1 where one video has mean 1, and all others have mean 1 minus the shortfall.

    The shortfall is (2 Delta u / epsilon) (ln K + t), where Delta u is how much a mean varies in
    the cell. By the theorem, the chance is at most e^-t that the mean of the drawn video is the
    shortfall or more below the best mean. The paper chooses t = ln T. But a mean is at least 0, so
    the shortfall is at most 1, and t is at most epsilon / (2 Delta u) - ln K. If this is negative,
    t is 0, and the bound says nothing.
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
    """Check Lemma 3 for T draws in the only cell of level 0, which is the whole cube.

    The means are the chances of a click in the middle of the cube, in the world of seed 0.
    """
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
    """Check Theorem 2 where one own video has mean 1 and all others have mean 0.

    The cell is of the first level l at which these others are suboptimal in the theorem's sense:
    B m^(-alpha l) < 1, with B of `theory.suboptimal_gap`.
    """
    setting = world.setting
    gap = theory.suboptimal_gap(setting.lipschitz, setting.dimension, setting.smoothness)
    level = math.floor(math.log(gap, setting.slices) / setting.smoothness) + 1
    # At most as many draws as the cell has visits before it splits.
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
        measured=draws * loss_by_video[1],  # video 1 is one of those of mean 0
        largest_possible=draws,
    )


def _bounds_of_cells(
    world: World, contender: Contender, regrets_by_level: Sequence[LevelRegret]
) -> list[Bound]:
    """Check the bounds on one cell, Lemmas 1, 4 and 6, at each level that was reached.

    Args:
        world: the settings of the experiment.
        contender: the policy.
        regrets_by_level: the regret of all its runs, an entry for each run and level.
    """
    bounds: list[Bound] = []
    regrets_of_level = group_by(regrets_by_level, lambda regret: regret.level)
    for level, regrets in sorted(regrets_of_level.items()):
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
    setting = world.setting
    bound = theory.suboptimal_regret(
        setting.slices, setting.smoothness, level, math.log(setting.horizon)
    )
    return _judge_bound(
        "Lemma 1",
        "exploring one own video in one cell",
        contender,
        level,
        printed=bound,
        corrected=bound,
        measured=largest_regret,
        largest_possible=setting.horizon,
    )


def _check_lemma_4(
    world: World, contender: Contender, level: int, largest_regret: float
) -> list[Bound]:
    """Check the three versions of Lemma 4 against the largest regret of a neighbour in a cell.

    In GP-DAP, Gamma is divided by m^(alpha l) in a cell of level l. The corrected bound takes this
    into account; the printed ones do not.
    """
    setting = world.setting
    gamma = _gamma_of(world, contender)
    gamma_of_cell = gamma
    if contender.policy == "gp-dap":
        gamma_of_cell = gamma / float(setting.slices ** (setting.smoothness * level))
    corrected = theory.neighbour_regret(
        m=setting.slices,
        al=setting.smoothness,
        level=level,
        T=setting.horizon,
        K=setting.videos,
        Gamma=gamma_of_cell,
    )

    def check_version(version: str) -> Bound:
        bound = _judge_bound(
            "Lemma 4",
            f"training and exploring one neighbour in one cell ({version})",
            contender,
            level,
            printed=theory.neighbour_regret_as_printed(
                version,
                m=setting.slices,
                al=setting.smoothness,
                level=level,
                T=setting.horizon,
                K=setting.videos,
                Gamma=gamma,
            ),
            corrected=corrected,
            measured=largest_regret,
            largest_possible=setting.horizon,
        )
        if bound.verdict == "refuted":
            # The lemma assumes a training that is K times shorter than the one that is run.
            return replace(bound, verdict="does not apply")
        return bound

    return [check_version(version) for version in ("statement", "proof", "theorem 3")]


def _check_lemma_6(world: World, contender: Contender, level: int, largest_regret: float) -> Bound:
    """Check Lemma 6 against the largest regret of exploiting in a cell of this level."""
    setting = world.setting
    gap = theory.suboptimal_gap(setting.lipschitz, setting.dimension, setting.smoothness)
    bound = theory.near_optimal_regret(
        setting.first_split, gap, setting.p, setting.slices, setting.smoothness, level
    )
    return _judge_bound(
        "Lemma 6",
        "exploiting in one cell",
        contender,
        level,
        printed=bound,
        corrected=bound,
        measured=largest_regret,
        largest_possible=setting.horizon,
    )


def _bounds_of_all_cells(
    world: World,
    contender: Contender,
    regret: float,
    regrets_by_level: Sequence[LevelRegret],
) -> list[Bound]:
    """Check the bounds that are not about one cell: Lemmas 5 and 7, Theorem 3 and Corollary 2.

    Lemma 5 is checked only for P-DAP with noise, and only if there are neighbours. Corollary 2 is
    checked only for DAP and P-DAP, and only if contexts are uniform.

    Args:
        world: the settings of the experiment.
        contender: the policy.
        regret: the largest regret of a run of this policy.
        regrets_by_level: the regret of all its runs, an entry for each run and level.
    """
    is_noisy_p_dap = contender.policy == "p-dap" and not math.isinf(contender.epsilon)
    bounds: list[Bound] = []
    if is_noisy_p_dap and world.vendors > 1:
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

    Each node of the tree has noise of the scale that the lemma assumes.
    """
    setting = world.setting
    scale = theory.noise_scale("lemma 5", setting.horizon, world.vendors, setting.videos, epsilon)
    # `TreeCounter` takes the epsilon for which its noise has this scale.
    epsilon_of_counter = theory.tree_loss(setting.horizon, scale)
    counter = TreeCounter(epsilon_of_counter, setting.horizon).start()
    # With rewards of 0, each total is noise alone.
    noises = [abs(counter.add(0)) for _ in range(setting.horizon)]
    gamma = theory.gamma(setting.horizon, world.vendors, epsilon, SIGMA)
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
    setting = world.setting
    rounds = max(setting.horizon, setting.first_split)
    bound = theory.deepest_level(rounds, setting.first_split, setting.p, setting.slices)
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
    setting = world.setting
    epsilon = contender.epsilon
    gamma = _gamma_of(world, contender)
    return _judge_bound(
        "Theorem 3",
        "regret of one vendor",
        contender,
        None,
        printed=regret_bounds.regret_bound_as_printed(
            setting, setting.horizon, epsilon=epsilon, gamma=gamma
        ),
        corrected=regret_bounds.regret_bound(
            setting,
            setting.horizon,
            epsilon=epsilon,
            gamma=gamma,
            geometric=contender.policy == "gp-dap",
        ),
        measured=regret,
        largest_possible=setting.horizon,
    )


def _check_corollary_2(world: World, contender: Contender, regret: float) -> Bound:
    """Check Corollary 2 against the largest regret of a run, where contexts are uniform."""
    setting = world.setting
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
        largest_possible=setting.horizon,
    )


def _uniform_world(world: World, *, epsilon: float, gamma: float) -> theory.UniformWorld:
    """Return the paper's symbols for this world."""
    setting = world.setting
    return theory.UniformWorld(
        T=setting.horizon,
        A=setting.first_split,
        p=setting.p,
        m=setting.slices,
        al=setting.smoothness,
        d=setting.dimension,
        K=setting.videos,
        M=world.vendors,
        L=setting.lipschitz,
        epsilon=epsilon,
        Gamma=gamma,
    )


def _bounds_of_saving(
    world: World, last_rows: Sequence[Row], contenders: Sequence[Contender]
) -> list[Bound]:
    """Check Theorem 6 at each finite epsilon at which both P-DAP and GP-DAP were run.

    Args:
        world: the settings of the experiment.
        last_rows: the rows of all runs at the end of the training.
        contenders: the policies that were run, each with its epsilon.
    """
    bounds: list[Bound] = []
    for contender in contenders:
        epsilon = contender.epsilon
        p_dap = Contender("p-dap", epsilon)
        ran_both = contender.policy == "gp-dap" and p_dap in contenders
        if ran_both and not math.isinf(epsilon):
            p_dap_regrets = [row.regret for row in last_rows if _is_of_contender(row, p_dap)]
            gp_dap_regrets = [row.regret for row in last_rows if _is_of_contender(row, contender)]
            saved = float(np.mean(p_dap_regrets)) - float(np.mean(gp_dap_regrets))
            bounds.append(_check_theorem_6(world, epsilon, saved))
    return bounds


def _check_theorem_6(world: World, epsilon: float, saved: float) -> Bound:
    """Check Theorem 6 against the regret that GP-DAP saved, averaged over seeds.

    The theorem is a bound from below, so a smaller saving refutes it.
    """
    setting = world.setting
    gamma = world.gamma_at(epsilon)
    printed = theory.geometric_saving_as_printed(
        _uniform_world(world, epsilon=epsilon, gamma=gamma)
    )
    bound_of_p_dap = regret_bounds.regret_bound(
        setting, setting.horizon, epsilon=epsilon, gamma=gamma
    )
    bound_of_gp_dap = regret_bounds.regret_bound(
        setting, setting.horizon, epsilon=epsilon, gamma=gamma, geometric=True
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
    """Return Gamma, a bound of a neighbour's noise, as this policy uses it; 0 for DAP."""
    return 0.0 if contender.policy == "dap" else world.gamma_at(contender.epsilon)
