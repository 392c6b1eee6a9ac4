"""Things that can be served, and the sections of tacit.toml that they are made from.

Each section is read by the class of its noun, a `ServedThing`. Its name is a part of addresses, so
it is short and plain. Files are named relative to the service's folder and lie in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from tacit.errors import ConfigError
from tacit.ledger import Balance, Cap, Holder
from tacit.privacy import Guarantee
from tacit.privacy.officer_card import FitCount
from tacit.randomness import Source
from tacit.service.setting_tables import TOML, read_table

SettingsClass = TypeVar("SettingsClass")


@dataclass(frozen=True)
class Section:
    """One table of tacit.toml, from which one thing that is served is made."""

    tenant: str
    """Whose service it is."""
    name: str
    """The table's name, which is a part of addresses."""
    folder: Path
    """The service's folder."""
    values: Mapping[str, Any]
    """The table's lines."""

    def read_settings(self, settings: type[SettingsClass]) -> SettingsClass:
        """Read the table as its class of settings.

        Raises:
            ConfigError: A setting is unknown, missing, or of another type.
        """
        return read_table(settings, self.name, self.values)

    def text(self, key: str) -> str:
        """Return the text of one line.

        Raises:
            ConfigError: The line is missing, or is no text.
        """
        value = self.values.get(key)
        if not isinstance(value, str):
            raise ConfigError(f"{TOML}: {self.name}.{key} is missing or is no text.")
        return value

    def file_path(self, key: str) -> Path:
        """Return the path of the file that a line names, inside the folder.

        Raises:
            ConfigError: There is no such file, or a link or `..` leads out of the folder.
        """
        path = (self.folder / self.text(key)).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ConfigError(f"{TOML}: {self.name}.{key} lies outside of the folder.")
        if not path.is_file():
            raise ConfigError(f"{TOML}: {self.name}.{key} names no file in the folder.")
        return path


@dataclass(frozen=True)
class PersonalState:
    """A state of the ledger in which a thing stores something about one person."""

    state_name: str
    """Name of the state within the tenant."""
    description: str
    """What is erased with it, for the person's receipt."""
    erase: Callable[[Source, bytes | None], bytes | None]
    """Function of a source of randomness and the state that returns the state without the person;
    None: the state is not changed."""


class ServedThing:
    """Something that is served under a name: a model, a campaign, a vendor.

    It stores what it knows about people in states of the ledger. The states and budgets that it
    lists for a person do not depend on whether anything about them is stored: they stand in
    receipts, which are stored for ever and must not reveal what was forgotten.
    """

    SETTINGS: ClassVar[type[Any]]
    """Class of settings of its section."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Make it from its section of tacit.toml.

        Raises:
            ConfigError: It cannot be served; the sentence says why.
        """
        raise NotImplementedError

    def guarantees(self) -> tuple[Guarantee, ...]:
        """List the guarantee cards: one for each group of people."""
        raise NotImplementedError

    def fit_count(self) -> FitCount | None:
        """Count the fits of the people that it was trained on; None where fits are not counted."""
        return None

    @property
    def date_made(self) -> date:
        """The day on which it was made; by default today."""
        return datetime.now(UTC).date()

    def budgets(self) -> Iterable[tuple[Holder, Cap]]:
        """List the budgets of data sets that it spends from; none by default."""
        return ()

    def largest_bodies(self) -> Mapping[str, int]:
        """Return the most bytes of a body for addresses with a limit above `most_body`."""
        return {}

    def personal_holders(self, user: str) -> Iterable[Holder]:
        """List the budgets that are one person's alone; none by default."""
        return ()

    def personal_states(self, user: str) -> Iterable[PersonalState]:
        """List the states that may hold a person, known or not; none by default."""
        return ()

    def describe_releases(self) -> str | None:
        """Say in a person's receipt what was released and cannot be recalled; None: nothing."""
        return None

    def check_neighbours(self, addresses: Collection[str]) -> None:
        """Check that the other things that its section names are served, too.

        Args:
            addresses: Everything that is served, such as "models/films".

        Raises:
            ConfigError: Its section names something that is not served.
        """

    def check_balances(self, balances: Iterable[Balance]) -> None:
        """Check that the budgets of people are those that its guarantee cards state.

        Raises:
            ConfigError: A budget was opened with other settings.
        """

    def check_stored_states(self, read_state: Callable[[str], bytes | None]) -> None:
        """Check that its settings of now fit the states that are stored.

        Args:
            read_state: Returns the bytes of a state by its name within the tenant.

        Raises:
            ConfigError: They do not fit.
        """
