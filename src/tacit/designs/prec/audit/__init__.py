"""p-REC on the audit's bench: samples of whole runs of the shipped curator, with hostile clients.

One sample is one client's run; a server serves many clients, whose draws are their own. The noise
of many gates is drawn by one call of the sampler and handed out in order. Bugs are planted into the
curator, each one step of the shipped class overridden.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.auditing import empirical
from tacit.auditing.bugs import RuleOf
from tacit.auditing.claims import Advance, AuditedClaim, AuditPlan, Check, PairResult, Study, Tool
from tacit.auditing.empirical import Feature, best_known
from tacit.auditing.exact_losses import Chances
from tacit.designs.prec import Entry, PRec, PRecSettings
from tacit.designs.prec.audit import exact
from tacit.designs.prec.audit.exact import changing_voters, hostile_views, worst_streams
from tacit.designs.prec.audit.walk import Pattern, followed, loss_at, sampled, walked_pair
from tacit.designs.prec.clients import Run
from tacit.designs.prec.guarantees import lonely_losses
from tacit.designs.prec.output_distribution import uniform
from tacit.designs.prec.theory import eps_tight
from tacit.designs.prec.voters import Id
from tacit.engine.votes import Counts, Votes
from tacit.mechanisms.gate import GateRun, ThresholdGate

SAMPLES = 10_000
_LONG, _PEERS = 20, 100
_UNIT: dict[str, Any] = {"unit": "vote history", "adjacency": "add or remove"}
_MATCHES, _STOP = "recommendations that are their votes", "rounds until the gate shuts"


def features(votes: Pattern) -> dict[str, Feature]:
    """Numbers made of a run in which an event is sought."""
    return {
        _MATCHES: lambda runs: (runs[:, :-1] == votes.theirs).sum(axis=1),
        _STOP: lambda runs: runs[:, -1],
    }


def _sampled(
    name: str,
    settings: PRecSettings,
    votes: Pattern,
    exact: float,
    of: str,
    chances: tuple[Chances, Chances],
    delta: float = 0.0,
) -> Check:
    """A check of two neighbouring patterns. exact: of the whole view at delta. chances: of values
    of one feature, `of`, under the two."""

    def check(samples: int, alpha: float) -> PairResult:
        known = best_known(chances, samples, alpha, delta, feature=of)
        result = empirical.audit(
            lambda n: sampled(PRec, settings, votes, n),
            lambda n: sampled(PRec, settings, votes.without, n),
            samples=samples,
            alpha=alpha,
            delta=delta,
            features=features(votes),
            known=known,
        )
        ideal = known.ideal if known else 0.0
        return PairResult(name, exact, None, result.lower_bound, ideal, samples, most=exact)

    return check


def published() -> AuditedClaim:
    """Theorem 11 without its promise: a client who follows one voter, and nobody else votes."""
    wanted = PRecSettings(_LONG, 2, 2 * _PEERS, peers=_PEERS, variant="published")
    votes = followed(np.array([[at % 2] for at in range(_LONG)]))
    never = tuple(1 - place for place in votes.theirs)
    leak = walked_pair(PRec, wanted, votes, [votes.theirs, never], peers=0).rounds
    with_her = math.exp(lonely_losses(wanted.law, 1)[0]) / 2
    matches = (_binomial(with_her), _binomial(0.5))
    check = _sampled("one voter, no peers", wanted, votes, leak, _MATCHES, matches)
    claim = eps_tight(2, _LONG, 0, 0, _PEERS)
    return AuditedClaim("p-rec-published", claim, (check,), published=True, **_UNIT)


def _binomial(chance: float) -> Chances:
    return {
        k: math.comb(_LONG, k) * chance**k * (1 - chance) ** (_LONG - k) for k in range(_LONG + 1)
    }


def gated(epsilon: float) -> AuditedClaim:
    """The sound variant: the victim among all whom the gate asks for. All vote alike, so that
    nobody ever leaves and only the gate can tell."""
    wanted = PRecSettings(_LONG // 2, 2, 1000, peers=_PEERS, epsilon=epsilon, delta=1e-6)
    own, plan = np.arange(wanted.rounds) % 2, wanted.plan
    votes = followed(np.repeat(own[:, None], plan.threshold, axis=1))
    pair = walked_pair(PRec, wanted, votes, [votes.theirs])
    beside, without = (dict[Hashable, float](enumerate(walk.answers)) for walk in pair.walks[0])
    leak = loss_at(beside, without, plan.delta)
    check = _sampled("all vote alike", wanted, votes, leak, _STOP, (beside, without), plan.delta)
    return AuditedClaim("p-rec-sound", epsilon, (check,), delta=plan.delta, **_UNIT)


class _HalfNoise(ThresholdGate):
    """Both of the gate's noises have half their scale."""

    def _scale(self, factor: int) -> float:
        return super()._scale(factor) / 2


