"""The plan of p-REC's audit: claims tested by sampling whole runs, and a study of exact checks.

One sample is the whole view of one hostile client of the shipped curator. One curator serves many
clients, whose draws are independent. To be fast, one call of the sampler draws the noise of many
gates, and each gate takes the next of these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from tacit.auditing import empirical
from tacit.auditing.claims import Advance, AuditedClaim, AuditPlan, Check, PairResult, Study
from tacit.auditing.empirical import Feature, best_known_event
from tacit.auditing.exact_losses import Chances
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.audit import exact_checks
from tacit.designs.prec.audit.planted_bugs import BUGS
from tacit.designs.prec.audit.walk import (
    Pattern,
    follow_last_voter,
    least_epsilon,
    sample_views,
    walk_pair,
)
from tacit.designs.prec.guarantees import log_ratios_without_peers
from tacit.designs.prec.theory import eps_tight

SAMPLES = 10_000
"""Views that are sampled of each of two neighbouring patterns."""
_ROUNDS = 20
"""Rounds of the published claim; the sound claim has half as many."""
_PEERS = 100
"""P, the number of peers, in both claims."""
_ADJACENCY: dict[str, Any] = {"unit": "vote history", "adjacency": "add or remove"}
_MATCHES = "recommendations that the hidden voter votes for"
"""Feature of a view: in how many rounds the recommendation is the hidden voter's vote."""
_STOP = "rounds until the gate shuts"
"""Feature of a view: in how many rounds the gate was open."""


def features(pattern: Pattern) -> dict[str, Feature]:
    """Return the features of a view by name. The audit looks for events among their values.

    A feature is a function: it takes views as `sample_views` returns them, and returns a number for
    each.
    """
    return {
        _MATCHES: lambda views: (views[:, :-1] == pattern.hidden_votes).sum(axis=1),
        _STOP: lambda views: views[:, -1],
    }


def _sampled_check(
    name: str,
    settings: PRecSettings,
    pattern: Pattern,
    exact_loss: float,
    known_feature: str,
    chances: tuple[Chances, Chances],
    delta: float = 0.0,
) -> Check:
    """Make a check that samples two neighbouring patterns.

    Args:
        name: Name of the pair of patterns.
        settings: Settings of the curators' runs.
        pattern: The pattern with the hidden voter.
        exact_loss: Exact epsilon of the whole view at delta, in nats.
        known_feature: Name of the feature whose values have known chances.
        chances: Chances of its values, under the pattern and under its neighbour.
        delta: Delta of the claim.
    """

    def check(samples: int, alpha: float) -> PairResult:
        """Sample views of both patterns, and bound the loss that they show."""
        known = best_known_event(chances, samples, alpha, delta, feature=known_feature)
        result = empirical.audit(
            lambda n: sample_views(PRec, settings, pattern, n),
            lambda n: sample_views(PRec, settings, pattern.neighbour, n),
            samples=samples,
            alpha=alpha,
            delta=delta,
            features=features(pattern),
            known_event=known,
        )
        return PairResult(
            pair=name,
            exact=exact_loss,
            rule_bound=None,
            lower_bound=result.lower_bound,
            ideal=known.ideal if known else 0.0,
            samples=samples,
            most=exact_loss,
        )

    return check


def published_claim() -> AuditedClaim:
    """Make the claim of the paper's Theorem 11, with a check in which its promise is broken.

    The theorem takes for granted that P peers agree with the client. In the check, the client likes
    exactly what one voter votes for, and nobody else votes.
    """
    settings = PRecSettings(
        _ROUNDS, objects=2, voters=2 * _PEERS, peers=_PEERS, variant="published"
    )
    pattern = follow_last_voter(np.array([[number % 2] for number in range(_ROUNDS)]))
    only_matches = pattern.hidden_votes
    no_match = tuple(1 - vote for vote in pattern.hidden_votes)
    pair = walk_pair(PRec, settings, pattern, [only_matches, no_match], peers=0)
    log_ratio_of_vote = log_ratios_without_peers(settings.output_distribution, 1).all_are_votes
    chance_of_match = math.exp(log_ratio_of_vote) / settings.objects
    chances = (_binomial(chance_of_match), _binomial(1 / settings.objects))
    check = _sampled_check(
        "one voter, no peers", settings, pattern, pair.loss_of_rounds, _MATCHES, chances
    )
    claim = eps_tight(2, _ROUNDS, 0, 0, _PEERS)
    return AuditedClaim("p-rec-published", claim, (check,), published=True, **_ADJACENCY)


