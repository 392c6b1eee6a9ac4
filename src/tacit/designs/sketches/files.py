"""Checkpoints of a server's counts, and what such a file has to be.

A checkpoint's hash says that a file is as it was written, not that a server wrote it. Arrays go to
compiled code that trusts their shapes, and counts go on from where they stand, so each is held
against the campaign and against the others: a set of so many places adds so much to the totals,
whatever was answered.
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
MOST_COUNTED = 1 << 62
"""Below the end of 64 bits, so that there is room for what comes."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Counts of a server, as its file holds them."""

    campaign: Campaign
    """The campaign whose reports were counted."""
    shards: tuple[int, ...]
    """Numbers of the shards that were counted, ascending."""
    shard_count: int
    """How many shards there are."""
    keep_tickets: bool
    """Whether every ticket that answered is known."""
    rejected: Mapping[str, int]
    """How many reports were refused, by reason."""
    totals: Ints
    """(2, places) int64, how often each place of the campaign was answered 0 and 1."""
    ones: Ints
    """(questions + 1,) int64, reports by how many of their bits are 1."""
    tickets: Words
    """Uint64 tickets that answered, ascending; none where they are not kept."""


def write_checkpoint(path: str | Path, saved: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all.

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
    try:  # held against itself: this checkpoint may replace the last good one
        check_counts(header, arrays, saved.campaign)
    except MessageError as error:
        raise ConfigError(
            f"These counts are not whole ({error}): a batch was interrupted. Load the last "
            "checkpoint and send again what came after it."
        ) from None
    container.write(path, header, arrays)


def read_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint and check it before memory is taken for it; ModelFileError for others."""
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
    """Make the error for a file whose content no server saved."""
    return ModelFileError(f"{path}: its content is not what a server saves ({error}). Count again.")


def check_counts(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], campaign: Campaign
) -> None:
    """MessageError unless a server can have saved these."""
    shards = header["shards"]
    count = header["shard_count"]
    keeps = header["keep_tickets"]
    known = is_integer(count, 1, (1 << 64) - 1) and all(is_integer(k, 0, count - 1) for k in shards)
    require(
        known and len(shards) > 0 and shards == sorted({*shards}),
        "shards are numbers below how many there are, each once",
    )
    require(type(keeps) is bool, "tickets are kept or not")
    refused = header["rejected"]
    require(isinstance(refused, dict), "refusals are counted by their reasons")
    counted = all(is_integer(each, 0, MOST_COUNTED) for each in refused.values())
    require(counted, "refusals are counted")
    require(set(arrays) == {"totals", "ones", "tickets"}, "counts are totals, ones and tickets")
    totals = arrays["totals"]
    ones = arrays["ones"]
    tickets = arrays["tickets"]
    integers = all(array.dtype == np.int64 for array in arrays.values())
    shapes = (totals.shape, ones.shape, tickets.ndim)
    fits = integers and shapes == ((2, campaign.places), (campaign.questions + 1,), 1)
    require(fits, "counts and tickets are 64-bit integers, as many as the campaign asks for")
    for counts in (totals, ones):
        require(counts.min() >= 0 and counts.max() <= MOST_COUNTED, "a count is out of bounds")
    reports = sum(ones.tolist())
    yes = sum(times * number for times, number in enumerate(ones.tolist()))
    size = campaign.set_size if campaign.senses else 1
    expected = [(reports * campaign.questions - yes) * size, yes * size]
    require(totals.sum(axis=1).tolist() == expected, "the totals are not those of so many reports")
    words = tickets.view(np.uint64)
    require(
        len(words) == reports if keeps else len(words) <= reports,
        "there is not one ticket for each report",
    )
    ascend = bool(np.all(words[1:] > words[:-1])) and (len(words) == 0 or words[0] > 0)
    require(ascend, "tickets are above 0, each once, in ascending order")
    require(belong_to_shards(words, shards, count).all(), "a ticket belongs to another shard")
