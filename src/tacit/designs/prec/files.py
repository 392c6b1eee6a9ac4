"""The state of a run between two of its lives, and the file that holds it.

A file holds votes and the gates' noise: it is as secret as the votes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.designs.prec.clients import Entry, Transcript
from tacit.designs.prec.settings import PRecSettings
from tacit.designs.prec.voters import Column, Id, candidate_index, column, plain_id
from tacit.engine.votes import CLIENTS, Credits, Votes, no_credits
from tacit.errors import UNUSABLE_CONTENT, ModelFileError
from tacit.recommenders.headers import read_array

KIND = "p-rec"
PLANES = ("alive", "both", "radius")
"""Bits of a block's voters, in the order of the file."""
Arrays = Mapping[str, NDArray[Any]]
Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class ClientState:
    """One client's run."""

    block: int
    """Number of the block with the credits of its voters."""
    place: int
    """Place in the block."""
    drawn: int | None
    """The gate's noisy threshold; None without a gate."""
    is_replayed: bool
    """Whether another curator's recommendations were put in."""
    transcript: Transcript
    """What the client was given and said."""
    passed: int
    """The last round that the gate let pass."""


@dataclass(frozen=True, eq=False)
class RunState:
    """Everything that a run's curator knows, between two rounds or within one."""

    settings: PRecSettings
    """Settings of the run."""
    plan: tuple[float, ...] | None
    """Peers, slack and epsilon that the gates were drawn for; None without gates."""
    number: int
    """Number of the run, from which abstainers' votes follow."""
    round: int
    """The open round, from 1; 0 before the first."""
    begun: int
    """How many clients' runs have begun."""
    candidates: tuple[Id, ...]
    """Candidates of the open round."""
    clients: Mapping[Id, ClientState]
    """Clients by id, in the order in which they joined."""
    left: frozenset[Id]
    """Ids of clients who left."""
    voters: Column
    """(rows,) ids, nameless for voters who left."""
    present: Bits
    """(rows,) which voters have not left."""
    votes: Votes
    """(rows,) place of each vote in the open round."""
    electorate: Bits
    """(rows,) whose votes count in the open round."""
    blocks: tuple[Credits, ...]
    """Credits of voters, for up to CLIENTS clients each."""


def pack_state(state: RunState) -> bytes:
    """Write a state as its file holds it."""
    has_numbers = state.voters.dtype != object
    header = {
        "recommender": KIND,
        "settings": state.settings.to_header(),
        "plan": None if state.plan is None else list(state.plan),
        "number": f"{state.number:016x}",
        "round": state.round,
        "begun": state.begun,
        "blocks": len(state.blocks),
        "candidates": list(state.candidates),
        "clients": [[name, *_client_values(client)] for name, client in state.clients.items()],
        "left": sorted(state.left, key=str),
        "voters": None if has_numbers else state.voters.tolist(),
    }
    arrays: dict[str, NDArray[Any]] = {
        "votes": state.votes.astype(np.int32),
        "electorate": state.electorate.view(np.uint8),
        "present": state.present.view(np.uint8),
    }
    if has_numbers:
        arrays["voters"] = state.voters
    for number, credit in enumerate(state.blocks):
        for name, plane in zip(PLANES, _planes(credit), strict=True):
            arrays[f"{number}.{name}"] = plane.view(np.int64)
    return container.pack(header, arrays)


def read_state(content: tuple[Mapping[str, Any], Arrays], path: str | Path) -> RunState:
    """Read a state from what `container` read at a path.

    Raises:
        ModelFileError: It is no run, or its parts do not fit each other.
    """
    header, arrays = content
    if header.get("recommender") != KIND:
        raise ModelFileError(f"{path}: holds no run of p-REC. Make one with PRec.save(path).")
    try:
        return _read_parts(header, arrays)
    except UNUSABLE_CONTENT as error:
        raise incomplete_run_error(path, error) from None


def incomplete_run_error(path: str | Path, error: Exception) -> ModelFileError:
    """Make the error for a file whose content is no whole run."""
    return ModelFileError(
        f"{path}: its content is incomplete ({error}). Take another copy of the file."
    )


def require(fits: Any, otherwise: str) -> None:
    """Check that something fits.

    Raises:
        ValueError: It does not; `otherwise` says what is wrong.
    """
    if not fits:
        raise ValueError(otherwise)


def _client_values(client: ClientState) -> list[Any]:
    """Write a client as JSON values, the gate's secret among them."""
    seen = client.transcript
    rows = [[entry.round, entry.candidate, entry.liked] for entry in seen.entries]
    transcript = [seen.joined, rows, seen.stopped]
    place = [client.block, client.place]
    return [place, client.drawn, client.is_replayed, transcript, client.passed]


def _planes(credit: Credits) -> tuple[NDArray[np.uint64], ...]:
    """List the arrays of a block's credits, in the order of PLANES."""
    return credit.alive, credit.both, credit.radius


