"""A run as a file and back, or again from its votes and transcripts.

A file holds votes and the gates' noise: it is as secret as the votes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.designs.prec.clients import Block, Entry, Round, Run, Transcript
from tacit.designs.prec.curator import PRec
from tacit.designs.prec.settings import PRecSettings
from tacit.designs.prec.voters import Id, candidate_index, column, plain_id
from tacit.engine.votes import CLIENTS
from tacit.errors import DataError, ModelFileError, TacitError
from tacit.mechanisms.gate import GateRun
from tacit.randomness import Source
from tacit.recommenders.headers import read_array

_KIND = "p-rec"
_PLANES = ("alive", "both", "radius")
Arrays = Mapping[str, NDArray[Any]]


def pack(server: PRec) -> bytes:
    """All of it, as a file holds it; voters who left are nameless there."""
    voters = server._voters
    ids = voters.ids.copy()
    numbered = ids.dtype != object
    ids[~voters.present] = 0 if numbered else ""
    header = {
        "recommender": _KIND,
        "settings": server.settings.to_header(),
        "plan": _planned(server),
        "number": f"{server.number:016x}",
        "round": server.round,
        "begun": server.begun,
        "blocks": len(server._blocks),
        "candidates": list(server.candidates),
        "clients": [
            [name, *_packed(run, server._blocks.index(run.block))]
            for name, run in server._runs.items()
        ],
        "left": sorted(server._left, key=str),
        "voters": None if numbered else ids.tolist(),
    }
    arrays: dict[str, NDArray[Any]] = {
        "votes": server._votes.astype(np.int32),
        "electorate": server._electorate.view(np.uint8),
        "present": voters.present.view(np.uint8),
    }
    if numbered:
        arrays["voters"] = ids
    for number, block in enumerate(server._blocks):
        for name in _PLANES:
            arrays[f"{number}.{name}"] = getattr(block.credit, name).view(np.int64)
    return container.pack(header, arrays)


def built(
    kind: type[PRec],
    content: tuple[Mapping[str, Any], Arrays],
    path: str | Path,
    randomness: Source,
    known: PRecSettings | None = None,
) -> PRec:
    """The run that goes on from what `container` read at this path. known: its settings, if they
    are known and planned for already."""
    header, arrays = content
    if header.get("recommender") != _KIND:
        raise ModelFileError(f"{path}: holds no run of p-REC. Make one with PRec.save(path).")
    try:
        settings, number = PRecSettings.from_header(header["settings"]), int(header["number"], 16)
        if known is not None and known != settings:
            raise ValueError("it is a run of other settings")
        settings = settings if known is None else known
        server = kind(settings, randomness=randomness, number=number)
        _restore(server, header, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, TacitError) as error:
        raise ModelFileError(
            f"{path}: its content is incomplete ({error}). Take another copy of the file."
        ) from None
    return server


def _packed(run: Run, block: int) -> list[Any]:
    """JSON values, the gate's secret among them."""
    rows = [[entry.round, entry.candidate, entry.liked] for entry in run.entries]
    gate = None if run.gate is None else run.gate._threshold
    return [[block, run.place], gate, run.replayed, [run.joined, rows, run.stopped], run.passed]


def _restore(server: PRec, header: Mapping[str, Any], arrays: Arrays) -> None:
    same = header["plan"] == _planned(server)
    _require(same, "its gates were drawn for another division of epsilon than this version's")
    server.round = _whole(header["round"])
    _restore_round(server, header, arrays)
    server._blocks = [_block(server, arrays, at) for at in range(_whole(header["blocks"]))]
    server._left = {plain_id(name) for name in header["left"]}
    server._runs = {plain_id(name): _run(server, run) for name, *run in header["clients"]}
    taken = {(run.block, run.place) for run in server._runs.values()}
    every = [(block, place) for block in server._blocks for place in range(CLIENTS)]
    server._free = [seat for seat in reversed(every) if seat not in taken]
    distinct = len(taken) == len(header["clients"]) and not server._left & set(server._runs)
    _require(distinct, "its clients are not distinct")
    most = server.begun if server.settings.clients is None else server.settings.clients
    counted = _whole(header["begun"]) == server.begun <= most
    _require(counted, "it counts another number of runs than it holds")


def _planned(server: PRec) -> list[float] | None:
    """What the gates were drawn for; with another threshold or epsilon they promise nothing."""
    plan = server.plan
    return None if plan is None else [plan.peers, plan.slack, plan.gate]


