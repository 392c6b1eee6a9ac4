"""What a checkpoint of counts has to be before anything is made of it.

Its hash says that a file is as it was written, not that a server wrote it. Arrays go to compiled
code that trusts their shapes, and counts go on from where they stand, so each is held against the
campaign and against the others: a set of so many places adds so much to the totals, whatever was
answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.sketches.messages import Campaign, is_integer, require

Header = Mapping[str, Any]
Arrays = Mapping[str, NDArray[Any]]
_MOST_COUNTED = 1 << 62
"""Below the end of 64 bits, so that there is room for what comes."""
_HALF = 32


def check_header(header: Header, reasons: Sequence[str]) -> None:
    """MessageError unless shards and refusals are such as a server has them."""
    count, shards = header["shard_count"], header["shards"]
    require(is_integer(count, 1, (1 << 64) - 1), "a number of shards is whole and above 0")
    require(type(shards) is list and len(shards) > 0, "a server has one shard or more")
    known = all(is_integer(shard, 0, count - 1) for shard in shards)
    require(
        known and len(set(shards)) == len(shards), "a shard is a number below how many there are"
    )
    require(type(header["keep_tickets"]) is bool, "tickets are kept or not")
    rejected = header["rejected"]
    named = type(rejected) is dict and set(rejected) == set(reasons)
    require(
        named and all(is_integer(number, 0, _MOST_COUNTED) for number in rejected.values()),
        "refusals are counted by reason",
    )


def check_arrays(header: Header, arrays: Arrays, campaign: Campaign, places: int) -> None:
    """MessageError unless the counts add up; places: how many are counted, items or pairs."""
    require(set(arrays) == {"totals", "ones", "tickets"}, "counts are totals, ones and tickets")
    totals, ones, tickets = arrays["totals"], arrays["ones"], arrays["tickets"]
    whole = all(array.dtype == np.int64 for array in arrays.values())
    require(whole, "counts and tickets are 64-bit integers")
    require(totals.shape == (2, places), "the totals are not those of the campaign's questions")
    require(ones.shape == (campaign.questions + 1,), "ones are counted by how many a report has")
    require(tickets.ndim == 1, "tickets are a list")
    for counts in (totals, ones):
        require(counts.min() >= 0 and counts.max() <= _MOST_COUNTED, "a count is out of bounds")
    reports = sum(ones.tolist())
    yes = sum(times * number for times, number in enumerate(ones.tolist()))
    size = campaign.set_size if campaign.senses else 1
    require(
        reports <= _MOST_COUNTED
        and _sum(totals[1]) == yes * size
        and _sum(totals[0]) == (reports * campaign.questions - yes) * size,
        "the totals are not those of so many reports",
    )
    _check_tickets(header, tickets.view(np.uint64), reports)


def _check_tickets(header: Header, tickets: NDArray[np.uint64], reports: int) -> None:
    """One for each report, or fewer where not all are kept; and all of these shards."""
    kept = header["keep_tickets"]
    fits = len(tickets) == reports if kept else len(tickets) <= reports
    require(fits, "there is not one ticket for each report")
    ascend = bool(np.all(tickets[1:] > tickets[:-1])) and (len(tickets) == 0 or tickets[0] > 0)
    require(ascend, "tickets are above 0, each once, in ascending order")
    homes = tickets % np.uint64(header["shard_count"])
    own = np.isin(homes, np.array(header["shards"], dtype=np.uint64))
    require(bool(own.all()), "a ticket belongs to another shard")


def _sum(counts: NDArray[np.int64]) -> int:
    """Exactly: 64 bits could run over, and a wrong total look right."""
    low = counts & ((1 << _HALF) - 1)
    return (int((counts >> _HALF).sum()) << _HALF) + int(low.sum())
