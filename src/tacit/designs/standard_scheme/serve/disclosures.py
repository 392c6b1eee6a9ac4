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

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tacit.designs.standard_scheme import Disclosure, Release, StandardScheme, drawing
from tacit.designs.standard_scheme.messages import (
    CONTINUOUS_LEVELS,
    LARGEST,
    MICRO,
    ItemId,
    MessageError,
)
from tacit.designs.standard_scheme.serve.digest_log import DigestLog
from tacit.designs.standard_scheme.training.fitting import WHO_MAY_USE_IT
from tacit.errors import ConfigError, TacitError
from tacit.ledger import Cap, Holder
from tacit.privacy import Guarantee, Measurement
from tacit.randomness import Source
from tacit.recommenders.inputs import load_model
from tacit.service.deployment import Section
from tacit.service.idempotency import Reply, Step, refusal, reply, salted, state_of, unsalted
from tacit.service.people import Kept
from tacit.service.problems import Problem
from tacit.service.settings import FILE, setting

_UNREAD = Problem(422, "This is not a letter for this disclosure. Fetch the disclosure again.")
_OLD = Problem(
    422,
    "The letter is not read: this message is of version 1; this program reads version 2: update "
    "the older side.",
)
_EARLY = Problem(422, "The epoch of this letter has not ended. Send it when it has.")
_NO_LOG = Problem(503, "The log of this disclosure cannot be kept: tell the operator.")
_FORGOTTEN = b"forgotten"


@dataclass(frozen=True, kw_only=True)
class DisclosureSettings:
    """The lines of [disclosures.NAME]."""

    file: str = setting(
        "a saved `StandardScheme`", refused="another recommender, or the published variant"
    )
    service_sees_items: bool = setting(
        "a statement about the whole service: whether it learns what people rated or watched",
        refused="`true`, and a missing line",
    )
    item_table: bool = setting(
        "publish the table by which devices make lists of true stars",
        False,
        refused="`true` for a model that was fitted without its people's consent to it",
    )
    log: str | None = setting(
        "the file of the public log of digests",
        None,
        said="`NAME.digests` beside the model",
        refused="outside of the folder, or changed by hand",
    )


@dataclass(frozen=True)
class ServedDisclosure:
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
        """From `file`, a saved StandardScheme. `service_sees_items` is false, and stands there.

        There may be `item_table`, and `log`: the file of the digests, by default beside the model.
        """
        _check_promise(section)
        given = section.read(DisclosureSettings)
        path = section.file("file")
        try:
            model = load_model(path)
        except TacitError as error:
            raise ConfigError(f"{FILE}: {section.name}.file cannot be served. {error}") from None
        _check(section.name, model)
        log = DigestLog(_log_path(section, path), model.disclosure_.epoch_length)
        served = cls(section.name, model, log, given.item_table)
        if served.item_table and not model.item_table:
            raise ConfigError(
                f"{FILE}: {section.name}.item_table is true, but the model was fitted without its "
                "people's consent to publish that table. Fit it with item_table=True, or take the "
                "line out."
            )
        served._warm()
        return served

    def budgets(self) -> Iterator[tuple[Holder, Cap]]:
        """None: a letter is made on the device and has no epsilon."""
        return iter(())

    def guarantees(self) -> tuple[Guarantee, ...]:
        """For the people who obfuscate, and for those whose ratings trained."""
        return self.model.guarantees()

    def released(self) -> str:
        """What nobody can take back."""
        return (
            f"letters of your device to the disclosure {self.name}, if there were any: each was "
            "answered and not kept, but for a keyed hash and the epoch of the latest"
        )

    def check_kept(self, _: Callable[[str], bytes | None]) -> None:
        """The log goes on with this disclosure, when everything else that is served was read."""
        self._logged()

    def forget(self, user: str) -> Iterable[Kept]:
        """No letter is kept; but a second first letter under the same name could be compared with
        the first, so from here on none is accepted."""
        yield Kept(
            self.state(user),
            f"your part in the disclosure {self.name}: it accepts no more letters under this name",
            lambda source, _: salted(source, _FORGOTTEN),
        )

    def state(self, user: str) -> str:
        """The name of the kept state that says whether this person was forgotten."""
        return state_of(f"letters/{self.name}", user)

    @property
    def disclosure(self) -> Disclosure:
        """What devices fetch."""
        return self.model.disclosure_

    @cached_property
    def encoded(self) -> bytes:
        """The same, as bytes."""
        return self.disclosure.encode()

    @cached_property
    def encoded_item_table(self) -> bytes | None:
        """The table for lists on devices; None where it is not published."""
        table = self.model.item_table_ if self.item_table else None
        return None if table is None else table.encode()

    def popular(self) -> list[ItemId]:
        """All items, the most liked first; likes are counted in fives."""
        return [self.disclosure.items[number] for number in np.argsort(self.model.ease_.popularity)]

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
            raise _NO_LOG from None

    def described(self) -> dict[str, Any]:
        """For the list, in JSON's values."""
        shown = self.disclosure
        return {
            "name": self.name,
            "attributes": {table.name: list(table.values) for table in shown.attributes},
            "release": self.model.release,
            "rule": shown.rule.to_wire(),
            "scale": {"minimum": shown.minimum, "step": shown.step, "levels": shown.levels},
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
            raise _UNREAD
        try:
            letter = Release.decode(data)
        except MessageError:
            raise (_OLD if _version(data) == 1 else _UNREAD) from None
        if letter.disclosure != self.disclosure.digest or not self._fits(letter):
            raise _UNREAD
        if letter.epoch >= self.today() and letter.epoch > 1:
            raise _EARLY
        return letter

    def take(self, letter: Release) -> Step:
        """Accept a letter that was read, unless its person was forgotten."""

        def taken(source: Source, kept: bytes | None) -> tuple[Reply, bytes | None]:
            if unsalted(kept) == _FORGOTTEN:
                reason = "You were forgotten: no letter is accepted under this name."
                return refusal(409, reason), None
            latest = max(letter.epoch, self.latest(kept))
            return reply({"accepted": True}), salted(source, b"%d" % latest)

        return taken

    def latest(self, kept: bytes | None) -> int:
        """The epoch of the latest letter that was accepted; -1 where there is none."""
        content = unsalted(kept)
        return -1 if content in (None, _FORGOTTEN) else int(content)

    def scores(self, letter: Release) -> bytes:
        """Of the whole catalogue."""
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
            and all(0 <= level <= self._highest for _, level in letter.ratings)
            and all(level % whole == 0 for _, level in letter.ratings)
        )

    def _logged(self) -> int:
        now = drawing.calendar(int(time.time()), self.disclosure.epoch_length)
        self.log.serve(self.disclosure.digest, now)
        return now

    @property
    def _highest(self) -> int:
        """Micro-levels. Whatever leaves a device lies on the scale."""
        return ((self.disclosure.levels or CONTINUOUS_LEVELS + 1) - 1) * MICRO

    def _warm(self) -> None:
        """Compile what scores and make what is fetched, before the first person waits for it."""
        shown = tuple((item, 0) for item in self.disclosure.items[:1])
        self.scores(Release(self.disclosure.digest, 0, shown))
        _ = self.encoded, self.encoded_item_table, self.most_bytes


