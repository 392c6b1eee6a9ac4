"""Bugs that no bench of small, chosen pairs sees, each one step of the shipped code replaced.

Four kinds: a size beyond the usual, a branch that is rarely taken, a support that depends on the
data, and a release that is not charged for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tacit.auditing.planting import planted
from tacit.auditing.random_sizes import Found, examine
from tacit.designs.private import stars, top_items
from tacit.designs.random_sizes import steps
from tacit.designs.random_sizes.bench import BY_NAME
from tacit.designs.standard_scheme import statistics, training
from tacit.mechanisms import samplers
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.noise_ahead import LaplaceAhead
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import NoisyMax, Selection
from tacit.mechanisms.sums import SumRelease
from tacit.mechanisms.threshold import ThresholdGate
from tacit.mechanisms.topk import TopSelection
from tacit.mechanisms.tree import TreeCounter, TreeRun

Kind = Literal["size", "branch", "support", "composition"]
Steps = Mapping[Any, Mapping[str, Any]]


@dataclass(frozen=True)
class Fault:
    """steps: what replaces the shipped methods and functions, by class or module and name."""

    name: str
    kind: Kind
    artefact: str
    steps: Steps

    def found(self, seed: int) -> Found:
        """The profile's verdict on the faulty code."""
        with planted({place: dict(methods) for place, methods in self.steps.items()}):
            return examine(BY_NAME[self.artefact], seed=seed)


