"""A shop's comparison of private lists with popular items, in noisy daily figures.

Unit     one person's lists and clicks of all days. On one day a person counts in the list kind that
         they met first: at most once as served and once as clicked.
Stored   until the figures of a day are released: a file of the day in the service's folder, with a
         keyed hash of each customer, the kind of their list, and whether they clicked. Items, and
         how often, are not stored. A released day's file is removed.
Released four whole numbers a day, with discrete Laplace noise of scale 2 / epsilon, charged to the
         split's budget in the ledger; a day without any request is released too.
Source   Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006); on integers:
         Ghosh, Roughgarden, Sundararajan (STOC 2009).
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.rounding import float_above
from tacit.errors import ConfigError
from tacit.ledger import Cap, Cost, Holder
from tacit.mechanisms.laplace import discrete_laplace
from tacit.privacy import Adjacency, Basis, Guarantee, Trust
from tacit.service.idempotency import SALT_BYTES, thing_state_name
from tacit.service.keys import LISTS
from tacit.service.served_things import Section, ServedThing
from tacit.service.setting_tables import TOML, setting

FOLDER = "splits"
"""Folder of the files of days, in the service's folder."""
EVENTS = ("served", "clicked")
FIGURES = tuple((lists, event) for lists in LISTS for event in EVENTS)
"""The four figures of a day, in their order."""
MOST_OF_A_PERSON = len(EVENTS)
"""What one person adds to the figures of one day: once served and once clicked."""
_HASH_BYTES = 16
_RECORD = re.compile(rb"([0-9a-f]{32}) ([01]) ([01])")
"""A line of a day's file: a person's hash, the number of their kind of list, and of an event."""
_SINCE = "since"
_NORMAL_95 = 1.959964
_LEAST_SERVED = 4.0
"""Deviations of noise that the served people of both kinds must exceed for a comparison."""

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class SplitSettings:
    """The lines of [splits.NAME]."""

    model: str = setting(
        "name of the model whose lists are compared with those of popular items",
        refused="a model that is not served",
    )
    epsilon: float = setting(
        "the epsilon of one person in the figures of one day",
        0.2,
        unit="nats",
        above=0,
        refused="0 or less, infinite",
    )
    lifetime: float = setting(
        "the epsilon of one person in the figures of all days; then no more is counted",
        5.0,
        unit="nats",
        refused="less than one day costs",
    )


