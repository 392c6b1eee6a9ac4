"""Control functions: how often an arm is tried in a cell before what was learned decides.

paper   here       printed
G1      own        m^(2 alpha l) ln T
K G3    trained    m^(2 alpha l) ln t: each of a neighbour's K videos is tried ln t / K times
G3      served     m^(2 alpha l) ln t / K
G2      neighbour  m^(2 alpha l) ln t + (Gamma / 4) m^(alpha l)

training="sound" tries each of the neighbour's videos m^(2 alpha l) ln t times, and trains K times
as long: with ln t / K the chance of a wrong order is t^(-2/K), which no sum over t survives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap import theory
from tacit.designs.pdap.partition import thresholds
from tacit.errors import ConfigError
from tacit.mechanisms.samplers import check_whole

if TYPE_CHECKING:
    from tacit.engine.bandit import CompiledDap

Training = Literal["sound", "printed"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a vendor and its world look like; the same for all policies that are compared.

    videos: K, its own; each neighbour is taken to have as many. neighbours: M - 1, arms to forward
    to. dimension: d. horizon: T, contexts of its own users that are expected.
    slices, smoothness, lipschitz, growth: m, alpha, L, p; growth None: 3 alpha, which balances the
    paper's bound. split_after: A; None: twice what all phases need in the whole cube, so that
    something is left to exploit before a cell splits.
    inherit: children start with their parent's counts, not at zero. deepest, most_cells: see
    `AdaptivePartition`.
    """

    videos: int
    neighbours: int
    dimension: int
    horizon: int
    slices: int = 2
    smoothness: float = 1.0
    lipschitz: float = 1.0
    growth: float | None = None
    split_after: float | None = None
    training: Training = "sound"
    inherit: bool = False
    deepest: int = 20
    most_cells: int | None = None

    def __post_init__(self) -> None:
        check_whole("videos", self.videos, least=1)
        check_whole("neighbours", self.neighbours, least=0)
        check_whole("dimension", self.dimension, least=1)
        check_whole("horizon", self.horizon, least=2)
        for name in ("smoothness", "lipschitz"):
            number = getattr(self, name)
            if not (math.isfinite(number) and number > 0):
                raise ConfigError(f"{name} is a finite number above 0; got {number}.")
        if self.training not in ("sound", "printed"):
            raise ConfigError(f"training is 'sound' or 'printed'; got {self.training!r}.")

    @property
    def p(self) -> float:
        return 3 * self.smoothness if self.growth is None else self.growth

    @property
    def first_split(self) -> float:
        """A: contexts in the whole cube before it splits."""
        if self.split_after is not None:
            return self.split_after
        phases = Adaptive(self)
        of_neighbours = phases.trained(0, self.horizon) + phases.neighbour(0, self.horizon)
        own = self.videos * phases.own(0, self.horizon)
        return 2 * math.ceil(own + self.neighbours * of_neighbours)


def regret_bound(setting: Setting, visits: int) -> float:
    """Theorem 3 without noise, for one vendor's own users after so many visits."""
    return theory.theorem_3(
        visits,
        A=setting.first_split,
        K=setting.videos,
        M=setting.neighbours + 1,
        d=setting.dimension,
        m=setting.slices,
        p=setting.p,
        al=setting.smoothness,
        L=setting.lipschitz,
        printed=setting.training == "printed",
    )


class Controls:
    """Visits below which an arm is tried, in a cell of this level at round t >= 1."""

    def own(self, level: int, t: int) -> float:
        """Of each own video."""
        raise NotImplementedError

    def trained(self, level: int, t: int) -> float:
        """Of each neighbour, without learning from the reward."""
        return 0.0

    def neighbour(self, level: int, t: int) -> float:
        """Of each neighbour, learning from the reward."""
        return 0.0

    def served(self, level: int, t: int) -> float:
        """Of each own video, for contexts that neighbours forward."""
        return self.own(level, t)


@dataclass(frozen=True)
class Adaptive(Controls):
    """Those of DAP. noise: Gamma, what a neighbour's noise costs in visits; 0 without noise.

    geometric: Gamma shrinks as m^(alpha l), as the noise of GP-DAP does.
    """

    setting: Setting
    noise: float = 0.0
    geometric: bool = False

    def own(self, level: int, t: int) -> float:
        return self._exploration(level, self.setting.horizon)

    def trained(self, level: int, t: int) -> float:
        return self.setting.videos * self.served(level, t)

    def neighbour(self, level: int, t: int) -> float:
        s = self.setting
        shrunk = self.noise / s.slices ** (s.smoothness * level) if self.geometric else self.noise
        return theory.neighbour_exploration(s.slices, s.smoothness, level, math.log(t), shrunk)

    def served(self, level: int, t: int) -> float:
        s = self.setting
        if s.training == "printed":
            return theory.training(s.slices, s.smoothness, level, math.log(t), s.videos)
        return self._exploration(level, t)

    def _exploration(self, level: int, t: int) -> float:
        s = self.setting
        return theory.exploration(s.slices, s.smoothness, level, math.log(t))


