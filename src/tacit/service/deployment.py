"""What is served: read once from the folder's tacit.toml, checked before anybody is answered.

Each section is read by the class of its noun: `SETTINGS` is its class of settings,
`from_section(section)` makes it, `budgets()` gives the budgets of data sets that it spends from,
and `guarantees()` its cards. A name stands in an address, so it is short and plain; a file is named
relative to the folder and lies in it.

A served thing keeps what it knows of people in kept states of the ledger. It may offer
`forget(user) -> Iterable[Kept]`, which names them, also of a person it never heard of; `DELETE
/api/users/{user}` then takes them out of each, one transaction after the other, and gives a
receipt. It may say what cannot be taken back, `released() -> str`, and which budgets are theirs
alone, `holders(user) -> Iterable[Holder]`. Everything reported here is the same whether there is
anything of them or not: receipts are stored for ever, and must not say what they forgot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Self, TypeVar

from tacit.design import served_sections
from tacit.errors import ConfigError
from tacit.ledger import CapChanged, Ledger, open_ledger
from tacit.privacy import Guarantee, sort_refuted_first
from tacit.service.commits import Commits
from tacit.service.keys import NAME, KeyRing, read_secret
from tacit.service.limits import Limits, Newcomers
from tacit.service.settings import FILE, SECTION, Settings, content_of, read

S = TypeVar("S")


@dataclass(frozen=True)
class Section:
    """One table of the file, with where it stands: what a noun's class is made from."""

    tenant: str
    name: str
    folder: Path
    values: Mapping[str, Any]

    def read(self, settings: type[S]) -> S:
        """The table as its class of settings; ConfigError for what it does not have."""
        return read(settings, self.name, self.values)

    def text(self, key: str) -> str:
        """A text; ConfigError says which is missing."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise ConfigError(f"{FILE}: {self.name}.{key} is missing or is no text.")
        return value

    def file(self, key: str) -> Path:
        """A file inside the folder; no link or `..` leads out of it."""
        path = (self.folder / self.text(key)).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ConfigError(f"{FILE}: {self.name}.{key} lies outside of the folder.")
        if not path.is_file():
            raise ConfigError(f"{FILE}: {self.name}.{key} names no file in the folder.")
        return path


MODELS = "models"
"""The section of fitted models, whatever their design. The others are those of designs."""


@dataclass(frozen=True)
class Deployment:
    """Everything that is served. tenant: whose keys, people and budgets these are. served: by noun
    and name, such as "models/films"."""

    tenant: str
    served: Mapping[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The folder's tacit.toml; ConfigError in a sentence for whatever is wrong in it."""
        made = cls(tenant_of(folder), dict(_read(folder, tenant_of(folder))))
        _ = made.cards  # made now, not on the loop while others wait
        return made

    def all(self, kind: type[S]) -> dict[str, S]:
        served = self.served.items()
        return {at.partition("/")[2]: thing for at, thing in served if isinstance(thing, kind)}

    @cached_property
    def cards(self) -> dict[str, tuple[Guarantee, ...]]:
        """Of everything that is served. They stay as they are while it is served."""
        return {at: sort_refuted_first(thing.guarantees()) for at, thing in self.served.items()}


def tenant_of(folder: Path) -> str:
    """Whose folder it is; ConfigError if its tacit.toml does not say."""
    tenant = content_of(folder).get("tenant")
    if not isinstance(tenant, str) or not NAME.fullmatch(tenant):
        raise ConfigError(
            f'{folder / FILE}: names no tenant. Its first line:  tenant = "shop"  (a-z, 0-9, _, -).'
        )
    return tenant


def charged_by_name(folder: Path) -> tuple[str, ...]:
    """What a folder's tacit.toml serves that counts names, by noun and name; nothing is loaded,
    and nothing is checked."""
    content = content_of(folder)
    sections = {
        noun: content.get(noun) for noun, (_, one) in served_sections().items() if one.counts_names
    }
    tables = ((noun, table) for noun, table in sections.items() if isinstance(table, dict))
    return tuple(f"{noun}/{name}" for noun, table in tables for name in table)


def _read(folder: Path, tenant: str) -> Iterator[tuple[str, Any]]:
    path, known = folder / FILE, (MODELS, *served_sections())
    for noun, tables in content_of(folder).items():
        if noun in ("tenant", SECTION):
            continue
        if noun not in known or not isinstance(tables, dict):
            raise ConfigError(f"{path}: '{noun}' is no section. There are: {', '.join(known)}.")
        if noun == MODELS:
            kind = import_module("tacit.service.models").ServedModel
        else:
            owner, one = served_sections()[noun]
            kind = owner.load(one.kind)
        for name, values in tables.items():
            if not NAME.fullmatch(name) or not isinstance(values, dict):
                raise ConfigError(f"{path}: a name in [{noun}.NAME] is of a-z, 0-9, _ and -.")
            yield f"{noun}/{name}", kind.from_section(Section(tenant, name, folder, values))


@dataclass(frozen=True)
class Service:
    """What every resource needs. commits: changes of the ledger, as requests make them.

    newcomers: names that visitors take. changes: of people, stored without being charged.
    """

    settings: Settings
    deployment: Deployment
    keys: KeyRing
    ledger: Ledger
    newcomers: Newcomers
    changes: Limits
    commits: Commits

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Read the folder, open the ledger and the budgets of what is served; or ConfigError."""
        deployment = Deployment.read(settings.folder)
        keys = KeyRing(settings.keys, read_secret(settings.secret), deployment.tenant)
        newcomers = Newcomers(settings.visitors_per_hour)
        changes = Limits.daily(settings.changes_per_day)
        patience = settings.answer_within * 5 / 6  # so that a refusal is in time
        ledger = open_ledger(settings.ledger, second=settings.second, patience=patience)
        try:
            served = deployment.served.values()
            for holder, cap in (one for thing in served for one in thing.budgets()):
                try:
                    ledger.open_budget(holder, cap)
                except CapChanged:
                    raise ConfigError(
                        f"{FILE}: the budget of {holder.name} was opened with another epsilon or "
                        "delta than its settings give now, and a budget is for life. Put them "
                        "back, or take another name."
                    ) from None
            for thing in served:
                if hasattr(thing, "check_opened"):  # people's budgets are what its cards say
                    thing.check_opened(ledger.balances())
                if hasattr(thing, "check_kept"):  # it goes on under settings that still hold
                    thing.check_kept(lambda name: ledger.state(f"{deployment.tenant}/{name}"))
        except BaseException:
            ledger.close()
            raise
        return cls(settings, deployment, keys, ledger, newcomers, changes, Commits(ledger))

    def close(self) -> None:
        self.commits.close()
        self.ledger.close()
