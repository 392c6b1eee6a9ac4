"""The standard scheme as it is served: public tables out, obfuscated stars in, scores out.

Runs at    the recommender.
Sees       releases: obfuscated stars of the items that a device chose to show, and whose key they
           came with. Never a hidden attribute, never a true star, never what was held back.
Keeps      two keyed hashes for each request, of the release and of its scores, beside the person's
           pseudonym and the second. Neither the release nor the scores are kept: a retry brings its
           release again, and scores are computed again and held against the hash.
Refuses    the published variant, and rules under which devices would show stars as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from tacit.errors import ConfigError, TacitError
from tacit.ledger import Cap, Holder
from tacit.privacy import Guarantee
from tacit.recommenders.files import load_model
from tacit.recommenders.standard_scheme import Disclosure, Release, StandardScheme
from tacit.recommenders.standard_scheme.canonical import LARGEST, MessageError
from tacit.recommenders.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO
from tacit.service.deployment import Section
from tacit.service.problems import Problem
from tacit.service.settings import FILE

_UNREAD = Problem(422, "This is not a release for this disclosure. Fetch the disclosure again.")


@dataclass(frozen=True)
class ServedDisclosure:
    """One disclosure and the item profiles behind it."""

    name: str
    model: StandardScheme = field(repr=False)

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """From `file`, a saved StandardScheme."""
        path = section.file("file")
        try:
            model = load_model(path)
        except TacitError as error:
            raise ConfigError(f"{FILE}: {section.name}.file cannot be served. {error}") from None
        _check(section.name, model)
        served = cls(section.name, model)
        served._warm()
        return served

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """None: a release is made on the device and has no epsilon."""
        return iter(())

    def guarantees(self) -> tuple[Guarantee, ...]:
        """For the people who obfuscate, and for those whose ratings trained."""
        return self.model.guarantees()

    @property
    def disclosure(self) -> Disclosure:
        """What devices are told."""
        return self.model.disclosure_

    @cached_property
    def encoded(self) -> bytes:
        """The same, as bytes."""
        return self.disclosure.encode()

    @cached_property
    def most_bytes(self) -> int:
        """Of a release that shows every item, each at a level of the longest spelling."""
        everything = tuple((item, self._highest) for item in self.disclosure.items)
        return len(Release(self.disclosure.digest, LARGEST, everything).encode())

    def described(self) -> dict[str, Any]:
        """For the list, in JSON's values."""
        told = self.disclosure
        return {
            "name": self.name,
            "attributes": {table.name: list(table.values) for table in told.attributes},
            "release": self.model.release,
            "rule": told.rule.to_wire(),
            "scale": {"minimum": told.minimum, "step": told.step, "levels": told.levels},
            "items": len(told.items),
            "digest": told.digest,
            "bytes": len(self.encoded),
            "guarantee": self.guarantees()[0].sentence,
        }

    def scores(self, data: bytes) -> bytes:
        """Scores for a release; Problem 422 unless it is one that a device makes for this."""
        if len(data) > self.most_bytes:
            raise _UNREAD
        try:
            release = Release.decode(data)
        except MessageError:
            raise _UNREAD from None
        known = self.disclosure.item_number
        fits = release.disclosure == self.disclosure.digest and all(
            item in known and 0 <= level <= self._highest for item, level in release.ratings
        )
        if not fits:
            raise _UNREAD
        return self.model.server_.score(release).encode()

    def _warm(self) -> None:
        """Compile what scores, before anybody waits for it."""
        told = self.disclosure
        self.scores(Release(told.digest, 0, tuple((item, 0) for item in told.items[:1])).encode())

    @property
    def _highest(self) -> int:
        """Micro-levels. Whatever leaves a device lies on the scale."""
        return ((self.disclosure.levels or CONTINUOUS_LEVELS + 1) - 1) * MICRO


def _check(name: str, model: Any) -> None:
    if not isinstance(model, StandardScheme):
        raise ConfigError(
            f"{FILE}: {name}.file holds another recommender. A disclosure is a StandardScheme; "
            "others are served as [models.NAME]."
        )
    if model.variant == "published":
        raise ConfigError(
            f"{FILE}: {name} is the published variant, which tells the attribute. It is for "
            "reproducing the paper and is not served: fit it as variant='sound'."
        )
    if model.disclosure_.rule.mix < MICRO:
        raise ConfigError(
            f"{FILE}: {name} would have devices show some stars as they are. Fit it with mix=1."
        )
