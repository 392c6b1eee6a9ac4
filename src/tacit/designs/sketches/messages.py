"""Messages between devices and the recommender in the sketches: there are no others.

Campaign   recommender -> device   one public question, the same for everybody
Report     device -> recommender   randomised bits, once; 22 bytes (30 where pairs are chosen)
Clusters   recommender -> device   the learned label and score of every item

Fixed layouts of big-endian integers, so that a message has one spelling and two languages agree to
the byte. Counts stay below 2^31 and fit a signed integer everywhere; chances are parts of 2^53,
which every language holds exactly. A message is checked when it is made: what does not hold
together raises MessageError, wherever it came from.
Standard library only: the device half imports this file.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

VERSION = 1
CLUSTERS_VERSION = 2
MICRO = 1_000_000
WHOLE = 1 << 53
"""Chances are parts of this."""
NO_NOISE = (1 << 31) - 1
"""Stands for an infinite epsilon: the non-private variant, which devices refuse."""
MOST = (1 << 31) - 1
MOST_QUESTIONS = 32

METHODS = (
    "multi-maxsense",
    "pairwise-preference",
    "pairwise-rated",
    "pairwise-identical",
    "pairwise-rated-identical",
)
"""Methods by their number in a campaign; multi-maxsense with one question is MaxSense."""
RATED_METHODS = ("pairwise-rated", "pairwise-rated-identical")
"""Methods whose device chooses a pair of rated items, and so shows that it rated them."""
IDENTICAL_METHODS = ("pairwise-identical", "pairwise-rated-identical")
"""Methods that ask whether both items are rated alike (Appendix B), not whether both are liked."""
UNITS = ("user", "rating", "moved rating")
"""What epsilon is for: everything a person rated; one rating more or less; one rating elsewhere."""

_CAMPAIGN = struct.Struct(">4s4B5IiQQ16s32s")
_REPORT = struct.Struct(">BB8sQI")
_PAIR = struct.Struct(">II")
_CLUSTERS = struct.Struct(">4sBBBx32s32sI")
_MAGIC = b"tcit"
_KIND_CAMPAIGN = 1
_KIND_REPORT = 2
_KIND_CLUSTERS = 3
REPORT_HEAD = bytes([VERSION, _KIND_REPORT])
REPORT_BYTES = _REPORT.size
RATED_REPORT_BYTES = REPORT_BYTES + _PAIR.size
_EXACT = Context(prec=60)
_BOUNDS = {
    "items": (2, MOST),
    "rated": (1, MOST),
    "theta": (0, MOST),
    "questions": (1, MOST_QUESTIONS),
    "epsilon": (1, NO_NOISE),
    "liked_from": (-MOST, MOST),
    "truth": (WHOLE // 2, WHOLE),
    "closes": (0, WHOLE),
}
"""Least and most of each number of a campaign, in the order of its bytes."""

ItemId = int | str


class MessageError(ValueError):
    """A message that is not exactly what this version writes."""


def exposed_bits(method: str, unit: str, questions: int, rated: int) -> int:
    """Count the bits of a report in which two neighbouring inputs can differ.

    Each bit may cost epsilon over this. Sensed sets are disjoint, so one rating touches one of
    them; under 'user', a device uses at most `rated` liked items, before and after. Random pairs
    may share an item, so every unit is charged for all of them.
    """
    if method != "multi-maxsense":
        return questions
    by_unit = {"user": min(questions, 2 * rated), "rating": 1, "moved rating": min(questions, 2)}
    return by_unit[unit]


def catalogue_digest(items: Iterable[ItemId]) -> bytes:
    """Compute the SHA-256 of item ids in their order; integers and strings differ."""
    digest = hashlib.sha256()
    for item in items:
        text = f"i{item}" if type(item) is int else f"s{item}"
        encoded = text.encode("utf-8", "surrogatepass")  # half a character is an id, too
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    return digest.digest()


@dataclass(frozen=True)
class Campaign:
    """One question to everybody.

    Raises:
        MessageError: A value is out of its bounds, or the values do not hold together.
    """

    method: str
    """One of METHODS."""
    unit: str
    """One of UNITS: what epsilon is for."""
    items: int
    """N, size of the catalogue."""
    rated: int
    """w, items that a person is taken to have rated."""
    theta: int
    """Millionths; a sensed set holds theta * items / rated items. 0 for pairs."""
    questions: int
    """Bits in a report."""
    epsilon: int
    """Millionths of a nat, for the whole report and the stated unit."""
    liked_from: int
    """Thousandths of a star: ratings from here up are likes."""
    truth: int
    """Parts of 2^53: chance that a bit is released as it is."""
    closes: int
    """Unix seconds; later reports do not count."""
    seed: bytes
    """16 public bytes, from which the questions are drawn."""
    catalogue: bytes
    """SHA-256 of the catalogue's ids in their order."""

    def __post_init__(self) -> None:
        require(self.method in METHODS and self.unit in UNITS, "a campaign names method and unit")
        for number, (name, (least, most)) in zip(self._numbers(), _BOUNDS.items(), strict=True):
            require(is_integer(number, least, most), f"{name} is out of bounds")
        require(self.rated <= self.items, "nobody rates more items than there are")
        require(is_bytes(self.seed, 16), "a seed has 16 bytes")
        require(is_bytes(self.catalogue, 32), "a catalogue is named by 32 bytes")
        require((self.theta > 0) == self.senses, "theta is for sensed sets, and they need one")
        once = not self.names_pair or self.questions == 1
        require(once, "about one pair of rated items there is one question")
        room = not self.senses or self.questions * self.set_size <= self.modulus
        require(room, "the sensed sets of one person do not fit into the catalogue")
        require(self._keeps_epsilon(), "the chance of the truth is higher than epsilon allows")

    def _numbers(self) -> tuple[int, ...]:
        """List the numbers in the order of the bytes."""
        return (
            self.items,
            self.rated,
            self.theta,
            self.questions,
            self.epsilon,
            self.liked_from,
            self.truth,
            self.closes,
        )

    @property
    def senses(self) -> bool:
        """Whether the questions are sensed sets, and not pairs."""
        return self.method == "multi-maxsense"

    @property
    def names_pair(self) -> bool:
        """Whether the device chooses a pair of rated items and names it in its report."""
        return self.method in RATED_METHODS

    @property
    def asks_identical(self) -> bool:
        """Whether a pair's true answer is that both items are liked, or both disliked."""
        return self.method in IDENTICAL_METHODS

    @cached_property
    def modulus(self) -> int:
        """Places on the wheel of sensed sets: the smallest prime that is at least `items`."""
        return wheel_size(self.items)

    @cached_property
    def set_size(self) -> int:
        """Places in a sensed set; 0 for pairs."""
        return set_size(self.modulus, self.theta, self.rated) if self.senses else 0

    @property
    def places(self) -> int:
        """How many places are counted: those on the wheel of sensed sets, or pairs."""
        return self.modulus if self.senses else self.items * (self.items - 1) // 2

    @property
    def asked_share(self) -> float:
        """Chance that an item lies in one of a ticket's sets."""
        return self.questions * self.set_size / self.modulus

    @property
    def exposed_bits(self) -> int:
        """How many bits two neighbouring inputs can differ in."""
        return exposed_bits(self.method, self.unit, self.questions, self.rated)

    @property
    def likes_cap(self) -> int | None:
        """Most liked items that a device uses; None for all of them."""
        return self.rated if self.senses and self.unit == "user" else None

    @property
    def report_bytes(self) -> int:
        """Size of a report in bytes."""
        return RATED_REPORT_BYTES if self.names_pair else REPORT_BYTES

    def _keeps_epsilon(self) -> bool:
        """Say whether exposed_bits * ln(truth / lie) <= epsilon, decided to 60 digits."""
        if self.truth == WHOLE or self.epsilon == NO_NOISE:
            return self.truth == WHOLE and self.epsilon == NO_NOISE
        ratio = _EXACT.divide(Decimal(self.truth), Decimal(WHOLE - self.truth))
        loss = _EXACT.multiply(Decimal(self.exposed_bits), _EXACT.ln(ratio))
        # In a context of its own throughout: the caller's may keep four digits.
        return _EXACT.multiply(loss, Decimal(MICRO)) <= self.epsilon

    def encode(self) -> bytes:
        """Write the campaign's bytes."""
        head = _MAGIC, VERSION, _KIND_CAMPAIGN, METHODS.index(self.method), UNITS.index(self.unit)
        return _CAMPAIGN.pack(*head, *self._numbers(), self.seed, self.catalogue)

    @classmethod
    def decode(cls, data: bytes) -> Campaign:
        """Read a campaign.

        Raises:
            MessageError: The bytes are no campaign.
        """
        require(len(data) == _CAMPAIGN.size, f"a campaign has {_CAMPAIGN.size} bytes")
        magic, version, kind, method, unit, *numbers = _CAMPAIGN.unpack(data)
        require(magic == _MAGIC and kind == _KIND_CAMPAIGN, "expected a campaign")
        require(version == VERSION, f"expected version {VERSION}, found {version}")
        require(method < len(METHODS) and unit < len(UNITS), "a campaign names method and unit")
        return cls(METHODS[method], UNITS[unit], *numbers)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the bytes: names the campaign on devices."""
        return hashlib.sha256(self.encode()).digest()

    @property
    def id(self) -> bytes:
        """First 8 bytes of the digest: names the campaign in reports."""
        return self.digest[:8]


@dataclass(frozen=True)
class Report:
    """Report that leaves the device, once: no user id, no rating, no time.

    Raises:
        MessageError: A value is out of its bounds.
    """

    campaign: bytes
    """8 bytes: `Campaign.id`."""
    ticket: int
    """64 bits, others in every campaign, from which the questions follow."""
    bits: int
    """Answers: question q's is bit q."""
    pair: tuple[int, int] | None = None
    """Numbers of the two items, where the device chose them (RATED_METHODS)."""

    def __post_init__(self) -> None:
        require(is_bytes(self.campaign, 8), "a report names its campaign in 8 bytes")
        require(is_integer(self.ticket, 0, (1 << 64) - 1), "a ticket has 64 bits")
        require(is_integer(self.bits, 0, (1 << MOST_QUESTIONS) - 1), "a report has 32 bits")
        if self.pair is not None:
            whole = type(self.pair) is tuple and len(self.pair) == 2
            require(whole and all(is_integer(item, 0, MOST) for item in self.pair), "wrong pair")
            require(self.pair[0] < self.pair[1], "a pair is two items in their order")

    def encode(self) -> bytes:
        """Write the report's bytes."""
        head = _REPORT.pack(VERSION, _KIND_REPORT, self.campaign, self.ticket, self.bits)
        return head if self.pair is None else head + _PAIR.pack(*self.pair)

    @classmethod
    def decode(cls, data: bytes) -> Report:
        """Read a report.

        Raises:
            MessageError: The bytes are no report.
        """
        sizes = (REPORT_BYTES, RATED_REPORT_BYTES)
        require(len(data) in sizes, f"a report has {REPORT_BYTES} or {RATED_REPORT_BYTES} bytes")
        version, kind, campaign, ticket, bits = _REPORT.unpack_from(data)
        require(kind == _KIND_REPORT, "expected a report")
        require(version == VERSION, f"expected version {VERSION}, found {version}")
        chosen = len(data) == RATED_REPORT_BYTES
        pair = _PAIR.unpack_from(data, REPORT_BYTES) if chosen else None
        return cls(campaign, ticket, bits, pair)


