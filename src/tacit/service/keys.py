"""API keys: whom each stands for. The service stores hashes of them, and no key.

Staff (operator, analyst, auditor, editor), backends (recommend) and peer vendors have keys of 32
random bytes; the keys' file holds SHA-256 of each, which suffices because nobody can search 2^256.
A person's key is made from the service's own secret and their name, so that any number of workers
know it without a table.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from tacit.atomic_writes import write_whole
from tacit.errors import ConfigError, DataError

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""Names of tenants, models, campaigns and people, as they stand in addresses and in a ledger."""
CUSTOMER_PREFIX = "customer-"
"""How the pseudonyms begin of people whose id is no name."""
LONGEST_CUSTOMER_ID = 256
_PSEUDONYM = re.compile(rf"{CUSTOMER_PREFIX}[0-9a-f]{{40}}")
_STAFF_KEY = re.compile(r"tacit_([a-z0-9][a-z0-9_-]{0,63})\.([0-9a-f]{64})")
_PERSON_PREFIX = "tacit_person_"
_NO_HASH = "0" * 64
"""What a key is compared with whose name is not in the file."""


LISTS = ("personal", "popularity")
"""Lists that a key may get: from histories; or of popular items, to compare with."""


class Role(StrEnum):
    """Whom a key stands for. Everything not granted to a role is refused to it."""

    ANONYMOUS = "anonymous"
    SUBJECT = "subject"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    VENDOR = "vendor"
    RECOMMEND = "recommend"
    EDITOR = "editor"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Caller:
    """The sender of a request."""

    tenant: str
    role: Role
    name: str
    """The person, the peer vendor, or the key's own name; empty for nobody."""
    lists: str = "personal"
    """Which lists it gets: one of LISTS."""


@dataclass(frozen=True)
class KeyEntry:
    """One key of staff or of a vendor, as the keys' file holds it."""

    name: str
    role: str
    tenant: str
    sha256: str
    """Hash of the key's secret part, in hexadecimal digits."""
    revoked: bool = False
    lists: str = "personal"
    """Which lists a key of the role `recommend` gets: one of LISTS."""


ANONYMOUS = Caller("", Role.ANONYMOUS, "")


class KeyRing:
    """The keys' file and the service's secret. A changed file is noticed at the next request.

    Args:
        path: The keys' file; without one there are no keys of staff.
        secret: The service's secret, at least 32 bytes.
        tenant: Whose people the service has.
    """

    def __init__(self, path: Path, secret: bytes, tenant: str) -> None:
        if len(secret) < 32:
            raise ConfigError("The service's secret has at least 32 bytes.")
        self._path = path
        # It is copied for each digest: `hmac.digest` would let another thread run meanwhile.
        self._keyed_hash = hmac.new(secret, digestmod="sha256")
        self._tenant = tenant
        self._entries: Mapping[str, KeyEntry] = {}
        self._file_stamp: tuple[int, int, int] | None = None
        self._read_changed_file()

    def find_caller(self, key: str | None) -> Caller | None:
        """Find whose key this is.

        Args:
            key: The key as it was sent; None if there was none.

        Returns:
            The caller; ANONYMOUS without a key; None for a key that nobody has.
        """
        if key is None:
            return ANONYMOUS
        if key.startswith(_PERSON_PREFIX):
            return self._find_person(key)
        return self._find_staff(key)

    def person_key(self, name: str) -> str:
        """The key of one person. It stays the same for the life of the service's secret."""
        return f"{_PERSON_PREFIX}{name}.{self._seal(name)}"

    def person_name(self, customer: str) -> str:
        """The name of a person by the id that a shop has for them.

        An id that is a name stays as it is. Any other, such as an e-mail address, gets a pseudonym
        of the service's secret, so that logs and the ledger never hold the id.

        Args:
            customer: An id of printable characters, or a name or pseudonym.
        """
        is_name = NAME.fullmatch(customer) is not None
        if is_name and not customer.startswith(CUSTOMER_PREFIX):
            return customer
        if _PSEUDONYM.fullmatch(customer):
            return customer
        return CUSTOMER_PREFIX + self.digest("customer", customer.encode()).hex()[:40]

    def digest(self, purpose: str, payload: bytes) -> bytes:
        """A keyed hash, which may stand in a log: nobody can guess what it was made of.

        Args:
            purpose: Keeps apart hashes of equal payloads.
            payload: What is hashed.
        """
        keyed_hash = self._keyed_hash.copy()
        keyed_hash.update(purpose.encode() + b"\x00" + payload)
        return keyed_hash.digest()

    def _find_person(self, key: str) -> Caller | None:
        name, _, seal = key.removeprefix(_PERSON_PREFIX).partition(".")
        if not NAME.fullmatch(name):
            return None
        if not hmac.compare_digest(seal.encode(), self._seal(name).encode()):
            return None
        return Caller(self._tenant, Role.SUBJECT, name)

    def _find_staff(self, key: str) -> Caller | None:
        parts = _STAFF_KEY.fullmatch(key)
        if parts is None:
            return None
        name, secret = parts.groups()
        self._read_changed_file()
        entry = self._entries.get(name)
        digest = hashlib.sha256(secret.encode()).hexdigest()
        is_right = hmac.compare_digest(digest, _NO_HASH if entry is None else entry.sha256)
        if entry is None or not is_right or entry.revoked or entry.tenant != self._tenant:
            return None
        return Caller(entry.tenant, Role(entry.role), entry.name, entry.lists)

    def _seal(self, name: str) -> str:
        return self.digest(f"person {self._tenant}", name.encode()).hex()

    def _read_changed_file(self) -> None:
        """Read the keys' file if it changed.

        While it cannot be read no key of it is accepted, so that a revoked key stays revoked.
        """
        try:
            file = self._path.stat()
        except FileNotFoundError:
            self._forget_entries()
            return
        stamp = (file.st_mtime_ns, file.st_size, file.st_ino)
        if stamp == self._file_stamp:
            return
        self._forget_entries()
        self._entries = {entry.name: entry for entry in read_keys(self._path)}
        self._file_stamp = stamp

    def _forget_entries(self) -> None:
        self._entries = {}
        self._file_stamp = None


