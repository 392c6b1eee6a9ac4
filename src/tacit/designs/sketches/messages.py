"""The messages between devices and the recommender.

Campaign   recommender -> device   public parameters of the questions, the same for everybody
Report     device -> recommender   randomised bits, once; 22 bytes (30 if the device chooses a pair)
Clusters   recommender -> device   the learned label and score of every item

The layouts are fixed and made of big-endian integers and byte strings, so that a message has the
same bytes in every programming language. Counts stay below 2^31, which fits a signed integer
in every language; probabilities are parts of 2^53, which every language holds exactly. A message is
checked whenever it is constructed, also from decoded bytes: MessageError is raised for one that is
not valid.
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
"""Version of the messages Campaign and Report."""
CLUSTERS_VERSION = 2
"""Version of the message Clusters."""
MICRO = 1_000_000
"""Millionths in one: epsilons, theta and scores are stated in millionths."""
WHOLE = 1 << 53
"""Probability 1: probabilities are stated in parts of this."""
NO_NOISE = (1 << 31) - 1
"""Epsilon of a campaign without noise: the non-private variant, which devices refuse."""
LARGEST_COUNT = (1 << 31) - 1
"""Largest count in a message."""
MOST_QUESTIONS = 32
"""Largest number of questions: a report has 32 bits for the answers."""

METHODS = (
    "multi-maxsense",
    "pairwise-preference",
    "pairwise-rated",
    "pairwise-identical",
    "pairwise-rated-identical",
)
"""Methods. A campaign states a method by its position here. multi-maxsense with one question is
the paper's MaxSense."""
RATED_METHODS = ("pairwise-rated", "pairwise-rated-identical")
"""Methods whose device names a pair of rated items, and so shows that they were rated."""
IDENTICAL_METHODS = ("pairwise-identical", "pairwise-rated-identical")
"""Methods that ask whether both items are liked or both disliked (Appendix B), not whether both
are liked."""
UNITS = ("user", "rating", "moved rating")
"""What epsilon protects, by how neighbouring histories differ: in all ratings of a person; in one
rating that exists or not; in the item of one rating."""

