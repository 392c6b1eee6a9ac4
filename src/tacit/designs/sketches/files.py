"""Checkpoints of a server's counts, and the checks of such a file.

The hash in a checkpoint shows that the file is as it was written, not that a server wrote it. But
compiled code relies on the shapes of the arrays, and counting continues from these counts. So every
part is checked against the campaign and against the other parts. For example, each answer about a
set adds 1 for each of its places, so the sums of the counts follow from the numbers of reports and
of ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.designs.sketches.messages import Campaign, MessageError, is_integer, require
from tacit.designs.sketches.tickets import belong_to_shards
from tacit.errors import UNUSABLE_CONTENT, ConfigError, ModelFileError

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
KIND = "sketch-counts"
"""Kind of file, as its header states it."""
MOST_COUNTED = 1 << 62
"""Largest count in a checkpoint, so that counting can continue in 64 bits."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The saved state of a server."""

    campaign: Campaign
    """The campaign whose reports were counted."""
    shards: tuple[int, ...]
    """Numbers of the shards that were counted, ascending."""
    shard_count: int
    """Number of all shards."""
    keep_tickets: bool
    """Whether the tickets of all counted reports are stored."""
    rejected: Mapping[str, int]
    """Number of refused reports by reason; the reasons are the keys of `Server.rejected`."""
    totals: Ints
    """(2, places) int64, numbers of answers 0 and of answers 1 about each place: a place of the
    wheel (`sensing.py`), or a pair of items."""
    ones: Ints
    """(questions + 1,) int64, numbers of reports with 0, 1, .. ones."""
    tickets: Words
    """(n,) uint64, tickets of counted reports, ascending; without `keep_tickets` those of a part of
    the reports, or none."""


def write_checkpoint(path: str | Path, saved: Checkpoint) -> None:
    """Write a checkpoint, completely or not at all.

    Raises:
        ConfigError: The counts do not fit each other; the file at this path stays as it is.
    """
    header = {
        "kind": KIND,
        "campaign": saved.campaign.encode().hex(),
        "shards": list(saved.shards),
        "shard_count": saved.shard_count,
        "keep_tickets": saved.keep_tickets,
        "rejected": dict(saved.rejected),
    }
    arrays: dict[str, NDArray[Any]] = {
        "totals": saved.totals,
        "ones": saved.ones,
        "tickets": saved.tickets.view(np.int64),
    }
    try:  # checked before writing, as this file may replace the last good checkpoint
        check_counts(header, arrays, saved.campaign)
    except MessageError as error:
        raise ConfigError(
            f"These counts are incomplete ({error}): a batch was interrupted. Load the last "
            "checkpoint and send again what came after it."
        ) from None
    container.write(path, header, arrays)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint and check it, before a server allocates memory for its counts.

    Raises:
        ModelFileError: The file is not a checkpoint of a server.
    """
    header, arrays = container.read(path)
    if header.get("kind") != KIND:
        raise ModelFileError(f"{path}: holds no counts of sketches.")
    try:
        campaign = Campaign.decode(bytes.fromhex(header["campaign"]))
        check_counts(header, arrays, campaign)
        return Checkpoint(
            campaign=campaign,
            shards=tuple(header["shards"]),
            shard_count=header["shard_count"],
            keep_tickets=header["keep_tickets"],
            rejected=header["rejected"],
            totals=arrays["totals"],
            ones=arrays["ones"],
            tickets=arrays["tickets"].view(np.uint64),
        )
    except UNUSABLE_CONTENT as error:
        raise unreadable_checkpoint_error(path, error) from None


def unreadable_checkpoint_error(path: str | Path, error: Exception) -> ModelFileError:
    """Make the error for a file whose content no server can have saved."""
    return ModelFileError(f"{path}: its content is not what a server saves ({error}). Count again.")


def check_counts(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], campaign: Campaign
) -> None:
    """Raise MessageError unless a server of the campaign can have saved these values."""
    _check_header(header)
    _check_arrays(arrays, campaign)
    ones = arrays["ones"].tolist()
    reports = sum(ones)
    ones_in_all = sum(bits * count for bits, count in enumerate(ones))
    zeros_in_all = reports * campaign.questions - ones_in_all
    places_of_answer = campaign.set_size if campaign.asks_about_sets else 1
    expected = [zeros_in_all * places_of_answer, ones_in_all * places_of_answer]
    require(
        arrays["totals"].sum(axis=1).tolist() == expected,
        "the totals do not follow from the numbers of reports and of ones",
    )
    tickets = arrays["tickets"].view(np.uint64)
    has_all_tickets = len(tickets) == reports
    may_lack_tickets = not header["keep_tickets"] and len(tickets) < reports
    has_valid_number = has_all_tickets or may_lack_tickets
    require(has_valid_number, "the number of tickets differs from the number of reports")
    is_ascending = bool(np.all(tickets[1:] > tickets[:-1]))
    is_positive = len(tickets) == 0 or tickets[0] > 0
    require(is_ascending and is_positive, "tickets are above 0, each once, in ascending order")
    are_own = belong_to_shards(tickets, header["shards"], header["shard_count"])
    require(are_own.all(), "a ticket belongs to another shard")


def _check_header(header: Mapping[str, Any]) -> None:
    """Raise MessageError for shards, `keep_tickets` or refusals of another type or out of range."""
    shards = header["shards"]
    shard_count = header["shard_count"]
    are_shards = is_integer(shard_count, 1, (1 << 64) - 1) and all(
        is_integer(shard, 0, shard_count - 1) for shard in shards
    )
    require(
        are_shards and len(shards) > 0 and shards == sorted({*shards}),
        "shards are numbers below the number of all shards, each once, in ascending order",
    )
    require(type(header["keep_tickets"]) is bool, "keep_tickets is true or false")
    rejected = header["rejected"]
    require(isinstance(rejected, dict), "refusals are a table of numbers by reason")
    are_counts = all(is_integer(count, 0, MOST_COUNTED) for count in rejected.values())
    require(are_counts, "numbers of refusals are integers from 0 to 2^62")


def _check_arrays(arrays: Mapping[str, NDArray[Any]], campaign: Campaign) -> None:
    """Raise MessageError unless the arrays' names, types, shapes and ranges fit the campaign."""
    require(set(arrays) == {"totals", "ones", "tickets"}, "counts are totals, ones and tickets")
    totals = arrays["totals"]
    ones = arrays["ones"]
    are_integers = all(array.dtype == np.int64 for array in arrays.values())
    have_shapes = (
        totals.shape == (2, campaign.places)
        and ones.shape == (campaign.questions + 1,)
        and arrays["tickets"].ndim == 1
    )
    require(
        are_integers and have_shapes,
        "counts and tickets are 64-bit integers, as many as the campaign asks for",
    )
    for counts in (totals, ones):
        require(counts.min() >= 0 and counts.max() <= MOST_COUNTED, "a count is out of bounds")
