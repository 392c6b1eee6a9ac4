"""The stored state of a vendor: its learner, and the visits that wait for a neighbour's offer.

Each transaction of the ledger begins and ends with such a state. The data that are needed to learn
the reward of a visit are given to the visitor, who sends them back (`Ticket`). Visits that are to
show a neighbour's offer are also stored, in a ring buffer at their number modulo its size. So the
size of the state does not grow with the visits, and when a visit is forgotten depends only on its
number.

Assumes  every state is stored, only the newest is continued, and no random draw leaves the service
         unless the state after it was stored: two continuations of one state would release more
         than was charged. The ledger ensures this for its stored states.
Stored   contexts, in 16-bit steps, of the visits that wait for a neighbour's offer or their click;
         the exact sums of the epoch; and what was released. Anyone who reads the state sees these.
Format   JSON and plain arrays only; see `pack`.
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
"""Version of the stored format; a state of another version is not continued."""
MOST_VIDEOS = 1000
"""Largest number of own videos: of those that settings name, and together with articles. Articles
are added only up to it, and a service whose settings name too many beside them does not start."""
OPEN_VISITS = 2048
"""Size of the ring buffer: only the last OPEN_VISITS visits can still show a neighbour's offer."""
_PLAIN_FIELDS = (
    ("number", "<i8"),
    ("learner_visit", "<i8"),
    ("arm", "<i4"),
    ("peer", "<i4"),
    ("click", "|u1"),
    ("learned", "|u1"),
    ("offer_known", "|u1"),
    ("has_video", "|u1"),
    ("request", "|u1", REQUEST_BYTES),
)
"""Name, type and, for `request`, length of the fields of a stored visit. `number` and
`learner_visit` are those of `Ticket`; `arm`, `learned`, `offer_known` and `request` are those of
`Visit` and its choice. `peer` is the position of the neighbour's name in `VendorState.peer_names`,
-1 for an own video. `click` is 0 if it is not known yet, 1 for no click, 2 for a click. `has_video`
is 1 once the video to show is chosen."""


def visit_dtype(features: int) -> np.dtype[Any]:
    """Return the dtype of a stored visit: the fields above, and the context in 16-bit steps."""
    return np.dtype([*_PLAIN_FIELDS, ("context", "<u2", (features,))])


@dataclass(frozen=True)
class Ticket:
    """Data of a visit that the visitor stores, and sends back with the reward.

    The visitor gets the data encrypted, as the name of the visit.

    Attributes:
        number: of the visit at this vendor, from 1; 0 for a visit that is not learned.
        learner_visit: number of the visit at the learner, from 0.
        arm: number of the arm that was shown.
        steps: (d,) the context in 16-bit steps, whole numbers from 0 to CONTEXT_STEPS.
    """

    number: int
    learner_visit: int
    arm: int
    steps: tuple[int, ...] = field(repr=False)

    @classmethod
    def from_visit(cls, visit: Visit) -> Self:
        """Make the ticket of a visit."""
        choice = visit.choice
        number = 0 if choice.cell is None else visit.number
        learner_visit = 0 if choice.visit is None else choice.visit
        return cls(number, learner_visit, choice.arm, tuple(to_steps(visit.context).tolist()))


