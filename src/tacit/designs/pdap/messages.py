"""The messages that cross between vendors in P-DAP; nothing else does.

Forward    home -> neighbour   a visitor's context, randomised; the same bytes to every neighbour
Offer      neighbour -> home   the video it would show
Reward     neighbour -> home   what came of it, noised; once
Refusal    neighbour -> home   why there is no offer, from a short list

Each has the number of the request, 16 random bytes that name nobody and are used for one visit.
There is no user, no time, no count, and of the neighbour's repository only what it shows.

Fixed layouts of big-endian integers, so that a message has one spelling in all languages. It is
checked when it is made: MessageError, wherever it came from. Standard library only.
"""

from __future__ import annotations

import math
import struct
from contextlib import suppress
from dataclasses import dataclass

VERSION = 1
MICRO = 1_000_000
MOST_FEATURES = 16_384
MOST_SLICES = 1 << 16
MOST_VIDEO_BYTES = 256
MOST_REWARD = 1 << 53
"""Millionths; a float holds each of them."""
NO_NOISE = (1 << 32) - 1
"""Stands for an infinite epsilon: a context in the clear."""
LARGEST = 2 + 16 + 12 + 2 * MOST_FEATURES
"""Bytes: nothing longer is worth reading."""

REASONS = ("malformed", "not agreed", "unknown", "no video", "busy")
"""Why there is no offer: bytes that are no Forward; another grid or epsilon than agreed; a vendor
that is none of ours; nothing to show; later perhaps."""

_HEAD = struct.Struct(">BB16s")
_FORWARD = struct.Struct(">IIHH")
_OFFER = struct.Struct(">H")
_REWARD = struct.Struct(">q")
_KIND_FORWARD, _KIND_OFFER, _KIND_REWARD, _KIND_REFUSAL = 1, 2, 3, 4
REQUEST_BYTES = 16


class MessageError(ValueError):
    """A message that is not exactly what this version writes."""


@dataclass(frozen=True)
class Forward:
    """A visitor's context as their vendor randomised it.

    Attributes:
        request: its number, 16 bytes.
        epsilon: millionths of a nat spent on it, at the user's own vendor; NO_NOISE: none protects
            it.
        slices: per feature.
        places: of each feature, the slice it is said to lie in.
    """

    request: bytes
    epsilon: int
    slices: int
    places: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_request(self.request)
        require(is_integer(self.epsilon, 0, NO_NOISE), "epsilon is out of bounds")
        require(is_integer(self.slices, 1, MOST_SLICES), "slices are out of bounds")
        whole = type(self.places) is tuple and len(self.places) <= MOST_FEATURES
        require(whole, f"a context has at most {MOST_FEATURES} features")
        last = self.slices - 1
        require(all(is_integer(place, 0, last) for place in self.places), "a place is no slice")

    def encode(self) -> bytes:
        """Write the message."""
        body = _FORWARD.pack(self.epsilon, self.slices, len(self.places), 0)
        places = struct.pack(f">{len(self.places)}H", *self.places)
        return _HEAD.pack(VERSION, _KIND_FORWARD, self.request) + body + places

    @classmethod
    def decode(cls, data: bytes) -> Forward:
        """Read a message; MessageError if it is none of this kind."""
        request, body = _read_head(data, _KIND_FORWARD, "a forward")
        require(len(body) >= _FORWARD.size, "a forward is cut short")
        epsilon, slices, features, spare = _FORWARD.unpack_from(body)
        whole = len(body) == _FORWARD.size + 2 * features and spare == 0
        require(whole, "a forward has 2 bytes for each feature")
        places = struct.unpack_from(f">{features}H", body, _FORWARD.size)
        return cls(request, epsilon, slices, places)

    def context(self) -> tuple[float, ...]:
        """The context that it stands for: the middle of each slice, in [0, 1]."""
        return tuple([(place + 0.5) / self.slices for place in self.places])


@dataclass(frozen=True)
class Offer:
    """The video that a neighbour would show.

    Attributes:
        request: its number, 16 bytes.
        video: the neighbour's own name for it, 1 to 256 bytes of UTF-8.
    """

    request: bytes
    video: str

    def __post_init__(self) -> None:
        _check_request(self.request)
        require(type(self.video) is str, "a video is named by text")
        require(1 <= len(_bytes_of(self.video)) <= MOST_VIDEO_BYTES, "a video's name is too long")

    def encode(self) -> bytes:
        """Write the message."""
        name = _bytes_of(self.video)
        return _HEAD.pack(VERSION, _KIND_OFFER, self.request) + _OFFER.pack(len(name)) + name

    @classmethod
    def decode(cls, data: bytes) -> Offer:
        """Read a message; MessageError if it is none of this kind."""
        request, body = _read_head(data, _KIND_OFFER, "an offer")
        require(len(body) >= _OFFER.size, "an offer is cut short")
        (length,) = _OFFER.unpack_from(body)
        require(len(body) == _OFFER.size + length, "an offer ends with the video's name")
        try:
            video = body[_OFFER.size :].decode("utf-8")
        except UnicodeDecodeError:
            raise MessageError("a video is named in UTF-8") from None
        return cls(request, video)


