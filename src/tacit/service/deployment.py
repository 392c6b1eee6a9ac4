"""The deployment: everything that is served, read from tacit.toml before the first request.

A thing has a noun, which is the word for its kind, and a name. Its address has both, such as
"models/films".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

from tacit.errors import ConfigError
from tacit.privacy import Guarantee, sort_refuted_first
from tacit.service.keys import NAME
from tacit.service.served_things import Section, ServedThing
from tacit.service.setting_tables import TOML, read_toml
from tacit.service.settings import SECTION

Thing = TypeVar("Thing", bound=ServedThing)
Kinds = Mapping[str, Callable[[], type[ServedThing]]]
"""For each noun, such as "models": a function that loads the class of the things of this noun."""


@dataclass(frozen=True)
class Deployment:
    """Everything that one service serves."""

    tenant: str
    """Name of the organisation whose keys, people and budgets these are."""
    served: dict[str, ServedThing]
    """The things that are served, by address."""
    sections: Mapping[str, Section]
    """The section of tacit.toml that each thing was made from, by address."""

    @classmethod
    def read(cls, folder: Path, kinds: Kinds) -> Self:
        """Read the folder's tacit.toml and make everything that it names.

        Args:
            folder: The service's folder.
            kinds: For each noun that a section may have, such as "models", the function that loads
                its class.

        Raises:
            ConfigError: The file is missing or wrong, or a thing that it names cannot be served.
        """
        tenant = read_tenant(folder)
        served: dict[str, ServedThing] = {}
        sections: dict[str, Section] = {}
        for address, kind, section in _read_sections(folder, tenant, kinds):
            served[address] = kind.from_section(section)
            sections[address] = section
        for thing in served.values():
            thing.check_named_things(served.keys())
        deployment = cls(tenant, served, sections)
        _ = deployment.cards  # made and cached now, not when the first request needs them
        return deployment

    def replace(self, address: str, thing: ServedThing) -> None:
        """Serve another thing under an address.

        Requests that have found the old thing go on with it.
        """
        self.cards[address] = sort_refuted_first(thing.guarantees())
        self.largest_bodies.update(thing.largest_bodies())
        self.served[address] = thing

    def find(self, kind: type[Thing], name: str) -> Thing | None:
        """Find the thing of one class that is served under a name; None where there is none."""
        for address, thing in self.served.items():
            if isinstance(thing, kind) and address.partition("/")[2] == name:
                return thing
        return None

    def find_all(self, kind: type[Thing]) -> dict[str, Thing]:
        """Find the things of one class, by name."""
        things = {}
        for address, thing in self.served.items():
            if isinstance(thing, kind):
                _, _, name = address.partition("/")
                things[name] = thing
        return things

    @cached_property
    def cards(self) -> dict[str, tuple[Guarantee, ...]]:
        """The guarantee cards of each thing, by address; cards of refuted claims first."""
        cards = {}
        for address, thing in self.served.items():
            cards[address] = sort_refuted_first(thing.guarantees())
        return cards

    @cached_property
    def largest_bodies(self) -> dict[str, int]:
        """The most bytes of a request's body, for each path with a limit of its own."""
        sizes: dict[str, int] = {}
        for thing in self.served.values():
            sizes.update(thing.largest_bodies())
        return sizes


def read_tenant(folder: Path) -> str:
    """Read from a folder's tacit.toml the name of the tenant, the organisation that serves.

    Raises:
        ConfigError: The file is missing, or it names no tenant, or the name is malformed.
    """
    tenant = read_toml(folder).get("tenant")
    if not isinstance(tenant, str) or not NAME.fullmatch(tenant):
        raise ConfigError(
            f'{folder / TOML}: names no valid tenant, as in  tenant = "shop"  (1 to 64 of a-z, '
            "0-9, _ and -, and a letter or a digit first)."
        )
    return tenant


def _read_sections(
    folder: Path, tenant: str, kinds: Kinds
) -> Iterator[tuple[str, type[ServedThing], Section]]:
    """Yield the address, the class and the section of each thing that tacit.toml names.

    Raises:
        ConfigError: A noun is unknown, or a section is malformed.
    """
    path = folder / TOML
    for noun, tables in read_toml(folder).items():
        if noun in ("tenant", SECTION):
            continue
        if noun not in kinds or not isinstance(tables, dict):
            sections = ", ".join((*kinds, SECTION))
            raise ConfigError(f"{path}: '{noun}' is no section. There are: {sections}.")
        kind = kinds[noun]()
        for name, values in _read_named_tables(path, noun, tables):
            yield f"{noun}/{name}", kind, Section(tenant, name, folder, values)


def _read_named_tables(
    path: Path, noun: str, tables: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the values of each table of one noun.

    Args:
        path: The file, for errors.
        noun: The noun.
        tables: The tables by name, as TOML has them.

    Raises:
        ConfigError: A name is malformed, or a value is in no table [NOUN.NAME].
    """
    for name, values in tables.items():
        if not isinstance(values, dict):
            raise ConfigError(f"{path}: put '{name}' into a table [{noun}.NAME].")
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{path}: a name in [{noun}.NAME] is of a-z, 0-9, _ and -, has 64 characters at "
                "most, and begins with a letter or a digit."
            )
        yield name, values