def _with_gates(kind: type[ThresholdGate] = ThresholdGate, *, slack: bool = True) -> type[PRec]:
    """With gates of another kind, or that stand at P itself."""

    class Gated(PRec):
        def _gate(self) -> GateRun | None:
            if (plan := self.plan) is None:
                return None
            threshold = plan.threshold if slack else plan.peers
            return kind(plan.gate, threshold, monotonic=True, stops="below").start()

    return Gated


class GateAfterDraw(PRec):
    """The law draws first, and the gate decides about the next round."""

    def _choose(self, run: Run) -> int:
        if run.stopped is not None:
            return uniform(len(self.candidates), self.source)
        counts, credit = self._tallies(run)
        place = self._law.draw(counts, self.source)
        if run.gate is not None and run.gate.stops_at(credit // self.settings.credit):
            run.stopped = self.round
        return place


class FreshGates(PRec):
    """A new gate before every round, none of which is charged but the first."""

    def _choose(self, run: Run) -> int:
        run.gate = self._gate()
        return super()._choose(run)


class DrawnAgain(PRec):
    """Asked again in the same round, the client is given another draw."""

    def recommend(self, client: Any) -> Id:
        run = self._run_of(client)
        candidate = self.candidates[self._choose(run)]
        if run.given(self.round) is None:
            run.entries.append(Entry(self.round, candidate, None))
        return candidate


class SilenceIsFree(PRec):
    """A client's dislike costs nobody."""

    def _charged(self, run: Run) -> tuple[int, bool] | None:
        charged = super()._charged(run)
        return charged if charged is not None and charged[1] else None


class NewcomersCount(PRec):
    """Who comes later counts for clients who are here already."""

    def _advance(self, candidates: tuple[Id, ...], votes: Votes) -> None:
        before = len(self._votes)
        super()._advance(candidates, votes)
        for run in self._runs.values() if before else ():
            credit = run.block.credit
            credit.alive[before:] |= np.uint64(1 << run.place)
            run.block.hold_credits(credit)


class AbstainersLeftOut(PRec):
    """Who does not vote stays alive and counts for the gate, but not in the round's shares."""

    def open_round(self, candidates: Collection[Any], votes: Any) -> None:
        voters, places = votes
        rows = self._voters.admit(voters)
        cast = np.full(len(self._voters.ids), len(candidates), dtype=np.uint16)
        cast[rows] = places
        self._advance((*candidates, "nobody"), cast)

    def _tallies(self, run: Run) -> tuple[Counts, int]:
        counts, credit = super()._tallies(run)
        return counts[:-1], credit


@dataclass(frozen=True)
class Curated:
    """A faulty curator, and the check that has to see it; it is compared with the shipped one."""

    name: str
    kind: type[PRec]
    check: exact.Check
    epsilon: float = 1.0
    rule_of: RuleOf | None = None
    tool: Tool = "exact"

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        computed = self.check(self.kind if bug else PRec)
        broken = [one.largest for one in computed if one.verdict != "held"]
        return bool(broken), max(broken, default=None)


_NARROW = partial(hostile_views, gate=3.0, instances=6)
_WIDE = partial(hostile_views, gate=0.3, instances=4)

BUGS = (
    Curated("half the gate's noise", _with_gates(_HalfNoise), _NARROW),
    Curated("slack forgotten", _with_gates(slack=False), _WIDE),
    Curated("gate asked after the draw", GateAfterDraw, _NARROW),
    Curated("a fresh gate before every round", FreshGates, _NARROW),
    Curated("drawn again when asked again", DrawnAgain, worst_streams),
    Curated("a dislike costs nobody", SilenceIsFree, changing_voters),
    Curated("newcomers count at once", NewcomersCount, changing_voters),
    Curated("abstainers left out of the shares", AbstainersLeftOut, changing_voters),
)

BENCH: Mapping[str, tuple[Callable[[], AuditedClaim], ...]] = {
    "published": (published,),
    "sound": (partial(gated, 4.0),),
}


def audit() -> AuditPlan:
    """Both variants, and what is computed of the running code."""
    return AuditPlan(
        BENCH,
        BUGS,
        SAMPLES,
        (Study("computed", _COLUMNS, lambda *ask: len(_checks(*ask)), _computed),),
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


def _checks(variant: str | None, short: bool) -> tuple[exact.Check, ...]:
    return () if variant == "published" else exact.checks(short=short)


def _computed(
    variant: str | None, short: bool, advance: Advance
) -> tuple[list[dict[str, Any]], list[str]]:
    rows = []
    for check in _checks(variant, short):
        rows += [asdict(one) | {"verdict": one.verdict} for one in check(PRec)]
        advance(1)
    wrong = [f"{row['check']}: {row['verdict']}" for row in rows if row["verdict"] != "held"]
    return rows, wrong
