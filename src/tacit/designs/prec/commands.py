"""What `tacit plan prec` and `tacit replay prec` ask, do and show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.design import Command, Run, option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table

if TYPE_CHECKING:
    from tacit.data.votes import Likes, VoteRounds
    from tacit.designs.prec import PRec

DELTA = "Probability that the bound of epsilon fails, such as 1e-6."
DIVERSITY = "Rounds at most in which the client likes several objects."
RADIUS = "Votes of a peer at most for objects that the client dislikes."
TOGETHER = "Clients whom epsilon is for, all of them together."


@dataclass(frozen=True)
class PlanSettings:
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
    credits_of = "the credits of " if planned["diversity"] + planned["radius"] else ""
    text = (
        f"A gate that keeps {credits_of}{peers:,} voters in play limits what "
        f"{planned['rounds']:,} recommendations reveal about any one of {voters:,} to "
        f"{proven['floor']:.3f} nats, besides the gate's own epsilon and delta. Without a gate it "
        f"is {proven['promise']:.3f} nats if {peers:,} voters agree with the client throughout, "
        "which cannot be checked; otherwise there is no limit."
    )
    if (needed := planned.get("peers_needed")) is None:
        return text
    text += f" For epsilon {needed['epsilon']:g} "
    if (floor := needed["floor"]) is None:
        return f"{text}not even all {voters:,} voters are enough."
    known = f"a gate has to keep {floor:,}, exactly"
    if needed["exact_floor"] is None:
        known = f"it is known to be enough that a gate keeps {floor:,}"
    return f"{text}{known}; the theorem asks for {needed['theorem']:,}."


@dataclass(frozen=True)
class ReplaySettings:
    votes: Path = option("A file with columns round, voter, candidate.", argument="VOTES")
    voters: int = option("A public bound on how many voters there can be.", least=1)
    likes: Path | None = option(
        "A file with columns client, round, candidate: what clients like.", default=None
    )
    follow: str | None = option(
        "Instead: one client likes exactly what this voter votes for.", default=None
    )
    epsilon: float | None = option(
        "Epsilon for what --together clients see; inf: no privacy; default: 1, or computed from "
        "--peers.",
        default=None,
    )
    delta: float = option(DELTA, default=1e-6)
    peers: int | None = option(
        "Voters whom the gate keeps in play; else chosen.", default=None, least=1
    )
    diversity: int = option(DIVERSITY, default=0, least=0)
    radius: int = option(RADIUS, default=0, least=0)
    together: int = option(TOGETHER, default=1, least=1)
    variant: str = option("'sound', or 'published' as the paper prints it.", default="sound")

    def __post_init__(self) -> None:
        if (self.likes is None) == (self.follow is None):
            raise ConfigError(
                "Say what the clients like: --likes FILE, or --follow VOTER for a client who likes "
                "exactly what one voter votes for."
            )


def replay(settings: ReplaySettings, run: Run) -> Result:
    """Serve clients from a file of votes, round after round.

    Prints what each was recommended, how often they disliked it, and when their gate closed. Noise
    and draws are the system's: another call gives other recommendations, and costs epsilon again.
    """
    from tacit.data.votes import read_votes
    from tacit.designs.prec import PRec, PRecSettings
    from tacit.randomness import secure

    recorded = read_votes(settings.votes)
    wanted = _likes(recorded, settings)
    names = ("voters", "peers", "diversity", "radius", "variant", "epsilon", "delta")
    asked: dict[str, Any] = {name: getattr(settings, name) for name in names}
    if settings.epsilon is None and settings.peers is None and settings.variant != "published":
        asked["epsilon"] = 1.0
    asked["clients"] = max(settings.together, len(wanted))
    asked["clients_together"] = settings.together
    made = PRecSettings(len(recorded.rounds), max(2, recorded.objects), **asked)
    server = PRec(made, randomness=secure())
    with run.progress("Replaying", len(recorded.rounds)) as advance:
        for number, opened in enumerate(recorded.rounds):
            server.open_round(opened.candidates, (opened.voters, opened.chosen))
            for client, rounds in wanted.items():
                if number in rounds:
                    server.feedback(client, server.recommend(client) in rounds[number])
            advance(1)
    return _shown(server, recorded, wanted)


def _likes(recorded: VoteRounds, settings: ReplaySettings) -> Likes:
    from tacit.data.votes import read_likes

    if settings.likes is not None:
        return read_likes(settings.likes, recorded)
    followed = {
        number: frozenset(each.chosen[each.voters.astype(str) == settings.follow].tolist())
        for number, each in enumerate(recorded.rounds)
    }
    if not any(followed.values()):
        raise ConfigError(f"No voter '{settings.follow}' votes in any round.")
    return {"client": followed}


def _shown(server: PRec, recorded: VoteRounds, wanted: Likes) -> Result:
    plan, guarantees = server.plan, server.guarantees()
    clients = [_client(server, client, recorded) for client in wanted]
    planned = plan and {name: getattr(plan, name) for name in ("peers", "threshold", "basis")}
    data = {
        "settings": server.settings.to_header(),
        "candidates_listed": recorded.listed,
        "plan": planned,
        "clients": clients,
        "guarantees": [card.to_dict() for card in guarantees],
    }
    columns = {
        "client": lambda one: str(one["client"]),
        "recommendations": lambda one: one["asked"],
        "disliked": lambda one: one["loss"],
        "gate shut in round": lambda one: (
            "never" if one["gate_closed"] is None else str(one["gate_closed"])
        ),
    }
    shown: list[Table | str] = [Table.from_rows("", columns, clients), guarantees[0].sentence]
    if not recorded.listed:
        shown.append(
            "The candidates were read off the votes, which the guarantee does not cover: add a row "
            "without a voter for each candidate of each round."
        )
    return Result(data, shown, "--json  has every recommendation.")


def _client(server: PRec, client: int | str, recorded: VoteRounds) -> dict[str, Any]:
    names: list[Any] = [None, *(each.name for each in recorded.rounds)]  # rounds count from 1
    seen = server.transcript(client)
    return {
        "client": client,
        "asked": len(seen.entries),
        "loss": sum(not entry.liked for entry in seen.entries),
        "gate_closed": names[seen.stopped or 0],
        "recommendations": [
            {"round": names[entry.round], "candidate": entry.candidate, "liked": entry.liked}
            for entry in seen.entries
        ],
    }


PLAN = Command(PlanSettings, plan)
REPLAY = Command(ReplaySettings, replay)
