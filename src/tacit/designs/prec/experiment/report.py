"""Tables, page and verdict of `tacit simulate prec`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from tacit.designs.prec.experiment.game import Game
from tacit.designs.prec.experiment.leaks import Leak
from tacit.designs.prec.experiment.simulation import Point
from tacit.designs.prec.experiment.worlds import WORLDS
from tacit.evaluation import Table, Verdict
from tacit.evaluation.page import Page, Section

_LEAD = (
    "World: {world}. {about} {rounds:,} rounds of m = {objects} objects, {voters:,} voters, P = "
    "{peers:,} of them peers, diversity D = {diversity}, radius R = {radius}; clients: {clients}. "
    "Private methods spend epsilon {epsilon:g} and delta {delta:g} on one voter’s whole history, "
    "for the views of {clients_together} of the clients together."
)
_LIMITS = (
    "Generated voters agree with the client as the world says; on real ratings peers are rare. A "
    "simulation finds no epsilon: tacit plan prec computes it, audits look for violations. Only "
    "the gate’s noise is new in each run; all other draws repeat with the seed."
)
_NOTICEABLE = 0.05
"""How far the share of right guesses has to be above chance for the verdict that votes are read."""
LEGEND = (
    "Disliked recommendations, means over runs. Bound: on the expected number for p-rec and "
    "p-rec-no-gate, if the client has peers as assumed. Shut: runs in which every client's gate "
    "shut, after which recommendations were uniform."
)

LEAK_LEGEND = (
    "Log-ratio of the recommendations of the paper's algorithm, without a gate, under the two "
    "voting patterns of the proof. Played: of one run. Worst: the largest of any sequence of "
    "recommendations. Mean: over all sequences. Steps: voters added or removed from one pattern to "
    "the other. At most: the bound that is proven for a step. Anybody: a lower bound of the "
    "epsilon of every algorithm with p-REC's loss bound. –: too many cases to compute, or nothing "
    "is proven."
)


def points_table(points: Sequence[Point], varied: Sequence[str]) -> Table:
    """Tabulate points, with a column for each setting that varies between them.

    Args:
        points: The points, each of which gets a row.
        varied: Names of these settings: rounds, peers, voters, epsilon, pattern.
    """
    setting_columns: dict[str, Callable[[Point], object]] = {
        "rounds": lambda point: _format_number(point.row.rounds),
        "peers": lambda point: _format_number(point.row.peers),
        "voters": lambda point: _format_number(point.row.voters),
        "epsilon": lambda point: _format_number(point.row.epsilon),
        "pattern": lambda point: _format_number(point.row.pattern),
    }
    columns = {name: setting_columns[name] for name in varied}
    columns |= {
        "method": lambda point: point.row.method,
        "disliked": lambda point: f"{point.loss.mean:.1f}",
        "95 %": _format_interval,
        "bound": lambda point: _format_optional(point.row.loss_bound, ".1f"),
        "shut": lambda point: f"{point.stopped:.0%}",
    }
    return Table.from_rows("", columns, points)


def leak_table(leaks: Sequence[Leak]) -> Table:
    """Tabulate the log-ratios of pairs of patterns, and the bounds of epsilon for one voter."""
    columns: dict[str, Callable[[Leak], object]] = {
        "seed": lambda leak: leak.seed,
        "played": lambda leak: _format_optional(leak.played, ".4g"),
        "worst": lambda leak: _format_optional(leak.worst, ".4g"),
        "mean": lambda leak: _format_optional(leak.mean, ".4g"),
        "steps": lambda leak: leak.steps,
        "a step": lambda leak: _format_optional(leak.per_step, ".4g"),
        "at most": lambda leak: _format_optional(leak.proven, ".4g"),
        "anybody": lambda leak: _format_optional(leak.lower_bound, ".4g"),
    }
    return Table.from_rows("", columns, leaks)


def _format_number(value: float | None) -> str:
    """Format a number of a setting; "none" if the method has no such number."""
    return "none" if value is None else f"{value:g}"


def _format_optional(value: float | None, format_spec: str) -> str | None:
    """Format a number by a format spec; return None (an empty cell) if there is no number."""
    return None if value is None else format(value, format_spec)


def _format_interval(point: Point) -> str | None:
    """Format the interval of a mean loss; return None (an empty cell) if it covers all losses."""
    low = point.loss.low
    high = point.loss.high
    covers_all = low == 0 and high == point.row.rounds
    return None if covers_all else f"{low:.1f} to {high:.1f}"


def make_page(
    base: Game, base_points: Sequence[Point], table: Table, manifest: dict[str, Any]
) -> Page:
    """Lay out the page of a simulation.

    The lead quotes the first paragraph of the docstring of the world's generator.

    Args:
        base: The setting that the lead and the verdict are about.
        base_points: A point for each method in this setting.
        table: Table of all points.
        manifest: Description of the command's run, for the foot of the page.
    """
    docstring = WORLDS[base.world].__doc__ or ""
    first_paragraph, _, _ = docstring.partition("\n\n")
    about = " ".join(first_paragraph.split())
    return Page(
        "p-REC, simulated",
        [Section("Side by side", [table], notes=[LEGEND, _LIMITS])],
        manifest,
        compare_with_exponential(base_points),
        lead=_LEAD.format(about=about, **asdict(base)),
        design="p-REC",
    )


def compare_with_exponential(points: Sequence[Point]) -> Verdict:
    """Make the verdict of the page: p-REC compared with the exponential mechanism.

    In the world of the victim the verdict is about whether votes leak. If `p-rec` was not played,
    the verdict names the method with the smallest loss.

    The state is `good` if p-REC errs less or the votes stay hidden, `poor` if it errs more, votes
    are read or the gate shut in most runs, else `none`.

    Args:
        points: A point for each method that was played in the base setting.
    """
    by_method: dict[str, Point] = {}
    for point in points:
        by_method.setdefault(point.row.method, point)  # the first of the two in `both-ways`
    prec = by_method.get("p-rec")
    exponential = by_method.get("exponential")
    if prec is None:
        best = min(points, key=lambda point: point.loss.mean)
        text = f"{best.loss.mean:.1f} of {best.row.rounds:,} recommendations were disliked. "
        text += "p-REC with its gate was not played."
        return Verdict("none", f"{best.row.method} errs least", text)
    if prec.row.world == "victim":
        return _judge_in_victim_world(prec, by_method.get("p-rec-no-gate"))
    text = f"{prec.loss.mean:.1f} of {prec.row.rounds:,} recommendations were disliked"
    if prec.stopped > 0.5:  # in most runs the gate shut
        threshold = prec.row.threshold
        if threshold is None:
            about_gate = "would need more voters than there are"
        else:
            about_gate = (
                f"is open while about {threshold:,} survivors or more are left, the voters who "
                "still count for the client"
            )
        text += f". The gate {about_gate}; it shut in {prec.stopped:.0%} of the runs."
        return Verdict("poor", "Too few voters agree with the client", text)
    bound = prec.row.loss_bound
    if bound is not None:
        comparison = "within" if prec.loss.mean <= bound else "above"
        text += f", {comparison} the bound of {bound:.1f}"
    if exponential is None:
        return Verdict("none", "p-REC by itself", f"{text}.")
    text += "; with the exponential mechanism, at equal epsilon and delta, "
    text += f"{exponential.loss.mean:.1f}."
    if prec.loss.high < exponential.loss.low:
        return Verdict("good", "p-REC errs less than the exponential mechanism", text)
    if exponential.loss.high < prec.loss.low:
        return Verdict("poor", "The exponential mechanism errs less", text)
    return Verdict("none", "The two cannot be distinguished", text)


def _judge_in_victim_world(prec: Point, without_gate: Point | None) -> Verdict:
    """Judge whether the victim's votes can be guessed from the recommendations.

    In this world clients like exactly what the victim votes for. The attacker guesses that the
    victim voted for the object recommended most often, so `Point.joint` counts wrong guesses.

    Args:
        prec: Point of `p-rec`.
        without_gate: Point of `p-rec-no-gate`; None if it was not played.
    """
    share_right = 1 - prec.joint.mean / prec.row.rounds
    chance = 1 / prec.row.objects
    text = "The attacker guesses what is recommended most often. With the gate "
    text += f"{share_right:.0%} of the guesses are the victim’s vote"
    if without_gate is not None:
        share_without_gate = 1 - without_gate.joint.mean / without_gate.row.rounds
        text += f"; without it {share_without_gate:.0%}"
    text += f"; of random guesses {chance:.0%} would be."
    if share_right < chance + _NOTICEABLE:
        return Verdict("good", "The victim’s votes stay hidden", text)
    return Verdict("poor", "The victim’s votes are read", text)
