"""A vendor's state as numbers and arrays, so that it outlives its process and is shared by several.

Assumes  the caller stores every state, continues only from the newest, and reports nothing that
         was drawn on the way to a state that was not stored. Two continuations of one state would
         release more than was charged. The ledger's stored states meet this.
Stores   what is learned and released, and what is known of neighbours. The caller stores visits
         and forwarded users that wait for an answer, and decides how many.
Bounded  of many releases the oldest are added up, sums and noise: `MOST_SEEN` stay separate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policies.joint.learner import Joint
from tacit.designs.pdap.policies.joint.sums import JointState, Observation
from tacit.designs.pdap.trust import NoisyPeer
from tacit.designs.pdap.vendor import Vendor
from tacit.errors import ConfigError

MOST_SEEN = 32
Numbers = dict[str, Any]
"""What JSON can hold."""
Arrays = dict[str, NDArray[Any]]


def saved(vendor: Vendor) -> tuple[Numbers, Arrays]:
    """ConfigError unless its learner is a `Joint` for guests as well, and one that can be kept."""
    joint = _joint(vendor)
    joint.add_up_oldest(MOST_SEEN)
    numbers, arrays = _of(joint.kept())
    videos, peers = vendor.arms
    numbers |= {
        "visits": vendor.visits,
        "videos": list(videos.items()),
        "peers": list(peers.items()),
        "known": {name: _noisy(vendor, name).kept() for name in peers.values()},
    }
    return numbers, arrays


def restore(vendor: Vendor, numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Make `vendor`, of the same settings, what the saved one was. It keeps the arrays."""
    _joint(vendor).resume(_state(numbers, arrays))
    vendor.resume(numbers["visits"], dict(numbers["videos"]), dict(numbers["peers"]))
    for name, kept in numbers["known"].items():
        _noisy(vendor, name).resume(kept)


def _joint(vendor: Vendor) -> Joint:
    if not (isinstance(vendor.home, Joint) and vendor.shared):
        raise ConfigError(
            "A vendor is stored if its learner is a Joint that serves its guests as well."
        )
    return vendor.home


def _noisy(vendor: Vendor, name: str) -> NoisyPeer:
    peer = vendor.known(name)
    assert isinstance(peer, NoisyPeer)
    return peer


def _of(state: JointState) -> tuple[Numbers, Arrays]:
    seen, counts = [one for one, _ in state.seen], [visits for _, visits in state.seen]
    tables = [*(one.likes for one in seen), *(one.visits for one in seen), *counts]
    shape = state.parts.shape
    numbers = {
        "own": list(state.own),
        "neighbours": list(state.neighbours),
        "sides": [int(side) for side in state.sides],
        "arrivals": state.arrivals,
        "length": state.length,
        "next": None if math.isinf(state.next) else int(state.next),
        "planned": state.planned,
        "began": state.began,
        "released": state.released,
        "noises": [[one.likes_noise, one.visits_noise, one.together] for one in seen],
    }
    arrays: Arrays = {
        "exact": state.exact,
        "means": state.means,
        "parts": state.parts.astype("<i4"),
        "unanswered": np.packbits(state.waiting),
        "seen": np.stack(tables).reshape(3, len(seen), *shape) if seen else np.zeros((3, 0, 0, 0)),
    }
    return numbers, arrays


def _state(numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> JointState:
    likes, visits, counts = arrays["seen"]
    return JointState(
        own=tuple(numbers["own"]),
        neighbours=tuple(numbers["neighbours"]),
        sides=tuple(bool(side) for side in numbers["sides"]),
        arrivals=numbers["arrivals"],
        length=numbers["length"],
        next=math.inf if numbers["next"] is None else numbers["next"],
        planned=numbers["planned"],
        began=numbers["began"],
        released=numbers["released"],
        seen=tuple(
            (Observation(likes[one], visits[one], *noises), counts[one])
            for one, noises in enumerate(numbers["noises"])
        ),
        exact=arrays["exact"],
        means=arrays["means"],
        parts=arrays["parts"].astype(np.int64),
        waiting=np.unpackbits(arrays["unanswered"]).astype(np.bool_),
    )
