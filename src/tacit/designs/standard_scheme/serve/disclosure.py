"""One disclosure as the service serves it: devices fetch its tables and send letters for scores.

A letter is the encoded `Release` of one epoch.

Runs at    the recommender.
Sees       letters: obfuscated stars of the items that a device decided to show, with their epoch,
           and the key of the person who sent them. Never a hidden attribute, a true star or a
           rating that was held back, and never the number of held-back ratings.
Stores     for each letter a keyed hash, the person's pseudonym, a keyed hash of the epoch, and the
           second; for each person the epoch of the latest letter. Neither the letter nor its
           scores are stored: a device that retries sends its letter again.
Refuses    services that learn in another way what a person rated, the published variant, and rules
           under which devices would send true stars.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, Self

from tacit.designs.standard_scheme import Disclosure, Release, StandardScheme, epochs
from tacit.designs.standard_scheme.messages import LARGEST, MICRO, MessageError
from tacit.designs.standard_scheme.rounding import highest_level
from tacit.designs.standard_scheme.serve.operator import (
    DigestLog,
    DisclosureSettings,
    read_disclosure,
)
from tacit.errors import TacitError
from tacit.ledger import Cap, Holder
from tacit.privacy import Guarantee
from tacit.randomness import Source
from tacit.service import idempotency
from tacit.service.idempotency import Reply, Transition, add_salt, refusal, remove_salt, reply
from tacit.service.problems import Problem
from tacit.service.served_things import PersonalState, Section, ServedThing

# Functions, so that each answer has an exception of its own: an exception holds the frames in which
# it was raised.
_invalid_letter = partial(
    Problem, 422, "This is not a letter for this disclosure. Fetch the disclosure again."
)
_early_letter = partial(
    Problem, 422, "The epoch of this letter has not ended. Send it when it has."
)
_no_log = partial(Problem, 503, "The log of this disclosure cannot be kept: tell the operator.")
_FORGOTTEN = b"forgotten"
"""Stored state of a person who was forgotten, in place of the epoch of the latest letter."""


@dataclass(frozen=True)
class ServedDisclosure(ServedThing):
    """One disclosure, its public log, and the model that scores letters."""

    SETTINGS: ClassVar = DisclosureSettings

    name: str
    """Name of its section."""
    model: StandardScheme = field(repr=False)
    """The fitted model: tables, profiles, card."""
    log: DigestLog = field(repr=False)
    """The public log of digests."""
    item_table: bool = False
    """Whether devices may fetch the item table, by which they rank on their own."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Load the model and the log that a section of the settings names.

        Raises:
            ConfigError: The section cannot be served.
        """
        settings, model, log = read_disclosure(section)
        served = cls(section.name, model, log, settings.item_table)
        # Compile the scoring and fill the caches, before the first person waits for them.
        one_item = tuple((item, 0) for item in served.disclosure.items[:1])
        served.score(Release(served.disclosure.digest, 0, one_item))
        _ = served.encoded_disclosure
        _ = served.encoded_item_table
        _ = served.largest_letter
        return served

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """Yield no budget: a letter is made on the device and has no epsilon."""
        return iter(())

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the model's cards."""
        return self.model.guarantees()

    def largest_bodies(self) -> Mapping[str, int]:
        """Return the most bytes of a letter's body, by its address: enough to show every item.

        A device whose letter was refused as too large would fall silent, which reveals something.
        """
        return {f"/api/disclosures/{self.name}/letters": self.largest_letter}

    def describe_releases(self) -> str:
        """Describe, for a person who asks to be forgotten, what was released and stays known."""
        return (
            f"letters of your device to the disclosure {self.name}, if there were any: each was "
            "answered and not stored; a keyed hash of it and of its epoch stays, and the second"
        )

    def check_stored_states(self, _: Callable[[str], bytes | None]) -> None:
        """Enter the digest in the log, once everything that is served was read.

        Raises:
            ConfigError: The log refuses the entry.
            OutputError: The log cannot be read or written.
        """
        self._log_digest()

    def personal_states(self, user: str) -> Iterable[PersonalState]:
        """Yield the stored state of a person, with the change that forgets them.

        From then on no letter is accepted under the same name: a new account's first letter could
        be compared with the old account's.
        """
        yield PersonalState(
            self.state_name(user),
            f"your part in the disclosure {self.name}: it accepts no more letters under this name",
            lambda source, _: add_salt(source, _FORGOTTEN),
        )

    def state_name(self, user: str) -> str:
        """Name the stored state of a person: the epoch of the latest letter, or forgotten."""
        return idempotency.personal_state_name(f"letters/{self.name}", user)

    @property
    def disclosure(self) -> Disclosure:
        """The public tables."""
        return self.model.disclosure_

    @cached_property
    def encoded_disclosure(self) -> bytes:
        """Bytes of the public tables."""
        return self.disclosure.encode()

    @cached_property
    def encoded_item_table(self) -> bytes | None:
        """Bytes of the item table; None if it is not published."""
        table = self.model.item_table_ if self.item_table else None
        return None if table is None else table.encode()

    @cached_property
    def largest_letter(self) -> int:
        """Largest number of bytes of a letter: it shows every item, each at the highest level."""
        all_items = tuple((item, self._highest) for item in self.disclosure.items)
        return len(Release(self.disclosure.digest, LARGEST, all_items).encode())

    def enter_present_epoch(self) -> int:
        """Enter the digest for the present calendar epoch in the log, and return that epoch.

        Raises:
            Problem: Status 503; the log has another digest for this epoch, a later entry or a
                changed line, or cannot be read or written.
        """
        try:
            return self._log_digest()
        except TacitError:
            raise _no_log() from None

    def describe(self) -> dict[str, Any]:
        """Describe the disclosure and what it protects, as JSON."""
        disclosure = self.disclosure
        return {
            "name": self.name,
            "attributes": {table.name: list(table.values) for table in disclosure.attributes},
            "release": self.model.release,
            "rule": disclosure.rule.to_wire(),
            "scale": disclosure.scale_to_wire(),
            "items": len(disclosure.items),
            "digest": disclosure.digest,
            "bytes": len(self.encoded_disclosure),
            "epoch_length": disclosure.epoch_length,
            "service_sees_items": False,
            "item_table": self.item_table,
            "guarantee": self.guarantees()[0].sentence,
        }

    def read_letter(self, data: bytes) -> Release:
        """Read a letter that a device made for this disclosure and for an epoch that has ended.

        Raises:
            Problem: Status 422; the bytes are not such a letter, or its epoch has not ended. Status
                503 as for `enter_present_epoch`.
        """
        if len(data) > self.largest_letter:
            raise _invalid_letter()
        try:
            letter = Release.decode(data)
        except MessageError:
            raise _invalid_letter() from None
        if letter.disclosure != self.disclosure.digest or not self._is_possible(letter):
            raise _invalid_letter()
        # Epochs of an account's first day do not count by the calendar.
        is_calendar_epoch = letter.epoch > epochs.LAST_EPOCH_OF_FIRST_DAY
        if letter.epoch >= self.enter_present_epoch() and is_calendar_epoch:
            raise _early_letter()
        return letter

    def acceptance(self, letter: Release) -> Transition:
        """Make the change of a person's stored state that accepts a letter.

        The change refuses the letter with status 409 if the person was forgotten.
        """

        def accept(source: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
            if remove_salt(stored) == _FORGOTTEN:
                reason = "You were forgotten: no letter is accepted under this name."
                return refusal(409, reason), None
            latest = max(letter.epoch, self.latest_epoch(stored))
            return reply({"accepted": True}), add_salt(source, b"%d" % latest)

        return accept

    def latest_epoch(self, stored: bytes | None) -> int:
        """Read the epoch of the latest accepted letter from a stored state.

        It is -1 if no letter was accepted yet, or the person was forgotten.
        """
        content = remove_salt(stored)
        return -1 if content in (None, _FORGOTTEN) else int(content)

    def score(self, letter: Release) -> bytes:
        """Score all items for a letter, and return the bytes of the `Scores`."""
        return self.model.server_.score(letter).encode()

    def _is_possible(self, letter: Release) -> bool:
        """Say whether a device could have sent these items at these levels, in this order.

        Items that the tables here give no chance to be shown are possible too, and so are averages
        where the rule here sends whole levels: both may have been decided under an earlier
        disclosure.
        """
        number_of = self.disclosure.item_number
        numbers = [number_of.get(item, -1) for item, _ in letter.ratings]
        if -1 in numbers or numbers != sorted(numbers):
            return False
        return all(0 <= level <= self._highest for _, level in letter.ratings)

    def _log_digest(self) -> int:
        """Enter the digest for the present calendar epoch in the log, and return that epoch."""
        present_epoch = epochs.calendar_epoch(int(time.time()), self.disclosure.epoch_length)
        self.log.enter_digest(self.disclosure.digest, present_epoch)
        return present_epoch

    @property
    def _highest(self) -> int:
        """Highest level of the scale, in micro-levels: no released level is above it."""
        return highest_level(self.disclosure.levels) * MICRO