@dataclass
class VendorState:
    """A vendor, and its visits that wait for a neighbour's offer or for the visitor's click.

    Attributes:
        vendor: with its learner.
        visits: (OPEN_VISITS,) visits that are to show a neighbour's offer, each at the position of
            its number modulo OPEN_VISITS. A row is set to zeros when a later visit takes this
            position. Its context is set to zeros when the visit is learned.
        peer_names: names of all neighbours so far, also of those that have left; rows of `visits`
            hold positions in this list.
        settings_read_at: time at which the settings that name these videos and neighbours were
            read, in nanoseconds since 1970; 0 if it is not known.
        articles: videos that joined through the service, each with the second since 1970 at
            which it joined. They depend on editors and the clock, never on visits.
    """

    vendor: Vendor
    visits: NDArray[Any] = field(init=False, repr=False)
    peer_names: list[str] = field(default_factory=list)
    settings_read_at: int = 0
    articles: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (
            isinstance(self.vendor.policy, JointLearner)
            and isinstance(self.vendor.forwarded_users, Host)
        ):
            raise ConfigError(
                "Only a vendor whose learner is a JointLearner that also serves its forwarded "
                "users can be stored."
            )
        self.visits = np.zeros(OPEN_VISITS, visit_dtype(self._learner.features.dimension))

    def encode(self, lasting_settings: str) -> bytes:
        """Encode the state. Calls to neighbours that are in progress are not part of it.

        Args:
            lasting_settings: of the vendor; only a vendor with equal ones can continue the state.
        """
        json_part, arrays = self._learner.export_state()
        videos, peers = self.vendor.arms
        trust = {name: self.vendor.trust_in(name).export_state() for name in peers.values()}
        json_part |= {
            "visits": self.vendor.visits,  # the number of visits
            "videos": list(videos.items()),
            "peers": list(peers.items()),  # present neighbours
            "known": trust,
            "version": VERSION,
            "settings": lasting_settings,
            "since": self.settings_read_at,
            "names": self.peer_names,  # of all neighbours so far
            "articles": self.articles,
        }
        rows = self.visits.view(np.uint8).reshape(len(self.visits), self.visits.itemsize)
        return pack(json_part, arrays | {"visit_rows": rows})

    @classmethod
    def decode(cls, data: bytes, vendor: Vendor, lasting_settings: str) -> VendorState | None:
        """Load a stored state into a vendor; None if it was stored under other settings.

        Args:
            data: what `encode` returned.
            vendor: a vendor made from the same settings; its state is replaced.
            lasting_settings: of the vendor.
        """
        json_part, arrays = unpack(data)
        if json_part["settings"] != lasting_settings:
            return None
        state = cls(
            vendor,
            peer_names=json_part["names"],
            settings_read_at=json_part["since"],
            articles=json_part["articles"],
        )
        state.visits = arrays["visit_rows"].reshape(-1).view(state.visits.dtype).copy()
        state._learner.resume(json_part, arrays)
        vendor.resume(json_part["visits"], dict(json_part["videos"]), dict(json_part["peers"]))
        for name, peer_state in json_part["known"].items():
            vendor.trust_in(name).resume(peer_state)
        return state

    def adopt_settings(self, videos: Sequence[str], peers: Sequence[str]) -> None:
        """Add and remove videos and neighbours, so that the vendor has those that settings name.

        Videos that joined through the service (`articles`) stay. New videos and neighbours are
        added before old ones are removed, because a learner needs at least one arm.

        Args:
            videos: own videos that the settings name.
            peers: neighbours that the settings name.
        """
        vendor = self.vendor
        for video in videos:
            self.articles.pop(video, None)  # it is a video of the settings now
        new_videos = (*videos, *self.articles)
        old_videos = vendor.videos
        vendor.add_videos([name for name in new_videos if name not in old_videos])
        for name in set(old_videos).difference(new_videos):
            vendor.remove_video(name)
        old_peers = vendor.peers
        for name in peers:
            if name not in old_peers:
                vendor.add_peer(name)
        for name in set(old_peers).difference(peers):
            vendor.remove_peer(name)

    def add_articles(self, names: Sequence[str], now: float) -> tuple[str, ...]:
        """Add articles as own videos, unless the vendor has videos of these names.

        Args:
            names: of articles.
            now: in seconds since 1970.

        Returns:
            The names that were added.

        Raises:
            ConfigError: There would be more videos than a vendor may have.
        """
        new = [name for name in dict.fromkeys(names) if name not in self.vendor.videos]
        if len(self.vendor.videos) + len(new) > MOST_VIDEOS:
            raise ConfigError(f"A vendor shows at most {MOST_VIDEOS:,} articles at once.")
        self.vendor.add_videos(new)
        self.articles.update(dict.fromkeys(new, int(now)))
        return tuple(new)

    def remove_article(self, name: str) -> bool:
        """Remove an article at once, and return whether there was one of this name."""
        if name not in self.articles:
            return False
        self.vendor.remove_video(name)
        del self.articles[name]
        return True

    def retire_articles(self, now: float, age: float) -> None:
        """Remove articles that joined `age` seconds before `now`, or earlier.

        Args:
            now: in seconds since 1970.
            age: in seconds.
        """
        old = [name for name, joined in self.articles.items() if joined + age <= now]
        for name in old:
            self.remove_article(name)

    def begin_visit(self, context: NDArray[np.float64], reachable: Sequence[str]) -> Visit:
        """Begin a visit, and store it if a neighbour's offer is to be shown.

        Args:
            context: (d,) in [0, 1].
            reachable: names of the neighbours that can be asked now.
        """
        visit = self.vendor.choose(context, peers=reachable)
        self.visits[visit.number % len(self.visits)] = np.zeros((), self.visits.dtype)
        if visit.peer is not None:
            self._store(visit)
        return visit

    def choose_without_learning(self, context: NDArray[np.float64]) -> Visit:
        """Choose an own video for a user from whom nothing is learned; not counted as a visit."""
        video = self.vendor.choose_without_learning(context)
        return Visit(context, Choice(0, "exploit", None, None), video)

    def finish_visit(
        self, number: int, context: NDArray[np.float64], answer: bytes | None
    ) -> Visit:
        """Finish a visit that waits for a neighbour's offer, and choose the video to show.

        If the visit is not stored any more, or has an own video already, an own video is chosen
        from what was learned, and the visit is not learned from.

        Args:
            number: of the visit.
            context: of the visit, sent again.
            answer: an encoded Offer or Refusal; None if nothing came in time.
        """
        visit = self._load(number, context)
        if visit is None or visit.peer is None:
            return self.choose_without_learning(context)
        self.vendor.receive_offer(visit, answer)
        self._store(visit)
        return visit

    def observe_click(self, ticket: Ticket, reward: float) -> None:
        """Learn the reward of a visit, unless it was learned before or comes too late.

        A visit for which a neighbour was chosen is stored, unless it is too old. Any other visit is
        made again from its ticket.
        """
        visit = self._load(ticket.number)
        videos, peers = self.vendor.arms
        has_arm = ticket.arm in videos or ticket.arm in peers
        if visit is not None and visit.video is not None:
            self.vendor.observe_click(visit, reward)
            self._store(visit)
        elif ticket.number > 0 and has_arm:
            context = self._context_of(np.array(ticket.steps, dtype=np.uint16))
            cell = tuple(context.tolist())
            tag = self._learner.tag
            # The learner treats all phases but "train" alike.
            choice = Choice(ticket.arm, "explore", cell, None, ticket.learner_visit, tag)
            with suppress(PrivacyError):  # it was answered before
                self._learner.update(choice, reward)

    @property
    def _learner(self) -> JointLearner:
        """The vendor's learner."""
        assert isinstance(self.vendor.policy, JointLearner)
        return self.vendor.policy

    def _store(self, visit: Visit) -> None:
        """Store a visit in its row, without its context once it is learned."""
        if visit.peer is not None and visit.peer not in self.peer_names:
            self.peer_names.append(visit.peer)
        ticket = Ticket.from_visit(visit)
        request = visit.request or bytes(REQUEST_BYTES)  # zeros if there is no request
        no_context = (0,) * len(ticket.steps)
        # The values are in the order of `visit_dtype`.
        self.visits[visit.number % len(self.visits)] = (
            ticket.number,
            ticket.learner_visit,
            ticket.arm,
            -1 if visit.peer is None else self.peer_names.index(visit.peer),
            0 if visit.click is None else 1 + int(visit.click),
            visit.learned,
            visit.offer_known,
            visit.video is not None,
            np.frombuffer(request, np.uint8),
            no_context if visit.learned else ticket.steps,
        )

    def _context_of(self, steps: NDArray[np.uint16]) -> NDArray[np.float64]:
        """Convert a context (d,) in 16-bit steps to numbers in [0, 1]."""
        return from_steps(steps, self._learner.features.dimension)

    def _load(self, number: int, context: NDArray[np.float64] | None = None) -> Visit | None:
        """Load a stored visit; None if it is not stored, or too old.

        Args:
            number: of the visit.
            context: of the visit, sent again; None takes the stored context.
        """
        row: Any = self.visits[number % len(self.visits)]
        # The visit's age decides, not whether a later visit took its row.
        is_too_old = number <= self.vendor.visits - len(self.visits)
        if number < 1 or is_too_old or row["number"] != number:
            return None
        peer = int(row["peer"])
        stored_context = self._context_of(row["context"])
        cell = tuple(stored_context.tolist())
        learner_visit = int(row["learner_visit"])
        choice = Choice(int(row["arm"]), "explore", cell, None, learner_visit, self._learner.tag)
        return Visit(
            stored_context if context is None else context,
            choice,
            "shown" if row["has_video"] else None,  # "shown" stands for a name that is not stored
            peer=None if peer < 0 else self.peer_names[peer],
            request=row["request"].tobytes(),
            click=None if row["click"] == 0 else float(row["click"] - 1),
            learned=bool(row["learned"]),
            number=number,
            offer_known=bool(row["offer_known"]),
        )


