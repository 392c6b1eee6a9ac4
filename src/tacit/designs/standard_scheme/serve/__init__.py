"""The standard scheme as it is served: public tables out, letters in, scores out.

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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from fastapi import APIRouter, Path, Request, Response

from tacit.designs.standard_scheme import Disclosure, Release, StandardScheme, epochs
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, LARGEST, MICRO, MessageError
from tacit.designs.standard_scheme.serve.operator import DigestLog, DisclosureSettings, read
from tacit.errors import TacitError
from tacit.ledger import Cap, Holder, KeyReused
from tacit.privacy import Guarantee
from tacit.randomness import Source
from tacit.service import idempotency
from tacit.service.access import (
    BodyBytes,
    CurrentCaller,
    CurrentService,
    IdempotencyKey,
    allow,
    allow_bytes,
)
from tacit.service.http_bodies import OCTETS
from tacit.service.idempotency import Reply, Transition, add_salt, refusal, remove_salt, reply
from tacit.service.keys import NAME, Role
from tacit.service.operations import Operation, run_in_thread
from tacit.service.problems import Problem
from tacit.service.served_things import PersonalState, Section, ServedThing
from tacit.service.service import Service

# Made anew for each answer: an exception keeps the frames that it was raised in.
_UNREAD = partial(
    Problem, 422, "This is not a letter for this disclosure. Fetch the disclosure again."
)
_EARLY = partial(Problem, 422, "The epoch of this letter has not ended. Send it when it has.")
_NO_LOG = partial(Problem, 503, "The log of this disclosure cannot be kept: tell the operator.")
_NOTHING = partial(Problem, 404, "There is nothing at this address.")
_FORGOTTEN = b"forgotten"


@dataclass(frozen=True)
class ServedDisclosure(ServedThing):
    """One disclosure, its public log, and the item profiles behind it.

    item_table: whether devices may fetch the table by which they rank.
    """

    SETTINGS: ClassVar = DisclosureSettings

    name: str
    model: StandardScheme = field(repr=False)
    log: DigestLog = field(repr=False)
    item_table: bool = False

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """From the lines of `DisclosureSettings`; ConfigError for what is not served."""
        settings, model, log = read(section)
        served = cls(section.name, model, log, settings.item_table)
        # Compile what scores and make what is fetched, before the first person waits for it.
        shown = tuple((item, 0) for item in served.disclosure.items[:1])
        served.scores(Release(served.disclosure.digest, 0, shown))
        _ = served.encoded, served.encoded_item_table, served.most_bytes
        return served

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """None: a letter is made on the device and has no epsilon."""
        return iter(())

    def guarantees(self) -> tuple[Guarantee, ...]:
        return self.model.guarantees()

    def describe_releases(self) -> str:
        """What nobody can take back."""
        return (
            f"letters of your device to the disclosure {self.name}, if there were any: each was "
            "answered and not kept, but for a keyed hash and the epoch of the latest"
        )

    def check_stored_states(self, _: Callable[[str], bytes | None]) -> None:
        """The log goes on with this disclosure, when everything else that is served was read."""
        self._logged()

    def personal_states(self, user: str) -> Iterable[PersonalState]:
        """No letter is kept; but a second first letter under the same name could be compared with
        the first, so from here on none is accepted."""
        yield PersonalState(
            self.state(user),
            f"your part in the disclosure {self.name}: it accepts no more letters under this name",
            lambda source, _: add_salt(source, _FORGOTTEN),
        )

    def state(self, user: str) -> str:
        """The name of the kept state that says whether this person was forgotten."""
        return idempotency.personal_state_name(f"letters/{self.name}", user)

    @property
    def disclosure(self) -> Disclosure:
        return self.model.disclosure_

    @cached_property
    def encoded(self) -> bytes:
        return self.disclosure.encode()

    @cached_property
    def encoded_item_table(self) -> bytes | None:
        """None where it is not published."""
        table = self.model.item_table_ if self.item_table else None
        return None if table is None else table.encode()

    @cached_property
    def most_bytes(self) -> int:
        """Of a letter that shows every item, each at a level of the longest spelling."""
        everything = tuple((item, self._highest) for item in self.disclosure.items)
        return len(Release(self.disclosure.digest, LARGEST, everything).encode())

    def today(self) -> int:
        """The calendar epoch by this machine's clock, with its entry in the log; Problem 503 where
        none can be kept."""
        try:
            return self._logged()
        except TacitError:
            raise _NO_LOG() from None

    def described(self) -> dict[str, Any]:
        shown = self.disclosure
        return {
            "name": self.name,
            "attributes": {table.name: list(table.values) for table in shown.attributes},
            "release": self.model.release,
            "rule": shown.rule.to_wire(),
            "scale": shown.scale_to_wire(),
            "items": len(shown.items),
            "digest": shown.digest,
            "bytes": len(self.encoded),
            "epoch_length": shown.epoch_length,
            "service_sees_items": False,
            "item_table": self.item_table,
            "guarantee": self.guarantees()[0].sentence,
        }

    def letter(self, data: bytes) -> Release:
        """A letter that a device makes for this disclosure in an epoch that has ended; Problem 422
        otherwise."""
        if len(data) > self.most_bytes:
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

    def take(self, letter: Release) -> Transition:
        """Accept a letter that was read, unless its person was forgotten."""

        def taken(source: Source, kept: bytes | None) -> tuple[Reply, bytes | None]:
            if remove_salt(kept) == _FORGOTTEN:
                reason = "You were forgotten: no letter is accepted under this name."
                return refusal(409, reason), None
            latest = max(letter.epoch, self.latest(kept))
            return reply({"accepted": True}), add_salt(source, b"%d" % latest)

        return taken

    def latest(self, kept: bytes | None) -> int:
        """The epoch of the latest letter that was accepted; -1 where there is none."""
        content = remove_salt(kept)
        return -1 if content in (None, _FORGOTTEN) else int(content)

    def scores(self, letter: Release) -> bytes:
        return self.model.server_.score(letter).encode()

    def _fits(self, letter: Release) -> bool:
        """Whether a device could have sent these items at these levels, in this order. An item that
        these tables have no chance for may have been decided by earlier ones."""
        known = self.disclosure.item_number
        numbers = [known.get(item, -1) for item, _ in letter.ratings]
        whole = MICRO if self.disclosure.rule.rounding or self.disclosure.levels else 1
        return (
            numbers == sorted(numbers)
            and -1 not in numbers
            and all(0 <= n <= self._highest and n % whole == 0 for _, n in letter.ratings)
        )

    def _logged(self) -> int:
        now = epochs.calendar_epoch(int(time.time()), self.disclosure.epoch_length)
        self.log.serve(self.disclosure.digest, now)
        return now

    @property
    def _highest(self) -> int:
        """Micro-levels. Whatever leaves a device lies on the scale."""
        return ((self.disclosure.levels or CONTINUOUS_LEVELS + 1) - 1) * MICRO


router = APIRouter(route_class=Operation, prefix="/api/disclosures", tags=["disclosures"])
Name = Annotated[str, Path(pattern=f"^{NAME.pattern}$")]


@router.get("", **allow(Role.ANONYMOUS))
def disclosures(service: CurrentService) -> dict[str, list[dict[str, Any]]]:
    """What is disclosed to devices, and what that protects."""
    served = service.deployment.find_all(ServedDisclosure).values()
    return {"disclosures": [one.described() for one in served]}


@router.get("/{name}", **allow_bytes(Role.ANONYMOUS, response="A disclosure, in canonical JSON."))
def disclosure(service: CurrentService, name: Name) -> Response:
    """The public tables that a device obfuscates by."""
    served = _named(service, name)
    served.today()
    return Response(served.encoded, media_type=OCTETS)


@router.get("/{name}/log", **allow(Role.ANONYMOUS))
def log(service: CurrentService, name: Name) -> dict[str, list[dict[str, Any]]]:
    """The digest of every epoch in which the disclosure was served. It is only ever added to."""
    served = _named(service, name)
    served.today()
    return {"log": served.log.entries()}


@router.get(
    "/{name}/item-table",
    **allow_bytes(Role.ANONYMOUS, response="An item table, in canonical JSON."),
)
def item_table(service: CurrentService, name: Name) -> Response:
    """The table by which a device ranks, where the operator publishes it."""
    table = _named(service, name).encoded_item_table
    if table is None:
        raise _NOTHING()
    return Response(table, media_type=OCTETS)


@router.get("/{name}/popular", **allow(Role.ANONYMOUS))
def popular(service: CurrentService, name: Name) -> dict[str, list[int | str]]:
    """All items, those that most people like first: the list of a person who sent no letter yet."""
    model = _named(service, name).model
    order = np.argsort(model.fitted_.ease.popularity)  # by likes, which are counted in fives
    return {"items": [model.disclosure_.items[number] for number in order]}


@router.get("/{name}/latest", **allow(Role.SUBJECT))
def latest(service: CurrentService, caller: CurrentCaller, name: Name) -> dict[str, int]:
    """The epoch of your latest letter that was accepted, -1 for none. A device that knows of none
    so late is not the only one of your account."""
    served = _named(service, name)
    kept = service.ledger.state(f"{caller.tenant}/{served.state(caller.name)}")
    return {"latest": served.latest(kept)}


@router.post(
    "/{name}/letters",
    **allow_bytes(
        Role.SUBJECT,
        request="A letter: obfuscated stars and their epoch, as a device made it.",
        response="Scores of all items, without the hidden attribute's effect.",
    ),
)
async def letters(
    service: CurrentService,
    request: Request,
    caller: CurrentCaller,
    key: IdempotencyKey,  # noqa: ARG001  # as for every POST; what counts once is the epoch
    name: Name,
    letter: BodyBytes,
) -> Response:
    """Scores for a letter, one of each epoch. The ledger keeps a keyed hash of it alone."""
    served = _named(service, name)
    read = served.letter(letter)
    try:  # the ledger's own rule is the calendar's: one key of one person takes one payload
        stored = await idempotency.answer_once(
            service,
            caller,
            f"POST /api/disclosures/{name}/letters",
            str(read.epoch),
            letter,
            state=served.state(caller.name),
            transition=served.take(read),
        )
    except KeyReused:
        raise Problem(
            409, "Another letter of yours came in this epoch. A device sends one letter in each."
        ) from None
    if stored.status_code != 200:
        return stored
    scores = await run_in_thread(request, lambda: served.scores(read))
    answer = Response(scores, media_type=OCTETS)
    if "idempotency-replayed" in stored.headers:
        answer.headers["idempotency-replayed"] = stored.headers["idempotency-replayed"]
    return answer


def _named(service: Service, name: str) -> ServedDisclosure:
    served = service.deployment.find_all(ServedDisclosure).get(name)
    if served is None:
        raise _NOTHING()
    return served