_CAMPAIGN = struct.Struct(">4s4B5IiQQ16s32s")
"""Magic bytes; version, kind, method, unit; the numbers of `_BOUNDS`; seed; catalogue digest."""
_REPORT = struct.Struct(">BB8sQI")
"""Version, kind, campaign id, ticket, bits."""
_PAIR = struct.Struct(">II")
"""The two item numbers that follow a report of RATED_METHODS."""
_CLUSTERS = struct.Struct(">4sBBBx32s32sI")
"""Magic bytes; version, kind, two spare bytes; digests of campaign and catalogue; number of items.
The labels and the scores follow."""
_MAGIC = b"tcit"
"""First bytes of a campaign and of clusters."""
_KIND_CAMPAIGN = 1
_KIND_REPORT = 2
_KIND_CLUSTERS = 3
REPORT_HEAD = bytes([VERSION, _KIND_REPORT])
"""First two bytes of every report."""
REPORT_BYTES = _REPORT.size
"""Size of a report."""
RATED_REPORT_BYTES = REPORT_BYTES + _PAIR.size
"""Size of a report that names a pair of rated items."""
_EXACT = Context(prec=60)
"""Decimal context of `Campaign._loss_in_micros`: 60 digits."""
_BOUNDS = {
    "items": (2, LARGEST_COUNT),
    "rated": (1, LARGEST_COUNT),
    "theta": (0, LARGEST_COUNT),
    "questions": (1, MOST_QUESTIONS),
    "epsilon": (1, NO_NOISE),
    "liked_from": (-LARGEST_COUNT, LARGEST_COUNT),
    "truth": (WHOLE // 2, WHOLE),
    "closes": (0, WHOLE),
}
"""Smallest and largest value of each number of a campaign, in the order of its bytes."""

ItemId = int | str


class MessageError(ValueError):
    """A message, or a checkpoint of counts, has values that this version never writes."""


def exposed_bits(method: str, unit: str, questions: int, rated: int) -> int:
    """Count the bits of a report that can differ between two histories that differ by the unit.

    Each bit may cost epsilon divided by this number. Sensed sets are disjoint, so one rating
    affects one bit, and a moved rating two. Under 'user' a device uses at most `rated` liked items,
    so two histories differ in at most 2 `rated` bits. Random pairs may share an item, so one rating
    may affect all bits.

    Args:
        method: One of METHODS.
        unit: One of UNITS.
        questions: Number of questions, each answered by one bit.
        rated: w, the number of items that a person is assumed to have rated.
    """
    if method != "multi-maxsense":
        return questions
    by_unit = {"user": min(questions, 2 * rated), "rating": 1, "moved rating": min(questions, 2)}
    return by_unit[unit]


def catalogue_digest(items: Iterable[ItemId]) -> bytes:
    """Compute the SHA-256 of item ids in their order. The ids 1 and "1" have different digests."""
    digest = hashlib.sha256()
    for item in items:
        text = f"i{item}" if type(item) is int else f"s{item}"
        encoded = text.encode("utf-8", "surrogatepass")  # an id may be half of a surrogate pair
        digest.update(len(encoded).to_bytes(4, "big") + encoded)
    return digest.digest()


@dataclass(frozen=True)
class Campaign:
    """Parameters of the questions to all devices.

    Raises:
        MessageError: A value is out of its bounds, or two values contradict each other.
    """

    method: str
    """One of METHODS."""
    unit: str
    """One of UNITS: what epsilon protects."""
    n_items: int
    """N, size of the catalogue."""
    rated: int
    """w, number of items that a person is assumed to have rated."""
    theta: int
    """Expected number of rated items in a sensed set, in millionths: a set has about
    theta N / w items. 0 for pairs."""
    questions: int
    """Number of questions, each answered by one bit of a report."""
    epsilon: int
    """Millionths of a nat, for the whole report and the stated unit."""
    liked_from: int
    """Thousandths of a star: ratings of at least this are likes."""
    truth: int
    """Parts of 2^53: probability that a bit is released unchanged."""
    closes: int
    """Unix seconds; later reports do not count."""
    seed: bytes
    """16 public bytes that the questions depend on, besides the ticket."""
    catalogue_digest: bytes
    """SHA-256 of the catalogue's ids in their order."""

    def __post_init__(self) -> None:
        require(self.method in METHODS and self.unit in UNITS, "a campaign names method and unit")
        for number, (name, (least, most)) in zip(self._numbers(), _BOUNDS.items(), strict=True):
            require(is_integer(number, least, most), f"{name} is out of bounds")
        require(self.rated <= self.n_items, "nobody rates more items than there are")
        require(is_bytes(self.seed, 16), "a seed has 16 bytes")
        require(is_bytes(self.catalogue_digest, 32), "a catalogue is named by 32 bytes")
        require(
            (self.theta > 0) == self.asks_about_sets, "theta is for sensed sets, and they need one"
        )
        has_valid_questions = not self.names_pair or self.questions == 1
        require(has_valid_questions, "about one pair of rated items there is one question")
        sets_fit = not self.asks_about_sets or self.questions * self.set_size <= self.modulus
        require(sets_fit, "the sensed sets of one person do not fit into the catalogue")
        require(self._keeps_epsilon(), "the chance of the truth is higher than epsilon allows")

    def _numbers(self) -> tuple[int, ...]:
        """List the numbers of the message in the order of its bytes."""
        return (
            self.n_items,
            self.rated,
            self.theta,
            self.questions,
            self.epsilon,
            self.liked_from,
            self.truth,
            self.closes,
        )

    @property
    def asks_about_sets(self) -> bool:
        """Whether a question is about a sensed set (MaxSense, Multi-MaxSense), and not a pair."""
        return self.method == "multi-maxsense"

    @property
    def names_pair(self) -> bool:
        """Whether the device chooses a pair of rated items and names it in its report."""
        return self.method in RATED_METHODS

    @property
    def asks_identical(self) -> bool:
        """Whether a pair's true answer is yes also if both items are disliked."""
        return self.method in IDENTICAL_METHODS

    @cached_property
    def modulus(self) -> int:
        """Number of places on the wheel (`sensing.py`): the smallest prime from `n_items` on."""
        return wheel_size(self.n_items)

    @cached_property
    def set_size(self) -> int:
        """Number of places in a sensed set; 0 for pairs."""
        return set_size(self.modulus, self.theta, self.rated) if self.asks_about_sets else 0

    @property
    def places(self) -> int:
        """Number of places on the wheel, or of pairs; a server counts yes and no for each."""
        return self.modulus if self.asks_about_sets else self.n_items * (self.n_items - 1) // 2

    @property
    def asked_share(self) -> float:
        """Probability that an item is in one of a ticket's sets; 0 for pairs."""
        return self.questions * self.set_size / self.modulus

    @property
    def exposed_bits(self) -> int:
        """Number of bits of a report that can differ between histories that differ by the unit."""
        return exposed_bits(self.method, self.unit, self.questions, self.rated)

    @property
    def likes_cap(self) -> int | None:
        """Largest number of liked items that a device uses; None: it uses all of them."""
        return self.rated if self.asks_about_sets and self.unit == "user" else None

    @property
    def report_bytes(self) -> int:
        """Size of a report in bytes."""
        return RATED_REPORT_BYTES if self.names_pair else REPORT_BYTES

    @cached_property
    def user_epsilon(self) -> int:
        """Millionths of a nat that a report costs for everything a person rated, rounded up.

        It is the stated epsilon for the unit 'user'. For other units a device uses all likes, so
        every bit can differ, and the cost is up to `questions` times the stated epsilon. For
        RATED_METHODS it covers the stars alone, as the stated epsilon does.
        """
        if self.unit == "user" or self.epsilon == NO_NOISE:
            return self.epsilon
        return max(self.epsilon, math.ceil(self._loss_in_micros(self.questions)))

    def _keeps_epsilon(self) -> bool:
        """Tell whether exposed_bits * ln(truth / (1 - truth)) <= epsilon, to 60 digits.

        A campaign without noise has the truth WHOLE and the epsilon NO_NOISE.
        """
        if self.truth == WHOLE or self.epsilon == NO_NOISE:
            return self.truth == WHOLE and self.epsilon == NO_NOISE
        return self._loss_in_micros(self.exposed_bits) <= self.epsilon

    def _loss_in_micros(self, bits: int) -> Decimal:
        """Compute bits * ln(truth / (1 - truth)) in millionths of a nat, to 60 digits."""
        # All operations are in _EXACT: the caller's decimal context may keep fewer digits.
        ratio = _EXACT.divide(Decimal(self.truth), Decimal(WHOLE - self.truth))
        loss = _EXACT.multiply(Decimal(bits), _EXACT.ln(ratio))
        return _EXACT.multiply(loss, Decimal(MICRO))

    def encode(self) -> bytes:
        """Encode the campaign as bytes."""
        return _CAMPAIGN.pack(
            _MAGIC,
            VERSION,
            _KIND_CAMPAIGN,
            METHODS.index(self.method),
            UNITS.index(self.unit),
            *self._numbers(),
            self.seed,
            self.catalogue_digest,
        )

    @classmethod
    def decode(cls, data: bytes) -> Campaign:
        """Read a campaign.

        Raises:
            MessageError: The bytes are not a campaign, or one of its values is refused.
        """
        require(len(data) == _CAMPAIGN.size, f"a campaign has {_CAMPAIGN.size} bytes")
        magic, version, kind, method, unit, *numbers = _CAMPAIGN.unpack(data)
        require(magic == _MAGIC and kind == _KIND_CAMPAIGN, "expected a campaign")
        require(version == VERSION, f"expected version {VERSION}, found {version}")
        require(method < len(METHODS) and unit < len(UNITS), "a campaign names method and unit")
        return cls(METHODS[method], UNITS[unit], *numbers)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the bytes, which identifies the campaign on devices."""
        return hashlib.sha256(self.encode()).digest()

    @property
    def id(self) -> bytes:
        """First 8 bytes of the digest, which identify the campaign in reports."""
        return self.digest[:8]


@dataclass(frozen=True)
class Report:
    """A device's answer to a campaign. It has no user id, no rating and no time.

    Raises:
        MessageError: A value is out of its bounds.
    """

    campaign: bytes
    """8 bytes: `Campaign.id`."""
    ticket: int
    """64 bits that determine the questions. A device has another ticket in every campaign."""
    bits: int
    """Answers: bit q is the released answer to question q, 1 for yes."""
    pair: tuple[int, int] | None = None
    """Numbers of the two items that the device chose, the smaller first (RATED_METHODS); None for
    other methods."""

    def __post_init__(self) -> None:
        require(is_bytes(self.campaign, 8), "a report names its campaign in 8 bytes")
        require(is_integer(self.ticket, 0, (1 << 64) - 1), "a ticket has 64 bits")
        require(is_integer(self.bits, 0, (1 << MOST_QUESTIONS) - 1), "a report has 32 bits")
        if self.pair is not None:
            has_two = type(self.pair) is tuple and len(self.pair) == 2
            require(
                has_two and all(is_integer(item, 0, LARGEST_COUNT) for item in self.pair),
                "wrong pair",
            )
            require(self.pair[0] < self.pair[1], "a pair is two items in their order")

    def encode(self) -> bytes:
        """Encode the report as bytes."""
        head = _REPORT.pack(VERSION, _KIND_REPORT, self.campaign, self.ticket, self.bits)
        return head if self.pair is None else head + _PAIR.pack(*self.pair)

    @classmethod
    def decode(cls, data: bytes) -> Report:
        """Read a report.

        Raises:
            MessageError: The bytes are not a report, or one of its values is refused.
        """
        sizes = (REPORT_BYTES, RATED_REPORT_BYTES)
        require(len(data) in sizes, f"a report has {REPORT_BYTES} or {RATED_REPORT_BYTES} bytes")
        version, kind, campaign, ticket, bits = _REPORT.unpack_from(data)
        require(kind == _KIND_REPORT, "expected a report")
        require(version == VERSION, f"expected version {VERSION}, found {version}")
        has_pair = len(data) == RATED_REPORT_BYTES
        pair = _PAIR.unpack_from(data, REPORT_BYTES) if has_pair else None
        return cls(campaign, ticket, bits, pair)


@dataclass(frozen=True)
class Clusters:
    """Learned clusters: a label and a score of every item.

    Raises:
        MessageError: A value is out of its bounds.
    """

    campaign: bytes
    """32 bytes: `Campaign.digest`."""
    catalogue_digest: bytes
    """32 bytes: `catalogue_digest` of the items that labels and scores are for."""
    labels: bytes
    """(items,) number of each item's cluster, one byte each."""
    scores: tuple[int, ...]
    """(items,) score of each item in millionths; better liked items have higher scores."""

    def __post_init__(self) -> None:
        has_digests = is_bytes(self.campaign, 32) and is_bytes(self.catalogue_digest, 32)
        require(has_digests, "clusters name their campaign and catalogue in 32 bytes each")
        require(type(self.labels) is bytes and len(self.labels) > 1, "a label is a byte")
        fits = type(self.scores) is tuple and len(self.scores) == len(self.labels)
        require(
            fits and all(is_integer(score, -LARGEST_COUNT, LARGEST_COUNT) for score in self.scores),
            "no scores",
        )

    def encode(self) -> bytes:
        """Encode the clusters as bytes."""
        spare_byte = 0
        head = _CLUSTERS.pack(
            _MAGIC,
            CLUSTERS_VERSION,
            _KIND_CLUSTERS,
            spare_byte,
            self.campaign,
            self.catalogue_digest,
            len(self.labels),
        )
        return head + self.labels + struct.pack(f">{len(self.scores)}i", *self.scores)

    @classmethod
    def decode(cls, data: bytes) -> Clusters:
        """Read clusters.

        Raises:
            MessageError: The bytes are not a message of clusters, or one of its values is refused.
        """
        require(len(data) >= _CLUSTERS.size, "clusters are cut short")
        magic, version, kind, spare_byte, campaign, catalogue, items = _CLUSTERS.unpack_from(data)
        require(magic == _MAGIC and kind == _KIND_CLUSTERS, "expected clusters")
        is_this_version = version == CLUSTERS_VERSION
        require(is_this_version, f"expected version {CLUSTERS_VERSION}, found {version}")
        padding_byte = data[7]
        has_size = len(data) == _CLUSTERS.size + 5 * items
        has_layout = has_size and spare_byte == 0 and padding_byte == 0
        require(has_layout, "clusters have 5 bytes for each item")
        labels = data[_CLUSTERS.size : _CLUSTERS.size + items]
        scores = struct.unpack_from(f">{items}i", data, len(data) - 4 * items)
        return cls(campaign, catalogue, labels, scores)


def require(condition: object, requirement: str) -> None:
    """Raise MessageError unless a condition on a message or a checkpoint holds.

    Args:
        condition: Whether the requirement is met.
        requirement: The requirement in words, which is the text of the error.
    """
    if not condition:
        raise MessageError(requirement)


def micros(nats: float) -> int:
    """Round a finite number of nats down to whole millionths.

    The number is first raised by one part in 10^12, against the rounding of floats, so that 0.3
    gives 300,000. Epsilons of campaigns and limits of devices are both rounded by this function, so
    that a campaign at the limit keeps it.
    """
    return math.floor(Fraction(float(nats)) * MICRO * (1 + Fraction(1, 10**12)))


def is_integer(value: object, lowest: int, highest: int) -> bool:
    """Return whether a value is an int from `lowest` to `highest`; 1.0 and True are not ints."""
    return type(value) is int and lowest <= value <= highest


def is_bytes(value: object, size: int) -> bool:
    """Return whether a value is a bytes object of this size."""
    return type(value) is bytes and len(value) == size


@lru_cache(maxsize=64)
def wheel_size(items: int) -> int:
    """Find the smallest prime that is at least the number of items, 2 or more."""
    candidate = items
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate += 1
    return candidate


def set_size(modulus: int, theta: int, rated: int) -> int:
    """Compute the number of places in a sensed set: modulus * theta / rated, rounded, at least 1.

    Args:
        modulus: Number of places on the wheel.
        theta: Expected number of rated items in a set, in millionths.
        rated: w, the number of items that a person is assumed to have rated.
    """
    divisor = rated * MICRO
    return max(1, (modulus * theta + divisor // 2) // divisor)
