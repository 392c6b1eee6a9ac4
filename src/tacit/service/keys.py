"""API keys, and the callers that they identify. The service stores no key.

Staff (operator, analyst, auditor, editor), backends (recommend) and peer vendors have keys of 32
random bytes. The keys' file holds a SHA-256 hash of each; no salt is needed, because nobody can
search 2^256 keys. A person's key has their name, and an HMAC of it under the service's secret, so
that every worker can check it without a table.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from tacit.atomic_writes import check_writable, explain_write_error, write_whole
from tacit.errors import ConfigError, DataError

LONGEST_NAME = 64
"""Most characters of a name that matches `NAME`."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""A name of a tenant, a key, a person, or a thing that is served, as addresses and the ledger hold
it."""
CUSTOMER_PREFIX = "customer-"
"""First characters of the pseudonym of a person whose id does not match `NAME`."""
LONGEST_CUSTOMER_ID = 256
"""Most characters of the id that a shop has for a person."""
_PSEUDONYM = re.compile(rf"{CUSTOMER_PREFIX}[0-9a-f]{{40}}")
"""A pseudonym that `KeyRing.person_name` makes."""
_KEY_OF_FILE = re.compile(r"tacit_([a-z0-9][a-z0-9_-]{0,63})\.([0-9a-f]{64})")
"""A key whose hash is in the keys' file: its name, and its secret part in hexadecimal digits."""
_PERSON_PREFIX = "tacit_person_"
"""First characters of a person's key, before their name."""
_SECRET_BYTES = 32
"""Fewest bytes of the service's secret. A secret that is made here has this many."""
_NO_HASH = "0" * 64
"""Stands for the hash of a key whose name is not in the file, so that the comparison takes as long
as for a name in the file."""


LISTS = ("personal", "popularity")
"""Kinds of lists that a key may get: made from histories, or of popular items for a comparison."""


class Role(StrEnum):
    """Role of a caller. Everything that is not granted to a role is refused to it."""

    ANONYMOUS = "anonymous"
    """A caller without a key."""
    SUBJECT = "subject"
    """A person, who may ask only about themselves."""
    ANALYST = "analyst"
    """Staff who read and close campaigns."""
    AUDITOR = "auditor"
    """Staff who read budgets and the ledger's log."""
    VENDOR = "vendor"
    """A neighbouring vendor, which forwards to a vendor of this service."""
    RECOMMEND = "recommend"
    """A shop's backend, which asks for lists for its customers, and reports their clicks."""
    EDITOR = "editor"
    """A newsroom, which lists the articles of vendors."""
    OPERATOR = "operator"
    """Staff who administer the service."""


@dataclass(frozen=True)
class Caller:
    """The sender of a request."""

    tenant: str
    """Whose service the key is for; "" for a caller without a key."""
    role: Role
    """What the caller may do."""
    name: str
    """The person, the peer vendor, or the key's own name; "" for a caller without a key."""
    lists: str = "personal"
    """Which lists the caller gets: one of LISTS."""


@dataclass(frozen=True)
class KeyEntry:
    """One key of staff, a backend or a vendor, as the keys' file holds it."""

    name: str
    """Name of the key."""
    role: str
    """Its role, as `Role` spells it."""
    tenant: str
    """Whose service the key is for."""
    sha256: str
    """Hash of the key's secret part, in hexadecimal digits."""
    revoked: bool = False
    """Whether the key is refused."""
    lists: str = "personal"
    """Which lists a key of the role `recommend` gets: one of LISTS."""


ANONYMOUS = Caller("", Role.ANONYMOUS, "")
"""The caller of a request without a key."""


