"""`tacit plan`: how many people a design needs, before anybody is asked anything."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import output, private, sketch_settings
from tacit.cli.output import JSON
from tacit.cli.sketch_settings import Clusters, Likes, Unit

if TYPE_CHECKING:
    from tacit.designs.prec.planner import Forecast
    from tacit.designs.sketches.planner import Plan

app = typer.Typer(help="Compute how many people a design needs.", no_args_is_help=True)
app.command("private")(private.plan)


@app.callback()
def _designs() -> None:
    """One sub-command per design."""


@app.command()
def sketches(
    items: Annotated[int, typer.Option(help="Items of the catalogue.")],
    rated: Annotated[int, typer.Option(help="Items that a person has rated.")],
    epsilon: Annotated[float, typer.Option(help="Nats for a whole report and the unit.")],
    clusters: Clusters = 2,
    eta: Annotated[float, typer.Option(help="Chance that a label may be wrong.")] = 0.1,
    unit: Unit = "user",
    likes: Likes = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write an SVG: people against epsilon, rated and items.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Count the people that sketches need.

    Prints a lower bound for every method, and the need of each method here.

    Lower bounds hold whatever people like. What methods need depends on how different the clusters
    are: see --likes.
    """
    from tacit.designs.sketches.planner import plan

    if plot is not None:
        from tacit.writing import check_writable

        check_writable(plot)
    blocks = sketch_settings.world(likes, clusters)
    planned = plan(
        items=items,
        rated=rated,
        epsilon=epsilon,
        clusters=clusters,
        eta=eta,
        unit=unit,
        blocks=blocks,
    )
    if plot is not None:
        from tacit.designs.sketches.experiment.needs import needs
        from tacit.evaluation.plots import people_needed
        from tacit.writing import write_whole

        write_whole(plot, people_needed(needs(planned, blocks)).encode())
    output.emit(
        planned.to_dict(), as_json=as_json, render=partial(_show, planned=planned, plot=plot)
    )


@app.command()
def prec(
    objects: Annotated[int, typer.Option(help="Objects to choose from in a round, at most.")],
    rounds: Annotated[int, typer.Option(help="Rounds, each with one recommendation.")],
    peers: Annotated[
        int, typer.Option(help="Voters to hide among: assumed, or enforced by a gate.")
    ],
    voters: Annotated[int, typer.Option(help="Voters that there could ever be.")],
    diversity: Annotated[
        int, typer.Option(help="Rounds at most in which the client likes several objects.")
    ] = 0,
    radius: Annotated[
        int, typer.Option(help="Votes of a peer at most for objects that the client dislikes.")
    ] = 0,
    epsilon: Annotated[
        float | None, typer.Option(help="Count the voters that these nats take, gate apart.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write an SVG: exact against theorem, by peers.")
    ] = None,
    as_json: JSON = False,
) -> None:
    """Count the voters that p-REC needs.

    And compute what it reveals about each of them: with a gate, whatever people do; without one, if
    enough voters agree with the client in every round, which nobody can check.
    """
    from tacit.designs.prec.planner import curves
    from tacit.designs.prec.planner import plan as plan_voters

    if plot is not None:
        from tacit.writing import check_writable

        check_writable(plot)
    planned = plan_voters(
        objects=objects,
        rounds=rounds,
        peers=peers,
        voters=voters,
        diversity=diversity,
        radius=radius,
        epsilon=epsilon,
    )
    if plot is not None:
        from tacit.evaluation.plots import epsilon_by_peers
        from tacit.writing import write_whole

        write_whole(plot, epsilon_by_peers(curves(planned), planned.peers).encode())
    output.emit(
        planned.to_dict(), as_json=as_json, render=partial(_show_voters, planned=planned, plot=plot)
    )


def advice(planned: Plan) -> str:
    """In one sentence: at least so many, and what to use."""
    best, bounds = planned.best, planned.lower_bounds
    if bounds:
        any_learner = max(bounds["ldp"], bounds["adaptive"])
        fixed = max(any_learner, bounds["scarce"])
        least = f"Nobody can do with fewer than {at_least(any_learner)} people"
        if fixed > any_learner:
            least += f", or {at_least(fixed)} if questions do not depend on earlier answers"
    else:
        least = f"No lower bound is known for the unit {planned.unit}"
    if math.isinf(best.users_clt):
        return f"{least}; and no method here can tell these clusters apart."
    asked = (
        f"{best.questions} random pair{'s' if best.questions > 1 else ''}"
        if best.theta is None
        else f"theta {best.theta:g} and {best.questions} "
        f"question{'s' if best.questions > 1 else ''}"
    )
    needed = f"which takes about {people(best.users_clt)} people"
    return f"{least}; use {best.method} with {asked}, {needed}."


