"""Requests to one service: bounded, repeated with the same bytes, and never led elsewhere.

What a service shows to everybody is fetched without a key, and checked before it is used.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import ssl
import time
from collections.abc import Callable
from email.message import Message
from http.client import HTTPException, IncompleteRead
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from tacit.client.device_memory import read_json
from tacit.designs.sketches.messages import MessageError, catalogue_digest
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.memory import Log
from tacit.designs.standard_scheme.messages import ItemId
from tacit.designs.standard_scheme.messages import MessageError as NotCanonical
from tacit.errors import ConfigError, ModelFileError, TacitError

M = TypeVar("M")
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may work."""
_AGENT = {"User-Agent": "tacit-client"}
_LONGEST_PAUSE = 30.0


class ServiceError(TacitError):
    """The service cannot be reached, refuses, or answers with what is no answer.

    status: of the HTTP response, None where there was none.
    """

    def __init__(self, sentence: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(sentence)


class _Passing(Exception):  # never leaves this file
    """Worth another attempt, after so many seconds if the service says so."""

    def __init__(self, error: ServiceError, pause: float | None = None) -> None:
        self.error, self.pause = error, pause


class _NoRedirects(HTTPRedirectHandler):
    """What was meant for one address, and its key, does not go to another."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


class Transport:
    """One service and one key.

    url: https, or http on this machine. key: printed after `Bearer`. timeout: seconds to
    connect, for the head of an answer to go on, and for its body as a whole. largest: bytes of an
    answer that are read at most.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        timeout: float = 10.0,
        attempts: int = 3,
        largest: int = 64 << 20,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url, here = _checked(url)
        if not (key.isascii() and key.isprintable() and key and " " not in key):
            raise ConfigError("A key is printable ASCII without spaces, as it was handed out.")
        if not (timeout > 0 and attempts >= 1 and largest >= 1):
            raise ConfigError("timeout, attempts and largest are above 0.")
        self._own = _AGENT | {"Authorization": f"Bearer {key}"}
        self._timeout, self._attempts = timeout, attempts
        self._largest, self._sleep = largest, sleep
        # A proxy of the environment is for other machines.
        self._opener = build_opener(_NoRedirects(), ProxyHandler({} if here else None))

    def get(self, path: str, *, own: bool = False) -> bytes:
        """The body of an answer to anybody: no key goes along, so that the service cannot choose
        what to show to whom. own: with the key, for what only the service's own records say."""
        return self._again(Request(self._url + path, headers=self._own if own else _AGENT))

    def post(self, path: str, body: bytes) -> bytes:
        """Send a message; a retry, also by another process, has the same bytes and the same key."""
        key = hashlib.sha256(path.encode() + b"\0\0" + body).hexdigest()[:32]
        headers = {"Idempotency-Key": key, "Content-Type": "application/octet-stream"} | self._own
        return self._again(Request(self._url + path, body, headers, method="POST"))

    def delete(self, path: str, key: str) -> bytes:
        """Have something deleted. key: names the request; a retry has the same."""
        headers = self._own | {"Idempotency-Key": key}
        return self._again(Request(self._url + path, headers=headers, method="DELETE"))

    def json(self, data: bytes) -> Any:
        """What an answer says; ServiceError if it is no strict JSON."""
        try:
            return read_json(data)
        except ValueError as error:
            raise ServiceError(f"{self._url} answered with what is no JSON: {error}.") from None

    def listed(self, *parts: str) -> list[dict[str, Any]]:
        """The rows that lie at these parts of the path, under the name of the last one."""
        noun, answer = parts[-1], self.json(self.get(_path(*parts)))
        rows = answer.get(noun) if isinstance(answer, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ServiceError(f"The service's list of {noun} is no list.")
        return rows

    def message(self, decode: Callable[[bytes], M], *parts: str) -> M:
        """What lies at these parts of the path; status 404 where nothing does."""
        return decoded(decode, self.get(_path(*parts)))

    def catalogue(self, name: str, digest: bytes) -> list[ItemId]:
        """The item ids that a message names by this digest."""
        answer = self.json(self.get(_path("campaigns", name, "catalogue")))
        items: Any = answer.get("items") if isinstance(answer, dict) else None
        named = isinstance(items, list) and all(type(item) in (int, str) for item in items)
        if not named or catalogue_digest(items) != digest:
            raise ServiceError("The service's catalogue is not the list that its message names.")
        return list(items)

    def disclosure(self, name: str) -> Disclosure:
        return self.message(Disclosure.decode, "disclosures", name)

    def digest_log(self, name: str) -> Log:
        """Epochs and digests, as the disclosure's public log has them."""
        rows = self.listed("disclosures", name, "log")
        if any((type(row.get("epoch")), type(row.get("digest"))) != (int, str) for row in rows):
            raise ServiceError("The service's log has entries that are none.")
        return tuple((row["epoch"], row["digest"]) for row in rows)

    def latest(self, name: str) -> int:
        """The epoch of the account's latest letter at the service, asked with the key; -1 for none,
        and where an older service does not say."""
        try:
            data = self.get(_path("disclosures", name, "latest"), own=True)
        except ServiceError as error:
            if error.status == 404:
                return -1
            raise
        answer = self.json(data)
        if not isinstance(answer, dict) or type(answer.get("latest")) is not int:
            raise ServiceError("The service's latest epoch is none.")
        return int(answer["latest"])

    def _again(self, request: Request) -> bytes:
        for attempt in range(1, self._attempts + 1):
            try:
                return self._once(request)
            except _Passing as passing:
                if attempt == self._attempts:
                    raise passing.error from None
                pause = 0.5 * 2 ** (attempt - 1) if passing.pause is None else passing.pause
            self._sleep(min(pause, _LONGEST_PAUSE))
        raise AssertionError  # the last attempt returns or raises

    def _once(self, request: Request) -> bytes:
        deadline = time.monotonic() + self._timeout
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return self._read(response, deadline)
        except HTTPError as answer:
            with answer:
                raise self._refusal(answer, deadline) from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            failure = ServiceError(f"{self._url} cannot be reached: {_plain(str(reason))}.")
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise failure from None  # it would not be more trustworthy a second later
            raise _Passing(failure) from None

    def _read(self, response: Any, deadline: float) -> bytes:
        parts, size = [], 0
        while part := response.read1(1 << 16):
            size += len(part)
            if size > self._largest:
                limit = f"{self._largest:,} bytes"
                raise ServiceError(f"{self._url} answered with more than {limit}; none was used.")
            if time.monotonic() > deadline:
                raise TimeoutError("timed out")
            parts.append(part)
        announced = response.headers.get("Content-Length")
        if announced is not None and announced != str(size):
            raise IncompleteRead(b"".join(parts))
        return b"".join(parts)

    def _refusal(self, answer: HTTPError, deadline: float) -> Exception:
        status = answer.code
        if 300 <= status < 400:
            return ServiceError(
                f"{self._url} points to another address, which is not followed. If the service "
                "moved, give its new address.",
                status,
            )
        said = self._said(answer, deadline)
        error = ServiceError(f"{self._url} answered {status}: {said}", status)
        if status not in _PASSING:
            return error
        after = answer.headers.get("Retry-After", "")
        return _Passing(error, float(after) if after.isdecimal() and len(after) < 9 else None)

    def _said(self, answer: HTTPError, deadline: float) -> str:
        """Title and detail of an RFC 9457 problem, as far as they can be shown."""
        try:
            problem = json.loads(self._read(answer, deadline))
            parts = [str(problem[name]) for name in ("title", "detail") if name in problem]
        except (ValueError, TypeError, RecursionError, OSError, ServiceError, HTTPException):
            parts = []
        return _plain(" - ".join(parts)) or "it does not say why."


def _checked(url: str) -> tuple[str, bool]:
    """The address without a slash at the end, and whether it is on this machine."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigError(f"{_plain(url)} is no address of a service.") from None
    extra = parts.username or parts.password or parts.query or parts.fragment
    if not host or parts.scheme not in ("http", "https") or extra:
        raise ConfigError(
            f"{_plain(url)} is no address of a service: give  https://HOST  without key or query."
        )
    here = _is_here(host)
    if parts.scheme == "http" and not here:
        raise ConfigError(
            f"{_plain(url)} would send key and messages in the clear: give an https address."
        )
    return url.rstrip("/"), here


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _plain(text: str) -> str:
    """What another machine says, on one line, without what a terminal would obey."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[:300])
    return " ".join(shown.split()).rstrip(".")


def decoded(decode: Callable[[bytes], M], data: bytes) -> M:
    """A message; ServiceError for bytes that are none."""
    try:
        return decode(data)
    except (MessageError, NotCanonical, ModelFileError, OverflowError) as error:
        raise ServiceError(f"The service sent what is no message: {error}.") from None


def _path(*parts: str) -> str:
    return "/api/" + "/".join(map(quoted, parts))


def quoted(name: str) -> str:
    """A name as one part of a path; ConfigError for what would be taken for a folder."""
    if name in ("", ".", ".."):
        raise ConfigError("A campaign, a disclosure or a model is asked for by its name.")
    return quote(name, safe="")
