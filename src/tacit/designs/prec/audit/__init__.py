"""p-REC on the audit's bench: samples of whole runs of the shipped curator, with hostile clients.

One sample is one client's run; a server serves many clients, whose draws are their own. The noise
of many gates is drawn by one call of OpenDP and handed out in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import empirical
from tacit.auditing.bench import Chances
from tacit.auditing.claims import Advance, Bench, Checked, Line, Study
from tacit.auditing.empirical import ALPHA, Feature, best_known
from tacit.designs.prec import PRec, PRecSettings
from tacit.designs.prec.audit import exact, faults
from tacit.designs.prec.audit.patterns import Pattern, followed, halved
from tacit.designs.prec.audit.walk import Path, loss_at, sampled, views, walked_pair
from tacit.designs.prec.guarantees import lonely_losses
from tacit.designs.prec.theory import eps_tight

SAMPLES = 10_000
_LONG, _SHORT, _PEERS = 20, 6, 100
_UNIT: dict[str, Any] = {"unit": "vote history", "adjacency": "add or remove"}
_MATCHES, _STOP, _VIEW = (
    "recommendations that are their votes",
    "rounds until the gate shuts",
    "whole view",
)


def features(votes: Pattern) -> dict[str, Feature]:
    """Numbers made of a run in which an event is sought. After the gate has shut, nothing tells."""
    found: dict[str, Feature] = {
        _MATCHES: lambda runs: (runs[:, :-1] == votes.hers).sum(axis=1),
        _STOP: lambda runs: runs[:, -1],
    }
    return found | ({_VIEW: _coded} if votes.rounds <= _SHORT else {})


def _coded(runs: NDArray[Any]) -> NDArray[np.int64]:
    """One number for the outputs until the stop, and the stop."""
    rounds = runs.shape[1] - 1
    law = np.where(np.arange(rounds) < runs[:, -1:], runs[:, :-1] + 1, 0)
    return np.asarray((law * 3 ** np.arange(rounds)).sum(axis=1), dtype=np.int64)


def code(outputs: Path, rounds: int) -> int:
    """What `_coded` makes of a view."""
    row = np.array([*outputs, *[0] * (rounds - len(outputs)), len(outputs)])
    return int(_coded(row[None])[0])


@dataclass(frozen=True)
class Sampled:
    """A check of two neighbouring patterns. exact: of the whole view at delta.

    chances: of values of one feature, `of`, under the two.
    """

    name: str
    settings: PRecSettings
    votes: Pattern
    exact: float
    of: str
    chances: tuple[Chances, Chances]
    delta: float = 0.0

    def __call__(self, samples: int, alpha: float) -> Checked:
        draw = partial(sampled, PRec, self.settings)
        known = best_known(self.chances, samples, alpha, self.delta, feature=self.of)
        found = empirical.audit(
            lambda n: draw(self.votes, n),
            lambda n: draw(self.votes.without, n),
            samples=samples,
            alpha=alpha,
            delta=self.delta,
            features=features(self.votes),
            known=known,
        )
        ideal, bound = known.ideal if known else 0.0, found.lower_bound
        return Checked(self.name, self.exact, None, bound, ideal, samples, most=self.exact)


def published() -> Line:
    """Theorem 11 without its promise: a client who follows one voter, and nobody else votes."""
    wanted = PRecSettings(_LONG, 2, 2 * _PEERS, peers=_PEERS, variant="published")
    votes = followed(np.array([[at % 2] for at in range(_LONG)]))
    never = tuple(1 - place for place in votes.hers)
    leak = walked_pair(PRec, wanted, votes, [votes.hers, never], peers=0).rounds
    with_her = math.exp(lonely_losses(wanted.law, 1)[0]) / 2
    matches = (_binomial(with_her), _binomial(0.5))
    check = Sampled("one voter, no peers", wanted, votes, leak, _MATCHES, matches)
    claim = eps_tight(2, _LONG, 0, 0, _PEERS)
    return Line("p-rec-published", claim, (check,), published=True, **_UNIT)


def _binomial(chance: float) -> Chances:
    return {
        k: math.comb(_LONG, k) * chance**k * (1 - chance) ** (_LONG - k) for k in range(_LONG + 1)
    }


def gated(epsilon: float) -> Line:
    """The sound variant: the victim among all whom the gate asks for, who agree or do not."""
    checks = _agreeing(epsilon), _splitting(epsilon)
    return Line("p-rec-sound", epsilon, checks, delta=checks[0].delta, **_UNIT)


def _agreeing(epsilon: float) -> Sampled:
    """All vote alike, so that nobody ever leaves and only the gate can tell."""
    wanted = PRecSettings(_LONG // 2, 2, 1000, peers=_PEERS, epsilon=epsilon, delta=1e-6)
    own, plan = np.arange(wanted.rounds) % 2, wanted.plan
    votes = followed(np.repeat(own[:, None], plan.threshold, axis=1))
    pair = walked_pair(PRec, wanted, votes, [votes.hers])
    stops: list[dict[Hashable, float]] = [
        dict(enumerate(walks[0].answers)) for walks in (pair.beside, pair.without)
    ]
    exact, chances = loss_at(stops[0], stops[1], plan.delta), (stops[0], stops[1])
    return Sampled("all vote alike", wanted, votes, exact, _STOP, chances, plan.delta)


def _splitting(epsilon: float) -> Sampled:
    """In halves from the first round on; they are followed."""
    wanted = PRecSettings(_SHORT, 2, 1000, peers=exact.PEERS, epsilon=epsilon, delta=1e-6)
    votes, delta = halved(wanted.plan.threshold + 2, wanted.rounds), wanted.plan.delta
    pair = walked_pair(PRec, wanted, votes)
    coded: list[dict[Hashable, float]] = [
        {code(outputs, wanted.rounds): chance for (outputs, _), chance in views(walks).items()}
        for walks in (pair.beside, pair.without)
    ]
    found, chances = loss_at(*pair.views(), delta), (coded[0], coded[1])
    return Sampled("they part from them", wanted, votes, found, _VIEW, chances, delta)


BENCH: Mapping[str, tuple[Callable[[], Line], ...]] = {
    "published": (published,),
    "sound": (partial(gated, 4.0),),
}


def audit() -> Bench:
    """Both variants, and what is computed of the running code."""
    return Bench(
        BENCH,
        faults.BUGS,
        SAMPLES,
        (
            Study(
                "computed", _COLUMNS, lambda *asked: len(_checks(*asked)), _computed, _false_alarm
            ),
        ),
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


def _false_alarm(rows: list[dict[str, Any]]) -> float:
    """One check is of samples, if it is made."""
    return ALPHA * any(row["check"].startswith("sampled") for row in rows)