class KeyRing:
    """The keys of one service: those in the keys' file, and those made from the service's secret.

    A changed file is read again at the next request whose key has the form of the file's keys.

    Args:
        path: The keys' file. While it does not exist, only people have keys.
        secret: The service's secret, at least 32 bytes.
        tenant: Name of the service's tenant; keys of other tenants are refused.

    Raises:
        ConfigError: The secret is too short.
        DataError: The file is not one of keys.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path, secret: bytes, tenant: str) -> None:
        if len(secret) < _SECRET_BYTES:
            raise ConfigError(f"The service's secret has at least {_SECRET_BYTES} bytes.")
        self._path = path
        # Each digest starts from a copy of this: `hmac.digest` would release the interpreter's
        # lock, and then wait for it behind other threads.
        self._keyed_hash = hmac.new(secret, digestmod="sha256")
        self._tenant = tenant
        self._entries: Mapping[str, KeyEntry] = {}
        """Entries of the keys' file by name."""
        self._file_stamp: tuple[int, int, int] | None = None
        """Time of change (ns), size in bytes and inode of the file that was read; None: no file."""
        self._read_changed_file()

    def find_caller(self, key: str | None) -> Caller | None:
        """Find the caller that has a key.

        Args:
            key: The key as it was sent; None if there was none.

        Returns:
            The caller; ANONYMOUS without a key; None for a key that nobody has.

        Raises:
            DataError: The keys' file was changed, and is not one of keys.
            OSError: It cannot be read.
        """
        if key is None:
            return ANONYMOUS
        if key.startswith(_PERSON_PREFIX):
            return self._find_person(key)
        return self._find_key_holder(key)

    def person_key(self, name: str) -> str:
        """Make the key of one person. It stays the same as long as the service's secret does."""
        return f"{_PERSON_PREFIX}{name}.{self._authenticate_name(name)}"

    def person_name(self, customer: str) -> str:
        """Return the name of a person by the id that a shop has for them.

        An id that matches `NAME` is the name. For any other id, such as an e-mail address, the name
        is a pseudonym, made with the service's secret, so that logs and the ledger never hold the
        id. An id that begins with CUSTOMER_PREFIX gets a pseudonym, too; but an id in the form of a
        pseudonym is the name already.

        Args:
            customer: An id of printable characters, or a name that was returned before.
        """
        is_name = NAME.fullmatch(customer) is not None
        if is_name and not customer.startswith(CUSTOMER_PREFIX):
            return customer
        if _PSEUDONYM.fullmatch(customer):
            return customer
        return CUSTOMER_PREFIX + self.digest("customer", customer.encode()).hex()[:40]

    def digest(self, purpose: str, payload: bytes) -> bytes:
        """Compute HMAC-SHA-256 under the service's secret, so that a log may hold the result.

        Args:
            purpose: Purpose of the hash; equal payloads have different hashes for each purpose.
            payload: Bytes to hash.
        """
        keyed_hash = self._keyed_hash.copy()
        keyed_hash.update(purpose.encode() + b"\x00" + payload)
        return keyed_hash.digest()

    def _find_person(self, key: str) -> Caller | None:
        """Find the person of a key `tacit_person_NAME.CODE`; None if the name or code is wrong."""
        name, _, code = key.removeprefix(_PERSON_PREFIX).partition(".")
        if not NAME.fullmatch(name):
            return None
        if not hmac.compare_digest(code.encode(), self._authenticate_name(name).encode()):
            return None
        return Caller(self._tenant, Role.SUBJECT, name)

    def _find_key_holder(self, key: str) -> Caller | None:
        """Find who holds a key `tacit_NAME.SECRET` of the keys' file; None: it is not in use."""
        parts = _KEY_OF_FILE.fullmatch(key)
        if parts is None:
            return None
        name, secret = parts.groups()
        self._read_changed_file()
        entry = self._entries.get(name)
        digest = hashlib.sha256(secret.encode()).hexdigest()
        is_secret_right = hmac.compare_digest(digest, _NO_HASH if entry is None else entry.sha256)
        if entry is None or not is_secret_right:
            return None
        if entry.revoked or entry.tenant != self._tenant:
            return None
        return Caller(entry.tenant, Role(entry.role), entry.name, entry.lists)

    def _authenticate_name(self, name: str) -> str:
        """Compute the code in a person's key: an HMAC of tenant and name, in hexadecimal digits."""
        return self.digest(f"person {self._tenant}", name.encode()).hex()

    def _read_changed_file(self) -> None:
        """Read the keys' file if it changed.

        While it cannot be read, none of its keys is accepted: one could have been revoked.

        Raises:
            DataError: It is not a file of keys.
            OSError: It cannot be read.
        """
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._forget_entries()
            return
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp == self._file_stamp:
            return
        self._forget_entries()
        self._entries = {entry.name: entry for entry in read_keys(self._path)}
        self._file_stamp = stamp

    def _forget_entries(self) -> None:
        """Accept no key of the file until the file is read again."""
        self._entries = {}
        self._file_stamp = None


