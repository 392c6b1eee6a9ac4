"""What a neighbour that lies costs the others: regret, and visits that it draws to itself.

World     Generated clicks, four vendors; what the second one tells the first is a lie. Each run has
          its honest twin: the same world, visitors and clicks.
Lies      "1", "0", "flipped": what it says of every click. "worst": it says 1 and shows guests its
          weakest video. "absent": it never answers.
Homes     of the first vendor. "dap": what the paper learns, with caution on sums without noise;
          others learn from what it forwards. "joint": noisy sums of epsilon per visit, and caution
          on noisy sums of a tenth of it more; others learn from as many visitors of their own, side
          by side.
Seen      The chance that home sees a click on a neighbour's video itself.
Regret    of the first vendor, per visit. `regret`: against the best video of all vendors.
          `reachable`: against the best of those a run could show; a liar that withholds its videos
          (worst, absent) is left with its weakest, or none.
Use       python benchmarks/studies/pdap_liars.py [--visits 5000] [--worlds 20] [--json] ...
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import randomness
from tacit.data.clicks import Clicks, generate
from tacit.designs.pdap.forwarding import CLEAR_SLICES, Agreement, Forwarder
from tacit.designs.pdap.joint import JointLearner, JointSetting
from tacit.designs.pdap.messages import MICRO, Reward
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.policies.forwarded_users import ForwardedUsers
from tacit.designs.pdap.settings import Setting
from tacit.designs.pdap.trust import TrustSettings
from tacit.designs.pdap.vendor import Vendor
from tacit.evaluation import Interval, mean_interval

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.pdap_answers import Answering, answer_range
from tests.support.pdap_lying import Lie, Lying

HONEST = "honest"
LIES = ("1", "0", "flipped", "worst", "absent")
HOMES = ("dap", "joint")
VENDORS, LIAR = 4, 1
_TOGETHER = 100
"""Visitors of a neighbour's own that are learned at once."""
NAMES = tuple(f"vendor {number}" for number in range(VENDORS))


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What all runs share. epsilon: of homes that have one. share: of `TrustSettings`."""

    visits: int = 5000
    videos: int = 5
    dimension: int = 1
    lipschitz: float = 0.5
    epsilon: float = 1.0
    share: float = TrustSettings.share


@dataclass(frozen=True)
class Run:
    """Means over visits. drawn: share of visits sent to the liar."""

    home: str
    lie: str
    seen: float
    world: int
    regret: float
    reachable: float
    drawn: float


@dataclass(frozen=True)
class Line:
    """One lie beside its honest twin, paired over worlds.

    ratio: regret over that of the twin, against all videos. ratio_reachable: the same against what
    the liar left to be shown; the twin could show everything. honest_drawn: share of the twin's
    visits that went to this neighbour; points: how many more of a hundred do with the lie. above:
    shares of worlds in which a limit is exceeded, twice the regret (of either kind) and ten points.
    """

    home: str
    seen: float
    lie: str
    worlds: int
    ratio: Interval
    ratio_reachable: Interval
    honest_regret: Interval
    honest_drawn: float
    points: Interval
    above: tuple[float, float, float]


class _Worst:
    """ForwardedUsers of a vendor that shows them one video, on purpose."""

    def __init__(self, forwarded_users: Any, video: int) -> None:
        self._guests, self._video = forwarded_users, video

    def select(self, context: NDArray[np.float64]) -> Choice:
        chosen = self._guests.select(context)
        return Choice(self._video, chosen.phase, chosen.cell, chosen.chance)

    def answer(self, choice: Choice, reward: float) -> float:
        return float(self._guests.answer(choice, reward))


def run(home: str, lie: str, seen: float, world: int, terms: Terms) -> Run:
    """lie: one of `LIES`, or "honest". world: its seed."""
    truth = generate(
        vendors=VENDORS,
        videos=terms.videos,
        dimension=terms.dimension,
        lipschitz=terms.lipschitz,
        seed=world,
    )
    generator = np.random.default_rng([world, 1])
    contexts = generator.random((terms.visits, terms.dimension))
    chances = generator.random(terms.visits)
    means = truth.means(contexts)
    shown = np.empty(terms.visits, dtype=np.int64)
    drawn = 0
    with randomness.simulation():
        vendors = [_vendor(home, lie, number, world, terms, truth) for number in range(VENDORS)]
        low, high = (0.0, 1.0) if home == "dap" else answer_range(terms.epsilon)
        network = Lying(
            dict(zip(NAMES, vendors, strict=True)),
            seen=seen,
            seed=world,
            offers={NAMES[LIAR]: lambda _: None} if lie == "absent" else {},
            rewards={} if lie in (HONEST, "absent") else {NAMES[LIAR]: _says(lie, low, high)},
        )
        for visit in range(terms.visits):
            if home == "joint" and visit % _TOGETHER == 0:
                for number in range(1, VENDORS):
                    _learned(vendors[number].policy, number, truth, generator)
            found = network.visit(
                NAMES[0],
                contexts[visit],
                _click(means[visit], chances[visit]),
            )
            shown[visit] = int(found.video or "")
            drawn += found.peer == NAMES[LIAR]
    got = means[np.arange(terms.visits), shown]
    left = means[:, _left(lie, truth)]
    return Run(
        home=home,
        lie=lie,
        seen=seen,
        world=world,
        regret=float((means.max(axis=1) - got).mean()),
        reachable=float((left.max(axis=1) - got).mean()),
        drawn=drawn / terms.visits,
    )


def lines(runs: Iterable[Run]) -> Iterator[Line]:
    """Every lie of every home, against its twin in the same world."""
    known = {(one.home, one.seen, one.lie, one.world): one for one in runs}
    for home, seen, lie in dict.fromkeys(key[:3] for key in known):
        pairs = [
            (found, known[home, seen, HONEST, world])
            for (*case, world), found in known.items()
            if case == [home, seen, lie]
        ]
        if lie == HONEST:
            continue
        ratios = [found.regret / twin.regret for found, twin in pairs]
        left = [found.reachable / twin.regret for found, twin in pairs]
        points = [100 * (found.drawn - twin.drawn) for found, twin in pairs]
        yield Line(
            home=home,
            seen=seen,
            lie=lie,
            worlds=len(pairs),
            ratio=mean_interval(ratios),
            ratio_reachable=mean_interval(left),
            honest_regret=mean_interval([twin.regret for _, twin in pairs]),
            honest_drawn=float(np.mean([twin.drawn for _, twin in pairs])),
            points=mean_interval(points),
            above=(_above(ratios, 2), _above(left, 2), _above(points, 10)),
        )


def _above(values: Sequence[float], limit: float) -> float:
    return float(np.mean(np.array(values) > limit))


def _left(lie: str, truth: Clicks) -> list[int]:
    """Videos that an honest vendor's visitors could be shown."""
    withheld = set(truth.videos_of(LIAR)) if lie in ("worst", "absent") else set()
    if lie == "worst":
        withheld.remove(truth.videos_of(LIAR)[_weakest(truth)])
    return [video for video in range(len(truth.centres)) if video not in withheld]


