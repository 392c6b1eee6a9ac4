"""The saved state of a run, and the file that holds it.

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
from tacit.designs.prec.voters import Id, Ids, index_candidates, read_id, read_ids
from tacit.engine.votes import CLIENTS, Credits, Votes, make_empty_credits
from tacit.errors import UNUSABLE_CONTENT, ModelFileError
from tacit.recommenders.headers import read_array

KIND = "p-rec"
"""Value of "recommender" in the header of a run's file."""
CREDIT_ARRAYS = ("alive", "both", "radius")
"""Names of the arrays of a block's `Credits` in the file, in the order of `_credit_arrays`."""
Arrays = Mapping[str, NDArray[Any]]
"""Arrays of a file by name."""
Bits = NDArray[np.bool_]
"""(rows,) a property of each voter."""


@dataclass(frozen=True)
class ClientState:
    """The saved state of one client."""

    block: int
    """Number of the block that holds the voters' credits with this client, from 0."""
    slot: int
    """The client's slot in the block, 0 to CLIENTS - 1."""
    noisy_threshold: int | None
    """The gate's noisy threshold; None without a gate."""
    is_replayed: bool
    """Whether another curator's recommendations were recorded (`Curator.record_recommendation`)."""
    transcript: Transcript
    """What the client was recommended and answered."""
    last_open_round: int
    """The last round in which the gate answered that it is open; 0 if there is none yet."""


@dataclass(frozen=True, eq=False)
class RunState:
    """The saved state of a run: before its first round, or while a round is open."""

    settings: PRecSettings
    """Settings of the run."""
    gate_parameters: tuple[float, ...] | None
    """Peers, slack and epsilon of the gates; None without gates."""
    number: int
    """Number of the run, which abstainers' votes depend on."""
    round: int
    """The open round, from 1; 0 before the first."""
    clients_joined: int
    """How many clients have joined since the run began, also those who have left."""
    candidates: tuple[Id, ...]
    """Candidates of the open round."""
    clients: Mapping[Id, ClientState]
    """Clients by id, in the order in which they joined."""
    clients_who_left: frozenset[Id]
    """Ids of clients who left."""
    voters: Ids
    """(all rows,) ids of voters in the order of joining; 0 or "" for those who left."""
    present: Bits
    """(all rows,) whether a voter has not left."""
    votes: Votes
    """(rows,) position of the candidate that each voter votes for in the open round. Voters who
    joined after the round was opened have no row in it, nor in `electorate` and `blocks`."""
    electorate: Bits
    """(rows,) whether a voter belongs to the open round: all but those who had left before."""
    blocks: tuple[Credits, ...]
    """Blocks of credits. Each block holds the voters' credits with up to CLIENTS clients."""


def pack_state(state: RunState) -> bytes:
    """Encode a state as the bytes of its file: a JSON header, and arrays (`container.pack`)."""
    ids_are_numbers = state.voters.dtype != object
    clients = [[name, *_client_values(client)] for name, client in state.clients.items()]
    header = {
        "recommender": KIND,
        "settings": state.settings.to_header(),
        "plan": None if state.gate_parameters is None else list(state.gate_parameters),
        "number": f"{state.number:016x}",
        "round": state.round,
        "begun": state.clients_joined,
        "blocks": len(state.blocks),
        "candidates": list(state.candidates),
        "clients": clients,
        "left": sorted(state.clients_who_left, key=str),
        "voters": None if ids_are_numbers else state.voters.tolist(),
    }
    arrays: dict[str, NDArray[Any]] = {
        "votes": state.votes.astype(np.int32),
        "electorate": state.electorate.view(np.uint8),
        "present": state.present.view(np.uint8),
    }
    if ids_are_numbers:
        arrays["voters"] = state.voters
    for number, credit in enumerate(state.blocks):
        for name, array in zip(CREDIT_ARRAYS, _credit_arrays(credit), strict=True):
            arrays[f"{number}.{name}"] = array.view(np.int64)
    return container.pack(header, arrays)


def read_state(content: tuple[Mapping[str, Any], Arrays], path: str | Path) -> RunState:
    """Read a state from a file's header and arrays.

    Args:
        content: Header and arrays, as `container` reads them.
        path: The file, or a name for the content; errors begin with it.

    Raises:
        ModelFileError: The content is not a run of p-REC, or its parts do not fit each other.
    """
    header, arrays = content
    if header.get("recommender") != KIND:
        raise ModelFileError(f"{path}: holds no run of p-REC. Make one with PRec.save(path).")
    try:
        return _read_parts(header, arrays)
    except UNUSABLE_CONTENT as error:
        raise incomplete_run_error(path, error) from None


