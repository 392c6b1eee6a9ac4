"""Vendors on real clicks: a log of ratings, replayed; only visits on which both agree count.

Replay    A row of the log comes to the vendor of its user. If what is shown is what they rated,
their
          click counts and is learned; if not, nobody knows what they would have done, and the visit
          is dropped. Source: Li, Chu, Langford, Wang (WSDM 2011).
Limits    The log was not made by a uniform policy: people rate what they chose. And it is read
          again and again, in new orders, until there were enough visits.
Videos    dealt by popularity: each vendor gets every M-th.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tacit import randomness
from tacit.data.contexts import Log
from tacit.designs.pdap.experiment.policies import WITH_EPSILON, Made, World, make
from tacit.designs.pdap.experiment.simulation import Row, checkpoints
from tacit.designs.pdap.network import Network
from tacit.errors import ConfigError


def replay_log(name: str, epsilon: float, world: World, log: Log, *, seed: int) -> Iterator[Row]:
    """Rows as of `simulate`; `matched` visits are what accuracy is over."""
    if len(log.videos) != world.vendors * world.videos:
        raise ConfigError(
            f"The log has {len(log.videos)} videos; {world.vendors} vendors with {world.videos} "
            "need another number."
        )
    with randomness.simulation():
        sources = [randomness.replay(f"{seed} {vendor}") for vendor in range(world.vendors)]
        made = make(name, epsilon, world, sources)
        run = _Run(made, world, log, seed)
        for arrivals in checkpoints(world.arrivals):
            run.until(arrivals)
            yield run.row(name, epsilon if name in WITH_EPSILON else math.inf, seed)


class _Run:
    def __init__(self, made: Sequence[Made], world: World, log: Log, seed: int) -> None:
        self.world, self.log = world, log
        self.spent = max(one.spent for one in made)
        self.network = Network(
            {name: one.vendor for name, one in zip(world.names, made, strict=True)},
            seen=made[0].seen,
            told=made[0].told,
            randomness=randomness.replay(f"seen {seed}"),
        )
        generator = np.random.default_rng([seed, 3])
        homes = log.users % world.vendors
        self._rows = []
        for vendor in range(world.vendors):
            own = np.flatnonzero(homes == vendor)
            if len(own) == 0:
                raise ConfigError("There are fewer people than vendors.")
            times = -(-world.arrivals // len(own))
            order = [generator.permutation(own) for _ in range(times)]
            self._rows.append(np.concatenate(order)[: world.arrivals])
        self.done = self.matched = self.forwarded = 0
        self.clicks = 0.0

    def until(self, arrivals: int) -> None:
        """Go on until each vendor has had so many visits."""
        for step in range(self.done, arrivals):
            for vendor, home in enumerate(self.world.names):
                row = int(self._rows[vendor][step])
                context = self.log.contexts[self.log.users[row]]
                shown = self.network.visit(home, context, self._click(row))
                self.forwarded += shown.vendor != home
                if shown.reward is not None:
                    self.matched += 1
                    self.clicks += shown.reward
        self.done = arrivals

    def row(self, name: str, epsilon: float, seed: int) -> Row:
        return Row(
            policy=name,
            epsilon=epsilon,
            arrivals=self.done,
            seed=seed,
            accuracy=self.clicks / self.matched if self.matched else math.nan,
            regret=None,
            average_regret=None,
            epsilon_spent_per_visit=self.spent,
            best=None,
            forwarded=self.forwarded / (self.done * self.world.vendors),
            matched=self.matched,
        )

    def _click(self, row: int) -> Callable[[str, str], float | None]:
        rank, vendors, videos = int(self.log.arms[row]), self.world.vendors, self.world.videos
        rated = str(rank % vendors * videos + rank // vendors)
        reward = float(self.log.clicks[row])

        def click(_vendor: str, video: str) -> float | None:
            return reward if video == rated else None

        return click