@dataclass(frozen=True)
class Clusters:
    """Learned clusters: a label and a score of every item.

    Raises:
        MessageError: A value is out of its bounds.
    """

    campaign: bytes
    """32 bytes: `Campaign.digest`."""
    catalogue: bytes
    """32 bytes: digest of the item ids that labels and scores are for, in their order."""
    labels: bytes
    """(items,) cluster of each item, one byte each."""
    scores: tuple[int, ...]
    """(items,) millionths: a score orders items within a cluster, the higher the better liked."""

    def __post_init__(self) -> None:
        named = is_bytes(self.campaign, 32) and is_bytes(self.catalogue, 32)
        require(named, "clusters name their campaign and catalogue in 32 bytes each")
        require(type(self.labels) is bytes and len(self.labels) > 1, "a label is a byte")
        fits = type(self.scores) is tuple and len(self.scores) == len(self.labels)
        require(fits and all(is_integer(score, -MOST, MOST) for score in self.scores), "no scores")

    def encode(self) -> bytes:
        """Write the clusters' bytes."""
        names = (self.campaign, self.catalogue, len(self.labels))
        head = _CLUSTERS.pack(_MAGIC, CLUSTERS_VERSION, _KIND_CLUSTERS, 0, *names)
        return head + self.labels + struct.pack(f">{len(self.scores)}i", *self.scores)

    @classmethod
    def decode(cls, data: bytes) -> Clusters:
        """Read clusters.

        Raises:
            MessageError: The bytes are no clusters.
        """
        require(len(data) >= _CLUSTERS.size, "clusters are cut short")
        magic, version, kind, spare, campaign, catalogue, items = _CLUSTERS.unpack_from(data)
        require(magic == _MAGIC and kind == _KIND_CLUSTERS, "expected clusters")
        known = version == CLUSTERS_VERSION
        require(known, f"expected version {CLUSTERS_VERSION}, found {version}")
        whole = len(data) == _CLUSTERS.size + 5 * items and spare == data[7] == 0
        require(whole, "clusters have 5 bytes for each item")
        labels = data[_CLUSTERS.size : _CLUSTERS.size + items]
        scores = struct.unpack_from(f">{items}i", data, len(data) - 4 * items)
        return cls(campaign, catalogue, labels, scores)


