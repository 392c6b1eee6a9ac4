"""Who asks: API keys, of which the service keeps hashes, and what each stands for.

Staff (operator, analyst, auditor) and peer vendors have keys of 32 random bytes; the keys' file
holds SHA-256 of each, which suffices because nobody can search 2^256. A person's key is made from
the service's own secret and their name, so that any number of workers know it without a table.
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
"""Tenants, models, campaigns, people: what may stand in an address and in a ledger."""
_KEY = re.compile(r"tacit_([a-z0-9][a-z0-9_-]{0,63})\.([0-9a-f]{64})")
_PERSON = "tacit_person_"


class Role(StrEnum):
    """Everything not granted to a role is refused to it."""

    ANONYMOUS = "anonymous"
    SUBJECT = "subject"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    VENDOR = "vendor"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Caller:
    """Who asks. name: the person, the peer vendor, or the key's own name."""

    tenant: str
    role: Role
    name: str


@dataclass(frozen=True)
class Entry:
    name: str
    role: str
    tenant: str
    sha256: str
    revoked: bool = False


ANONYMOUS = Caller("", Role.ANONYMOUS, "")


class KeyRing:
    """The keys' file and the service's secret. A changed file is noticed at the next request."""

    def __init__(self, path: Path, secret: bytes, tenant: str) -> None:
        if len(secret) < 32:
            raise ConfigError("The service's secret has at least 32 bytes.")
        self._path = path
        # Copies of one: `hmac.digest` would let another thread run meanwhile.
        self._secret = hmac.new(secret, digestmod="sha256")
        self._tenant = tenant
        self._entries: Mapping[str, Entry] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._refresh()

    def caller(self, key: str | None) -> Caller | None:
        """Who has this key; ANONYMOUS without one; None for a key that nobody has."""
        if key is None:
            return ANONYMOUS
        if key.startswith(_PERSON):
            name, _, seal = key.removeprefix(_PERSON).partition(".")
            right = NAME.fullmatch(name) and hmac.compare_digest(
                seal.encode(), self._seal(name).encode()
            )
            return Caller(self._tenant, Role.SUBJECT, name) if right else None
        parts = _KEY.fullmatch(key)
        if parts is None:
            return None
        self._refresh()
        entry = self._entries.get(parts[1])
        digest = hashlib.sha256(parts[2].encode()).hexdigest()
        known = entry.sha256 if entry is not None else "0" * 64
        right = hmac.compare_digest(digest, known)
        if entry is None or not right or entry.revoked or entry.tenant != self._tenant:
            return None
        return Caller(entry.tenant, Role(entry.role), entry.name)

    def person_key(self, name: str) -> str:
        """The key of one person: the same for the life of the service's secret."""
        return f"{_PERSON}{name}.{self._seal(name)}"

    def digest(self, purpose: str, payload: bytes) -> bytes:
        """A keyed hash: what may lie in a log without letting anybody guess what it was made of."""
        begun = self._secret.copy()
        begun.update(purpose.encode() + b"\x00" + payload)
        return begun.digest()

    def _seal(self, name: str) -> str:
        return self.digest(f"person {self._tenant}", name.encode()).hex()

    def _refresh(self) -> None:
        """A file that cannot be read now lets nobody in: a revoked key stays revoked."""
        try:
            file = self._path.stat()
        except FileNotFoundError:
            self._entries, self._stamp = {}, None
            return
        stamp = (file.st_mtime_ns, file.st_size, file.st_ino)
        if stamp != self._stamp:
            self._entries, self._stamp = {}, None
            self._entries, self._stamp = {e.name: e for e in read_keys(self._path)}, stamp


def read_keys(path: Path) -> tuple[Entry, ...]:
    """The entries of a keys' file; DataError if it is not one."""
    try:
        rows = json.loads(path.read_bytes())["keys"]
        entries = tuple(Entry(**row) for row in rows)
        for entry in entries:
            Role(entry.role)
            if not NAME.fullmatch(entry.name) or not NAME.fullmatch(entry.tenant):
                raise ValueError
    except FileNotFoundError:
        return ()
    except (ValueError, TypeError, KeyError):
        raise DataError(
            "this is not a file of API keys", path=path, fix="Make one with:  tacit keys add"
        ) from None
    return entries


def add_key(path: Path, name: str, role: Role, tenant: str) -> str:
    """Add a key to the file and give it: it is shown this once."""
    if not NAME.fullmatch(name) or f"{name}_".startswith("person_"):
        raise ConfigError(
            "The name of a key is 1 to 64 of a-z, 0-9, _ and -, and does not begin with 'person_'."
        )
    if role in (Role.ANONYMOUS, Role.SUBJECT):
        raise ConfigError(
            "Keys in the file are for staff and vendors. A person's key comes from "
            "POST /api/people."
        )
    entries = read_keys(path)
    if any(entry.name == name for entry in entries):
        raise ConfigError("A key of this name is in the file. Take another name, or revoke it.")
    secret = secrets.token_hex(32)
    digest = hashlib.sha256(secret.encode()).hexdigest()
    _write(path, (*entries, Entry(name, role.value, tenant, digest)))
    return f"tacit_{name}.{secret}"


def revoke_key(path: Path, name: str) -> None:
    entries = read_keys(path)
    if all(entry.name != name for entry in entries):
        raise ConfigError("No key of this name is in the file.")
    _write(path, tuple(replace(one, revoked=one.revoked or one.name == name) for one in entries))


def read_secret(path: Path) -> bytes:
    """The service's secret; made on first use, readable by its owner alone."""
    with suppress(FileExistsError):
        make_private(path, secrets.token_bytes(32))
    return read_private(path, "the keys of all people")


def make_private(path: Path, content: bytes) -> None:
    """A new file that its owner alone may open; FileExistsError where there is one."""
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def read_private(path: Path, whose: str) -> bytes:
    """A file that its owner alone may open; ConfigError otherwise. whose: what its reader has."""
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_mode & 0o077:
                return file.read()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}).") from None
    raise ConfigError(
        f"{path}: is open to others than its owner, and anyone who reads it has {whose}. "
        "Close it:  "
        f"chmod 600 {shlex.quote(str(path))}"
    )


def _write(path: Path, entries: tuple[Entry, ...]) -> None:
    content = {"keys": [asdict(entry) for entry in entries]}
    write_whole(path, json.dumps(content, indent=2).encode() + b"\n")
