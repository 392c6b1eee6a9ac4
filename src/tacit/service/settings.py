"""How a service runs: files, address and limits. What it serves stands in its folder's tacit.toml.

A setting comes from the command's flag, or else from the environment (TACIT_PER_SECOND), or else
from the section [service] of tacit.toml, or else it has its default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, get_args, get_type_hints

from tacit.errors import ConfigError

FILE = "tacit.toml"
SECTION = "service"
PREFIX = "TACIT_"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Settings:
    """Everything that is the operator's to choose.

    folder: holds tacit.toml, and by default the keys, the secret and the ledger.
    database: a file, or postgresql://HOST/DATABASE; by default `budgets.db` in the folder.
    second: the second place of the ledger's head, a file or postgresql://HOST/DATABASE; needed for
    PostgreSQL.
    port: 0 takes any that is free. workers: processes; each loads what is served.
    behind_tls: a proxy in front speaks TLS and names the sender's address.
    visitors: whether anybody may ask for a person's key (a demonstration), or the operator alone.
    visitors_per_hour: new names that one address (of IPv6: one /64) may take.
    changes_per_day: of one person that are stored for ever and cost no budget. These two are full
    when a worker starts, and each counts for itself.
    most_body: bytes of one request. per_second, burst: requests of one key or one address, counted
    by each worker for itself. most_waiting: requests that one worker has in hand; more get 503.
    answer_within: seconds after which an answer is given up with 503. threads: that answer.
    grid: seconds; answers start at multiples of it after their request. 0 is at once.
    """

    folder: Path
    database: str | None = None
    second: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    behind_tls: bool = False
    visitors: bool = False
    visitors_per_hour: int = 100
    changes_per_day: int = 2000
    most_body: int = 64 * 1024
    per_second: float = 100.0
    burst: int = 200
    most_waiting: int = 512
    answer_within: float = 1.8
    threads: int = 64
    grid: float = 0.0

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise ConfigError(f"{self.folder}: is no folder. `tacit serve --demo` needs none.")
        for name in _ABOVE_ZERO:
            if not getattr(self, name) > 0:
                raise ConfigError(f"The setting {name} is above 0.")
        if not 0 <= self.grid < self.answer_within:
            raise ConfigError("The setting grid is from 0 to below answer_within.")
        if not 0 <= self.port < 65536:
            raise ConfigError("The setting port is from 0 to 65535.")

    @classmethod
    def gather(cls, folder: Path, given: Mapping[str, Any], environment: Mapping[str, str]) -> Self:
        """From flags (`given`; None is not given), the environment, tacit.toml and defaults.

        ConfigError for a value of the wrong kind or a setting that does not exist.
        """
        flags = {name: value for name, value in given.items() if value is not None}
        if not folder.is_dir():
            return cls(folder)
        return cls(folder, **{**_in_file(folder), **_in_environment(environment), **flags})

    def environment(self) -> dict[str, str]:
        """The same settings for the processes that this one starts."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            PREFIX + name.upper(): str(int(value)) if isinstance(value, bool) else str(value)
            for name, value in values.items()
            if value is not None
        }

    @property
    def ledger(self) -> str:
        """Where the ledger is."""
        return self.database or str(self.folder / "budgets.db")

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


_ABOVE_ZERO = (
    "workers", "most_body", "per_second", "burst", "most_waiting", "answer_within", "threads",
    "visitors_per_hour", "changes_per_day",
)  # fmt: skip
_KINDS: dict[str, type] = {
    name: next(kind for kind in (bool, int, float, str) if kind is hint or kind in get_args(hint))
    for name, hint in get_type_hints(Settings).items()
    if name != "folder"
}


def content_of(folder: Path) -> dict[str, Any]:
    """The folder's tacit.toml; ConfigError in a sentence where there is none."""
    path = folder / FILE
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
    found = {name: _checked(name, value) for name, value in section.items()}
    for name in ("database", "second"):
        if "://" not in found.get(name, "://"):
            found[name] = str(folder / found[name])
    return found


def _checked(name: str, value: Any) -> Any:
    kind = _KINDS.get(name)
    if kind is None:
        raise ConfigError(f"{FILE}: [{SECTION}] has no setting '{name}'. See docs/service.md.")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        raise ConfigError(f"{FILE}: [{SECTION}] {name} is no {_SAID[kind]}.")
    return value


_SAID = {str: "text", bool: "true or false", float: "number", int: "whole number"}


def _in_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    texts = {name: environment.get(PREFIX + name.upper()) for name in _KINDS}
    return {
        name: _parsed(name, _KINDS[name], text) for name, text in texts.items() if text is not None
    }


def _parsed(name: str, kind: type, text: str) -> Any:
    try:
        if kind is not bool:
            return kind(text)
        if text.lower() in (*_TRUE, *_FALSE):
            return text.lower() in _TRUE
    except ValueError:
        pass
    raise ConfigError(f"{PREFIX}{name.upper()} in the environment is no {_SAID[kind]}.")
