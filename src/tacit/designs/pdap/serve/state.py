"""A vendor at work: its learner, and the visits that wait for a neighbour's offer.

One transaction of the ledger begins and ends with this state. The visitor carries what the reward
of a visit needs (`Ticket`). Visits that are to show a neighbour's offer are stored as well, in a
ring by the number of all visits, where the oldest is replaced: so the state has one size, and when
a visit is forgotten says nothing about anybody.

Assumes  every state is stored, only the newest is continued, and nothing is reported that was drawn
         on the way to a state that was not stored: two continuations of one state would release
         more than was charged. The ledger's stored states meet this.
Stored   contexts, in 16-bit steps, of the visits that wait for a neighbour's offer or their click;
         the exact sums of the epoch; and what was released. Anyone who reads the state sees those.
Bytes    JSON and plain arrays only.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.features import from_steps, to_steps
from tacit.designs.pdap.forwarding import Host
from tacit.designs.pdap.joint import JointLearner
from tacit.designs.pdap.messages import REQUEST_BYTES
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.vendor import Vendor, Visit
from tacit.errors import ConfigError, PrivacyError

VERSION = 4
MOST_VIDEOS = 1000
"""Own videos of a vendor at once, those of the settings and articles together."""
OPEN_VISITS = 2048
"""Number of last visits that a neighbour's offer can still arrive for."""
_PLAIN_FIELDS = (
    ("number", "<i8"),
    ("turn", "<i8"),
    ("arm", "<i4"),
    ("peer", "<i4"),
    ("click", "|u1"),
    ("learned", "|u1"),
    ("came", "|u1"),
    ("shown", "|u1"),
    ("request", "|u1", REQUEST_BYTES),
)
"""turn: the visit's number at the learner. click: 0 for none yet, 1 for no, 2 for yes."""


def visit_row(features: int) -> np.dtype[Any]:
    """The type of a stored visit: the fields above, and the context in 16-bit steps."""
    return np.dtype([*_PLAIN_FIELDS, ("context", "<u2", (features,))])


@dataclass(frozen=True)
class Ticket:
    """A visit as its visitor brings it back.

    It tells them nothing new: the context is their own, and they were shown this arm.

    Attributes:
        number: of all visits; 0 for one that is not learned.
        turn: its number at the learner.
        arm: that was shown.
        steps: (d,) the context in 16-bit steps.
    """

    number: int
    turn: int
    arm: int
    steps: tuple[int, ...] = field(repr=False)

    @classmethod
    def from_visit(cls, visit: Visit) -> Self:
        """The ticket of a visit."""
        choice = visit.choice
        number = 0 if choice.cell is None else visit.number
        return cls(number, choice.visit or 0, choice.arm, tuple(to_steps(visit.context).tolist()))


