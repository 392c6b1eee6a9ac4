"""Replay of a run from its votes and its clients' transcripts: nothing is drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tacit.designs.prec.clients import Transcript
from tacit.designs.prec.model import PRec
from tacit.designs.prec.settings import PRecSettings
from tacit.designs.prec.voters import Id
from tacit.errors import DataError
from tacit.randomness import Source


@dataclass(frozen=True)
class Round:
    """Input of one round, and voters who join and leave before it."""

    candidates: Collection[Any]
    """Ids of the round's objects."""
    votes: Mapping[Any, Any] | tuple[Any, Any]
    """Voter id to candidate id, or two aligned columns (voters, candidates)."""
    joined: Collection[Any] = ()
    """Ids of voters who join before it."""
    left: Collection[Any] = ()
    """Ids of voters who leave before it."""


def replay(
    settings: PRecSettings,
    rounds: Iterable[Round],
    transcripts: Mapping[Id, Transcript],
    *,
    number: int,
    randomness: Source,
    left: Collection[Id] = (),
) -> PRec:
    """Rebuild a curator after these rounds from what its clients were given and answered.

    It serves no replayed client.

    Args:
        settings: Settings of the run.
        rounds: Their input, in order.
        transcripts: Views of the clients.
        number: Number of the run (`PRec.number`), from which abstainers' votes follow.
        randomness: For clients who join later.
        left: Clients who left; nobody's state depends on them, but their runs count and they cannot
            begin another.

    Raises:
        DataError: A transcript does not fit the rounds.
    """
    server = PRec(settings, randomness=randomness, number=number)
    for client in left:
        server.join(client)
        server.leave(client)
    _record(server, transcripts)
    for opened in rounds:
        server.join_voters(opened.joined)
        server.leave_voters(opened.left)
        server.open_round(opened.candidates, opened.votes)
        _record(server, transcripts)
    for client, recorded in transcripts.items():
        replayed = server.transcript(client) if client in server.clients else None
        if replayed is not None and recorded.joined is None:
            replayed = replace(replayed, joined=None)
        if replayed != recorded or len(recorded.entries) > settings.rounds:
            raise DataError(
                "a transcript does not fit the rounds that were given",
                found=f"of client {client!r}",
                expected=f"what can happen in {server.round} rounds",
            )
    return server


def _record(server: PRec, transcripts: Mapping[Id, Transcript]) -> None:
    """Put in what clients were given in the open round, where it fits: nothing is drawn."""
    for client, recorded in transcripts.items():
        if (recorded.joined or 0) == server.round:
            server.join(client)
        if client not in server.clients:
            continue
        for entry in recorded.entries:
            if entry.round == server.round and entry.candidate in server.candidates:
                has_stopped = recorded.stopped is not None and recorded.stopped <= server.round
                server.put_in(client, replace(entry, liked=None), has_stopped=has_stopped)
                if entry.liked is not None:
                    server.feedback(client, entry.liked)
                break
