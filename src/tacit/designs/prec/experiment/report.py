"""One page of a p-REC simulation: losses beside what competes, one thing at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tacit.designs.prec.experiment import VARIED, Point, Setting
from tacit.designs.prec.experiment.methods import METHODS
from tacit.designs.prec.experiment.worlds import WORLDS
from tacit.evaluation import Interval, Table, Verdict
from tacit.evaluation.page import Cell, Figure, Line, Mark, Page, Section, interval, moving

SHOWN: dict[str, tuple[str, str, tuple[int, ...]]] = {
    "p-rec": ("p-REC with its gate", "var(--sound)", ()),
    "p-rec-no-gate": ("p-REC without a gate", "var(--nx)", (6, 4)),
    "exponential": ("exponential mechanism, round by round", "var(--printed)", ()),
    "majority": ("majority of all votes", "var(--b1)", (2, 3)),
    "weighted-majority": ("weighted majority", "var(--b2)", (8, 3, 2, 3)),
    "uniform": ("any object", "var(--b3)", (3, 3)),
    "bound": ("bound on p-REC’s expectation", "var(--ink)", (1, 4)),
}
"""Title, colour and dashes of each line."""
AXES = {
    "rounds": "rounds, T",
    "peers": "peers of the client, P",
    "voters": "voters, n",
    "epsilon": "epsilon, nats for one voter’s whole history",
}


def page_of(base: Setting, points: Sequence[Point], manifest: Mapping[str, Any]) -> Page:
    """Every method at the base, then one thing at a time."""
    standing = [point for point in points if _at(point, base)]
    known = [name for name in METHODS if any(p.row.method == name for p in standing)]
    bounded = any(point.row.loss_bound is not None for point in standing)
    sections = [Section("Side by side", [_standings(base, standing)])]
    if figures := list(_figures(base, points, known)):
        key = [
            Mark(*shown)
            for name, shown in SHOWN.items()
            if name in known or (name == "bound" and bounded)
        ]
        sections.append(Section("One thing at a time", figures=figures, key=key))
    world = " ".join((WORLDS[base.world].__doc__ or "").partition("\n\n")[0].split())
    return Page(
        "p-REC, simulated",
        sections,
        manifest,
        verdict(standing),
        design="p-REC",
        package=__package__,
        facts={"base": base, "world": world},
    )


def _standings(base: Setting, standing: Sequence[Point]) -> Table:
    def mean(point: Point, found: Interval) -> Cell | None:
        return interval(found, ".1f", ends=found.low > 0 or found.high < point.row.rounds)

    columns: dict[str, Callable[[Point], object]] = {
        "method": lambda point: SHOWN[point.row.method][0],
        "privacy": lambda point: (
            "none" if point.row.epsilon is None else f"ε = {point.row.epsilon:g}"
        ),
        "disliked": lambda point: mean(point, point.loss),
    }
    if base.budget.clients > 1:
        columns["disliked, what most were given"] = lambda point: mean(point, point.joint_loss)
    columns |= {
        "bound": lambda point: point.row.loss_bound and f"{point.row.loss_bound:.1f}",
        "gate open above": lambda point: point.row.threshold and f"{point.row.threshold:,}",
        "uniform in the end": lambda point: f"{point.stopped:.0%}",
    }
    return Table.of("Table of all methods", columns, standing)


def _place(point: Point, name: str) -> float | None:
    value: float | None = getattr(point.row, name)
    return value


def _at(point: Point, base: Setting, moved: str | None = None) -> bool:
    """Whether all but what is moved is as at the base; None fits any epsilon."""
    wanted = {"epsilon": base.budget.epsilon} | {
        name: getattr(base.game, name) for name in VARIED if name != "epsilon"
    }
    return all(
        _place(point, name) in (value, None) for name, value in wanted.items() if name != moved
    )


def _figures(base: Setting, points: Sequence[Point], known: Sequence[str]) -> Iterator[Figure]:
    for name in VARIED:
        moved = [point for point in points if _at(point, base, name)]
        lines = [
            Line(*SHOWN[method], {_place(p, name): p.loss for p in moved if p.row.method == method})
            for method in known
        ]
        ours = [p for p in moved if p.row.loss_bound is not None]
        judged = [p for p in ours if p.row.method == "p-rec"] or ours
        if judged:
            lines.append(Line(*SHOWN["bound"], {_place(p, name): p.row.loss_bound for p in judged}))
        figure = moving(
            f"Disliked recommendations by {name}",
            lines,
            axis=AXES[name],
            value="disliked recommendations",
            form=".1f",
            caption="The left axis is compressed above 1, so that few and many are both seen.",
            counts=True,
        )
        if figure is not None:
            yield figure


def verdict(standing: Sequence[Point]) -> Verdict:
    """Of one setting, every method in it: p-REC against the exponential mechanism."""
    by_method = {point.row.method: point for point in standing}
    ours, other = by_method.get("p-rec"), by_method.get("exponential")
    if ours is None:
        best = min(standing, key=lambda point: point.loss.mean)
        said = f"{best.loss.mean:.1f} of {best.row.rounds:,} recommendations were disliked"
        return Verdict("none", f"{best.row.method} errs least", f"{said}. No gate hides the votes.")
    lost = f"{ours.loss.mean:.1f} of {ours.row.rounds:,} recommendations were disliked"
    if ours.row.world == "victim":
        return _of_the_victim(ours, by_method.get("p-rec-no-gate"))
    if ours.stopped > 0.5:
        gate = ours.row.threshold
        what = f"from about {gate:,} survivors on" if gate else "for more voters than there are"
        return Verdict(
            "worse",
            "Too few voters agree with the client",
            f"The gate is open {what}. In {ours.stopped:.0%} of the runs it shut, and what came "
            f"then was any object: {lost}.",
        )
    said = f"With its gate {lost}"
    if (bound := ours.row.loss_bound) is not None:
        side = "within" if ours.loss.mean <= bound else "above"
        said += f", {side} the bound of {bound:.1f}"
    if other is None:
        return Verdict("none", "p-REC by itself", f"{said}.")
    against = f"{said}; with the exponential mechanism, at equal epsilon and delta, "
    against += f"it was {other.loss.mean:.1f}."
    if ours.loss.high < other.loss.low:
        return Verdict("hidden", "p-REC errs less than the exponential mechanism", against)
    if other.loss.high < ours.loss.low:
        return Verdict("worse", "The exponential mechanism errs less", against)
    return Verdict("weakened", "The two cannot be distinguished", against)


def _of_the_victim(ours: Point, bare: Point | None) -> Verdict:
    """The client guesses one voter's votes: the client likes what the voter voted for."""
    share = 1 - ours.joint_loss.mean / ours.row.rounds
    said = f"With the gate {share:.0%} of what the client is given is their victim’s vote"
    if bare is not None:
        read = 1 - bare.joint_loss.mean / bare.row.rounds
        said += f"; without it {read:.0%}"
    by_chance = 1 / ours.row.objects
    state = "hidden" if share < by_chance + 0.05 else "open"
    head = "The victim’s votes stay hidden" if state == "hidden" else "The victim’s votes are read"
    return Verdict(state, head, f"{said}; a guess would be right in {by_chance:.0%}.")
