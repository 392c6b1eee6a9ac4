"""The paper's claims about regret in the text of Figures 6 to 8, compared with measured regret.

The figures themselves have curves without numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.designs.pdap.experiment.run import Row
from tacit.designs.pdap.experiment.summary import Contender, contenders_of
from tacit.evaluation import Interval, mean_interval

Outcome = Literal["holds", "does not hold", "not distinguished", "one seed only"]
Regrets = Mapping[Contender, Mapping[int, float]]
"""Average regret at the end of the training, by policy and then by seed."""
DAP = Contender("dap", math.inf)
PAPER_EPSILON = 0.01
"""Epsilon of the paper's claim about P-DAP's regret."""
DAP_REGRET = 0.02
"""The paper's largest average regret of DAP."""
PRIVATE_REGRET = 0.03
"""The paper's largest average regret of P-DAP at PAPER_EPSILON."""
GEOMETRIC_SAVING = 0.32
"""The share by which GP-DAP's regret is below P-DAP's in the paper."""
FIGURE_OF_POLICY = {
    "cap": "Figure 6",
    "dup": "Figure 6",
    "dap": "Figure 6",
    "p-dap": "Figure 7",
    "gp-dap": "Figure 8",
}
"""The figure whose text has the paper's claims about each policy."""


@dataclass(frozen=True)
class Claim:
    """One claim about regret at the end of the training.

    Attributes:
        item: the paper's figure.
        claim: the claim in words.
        policy: name, on the command line, of the policy whose regret it is.
        epsilon: epsilon of the policy; inf without noise.
        least: smallest value that the paper allows; -inf without a lower limit.
        most: largest value that the paper allows; inf without an upper limit.
        measured: mean over seeds with its 95 % interval.
        verdict: whether the interval lies within `least` and `most`.
    """

    item: str
    claim: str
    policy: str
    epsilon: float
    least: float
    most: float
    measured: Interval
    verdict: Outcome


def check_claims(rows: Sequence[Row]) -> list[Claim]:
    """Check the paper's claims about the policies that were run.

    Args:
        rows: the rows of all runs, at all checkpoints.
    """
    # The protocol of the training is called "cumulative": regret adds up from visit to visit.
    training = [row for row in rows if row.protocol == "cumulative"]
    arrivals_at_end = max(row.arrivals for row in training)
    regrets: dict[Contender, dict[int, float]] = {}
    for row in training:
        if row.arrivals == arrivals_at_end:
            contender = Contender(row.policy, row.epsilon)
            regrets.setdefault(contender, {})[row.seed] = row.average_regret
    return [
        *_claims_of_values(regrets),
        *_claims_that_dap_is_lowest(regrets),
        *_claims_that_epsilon_matters(regrets),
        *_claims_that_gp_dap_saves(regrets),
        *_claims_that_regret_is_sublinear(training, arrivals_at_end),
    ]


def _judge_claim(
    item: str,
    claim: str,
    contender: Contender,
    values: Sequence[float],
    *,
    least: float = -math.inf,
    most: float = math.inf,
) -> Claim:
    """Make a claim with its verdict.

    Args:
        item: the paper's figure.
        claim: the claim in words.
        contender: the policy that the claim is about.
        values: the measured value of each seed.
        least: smallest value that the paper allows.
        most: largest value that the paper allows.
    """
    measured = mean_interval(values)
    return Claim(
        item=item,
        claim=claim,
        policy=contender.policy,
        epsilon=contender.epsilon,
        least=least,
        most=most,
        measured=measured,
        verdict=_judge_interval(measured, least, most),
    )


def _judge_interval(measured: Interval, least: float, most: float) -> Outcome:
    """Judge whether the measured value lies within `least` and `most`, by its interval."""
    if math.isinf(measured.low):  # the interval of a single seed is unbounded
        return "one seed only"
    if least <= measured.low and measured.high <= most:
        return "holds"
    if measured.high < least or measured.low > most:
        return "does not hold"
    return "not distinguished"


def _claims_of_values(regrets: Regrets) -> list[Claim]:
    """Check that DAP's average regret is below .02, and P-DAP's at epsilon .01 at most .03."""
    claims: list[Claim] = []
    if DAP in regrets:
        words = "average regret at the end below 0.02"
        values = list(regrets[DAP].values())
        claims.append(_judge_claim("Figure 6", words, DAP, values, most=DAP_REGRET))
    p_dap = Contender("p-dap", PAPER_EPSILON)
    if p_dap in regrets:
        words = "average regret at the end at most 0.03"
        values = list(regrets[p_dap].values())
        claims.append(_judge_claim("Figure 7", words, p_dap, values, most=PRIVATE_REGRET))
    return claims