def read_keys(path: Path) -> tuple[KeyEntry, ...]:
    """Read the keys' file; without a file there are no entries.

    Raises:
        DataError: It is not a file of keys.
        OSError: It cannot be read.
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
    """Raise ValueError for an entry with an unknown role or kind of lists, or a malformed name."""
    Role(entry.role)  # raises where there is no such role
    if entry.lists not in LISTS:
        raise ValueError
    if not NAME.fullmatch(entry.name) or not NAME.fullmatch(entry.tenant):
        raise ValueError


def add_key(path: Path, name: str, role: Role, tenant: str, *, lists: str = "personal") -> str:
    """Add a key to the file.

    Args:
        path: The keys' file, made if there is none.
        name: The key's name, which matches `NAME`.
        role: Any role but ANONYMOUS and SUBJECT.
        tenant: Name of the tenant whose service the key is for.
        lists: Which lists a key of the role `recommend` gets: one of LISTS.

    Returns:
        The key, which is stored nowhere: only its hash is.

    Raises:
        ConfigError: The name is malformed or taken, the role has no keys in the file, or it has no
            choice of lists.
        DataError: The file is not one of keys.
        OutputError: The file cannot be written.
        OSError: It cannot be read.
    """
    if not NAME.fullmatch(name) or f"{name}_".startswith("person_"):
        raise ConfigError(
            "The name of a key is 1 to 64 of a-z, 0-9, _ and -, begins with a letter or a digit, "
            "and is neither 'person' nor begins with 'person_'."
        )
    if role in (Role.ANONYMOUS, Role.SUBJECT):
        raise ConfigError(
            "Keys in the file are for staff, backends and vendors. A person's key comes from "
            "POST /api/people."
        )
    if lists not in LISTS or (lists != LISTS[0] and role is not Role.RECOMMEND):
        raise ConfigError(
            "Lists are personal or popularity, and only a key of the role recommend has a choice."
        )
    secret = secrets.token_hex(32)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    with _lock_folder_of(path):
        entries = read_keys(path)
        if any(entry.name == name for entry in entries):
            raise ConfigError(
                "A key of this name is in the file, in use or revoked. Take another name."
            )
        _write_keys(path, (*entries, KeyEntry(name, role.value, tenant, digest, lists=lists)))
    return f"tacit_{name}.{secret}"


def revoke_key(path: Path, name: str) -> None:
    """Mark a key as revoked; no other key can get its name.

    Raises:
        ConfigError: No key of this name is in the file.
        DataError: The file is not one of keys.
        OutputError: The file cannot be written.
        OSError: It cannot be read.
    """
    with _lock_folder_of(path):
        entries = {entry.name: entry for entry in read_keys(path)}
        if name not in entries:
            raise ConfigError("No key of this name is in the file.")
        entries[name] = replace(entries[name], revoked=True)
        _write_keys(path, tuple(entries.values()))


def read_secret(path: Path) -> bytes:
    """Read the service's secret. Without a file, make one, in a file that its owner alone may open.

    Raises:
        ConfigError: The file cannot be read, or others may open it.
        OSError: There is no file, and it cannot be made.
    """
    with suppress(FileExistsError):
        create_private_file(path, secrets.token_bytes(_SECRET_BYTES))
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


def read_private_file(path: Path, exposes: str) -> bytes:
    """Read a file that its owner alone may open.

    Args:
        path: The file.
        exposes: What anyone who reads the file gets, such as "the keys of all people", for the
            error's sentence.

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
        f"{path}: is open to others than its owner, and anyone who reads it has {exposes}. "
        "Close it:  "
        f"chmod 600 {shlex.quote(str(path))}"
    )


@contextmanager
def _lock_folder_of(path: Path) -> Iterator[None]:
    """Lock the keys' file's folder in the block, so that no two processes change the file at once.

    The file itself cannot be locked, since each change replaces it. Where the file system has no
    locks, the block runs without one.

    Raises:
        OutputError: The file cannot be written, or the folder cannot be locked.
    """
    check_writable(path)
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise explain_write_error(path, error) from None
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP):
                raise explain_write_error(path, error) from None
        yield
    finally:
        os.close(folder)


def _write_keys(path: Path, entries: tuple[KeyEntry, ...]) -> None:
    """Replace the keys' file by a file of these entries."""
    content = {"keys": [asdict(entry) for entry in entries]}
    write_whole(path, json.dumps(content, indent=2).encode() + b"\n")