def _read_parts(header: Mapping[str, Any], arrays: Arrays) -> RunState:
    settings = PRecSettings.from_header(header["settings"])
    number = int(header["number"], 16)
    plan = header["plan"]
    open_round = _whole_number(header["round"])
    present = _read_bits(arrays, "present")
    named = header["voters"]
    voters = column(read_array(arrays, "voters", None) if named is None else named)
    require(len(voters) == len(present), "its voters do not fit their state")
    electorate = _read_bits(arrays, "electorate")
    rows = len(electorate)
    candidates: tuple[Id, ...] = ()
    if open_round:
        index = candidate_index(header["candidates"], settings.objects)
        candidates = tuple(index.ids.tolist())
    votes = read_array(arrays, "votes", rows)
    require(votes.dtype == np.int32, "its votes are no places")
    are_placed = ((votes >= 0) & (votes < len(candidates))).all()
    fits = rows <= len(present) and are_placed
    require(fits, "its votes do not fit its voters and candidates")
    count = _whole_number(header["blocks"])
    blocks = [_read_block(settings, arrays, place, rows) for place in range(count)]
    clients = {}
    for name, *values in header["clients"]:
        clients[plain_id(name)] = _read_client(values, settings, open_round, candidates)
    require(len(clients) == len(header["clients"]), "its clients are not distinct")
    return RunState(
        settings=settings,
        plan=None if plan is None else tuple(plan),
        number=number,
        round=open_round,
        begun=_whole_number(header["begun"]),
        candidates=candidates,
        clients=clients,
        left=frozenset(plain_id(name) for name in header["left"]),
        voters=voters,
        present=present,
        votes=votes.astype(np.uint16),
        electorate=electorate,
        blocks=tuple(blocks),
    )


def _read_block(settings: PRecSettings, arrays: Arrays, number: int, rows: int) -> Credits:
    credit = no_credits(rows, diversity=settings.diversity, radius=settings.radius)
    for name, plane in zip(PLANES, _planes(credit), strict=True):
        values = read_array(arrays, f"{number}.{name}", *plane.shape)
        require(values.dtype == np.int64, f"'{number}.{name}' is of another type")
        plane[:] = values.view(np.uint64)
    return credit


def _read_client(
    values: list[Any], settings: PRecSettings, open_round: int, candidates: tuple[Id, ...]
) -> ClientState:
    """Read one client, and hold the transcript against the rounds of the run."""
    (block, place), drawn, is_replayed, (joined, rows, stopped), passed = values
    require(type(is_replayed) is bool, "a client was replayed or not")
    require(0 <= _whole_number(place) < CLIENTS, "a client has no place in a block")
    require(type(passed) is int and passed >= 0, "a gate's last round is no round")
    require(passed <= open_round, "a gate has let pass in a round that was not opened")
    for number in (joined, stopped):
        _whole_number(1 if number is None else number, least=1)
    if settings.has_gate:
        _whole_number(drawn, least=None)
    entries = []
    for number, candidate, liked in rows:
        entries.append(Entry(_whole_number(number, least=1), plain_id(candidate), liked))
    _check_entries(entries, settings, open_round, joined, stopped)
    if entries and entries[-1].round == open_round:
        is_offered = entries[-1].candidate in candidates
        require(is_offered, "a client was given no candidate of the round")
    transcript = Transcript(joined, tuple(entries), stopped)
    return ClientState(_whole_number(block), place, drawn, is_replayed, transcript, passed)


def _check_entries(
    entries: list[Entry],
    settings: PRecSettings,
    open_round: int,
    joined: int | None,
    stopped: int | None,
) -> None:
    """Check that recommendations can have been given in this order.

    Raises:
        ValueError: They cannot.
    """
    rounds = [entry.round for entry in entries]
    answers = {type(entry.liked) for entry in entries}
    require(answers <= {bool, type(None)}, "a client likes, dislikes or is silent")
    is_ascending = all(earlier < later for earlier, later in pairwise(rounds))
    require(is_ascending, "a client's rounds do not ascend")
    joins = (joined is None) == (open_round == 0) and (joined or 0) <= open_round
    require(joins, "a client joined in no round of this run")
    are_within = all((joined or 1) <= number <= open_round for number in rounds)
    require(are_within, "a client has a recommendation of a round that they did not take part in")
    fits = len(rounds) <= settings.rounds and (stopped is None or stopped in rounds)
    require(fits, "a client has more recommendations than there were rounds, or lacks one")


def _read_bits(arrays: Arrays, name: str) -> Bits:
    values = read_array(arrays, name, None)
    is_bits = values.dtype == np.uint8 and (values <= 1).all()
    require(is_bits, f"'{name}' does not say yes or no")
    return values.astype(bool)


def _whole_number(value: Any, *, least: int | None = 0) -> int:
    is_whole = type(value) is int and (least is None or value >= least)
    require(is_whole, "a number in it is not whole")
    return int(value)
