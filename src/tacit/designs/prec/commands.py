"""What `tacit plan prec` asks, does and shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.design import Command, Run, option
from tacit.evaluation import Result, Table

DELTA = "Probability that the bound of epsilon fails, such as 1e-6."
DIVERSITY = "Rounds at most in which the client likes several objects."
RADIUS = "Votes of a peer at most for objects that the client dislikes."
TOGETHER = "Clients whom epsilon is for, all of them together."


@dataclass(frozen=True)
class PlanSettings:
    """Of `tacit plan prec`."""

    objects: int = option("Objects to choose from in a round, at most.")
    rounds: int = option("Rounds, each with one recommendation.")
    peers: int = option("Voters to hide among: assumed, or enforced by a gate.")
    voters: int = option("Voters that there could ever be.")
    diversity: int = option(DIVERSITY, default=0)
    radius: int = option(RADIUS, default=0)
    epsilon: float | None = option(
        "Count the voters that these nats take, gate apart.", default=None
    )


def plan(settings: PlanSettings, _: Run) -> Result:
    """Count the voters that p-REC needs.

    Also computes what it reveals about each voter: with a gate, always; without one, if enough
    voters agree with the client in every round, which nobody can check.
    """
    from tacit.designs.prec import planner

    planned = planner.plan(**vars(settings))
    exact = planned["epsilon_exact"] or {}
    known = {mode: "bound" if exact.get(mode) is None else "exact" for mode in ("floor", "promise")}
    proven = planned["epsilon_proven"]
    losses = Table(
        "",
        ("epsilon of one voter's whole history", "at most", "known as"),
        [
            ("with a gate, its own part not counted", proven["floor"], known["floor"]),
            ("without a gate, promise kept", proven["promise"], known["promise"]),
            ("theorem, tight constants", planned["epsilon_tight"], "bound"),
            ("theorem, as in the paper", planned["epsilon_paper"], "bound"),
            ("nobody below with this loss", planned["epsilon_lower_bound"], "lower bound"),
        ],
    )
    disliked = Table(
        "",
        ("disliked recommendations, promise kept", "number"),
        [
            ("expected, at most", planned["loss_bound"]),
            ("in 99 of 100 runs, at most", planned["likely_loss_bound"]),
            ("nobody below", planned["loss_lower_bound"]),
        ],
    )
    shown: list[Table | str] = [losses, disliked, advice(planned)]
    if planned["epsilon_exact_reason"] is not None:
        shown.append(planned["epsilon_exact_reason"])
    return Result(planned, shown, "docs/prec-theory.md  says how these numbers are found.")


def advice(planned: Mapping[str, Any]) -> str:
    """In a few sentences: what is revealed, the assumption, and how many voters it takes."""
    proven, peers, voters = planned["epsilon_proven"], planned["peers"], planned["voters"]
    kept = f"{'the credits of ' * (planned['diversity'] + planned['radius'] > 0)}{peers:,} voters"
    said = (
        f"A gate that keeps {kept} in play limits what {planned['rounds']:,} recommendations "
        f"reveal about any one of {voters:,} to {proven['floor']:.3f} nats, besides the gate's own "
        f"epsilon and delta. Without a gate it is {proven['promise']:.3f} nats if {peers:,} voters "
        "agree with the client throughout, which cannot be checked; otherwise there is no limit."
    )
    if (needed := planned.get("peers_needed")) is None:
        return said
    said += f" For epsilon {needed['epsilon']:g} "
    if needed["floor"] is None:
        return f"{said}not even all {voters:,} voters are enough."
    known = "a gate has to keep {:,}, exactly"
    if needed["exact_floor"] is None:
        known = "it is known to be enough that a gate keeps {:,}"
    return f"{said}{known.format(needed['floor'])}; the theorem asks for {needed['theorem']:,}."


PLAN = Command(PlanSettings, plan)
