"""Addresses of a ledger, and of the second place where the head of its hash chain is kept."""

from __future__ import annotations

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tacit.errors import ConfigError

SHARED_DEVICE_WARNING = (
    "the ledger and the second place of its head lie on one device or server. If a snapshot or a "
    "backup of it is restored as a whole, spent budgets come back and nothing can notice it. Name "
    "a second place elsewhere:  --second PATH  on another device, or  "
    "--second postgresql://HOST/DATABASE."
)
"""A warning's text, which follows the word "Warning: "."""
_POSTGRESQL_PORT = "5432"
"""Port of an address that names none."""
_POSTGRESQL_DRIVER = "postgresql+psycopg"
"""SQLAlchemy's name of the driver with which all connections to PostgreSQL are made."""


def parse_address(where: str | Path) -> tuple[URL, Path | None]:
    """Parse the address of a ledger, or of the second place that keeps its newest head.

    An address may hold a password, so no error repeats it.

    Args:
        where: A path, `sqlite:///PATH`, or `postgresql://HOST/DATABASE`.

    Returns:
        The URL and the path of the file. For a file, the URL only tells that it is SQLite's: it may
        lack the path. For PostgreSQL, the path is None.

    Raises:
        ConfigError: `where` is neither a path nor an address of SQLite or PostgreSQL, or it is a
            SQLite address that names no file, or one of PostgreSQL whose hosts and ports do not
            fit together.
    """
    if isinstance(where, Path) or "://" not in where:
        return make_url("sqlite://"), Path(where)
    try:
        url = make_url(where)
    except (ArgumentError, ValueError):  # the latter for a port that is no number
        raise ConfigError(
            "The address of a ledger, or of its second place, cannot be read as a path or a URL."
        ) from None
    database_system = url.get_backend_name()
    if database_system == "sqlite" and url.database and url.database != ":memory:":
        return url, Path(url.database)
    if database_system not in ("postgresql", "postgres"):
        raise ConfigError(
            "The address of a ledger, or of its second place, is the path of a file, "
            "sqlite:///PATH, or postgresql://HOST/DATABASE."
        )
    try:
        _connection_options(url)
    except (ArgumentError, ValueError):  # the latter for a host with two colons
        raise ConfigError(
            "The hosts and ports in the address of a ledger, or of its second place, do not fit "
            "together. Name one host and one port, or as many ports as hosts, such as "
            "postgresql:///DATABASE?host=one,two&port=5432,5433."
        ) from None
    return url, None


def default_head_path(path: Path) -> Path:
    """Return PATH.head, the default second place of a ledger in the file PATH.

    Raises:
        ConfigError: The path is that of the current folder or of the root, which have no name.
    """
    if not path.name:
        raise ConfigError(f"{path} is a folder. Name the ledger's file, such as budgets.db.")
    return path.with_name(path.name + ".head")


def shares_device(where: str | Path, second: str | Path | None) -> bool:
    """Say whether a ledger and its second place are on one device, or in one PostgreSQL server.

    A file and a server count as separate, because it is not known where a server keeps its files.

    Args:
        where: Address of the ledger.
        second: Address of the second place. None is the default: a file beside the ledger's file.
            A ledger in PostgreSQL has no default, and the answer is False.

    Returns:
        Whether they are. If an address of PostgreSQL names several servers, of which a connection
        takes any, one that both addresses name is enough.

    Raises:
        ConfigError: An address cannot be read, as in `parse_address`.
    """
    url, path = parse_address(where)
    if second is None:
        return path is not None
    second_url, second_path = parse_address(second)
    if path is not None and second_path is not None:
        return _device_of(path) == _device_of(second_path)
    if path is None and second_path is None:
        return not _servers_of(url).isdisjoint(_servers_of(second_url))
    return False


def _device_of(path: Path) -> int:
    """Return the device number of a file; if there is no file, of the nearest existing folder."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    return existing.stat().st_dev


def _connection_options(url: URL) -> dict[str, Any]:
    """Return the options with which psycopg connects to a PostgreSQL address.

    Raises:
        ArgumentError or ValueError: Its hosts and ports do not fit together.
    """
    dialect = url.set(drivername=_POSTGRESQL_DRIVER).get_dialect()()
    _, options = dialect.create_connect_args(url)
    return dict(options)


def _servers_of(url: URL) -> set[tuple[str, str]]:
    """Return the host, as `_normalize_host` gives it, and the port of each server of an address.

    They are read as a connection reads them: hosts after the question mark count before the one in
    front of it, a numeric address (`hostaddr`) before its host's name, and what the URL does not
    name is taken from PGHOST, PGHOSTADDR and PGPORT. libpq's service files are not read.
    """
    options = _connection_options(url)

    def split_option(name: str) -> list[str]:
        """Return the entries of an option, which are separated by commas; [""] if it is unset."""
        value = options.get(name, os.environ.get(f"PG{name.upper()}", ""))
        return str(value).split(",")

    hosts = split_option("host")
    numeric_addresses = split_option("hostaddr")
    ports = split_option("port")
    count = max(len(hosts), len(numeric_addresses))
    servers = set()
    for number in range(count):
        numeric_address = _entry_for(numeric_addresses, number)
        host = numeric_address or _entry_for(hosts, number)
        port = _entry_for(ports, number) or _POSTGRESQL_PORT
        servers.add((_normalize_host(host), port))
    return servers


def _entry_for(entries: list[str], number: int) -> str:
    """Return the entry of one server; a single entry is that of every server, "" a missing one."""
    if len(entries) == 1:
        return entries[0]
    return entries[number] if number < len(entries) else ""


def _normalize_host(host: str) -> str:
    """Return one text for all ways to write a host.

    It is "" for this machine: for no host, `localhost`, a loopback address, and a Unix socket,
    whose host begins with a slash or an @. This machine's name in a network is not recognised.
    """
    host = host.lower()
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return ""
    try:
        numeric_address = ip_address(host)
    except ValueError:
        return host
    return "" if numeric_address.is_loopback else str(numeric_address)