def _check_promise(section: Section) -> None:
    if section.values.get("service_sees_items") is not False:
        raise ConfigError(
            f"{FILE}: {section.name}.service_sees_items is not false. {WHO_MAY_USE_IT} Write  "
            "service_sees_items = false  where the service does not."
        )


def _log_path(section: Section, model: Path) -> Path:
    if "log" not in section.values:
        return model.with_name(f"{section.name}.digests")
    path = (section.folder / section.text("log")).resolve()
    if not path.is_relative_to(section.folder.resolve()) or path.is_dir():
        raise ConfigError(f"{FILE}: {section.name}.log names no file in the folder.")
    return path


def _version(data: bytes) -> Any:
    try:
        return json.loads(data)["version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


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
    if model.second_order != "off":
        raise ConfigError(
            f"{FILE}: {name} has chances by taste (second_order='taste'), an experiment that no "
            "client but the Python library's can follow. It is not served: fit it with "
            "second_order='off'."
        )


_ON = "600 generated people in 5 folds"
MEASURED = (
    Measurement(
        "strongest of 8 attackers (boosting-meta, three refits, trained on released data)",
        *("panel", "scheme+selection+rounding", 0.6591, 0.5936, 0.7247, _ON, 600, 180),
    ),
    Measurement(
        "strongest attacker",
        *("permuted labels", "scheme+selection+rounding", 0.5602, 0.5, 0.6232, _ON, 600, 180),
    ),
    Measurement("logistic-svd", "raw", "none", 0.817, 0.7819, 0.8521, _ON),
)
"""Of the demonstration's model: half a minute, so a long test measures it again."""


def make_demo(folder: Path) -> str:
    """Write the model of a disclosure that hides the generated people's gender.

    No real people are concerned: the item table is published, so devices make lists at once.
    """
    from tacit.service.demo import population

    model = StandardScheme(attributes=("gender",), service_sees_items=False, item_table=True)
    model.fit(population())
    model.measurements_ = MEASURED
    model.save(folder / "gender.tacit")
    return """[disclosures.gender]
file = "gender.tacit"
service_sees_items = false  # nobody but the device learns what a person rated
item_table = true           # devices make lists at once; the first letter is due after 30 minutes
"""
