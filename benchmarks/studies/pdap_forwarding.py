"""What it costs that the decision to ask a neighbour does not follow from the visitor's context.

chosen   the neighbour that the learner chose is asked, if it chose one: that one was asked, and
         which, reveals the cell. Its vendor learns of the click and sends a noised report of it.
all      every visit's request goes to all neighbours; home shows one of their offers or an own
         video, and sees the click itself.

Worlds, visitors and clicks are the same for all ways. Noise takes no seed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit import randomness
from tacit.accounting import PureAccountant
from tacit.data.clicks import generate
from tacit.designs.pdap.experiment.network import Network
from tacit.designs.pdap.experiment.run import Row, Run
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.forwarding import Agreement, Forwarder
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.trust import NEVER, TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.evaluation import mean_interval
from tacit.randomness import Source

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.pdap_answers import Answering, answer_range

_SLICES = 2
_CAUTION = 0.1
"""Of epsilon, for what home learns about neighbours from their words."""


def runs(ways: Sequence[str], world: World, epsilon: float, seeds: Sequence[int]) -> Iterator[Row]:
    """The last row of each run. ways: "chosen" or "all"."""
    for way in ways:
        for seed in seeds:
            truth = generate(
                vendors=world.vendors, videos=world.videos, dimension=world.dimensions, seed=seed
            )
            with randomness.simulation():
                made = [
                    _made(way, world, epsilon, vendor, randomness.replay(f"{seed} {vendor}"))
                    for vendor in range(world.vendors)
                ]
                vendors = dict(zip(world.vendor_names, (vendor for vendor, _ in made), strict=True))
                network = Network(
                    vendors, own_vendor_sees_clicks=way == "all", visit_epsilon=made[0][1]
                )
                run = Run(network, world, truth, seed)
                run.train(world.arrivals)
                yield run.make_row(way, epsilon, seed, run.training, "cumulative")


def _made(
    way: str, world: World, epsilon: float, vendor: int, source: Source
) -> tuple[Vendor, float]:
    words = way == "chosen"
    low, high = answer_range(epsilon) if words else (0.0, 1.0)
    home = JointLearner(
        JointSetting(
            videos=world.videos,
            neighbours=world.vendors - 1,
            dimension=world.dimensions,
            horizon=world.arrivals,
            epsilon=epsilon,
            neighbour_range=(low, high),
        ),
        randomness=source,
    )
    made = Vendor(
        home,
        world.videos_of(vendor),
        forwarded_users=Answering(home, epsilon=epsilon, randomness=source),
        peers=tuple(name for number, name in enumerate(world.vendor_names) if number != vendor),
        forwarder=Forwarder(Agreement(world.dimensions, _SLICES, epsilon), randomness=source),
        trust_settings=TrustSettings(low=low, high=high, share=1.0, epsilon=_CAUTION * epsilon)
        if words
        else TrustSettings(uses_reports=False, share=1.0, failures=NEVER),
        asks_all=way == "all",
    )
    spent = PureAccountant().add(home.event).epsilon() + made.caution_epsilon + epsilon
    return made, spent


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For each way: regret with a 95 % interval over seeds, and its ratio to the first way's."""
    ways = list(dict.fromkeys(row.policy for row in rows))
    regret = {way: [row.regret or 0.0 for row in rows if row.policy == way] for way in ways}
    return [
        {
            "way": way,
            "regret": mean_interval(regret[way]),
            "ratio": mean_interval(
                [a / b for a, b in zip(regret[way], regret[ways[0]], strict=True)]
            ),
            "forwarded": float(np.mean([row.forwarded for row in rows if row.policy == way])),
            "epsilon_spent_per_visit": next(
                row.epsilon_spent_per_visit for row in rows if row.policy == way
            ),
        }
        for way in ways
    ]


def main() -> None:
    """Write a line of JSON for each way to standard output."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--ways", nargs="+", default=["chosen", "all"])
    parser.add_argument("--visits", type=int, default=5_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=4)
    given = parser.parse_args()
    world = World(vendors=4, videos=5, dimensions=2, arrivals=given.visits)
    rows = list(runs(given.ways, world, given.epsilon, range(given.seeds)))
    for line in summary(rows):
        sys.stdout.write(f"{json.dumps(line)}\n")


if __name__ == "__main__":
    main()