def _weakest(truth: Clicks) -> int:
    return int(truth.heights[list(truth.videos_of(LIAR))].argmin())


def _click(means: NDArray[np.float64], chance: float) -> Callable[[str], float]:
    return lambda video: float(chance < means[int(video)])


def _learned(learner: Any, number: int, truth: Clicks, generator: np.random.Generator) -> None:
    """From some visitors of a neighbour's own; nothing comes of one that it would forward."""
    for context in generator.random((_TOGETHER, truth.centres.shape[1])):
        choice = learner.select(context)
        mean = 0.0
        if choice.arm < truth.videos:
            video = truth.videos_of(number).start + choice.arm
            mean = float(truth.mean(video, context[None, :])[0])
        learner.update(choice, float(generator.random() < mean))


def _vendor(home: str, lie: str, number: int, world: int, terms: Terms, truth: Clicks) -> Vendor:
    source = randomness.replay(f"{world} {number}")
    learner: Any
    forwarded_users: Any
    peers = NAMES[1:] if number == 0 else NAMES[:1]
    if home == "dap":
        setting = Setting(
            videos=terms.videos,
            neighbours=len(peers),
            dimension=terms.dimension,
            horizon=terms.visits,
        )
        learner, forwarded_users = Dap(setting), ForwardedUsers(setting, epsilon=math.inf)
        low, high = 0.0, 1.0
    else:
        low, high = answer_range(terms.epsilon)
        learner = JointLearner(
            JointSetting(
                videos=terms.videos,
                neighbours=len(peers),
                dimension=terms.dimension,
                horizon=terms.visits,
                epsilon=terms.epsilon,
                neighbour_range=(low, high),
            ),
            randomness=source,
        )
        forwarded_users = Answering(learner, epsilon=terms.epsilon, randomness=source)
    if lie == "worst" and number == LIAR:
        forwarded_users = _Worst(forwarded_users, _weakest(truth))
    return Vendor(
        learner,
        [str(video) for video in truth.videos_of(number)],
        forwarded_users=forwarded_users,
        peers=peers,
        forwarder=Forwarder(Agreement(terms.dimension, CLEAR_SLICES, math.inf), randomness=source),
        trust_settings=TrustSettings(
            low=low, high=high, share=terms.share, epsilon=terms.epsilon / 10
        ),
    )


def _says(lie: str, low: float, high: float) -> Lie:
    """What becomes of a word within the agreed range."""

    def changed(data: bytes) -> bytes:
        word = Reward.decode(data)
        said = {"0": low, "flipped": low + high - word.reward / MICRO}.get(lie, high)
        return Reward.from_number(word.request, said).encode()

    return changed


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a table of all lies, or with --json each of its lines, to standard output."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--homes", nargs="+", default=list(HOMES), choices=HOMES)
    parser.add_argument("--lies", nargs="+", default=list(LIES), choices=LIES)
    parser.add_argument("--seen", nargs="+", type=float, default=[0.0, 0.2, 1.0])
    parser.add_argument("--visits", type=int, default=5000)
    parser.add_argument("--worlds", type=int, default=20, help="their seeds: 0 to worlds - 1")
    parser.add_argument("--share", type=float, default=TrustSettings.share)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    terms = Terms(visits=given.visits, share=given.share)
    for home in given.homes:
        for seen in given.seen:
            runs = [
                run(home, lie, seen, world, terms)
                for world in range(given.worlds)
                for lie in (HONEST, *given.lies)
            ]
            for line in lines(runs):
                sys.stdout.write(f"{json.dumps(asdict(line)) if given.json else row(line)}\n")
                sys.stdout.flush()


def row(line: Line) -> str:
    """As the table has it."""

    def shown(found: Interval, digits: int) -> str:
        return f"{found.mean:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"

    regret, left, points = (f"{100 * share:.0f} %" for share in line.above)
    return (
        f"{line.home}, seen {line.seen:g}, {line.lie}: regret {shown(line.ratio, 2)} times, "
        f"{regret} above 2; reachable {shown(line.ratio_reachable, 2)}, {left} above 2; drawn "
        f"{100 * line.honest_drawn:.1f} % + {shown(line.points, 1)} points, {points} above 10"
    )


if __name__ == "__main__":
    main()
