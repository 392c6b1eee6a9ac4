"""A shop's comparison of private lists with popular items, in noisy daily figures.

Unit     one person's lists and clicks of all days. On one day a person counts in the kind of list
         that they got first: at most once as served and once as clicked.
Stored   a file of each day in the service's folder, with a line for each time that a person's list
         was asked for or a click of theirs was reported: a keyed hash of the customer, the kind of
         list, and which of the two. No item and no time of day, but lines are in the order in which
         they came; repetitions count once when the day is counted. The file is removed when the
         figures of its day are released.
Released four whole numbers a day, with discrete Laplace noise of scale 2 / epsilon, charged to the
         split's budget in the ledger; a day without any request is released, too.
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
"""What can happen to a person on a day."""
FIGURES = tuple((lists, event) for lists in LISTS for event in EVENTS)
"""Kind of list and event of each of the four figures of a day, in their order."""
MOST_OF_A_PERSON = len(EVENTS)
"""Largest sum that one person adds to the figures of one day: once served and once clicked."""
_HASH_BYTES = 16
_RECORD = re.compile(rb"([0-9a-f]{32}) ([01]) ([01])")
"""A line of a day's file: a person's hash, the index of their kind of list in LISTS, and the index
of an event in EVENTS."""
_SINCE = "since"
"""Name of the file that holds the first day of a comparison."""
_NORMAL_95 = 1.959964
"""Half width of a 95 % interval, in standard deviations."""
_LEAST_SERVED = 4.0
"""Standard deviations of the noise that the number of people served must exceed, for each kind of
list, before rates are compared."""

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
    """Whose service it is."""
    name: str
    """Name of the comparison."""
    settings: SplitSettings
    """Its lines of tacit.toml."""
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
    def state_name(self) -> str:
        """Name of the ledger's state that lists the released days."""
        return thing_state_name(FOLDER, self.tenant, self.name)

    @property
    def holder(self) -> Holder:
        """Holder of the budget that pays for the days."""
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
        """List the comparison's budget."""
        return ((self.holder, self.cap),)

    def describe_releases(self) -> str:
        """Say in a person's receipt what was released and cannot be recalled."""
        return (
            f"noisy counts of the people that lists of '{self.name}' were served to and who "
            f"clicked, each day at epsilon {self.settings.epsilon:g}; what is not yet counted of a "
            "day goes when the day's counts are made"
        )

    def check_neighbours(self, addresses: Collection[str]) -> None:
        """Check that the model whose lists the split compares is served.

        Without it, days would be charged for, and nobody would be counted.

        Raises:
            ConfigError: No model of this name is served.
        """
        if f"models/{self.settings.model}" not in addresses:
            raise ConfigError(
                f"{TOML}: splits.{self.name}.model is {self.settings.model!r}, and there is no "
                f"[models.{self.settings.model}]: nobody would be counted. Name one that is served."
            )

    def check_stored_states(self, read_state: Callable[[str], bytes | None]) -> None:
        """Check that epsilon is the same as for the days that were released.

        Raises:
            ConfigError: It was changed.
        """
        stored = read_state(self.state_name)
        if stored is None:
            return
        epsilon = json.loads(stored[SALT_BYTES:])["epsilon"]
        if epsilon != self.settings.epsilon:
            raise ConfigError(
                f"{TOML}: splits.{self.name}.epsilon was {epsilon:g} for the days that were "
                f"released. Put it back, or rename the section [splits.{self.name}]."
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

    def record_people(
        self, day: date, customers: Sequence[bytes], kind_of_list: str, event: str
    ) -> None:
        """Add a line for each of these people to the file of a day.

        Args:
            day: The day.
            customers: A keyed hash of each person, for this split and day, at least 16 bytes long.
            kind_of_list: Kind of lists that they get: one of LISTS.
            event: What happened to them: one of EVENTS.
        """
        records = encode_records(customers, kind_of_list, event)
        # A single write to a file opened for appending, so that workers do not mix their records.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        file = os.open(self.folder / day.isoformat(), flags, 0o600)
        try:
            os.write(file, records)
        finally:
            os.close(file)

    def due_days(self, released: Iterable[date]) -> list[date]:
        """List the days before today that are to be released, as long as the budget covers them.

        Args:
            released: Days that were released before.
        """
        released_before = set(released)
        day = date.fromisoformat((self.folder / _SINCE).read_text())
        due: list[date] = []
        while day < today() and len(released_before) + len(due) < self.most_days:
            if day not in released_before:
                due.append(day)
            day += timedelta(days=1)
        return due

    def is_counting(self, released: Iterable[date]) -> bool:
        """Say whether the budget covers today, after all earlier days that are released or due."""
        return len(set(released)) + len(self.due_days(released)) < self.most_days

    def read_records(self, day: date) -> bytes:
        """Read a day's file, empty where no one was served. Not protected: never release it."""
        path = self.folder / day.isoformat()
        return path.read_bytes() if path.is_file() else b""

    def draw_figures(self, records: bytes) -> list[int]:
        """Count the records of a day and add noise. The result is a release."""
        figures: list[int] = add_noise(count_day(records), self.settings.epsilon).tolist()
        return figures

    def forget_days(self, released: Iterable[date]) -> None:
        """Remove the files of days that were released, or that the budget no longer covers."""
        due = self.due_days(released)
        for path in self.folder.iterdir():
            with suppress(ValueError):
                day = date.fromisoformat(path.name)
                if day < today() and day not in due:
                    path.unlink(missing_ok=True)


def today() -> date:
    """Return the day of UTC, by the service's clock."""
    return datetime.now(UTC).date()


def encode_records(customers: Sequence[bytes], kind_of_list: str, event: str) -> bytes:
    """Encode lines of a day's file; see `Split.record_people`.

    A full disk may cut a write off. The next write begins with an end of line, so that a cut line
    is a line of its own, which is not counted, and no other line is damaged.
    """
    ending = f" {LISTS.index(kind_of_list)} {EVENTS.index(event)}\n"
    lines = [customer[:_HASH_BYTES].hex() + ending for customer in customers]
    return ("\n" + "".join(lines)).encode("ascii")


def count_day(records: bytes) -> Counts:
    """Count people in the records of a day. Not protected: never release it.

    A person counts in the kind of list of their first record; records of the other kind are
    ignored. Who clicked counts as served, too. So adding or removing one person changes at most two
    numbers, each by one.

    Returns:
        Shape (4,): people of each of FIGURES.
    """
    kind_of_person: dict[bytes, int] = {}
    events_of_people: set[tuple[bytes, int]] = set()
    for line in records.split(b"\n"):
        record = _RECORD.fullmatch(line)
        if record is None:
            continue
        person = record[1]
        kind = int(record[2])
        event = int(record[3])
        first_kind = kind_of_person.setdefault(person, kind)
        if kind == first_kind:
            events_of_people.add((person, event))
            events_of_people.add((person, EVENTS.index("served")))
    counts = np.zeros((len(LISTS), len(EVENTS)), dtype=np.int64)
    for person, event in events_of_people:
        counts[kind_of_person[person], event] += 1
    return counts.ravel()


def noise_scale(epsilon: float) -> float:
    """Compute the scale of the discrete Laplace noise of each figure: 2 / epsilon, rounded up.

    Epsilon is taken as the shortest decimal number that its float prints, which is what is charged;
    the float itself may be a little larger.
    """
    return float_above(MOST_OF_A_PERSON / Fraction(str(epsilon)))


def noise_variance(epsilon: float) -> float:
    """Compute the variance of the noise of one figure.

    With r = exp(-1 / scale) the variance of discrete Laplace noise is 2 r / (1 - r)^2.
    """
    ratio = math.exp(-1 / noise_scale(epsilon))
    return 2 * ratio / (1 - ratio) ** 2


def add_noise(counts: Counts, epsilon: float) -> Counts:
    """Release the figures of a day: add discrete Laplace noise to counts, shape (4,).

    Args:
        counts: People of each of FIGURES. Not protected: never release them.
        epsilon: Epsilon of one person, in nats.
    """
    return discrete_laplace(counts, noise_scale(epsilon))


@dataclass(frozen=True)
class DayFigures:
    """The released figures of one day."""

    day: date
    """The day, in UTC."""
    figures: tuple[int, ...]
    """Number of people of each of FIGURES, with noise, which may make it negative."""


def encode_days(days: Sequence[DayFigures], epsilon: float) -> bytes:
    """Encode released days as they are stored, with the epsilon of each day."""
    rows = [[of_day.day.isoformat(), list(of_day.figures)] for of_day in days]
    return json.dumps({"epsilon": epsilon, "days": rows}).encode()


def decode_days(stored: bytes | None) -> tuple[DayFigures, ...]:
    """Read what `encode_days` wrote; () where nothing is stored."""
    if stored is None:
        return ()
    rows = json.loads(stored)["days"]
    return tuple(DayFigures(date.fromisoformat(day), tuple(figures)) for day, figures in rows)


@dataclass(frozen=True)
class Comparison:
    """Rates of clicks and their difference, over all released days: post-processing.

    Rates, difference and interval are None where noise is too large for a comparison.
    """

    days: int
    """Number of days."""
    totals: tuple[int, ...]
    """Sum over days of each of FIGURES."""
    rates: tuple[float, float] | None
    """Share of the people served who clicked, for each kind of LISTS."""
    difference: float | None
    """Rate of personal lists minus that of popular items."""
    low: float | None
    """Lower end of the difference's 95 % interval, which covers noise and sampling."""
    high: float | None
    """Upper end of that interval."""


def compare(days: Sequence[DayFigures], epsilon: float) -> Comparison:
    """Compare the rates of clicks of both kinds of lists.

    For one kind of list let s be the people served and c those who clicked, summed over all days,
    p = c / s, and V the variance of the noise of such a sum. The variance of p is about
    p (1 - p) / s + V (1 + p^2) / s^2. A person who returns on another day counts again; days are
    assumed to be independent.

    Args:
        days: Released days.
        epsilon: Epsilon of each day.
    """
    figures = np.array([of_day.figures for of_day in days], dtype=np.int64)
    totals = figures.reshape(-1, len(LISTS), len(EVENTS)).sum(axis=0)
    flat_totals = tuple(totals.ravel().tolist())
    noise_of_sum = len(days) * noise_variance(epsilon)
    served = totals[:, EVENTS.index("served")].astype(float)
    clicked = totals[:, EVENTS.index("clicked")].astype(float)
    if not days or served.min() < _LEAST_SERVED * math.sqrt(noise_of_sum):
        return Comparison(len(days), flat_totals, None, None, None, None)
    rates = np.clip(clicked / served, 0.0, 1.0)
    variances = rates * (1 - rates) / served + noise_of_sum * (1 + rates**2) / served**2
    difference = float(rates[0] - rates[1])
    half_width = _NORMAL_95 * math.sqrt(float(variances.sum()))
    return Comparison(
        days=len(days),
        totals=flat_totals,
        rates=(float(rates[0]), float(rates[1])),
        difference=difference,
        low=difference - half_width,
        high=difference + half_width,
    )
