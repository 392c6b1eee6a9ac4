"""One page of a p-REC simulation: losses beside what competes, one thing at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.designs.prec.experiment.methods import METHODS
from tacit.designs.prec.experiment.simulation import VARIED, Point, Setting
from tacit.designs.prec.experiment.verdict import verdict
from tacit.evaluation.page import fill, flat, write_page
from tacit.evaluation.result import Interval

NAMES = {
    "p-rec": "p-REC with its gate",
    "p-rec-no-gate": "p-REC without a gate",
    "exponential": "exponential mechanism, round by round",
    "majority": "majority of all votes",
    "weighted-majority": "weighted majority",
    "uniform": "any object",
}
STROKES: dict[str, tuple[str, tuple[int, ...]]] = {
    "p-rec": ("var(--sound)", ()),
    "p-rec-no-gate": ("var(--nx)", (6, 4)),
    "exponential": ("var(--printed)", ()),
    "majority": ("var(--b1)", (2, 3)),
    "weighted-majority": ("var(--b2)", (8, 3, 2, 3)),
    "uniform": ("var(--b3)", (3, 3)),
    "bound": ("var(--ink)", (1, 4)),
}
BOUND = "bound on p-REC’s expectation"
AXES = {
    "rounds": "rounds, T",
    "peers": "peers of the client, P",
    "voters": "voters, n",
    "epsilon": "epsilon, nats for one voter’s whole history",
}
WORLDS = {
    "planted": "Peers vote for what the client likes, everybody else at random.",
    "opposed": "All but the peers vote for one object that the client dislikes.",
    "adaptive": "An adversary who knows the state spends voters where they cost most.",
    "search": "In each phase one of m camps is the client’s (Theorem 6).",
    "stubborn": "Peers always vote for the first object (Theorem 6).",
    "one-round": "Two camps of peers differ in one round (Lemma 8).",
    "both-ways": "One camp chooses freely where the client likes both (Theorem 15).",
    "sybils": "An army agrees with the client and betrays them, half of it at a time.",
    "victim": "The client has no peers and likes exactly what one voter votes for: what the "
    "client is given is what they learn of the voter.",
}


@dataclass(frozen=True)
class Figure:
    """One thing that moves. lines: a method's name, its budget, its losses by column."""

    title: str
    drawn: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Interval | None, ...]], ...]
    bounds: tuple[float | None, ...]


def write_report(
    base: Setting, points: Sequence[Point], manifest: Mapping[str, Any], path: str | Path
) -> None:
    """Render the page and write it."""
    write_page(render(base, points, manifest), path)


def render(base: Setting, points: Sequence[Point], manifest: Mapping[str, Any]) -> str:
    """The page as HTML: no script, no address."""
    standing = [point for point in points if _at(point, base)]
    known = [name for name in METHODS if any(p.row.method == name for p in standing)]
    bounded = any(point.row.loss_bound is not None for point in standing)
    return fill(
        __package__,
        {
            "base": base,
            "world": WORLDS[base.world],
            "verdict": verdict(standing),
            "standing": [(NAMES[point.row.method], point) for point in standing],
            "figures": [
                figure
                for name in VARIED
                if (figure := _figure(name, base, points, known)) is not None
            ],
            "key": [
                (NAMES.get(name, BOUND), *_stroke(name))
                for name in [*known, *(["bound"] if bounded else [])]
            ],
            "manifest": list(flat(manifest)),
            "date": manifest.get("date"),
        },
        {},
    )


def _stroke(name: str) -> tuple[str, str]:
    colour, dash = STROKES[name]
    return colour, " ".join(map(str, dash))


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


def _figure(
    name: str, base: Setting, points: Sequence[Point], known: Sequence[str]
) -> Figure | None:
    from tacit.evaluation.plots import Curve, curves

    moved = [point for point in points if _at(point, base, name)]
    columns = sorted({x for point in moved if (x := _place(point, name)) is not None})
    if len(columns) < 2:
        return None
    by_method = {
        method: {_place(p, name): p for p in moved if p.row.method == method} for method in known
    }
    lines = [
        Curve(
            NAMES[method],
            *STROKES[method],
            tuple((x, *point.loss) for x, point in sorted(found.items(), key=_by_place)),
        )
        for method, found in by_method.items()
    ]
    ours = [p for p in moved if p.row.loss_bound is not None]
    judged = [p for p in ours if p.row.method == "p-rec"] or ours
    bounds = {_place(p, name): p.row.loss_bound for p in judged}
    if bounds:
        level = tuple((x, b, b, b) for x, b in sorted(bounds.items(), key=_by_place) if b)
        lines.append(Curve(BOUND, *STROKES["bound"], level))
    return Figure(
        title=f"Disliked recommendations by {name}",
        drawn=curves(
            lines,
            x_title=AXES[name],
            y_title="disliked recommendations",
            log=True,
            many=True,
        ),
        columns=tuple(f"{x:g}" for x in columns),
        lines=tuple(
            (
                NAMES[method],
                tuple(
                    point.loss if (point := found.get(x, found.get(None))) else None
                    for x in columns
                ),
            )
            for method, found in by_method.items()
        ),
        bounds=tuple(bounds.get(x, bounds.get(None)) for x in columns) if bounds else (),
    )


def _by_place(entry: tuple[float | None, Any]) -> float:
    return -1.0 if entry[0] is None else entry[0]
