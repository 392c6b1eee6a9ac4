"""The state of a run again, from its votes and its transcripts, with nothing drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tacit.designs.prec.curator import PRec
from tacit.designs.prec.incoming_votes import Id
from tacit.designs.prec.records import Entry, Round, Transcript
from tacit.designs.prec.settings import PRecSettings
from tacit.errors import DataError
from tacit.randomness import Source


def replay(
    settings: PRecSettings,
    rounds: Iterable[Round],
    transcripts: Mapping[Id, Transcript],
    *,
    number: int,
    randomness: Source,
    left: Collection[Id] = (),
) -> PRec:
    """A curator in the state after these rounds, if clients were given and said what is recorded.

    number: of the run (`PRec.number`), from which abstainers' votes follow. left: clients who left;
    nobody's state depends on them, but their runs count and they cannot begin another. It serves
    no replayed client.
    """
    server = PRec(settings, randomness=randomness, number=number)
    for client in left:
        server.join(client)
        server.leave(client)
    by_round: dict[int, list[tuple[Id, Entry]]] = {}
    for client, transcript in transcripts.items():
        for entry in transcript.entries:
            by_round.setdefault(entry.round, []).append((client, entry))
    for at, opened in enumerate(rounds, 1):
        server.join_voters(opened.joined)
        server.leave_voters(opened.left)
        server.open_round(opened.candidates, opened.votes)
        for client, transcript in transcripts.items():
            if (transcript.joined or 1) == at:
                server.join(client)
        for client, entry in by_round.get(at, []):
            stop = transcripts[client].stopped
            server.record(client, entry.candidate, stopped=stop is not None and stop <= at)
            if entry.liked is not None:
                server.feedback(client, entry.liked)
    last = max((told.last for told in transcripts.values()), default=0)
    if last > server.round:
        raise DataError(
            "a transcript goes on after the rounds that were given",
            found=f"round {last}",
            expected=f"at most {server.round}",
        )
    return server