def _binomial(chance: float) -> Chances:
    """Compute the chances of 0 to _ROUNDS matches, if each round is a match with this chance."""
    chances: dict[Hashable, float] = {}
    for matches in range(_ROUNDS + 1):
        misses = _ROUNDS - matches
        chances[matches] = math.comb(_ROUNDS, matches) * chance**matches * (1 - chance) ** misses
    return chances


def sound_claim(epsilon: float) -> AuditedClaim:
    """Make the claim of the sound variant, with a check in which all voters vote alike.

    There are as many voters as the gate's threshold, and the client likes what they vote for. So no
    voter ever loses credit, and only the gate's answers depend on the hidden voter.

    Args:
        epsilon: The claim, in nats.
    """
    settings = PRecSettings(
        _ROUNDS // 2, objects=2, voters=1000, peers=_PEERS, epsilon=epsilon, delta=1e-6
    )
    plan = settings.plan
    vote_of_round = np.arange(settings.rounds) % 2
    pattern = follow_last_voter(np.repeat(vote_of_round[:, None], plan.threshold, axis=1))
    pair = walk_pair(PRec, settings, pattern, [pattern.hidden_votes])
    with_voter, without_voter = pair.walks[0]
    chances = (
        dict[Hashable, float](enumerate(with_voter.answer_chances)),
        dict[Hashable, float](enumerate(without_voter.answer_chances)),
    )
    loss = least_epsilon(*chances, plan.delta)
    check = _sampled_check("all vote alike", settings, pattern, loss, _STOP, chances, plan.delta)
    return AuditedClaim("p-rec-sound", epsilon, (check,), delta=plan.delta, **_ADJACENCY)


CLAIMS: Mapping[str, tuple[Callable[[], AuditedClaim], ...]] = {
    "published": (published_claim,),
    "sound": (partial(sound_claim, 4.0),),
}
"""Functions that make the claims of each variant."""


def audit() -> AuditPlan:
    """Plan the audit of both variants; exact losses are computed from the shipped code."""
    return AuditPlan(
        claims=CLAIMS,
        bugs=BUGS,
        samples=SAMPLES,
        studies=(Study("computed", _COLUMNS, _count_checks, _run_checks),),
        conclusion="The paper's claim is refuted where its promise is broken. "
        "That no violation of the sound variant was found is no proof.",
        next_step="tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300  says what a "
        "run reveals.",
    )


_COLUMNS: Mapping[str, Callable[[Any], object]] = {
    "check": lambda row: row["check"],
    "pairs": lambda row: row["instances"],
    "largest": lambda row: f"{row['largest']:.4g}",
    "allowed": lambda row: f"{row['allowed']:.4g}",
    "verdict": lambda row: row["verdict"],
}
"""For each heading of the table of exact checks, the function from a row to the cell."""


def _list_checks(variant: str | None, short: bool) -> tuple[exact_checks.Check, ...]:
    """List the exact checks of a variant, or of both if it is None. `published` has none."""
    return () if variant == "published" else exact_checks.checks(short=short)


def _count_checks(variant: str | None, short: bool) -> int:
    """Count the checks that `_run_checks` runs for the same arguments."""
    return len(_list_checks(variant, short))


def _make_row(result: exact_checks.CheckResult) -> dict[str, Any]:
    """Make the JSON row of a result: its fields without `is_loss`, and its verdict."""
    row = asdict(result) | {"verdict": result.verdict}
    del row["is_loss"]
    return row


def _run_checks(
    variant: str | None, short: bool, advance: Advance
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run the exact checks.

    Args:
        variant: Variant that is audited; None for both.
        short: Whether to run with fewer hostile clients.
        advance: Called after each check, for the progress bar.

    Returns:
        A row for each result, and a sentence for each result that did not hold.
    """
    rows = []
    for check in _list_checks(variant, short):
        rows += [_make_row(result) for result in check(PRec)]
        advance(1)
    failures = [f"{row['check']}: {row['verdict']}" for row in rows if row["verdict"] != "held"]
    return rows, failures