@dataclass(frozen=True)
class Split(ServedThing):
    """A comparison by key: a key's lists are personal, or those of popular items."""

    SETTINGS: ClassVar = SplitSettings

    tenant: str
    name: str
    settings: SplitSettings
    folder: Path
    """Folder of the files of its days."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Read a comparison from its section of the settings.

        The first time, today is stored as its first day.
        """
        settings = section.read_settings(SplitSettings)
        where = f"{TOML}: splits.{section.name}"
        if not (math.isfinite(settings.epsilon) and settings.epsilon > 0):
            raise ConfigError(f"{where}.epsilon is above 0 and finite: inf protects no one.")
        if not settings.epsilon <= settings.lifetime < math.inf:
            raise ConfigError(f"{where}.lifetime does not cover one day at epsilon.")
        folder = section.folder / FOLDER / section.name
        split = cls(section.tenant, section.name, settings, folder)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError), (folder / _SINCE).open("x") as file:
                file.write(today().isoformat())
        except OSError as error:
            raise ConfigError(f"{folder}: cannot be written ({error.strerror}).") from None
        return split

    @property
    def state(self) -> str:
        """Name of the ledger's state that lists the released days."""
        return thing_state_name(FOLDER, self.tenant, self.name)

    @property
    def holder(self) -> Holder:
        """Whose budget pays for a day."""
        return Holder.dataset(self.tenant, f"{FOLDER}/{self.name}")

    @property
    def cost(self) -> Cost:
        """Cost of one day."""
        return Cost.pure(str(self.settings.epsilon))

    @property
    def cap(self) -> Cap:
        """The budget of all days."""
        return Cap.pure(str(self.settings.lifetime))

    @property
    def most_days(self) -> int:
        """Days that the lifetime covers."""
        return self.cap.amount // self.cost.amount

    def budgets(self) -> Iterable[tuple[Holder, Cap]]:
        """List its own budget."""
        return ((self.holder, self.cap),)

    def describe_releases(self) -> str:
        """Say what was released of a person and stays so."""
        return (
            f"noisy counts of the people that lists of '{self.name}' were served to and who "
            f"clicked, each day at epsilon {self.settings.epsilon:g}; what is not yet counted of a "
            "day goes when the day's counts are made"
        )

    def check_neighbours(self, addresses: Collection[str]) -> None:
        """Refuse a model that is not served: days would be charged, and nobody counted.

        Raises:
            ConfigError: There is none of this name.
        """
        if f"models/{self.settings.model}" not in addresses:
            raise ConfigError(
                f"{TOML}: splits.{self.name}.model is {self.settings.model!r}, and there is no "
                f"[models.{self.settings.model}]: nobody would be counted. Name one that is served."
            )

    def check_stored_states(self, read_state: Callable[[str], bytes | None]) -> None:
        """Refuse another epsilon than that of the days that were released.

        Raises:
            ConfigError: It is another one.
        """
        stored = read_state(self.state)
        if stored is None:
            return
        epsilon = json.loads(stored[SALT_BYTES:])["epsilon"]
        if epsilon != self.settings.epsilon:
            raise ConfigError(
                f"{TOML}: splits.{self.name}.epsilon was {epsilon:g} for the days that were "
                "released. Put it back, or take another name for the comparison."
            )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the card of the daily figures."""
        epsilon, days = self.settings.epsilon, self.most_days
        card = Guarantee(
            name="Daily figures of a comparison of lists",
            sentence=(
                f"The figures of one day are {epsilon:g}-differentially private for each person: "
                "whether lists were served to them, and whether they clicked."
            ),
            protects="one person's lists and clicks, from those who see the figures",
            adjacency=Adjacency("user", "add or remove"),
            against="everyone who sees all figures of all days, and knows all other people",
            trust=Trust.PLATFORM,
            basis=Basis.PROVED,
            epsilon=epsilon,
            delta=0.0,
            lifetime=f"each day costs as much again, for {days} days; then no more is counted",
            lifetime_epsilon=days * epsilon,
            lifetime_delta=0.0,
            assumptions=(
                "a person has one customer id",
                "on one day a person counts once as served, once as clicked, in one kind of list",
                "a figure is released for every day since the comparison began",
                "which key serves whom does not follow from what people did",
            ),
            not_covered=(
                "the service and the shop, which know who asked and who clicked",
                "the file of a day, until its figures are released, and copies of it in backups",
                "figures of other comparisons: each has a budget of its own, and epsilons add up",
                "counters of lists and requests, which name no one and are exact",
                "a person under several customer ids",
            ),
            sources=(
                "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006)",
                "Ghosh, Roughgarden, Sundararajan (STOC 2009), for noise on integers",
            ),
        )
        return (card,)

    def note(self, day: date, customers: Sequence[bytes], lists: str, event: str) -> None:
        """Write what happened to people on a day.

        Args:
            day: The day for which the customers were hashed.
            customers: A keyed hash of each, of this split and day, at least 16 bytes.
            lists: Which lists their key gets.
            event: One of EVENTS.
        """
        records = encode_records(customers, lists, event)
        # One write to a file opened for appending: several workers do not mix their records.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        file = os.open(self.folder / day.isoformat(), flags, 0o600)
        try:
            os.write(file, records)
        finally:
            os.close(file)

    def due_days(self, released: Iterable[date]) -> list[date]:
        """List the days before today whose figures are to be released, as far as they are paid."""
        done = set(released)
        day = date.fromisoformat((self.folder / _SINCE).read_text())
        due: list[date] = []
        while day < today() and len(done) + len(due) < self.most_days:
            if day not in done:
                due.append(day)
            day += timedelta(days=1)
        return due

    def is_counting(self, released: Iterable[date]) -> bool:
        """Say whether today's figures can still be paid for."""
        return len(set(released)) + len(self.due_days(released)) < self.most_days

    def read_records(self, day: date) -> bytes:
        """Read the file of a day; nothing where no one came: PRIVATE."""
        path = self.folder / day.isoformat()
        return path.read_bytes() if path.is_file() else b""

    def draw_figures(self, records: bytes) -> list[int]:
        """Count the records of a day and add noise: one release."""
        figures: list[int] = add_noise(count_day(records), self.settings.epsilon).tolist()
        return figures

    def forget_days(self, released: Iterable[date]) -> None:
        """Remove the files of days that were released, and of days that no one will pay for."""
        due = self.due_days(released)
        for path in self.folder.iterdir():
            with suppress(ValueError):
                day = date.fromisoformat(path.name)
                if day < today() and day not in due:
                    path.unlink(missing_ok=True)


def today() -> date:
    """The day of UTC, by the service's clock."""
    return datetime.now(UTC).date()