@dataclass
class VendorState:
    """A vendor and the visits that wait.

    Attributes:
        vendor: with its learner.
        visits: (OPEN_VISITS,) those that are to show a neighbour's offer, by their numbers
            modulo OPEN_VISITS.
            A row is emptied when as many visits came since, and its context once it is answered.
        names: every neighbour there ever was; rows name them by their place.
        since: when the settings that name these videos and neighbours were read, in nanoseconds
            since 1970.
        articles: videos that joined through the service, each with the second since 1970 at
            which it did. Editors decide which these are, and time: no visit does.
    """

    vendor: Vendor
    visits: NDArray[Any] = field(init=False, repr=False)
    names: list[str] = field(default_factory=list)
    since: int = 0
    articles: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (
            isinstance(self.vendor.home, JointLearner)
            and isinstance(self.vendor.forwarded_users, Host)
        ):
            raise ConfigError(
                "Only a vendor whose learner is a JointLearner that also serves its forwarded "
                "users can be stored."
            )
        self.visits = np.zeros(OPEN_VISITS, visit_row(self._home.features.dimension))

    def encode(self, settings: str) -> bytes:
        """Encode everything but the requests that are in flight.

        Args:
            settings: settings that must be unchanged for this state to be continued.
        """
        numbers, arrays = self._home.export_state()
        videos, peers = self.vendor.arms
        numbers |= {
            "visits": self.vendor.visits,
            "videos": list(videos.items()),
            "peers": list(peers.items()),
            "known": {name: self.vendor.trust_in(name).export_state() for name in peers.values()},
            "version": VERSION,
            "settings": settings,
            "since": self.since,
            "names": self.names,
            "articles": self.articles,
        }
        rows = self.visits.view(np.uint8).reshape(len(self.visits), self.visits.itemsize)
        return pack(numbers, arrays | {"visit_rows": rows})

    @classmethod
    def decode(cls, data: bytes, vendor: Vendor, settings: str) -> VendorState | None:
        """Load a stored state into a vendor; None if it was stored under other settings.

        Args:
            data: what `encode` returned.
            vendor: made from the same settings; it is changed.
            settings: settings of the vendor.
        """
        numbers, arrays = unpack(data)
        if numbers["settings"] != settings:
            return None
        state = cls(vendor, numbers["names"], numbers["since"], numbers["articles"])
        state.visits = arrays["visit_rows"].reshape(-1).view(state.visits.dtype).copy()
        state._home.resume(numbers, arrays)
        vendor.resume(numbers["visits"], dict(numbers["videos"]), dict(numbers["peers"]))
        for name, peer_state in numbers["known"].items():
            vendor.trust_in(name).resume(peer_state)
        return state

    def rename(self, videos: Sequence[str], peers: Sequence[str]) -> None:
        """Let join and leave what joined and left the settings since.

        The last video leaves when others have come. Articles stay.
        """
        shop = self.vendor
        for video in videos:
            self.articles.pop(video, None)  # the settings name it now
        videos = (*videos, *self.articles)
        for names, known, join, leave in (
            (videos, shop.videos, shop.add_video, shop.remove_video),
            (peers, shop.peers, shop.add_peer, shop.remove_peer),
        ):
            for name in names:
                if name not in known:
                    join(name)
            for name in set(known).difference(names):
                leave(name)

    def add_articles(self, names: Sequence[str], now: float) -> tuple[str, ...]:
        """Let articles join: they can be shown from the end of this epoch on.

        Args:
            names: of articles.
            now: in seconds since 1970.

        Returns:
            Those that were not here already.

        Raises:
            ConfigError: There would be more videos than a vendor may have.
        """
        new = [name for name in dict.fromkeys(names) if name not in self.vendor.videos]
        if len(self.vendor.videos) + len(new) > MOST_VIDEOS:
            raise ConfigError(f"A vendor shows at most {MOST_VIDEOS:,} articles at once.")
        for name in new:
            self.vendor.add_video(name)
            self.articles[name] = int(now)
        return tuple(new)

    def remove_article(self, name: str) -> bool:
        """Let an article leave at once; say whether it was here."""
        if name not in self.articles:
            return False
        self.vendor.remove_video(name)
        del self.articles[name]
        return True

    def retire_articles(self, now: float, age: float) -> None:
        """Let articles leave that joined `age` seconds ago or earlier. now: as for joins."""
        for name in [name for name, joined in self.articles.items() if joined + age <= now]:
            self.remove_article(name)

    def begin(self, context: NDArray[np.float64], reached: Sequence[str]) -> Visit:
        """One visit more. reached: neighbours that can be asked now."""
        visit = self.vendor.choose(context, peers=reached)
        self.visits[visit.number % len(self.visits)] = np.zeros((), self.visits.dtype)
        if visit.peer is not None:
            self._note(visit)
        return visit

    def choose_without_learning(self, context: NDArray[np.float64]) -> Visit:
        """Choose an own video for a user from whom nothing is learned; not counted as a visit."""
        video = self.vendor.choose_without_learning(context)
        return Visit(context, Choice(0, "exploit", None, None), video)

    def finish(self, number: int, context: NDArray[np.float64], answer: bytes | None) -> Visit:
        """End a visit whose neighbour was to be shown.

        Args:
            number: of the visit.
            context: of the visit, sent again.
            answer: the neighbour's; None if there is none.

        A visit whose row was given to another meanwhile gets an own video, and is not learned.
        """
        visit = self._visit(number, context)
        if visit is None or visit.peer is None:
            return self.choose_without_learning(context)
        self.vendor.receive_offer(visit, answer)
        self._note(visit)
        return visit

    def observe_click(self, ticket: Ticket, reward: float) -> None:
        """Take the reward of a visit; the first time counts.

        The learner decides whether it teaches anything: each visit once, and not too late.
        """
        visit = self._visit(ticket.number)
        if visit is not None and visit.video is not None:
            self.vendor.observe_click(visit, reward)
            self._note(visit)
        elif ticket.number > 0 and any(ticket.arm in names for names in self.vendor.arms):
            context = self._context_of(np.array(ticket.steps, dtype=np.uint16))
            cell = tuple(context.tolist())
            tag = self._home.tag
            choice = Choice(ticket.arm, "explore", cell, None, ticket.turn, tag)
            with suppress(PrivacyError):  # it was answered before
                self._home.update(choice, reward)

    @property
    def _home(self) -> JointLearner:
        assert isinstance(self.vendor.home, JointLearner)
        return self.vendor.home

    def _note(self, visit: Visit) -> None:
        if visit.peer is not None and visit.peer not in self.names:
            self.names.append(visit.peer)
        ticket = Ticket.from_visit(visit)
        steps = (0,) * len(ticket.steps) if visit.learned else ticket.steps
        self.visits[visit.number % len(self.visits)] = (
            ticket.number,
            ticket.turn,
            ticket.arm,
            -1 if visit.peer is None else self.names.index(visit.peer),
            0 if visit.click is None else 1 + int(visit.click),
            visit.learned,
            visit.offer_known,
            visit.video is not None,
            np.frombuffer(visit.request or bytes(REQUEST_BYTES), np.uint8),
            steps,
        )

    def _context_of(self, steps: NDArray[np.uint16]) -> NDArray[np.float64]:
        return from_steps(steps, self._home.features.dimension)

    def _visit(self, number: int, context: NDArray[np.float64] | None = None) -> Visit | None:
        """A visit as it was noted. context: sent again; None takes the stored one."""
        row: Any = self.visits[number % len(self.visits)]
        too_old = number <= self.vendor.visits - len(self.visits)  # needed or not
        if number < 1 or too_old or row["number"] != number:
            return None
        peer = int(row["peer"])
        stored = self._context_of(row["context"])
        arm, turn, cell = int(row["arm"]), int(row["turn"]), tuple(stored.tolist())
        choice = Choice(arm, "explore", cell, None, turn, self._home.tag)
        return Visit(
            stored if context is None else context,
            choice,
            "shown" if row["shown"] else None,
            peer=None if peer < 0 else self.names[peer],
            request=row["request"].tobytes(),
            click=None if row["click"] == 0 else float(row["click"] - 1),
            learned=bool(row["learned"]),
            number=number,
            offer_known=bool(row["came"]),
        )


