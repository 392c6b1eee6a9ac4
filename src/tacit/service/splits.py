"""A shop's comparison of private lists with popular items, in noisy daily figures.

A split is such a comparison, as [splits.NAME] of tacit.toml defines it.

Unit     one person's lists and clicks of all days. On one day a person counts only in the kind of
         list that they got first: at most once as served and once as clicked.
Stored   a file of each day in the service's folder. It has a line for the first time that a list
         was asked for a person or a click of theirs was reported: a keyed hash of the customer, the
         kind of list, and which of the two happened. It has no item and no time of day, but its
         lines are in the order in which they came. A repetition adds no line in the same worker,
         unless very many people came in between; repeated lines count once. The file is removed
         when the figures of its day are released.
Released four whole numbers a day, with discrete Laplace noise of scale 2 / epsilon, charged to the
         split's budget in the ledger. A day without any line is released, too.
Source   Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity (TCC 2006); on integers:
         Ghosh, Roughgarden, Sundararajan (STOC 2009).
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.rounding import float_above
from tacit.atomic_writes import write_whole
from tacit.errors import ConfigError, OutputError
from tacit.ledger import Cap, Cost, Holder
from tacit.mechanisms.laplace import discrete_laplace
from tacit.privacy import Adjacency, Basis, Guarantee, Trust, format_upper_bound
from tacit.service.idempotency import SALT_BYTES, thing_state_name
from tacit.service.keys import LISTS
from tacit.service.served_things import Section, ServedThing
from tacit.service.setting_tables import TOML, setting

FOLDER = "splits"
"""Folder of the files of days, in the service's folder."""
EVENTS = ("served", "clicked")
"""What can happen to a person on a day: a list was made for them, or they clicked on an item."""
FIGURES = tuple((lists, event) for lists in LISTS for event in EVENTS)
"""Kind of list and event of each of the four figures of a day, in their order."""
MOST_OF_A_PERSON = len(EVENTS)
"""Sensitivity of the figures of one day: the most that one person adds to all figures together,
which is 1 as served and 1 as clicked."""
_HASH_BYTES = 16
"""Bytes of a customer's hash that are stored."""
_RECORD = re.compile(rb"([0-9a-f]{32}) ([01]) ([01])")
"""A line of a day's file: a person's hash in hexadecimal digits, the index of their kind of list in
LISTS, and the index of an event in EVENTS."""
MOST_REMEMBERED_LINES = 200_000
"""Most lines of a day's file that a worker remembers, so as not to write them again: about 30 MB.
Then it forgets all of them."""
_SINCE = "since"
"""Name of the file that holds the first day of a comparison."""
_NORMAL_95 = 1.959964
"""Half width of a 95 % interval, in standard deviations."""
_LEAST_SERVED = 4.0
"""Rates are compared only if for each kind of list the noisy number of people served is above 0,
and at least this many standard deviations of its noise."""
_LEAST_EPSILON = 1e-6
"""Least epsilon of a day: one step of the ledger."""
_MOST_EPSILON = 1000.0
"""Most epsilon of a day. The variance of the noise, about exp(-epsilon / 2), stays a float."""

Counts = NDArray[np.int64]
"""Shape (4,): number of people for each of FIGURES."""


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
        refused="below 0.000001, above 1000",
    )
    lifetime: float = setting(
        "the epsilon of one person in the figures of all days; then no more is counted",
        5.0,
        unit="nats",
        refused="less than one day costs",
    )