def incomplete_run_error(path: str | Path, error: Exception) -> ModelFileError:
    """Make the error for a file of a run whose parts are missing or do not fit each other."""
    return ModelFileError(
        f"{path}: its content is damaged or incomplete ({error}). Take another copy of the file."
    )


def require(is_met: Any, problem: str) -> None:
    """Check a condition on a file's content.

    Args:
        is_met: Whether the condition holds.
        problem: What is wrong with the content if the condition does not hold, for the error.

    Raises:
        ValueError: The condition does not hold.
    """
    if not is_met:
        raise ValueError(problem)


def _client_values(client: ClientState) -> list[Any]:
    """List a client's state as JSON values, in the order that `_read_client` reads.

    They contain the gate's secret noisy threshold.
    """
    transcript = client.transcript
    return [
        [client.block, client.slot],
        client.noisy_threshold,
        client.is_replayed,
        [
            transcript.joined_round,
            [[entry.round, entry.candidate, entry.liked] for entry in transcript.entries],
            transcript.stopped_round,
        ],
        client.last_open_round,
    ]


def _credit_arrays(credit: Credits) -> tuple[NDArray[np.uint64], ...]:
    """List the arrays of a block's credits, in the order of CREDIT_ARRAYS."""
    return credit.alive, credit.both, credit.radius


def _read_parts(header: Mapping[str, Any], arrays: Arrays) -> RunState:
    """Read every part of a state, and check that the parts fit each other.

    Raises:
        ValueError or another of `errors.UNUSABLE_CONTENT`: A part is missing, has another form or
            is not valid, or two parts do not fit each other.
    """
    settings = PRecSettings.from_header(header["settings"])
    number = int(header["number"], 16)
    gate_parameters = header["plan"]
    open_round = _read_whole_number(header["round"])
    present = _read_bits(arrays, "present")
    if header["voters"] is None:  # ids that are numbers are stored as an array
        voters = read_ids(read_array(arrays, "voters", None))
    else:
        voters = read_ids(header["voters"])
    require(len(voters) == len(present), "it has more or fewer voters than rows for them")
    electorate = _read_bits(arrays, "electorate")
    rows = len(electorate)
    candidates: tuple[Id, ...] = ()
    if open_round:
        index = index_candidates(header["candidates"], settings.objects)
        candidates = tuple(index.ids.tolist())
    votes = read_array(arrays, "votes", rows)
    require(votes.dtype == np.int32, "its votes are not positions of candidates")
    are_for_candidates = ((votes >= 0) & (votes < len(candidates))).all()
    require(are_for_candidates, "a vote is for none of its candidates")
    require(rows <= len(present), "it has more votes than voters")
    block_count = _read_whole_number(header["blocks"])
    blocks = [_read_block(settings, arrays, block, rows) for block in range(block_count)]
    clients = {}
    for name, *values in header["clients"]:
        clients[read_id(name)] = _read_client(values, settings, open_round, candidates)
    require(len(clients) == len(header["clients"]), "its clients are not distinct")
    return RunState(
        settings=settings,
        gate_parameters=None if gate_parameters is None else tuple(gate_parameters),
        number=number,
        round=open_round,
        clients_joined=_read_whole_number(header["begun"]),
        candidates=candidates,
        clients=clients,
        clients_who_left=frozenset(read_id(name) for name in header["left"]),
        voters=voters,
        present=present,
        votes=votes.astype(np.uint16),
        electorate=electorate,
        blocks=tuple(blocks),
    )


def _read_block(settings: PRecSettings, arrays: Arrays, number: int, rows: int) -> Credits:
    """Read the credits of one block.

    Args:
        settings: Settings of the run.
        arrays: Arrays of the file.
        number: Number of the block, from 0.
        rows: How many voters have credits in the block.

    Raises:
        ValueError: An array has another shape or type.
        KeyError: An array is missing.
    """
    credit = make_empty_credits(rows, diversity=settings.diversity, radius=settings.radius)
    for name, array in zip(CREDIT_ARRAYS, _credit_arrays(credit), strict=True):
        values = read_array(arrays, f"{number}.{name}", *array.shape)
        require(values.dtype == np.int64, f"the array '{number}.{name}' is not int64")
        array[:] = values.view(np.uint64)
    return credit


