"""Things that can be served, and the sections of tacit.toml that they are made from.

A section is [NOUN.NAME], where NOUN is the word for a kind of thing, such as models. The class of
this kind, a `ServedThing`, reads it. Files are named relative to the service's folder, and are
inside it.
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
    """Name of the service's tenant."""
    name: str
    """Name of the thing, which is a part of addresses."""
    folder: Path
    """The service's folder."""
    values: Mapping[str, Any]
    """The values of the table's lines, by key."""

    def read_settings(self, settings: type[SettingsClass]) -> SettingsClass:
        """Read the table as an instance of a class of settings.

        Raises:
            ConfigError: A setting is unknown, missing, of another type, or a whole number below 0.
        """
        return read_table(settings, self.name, self.values)

    def text(self, key: str) -> str:
        """Return the value of a line that is a text.

        Raises:
            ConfigError: The line is missing, or its value is no text.
        """
        value = self.values.get(key)
        if not isinstance(value, str):
            raise ConfigError(f"{TOML}: {self.name}.{key} is missing or is no text.")
        return value

    def file_path(self, key: str) -> Path:
        """Return the absolute path of the file that a line names.

        Raises:
            ConfigError: The line is missing, there is no such file, or it is outside of the folder,
                also by a link or `..`.
        """
        path = (self.folder / self.text(key)).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ConfigError(f"{TOML}: {self.name}.{key} lies outside of the folder.")
        if not path.is_file():
            raise ConfigError(f"{TOML}: {self.name}.{key} names no file in the folder.")
        return path


@dataclass(frozen=True)
class PersonalState:
    """A state of the ledger that may hold something about one person."""

    state_name: str
    """Name of the state within the tenant."""
    description: str
    """What is erased from it, in words, for the person's receipt."""
    erase: Callable[[Source, bytes | None], bytes | None]
    """Function of a source of randomness and the stored state (None: nothing is stored) that
    returns the state without the person (None: the state is not changed)."""


class ServedThing:
    """Something that is served under a name: a model, a campaign, a vendor.

    A thing stores what it knows about people in states of the ledger. The states and budgets that
    it lists for a person do not depend on whether anything about them is stored: the receipt of a
    person who is forgotten names these, is stored for ever, and must not reveal what was forgotten.
    """

    SETTINGS: ClassVar[type[Any]]
    """The class of the settings that its section may have."""

    @classmethod
    def from_section(cls, section: Section) -> Self:
        """Make a thing from its section of tacit.toml.

        Raises:
            ConfigError: The thing cannot be served.
        """
        raise NotImplementedError

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee cards of the thing: one for each group of people concerned."""
        raise NotImplementedError

    def fit_count(self) -> FitCount | None:
        """Return how many fits were made to the data of the same people, and how many are left.

        None, the default: fits are not counted.
        """
        return None

    @property
    def date_made(self) -> date:
        """The day, in UTC, on which the thing was made; by default today."""
        return datetime.now(UTC).date()

    def budgets(self) -> Iterable[tuple[Holder, Cap]]:
        """List the budgets of data sets that the thing spends from; none by default."""
        return ()

    def largest_bodies(self) -> Mapping[str, int]:
        """Return the most bytes of a body, by path, for paths whose limit is above `most_body`."""
        return {}

    def personal_holders(self, user: str) -> Iterable[Holder]:
        """List the holders of the budgets that one person alone pays from; none by default."""
        return ()

    def personal_states(self, user: str) -> Iterable[PersonalState]:
        """List the states that may hold something about a person; none by default."""
        return ()

    def describe_releases(self) -> str | None:
        """Return what was released and cannot be recalled, for receipts; None: nothing was."""
        return None

    def check_named_things(self, addresses: Collection[str]) -> None:
        """Check that the other things that the thing's section names are served, too.

        Args:
            addresses: Addresses of everything that is served, such as "models/films".

        Raises:
            ConfigError: Its section names something that is not served.
        """

    def continue_stored(self, read_state: Callable[[str], bytes | None]) -> Self:
        """Return the thing as it goes on from its stored states; by default it is unchanged.

        This is called before budgets are opened, so that what another version of tacit began keeps
        its own cards and budget.

        Args:
            read_state: Returns the bytes of a state by its name within the tenant; None where
                nothing is stored.

        Raises:
            ConfigError: The stored states cannot be continued.
        """
        return self

    def check_balances(self, balances: Iterable[Balance]) -> None:
        """Check that the budgets of people are those that the thing's guarantee cards state.

        Args:
            balances: All balances of the ledger.

        Raises:
            ConfigError: A budget was opened with other settings.
        """

    def check_stored_states(self, read_state: Callable[[str], bytes | None]) -> None:
        """Check that the thing's present settings fit the states that are stored.

        Args:
            read_state: Returns the bytes of a state by its name within the tenant; None where
                nothing is stored.

        Raises:
            ConfigError: The settings do not fit.
        """