@dataclass(frozen=True)
class Split(ServedThing):
    """A comparison of lists: some keys of a shop get personal lists, others popular items."""

    SETTINGS: ClassVar = SplitSettings

    tenant: str
    """Name of the service's tenant."""
    name: str
    """Name of the comparison."""
    settings: SplitSettings
    """Its lines of tacit.toml."""
    folder: Path
    """Folder of the files of its days."""
    _writer: _LineWriter = field(
        default_factory=lambda: _LineWriter(), init=False, compare=False, repr=False
    )
    """Writes the lines of days."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Make a comparison from its section of tacit.toml.

        When this is done for the first time, today is stored as the comparison's first day.

        Raises:
            ConfigError: A setting is wrong, the folder cannot be written, or its first day cannot
                be read.
        """
        settings = section.read_settings(SplitSettings)
        where = f"{TOML}: splits.{section.name}"
        if not _LEAST_EPSILON <= settings.epsilon <= _MOST_EPSILON:
            raise ConfigError(
                f"{where}.epsilon must be {_LEAST_EPSILON:g} to {_MOST_EPSILON:g}, such as 0.2; "
                f"got {settings.epsilon:g}. A larger one protects no one; with a smaller one the "
                "figures are noise alone."
            )
        if not settings.epsilon <= settings.lifetime < math.inf:
            raise ConfigError(f"{where}.lifetime must be finite, and at least epsilon.")
        folder = section.folder / FOLDER / section.name
        split = cls(section.tenant, section.name, settings, folder)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not (folder / _SINCE).exists():
                split._store_first_day()
        except OSError as error:
            raise ConfigError(f"{folder}: cannot be written ({error.strerror}).") from None
        except OutputError as error:
            raise ConfigError(str(error)) from None
        try:
            split._read_first_day()
        except OSError as error:
            raise ConfigError(f"{folder / _SINCE}: cannot be read ({error.strerror}).") from None
        except ValueError:
            raise ConfigError(
                f"{folder / _SINCE}: holds no day. Write the first day of the comparison there, "
                f"such as {today().isoformat()}; the figures of every day since then are released."
            ) from None
        return split

    def _store_first_day(self) -> None:
        """Store today as the first day, whole, unless another process has stored one by then."""
        draft = self.folder / f".{_SINCE}.{secrets.token_hex(8)}"
        write_whole(draft, today().isoformat().encode())
        try:
            (self.folder / _SINCE).hardlink_to(draft)
        except FileExistsError:
            pass
        finally:
            draft.unlink()

    def _read_first_day(self) -> date:
        """Read the comparison's first day; OSError or ValueError if its file is damaged."""
        return date.fromisoformat((self.folder / _SINCE).read_text().strip())

    @property
    def state_name(self) -> str:
        """Name of the ledger's state that holds the released figures."""
        return thing_state_name(FOLDER, self.tenant, self.name)

    @property
    def holder(self) -> Holder:
        """Holder of the budget that the days are charged to."""
        return Holder.dataset(self.tenant, f"{FOLDER}/{self.name}")

    @property
    def cost(self) -> Cost:
        """Cost of the figures of one day."""
        return Cost.pure(str(self.settings.epsilon))

    @property
    def cap(self) -> Cap:
        """Cap of the budget of all days."""
        return Cap.pure(str(self.settings.lifetime))

    @property
    def most_days(self) -> int:
        """Number of days that the lifetime covers."""
        return self.cap.amount // self.cost.amount

    def budgets(self) -> Iterable[tuple[Holder, Cap]]:
        """List the comparison's one budget."""
        return ((self.holder, self.cap),)

    def describe_releases(self) -> str:
        """Return what was released and cannot be recalled, for a person's receipt."""
        return (
            f"noisy counts of the people that lists of '{self.name}' were served to and who "
            f"clicked, each day at epsilon {format_upper_bound(self.settings.epsilon)}; the lines "
            "of a day are removed once its counts are released"
        )

    def check_named_things(self, addresses: Collection[str]) -> None:
        """Check that the model whose lists are compared is served.

        Without it, days would be charged although nobody is counted.

        Raises:
            ConfigError: No model of this name is served.
        """
        if f"models/{self.settings.model}" not in addresses:
            raise ConfigError(
                f"{TOML}: splits.{self.name}.model is {self.settings.model!r}, and there is no "
                f"[models.{self.settings.model}]: nobody would be counted. Name one that is served."
            )

    def check_stored_states(self, read_state: Callable[[str], bytes | None]) -> None:
        """Check that the setting epsilon is the same as for the days that were released.

        Raises:
            ConfigError: The setting was changed.
        """
        stored = read_state(self.state_name)
        if stored is None:
            return
        epsilon = json.loads(stored[SALT_BYTES:])["epsilon"]
        if epsilon != self.settings.epsilon:
            raise ConfigError(
                f"{TOML}: splits.{self.name}.epsilon was {epsilon} for the days that were "
                f"released. Put it back, or rename the section [splits.{self.name}]."
            )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the card of the daily figures."""
        epsilon, days = self.settings.epsilon, self.most_days
        card = Guarantee(
            name="Daily figures of a comparison of lists",
            sentence=(
                f"The figures of one day are {format_upper_bound(epsilon)}-differentially private "
                "for each person: whether lists were served to them, and whether they clicked."
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
                "a person has one customer id, and the service keeps its secret for the whole day",
                (
                    "every body is a JSON object, and no request is refused for its size or for "
                    "load (413, 429, 503): any other request counts for nobody in it, and all "
                    "people of one key share its rate, so one person with a very long history or "
                    "very many reloads could stop others from counting"
                ),
                "on one day a person counts once as served, once as clicked, in one kind of list",
                "a figure is released for every day since the comparison began",
                "the shop chooses the key for a person without regard to what people did",
            ),
            not_covered=(
                "the service and the shop, which know who asked and who clicked",
                "the file of a day, until its figures are released, and copies of it in backups",
                "figures of other comparisons: each has a budget of its own, and epsilons add up",
                "counters of lists and requests, which name no one and are exact",
                "a person under several customer ids",
                (
                    "what other people do because a request was refused: if lists for many people "
                    "are refused because of one of them, nobody gets one and can click on it"
                ),
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
        """Add a line for each of these people to the file of a day, unless it has the line.

        A line that this process wrote is not written again as long as it is remembered.

        Args:
            day: The day.
            customers: A keyed hash of each person, for this split and day, of 16 bytes or more.
            kind_of_list: Kind of the lists that they get: one of LISTS.
            event: What happened to them: one of EVENTS.
        """
        lines = encode_lines(customers, kind_of_list, event)
        self._writer.append(self.folder / day.isoformat(), lines)

    def due_days(self, released: Iterable[date]) -> list[date]:
        """List the days before today that are not released and that the budget covers, in order.

        Args:
            released: Days that were released.
        """
        released_days = set(released)
        due: list[date] = []
        day = self._read_first_day()
        while day < today() and len(released_days) + len(due) < self.most_days:
            if day not in released_days:
                due.append(day)
            day += timedelta(days=1)
        return due

    def is_counting(self, released: Iterable[date]) -> bool:
        """Say whether the budget covers today, in addition to all days that are released or due.

        Args:
            released: Days that were released.
        """
        return len(set(released)) + len(self.due_days(released)) < self.most_days

    def read_records(self, day: date) -> bytes:
        """Read a day's file; b"" where there is none. It is not protected: never release it."""
        path = self.folder / day.isoformat()
        return path.read_bytes() if path.is_file() else b""

    def count_with_noise(self, records: bytes) -> list[int]:
        """Count the people in the records of a day, and add noise: the figures may be released.

        Args:
            records: Content of the day's file.

        Returns:
            Number of people of each of FIGURES, with noise.
        """
        figures: list[int] = add_noise(count_day(records), self.settings.epsilon).tolist()
        return figures

    def forget_days(self, released: Iterable[date]) -> None:
        """Remove the files of days before today that were released or that no budget covers.

        Args:
            released: Days that were released.
        """
        due = self.due_days(released)
        for path in self.folder.iterdir():
            with suppress(ValueError):  # the name of another file is no day
                day = date.fromisoformat(path.name)
                if day < today() and day not in due:
                    path.unlink(missing_ok=True)


