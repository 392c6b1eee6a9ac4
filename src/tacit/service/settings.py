"""How a service runs: its files, its address and its limits.

A setting is taken from the command's flag (--per-second), or else from the environment
(TACIT_PER_SECOND), or else from the section [service] of tacit.toml; otherwise it has its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from tacit.errors import ConfigError
from tacit.ledger.addresses import parse_address
from tacit.service.setting_tables import (
    NOT_OF_TYPE,
    TOML,
    check_table,
    read_toml,
    setting,
    setting_types,
)

SECTION = "service"
"""Section of tacit.toml that has these settings."""
ENVIRONMENT_PREFIX = "TACIT_"
"""First characters of the environment variables that have these settings."""
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Names by which a machine reaches itself, and no other machine."""
_BOOLEANS = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}
"""Spellings of true and false in environment variables."""


@dataclass(frozen=True)
class Settings:
    """The operator's choices: how a service runs."""

    folder: Path
    """Folder with tacit.toml, the keys and the secret, and by default the ledger."""
    database: str | None = setting(
        "the ledger: a file, or `postgresql://HOST/DATABASE`",
        None,
        default_text="`budgets.db` in the folder",
    )
    second: str | None = setting(
        "where a copy of the ledger's latest hash is kept: a file, or `postgresql://HOST/DATABASE`",
        None,
        default_text="`budgets.db.head` beside the ledger",
        refused="none for PostgreSQL",
    )
    host: str = setting("where to listen", "127.0.0.1", refused="an address of another machine")
    hosts: str | None = setting(
        "names of this service in the header `Host`, without ports, divided by commas; `*` is any. "
        "A request for another name gets 400, so that no foreign web page reaches the service "
        "through a name that it points here",
        None,
        default_text="`localhost` and its addresses; any with `behind_tls` or another `host`",
    )
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
        "letters. As many may be made at once in each worker, and as many return in a day, so that "
        "one day may have up to twice as many in each worker. Retries are not counted; deletions "
        "have their own count",
        2000,
        unit="changes a day",
        above=0,
    )
    most_body: int = setting(
        "the largest request, except for letters, which may show every item; a larger one gets 413",
        64 * 1024,
        unit="bytes",
        above=0,
    )
    per_second: float = setting(
        "requests of one key, or of one address without a key, in each worker; more get 429",
        100.0,
        unit="requests a second",
        above=0,
    )
    burst: int = setting(
        "requests of one key or address that may come at once", 200, unit="requests", above=0
    )
    most_waiting: int = setting(
        "requests of one worker that wait for a thread; more get 503", 512, unit="requests", above=0
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
        values = asdict(self)
        for setting_field in fields(self):
            above = setting_field.metadata.get("above")
            if above is not None and not values[setting_field.name] > above:
                raise ConfigError(f"The setting {setting_field.name} must be above {above}.")
        if not 0 <= self.grid < self.answer_within:
            raise ConfigError("The setting grid must be at least 0 and below answer_within.")
        if not 0 <= self.port < 65536:
            raise ConfigError("The setting port must be from 0 to 65535.")
        if self.workers > 1 and self.ledger_file is not None:
            raise ConfigError(
                "Several workers need a ledger in PostgreSQL, because a ledger in a file has one "
                "writer. Name one with --database postgresql://HOST/DATABASE, or take --workers 1."
            )

    @classmethod
    def gather(cls, folder: Path, flags: Mapping[str, Any], environment: Mapping[str, str]) -> Self:
        """Take each setting from its flag, or else the environment, tacit.toml or its default.

        Args:
            folder: The service's folder.
            flags: Settings by name; None where a flag was left out.
            environment: Environment variables by name.

        Raises:
            ConfigError: There is no such folder; or a setting is unknown, of another type, or
                refused.
        """
        if not folder.is_dir():
            return cls(folder)  # raises the error of a folder that does not exist
        settings = _read_service_section(folder)
        settings.update(_read_environment(environment))
        for name, value in flags.items():
            if value is not None:
                settings[name] = value
        return cls(folder, **settings)

    @property
    def ledger(self) -> str:
        """Path of the ledger's file, or address of its database."""
        return self.database or str(self.folder / "budgets.db")

    @property
    def ledger_file(self) -> Path | None:
        """The ledger's file; None where the ledger is in PostgreSQL."""
        return parse_address(self.ledger)[1]

    @property
    def known_hosts(self) -> frozenset[str] | None:
        """Names in the header Host that are served, in lower case; None: any name is."""
        if self.hosts is not None:
            names = {name.strip().lower() for name in self.hosts.split(",")}
            return None if "*" in names else frozenset(names - {""})
        if self.behind_tls or self.host not in LOOPBACK:
            return None
        return frozenset({*LOOPBACK, self.host})

    @property
    def keys(self) -> Path:
        """The file of the keys of staff, backends and vendors."""
        return self.folder / "keys.json"

    @property
    def secret(self) -> Path:
        """The file of the secret from which people's keys are made."""
        return self.folder / "service.secret"

    @property
    def sends_keys_in_clear(self) -> bool:
        """Whether keys are sent unencrypted to and from other machines."""
        return self.host not in LOOPBACK and not self.behind_tls


def _read_service_section(folder: Path) -> dict[str, Any]:
    """Read the settings in [service] of tacit.toml, by name.

    The ledger's files, which are named relative to the folder, are returned with the folder.

    Raises:
        ConfigError: A setting is unknown, or of another type.
    """
    section = read_toml(folder).get(SECTION, {})
    if not isinstance(section, dict):
        raise ConfigError(f"{TOML}: {SECTION} is no table: write its settings below [{SECTION}].")
    settings = check_table(Settings, SECTION, section)
    for name in ("database", "second"):
        if name in settings and "://" not in settings[name]:
            settings[name] = str(folder / settings[name])
    return settings


def _read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read the settings that environment variables have, such as TACIT_PER_SECOND, by name.

    Raises:
        ConfigError: A variable is of another type than its setting.
    """
    settings: dict[str, Any] = {}
    for name, setting_type in setting_types(Settings).items():
        variable = ENVIRONMENT_PREFIX + name.upper()
        text = environment.get(variable)
        if text is None:
            continue
        try:
            settings[name] = _parse_variable(text, setting_type)
        except (KeyError, ValueError):
            wrong = NOT_OF_TYPE[setting_type]
            raise ConfigError(f"{variable} in the environment is {wrong}.") from None
    return settings


def _parse_variable(text: str, setting_type: type) -> Any:
    """Parse the text of a variable; KeyError or ValueError for a text of another type."""
    if setting_type is bool:
        return _BOOLEANS[text.lower()]
    return setting_type(text)