def encode_records(customers: Sequence[bytes], lists: str, event: str) -> bytes:
    """Write lines of a day's file; see `Split.note`.

    A full disk may cut a write. It begins with an end of line, so that a cut line stands by itself
    and is not counted, and all others stay whole.
    """
    kind = f" {LISTS.index(lists)} {EVENTS.index(event)}\n"
    lines = [customer[:_HASH_BYTES].hex() + kind for customer in customers]
    return ("\n" + "".join(lines)).encode("ascii")


def count_day(records: bytes) -> Counts:
    """Count people in the records of a day: PRIVATE.

    Returns:
        (4,) people by FIGURES. A person counts in the kind of their first record; a click counts as
        served, too. Adding or removing one person changes at most two numbers, each by one.
    """
    kinds: dict[bytes, int] = {}
    events: set[tuple[bytes, int]] = set()
    for line in records.split(b"\n"):
        record = _RECORD.fullmatch(line)
        if record is None:
            continue
        person, kind, event = record[1], int(record[2]), int(record[3])
        if kinds.setdefault(person, kind) == kind:
            events.add((person, event))
            events.add((person, EVENTS.index("served")))
    counts = np.zeros(len(FIGURES), dtype=np.int64)
    for person, event in events:
        counts[kinds[person] * len(EVENTS) + event] += 1
    return counts


def noise_scale(epsilon: float) -> float:
    """Scale of the discrete Laplace noise of each figure, not below 2 / epsilon.

    Epsilon is its shortest decimals, as it is charged: a float may lie a little above them.
    """
    return float_above(MOST_OF_A_PERSON / Fraction(str(epsilon)))


def noise_variance(epsilon: float) -> float:
    """Variance of the noise of one figure."""
    ratio = math.exp(-1 / noise_scale(epsilon))
    return 2 * ratio / (1 - ratio) ** 2


def add_noise(counts: Counts, epsilon: float) -> Counts:
    """Release the figures of a day at this epsilon, in nats."""
    return discrete_laplace(counts, noise_scale(epsilon))


@dataclass(frozen=True)
class DayFigures:
    """The released figures of one day."""

    day: date
    figures: tuple[int, ...]
    """By FIGURES; noise may make them negative."""


def encode_days(days: Sequence[DayFigures], epsilon: float) -> bytes:
    """Write released days as they are stored. epsilon: of each."""
    rows = [[one.day.isoformat(), list(one.figures)] for one in days]
    return json.dumps({"epsilon": epsilon, "days": rows}).encode()


def decode_days(stored: bytes | None) -> tuple[DayFigures, ...]:
    """Read what `encode_days` wrote; none before the first day."""
    if stored is None:
        return ()
    rows = json.loads(stored)["days"]
    return tuple(DayFigures(date.fromisoformat(day), tuple(figures)) for day, figures in rows)


@dataclass(frozen=True)
class Comparison:
    """Rates and their difference over all released days: post-processing."""

    days: int
    totals: tuple[int, ...]
    """By FIGURES."""
    rates: tuple[float, float] | None
    """People who clicked, of those served, by LISTS; None where noise is too large to say."""
    difference: float | None
    """Rate of personal lists less that of popular items."""
    low: float | None
    """Lower end of its 95 % interval, for noise and chance together."""
    high: float | None


def compare(days: Sequence[DayFigures], epsilon: float) -> Comparison:
    """Compare both kinds of lists.

    With s people served and c clicked over all days, p = c / s and V the variance of the noise of
    a sum, the variance of p is p (1 - p) / s + V (1 + p^2) / s^2. A person who returns on another
    day counts again, so days are taken for independent.
    """
    figures = np.array([one.figures for one in days], dtype=np.int64).reshape(-1, len(FIGURES))
    totals = figures.sum(axis=0)
    variance = len(days) * noise_variance(epsilon)
    served, clicked = totals[::2].astype(float), totals[1::2].astype(float)
    if not days or served.min() < _LEAST_SERVED * math.sqrt(variance):
        return Comparison(len(days), tuple(totals.tolist()), None, None, None, None)
    rates = np.clip(clicked / served, 0.0, 1.0)
    spread = rates * (1 - rates) / served + variance * (1 + rates**2) / served**2
    difference = float(rates[0] - rates[1])
    reach = _NORMAL_95 * math.sqrt(float(spread.sum()))
    return Comparison(
        days=len(days),
        totals=tuple(totals.tolist()),
        rates=(float(rates[0]), float(rates[1])),
        difference=difference,
        low=difference - reach,
        high=difference + reach,
    )