def today() -> date:
    """Return the present day in UTC, by the clock of this machine."""
    return datetime.now(UTC).date()


def encode_lines(customers: Sequence[bytes], kind_of_list: str, event: str) -> list[bytes]:
    """Encode lines of a day's file; the arguments are those of `Split.record_people`."""
    ending = f" {LISTS.index(kind_of_list)} {EVENTS.index(event)}\n".encode("ascii")
    return [customer[:_HASH_BYTES].hex().encode("ascii") + ending for customer in customers]


def join_lines(lines: Iterable[bytes]) -> bytes:
    """Join lines to the bytes that are appended to a day's file at once.

    They begin with an end of line. So a line that a full disk cut off before stays a line of its
    own, which is not counted, and does not damage the lines after it.
    """
    return b"\n" + b"".join(lines)


class _LineWriter:
    """Appends lines to the files of days, each line once as long as it is remembered."""

    def __init__(self) -> None:
        self._path: Path | None = None
        """The file that was written last."""
        self._lines: set[bytes] = set()
        """Lines that this process wrote to that file."""
        self._lock = threading.Lock()
        """Held while lines are written."""

    def append(self, path: Path, lines: Iterable[bytes]) -> None:
        """Append those lines to a file that are not remembered, and remember them.

        Args:
            path: File of a day, which is made if there is none.
            lines: Lines with their ends.
        """
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with self._lock:
            file = os.open(path, flags, 0o600)
            try:
                # An empty file is new, or the one that the lines are in was removed.
                if path != self._path or os.fstat(file).st_size == 0:
                    self._path = path
                    self._lines.clear()
                new_lines = [line for line in dict.fromkeys(lines) if line not in self._lines]
                if not new_lines:
                    return
                content = join_lines(new_lines)
                # A single write, so that workers do not mix their lines.
                is_whole = os.write(file, content) == len(content)
            finally:
                os.close(file)
            if len(self._lines) + len(new_lines) > MOST_REMEMBERED_LINES:
                self._lines.clear()
            if is_whole:
                self._lines.update(new_lines)