@dataclass(frozen=True)
class Reward:
    """The reward of a visit, as the neighbour reports it.

    Attributes:
        request: its number, 16 bytes.
        reward: millionths, noised; of either sign.
    """

    request: bytes
    reward: int

    def __post_init__(self) -> None:
        _check_request(self.request)
        require(is_integer(self.reward, -MOST_REWARD, MOST_REWARD), "the reward is out of bounds")

    @classmethod
    def from_number(cls, request: bytes, reward: float) -> Reward:
        """Make one from a finite number, rounded to millionths and cut to what a message holds."""
        require(math.isfinite(reward), "the reward is no number")
        return cls(request, max(-MOST_REWARD, min(MOST_REWARD, round(reward * MICRO))))

    def encode(self) -> bytes:
        """Write the message."""
        return _HEAD.pack(VERSION, _KIND_REWARD, self.request) + _REWARD.pack(self.reward)

    @classmethod
    def decode(cls, data: bytes) -> Reward:
        """Read a message; MessageError if it is none of this kind."""
        request, body = _read_head(data, _KIND_REWARD, "a reward")
        require(len(body) == _REWARD.size, "a reward has 26 bytes")
        return cls(request, *_REWARD.unpack(body))


@dataclass(frozen=True)
class Refusal:
    """An answer without an offer.

    Attributes:
        request: its number, 16 bytes.
        reason: one of REASONS; nothing else is sent.
    """

    request: bytes
    reason: str

    def __post_init__(self) -> None:
        _check_request(self.request)
        require(self.reason in REASONS, "there is no such reason")

    def encode(self) -> bytes:
        """Write the message."""
        head = _HEAD.pack(VERSION, _KIND_REFUSAL, self.request)
        return head + bytes([REASONS.index(self.reason)])

    @classmethod
    def decode(cls, data: bytes) -> Refusal:
        """Read a message; MessageError if it is none of this kind."""
        request, body = _read_head(data, _KIND_REFUSAL, "a refusal")
        require(len(body) == 1, "a refusal has 19 bytes")
        require(body[0] < len(REASONS), "there is no such reason")
        return cls(request, REASONS[body[0]])


def decode_answer(data: bytes) -> Offer | Refusal:
    """Decode a neighbour's answer to a Forward; MessageError if it is none."""
    refused = len(data) > 1 and data[1] == _KIND_REFUSAL
    return Refusal.decode(data) if refused else Offer.decode(data)


def video_of(answer: bytes | None, request: bytes) -> str | None:
    """The video of an offer to this very request; None for everything else."""
    with suppress(MessageError):
        message = decode_answer(answer or b"")
        if isinstance(message, Offer) and message.request == request:
            return message.video
    return None


def require(true: bool, what: str) -> None:
    """Raise a MessageError saying `what` unless it is `true`."""
    if not true:
        raise MessageError(what)


def is_integer(value: object, lowest: int, highest: int) -> bool:
    """Whether a value is a whole number within bounds, ends included; 1.0 and True are none."""
    return type(value) is int and lowest <= value <= highest


def _read_head(data: bytes, kind: int, name: str) -> tuple[bytes, bytes]:
    """Read the head of a message: number of the request, and the bytes that follow."""
    require(len(data) <= LARGEST, f"a message has at most {LARGEST} bytes")
    require(len(data) >= _HEAD.size, f"expected {name}, found too few bytes")
    version, actual, request = _HEAD.unpack_from(data)
    require(actual == kind, f"expected {name}")
    require(version == VERSION, f"expected version {VERSION}, found {version}")
    return request, data[_HEAD.size :]


def _check_request(request: object) -> None:
    named = type(request) is bytes and len(request) == REQUEST_BYTES
    require(named, f"a request is numbered with {REQUEST_BYTES} bytes")


def _bytes_of(name: str) -> bytes:
    try:
        return name.encode("utf-8")
    except UnicodeEncodeError:
        raise MessageError("a video is named in UTF-8") from None