def people(number: float) -> str:
    """A number of people to two digits: no plan is exacter."""
    return "infinitely many" if math.isinf(number) else f"{int(float(f'{number:.2g}')):,}"


def at_least(bound: float) -> str:
    """A lower bound as a whole number of people."""
    return f"{math.ceil(bound):,}"


def _show(_: dict[str, Any], *, planned: Plan, plot: Path | None) -> None:
    output.table(
        "",
        ("method", "theta", "questions", "people needed", "proved enough"),
        [
            (
                method.method,
                None if method.theta is None else f"{method.theta:g}",
                method.questions,
                people(method.users_clt),
                "–" if method.users_theorem is None else people(method.users_theorem),
            )
            for method in planned.methods
        ],
    )
    output.console.print(advice(planned), soft_wrap=True)
    output.console.print(
        "Needed: by the normal approximation, in the assumed world. Proved enough: by Chernoff.",
        style="dim",
    )
    if plot is not None:
        output.console.print(f"Wrote {plot}", soft_wrap=True, markup=False)
    output.next_step(
        f"Next:  tacit simulate sketches --items {planned.items} --rated {planned.rated} "
        f"--epsilon {planned.epsilon:g} --users 1000,10000"
        + ("" if planned.unit == "user" else f" --method multi-maxsense --unit '{planned.unit}'")
    )


def voters_advice(planned: Forecast) -> str:
    """In two or three sentences: what is revealed, the assumption, and how many voters it takes."""
    gate, promise = planned.proven["floor"], planned.proven["promise"]
    credited = planned.diversity + planned.radius > 0
    kept = f"{'the credits of ' if credited else ''}{planned.peers:,} voters"
    said = (
        f"A gate that keeps {kept} in play limits what "
        f"{planned.rounds:,} recommendations reveal about any one of {planned.voters:,} to "
        f"{gate:.3f} nats, besides the gate's own epsilon and delta. Without a gate it is "
        f"{promise:.3f} nats if {planned.peers:,} voters agree with the client throughout, which "
        "cannot be checked; otherwise there is no useful limit."
    )
    if planned.needed is None:
        return said
    needed = planned.needed
    wanted = f"For epsilon {needed.epsilon:g}"
    if needed.floor is None:
        return f"{said} {wanted} not even all {planned.voters:,} voters are enough."
    found = (
        f"{wanted} a gate has to keep {needed.floor:,}, exactly"
        if needed.exact_floor is not None
        else f"{wanted} it is known to be enough that a gate keeps {needed.floor:,}"
    )
    return f"{said} {found}; the theorem asks for {needed.theorem:,}."


def _show_voters(_: dict[str, Any], *, planned: Forecast, plot: Path | None) -> None:
    exact = planned.exact or {}
    rows = [
        ("with a gate, its own part not counted", planned.proven["floor"], exact.get("floor")),
        ("without a gate, promise kept", planned.proven["promise"], exact.get("promise")),
    ]
    output.table(
        "",
        ("epsilon of one voter's whole history", "at most", "known as"),
        [(name, bound, "bound" if value is None else "exact") for name, bound, value in rows]
        + [
            ("theorem, tight constants", planned.epsilon_tight, "bound"),
            ("theorem, as in the paper", planned.epsilon_paper, "bound"),
            ("nobody below with this loss", planned.epsilon_lower_bound, "lower bound"),
        ],
    )
    output.console.print()
    output.table(
        "",
        ("disliked recommendations, promise kept", "number"),
        [
            ("expected, at most", planned.loss_bound),
            ("in 99 of 100 runs, at most", planned.likely_loss_bound),
            ("nobody below", planned.loss_lower_bound),
        ],
    )
    output.console.print(voters_advice(planned), soft_wrap=True)
    if planned.why_not_exact is not None:
        output.console.print(planned.why_not_exact, style="dim", soft_wrap=True)
    if plot is not None:
        output.console.print(f"Wrote {plot}", soft_wrap=True, markup=False)
    output.next_step(f"Next:  {_next_plan(planned)}")


def _next_plan(planned: Forecast) -> str:
    """First an epsilon, then the peers that it takes, then a plot."""
    needed, peers, more = planned.needed, planned.peers, " --plot prec.svg"
    if needed is None:
        more = " --epsilon 1"
    elif needed.floor is not None and needed.floor != peers:
        peers, more = needed.floor, ""
    return (
        f"tacit plan prec --objects {planned.objects} --rounds {planned.rounds} "
        f"--diversity {planned.diversity} --radius {planned.radius} --peers {peers} "
        f"--voters {planned.voters}{more}"
    )