def require(true: object, what: str) -> None:
    """Check a statement.

    Raises:
        MessageError: It is not true; its text is `what`, which should be so.
    """
    if not true:
        raise MessageError(what)


def micros(nats: float) -> int:
    """Round a finite number of nats down to whole millionths; 1e-12 of it is float error.

    What is asked for and what is allowed are rounded here, so that equal numbers stay equal.
    """
    return math.floor(Fraction(float(nats)) * MICRO * (1 + Fraction(1, 10**12)))


def is_integer(value: object, lowest: int, highest: int) -> bool:
    """Say whether a value is a whole number within bounds, ends included; 1.0 and True are none."""
    return type(value) is int and lowest <= value <= highest


def is_bytes(value: object, size: int) -> bool:
    """Say whether a value is so many bytes."""
    return type(value) is bytes and len(value) == size


@lru_cache(maxsize=64)
def wheel_size(items: int) -> int:
    """Find the smallest prime that is at least `items`."""
    while any(items % divisor == 0 for divisor in range(2, math.isqrt(items) + 1)):
        items += 1
    return items


def set_size(modulus: int, theta: int, rated: int) -> int:
    """Count the places in a sensed set: theta (millionths) * modulus / rated, at least 1."""
    return max(1, (modulus * theta + rated * MICRO // 2) // (rated * MICRO))
