"""Addresses of a ledger, and of the second place where the head of its hash chain is kept."""

from __future__ import annotations

from pathlib import Path

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
# Hosts of a URL that are this machine, and the port of a URL that names none.
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_POSTGRESQL_PORT = 5432


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
            SQLite address that names no file.
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
    """
    url, path = parse_address(where)
    if second is None:
        return path is not None
    second_url, second_path = parse_address(second)
    if path is not None and second_path is not None:
        return _device_of(path) == _device_of(second_path)
    if path is None and second_path is None:
        return _server_of(url) == _server_of(second_url)
    return False


def _device_of(path: Path) -> int:
    """Return the device number of a file; if there is no file, of the nearest existing folder."""
    existing = path.absolute()
    while not existing.exists():
        existing = existing.parent
    return existing.stat().st_dev


def _server_of(url: URL) -> tuple[str, str]:
    """Return the host in lower case and the port of a PostgreSQL server.

    The host is "" for this machine: if the URL names no host, `localhost`, a loopback address, or
    a folder of Unix sockets, which begins with a slash. This machine's name in a network is not
    recognised. Host and port after the question mark count before those in front of it, as they do
    for a connection.
    """
    host = str(url.query.get("host") or url.host or "").lower()
    if host in _THIS_MACHINE or host.startswith("/"):
        host = ""
    port = url.query.get("port") or url.port or _POSTGRESQL_PORT
    return host, str(port)