@dataclass(frozen=True)
class Alone(Controls):
    """Those of CAP: own videos, with ln t where G1 has ln T."""

    setting: Setting

    def own(self, level: int, t: int) -> float:
        s = self.setting
        return theory.exploration(s.slices, s.smoothness, level, math.log(t))


@dataclass(frozen=True)
class UniformCells(Controls):
    """Those of DUP, whose cells have no level: D1 = t^(2 alpha / (3 alpha + d)) ln t and K D1.

    K D1 visits train a neighbour, so that each of its K videos can be tried D1 times.
    """

    setting: Setting

    def own(self, level: int, t: int) -> float:
        s = self.setting
        return float(t ** (2 * s.smoothness / (3 * s.smoothness + s.dimension))) * math.log(t)

    def trained(self, level: int, t: int) -> float:
        return self.setting.videos * self.own(level, t)

    def neighbour(self, level: int, t: int) -> float:
        return self.own(level, t)


@dataclass(frozen=True)
class ForGuests(Controls):
    """Those of a vendor that serves others' users: own videos are tried `served` times."""

    home: Controls

    def own(self, level: int, t: int) -> float:
        return self.home.served(level, t)


@dataclass(frozen=True)
class Scaled(Controls):
    """Those of `controls`, times `by`: below 1 less is explored than the regret bounds ask for."""

    controls: Controls
    by: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.by) and self.by > 0):
            raise ConfigError(f"Control functions are scaled by a number above 0; got {self.by}.")

    def own(self, level: int, t: int) -> float:
        return self.by * self.controls.own(level, t)

    def trained(self, level: int, t: int) -> float:
        return self.by * self.controls.trained(level, t)

    def neighbour(self, level: int, t: int) -> float:
        return self.by * self.controls.neighbour(level, t)

    def served(self, level: int, t: int) -> float:
        return self.by * self.controls.served(level, t)


def practical(
    *, videos: int, neighbours: int, dimension: int, horizon: int, **others: Any
) -> tuple[Setting, Controls]:
    """Not the paper's: what learns faster, from public numbers alone, for `Dap` and `compiled`.

    Cells split early, and their children go on from what was learned (inherit); an arm is tried
    0.6 m^(0.2 l) ln t times, counting what was inherited. Beyond four features, where a split makes
    so many children that few people come to each, A and p grow. The numbers were chosen on
    generated Lipschitz clicks of 1 to 10 features. others: of `Setting`, such as most_cells.
    """
    arms, many = videos + neighbours, max(0, dimension - 4)
    setting = Setting(
        videos=videos,
        neighbours=neighbours,
        dimension=dimension,
        horizon=horizon,
        **{
            "split_after": arms * 2 ** (1.5 * many),
            "growth": max(3.0, dimension),
            "smoothness": 0.1,
            "inherit": True,
            **others,
        },
    )
    return setting, Scaled(Adaptive(setting), 0.6)


def compiled(
    setting: Setting, controls: Controls | None = None, *, alone: bool = False
) -> CompiledDap:
    """Chooses as `Dap(setting, controls)` does, far faster; `alone`: without the neighbours.

    `Cap(setting)` is `compiled(setting, Alone(setting), alone=True)`. Of the control functions only
    those that are a constant plus a multiple of ln t at each level can be compiled: DUP's are not.
    """
    from tacit.engine.bandit import CompiledDap, Rules

    used, s = Adaptive(setting) if controls is None else controls, setting
    return CompiledDap(
        Rules(
            dimension=s.dimension,
            own=s.videos,
            neighbours=0 if alone else s.neighbours,
            slices=s.slices,
            split_after=np.array(thresholds(s.first_split, s.slices, s.p, s.deepest)),
            tried=_lines(used.own, setting),
            trained=_lines(used.trained, setting),
            heard=_lines(used.neighbour, setting),
            inherit=s.inherit,
            most_cells=s.most_cells,
        )
    )


def _lines(control: Callable[[int, int], float], setting: Setting) -> NDArray[np.float64]:
    """(levels, 2): scale and constant of each level's scale * ln t + constant."""
    far = max(setting.horizon, 3)
    lines = []
    for level in range(setting.deepest + 1):
        constant = control(level, 1)
        scale = (control(level, far) - constant) / math.log(far)
        if not math.isclose(control(level, 2), scale * math.log(2) + constant, rel_tol=1e-9):
            raise ConfigError(
                "Only control functions scale * ln t + constant can be compiled, and these are not."
            )
        lines.append((scale, constant))
    return np.array(lines)