_SCHEME, _XMAP = "standard scheme, private disclosure", "x-map, sound fit"
_KARY, _LAPLACE, _GATE = "kary-response", "laplace", "threshold-gate"
FAULTS: tuple[Fault, ...] = (
    Fault(
        "the head count left out of the disclosure's sensitivity",
        "composition",
        _SCHEME,
        {training: {"private": steps.charged(lambda most: most)}},
    ),
    Fault(
        "truth and lie swapped for the last of more than 16 answers",
        "size",
        _KARY,
        {KaryResponse: {"__call__": steps.swapped_truth}},
    ),
    Fault(
        "one noise for a batch of more than 16 counts",
        "size",
        _GATE,
        {ThresholdGate: {"_noise": steps.one_noise_for_many}},
    ),
    Fault(
        "Laplace noise cut at 12 scales",
        "support",
        "Laplace sampler",
        {samplers: {"discrete_laplace": steps.cut(steps.shipped_laplace, 12)}},
    ),
    Fault(
        "stars of a person not clipped",
        "branch",
        _XMAP,
        {stars: {"SumRelease": steps.StarsAsTheyAre}},
    ),
    Fault(
        "items that nobody rated keep an exact zero",
        "support",
        _XMAP,
        {SumRelease: {"__call__": steps.no_rows_no_noise}},
    ),
    Fault(
        "lies among the first 64 answers only",
        "size",
        _KARY,
        {KaryResponse: {"__call__": steps.few_lies}},
    ),
    Fault(
        "bits beyond 256 share their words",
        "size",
        "bit-release",
        {BitRelease: {"__call__": steps.words_used_again}},
    ),
    Fault(
        "noise of 100 numbers used for more",
        "size",
        _LAPLACE,
        {LaplaceRelease: {"__call__": steps.noise_used_again}},
    ),
    Fault(
        "selection of more than 50 at twice the rate",
        "size",
        "selection",
        {Selection: {"rate": steps.twice_beyond(50, steps.selection_rate)}},
    ),
    Fault(
        "a person's rows clipped up to the eighth",
        "size",
        "sums",
        {SumRelease: {"clipped": steps.first_rows_clipped}},
    ),
    Fault(
        "rows of the Gram matrix clipped up to the eighth item",
        "size",
        "gram",
        {GramRelease: {"clipped": steps.first_items_clipped}},
    ),
    Fault(
        "truth where many answers are all alike",
        "branch",
        _KARY,
        {KaryResponse: {"__call__": steps.true_if_alike}},
    ),
    Fault(
        "no noise on a number at its upper bound",
        "branch",
        _LAPLACE,
        {LaplaceRelease: {"__call__": steps.exact_at(8.0)}},
    ),
    Fault(
        "no noise on zero", "branch", _LAPLACE, {LaplaceRelease: {"__call__": steps.exact_at(0.0)}}
    ),
    Fault(
        "half the noise on a gate that stops below",
        "branch",
        _GATE,
        {ThresholdGate: {"count_scale": property(steps.half_below)}},
    ),
    Fault(
        "sensitivity forgotten by monotonic gates",
        "branch",
        _GATE,
        {ThresholdGate: {"count_scale": property(steps.forgotten_sensitivity)}},
    ),
    Fault(
        "a person with one item not clipped",
        "branch",
        "gram",
        {GramRelease: {"clipped": steps.one_item_unclipped}},
    ),
    Fault(
        "no noise on cells of one rating",
        "branch",
        _SCHEME,
        {statistics: {"discrete_laplace": steps.exact_cells(1)}},
    ),
    Fault(
        "Gaussian noise cut at 6 sigmas",
        "support",
        "Gaussian sampler",
        {samplers: {"discrete_gaussian": steps.cut(steps.shipped_gaussian, 6)}},
    ),
    Fault(
        "Laplace noise that is always even",
        "support",
        "Laplace sampler",
        {samplers: {"discrete_laplace": steps.even}},
    ),
    Fault(
        "rows that nobody contributed to stay zero",
        "support",
        "sums",
        {SumRelease: {"__call__": steps.no_rows_no_noise}},
    ),
    Fault(
        "items never rated together stay zero",
        "support",
        "gram",
        {GramRelease: {"_noisy": steps.never_together}},
    ),
    Fault(
        "empty cells of the disclosure stay empty",
        "support",
        _SCHEME,
        {statistics: {"discrete_laplace": steps.exact_cells(0)}},
    ),
    Fault(
        "candidates dropped by their true score",
        "support",
        "selection",
        {Selection: {"weights": steps.only_near_the_best}},
    ),
    Fault(
        "a list's third place is the true best",
        "support",
        "top-selection",
        {TopSelection: {"_drawn": steps.last_place_is_best}},
    ),
    Fault(
        "epsilon of a list spent on each place",
        "composition",
        "top-selection",
        {TopSelection: {"_drawn": steps.epsilon_for_each}},
    ),
    Fault(
        "a node of 16 steps without noise",
        "size",
        "tree-counter",
        {TreeRun: {"_add": steps.large_nodes_bare}},
    ),
    Fault(
        "a tree without its root's level",
        "composition",
        "tree-counter",
        {TreeCounter: {"noise_multiplier": property(steps.tree_without_its_root)}},
    ),
    Fault(
        "noise drawn ahead handed out twice",
        "composition",
        "Laplace sampler",
        {LaplaceAhead: {"one": steps.twice}},
    ),
    Fault(
        "rounding of many numbers counted as one",
        "composition",
        _LAPLACE,
        {
            LaplaceRelease: {
                "_distance": property(lambda made: made.grid.distance(made.sensitivity))
            }
        },
    ),
    Fault(
        "noisy max at the rate of monotonic scores",
        "branch",
        "noisy-max",
        {NoisyMax: {"rate": steps.twice_beyond(20, steps.noisy_max_rate)}},
    ),
    Fault(
        "contributions not limited",
        "composition",
        _SCHEME,
        {training: {"limit_contributions": steps.not_limited}},
    ),
    Fault(
        "one rating charged for all of a person's",
        "composition",
        _SCHEME,
        {training: {"private": steps.charged(lambda _: 2)}},
    ),
    Fault(
        "half of the Gram matrix's noise",
        "composition",
        _XMAP,
        {top_items: {"GramRelease": steps.less_noise(GramRelease, 0.5)}},
    ),
    Fault(
        "a tenth of the noise on products across domains",
        "composition",
        _XMAP,
        {top_items: {"SumRelease": steps.less_noise(SumRelease, 0.1)}},
    ),
)
"""The first six were planted by others, and the bench before passed them."""
