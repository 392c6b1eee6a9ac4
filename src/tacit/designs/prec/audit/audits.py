"""p-REC on the audit's bench: samples of whole runs of the shipped curator, with hostile clients.

One sample is one client's run; a server serves many clients, whose draws are their own. The noise
of many gates is drawn by one call of the sampler and handed out in order.
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
from tacit.designs.prec.guarantees import lonely_losses
from tacit.designs.prec.theory import eps_tight

SAMPLES = 10_000
_ROUNDS = 20
_PEERS = 100
_UNIT: dict[str, Any] = {"unit": "vote history", "adjacency": "add or remove"}
_MATCHES = "recommendations that are their votes"
_STOP = "rounds until the gate shuts"


def features(votes: Pattern) -> dict[str, Feature]:
    """Name the numbers made of runs in which an event is sought."""
    return {
        _MATCHES: lambda runs: (runs[:, :-1] == votes.hidden_votes).sum(axis=1),
        _STOP: lambda runs: runs[:, -1],
    }


def _sampled_check(
    name: str,
    settings: PRecSettings,
    votes: Pattern,
    exact: float,
    of: str,
    chances: tuple[Chances, Chances],
    delta: float = 0.0,
) -> Check:
    """Make a check that samples two neighbouring patterns.

    Args:
        name: Name of the pair.
        settings: Settings of the runs.
        votes: The pattern with the hidden voter.
        exact: Loss of the whole view at delta.
        of: The feature whose values have known chances.
        chances: Chances of its values under the two patterns.
        delta: Chance beside epsilon.
    """

    def check(samples: int, alpha: float) -> PairResult:
        known = best_known_event(chances, samples, alpha, delta, feature=of)
        result = empirical.audit(
            lambda n: sample_views(PRec, settings, votes, n),
            lambda n: sample_views(PRec, settings, votes.neighbour, n),
            samples=samples,
            alpha=alpha,
            delta=delta,
            features=features(votes),
            known_event=known,
        )
        ideal = known.ideal if known else 0.0
        return PairResult(name, exact, None, result.lower_bound, ideal, samples, most=exact)

    return check


def published_claim() -> AuditedClaim:
    """Claim Theorem 11 without its promise: a client follows one voter, and nobody else votes."""
    settings = PRecSettings(_ROUNDS, 2, 2 * _PEERS, peers=_PEERS, variant="published")
    votes = follow_last_voter(np.array([[number % 2] for number in range(_ROUNDS)]))
    never = tuple(1 - place for place in votes.hidden_votes)
    loss = walk_pair(PRec, settings, votes, [votes.hidden_votes, never], peers=0).loss_of_rounds
    with_voter = math.exp(lonely_losses(settings.law, 1)[0]) / 2
    matches = (_binomial(with_voter), _binomial(0.5))
    check = _sampled_check("one voter, no peers", settings, votes, loss, _MATCHES, matches)
    claim = eps_tight(2, _ROUNDS, 0, 0, _PEERS)
    return AuditedClaim("p-rec-published", claim, (check,), published=True, **_UNIT)


def _binomial(chance: float) -> Chances:
    """Compute the binomial chances of 0 to _ROUNDS matches."""
    chances: dict[Hashable, float] = {}
    for matches in range(_ROUNDS + 1):
        misses = _ROUNDS - matches
        chances[matches] = math.comb(_ROUNDS, matches) * chance**matches * (1 - chance) ** misses
    return chances


def sound_claim(epsilon: float) -> AuditedClaim:
    """Claim the sound variant's epsilon, with the hidden voter among all whom the gate asks for.

    All vote alike, so that nobody ever leaves and only the gate can tell.
    """
    settings = PRecSettings(_ROUNDS // 2, 2, 1000, peers=_PEERS, epsilon=epsilon, delta=1e-6)
    plan = settings.plan
    own = np.arange(settings.rounds) % 2
    votes = follow_last_voter(np.repeat(own[:, None], plan.threshold, axis=1))
    pair = walk_pair(PRec, settings, votes, [votes.hidden_votes])
    with_voter, without_voter = pair.walks[0]
    chances = (
        dict[Hashable, float](enumerate(with_voter.answers)),
        dict[Hashable, float](enumerate(without_voter.answers)),
    )
    loss = least_epsilon(*chances, plan.delta)
    check = _sampled_check("all vote alike", settings, votes, loss, _STOP, chances, plan.delta)
    return AuditedClaim("p-rec-sound", epsilon, (check,), delta=plan.delta, **_UNIT)


BENCH: Mapping[str, tuple[Callable[[], AuditedClaim], ...]] = {
    "published": (published_claim,),
    "sound": (partial(sound_claim, 4.0),),
}


def audit() -> AuditPlan:
    """Plan the audit of both variants, with the losses computed from the running code."""
    return AuditPlan(
        BENCH,
        BUGS,
        SAMPLES,
        (Study("computed", _COLUMNS, lambda *ask: len(_checks(*ask)), _run_checks),),
        "The paper's claim is refuted where its promise is broken. "
        "That no violation of the sound variant was found is no proof.",
        "tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300  says what it costs.",
    )


_COLUMNS: Mapping[str, Callable[[Any], object]] = {
    "check": lambda row: row["check"],
    "pairs": lambda row: row["instances"],
    "largest": lambda row: f"{row['largest']:.4g}",
    "allowed": lambda row: f"{row['allowed']:.4g}",
    "verdict": lambda row: row["verdict"],
}


def _checks(variant: str | None, short: bool) -> tuple[exact_checks.Check, ...]:
    return () if variant == "published" else exact_checks.checks(short=short)


def _run_checks(
    variant: str | None, short: bool, advance: Advance
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run the exact checks.

    Returns:
        A row for each result, and a sentence for each that is wrong.
    """
    rows = []
    for check in _checks(variant, short):
        rows += [asdict(result) | {"verdict": result.verdict} for result in check(PRec)]
        advance(1)
    wrong = [f"{row['check']}: {row['verdict']}" for row in rows if row["verdict"] != "held"]
    return rows, wrong
