"""The messages that cross between vendors in P-DAP; nothing else does.

A visitor's own vendor asks its neighbours, the other vendors:

Forward    own vendor -> neighbour   a visitor's context, randomised; the same bytes to every
                                     neighbour
Offer      neighbour -> own vendor   the video that the neighbour would show
Reward     neighbour -> own vendor   the visit's reward, perhaps with noise; once
Refusal    neighbour -> own vendor   why there is no offer, from a short list

Each message has the number of its request: 16 random bytes that identify nobody and are used for
one visit. A Refusal has zeros instead if it answers bytes that cannot be read. Messages hold no
user, no time and no count of visits. An Offer names one video of the neighbour, and the other
messages name none.

Layouts are fixed, with big-endian integers, so that a message has the same bytes in all languages.
Every message is checked when its object is made, which raises MessageError. Standard library only.
"""

from __future__ import annotations

import math
import struct
from contextlib import suppress
from dataclasses import dataclass

VERSION = 1
"""First byte of every message."""
MICRO = 1_000_000
"""Millionths in 1: epsilons and rewards are whole numbers of millionths."""
MOST_FEATURES = 16_384
"""Largest number of features of a context."""
MOST_SLICES = 1 << 16
"""Largest number of slices of a feature; a slice is a 16-bit number."""
MOST_VIDEO_BYTES = 256
"""Largest length of a video's name in UTF-8."""
MOST_REWARD = 1 << 53
"""Largest reward in millionths; a float holds every whole number up to it."""
NO_NOISE = (1 << 32) - 1
"""The `epsilon` of a context that is sent without noise."""
LARGEST_MESSAGE = 2 + 16 + 12 + 2 * MOST_FEATURES
"""Bytes of the longest message, a Forward with MOST_FEATURES features."""
LARGEST_ANSWER = 2 + 16 + 2 + MOST_VIDEO_BYTES
"""Bytes of the longest answer to a Forward, an Offer; a Refusal is shorter."""

REASONS = ("malformed", "not agreed", "unknown", "no video", "busy")
"""Why there is no offer, in this order: the bytes are not a Forward, or repeat a request's number
with other content; features, slices or epsilon are not those agreed on; the vendor that asks is not
a neighbour; there is no video to show to forwarded users; try again later."""

_HEAD = struct.Struct(">BB16s")
"""Head of every message: version, kind, number of the request."""
_FORWARD = struct.Struct(">IIHH")
"""After the head of a Forward: epsilon, slices, number of features, 0. The places follow."""
_OFFER = struct.Struct(">H")
"""After the head of an Offer: length of the video's name. The name follows."""
_REWARD = struct.Struct(">q")
"""After the head of a Reward: the reward."""
_KIND_FORWARD = 1
_KIND_OFFER = 2
_KIND_REWARD = 3
_KIND_REFUSAL = 4
REQUEST_BYTES = 16
"""Length of the number of a request."""


class MessageError(ValueError):
    """A message that is not exactly what this version writes."""


@dataclass(frozen=True)
class Forward:
    """A visitor's context, randomised by their own vendor.

    Attributes:
        request: the number of the request, 16 bytes.
        epsilon: epsilon of the randomisation in millionths of a nat; NO_NOISE without noise.
        slices: number of slices of each feature, 1 to MOST_SLICES.
        places: for each feature, the number of the slice that the randomised context lies in, from
            0.
    """

    request: bytes
    epsilon: int
    slices: int
    places: tuple[int, ...]

    def __post_init__(self) -> None:
        _check_request(self.request)
        require(is_integer(self.epsilon, 0, NO_NOISE), "epsilon is out of bounds")
        require(is_integer(self.slices, 1, MOST_SLICES), "slices are out of bounds")
        is_short_tuple = type(self.places) is tuple and len(self.places) <= MOST_FEATURES
        require(is_short_tuple, f"a context has at most {MOST_FEATURES} features")
        last_slice = self.slices - 1
        for place in self.places:
            require(is_integer(place, 0, last_slice), "a place is not a slice")

    def encode(self) -> bytes:
        """Encode the message."""
        body = _FORWARD.pack(self.epsilon, self.slices, len(self.places), 0)
        places = struct.pack(f">{len(self.places)}H", *self.places)
        return _HEAD.pack(VERSION, _KIND_FORWARD, self.request) + body + places

    @classmethod
    def decode(cls, data: bytes) -> Forward:
        """Decode a Forward; MessageError for any other bytes."""
        request, body = _read_head(data, _KIND_FORWARD, "a forward")
        require(len(body) >= _FORWARD.size, "a forward is cut short")
        epsilon, slices, features, reserved = _FORWARD.unpack_from(body)
        has_right_length = len(body) == _FORWARD.size + 2 * features
        require(has_right_length, "a forward has a wrong length")
        require(reserved == 0, "a forward's reserved field is not 0")
        places = struct.unpack_from(f">{features}H", body, _FORWARD.size)
        return cls(request, epsilon, slices, places)

    def context(self) -> tuple[float, ...]:
        """Return the middle of the slice in `places` of each feature: numbers in [0, 1]."""
        return tuple([(place + 0.5) / self.slices for place in self.places])