def read_articles(data: bytes) -> dict[str, int]:
    """Read the articles of a stored state, each with the second since 1970 at which it joined."""
    numbers, _ = unpack(data)
    return {str(name): int(joined) for name, joined in numbers["articles"].items()}


_LENGTH = struct.Struct(">I")
_KINDS = ("<f8", "<i8", "<i4", "|u1")


def pack(numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays of float64, int64, int32 and bytes, in the order in which they are given."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    table = [[name, array.dtype.str, list(array.shape)] for name, array in plain.items()]
    if any(kind not in _KINDS for _, kind, _ in table):
        raise TypeError("an array of this type is not kept")
    text = json.dumps([numbers, table], separators=(",", ":"), allow_nan=False).encode("ascii")
    parts = [_LENGTH.pack(len(text)), text]
    parts += [array.tobytes() for array in plain.values()]
    return b"".join(parts)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what `pack` wrote, with read-only arrays; ValueError for anything else."""
    (length,) = _LENGTH.unpack_from(data)
    at = _LENGTH.size + length
    numbers, table = json.loads(data[_LENGTH.size : at])
    arrays: dict[str, NDArray[Any]] = {}
    for name, kind, shape in table:
        if kind not in _KINDS:
            raise ValueError("an array of this type is not kept")
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, kind, count, at).reshape(shape)
        at += arrays[name].nbytes
    if at != len(data):
        raise ValueError("bytes follow the last array")
    return numbers, arrays