def read_articles(data: bytes) -> dict[str, int]:
    """Read the articles of a stored state, each with the second since 1970 at which it joined."""
    json_part, _ = unpack(data)
    return {str(name): int(joined) for name, joined in json_part["articles"].items()}


_LENGTH = struct.Struct(">I")
"""Length of the JSON text in bytes; it is written before the text."""
_DTYPES = ("<f8", "<i8", "<i4", "|u1")
"""Types of arrays that are stored."""


def pack(json_part: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Encode values that JSON can hold, and arrays, as bytes.

    Layout: the length of a JSON text in 4 bytes, the text `[json_part, table]`, and the bytes of
    the arrays. The table has the name, dtype and shape of each array, in the order of the arrays.

    Args:
        json_part: values that JSON can hold.
        arrays: of float64, int64, int32 or uint8, by name.

    Raises:
        TypeError: An array has another dtype.
    """
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    table = [[name, array.dtype.str, list(array.shape)] for name, array in contiguous.items()]
    if any(dtype not in _DTYPES for _, dtype, _ in table):
        raise TypeError("an array of this type cannot be stored")
    text = json.dumps([json_part, table], separators=(",", ":"), allow_nan=False).encode("ascii")
    parts = [_LENGTH.pack(len(text)), text]
    parts += [array.tobytes() for array in contiguous.values()]
    return b"".join(parts)


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the values and the read-only arrays that `pack` wrote.

    Raises:
        ValueError: The bytes are not in this layout. A `struct.error`, TypeError or LookupError may
            be raised instead.
    """
    (length,) = _LENGTH.unpack_from(data)
    offset = _LENGTH.size + length
    json_part, table = json.loads(data[_LENGTH.size : offset])
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype, shape in table:
        if dtype not in _DTYPES:
            raise ValueError("an array of this type cannot be stored")
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, dtype, count, offset).reshape(shape)
        offset += arrays[name].nbytes
    if offset != len(data):
        raise ValueError("bytes follow the last array")
    return json_part, arrays