def read_keys(path: Path) -> tuple[KeyEntry, ...]:
    """Read the keys' file; no file is no entries.

    Raises:
        DataError: It is not a file of keys.
    """
    try:
        rows = json.loads(path.read_bytes())["keys"]
        entries = tuple(KeyEntry(**row) for row in rows)
        for entry in entries:
            _check_entry(entry)
    except FileNotFoundError:
        return ()
    except (ValueError, TypeError, KeyError):
        raise DataError(
            "this is not a file of API keys", path=path, fix="Make one with:  tacit keys add"
        ) from None
    return entries


def _check_entry(entry: KeyEntry) -> None:
    Role(entry.role)
    if entry.lists not in LISTS:
        raise ValueError
    if not NAME.fullmatch(entry.name) or not NAME.fullmatch(entry.tenant):
        raise ValueError


def add_key(path: Path, name: str, role: Role, tenant: str, *, lists: str = "personal") -> str:
    """Add a key to the file.

    Args:
        path: The keys' file, made if there is none.
        name: The key's name: 1 to 64 of a-z, 0-9, _ and -.
        role: A role of staff, or VENDOR.
        tenant: Whose service the key is for.
        lists: Which lists a key of the role `recommend` gets: one of LISTS.

    Returns:
        The key, which is stored nowhere and shown this once.

    Raises:
        ConfigError: The name is malformed or taken, or the role has no keys in the file.
    """
    if not NAME.fullmatch(name) or f"{name}_".startswith("person_"):
        raise ConfigError(
            "The name of a key is 1 to 64 of a-z, 0-9, _ and -, and does not begin with 'person_'."
        )
    if role in (Role.ANONYMOUS, Role.SUBJECT):
        raise ConfigError(
            "Keys in the file are for staff and vendors. A person's key comes from "
            "POST /api/people."
        )
    if lists not in LISTS or (lists != LISTS[0] and role is not Role.RECOMMEND):
        raise ConfigError("A key of the role recommend gets lists: personal or popularity.")
    entries = read_keys(path)
    if any(entry.name == name for entry in entries):
        raise ConfigError("A key of this name is in the file. Take another name, or revoke it.")
    secret = secrets.token_hex(32)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    _write_keys(path, (*entries, KeyEntry(name, role.value, tenant, digest, lists=lists)))
    return f"tacit_{name}.{secret}"


def revoke_key(path: Path, name: str) -> None:
    """Mark a key as revoked; its name stays taken.

    Raises:
        ConfigError: No key of this name is in the file.
    """
    entries = {entry.name: entry for entry in read_keys(path)}
    if name not in entries:
        raise ConfigError("No key of this name is in the file.")
    entries[name] = replace(entries[name], revoked=True)
    _write_keys(path, tuple(entries.values()))


def read_secret(path: Path) -> bytes:
    """Read the service's secret, which is made on first use and readable by its owner alone."""
    with suppress(FileExistsError):
        create_private_file(path, secrets.token_bytes(32))
    return read_private_file(path, "the keys of all people")


def create_private_file(path: Path, content: bytes) -> None:
    """Create a file that its owner alone may open.

    Raises:
        FileExistsError: There is a file of this name.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_private_file(path: Path, reader_has: str) -> bytes:
    """Read a file that its owner alone may open.

    Args:
        path: The file.
        reader_has: For the error's sentence: what anyone has who reads the file.

    Raises:
        ConfigError: The file cannot be read, or others may open it.
    """
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_mode & 0o077:
                return file.read()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from None
    raise ConfigError(
        f"{path}: is open to others than its owner, and anyone who reads it has {reader_has}. "
        "Close it:  "
        f"chmod 600 {shlex.quote(str(path))}"
    )


def _write_keys(path: Path, entries: tuple[KeyEntry, ...]) -> None:
    content = {"keys": [asdict(entry) for entry in entries]}
    write_whole(path, json.dumps(content, indent=2).encode() + b"\n")
