"""How a service runs: files, address and limits. What it serves stands in its folder's tacit.toml.

A setting comes from the command's flag, or else from the environment (TACIT_PER_SECOND), or else
from the section [service] of tacit.toml, or else it has its default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, TypeVar, get_args, get_origin, get_type_hints

from tacit.errors import ConfigError
from tacit.ledger.addresses import parse_address

FILE = "tacit.toml"
SECTION = "service"
PREFIX = "TACIT_"
PINNED = "TACIT_PINNED"
"""In the environment of a service's workers: a folder with tacit.toml as it was at the start. One
that takes another's place goes on with it, whatever was edited since."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_SWITCH = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def setting(
    meaning: str,
    default: Any = MISSING,
    *,
    unit: str = "",
    above: float | None = None,
    refused: str = "",
    default_text: str = "",
    table: type[Any] | None = None,
) -> Any:
    """A field that stands in tacit.toml, with its line in docs/settings.md.

    unit: of a number. above: it has to be larger. refused: what else is, in words. default_text:
    the default in words, where the field's is None. table: the class of the tables below it.
    """
    described = {"meaning": meaning, "unit": unit, "above": above, "refused": refused}
    shown = {"default_text": default_text, "table": table}
    return field(default=default, metadata=described | shown)


@dataclass(frozen=True)
class Settings:
    """Everything that is the operator's to choose.

    folder: holds tacit.toml, and by default the keys, the secret and the ledger.
    """

    folder: Path
    database: str | None = setting(
        "the ledger: a file, or `postgresql://HOST/DATABASE`",
        None,
        default_text="`budgets.db` in the folder",
    )
    second: str | None = setting(
        "the second place of the ledger's head: a file, or `postgresql://HOST/DATABASE`",
        None,
        default_text="`budgets.db.head` beside the ledger",
        refused="none for PostgreSQL",
    )
    host: str = setting("where to listen", "127.0.0.1", refused="an address of another machine")
    port: int = setting(
        "where to listen; 0 takes any that is free",
        8000,
        refused="below 0, above 65,535, or taken",
    )
    workers: int = setting(
        "processes that answer; each loads what is served. More than one need PostgreSQL",
        1,
        unit="processes",
        above=0,
    )
    behind_tls: bool = setting(
        "a proxy on this machine terminates TLS, and its header `X-Forwarded-For` is trusted", False
    )
    visitors: bool = setting(
        "anyone may create a person's key; if each name gets a budget, `tacit serve` warns",
        False,
        default_text="`false`; `true` with `--demo`",
    )
    visitors_per_hour: int = setting(
        "new names that one address (of IPv6: one /64) may take; full when a worker starts",
        100,
        unit="names an hour",
        above=0,
    )
    changes_per_day: int = setting(
        "changes of one person that are stored for ever and cost no budget: votes, ratings, "
        "letters. Retries are not counted; deletions have their own count",
        2000,
        unit="changes a day",
        above=0,
    )
    most_body: int = setting(
        "the largest request; a larger one gets 413", 64 * 1024, unit="bytes", above=0
    )
    per_second: float = setting(
        "requests of one key, or of one address without a key, in each worker; more get 429",
        100.0,
        unit="requests a second",
        above=0,
    )
    burst: int = setting("how many of them may come at once", 200, unit="requests", above=0)
    most_waiting: int = setting(
        "requests that one worker has in hand; more get 503", 512, unit="requests", above=0
    )
    answer_within: float = setting(
        "the time after which a response is abandoned with 503; the ledger waits for five sixths "
        "of it",
        3.0,
        unit="seconds",
        above=0,
    )
    threads: int = setting("threads that answer, in each worker", 64, unit="threads", above=0)
    grid: float = setting(
        "responses start at multiples of it after their request, so that shorter differences of "
        "computing time do not show; 0 is at once",
        0.0,
        unit="seconds",
        refused="below 0, or not below `answer_within`",
    )

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise ConfigError(f"{self.folder}: is no folder. `tacit serve --demo` needs none.")
        for one in fields(self):
            above = one.metadata.get("above")
            if above is not None and not getattr(self, one.name) > above:
                raise ConfigError(f"The setting {one.name} is above {above}.")
        if not 0 <= self.grid < self.answer_within:
            raise ConfigError("The setting grid is from 0 to below answer_within.")
        if not 0 <= self.port < 65536:
            raise ConfigError("The setting port is from 0 to 65535.")
        if self.workers > 1 and self.store is not None:
            raise ConfigError(
                "Several workers need a ledger in PostgreSQL, because a ledger in a file has one "
                "writer. Name one with --database postgresql://HOST/DATABASE, or take --workers 1."
            )

    @classmethod
    def gather(cls, folder: Path, given: Mapping[str, Any], environment: Mapping[str, str]) -> Self:
        """From flags (`given`; None is not given), the environment, tacit.toml and defaults.
        ConfigError for a value of the wrong kind or a setting that does not exist."""
        flags = {name: value for name, value in given.items() if value is not None}
        if not folder.is_dir():
            return cls(folder)
        return cls(folder, **{**_in_file(folder), **_in_environment(environment), **flags})

    @property
    def ledger(self) -> str:
        """Where the ledger is."""
        return self.database or str(self.folder / "budgets.db")

    @property
    def store(self) -> Path | None:
        """The ledger's file, which one process owns; None where it is in a server."""
        return parse_address(self.ledger)[1]

    @property
    def keys(self) -> Path:
        """The file of staff's and vendors' keys."""
        return self.folder / "keys.json"

    @property
    def secret(self) -> Path:
        """The service's own secret: people's keys hang on it. All workers share it."""
        return self.folder / "service.secret"

    @property
    def open_to_others(self) -> bool:
        """Whether keys would travel in the clear beyond this machine."""
        return self.host not in LOOPBACK and not self.behind_tls