def _restore_round(server: PRec, header: Mapping[str, Any], arrays: Arrays) -> None:
    present = _bits(arrays, "present")
    named = header["voters"]
    ids = column(read_array(arrays, "voters", None) if named is None else named)
    _require(len(ids) == len(present), "its voters do not fit their state")
    server._voters.restore(ids, present)
    server._electorate = _bits(arrays, "electorate")
    rows = len(server._electorate)
    if server.round:
        index = candidate_index(header["candidates"], server.settings.objects)
        server.candidates = tuple(index.ids.tolist())
    votes = read_array(arrays, "votes", rows)
    _require(votes.dtype == np.int32, "its votes are no places")
    placed = ((votes >= 0) & (votes < len(server.candidates))).all()
    _require(rows <= len(present) and placed, "its votes do not fit its voters and candidates")
    server._votes = votes.astype(np.uint16)


def _run(server: PRec, values: list[Any]) -> Run:
    (block, place), drawn, replayed, (joined, rows, stopped), passed = values
    _require(type(replayed) is bool, "a client was replayed or not")
    _require(0 <= _whole(place) < CLIENTS, "a client has no place in a block")
    _require(type(passed) is int and passed >= 0, "a gate's last round is no round")
    _require(passed <= server.round, "a gate has let pass in a round that was not opened")
    for number in (joined, stopped):
        _whole(1 if number is None else number, least=1)
    gate = None
    if server.plan is not None:
        # Noise on counts that the saved run drew ahead was never used, and is drawn anew
        gate = GateRun(server.plan.mechanism, drawn=_whole(drawn, least=None))
        gate._stopped = stopped is not None
    entries = [Entry(_whole(number, least=1), plain_id(one), liked) for number, one, liked in rows]
    rounds = [entry.round for entry in entries]
    answers = {type(entry.liked) for entry in entries}
    _require(answers <= {bool, type(None)}, "a client likes, dislikes or is silent")
    ascending = all(earlier < later for earlier, later in pairwise(rounds))
    _require(ascending, "a client's rounds do not ascend")
    joins = (joined is None) == (server.round == 0) and (joined or 0) <= server.round
    _require(joins, "a client joined in no round of this run")
    within = all((joined or 1) <= number <= server.round for number in rounds)
    _require(within, "a client has a recommendation of a round that they did not take part in")
    fits = len(rounds) <= server.settings.rounds and (stopped is None or stopped in rounds)
    _require(fits, "a client has more recommendations than there were rounds, or lacks one")
    seat = server._blocks[_whole(block)], place
    run = Run(*seat, gate, joined, entries, stopped, passed, replayed)
    now = run.given(server.round)
    offered = now is None or now.candidate in server.candidates
    _require(offered, "a client was given no candidate of the round")
    return run


def _block(server: PRec, arrays: Arrays, number: int) -> Block:
    settings = server.settings
    sizes = {"diversity": settings.diversity, "radius": settings.radius}
    block = Block(len(server._electorate), **sizes)
    for name in _PLANES:
        plane = getattr(block.credit, name)
        values = read_array(arrays, f"{number}.{name}", *plane.shape)
        _require(values.dtype == np.int64, f"'{number}.{name}' is of another type")
        plane[:] = values.view(np.uint64)
    return block


def _bits(arrays: Arrays, name: str) -> NDArray[np.bool_]:
    values = read_array(arrays, name, None)
    _require(values.dtype == np.uint8 and (values <= 1).all(), f"'{name}' does not say yes or no")
    return values.astype(bool)


def _whole(value: Any, *, least: int | None = 0) -> int:
    whole = type(value) is int and (least is None or value >= least)
    _require(whole, "a number in it is not whole")
    return int(value)


def _require(fits: Any, otherwise: str) -> None:
    if not fits:
        raise ValueError(otherwise)


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
    no replayed client. DataError for a transcript that the rounds do not have room for.
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
        run = server._runs.get(client)
        given = [entry for entry in recorded.entries if entry.round == server.round]
        if run is None or not given or given[0].candidate not in server.candidates:
            continue
        run.replayed = True
        if recorded.stopped is not None and recorded.stopped <= server.round:
            run.stopped = run.stopped or server.round
        run.entries.append(replace(given[0], liked=None))
        if given[0].liked is not None:
            server.feedback(client, given[0].liked)
