"""A vendor's state as numbers and arrays, so that it outlives its process and is shared by several.

Assumes  whoever stores it: that of every state only the newest is ever gone on from, and that
         nothing is told that was drawn on the way to a state which was not kept. Two continuations
         of one state would release more than was charged. The ledger's kept states are so.
Kept     what is learned and released, and what is known of neighbours. Visits and guests that wait
         for an answer are the keeper's: how many it remembers is its business.
Bounded  of many releases the oldest are added up, sums and noise: `MOST_SEEN` are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError
from tacit.recommenders.pdap.joint import Joint, _best_of
from tacit.recommenders.pdap.joint_grid import Grid
from tacit.recommenders.pdap.joint_plan import PARTS
from tacit.recommenders.pdap.joint_sums import EpochSums, Floats, Observation
from tacit.recommenders.pdap.trust_noisy import NoisyPeer
from tacit.recommenders.pdap.vendor import Vendor

MOST_SEEN = 32
Numbers = dict[str, Any]
"""What JSON can hold."""
Arrays = dict[str, NDArray[Any]]


def saved(vendor: Vendor) -> tuple[Numbers, Arrays]:
    """ConfigError unless its learner is a `Joint` on a fixed grid that releases in epochs."""
    numbers, arrays = _joint_saved(_joint(vendor))
    numbers |= {
        "visits": vendor.visits,
        "videos": list(vendor._videos.items()),
        "peers": list(vendor._peers.items()),
        "known": {name: _peer_saved(peer) for name, peer in vendor._known.items()},
    }
    return numbers, arrays


def restore(vendor: Vendor, numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Make `vendor`, of the same settings, what the saved one was. It keeps the arrays."""
    _joint_restored(_joint(vendor), numbers, arrays)
    vendor.visits = numbers["visits"]
    vendor._videos = dict(numbers["videos"])
    vendor._guest_videos = dict(vendor._videos)
    vendor._peers = dict(numbers["peers"])
    vendor._known = {name: _peer(vendor, state) for name, state in numbers["known"].items()}
    vendor._waiting.clear()
    vendor._open_guests.clear()


def _joint(vendor: Vendor) -> Joint:
    home = vendor.home
    if not (
        isinstance(home, Joint)
        and isinstance(home.grid, Grid)
        and isinstance(home._sums, EpochSums)
        and vendor._shared
    ):
        raise ConfigError(
            "A vendor is stored if its learner is a Joint on a fixed grid that releases in epochs "
            "and serves its guests as well."
        )
    return home


def _joint_saved(joint: Joint) -> tuple[Numbers, Arrays]:
    assert isinstance(joint._sums, EpochSums)
    _add_up_oldest(joint)
    seen, counts = [one for one, _ in joint._seen], [visits for _, visits in joint._seen]
    tables = [*(one.likes for one in seen), *(one.visits for one in seen), *counts]
    shape = joint._parts.shape
    numbers = {
        "own": joint._arms.own,
        "neighbours": joint._arms.neighbours,
        "sides": [int(side) for side in joint._sides],
        "arrivals": joint.arrivals,
        "length": joint._length,
        "next": None if math.isinf(joint._next) else int(joint._next),
        "planned": joint._planned,
        "began": joint._began,
        "released": joint._sums._released,
        "noises": [[one.likes_noise, one.visits_noise, one.together] for one in seen],
    }
    arrays: Arrays = {
        "exact": joint._sums._exact,
        "means": joint._means,
        "parts": joint._parts.astype("<i4"),
        "unanswered": np.packbits(joint._unanswered._waits),
        "seen": np.stack(tables).reshape(3, len(seen), *shape) if seen else np.zeros((3, 0, 0, 0)),
    }
    return numbers, arrays


def _joint_restored(joint: Joint, numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    assert isinstance(joint._sums, EpochSums)
    joint._sides = [bool(side) for side in numbers["sides"]]
    joint._arms.own, joint._arms.neighbours = list(numbers["own"]), list(numbers["neighbours"])
    joint._arms.numbered = len(joint._sides)
    likes, visits, counts = arrays["seen"]
    joint._seen = [
        (Observation(likes[one], visits[one], *noises), counts[one])
        for one, noises in enumerate(numbers["noises"])
    ]
    joint.arrivals, joint._length = numbers["arrivals"], numbers["length"]
    joint._next = math.inf if numbers["next"] is None else numbers["next"]
    joint._planned, joint._began = numbers["planned"], numbers["began"]
    joint._places = []
    joint._unanswered._waits = np.unpackbits(arrays["unanswered"]).astype(np.bool_)
    joint._sums._exact = np.array(arrays["exact"])
    joint._sums._released = numbers["released"]
    _planned(joint, arrays["means"], arrays["parts"].astype(np.int64))


def _planned(joint: Joint, means: Floats, parts: NDArray[np.int64]) -> None:
    """The chances until the next release: drawn once, so they are kept and not drawn again."""
    joint._means, joint._parts = means, parts
    joint._shares, joint._upto = parts / PARTS, parts.cumsum(axis=1)
    allowed = sorted([*joint._arms.own, *joint._arms.neighbours])
    joint._best = _best_of(means, allowed).tolist()
    joint._best_own = _best_of(means, joint._arms.own)


def _add_up_oldest(joint: Joint) -> None:
    while len(joint._seen) > MOST_SEEN:
        (first, before), (second, after), *rest = joint._seen
        both = Observation(
            first.likes + second.likes,
            first.visits + second.visits,
            first.likes_noise + second.likes_noise,
            first.visits_noise + second.visits_noise,
            first.together + second.together,
        )
        joint._seen = [(both, before + after), *rest]


def _peer_saved(peer: Any) -> Numbers:
    assert isinstance(peer, NoisyPeer)
    return {
        "believed": bool(peer.believed),
        "proved": bool(peer.proved),
        "sums": peer._sums.tolist(),
        "released": peer._known.tolist(),
        "releases": peer._releases,
        "balance": peer._balance,
        "epochs": peer._epochs,
        "pauses": peer._pauses,
        "back": peer._back,
    }


def _peer(vendor: Vendor, state: Mapping[str, Any]) -> NoisyPeer:
    peer = NoisyPeer(vendor._caution, epsilon=vendor._noise_epsilon)
    peer.believed, peer.proved = state["believed"], state["proved"]
    peer._sums = np.array(state["sums"], dtype=np.int64)
    peer._known = np.array(state["released"], dtype=np.float64)
    peer._releases, peer._balance = state["releases"], state["balance"]
    peer._epochs, peer._pauses = state["epochs"], state["pauses"]
    peer._back = state["back"]
    return peer
