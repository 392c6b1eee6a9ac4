"""Tables of a simulation, its page, and a verdict in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from tacit.designs.prec.experiment.leaks import Leak
from tacit.designs.prec.experiment.simulation import Point
from tacit.designs.prec.experiment.worlds import WORLDS, Game
from tacit.evaluation import Table, Verdict
from tacit.evaluation.page import Page, Section

_LEAD = (
    "World: {world}. {about} {rounds:,} rounds of {objects} objects, {voters:,} voters, {peers:,} "
    "of them peers, diversity {diversity}, radius {radius}; clients: {clients}. Private methods "
    "spend epsilon {epsilon:g} and delta {delta:g} on one voter’s whole history, for what "
    "{together} of the clients see together."
)
_LIMITS = (
    "Generated voters agree with the client as configured; on real ratings peers are rare. A "
    "simulation finds no epsilon: tacit plan prec computes it, audits look for violations. Only "
    "the gate’s noise is the system’s; all other draws repeat with the seed."
)
LEGEND = (
    "Disliked recommendations, means over runs. Bound: on the expected number for p-rec, if the "
    "client has peers as assumed. Shut: runs whose gate closed, after which recommendations were "
    "uniform."
)

LEAK_LEGEND = (
    "Log-ratio of the recommendations under the two voting patterns of the proof, of the paper's "
    "algorithm without a gate: of one run, the largest of any sequence, the mean. Steps: voters "
    "added or removed from one pattern to the other. At most: proven for a step; anybody: no "
    "algorithm with p-REC's loss bound has an epsilon below. –: too many voters to follow, or "
    "nothing is proven."
)


def points_table(points: Sequence[Point], moved: Sequence[str]) -> Table:
    """Tabulate points, with a column for each setting that moved."""
    settings: dict[str, Callable[[Point], object]] = {
        "rounds": lambda point: _format_number(point.row.rounds),
        "peers": lambda point: _format_number(point.row.peers),
        "voters": lambda point: _format_number(point.row.voters),
        "epsilon": lambda point: _format_number(point.row.epsilon),
        "pattern": lambda point: _format_number(point.row.pattern),
    }
    columns = {name: settings[name] for name in moved}
    columns |= {
        "method": lambda point: point.row.method,
        "disliked": lambda point: f"{point.loss.mean:.1f}",
        "95 %": _format_ends,
        "bound": lambda point: point.row.loss_bound and f"{point.row.loss_bound:.1f}",
        "shut": lambda point: f"{point.stopped:.0%}",
    }
    return Table.from_rows("", columns, points)


def leak_table(found: Sequence[Leak]) -> Table:
    """Tabulate log-ratios of a pair of patterns, beside what is proven for one voter."""
    columns: dict[str, Callable[[Leak], object]] = {
        "seed": lambda leak: leak.seed,
        "played": lambda leak: f"{leak.played:.4g}",
        "worst": lambda leak: None if leak.worst is None else f"{leak.worst:.4g}",
        "mean": lambda leak: None if leak.mean is None else f"{leak.mean:.4g}",
        "steps": lambda leak: leak.steps,
        "a step": lambda leak: f"{leak.per_step:.4g}",
        "at most": lambda leak: None if leak.proven is None else f"{leak.proven:.4g}",
        "anybody": lambda leak: None if leak.lower_bound is None else f"{leak.lower_bound:.4g}",
    }
    return Table.from_rows("", columns, found)


def _format_number(value: float | None) -> str:
    """Write a number of a setting."""
    return "none" if value is None else f"{value:g}"


def _format_ends(point: Point) -> str | None:
    """Write the interval of a loss; None where it says nothing."""
    low = point.loss.low
    high = point.loss.high
    says_nothing = low == 0 and high == point.row.rounds
    return None if says_nothing else f"{low:.1f} to {high:.1f}"


def make_page(base: Game, judged: Sequence[Point], table: Table, manifest: dict[str, Any]) -> Page:
    """Lay out the page of a simulation.

    Args:
        base: The setting that the verdict is about.
        judged: Every method at the base.
        table: All points.
        manifest: How they were made.
    """
    about = " ".join((WORLDS[base.world].__doc__ or "").partition("\n\n")[0].split())
    return Page(
        "p-REC, simulated",
        [Section("Side by side", [table], notes=[LEGEND, _LIMITS])],
        manifest,
        write_verdict(judged),
        lead=_LEAD.format(about=about, **asdict(base)),
        design="p-REC",
    )


def write_verdict(judged: Sequence[Point]) -> Verdict:
    """Judge p-REC against the exponential mechanism; in the victim's world, if votes are read."""
    by_method = {point.row.method: point for point in reversed(judged)}
    ours = by_method.get("p-rec")
    other = by_method.get("exponential")
    if ours is None:
        best = min(judged, key=lambda point: point.loss.mean)
        text = f"{best.loss.mean:.1f} of {best.row.rounds:,} recommendations were disliked. "
        text += "No gate hides the votes."
        return Verdict("none", f"{best.row.method} errs least", text)
    if ours.row.world == "victim":
        return _judge_in_victim_world(ours, by_method.get("p-rec-no-gate"))
    text = f"{ours.loss.mean:.1f} of {ours.row.rounds:,} recommendations were disliked"
    if ours.stopped > 0.5:
        least = ours.row.threshold
        opens = f"from about {least:,} survivors on" if least else "for more voters than there are"
        text += f". The gate is open {opens}; it shut in {ours.stopped:.0%} of the runs."
        return Verdict("open", "Too few voters agree with the client", text)
    bound = ours.row.loss_bound
    if bound is not None:
        side = "within" if ours.loss.mean <= bound else "above"
        text += f", {side} the bound of {bound:.1f}"
    if other is None:
        return Verdict("none", "p-REC by itself", f"{text}.")
    text += f"; with the exponential mechanism, at equal epsilon and delta, {other.loss.mean:.1f}."
    if ours.loss.high < other.loss.low:
        return Verdict("hidden", "p-REC errs less than the exponential mechanism", text)
    if other.loss.high < ours.loss.low:
        return Verdict("open", "The exponential mechanism errs less", text)
    return Verdict("weakened", "The two cannot be distinguished", text)


def _judge_in_victim_world(ours: Point, without_gate: Point | None) -> Verdict:
    """Judge whether votes are read: what most clients are given is a guess of one voter's vote."""
    share = 1 - ours.joint.mean / ours.row.rounds
    chance = 1 / ours.row.objects
    text = f"With the gate {share:.0%} of what most clients are given is the victim’s vote"
    if without_gate is not None:
        without_it = 1 - without_gate.joint.mean / without_gate.row.rounds
        text += f"; without it {without_it:.0%}"
    text += f"; a guess would be right in {chance:.0%}."
    if share < chance + 0.05:
        return Verdict("hidden", "The victim’s votes stay hidden", text)
    return Verdict("open", "The victim’s votes are read", text)
