"""One disclosure as it is served: public tables out, letters in, scores out.

Runs at    the recommender.
Sees       letters: obfuscated stars of the items that a device decided to show, with their epoch,
           and whose key they came with. Never a hidden attribute, a true star or a rating that was
           held back, and never how many ratings were.
Keeps      a keyed hash of each letter beside the person's pseudonym, its epoch and the second, and
           the epoch of the latest. Neither the letter nor its scores are kept: a retry brings its
           letter again.
Refuses    services that learn otherwise what a person rated, the published variant, and rules
           under which devices would show stars as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar, Self

from tacit.designs.standard_scheme import Disclosure, Release, StandardScheme, epochs
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, LARGEST, MICRO, MessageError
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

# Made anew for each answer: an exception keeps the frames that it was raised in.
_UNREAD = partial(
    Problem, 422, "This is not a letter for this disclosure. Fetch the disclosure again."
)
_EARLY = partial(Problem, 422, "The epoch of this letter has not ended. Send it when it has.")
_NO_LOG = partial(Problem, 503, "The log of this disclosure cannot be kept: tell the operator.")
_FORGOTTEN = b"forgotten"


@dataclass(frozen=True)
class ServedDisclosure(ServedThing):
    """One disclosure, its public log, and the item profiles behind it."""

    SETTINGS: ClassVar = DisclosureSettings

    name: str
    """Name of its section."""
    model: StandardScheme = field(repr=False)
    """The fitted model: tables, profiles, card."""
    log: DigestLog = field(repr=False)
    """The public log of digests."""
    item_table: bool = False
    """Whether devices may fetch the table by which they rank."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Read what is served from the lines of `DisclosureSettings`.

        Raises:
            ConfigError: The section names what is not served.
        """
        settings, model, log = read_disclosure(section)
        served = cls(section.name, model, log, settings.item_table)
        # Compile what scores and make what is fetched, before the first person waits for it.
        shown = tuple((item, 0) for item in served.disclosure.items[:1])
        served.score(Release(served.disclosure.digest, 0, shown))
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
        """A letter may show every item: it is read whole, whatever else is refused as too large.

        A person whose letter was too large could never send one, and silence tells.
        """
        return {f"/api/disclosures/{self.name}/letters": self.largest_letter}

    def describe_releases(self) -> str:
        """Say what nobody can take back."""
        return (
            f"letters of your device to the disclosure {self.name}, if there were any: each was "
            "answered and not kept, but for a keyed hash and the epoch of the latest"
        )

    def check_stored_states(self, _: Callable[[str], bytes | None]) -> None:
        """Go on with the log, when everything else that is served was read."""
        self._log_digest()

    def personal_states(self, user: str) -> Iterable[PersonalState]:
        """Yield the state in which a person is forgotten.

        No letter is kept; but a second first letter under the same name could be compared with the
        first, so from then on none is accepted.
        """
        yield PersonalState(
            self.state(user),
            f"your part in the disclosure {self.name}: it accepts no more letters under this name",
            lambda source, _: add_salt(source, _FORGOTTEN),
        )

    def state(self, user: str) -> str:
        """Name the stored state that says whether this person was forgotten."""
        return idempotency.personal_state_name(f"letters/{self.name}", user)

    @property
    def disclosure(self) -> Disclosure:
        """The public tables."""
        return self.model.disclosure_

    @cached_property
    def encoded_disclosure(self) -> bytes:
        """The public tables as they are sent."""
        return self.disclosure.encode()

    @cached_property
    def encoded_item_table(self) -> bytes | None:
        """The item table as it is sent; None where it is not published."""
        table = self.model.item_table_ if self.item_table else None
        return None if table is None else table.encode()

    @cached_property
    def largest_letter(self) -> int:
        """Bytes of a letter that shows every item, each at a level of the longest spelling."""
        everything = tuple((item, self._highest) for item in self.disclosure.items)
        return len(Release(self.disclosure.digest, LARGEST, everything).encode())

    def today(self) -> int:
        """Return the calendar epoch by this machine's clock, with its entry in the log.

        Raises:
            Problem: Status 503; no entry can be kept.
        """
        try:
            return self._log_digest()
        except TacitError:
            raise _NO_LOG() from None

    def describe(self) -> dict[str, Any]:
        """Describe the disclosure and what it protects, as JSON."""
        shown = self.disclosure
        return {
            "name": self.name,
            "attributes": {table.name: list(table.values) for table in shown.attributes},
            "release": self.model.release,
            "rule": shown.rule.to_wire(),
            "scale": shown.scale_to_wire(),
            "items": len(shown.items),
            "digest": shown.digest,
            "bytes": len(self.encoded_disclosure),
            "epoch_length": shown.epoch_length,
            "service_sees_items": False,
            "item_table": self.item_table,
            "guarantee": self.guarantees()[0].sentence,
        }

    def read_letter(self, data: bytes) -> Release:
        """Read a letter that a device made for this disclosure in an epoch that has ended.

        Raises:
            Problem: Status 422; the bytes are no letter, or its epoch has not ended.
        """
        if len(data) > self.largest_letter:
            raise _UNREAD()
        try:
            letter = Release.decode(data)
        except MessageError:
            raise _UNREAD() from None
        if letter.disclosure != self.disclosure.digest or not self._fits(letter):
            raise _UNREAD()
        if letter.epoch >= self.today() and letter.epoch > 1:
            raise _EARLY()
        return letter

    def acceptance(self, letter: Release) -> Transition:
        """Return the step that accepts a letter, unless its person was forgotten."""

        def accept(source: Source, kept: bytes | None) -> tuple[Reply, bytes | None]:
            if remove_salt(kept) == _FORGOTTEN:
                reason = "You were forgotten: no letter is accepted under this name."
                return refusal(409, reason), None
            latest = max(letter.epoch, self.latest_epoch(kept))
            return reply({"accepted": True}), add_salt(source, b"%d" % latest)

        return accept

    def latest_epoch(self, kept: bytes | None) -> int:
        """Read the epoch of the latest accepted letter from a stored state; -1 for none."""
        content = remove_salt(kept)
        return -1 if content in (None, _FORGOTTEN) else int(content)

    def score(self, letter: Release) -> bytes:
        """Score all items for a letter, as they are sent."""
        return self.model.server_.score(letter).encode()

    def _fits(self, letter: Release) -> bool:
        """Say whether a device could have sent these items at these levels, in this order.

        An item that these tables have no chance for may have been decided by earlier ones.
        """
        known = self.disclosure.item_number
        numbers = [known.get(item, -1) for item, _ in letter.ratings]
        whole = MICRO if self.disclosure.rule.rounding or self.disclosure.levels else 1
        return (
            numbers == sorted(numbers)
            and -1 not in numbers
            and all(0 <= n <= self._highest and n % whole == 0 for _, n in letter.ratings)
        )

    def _log_digest(self) -> int:
        """Enter the digest in the log; return the calendar epoch."""
        now = epochs.calendar_epoch(int(time.time()), self.disclosure.epoch_length)
        self.log.enter_digest(self.disclosure.digest, now)
        return now

    @property
    def _highest(self) -> int:
        """Highest level of the scale, in micro-levels: whatever leaves a device lies below."""
        return ((self.disclosure.levels or CONTINUOUS_LEVELS + 1) - 1) * MICRO
