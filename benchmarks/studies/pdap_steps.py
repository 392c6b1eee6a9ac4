"""The learner with joint privacy beside others: average regret at an equal guarantee.

World    Generated clicks with a known optimum (`synthetic_rewards.py`): M vendors, K videos each.
         All vendors learn at the same time, T visits each. A forwarded visit is served by what the
         neighbour's learner has released, and the reward comes back by randomised response.
Regret   Mean of the best video of ALL vendors at the context, minus the mean of what was shown.
Rivals   Other learners, each with the same epsilon per visit.
Use      python benchmarks/studies/pdap_steps.py [--visits 200000] [--seeds 1 2 3] ...
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit import randomness
from tacit.data.clicks import Clicks, generate
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.local_learner import LocalLearner, LocalSetting
from tacit.designs.pdap.policies.uniform import Uniform
from tacit.evaluation import Interval, mean_interval
from tacit.mechanisms.randomized_response import BitRelease

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.pdap_answers import answer_range

Floats = NDArray[np.float64]
_POINT = 1 << 13
"""Visits between two points of a curve."""
STEP = "features"
"""The learner with joint privacy: sums of rewards times features. Steps that lost are in decision
10."""
RIVALS: Mapping[str, str] = {
    "uniform": "any arm, and any video of a neighbour's",
    "sound-context": "local privacy: the device draws, and reports at random",
}
"""Other learners, at the same epsilon per visit."""


class Learner(Protocol):
    """A policy that also shows guests what it knows."""

    def select(self, context: Floats) -> Any: ...

    def update(self, choice: Any, reward: float) -> None: ...

    def serve_forwarded(self, contexts: Floats) -> NDArray[np.int64]: ...


Make = Callable[[int], Learner]


@dataclass(frozen=True)
class StepRow:
    """One run. average_regret: per visit, mean over vendors; forwarded: share of visits.

    curve: pairs of visits per vendor and regret so far, summed over them, mean over vendors.
    """

    step: str
    epsilon: float
    visits: int
    seed: int
    average_regret: float
    forwarded: float
    curve: tuple[tuple[int, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an infinite epsilon is null."""
        return asdict(self) | {"epsilon": None if math.isinf(self.epsilon) else self.epsilon}

    def __str__(self) -> str:
        return (
            f"{self.step}, {self.visits} visits, epsilon {self.epsilon:g}, seed {self.seed}: "
            f"{self.average_regret:.4f}, forwarded {self.forwarded:.2f}"
        )


def steps(
    *,
    names: Sequence[str] = (STEP, *RIVALS),
    epsilons: Sequence[float] = (0.5, 1.0, 3.0, 10.0, math.inf),
    seeds: Sequence[int] = (1,),
    visits: int = 200_000,
    vendors: int = 4,
    videos: int = 20,
    dimension: int = 2,
) -> Iterator[StepRow]:
    """Every step at every epsilon on every seed's world, one after the other."""
    for seed in seeds:
        world = generate(vendors=vendors, videos=videos, dimension=dimension, seed=seed)
        for name in names:
            for epsilon in epsilons:
                made = _made(name, epsilon, world, visits, seed)
                yield run(name, made, epsilon, world, visits, seed)


def _made(name: str, epsilon: float, world: Clicks, visits: int, seed: int) -> Make:
    plain: dict[str, Any] = {
        "videos": world.videos,
        "neighbours": world.vendors - 1,
        "dimension": world.centres.shape[1],
        "epsilon": epsilon,
    }

    def make(vendor: int) -> Learner:
        source = randomness.replay(f"{seed} {vendor}")
        if name == STEP:
            setting = JointSetting(horizon=visits, neighbour_range=answer_range(epsilon), **plain)
            return JointLearner(setting, randomness=source)
        if name == "uniform":
            return Uniform(world.videos, world.vendors - 1, randomness=source)
        return LocalLearner(LocalSetting(**plain), randomness=source)

    return make


