"""`tacit replay`: run a design on recorded data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import numbers, options, output
from tacit.cli.output import JSON
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.data.votes import Likes, VoteRounds

app = typer.Typer(help="Run a design on recorded data.", no_args_is_help=True)

_SHOWN = 20


@app.callback()
def _designs() -> None:
    """One sub-command per design."""


@app.command()
def prec(
    votes: Annotated[
        Path, typer.Argument(metavar="VOTES", help="A file with columns round, voter, candidate.")
    ],
    voters: Annotated[
        int, typer.Option(min=1, help="A public bound on how many voters there can be.")
    ],
    likes: Annotated[
        Path | None,
        typer.Option(help="A file with columns client, round, candidate: what clients like."),
    ] = None,
    follow: Annotated[
        str | None,
        typer.Option(help="Instead: every client likes exactly what this voter votes for."),
    ] = None,
    clients: Annotated[
        str | None,
        typer.Option(help="Ids with commas; default: all of --likes, or one client."),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Most recommendations of a client; default: all.")
    ] = None,
    objects: Annotated[
        int | None, typer.Option(min=2, help="Most candidates in a round; default: as in VOTES.")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Nats for what --together clients see; inf: no privacy; default: 1, or what "
            "follows from --peers."
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="A chance, such as 1e-6.")] = 1e-6,
    peers: Annotated[
        int | None, typer.Option(min=1, help="Voters whom the gate keeps in play; else chosen.")
    ] = None,
    diversity: Annotated[int, typer.Option(min=0, help="Rounds with several liked.")] = 0,
    radius: Annotated[int, typer.Option(min=0, help="Disliked objects a peer votes for.")] = 0,
    together: Annotated[
        int, typer.Option(min=1, help="Clients whom epsilon is for, all of them together.")
    ] = 1,
    variant: options.Variant = "sound",
    as_json: JSON = False,
) -> None:
    """Serve clients from a file of votes, round after round.

    Prints what each was recommended, how often they disliked it, and when their gate closed. Noise
    and draws are the system's: another call gives other recommendations, and costs epsilon again.
    """
    from tacit.data.votes import read_votes

    recorded = read_votes(votes)
    wanted = _likes(recorded, likes, follow, clients)
    settings: dict[str, Any] = {
        "rounds": len(recorded.rounds) if rounds is None else rounds,
        "objects": max(2, recorded.objects) if objects is None else objects,
        "voters": voters,
        "peers": peers,
        "diversity": diversity,
        "radius": radius,
        "variant": variant,
        "epsilon": _epsilon(epsilon, follows=variant == "published" or peers is not None),
        "delta": delta,
        "clients_together": together,
        "clients": max(together, len(wanted)),
    }
    _check_lengths(recorded, wanted, settings)
    result = _served(recorded, wanted, settings, quiet=as_json)
    output.emit(result, as_json=as_json, render=_show)


def _check_lengths(recorded: VoteRounds, wanted: Likes, settings: Mapping[str, Any]) -> None:
    """Before anything is drawn: a replay that stops half way has cost epsilon all the same."""
    if recorded.objects > settings["objects"]:
        raise ConfigError(
            f"A round of the file has {recorded.objects} candidates: --objects is at least that; "
            f"got {settings['objects']}."
        )
    for client, rounds in wanted.items():
        if len(rounds) > settings["rounds"]:
            raise ConfigError(
                f"Client '{client}' is to be served in {len(rounds)} rounds: --rounds is at least "
                f"that; got {settings['rounds']}."
            )


def _epsilon(text: str | None, *, follows: bool) -> float | None:
    """follows: from the peers, where it is not given."""
    if text is None:
        return None if follows else 1.0
    found = numbers.decimals(text, "--epsilon")
    if len(found) > 1:
        raise ConfigError(f"--epsilon is one number here, such as 1, or inf; got {text!r}.")
    return found[0]


def _likes(
    recorded: VoteRounds, likes: Path | None, follow: str | None, clients: str | None
) -> Likes:
    from tacit.data.votes import read_likes

    if (likes is None) == (follow is None):
        raise ConfigError(
            "Say what the clients like: --likes FILE, or --follow VOTER for clients who like "
            "exactly what one voter votes for."
        )
    named = None if clients is None else options.ids_in([clients])
    if likes is not None:
        found = read_likes(likes, recorded)
        if named is None:
            return found
        known: dict[str, int | str] = {str(client): client for client in found}
        for name in named:
            if name not in known:
                raise ConfigError(f"{likes} has no client '{name}'.")
        return {known[name]: found[known[name]] for name in named}
    followed = {
        number: frozenset(
            chosen
            for voter, chosen in zip(each.voters.tolist(), each.chosen.tolist(), strict=True)
            if str(voter) == follow
        )
        for number, each in enumerate(recorded.rounds)
    }
    if not any(followed.values()):
        raise ConfigError(f"No voter '{follow}' votes in any round.")
    return dict.fromkeys(named or ["client"], followed)


def _served(
    recorded: VoteRounds, wanted: Likes, settings: Mapping[str, Any], *, quiet: bool
) -> dict[str, Any]:
    from tacit.designs.prec import PRec, PRecSettings
    from tacit.randomness import secure

    server = PRec(PRecSettings(**settings), randomness=secure())
    with output.progress("Replaying", len(recorded.rounds), quiet=quiet) as advance:
        for number, opened in enumerate(recorded.rounds):
            server.open_round(opened.candidates, (opened.voters, opened.chosen))
            for client, rounds in wanted.items():
                if number in rounds:
                    server.feedback(client, server.recommend(client) in rounds[number])
            advance(1)
    names = [each.name for each in recorded.rounds]
    plan = server.plan
    return {
        "settings": server.settings.to_header(),
        "candidates_listed": recorded.listed,
        "plan": None
        if plan is None
        else {"peers": plan.peers, "threshold": plan.threshold, "basis": plan.basis},
        "clients": [_client(server, client, names) for client in wanted],
        "guarantees": [card.to_dict() for card in server.guarantees()],
    }


def _client(server: Any, client: int | str, names: list[int | str]) -> dict[str, Any]:
    told = server.transcript(client)
    return {
        "client": client,
        "asked": len(told.entries),
        "loss": sum(not entry.liked for entry in told.entries),
        "gate_closed": None if told.stopped is None else names[told.stopped - 1],
        "recommendations": [
            {"round": names[entry.round - 1], "candidate": entry.candidate, "liked": entry.liked}
            for entry in told.entries
        ],
    }


def _show(result: dict[str, Any]) -> None:
    clients = result["clients"]
    for one in clients[:1]:
        shown = one["recommendations"][:_SHOWN]
        output.table(
            f"client {one['client']}",
            ("round", "recommended", "liked"),
            [(str(r["round"]), r["candidate"], "yes" if r["liked"] else "no") for r in shown],
        )
        if len(shown) < one["asked"]:
            output.console.print(f"and {one['asked'] - len(shown):,} more: --json", style="dim")
        output.console.print()
    output.table(
        "",
        ("client", "recommendations", "disliked", "gate shut in round"),
        [
            (
                str(one["client"]),
                one["asked"],
                one["loss"],
                "never" if one["gate_closed"] is None else str(one["gate_closed"]),
            )
            for one in clients
        ],
    )
    output.console.print(result["guarantees"][0]["sentence"], soft_wrap=True, markup=False)
    if not result["candidates_listed"]:
        output.console.print(
            "The candidates were read off the votes, which the guarantee does not cover: add a row "
            "without a voter for each candidate of each round.",
            soft_wrap=True,
        )
    asked = result["settings"]
    output.next_step(
        f"Next:  tacit plan prec --objects {asked['objects']} --rounds {asked['rounds']} "
        f"--peers {(result['plan'] or {'peers': asked['objects'] * 6})['peers']} "
        f"--voters {asked['voters']}  says what that rests on."
    )