def _claims_that_dap_is_lowest(regrets: Regrets) -> list[Claim]:
    """Check that DAP's regret is at most that of CAP, of DUP, and of P-DAP at each epsilon.

    A policy that was run with other seeds than DAP is left out.
    """
    if DAP not in regrets:
        return []
    claims: list[Claim] = []
    for contender, regret_by_seed in regrets.items():
        has_same_seeds = regret_by_seed.keys() == regrets[DAP].keys()
        if contender.policy in ("cap", "dup", "p-dap") and has_same_seeds:
            figure = FIGURE_OF_POLICY[contender.policy]
            words = "average regret above DAP's, by"
            differences = [regret_by_seed[seed] - regrets[DAP][seed] for seed in regret_by_seed]
            claims.append(_judge_claim(figure, words, contender, differences, least=0.0))
    return claims


def _claims_that_epsilon_matters(regrets: Regrets) -> list[Claim]:
    """Check that P-DAP's regret is the smallest at the largest epsilon.

    Each smaller epsilon is compared with the largest one.
    """
    epsilons = sorted(epsilon for name, epsilon in regrets if name == "p-dap")
    if not epsilons:
        return []
    largest_epsilon = epsilons[-1]
    at_largest = regrets[Contender("p-dap", largest_epsilon)]
    words = f"average regret above that at epsilon {largest_epsilon:g}, by"
    claims: list[Claim] = []
    for epsilon in epsilons[:-1]:
        contender = Contender("p-dap", epsilon)
        at_smaller = regrets[contender]
        differences = [at_smaller[seed] - at_largest[seed] for seed in at_smaller]
        claims.append(_judge_claim("Figure 7", words, contender, differences, least=0.0))
    return claims


def _claims_that_gp_dap_saves(regrets: Regrets) -> list[Claim]:
    """Check that GP-DAP's regret is 32 % or more below P-DAP's, at each epsilon with runs of both.

    An epsilon at which the two were run with different seeds is left out, and so are seeds at which
    P-DAP has no regret: nothing can be saved there.
    """
    claims: list[Claim] = []
    for contender, gp_dap in regrets.items():
        if contender.policy != "gp-dap":
            continue
        p_dap = regrets.get(Contender("p-dap", contender.epsilon), {})
        if p_dap.keys() != gp_dap.keys():
            continue
        savings = [1 - gp_dap[seed] / p_dap[seed] for seed in gp_dap if p_dap[seed] > 0]
        if savings:
            words = "share by which regret is below P-DAP's: 0.32"
            claims.append(
                _judge_claim("Figure 8", words, contender, savings, least=GEOMETRIC_SAVING)
            )
    return claims


def _claims_that_regret_is_sublinear(training: Sequence[Row], arrivals_at_end: int) -> list[Claim]:
    """Check that regret grows like visits^a with a below 1 in the second half of the training.

    The exponent a is log(regret at the end / regret at half) / log(visits at the end / visits at
    half), where half is the last checkpoint of the first half.

    Args:
        training: rows of the training.
        arrivals_at_end: training visits of each vendor, in all.
    """
    checkpoints_of_first_half = [
        row.arrivals for row in training if row.arrivals <= arrivals_at_end / 2
    ]
    if not checkpoints_of_first_half:
        return []
    half = max(checkpoints_of_first_half)
    claims: list[Claim] = []
    for contender in contenders_of(training):
        if contender.policy not in FIGURE_OF_POLICY:
            continue
        figure = FIGURE_OF_POLICY[contender.policy]
        rows = [row for row in training if (row.policy, row.epsilon) == contender]
        regret_at_half = {row.seed: row.regret for row in rows if row.arrivals == half}
        regret_at_end = {row.seed: row.regret for row in rows if row.arrivals == arrivals_at_end}
        exponents: list[float] = []
        for seed, regret in regret_at_end.items():
            if min(regret, regret_at_half[seed]) > 0:  # the logarithm of 0 does not exist
                log_ratio = math.log(regret / regret_at_half[seed])
                exponents.append(log_ratio / math.log(arrivals_at_end / half))
        if exponents:
            words = "regret grows as a power of visits below 1, in the second half"
            claims.append(_judge_claim(figure, words, contender, exponents, most=1.0))
    return claims