def kinds_of(settings: type[Any]) -> dict[str, type]:
    """The kind of each line of a class of settings, by name; an optional one's without None."""
    hints = get_type_hints(settings)
    kinds = {}
    for one in fields(settings):
        if "meaning" in one.metadata:
            parts = (hints[one.name], *get_args(hints[one.name]))
            origins = (get_origin(part) or part for part in parts)
            kinds[one.name] = next(kind for kind in origins if kind in _WRONG)
    return kinds


_WRONG = {
    str: "no text",
    bool: "not true or false",
    float: "no number",
    int: "no whole number",
    list: "no list",
    dict: "no table",
}
_KINDS = kinds_of(Settings)

T = TypeVar("T")


def read(settings: type[T], where: str, values: Mapping[str, Any]) -> T:
    """A table of tacit.toml as its class of settings. ConfigError for a setting that does not
    exist, one that is missing, and a value of another kind."""
    needed = [one.name for one in fields(settings) if one.default is MISSING]  # type: ignore[arg-type]
    return settings(**_checked(settings, where, {**dict.fromkeys(needed), **values}))


def _checked(settings: type[Any], where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    kinds = kinds_of(settings)
    if unknown := sorted(set(values) - set(kinds)):
        raise ConfigError(
            f"{FILE}: {where} has no setting '{unknown[0]}'. There are: {', '.join(sorted(kinds))}."
        )
    checked = {}
    for name, value in values.items():
        kind = kinds[name]
        checked[name] = float(value) if kind is float and type(value) is int else value
        if type(checked[name]) is not kind or (isinstance(value, int) and value < 0):
            raise ConfigError(f"{FILE}: {where}.{name} is missing or is {_WRONG[kind]}.")
    return checked


def content_of(folder: Path) -> dict[str, Any]:
    """The folder's tacit.toml; ConfigError in a sentence where there is none."""
    path = Path(os.environ.get(PINNED, folder)) / FILE
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: is missing. It says what is served;  tacit serve --demo {folder.name}-demo  "
            "writes one to start from."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: is not TOML ({error}).") from None


def _in_file(folder: Path) -> dict[str, Any]:
    section = content_of(folder).get(SECTION, {})
    if not isinstance(section, dict):
        raise ConfigError(f"{FILE}: [{SECTION}] is a section of settings.")
    values = _checked(Settings, SECTION, section)
    for name in ("database", "second"):
        if "://" not in values.get(name, "://"):
            values[name] = str(folder / values[name])
    return values


def _in_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, kind in _KINDS.items():
        text = environment.get(PREFIX + name.upper())
        if text is None:
            continue
        try:
            values[name] = _SWITCH[text.lower()] if kind is bool else kind(text)
        except (KeyError, ValueError):
            raise ConfigError(
                f"{PREFIX}{name.upper()} in the environment is {_WRONG[kind]}."
            ) from None
    return values