def run(
    name: str,
    make: Make,
    epsilon: float,
    world: Clicks,
    visits: int,
    seed: int,
) -> StepRow:
    """All vendors learn side by side. make: vendor -> its policy, own videos first."""
    generator = np.random.default_rng(seed)
    with randomness.simulation():
        policies = [make(vendor) for vendor in range(world.vendors)]
        bit, ends = BitRelease(epsilon), np.array(answer_range(epsilon))
        source = randomness.replay(f"answers {seed}")
        regret, forwarded, curve = 0.0, 0, []
        for done in range(1, visits + 1):
            for vendor, policy in enumerate(policies):
                context = generator.random((1, world.centres.shape[1]))
                choice = policy.select(context[0])
                shown = _shown(vendor, choice.arm, context, world, policies)
                mean = float(world.mean(shown, context)[0])
                reward = float(generator.random() < mean)
                # A device sees the click itself.
                if (away := choice.arm >= world.videos) and name != "sound-context":
                    reward = float(ends[int(bit([int(reward)], source)[0])])
                policy.update(choice, reward)
                regret += float(world.best(context)[1][0]) - mean
                forwarded += away
            if done % _POINT == 0 or done == visits:
                curve.append((done, regret / world.vendors))
    every = visits * world.vendors
    return StepRow(name, epsilon, visits, seed, regret / every, forwarded / every, tuple(curve))


def _shown(
    vendor: int, arm: int, context: Floats, world: Clicks, policies: Sequence[Learner]
) -> int:
    """Which of all videos an arm comes to. context: (1, d)."""
    if arm < world.videos:
        return vendor * world.videos + arm
    others = [other for other in range(world.vendors) if other != vendor]
    other = others[arm - world.videos]
    return other * world.videos + int(policies[other].serve_forwarded(context)[0])


def exponent(rows: Sequence[StepRow]) -> Interval:
    """Of one step at one epsilon: slope of log regret over log horizon, one line per seed.

    Below 1, average regret falls with the horizon. The interval is over seeds: other worlds, other
    visitors, other noise.
    """
    slopes = []
    for seed in dict.fromkeys(row.seed for row in rows):
        mine = [row for row in rows if row.seed == seed]
        visits = np.log([row.visits for row in mine])
        regret = np.log([row.visits * row.average_regret for row in mine])
        slopes.append(float(np.polyfit(visits, regret, 1)[0]))
    return mean_interval(slopes)


def table(rows: Sequence[StepRow]) -> str:
    """Steps and horizons by epsilons: average regret, mean over seeds and half the interval."""
    epsilons = sorted({row.epsilon for row in rows})
    lines = [
        f"{'step':<20}{'visits':>9}" + "".join(f"{f'eps {epsilon:g}':>18}" for epsilon in epsilons)
    ]
    for name, visits in dict.fromkeys((row.step, row.visits) for row in rows):
        found = [
            [r.average_regret for r in rows if (r.step, r.visits, r.epsilon) == (name, visits, e)]
            for e in epsilons
        ]
        lines.append(f"{name:<20}{visits:>9}" + "".join(f"{_mean(one):>18}" for one in found))
    return "\n".join(lines)


def _mean(values: Sequence[float]) -> str:
    """Nothing for no values; no interval for one."""
    if not values:
        return ""
    mean, _, high = mean_interval(values)
    return f"{mean:.4f}" if len(values) == 1 else f"{mean:.4f} ± {high - mean:.4f}"


def exponents(rows: Sequence[StepRow]) -> str:
    """A line per step and epsilon that was run with several horizons."""
    lines = []
    for name, epsilon in dict.fromkeys((row.step, row.epsilon) for row in rows):
        mine = [row for row in rows if (row.step, row.epsilon) == (name, epsilon)]
        if len({row.visits for row in mine}) > 1:
            mean, low, high = exponent(mine)
            lines.append(
                f"{name}, epsilon {epsilon:g}: regret grows as T^{mean:.3f} "
                f"(95 % interval {low:.3f} to {high:.3f})"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write every run as it ends, and then the table, to standard output."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--names", nargs="+", default=[STEP, *RIVALS], choices=[STEP, *RIVALS])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1, 3, 10, math.inf])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--visits", nargs="+", type=int, default=[200_000])
    parser.add_argument("--json", action="store_true", help="one line of JSON per run, no table")
    given = parser.parse_args(arguments)
    rows = []
    for visits in given.visits:
        for row in steps(
            names=given.names, epsilons=given.epsilons, seeds=given.seeds, visits=visits
        ):
            rows.append(row)
            line = json.dumps(row.to_dict()) if given.json else str(row)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    if not given.json:
        sys.stdout.write(f"\n{table(rows)}\n{exponents(rows)}\n")


if __name__ == "__main__":
    main()