@dataclass(frozen=True)
class Offer:
    """The video that a neighbour would show.

    Attributes:
        request: the number of the request, 16 bytes.
        video: the neighbour's name of the video, 1 to 256 bytes of UTF-8.
    """

    request: bytes
    video: str

    def __post_init__(self) -> None:
        _check_request(self.request)
        require(type(self.video) is str, "a video is named by text")
        has_right_length = 1 <= len(_encode_name(self.video)) <= MOST_VIDEO_BYTES
        require(has_right_length, f"a video's name has 1 to {MOST_VIDEO_BYTES} bytes of UTF-8")

    def encode(self) -> bytes:
        """Encode the message."""
        name = _encode_name(self.video)
        return _HEAD.pack(VERSION, _KIND_OFFER, self.request) + _OFFER.pack(len(name)) + name

    @classmethod
    def decode(cls, data: bytes) -> Offer:
        """Decode an Offer; MessageError for any other bytes."""
        request, body = _read_head(data, _KIND_OFFER, "an offer")
        require(len(body) >= _OFFER.size, "an offer is cut short")
        (length,) = _OFFER.unpack_from(body)
        require(len(body) == _OFFER.size + length, "an offer has a wrong length")
        try:
            video = body[_OFFER.size :].decode("utf-8")
        except UnicodeDecodeError:
            raise MessageError("a video is named in UTF-8") from None
        return cls(request, video)


@dataclass(frozen=True)
class Reward:
    """The reward of a visit, as the neighbour reports it.

    Attributes:
        request: the number of the request, 16 bytes.
        reward: the reward in millionths; with noise it may be negative.
    """

    request: bytes
    reward: int

    def __post_init__(self) -> None:
        _check_request(self.request)
        require(is_integer(self.reward, -MOST_REWARD, MOST_REWARD), "the reward is out of bounds")

    @classmethod
    def from_number(cls, request: bytes, reward: float) -> Reward:
        """Make the message of a reward, rounded to millionths and clipped to +-MOST_REWARD.

        Raises:
            MessageError: The reward is not finite.
        """
        require(-math.inf < reward < math.inf, "the reward is not finite")  # False for NaN
        # Clipped first, since the millionths of a huge float are infinite
        millionths = round(max(-MOST_REWARD, min(MOST_REWARD, reward)) * MICRO)
        return cls(request, max(-MOST_REWARD, min(MOST_REWARD, millionths)))

    def encode(self) -> bytes:
        """Encode the message."""
        return _HEAD.pack(VERSION, _KIND_REWARD, self.request) + _REWARD.pack(self.reward)

    @classmethod
    def decode(cls, data: bytes) -> Reward:
        """Decode a Reward; MessageError for any other bytes."""
        request, body = _read_head(data, _KIND_REWARD, "a reward")
        require(len(body) == _REWARD.size, "a reward has 26 bytes")
        (reward,) = _REWARD.unpack(body)
        return cls(request, reward)


@dataclass(frozen=True)
class Refusal:
    """An answer without an offer.

    Attributes:
        request: the number of the request; zeros if the request could not be read.
        reason: one of REASONS.
    """

    request: bytes
    reason: str

    def __post_init__(self) -> None:
        _check_request(self.request)
        require(self.reason in REASONS, "there is no such reason")

    def encode(self) -> bytes:
        """Encode the message."""
        head = _HEAD.pack(VERSION, _KIND_REFUSAL, self.request)
        return head + bytes([REASONS.index(self.reason)])

    @classmethod
    def decode(cls, data: bytes) -> Refusal:
        """Decode a Refusal; MessageError for any other bytes."""
        request, body = _read_head(data, _KIND_REFUSAL, "a refusal")
        require(len(body) == 1, "a refusal has 19 bytes")
        require(body[0] < len(REASONS), "there is no such reason")
        return cls(request, REASONS[body[0]])


def decode_answer(data: bytes) -> Offer | Refusal:
    """Decode a neighbour's answer to a Forward; MessageError if it is no Offer and no Refusal."""
    is_refusal = len(data) > 1 and data[1] == _KIND_REFUSAL
    return Refusal.decode(data) if is_refusal else Offer.decode(data)


def video_of(answer: bytes | None, request: bytes) -> str | None:
    """Return the name of the video that an answer offers to a request.

    Args:
        answer: the encoded answer; None if no answer came.
        request: the number of the request.

    Returns:
        None if the answer is not an Offer, or is for another request.
    """
    if answer is None:
        return None
    with suppress(MessageError):
        message = decode_answer(answer)
        if isinstance(message, Offer) and message.request == request:
            return message.video
    return None


def require(condition: bool, error: str) -> None:
    """Raise a MessageError with the text `error` unless the condition holds."""
    if not condition:
        raise MessageError(error)


def is_integer(value: object, lowest: int, highest: int) -> bool:
    """Return whether a value is an int from `lowest` to `highest`; False for floats and bools."""
    return type(value) is int and lowest <= value <= highest


def _read_head(data: bytes, kind: int, name: str) -> tuple[bytes, bytes]:
    """Check the head of a message of one kind.

    Args:
        data: the whole message.
        kind: the kind that is expected, one of the _KIND constants.
        name: name of this kind, for errors.

    Returns:
        The number of the request, and the bytes after the head.

    Raises:
        MessageError: The head is not that of this kind and version, or the message is too long or
            too short.
    """
    require(len(data) <= LARGEST_MESSAGE, f"a message has at most {LARGEST_MESSAGE} bytes")
    require(len(data) >= _HEAD.size, f"expected {name}, found too few bytes")
    version, actual_kind, request = _HEAD.unpack_from(data)
    require(actual_kind == kind, f"expected {name}")
    require(version == VERSION, f"expected version {VERSION}, found {version}")
    return request, data[_HEAD.size :]


def _check_request(request: object) -> None:
    """Raise a MessageError unless `request` is REQUEST_BYTES bytes."""
    is_number = type(request) is bytes and len(request) == REQUEST_BYTES
    require(is_number, f"a request is numbered with {REQUEST_BYTES} bytes")


def _encode_name(name: str) -> bytes:
    """Encode a video's name as UTF-8; MessageError if it holds lone surrogates."""
    try:
        return name.encode("utf-8")
    except UnicodeEncodeError:
        raise MessageError("a video is named in UTF-8") from None
