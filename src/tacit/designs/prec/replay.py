"""Replay of a run: the voters' credits are rebuilt from votes and clients' transcripts.

No recommendation is drawn, which shows that credits depend on clients through transcripts alone.
"""

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
    """Candidates and votes of one round, and the voters who join and leave before it."""

    candidates: Collection[Any]
    """Ids of the round's candidates."""
    votes: Mapping[Any, Any] | tuple[Any, Any]
    """Mapping of voter id to candidate id, or two aligned columns (voters, candidates)."""
    joining_voters: Collection[Any] = ()
    """Ids of voters who join before the round."""
    leaving_voters: Collection[Any] = ()
    """Ids of voters who leave before the round."""


def replay(
    settings: PRecSettings,
    rounds: Iterable[Round],
    transcripts: Mapping[Id, Transcript],
    *,
    number: int,
    randomness: Source,
    clients_who_left: Collection[Id] = (),
) -> PRec:
    """Rebuild a curator as it was after these rounds, from its clients' transcripts.

    The rebuilt curator refuses recommendations to clients whose recommendations were replayed; new
    clients may join.

    Args:
        settings: Settings of the run.
        rounds: What happened in each round, in order.
        transcripts: What each client was recommended and answered, by the client's id.
        number: Number of the run (`PRec.number`), which abstainers' votes depend on.
        randomness: Source of draws for clients who join later.
        clients_who_left: Ids of clients who left. No credit depends on them, but they count as
            clients who joined, and cannot join again.

    Raises:
        DataError: A transcript does not fit the rounds, or the votes of a round are not valid.
    """
    server = PRec(settings, randomness=randomness, number=number)
    for client in clients_who_left:
        server.join(client)
        server.leave(client)
    _record_open_round(server, transcripts)
    for recorded_round in rounds:
        server.join_voters(recorded_round.joining_voters)
        server.leave_voters(recorded_round.leaving_voters)
        server.open_round(recorded_round.candidates, recorded_round.votes)
        _record_open_round(server, transcripts)
    for client, recorded in transcripts.items():
        replayed = server.transcript(client) if client in server.clients else None
        if replayed is not None and recorded.joined_round is None:
            # The client joined before the first round, and the transcript was recorded then
            replayed = replace(replayed, joined_round=None)
        if replayed != recorded or len(recorded.entries) > settings.rounds:
            raise DataError(
                f"the transcript of client {client!r} does not fit the rounds that were given",
                expected=f"what can happen in {server.round} rounds",
            )
    return server


def _record_open_round(server: PRec, transcripts: Mapping[Id, Transcript]) -> None:
    """Let clients join and record their entries as their transcripts say for the open round.

    Clients whose `joined_round` is this round join. Before the first round, clients with a
    `joined_round` of None join. An entry whose candidate is none of the round's is left out.
    """
    for client, recorded in transcripts.items():
        first_round = 0 if recorded.joined_round is None else recorded.joined_round
        if first_round == server.round:
            server.join(client)
        if client not in server.clients:
            continue
        stopped_round = recorded.stopped_round
        has_stopped = stopped_round is not None and stopped_round <= server.round
        for entry in recorded.entries:
            if entry.round == server.round and entry.candidate in server.candidates:
                unanswered = replace(entry, liked=None)
                server.record_recommendation(client, unanswered, has_stopped=has_stopped)
                if entry.liked is not None:
                    server.feedback(client, entry.liked)
                break