def count_day(records: bytes) -> Counts:
    """Count the people in the records of a day. Counts are not protected: never release them.

    A person counts in the kind of list of their first record; their records of the other kind are
    ignored. A person who clicked counts as served, too. So adding or removing one person changes at
    most two numbers, each by one.

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

    The epsilon that is charged is the shortest decimal number that is read as the float. The scale
    is for that number, since the float itself may be a little larger.

    Args:
        epsilon: Epsilon of one person in the figures of one day, in nats.
    """
    return float_above(MOST_OF_A_PERSON / Fraction(str(epsilon)))


def noise_variance(epsilon: float) -> float:
    """Compute the variance of the noise of one figure.

    With r = exp(-1 / scale) the variance of discrete Laplace noise is 2 r / (1 - r)^2.

    Args:
        epsilon: Epsilon of one person in the figures of one day, in nats.
    """
    ratio = math.exp(-1 / noise_scale(epsilon))
    return 2 * ratio / (1 - ratio) ** 2


def add_noise(counts: Counts, epsilon: float) -> Counts:
    """Add discrete Laplace noise to the counts of a day: the result may be released.

    Args:
        counts: Shape (4,): people of each of FIGURES. They are not protected.
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
    """Encode released figures as they are stored, with the epsilon that each day costs."""
    rows = [[figures.day.isoformat(), list(figures.figures)] for figures in days]
    return json.dumps({"epsilon": epsilon, "days": rows}).encode()


def decode_days(stored: bytes | None) -> tuple[DayFigures, ...]:
    """Decode what `encode_days` returned; () where nothing is stored."""
    if stored is None:
        return ()
    rows = json.loads(stored)["days"]
    return tuple(DayFigures(date.fromisoformat(day), tuple(figures)) for day, figures in rows)


@dataclass(frozen=True)
class Comparison:
    """Rates of clicks and their difference, computed from the released figures of all days.

    Rates, difference and interval are None where noise is too large for a comparison.
    """

    days: int
    """Number of days."""
    totals: tuple[int, ...]
    """Sum over the days of each of FIGURES."""
    rates: tuple[float, float] | None
    """Share of the people served who clicked, for each of LISTS."""
    difference: float | None
    """Rate of personal lists minus that of popular items."""
    low: float | None
    """Lower end of the difference's 95 % interval, which covers noise and sampling."""
    high: float | None
    """Upper end of that interval."""


def compare(days: Sequence[DayFigures], epsilon: float) -> Comparison:
    """Compare the rates of clicks of both kinds of lists.

    For one kind of list let s be the number of people served and c the number of people who
    clicked, both summed over all days; p = c / s, limited to 0 to 1; and V the variance of the
    noise in s.
    The variance of p is about p (1 - p) / s + V (1 + p^2) / s^2. A person who returns on another
    day counts again; days are assumed to be independent.

    Args:
        days: Released figures of all days.
        epsilon: Epsilon of each day.
    """
    figures = np.array([day_figures.figures for day_figures in days], dtype=np.int64)
    # Shape (kinds of lists, events): sums over the days.
    totals = figures.reshape(-1, len(LISTS), len(EVENTS)).sum(axis=0)
    flat_totals = tuple(totals.ravel().tolist())
    variance_of_sum = len(days) * noise_variance(epsilon)
    served = totals[:, EVENTS.index("served")].astype(float)
    clicked = totals[:, EVENTS.index("clicked")].astype(float)
    least_served = _LEAST_SERVED * math.sqrt(variance_of_sum)
    if not days or served.min() <= 0 or served.min() < least_served:
        return Comparison(len(days), flat_totals, None, None, None, None)
    rates = np.clip(clicked / served, 0.0, 1.0)
    variances = rates * (1 - rates) / served + variance_of_sum * (1 + rates**2) / served**2
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