def _read_client(
    values: list[Any], settings: PRecSettings, open_round: int, candidates: tuple[Id, ...]
) -> ClientState:
    """Read what `_client_values` wrote, and check it against the settings and rounds of the run.

    Args:
        values: The client's JSON values.
        settings: Settings of the run.
        open_round: Number of the open round; 0 before the first.
        candidates: Candidates of the open round.

    Raises:
        ValueError or another of `errors.UNUSABLE_CONTENT`: A value is missing, has another form, or
            does not fit the run.
    """
    (block, slot), noisy_threshold, is_replayed, transcript_values, last_open_round = values
    joined_round, entry_values, stopped_round = transcript_values
    require(type(is_replayed) is bool, "whether a client was replayed is neither true nor false")
    require(0 <= _read_whole_number(slot) < CLIENTS, "a client's slot is not a slot of a block")
    is_number = type(last_open_round) is int and last_open_round >= 0
    require(is_number, "the last round in which a gate was open is not a whole number from 0 up")
    require(last_open_round <= open_round, "a gate was open in a round that was not opened")
    for round_number in (joined_round, stopped_round):
        if round_number is not None:
            _read_whole_number(round_number, least=1)
    if settings.has_gate:
        _read_whole_number(noisy_threshold, least=None)
    entries = []
    for round_number, candidate, liked in entry_values:
        entries.append(Entry(_read_whole_number(round_number, least=1), read_id(candidate), liked))
    transcript = Transcript(joined_round, tuple(entries), stopped_round)
    _check_transcript(transcript, settings, open_round)
    if entries and entries[-1].round == open_round:
        is_offered = entries[-1].candidate in candidates
        require(is_offered, "a client was recommended what is no candidate of the open round")
    return ClientState(
        block=_read_whole_number(block),
        slot=slot,
        noisy_threshold=noisy_threshold,
        is_replayed=is_replayed,
        transcript=transcript,
        last_open_round=last_open_round,
    )


def _check_transcript(transcript: Transcript, settings: PRecSettings, open_round: int) -> None:
    """Check that a transcript can be that of a client in a run.

    Args:
        transcript: The client's transcript.
        settings: Settings of the run.
        open_round: Number of the run's open round; 0 before the first.

    Raises:
        ValueError: No client of such a run can have this transcript.
    """
    joined_round = transcript.joined_round
    stopped_round = transcript.stopped_round
    rounds = [entry.round for entry in transcript.entries]
    answer_types = {type(entry.liked) for entry in transcript.entries}
    require(answer_types <= {bool, type(None)}, "a client's answer is not true, false or null")
    is_ascending = all(earlier < later for earlier, later in pairwise(rounds))
    require(is_ascending, "a client's entries are not in the order of their rounds")
    if joined_round is None:
        has_valid_join = open_round == 0
    else:
        has_valid_join = open_round > 0 and joined_round <= open_round
    require(has_valid_join, "a client joined in no round of this run")
    first_round = 1 if joined_round is None else joined_round
    are_in_own_rounds = all(first_round <= number <= open_round for number in rounds)
    require(
        are_in_own_rounds,
        "a client has a recommendation of a round that they did not take part in",
    )
    require(
        len(rounds) <= settings.rounds,
        "a client has more recommendations than the settings allow",
    )
    require(
        stopped_round is None or stopped_round in rounds,
        "a client has no recommendation of the round in which their gate shut",
    )


def _read_bits(arrays: Arrays, name: str) -> Bits:
    """Read an array of zeros and ones, stored as bytes, as (any length,) booleans.

    Raises:
        ValueError: The array has another form or other values.
        KeyError: The array is missing.
    """
    values = read_array(arrays, name, None)
    is_bits = values.dtype == np.uint8 and (values <= 1).all()
    require(is_bits, f"the array '{name}' does not hold zeros and ones")
    return values.astype(bool)


def _read_whole_number(value: Any, *, least: int | None = 0) -> int:
    """Return a JSON value that has to be a whole number.

    Args:
        value: The value.
        least: The smallest number that is valid; None if every whole number is.

    Raises:
        ValueError: The value is not a whole number, or is below `least`.
    """
    is_valid = type(value) is int and (least is None or value >= least)
    require(is_valid, "a number in it is not whole, or is too small")
    return int(value)
