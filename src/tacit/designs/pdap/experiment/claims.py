"""The paper's words on regret in Figures 6 to 8, and what was measured.

The figures themselves print no numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.designs.pdap.experiment.run import Row
from tacit.designs.pdap.experiment.summary import Column, columns_of
from tacit.evaluation import Interval, mean_interval

Outcome = Literal["holds", "does not hold", "not distinguished", "one seed only"]
Regrets = Mapping[Column, Mapping[int, float]]
"""Average regret by seed, of each policy."""
DAP = ("dap", math.inf)
PAPERS_EPSILON = 0.01
DAP_REGRET = 0.02
PRIVATE_REGRET = 0.03
GEOMETRIC_SAVING = 0.32


@dataclass(frozen=True)
class Claim:
    """One claim about regret at the end of the training.

    Attributes:
        item: the paper's figure.
        claim: in words.
        policy, epsilon: whose regret it is.
        least, most: where the paper has the value; infinite for an open end.
        measured: mean over seeds with its 95 % interval.
        verdict: what the interval says of the claim.
    """

    item: str
    claim: str
    policy: str
    epsilon: float
    least: float
    most: float
    measured: Interval
    verdict: Outcome


def regret_claims(rows: Sequence[Row]) -> list[Claim]:
    """The claims about those policies that were run."""
    training = [row for row in rows if row.protocol == "cumulative"]
    last = max(row.arrivals for row in training)
    ended: dict[Column, dict[int, float]] = {}
    for row in training:
        if row.arrivals == last:
            ended.setdefault((row.policy, row.epsilon), {})[row.seed] = row.average_regret
    return [
        *_levels(ended),
        *_dap_is_lowest(ended),
        *_epsilon_costs(ended),
        *_geometric_saves(ended),
        *_sublinear(training, last),
    ]


def _claim(
    item: str,
    words: str,
    column: Column,
    values: Sequence[float],
    *,
    least: float = -math.inf,
    most: float = math.inf,
) -> Claim:
    measured = mean_interval(values)
    return Claim(item, words, *column, least, most, measured, _verdict(measured, least, most))


def _verdict(measured: Interval, least: float, most: float) -> Outcome:
    if math.isinf(measured.low):
        return "one seed only"
    if least <= measured.low and measured.high <= most:
        return "holds"
    if measured.high < least or measured.low > most:
        return "does not hold"
    return "not distinguished"


def _levels(ended: Regrets) -> list[Claim]:
    """DAP below .02 a visit, P-DAP at most .03 at epsilon .01."""
    found = []
    if DAP in ended:
        words = "average regret at the end below 0.02"
        found.append(_claim("Figure 6", words, DAP, [*ended[DAP].values()], most=DAP_REGRET))
    private = ("p-dap", PAPERS_EPSILON)
    if private in ended:
        words = "average regret at the end at most 0.03"
        values = [*ended[private].values()]
        found.append(_claim("Figure 7", words, private, values, most=PRIVATE_REGRET))
    return found


def _dap_is_lowest(ended: Regrets) -> list[Claim]:
    """DAP below CAP and DUP, and below P-DAP at each epsilon."""
    if DAP not in ended:
        return []
    found = []
    for other, regrets in ended.items():
        item = {"cap": "Figure 6", "dup": "Figure 6", "p-dap": "Figure 7"}.get(other[0])
        if item and other != DAP and regrets.keys() == ended[DAP].keys():
            words = "average regret above DAP's, by"
            above = [regrets[seed] - ended[DAP][seed] for seed in regrets]
            found.append(_claim(item, words, other, above, least=0.0))
    return found


def _epsilon_costs(ended: Regrets) -> list[Claim]:
    """P-DAP's regret at a smaller epsilon is above that at the largest."""
    private = sorted(epsilon for name, epsilon in ended if name == "p-dap")
    found = []
    for epsilon in private[:-1]:
        weakest, stronger = ended["p-dap", private[-1]], ended["p-dap", epsilon]
        above = [stronger[seed] - weakest[seed] for seed in stronger]
        words = f"average regret above that at epsilon {private[-1]:g}, by"
        found.append(_claim("Figure 7", words, ("p-dap", epsilon), above, least=0.0))
    return found


def _geometric_saves(ended: Regrets) -> list[Claim]:
    """GP-DAP's regret is 32 % below P-DAP's at epsilon .01."""
    found = []
    for name, epsilon in ended:
        uniform = ended.get(("p-dap", epsilon), {})
        geometric = ended.get(("gp-dap", epsilon), {})
        if name == "gp-dap" and uniform.keys() == geometric.keys():
            below = [1 - geometric[seed] / uniform[seed] for seed in geometric]
            words = "share by which regret is below P-DAP's: 0.32"
            column = ("gp-dap", epsilon)
            found.append(_claim("Figure 8", words, column, below, least=GEOMETRIC_SAVING))
    return found


def _sublinear(training: Sequence[Row], last: int) -> list[Claim]:
    """Regret grows as a power of visits below 1, by the second half of the training."""
    half = max((row.arrivals for row in training if row.arrivals <= last / 2), default=0)
    if not half:
        return []
    found = []
    for column in columns_of(training):
        if column[0] not in ("cap", "dup", "dap", "p-dap", "gp-dap"):
            continue
        regret = {
            (row.arrivals, row.seed): row.regret
            for row in training
            if (row.policy, row.epsilon) == column
        }
        powers = [
            math.log(regret[last, seed] / regret[half, seed]) / math.log(last / half)
            for arrivals, seed in regret
            if arrivals == last and min(regret[last, seed], regret[half, seed]) > 0
        ]
        if powers:
            words = "regret grows as a power of visits below 1, in the second half"
            item = {"cap": "Figure 6", "dup": "Figure 6", "dap": "Figure 6", "p-dap": "Figure 7"}
            found.append(_claim(item.get(column[0], "Figure 8"), words, column, powers, most=1.0))
    return found
