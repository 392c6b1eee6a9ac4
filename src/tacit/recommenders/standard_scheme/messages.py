"""What crosses between a device and the recommender in the standard scheme, and nothing else.

Disclosure   recommender -> device   public numbers about items, the same for everybody
Release      device -> recommender   obfuscated stars of the items the device chose to show
Scores       recommender -> device   predicted levels, without the effect of the hidden attribute

All numbers are integers, so that two languages agree to the byte: stars travel as levels (0 is the
lowest star), offsets and unrounded levels in micro-levels (one level = 1,000,000), probabilities in
parts per million. Encoding: canonical JSON, UTF-8, sorted keys, no spaces.
Standard library only: the device half imports this file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

MICRO = 1_000_000
VERSION = 1

Transform = Literal["none", "scheme", "coupling", "movie-average", "attribute-average"]
ItemId = int | str
M = TypeVar("M", "Disclosure", "Release", "Scores")


class MessageError(ValueError):
    """A message that is not exactly what this version writes."""


@dataclass(frozen=True)
class Rule:
    """How a device turns its owner's stars into a release.

    mix: parts per million, the chance that a rating is obfuscated and not shown as it is
    """

    transform: Transform
    selection: bool
    rounding: bool
    mix: int = MICRO

    def to_wire(self) -> dict[str, Any]:
        return {
            "transform": self.transform,
            "selection": self.selection,
            "rounding": self.rounding,
            "mix": self.mix,
        }


RELEASES = {
    "none": Rule("none", selection=False, rounding=False),
    "selection": Rule("none", selection=True, rounding=False),
    "scheme": Rule("scheme", selection=False, rounding=False),
    "scheme+rounding": Rule("scheme", selection=False, rounding=True),
    "scheme+selection": Rule("scheme", selection=True, rounding=False),
    "scheme+selection+rounding": Rule("scheme", selection=True, rounding=True),
    "movie-average": Rule("movie-average", selection=False, rounding=False),
    "attribute-average": Rule("attribute-average", selection=False, rounding=False),
    "coupling": Rule("coupling", selection=False, rounding=False),
    "coupling+selection": Rule("coupling", selection=True, rounding=False),
}
"""The releases by the names used in tables and on the command line."""


@dataclass(frozen=True)
class AttributeTable:
    """One attribute's public numbers; tables are indexed [value][item].

    offsets    micro-levels to subtract for a person with this value (they sum to 0 over values)
    bounds     [value][stratum - 1]: fewest rated items of a person in stratum 1, 2, ...
    keep       [value][stratum][item]: parts per million, chance that a rated item is shown
    means      micro-levels: average level that such people give
    coupling   [value][item][level]: cumulative parts per million over the released levels, or ()
    """

    name: str
    values: tuple[str, ...]
    offsets: tuple[tuple[int, ...], ...]
    bounds: tuple[tuple[int, ...], ...]
    keep: tuple[tuple[tuple[int, ...], ...], ...]
    means: tuple[tuple[int, ...], ...]
    coupling: tuple[tuple[tuple[tuple[int, ...], ...], ...], ...]


@dataclass(frozen=True)
class Disclosure:
    """Everything a device needs. `levels` is 0 on a continuous scale."""

    rule: Rule
    minimum: float
    step: float
    levels: int
    items: tuple[ItemId, ...]
    item_means: tuple[int, ...]
    attributes: tuple[AttributeTable, ...]

    def encode(self) -> bytes:
        return _encode(
            {
                "version": VERSION,
                "message": "disclosure",
                "rule": self.rule.to_wire(),
                "scale": {"minimum": self.minimum, "step": self.step, "levels": self.levels},
                "items": list(self.items),
                "item_means": list(self.item_means),
                "attributes": [
                    {
                        "name": table.name,
                        "values": list(table.values),
                        "offsets": table.offsets,
                        "bounds": table.bounds,
                        "keep": table.keep,
                        "means": table.means,
                        "coupling": table.coupling,
                    }
                    for table in self.attributes
                ],
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Disclosure:
        content = _decode(data, "disclosure")
        try:
            scale = content["scale"]
            message = cls(
                rule=Rule(**content["rule"]),
                minimum=scale["minimum"],
                step=scale["step"],
                levels=scale["levels"],
                items=tuple(content["items"]),
                item_means=tuple(content["item_means"]),
                attributes=tuple(
                    AttributeTable(**{k: _frozen(v) for k, v in table.items()})
                    for table in content["attributes"]
                ),
            )
        except (KeyError, TypeError) as error:
            raise MessageError(f"not a disclosure of version {VERSION}: {error}") from None
        return _canonical(message, data)

    @cached_property
    def digest(self) -> str:
        """Names this disclosure in releases: first 16 hex digits of its SHA-256."""
        return hashlib.sha256(self.encode()).hexdigest()[:16]

    @cached_property
    def item_number(self) -> Mapping[ItemId, int]:
        return {item: number for number, item in enumerate(self.items)}


@dataclass(frozen=True)
class Release:
    """What left the device: (item, released micro-levels), in the disclosure's item order.

    No user id, no attribute, no count of what was held back, no time.
    """

    disclosure: str
    ratings: tuple[tuple[ItemId, int], ...]

    def encode(self) -> bytes:
        return _encode(
            {
                "version": VERSION,
                "message": "release",
                "disclosure": self.disclosure,
                "ratings": self.ratings,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Release:
        content = _decode(data, "release")
        try:
            message = cls(content["disclosure"], _frozen(content["ratings"]))
            well_formed = isinstance(message.disclosure, str) and all(
                isinstance(item, int | str) and type(level) is int
                for item, level in message.ratings
            )
        except (KeyError, TypeError, ValueError):
            well_formed = False
        if not well_formed:
            raise MessageError(f"not a release of version {VERSION}")
        return _canonical(message, data)


@dataclass(frozen=True)
class Scores:
    """Predicted level of each item in micro-levels, before the attribute's own effect."""

    disclosure: str
    scores: tuple[tuple[ItemId, int], ...]

    def encode(self) -> bytes:
        return _encode(
            {
                "version": VERSION,
                "message": "scores",
                "disclosure": self.disclosure,
                "scores": self.scores,
            }
        )

    @classmethod
    def decode(cls, data: bytes) -> Scores:
        content = _decode(data, "scores")
        try:
            message = cls(content["disclosure"], _frozen(content["scores"]))
        except KeyError as error:
            raise MessageError(f"not scores of version {VERSION}: {error}") from None
        return _canonical(message, data)


def _encode(content: dict[str, Any]) -> bytes:
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def _decode(data: bytes, kind: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise MessageError(f"a {kind} is canonical JSON in UTF-8") from None
    if not isinstance(content, dict) or content.get("message") != kind:
        raise MessageError(f"expected a {kind}")
    if content.get("version") != VERSION:
        raise MessageError(f"expected version {VERSION}, found {content.get('version')!r}")
    return content


def _canonical(message: M, data: bytes) -> M:
    """Only the one canonical spelling is accepted, so that equal messages are equal bytes."""
    if message.encode() != data:
        raise MessageError("the message is not in canonical form")
    return message


def _frozen(value: Any) -> Any:
    return tuple(_frozen(entry) for entry in value) if isinstance(value, list) else value
