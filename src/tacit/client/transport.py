"""HTTP requests to one service: limited in time and size, retried with the same bytes.

Redirects are not followed. Public files are fetched without a key, and their form is checked before
they are used.
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

from tacit.client.strict_json import read_json
from tacit.designs.sketches.messages import MessageError as SketchesMessageError
from tacit.designs.sketches.messages import catalogue_digest
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.memory import Log
from tacit.designs.standard_scheme.messages import ItemId, is_integer
from tacit.designs.standard_scheme.messages import MessageError as SchemeMessageError
from tacit.errors import ConfigError, ModelFileError, TacitError

MessageType = TypeVar("MessageType")
_RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed later."""
_PUBLIC_HEADERS = {"User-Agent": "tacit-client"}
"""Headers of a request without the key."""
_LONGEST_TIMEOUT = 86_400
"""Largest number of seconds of a timeout: a socket cannot wait for any number."""
_MOST_DOUBLINGS = 10
"""How often the pause between two attempts is doubled at most; it is above _LONGEST_PAUSE then."""
_LONGEST_PAUSE = 30.0
"""Largest number of seconds between two attempts, also if the service asks for more."""
_MOST_DIGITS_OF_PAUSE = 8
"""Most digits of a Retry-After that is read as a number of seconds."""
_FIRST_PAUSE = 0.5
"""Seconds between the first two attempts; each further pause is twice as long."""
_CHUNK_BYTES = 1 << 16
"""Most bytes of an answer that are read at once."""
_MOST_SHOWN = 300
"""Largest number of characters that an error shows of a refused address or a failure's reason."""


class ServiceError(TacitError):
    """The service cannot be reached, refuses, or gives an answer that cannot be used.

    Args:
        sentence: The error in words.
        status: HTTP status of the answer; None if there was no whole answer, or if the status was
            200 to 299 but the answer cannot be used.
    """

    def __init__(self, sentence: str, status: int | None = None) -> None:
        self.status = status
        super().__init__(sentence)

    def details(self) -> dict[str, object]:
        """Return the status, for the JSON form of the error."""
        return {"status": self.status}


class _RetryableError(Exception):
    """A failure after which the request is sent again. It is never raised out of this file.

    Args:
        error: The error that is raised if this was the last attempt.
        pause: Seconds until the next attempt, if the service names them; None: it does not.
    """

    def __init__(self, error: ServiceError, pause: float | None = None) -> None:
        self.error = error
        self.pause = pause


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect, so that messages and the key are sent to no other address."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


class Transport:
    """A connection to one service with one key.

    Args:
        url: Address of the service: https, or http on this machine.
        key: Sent in the header `Authorization: Bearer`.
        timeout: Most seconds to connect, and most seconds between two parts of an answer; a day at
            most. An answer is also given up if a part of its body arrives later than this after the
            request.
        attempts: How often a request is sent at most.
        largest: Largest number of bytes of an answer.
        sleep: Function that waits for a number of seconds.

    Raises:
        ConfigError: The address or the key is malformed, or a number is too small or too large.
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
        self._url, is_local = _parse_address(url)
        if not (key.isascii() and key.isprintable() and key and " " not in key):
            raise ConfigError("A key is printable ASCII without spaces, as it was handed out.")
        if not (timeout > 0 and attempts >= 1 and largest >= 1):
            raise ConfigError("timeout, attempts and largest are above 0.")
        if timeout > _LONGEST_TIMEOUT or not isinstance(attempts, int):
            raise ConfigError(
                f"timeout is at most {_LONGEST_TIMEOUT:,} seconds, and attempts is a whole number; "
                f"got {timeout!r:.100} and {attempts!r:.100}."
            )
        self._headers_with_key = _PUBLIC_HEADERS | {"Authorization": f"Bearer {key}"}
        self._timeout = timeout
        self._attempts = attempts
        self._largest = largest
        self._sleep = sleep
        # {}: no proxy, which would look for a local address on its own machine. None: the proxies
        # that environment variables name.
        proxies: dict[str, str] | None = {} if is_local else None
        self._opener = build_opener(_NoRedirects(), ProxyHandler(proxies))

    def get(self, path: str, *, with_key: bool = False) -> bytes:
        """Send a GET request, and return the body of the answer.

        Args:
            path: Path and query of the address.
            with_key: Whether the key is sent. Public files are fetched without it, so that the
                service cannot tell by the key who asks, and show this person another file.

        Raises:
            ServiceError: No attempt had a usable answer of status 200 to 299.
        """
        headers = self._headers_with_key if with_key else _PUBLIC_HEADERS
        return self._send_with_retries(Request(self._url + path, headers=headers))

    def post(self, path: str, body: bytes) -> bytes:
        """Send a message of bytes, and return the body of the answer.

        A retry, also by another process, has the same Idempotency-Key, which is a hash of path and
        message.

        Raises:
            ServiceError: No attempt had a usable answer of status 200 to 299.
        """
        idempotency_key = hashlib.sha256(path.encode() + b"\0\0" + body).hexdigest()[:32]
        headers = {
            "Idempotency-Key": idempotency_key,
            "Content-Type": "application/octet-stream",
            **self._headers_with_key,
        }
        return self._send_with_retries(Request(self._url + path, body, headers, method="POST"))

    def post_json(self, path: str, content: Any) -> bytes:
        """Send a JSON request that changes nothing, and return the body of the answer.

        It has no Idempotency-Key.

        Raises:
            ServiceError: No attempt had a usable answer of status 200 to 299.
            ValueError: A number of the content is not finite.
        """
        headers = {"Content-Type": "application/json", **self._headers_with_key}
        body = json.dumps(content, allow_nan=False).encode()
        return self._send_with_retries(Request(self._url + path, body, headers, method="POST"))

    def delete(self, path: str, idempotency_key: str) -> bytes:
        """Send a DELETE request, and return the body of the answer.

        Args:
            path: Path of the address.
            idempotency_key: The header Idempotency-Key; a retry has the same one.

        Raises:
            ServiceError: No attempt had a usable answer of status 200 to 299.
        """
        headers = self._headers_with_key | {"Idempotency-Key": idempotency_key}
        return self._send_with_retries(Request(self._url + path, headers=headers, method="DELETE"))

    def parse_json(self, data: bytes) -> Any:
        """Parse the body of an answer; ServiceError if it is not strict JSON."""
        try:
            return read_json(data)
        except ValueError as error:
            raise ServiceError(f"{self._url} answered with invalid JSON: {error}.") from None

    def fetch_rows(self, *parts: str) -> list[dict[str, Any]]:
        """Fetch a list of rows, without the key.

        Args:
            parts: Parts of the path after /api. The answer is an object that has the list under the
                name of the last part.

        Raises:
            ServiceError: The list cannot be fetched, or the answer is no such object.
        """
        noun = parts[-1]
        answer = self.parse_json(self.get(_api_path(*parts)))
        rows = answer.get(noun) if isinstance(answer, dict) else None
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ServiceError(f"The service's list of {noun} is not a list.")
        return rows

    def fetch_message(self, decode: Callable[[bytes], MessageType], *parts: str) -> MessageType:
        """Fetch a message without the key, and decode it.

        Args:
            decode: Function that decodes the message's bytes.
            parts: Parts of the path after /api.

        Raises:
            ServiceError: There is no such message (status 404), it cannot be fetched, or the bytes
                are not one (no status).
        """
        return decode_message(decode, self.get(_api_path(*parts)))

    def fetch_catalogue(self, name: str, digest: bytes) -> list[ItemId]:
        """Fetch the item ids of a campaign, in the campaign's order.

        Args:
            name: The campaign's name.
            digest: SHA-256 that the ids must have, as the campaign or its clusters name it.

        Raises:
            ServiceError: The ids cannot be fetched, or have another digest.
        """
        answer = self.parse_json(self.get(_api_path("campaigns", name, "catalogue")))
        items: Any = answer.get("items") if isinstance(answer, dict) else None
        are_ids = isinstance(items, list) and all(type(item) in (int, str) for item in items)
        if not are_ids or catalogue_digest(items) != digest:
            raise ServiceError("The service's catalogue is not the list that it announced.")
        return list(items)

    def fetch_disclosure(self, name: str) -> Disclosure:
        """Fetch a disclosure; ServiceError if there is none or it is malformed."""
        return self.fetch_message(Disclosure.decode, "disclosures", name)

    def fetch_digest_log(self, name: str) -> Log:
        """Fetch the public log of a disclosure.

        Returns:
            Pairs of an epoch and the digest that holds from this epoch on.

        Raises:
            ServiceError: The log cannot be fetched, or is malformed.
        """
        rows = self.fetch_rows("disclosures", name, "log")
        for row in rows:
            digest = row.get("digest")
            has_digest = isinstance(digest, str) and digest.isascii()
            # A log that a message cannot hold would make the device's memory unreadable.
            if not is_integer(row.get("epoch"), 0) or not has_digest:
                raise ServiceError("The service's log has an entry without epoch or digest.")
        return tuple((row["epoch"], row["digest"]) for row in rows)

    def fetch_latest_epoch(self, name: str) -> int:
        """Fetch the epoch of the account's latest letter, with the key.

        Returns:
            Number of the epoch; -1 if there is no letter, or if the disclosure is not served.

        Raises:
            ServiceError: It cannot be fetched.
        """
        try:
            data = self.get(_api_path("disclosures", name, "latest"), with_key=True)
        except ServiceError as error:
            if error.status == 404:
                return -1
            raise
        answer = self.parse_json(data)
        if not isinstance(answer, dict) or type(answer.get("latest")) is not int:
            raise ServiceError("The service's latest epoch is not a number.")
        return int(answer["latest"])

    def _send_with_retries(self, request: Request) -> bytes:
        """Send a request up to `attempts` times, and return the body of the answer.

        Raises:
            ServiceError: Error of the last attempt, or of an attempt after which no retry helps.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                return self._send_once(request)
            except _RetryableError as retryable:
                if attempt == self._attempts:
                    raise retryable.error from None
                pause = retryable.pause
                if pause is None:
                    pause = _FIRST_PAUSE * 2 ** min(attempt - 1, _MOST_DOUBLINGS)
            self._sleep(min(pause, _LONGEST_PAUSE))
        raise AssertionError  # the last attempt returns or raises

    def _send_once(self, request: Request) -> bytes:
        """Send a request once, and return the body of the answer.

        Raises:
            ServiceError: Another attempt would not help.
            _RetryableError: Another attempt may succeed.
        """
        deadline = time.monotonic() + self._timeout
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return self._read_body(response, deadline)
        except HTTPError as answer:
            with answer:
                raise self._make_error(answer, deadline) from None
        except URLError as error:
            reason = _to_one_line(str(error.reason))
            failure = ServiceError(f"{self._url} cannot be reached: {reason}.")
            if isinstance(error.reason, ssl.SSLCertVerificationError):
                raise failure from None  # a retry would find the same certificate
            raise _RetryableError(failure) from None
        except (OSError, HTTPException) as error:
            reason = _to_one_line(str(error))
            failure = ServiceError(f"{self._url} gave no whole answer: {reason}.")
            raise _RetryableError(failure) from None

    def _read_body(self, response: Any, deadline: float) -> bytes:
        """Read the body of an answer.

        Args:
            response: The answer.
            deadline: Time of `time.monotonic` by which the body must end.

        Raises:
            ServiceError: The body is too long.
            TimeoutError: It does not end in time.
            IncompleteRead: It is shorter or longer than announced.
        """
        parts = []
        size = 0
        while part := response.read1(_CHUNK_BYTES):
            size += len(part)
            if size > self._largest:
                limit = f"{self._largest:,} bytes"
                raise ServiceError(
                    f"{self._url} answered with more than {limit}; nothing was used."
                )
            if time.monotonic() > deadline:
                raise TimeoutError("timed out")
            parts.append(part)
        announced = response.headers.get("Content-Length")
        if announced is not None and announced != str(size):
            raise IncompleteRead(b"".join(parts))
        return b"".join(parts)

    def _make_error(self, answer: HTTPError, deadline: float) -> Exception:
        """Make the error for an answer of a status other than 200 to 299.

        Returns:
            A ServiceError; or a _RetryableError where another attempt may succeed.
        """
        status = answer.code
        if 300 <= status < 400:
            return ServiceError(
                f"{self._url} points to another address, which is not followed. If the service "
                "moved, give its new address.",
                status,
            )
        text = self._read_problem(answer, deadline)
        error = ServiceError(f"{self._url} answered {status}: {text}", status)
        if status not in _RETRYABLE_STATUSES:
            return error
        seconds = answer.headers.get("Retry-After", "")
        has_pause = seconds.isdecimal() and len(seconds) <= _MOST_DIGITS_OF_PAUSE
        return _RetryableError(error, float(seconds) if has_pause else None)

    def _read_problem(self, answer: HTTPError, deadline: float) -> str:
        """Return title and detail of a problem response (RFC 9457) as a sentence on one line.

        For an answer without them, the sentence is "it does not say why."
        """
        try:
            problem = json.loads(self._read_body(answer, deadline))
            parts = [str(problem[name]) for name in ("title", "detail") if name in problem]
        except (ValueError, TypeError, RecursionError, OSError, ServiceError, HTTPException):
            parts = []
        text = _to_one_line(" - ".join(parts))
        text = text or "it does not say why"
        return text if text.endswith(("!", "?")) else f"{text}."


def _parse_address(url: str) -> tuple[str, bool]:
    """Check the address of a service.

    Returns:
        The address without a slash at the end, and whether it is on this machine.

    Raises:
        ConfigError: It is not https or, on this machine, http; or it has a user, query or fragment.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port  # raises ValueError for a malformed port
        (host or "").encode("idna")  # raises UnicodeError, a ValueError, for a malformed name
    except ValueError:
        raise ConfigError(f"{_to_one_line(url)} is not the address of a service.") from None
    has_user = "@" in parts.netloc
    has_more_parts = has_user or "?" in url or "#" in url  # also an empty query or fragment
    if not host or parts.scheme not in ("http", "https") or has_more_parts:
        raise ConfigError(
            f"{_to_one_line(url)} is not the address of a service: give  https://HOST  without "
            "user name, query or fragment."
        )
    is_local = _is_local(host)
    if parts.scheme == "http" and not is_local:
        raise ConfigError(
            f"{_to_one_line(url)} would send key and messages in the clear: give an https address."
        )
    return url.rstrip("/"), is_local


def _is_local(host: str) -> bool:
    """Say whether a host is this machine: `localhost` or a loopback address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _to_one_line(text: str) -> str:
    """Put a text on one line, without full stops at its end, for an error message.

    Control characters, which a terminal would obey, become blanks. A long text is cut.
    """
    characters = [character if character.isprintable() else " " for character in text[:_MOST_SHOWN]]
    return " ".join("".join(characters).split()).rstrip(".")


def decode_message(decode: Callable[[bytes], MessageType], data: bytes) -> MessageType:
    """Decode a message; ServiceError for bytes that are not one."""
    try:
        return decode(data)
    except (SketchesMessageError, SchemeMessageError, ModelFileError, OverflowError) as error:
        raise ServiceError(f"The service sent an invalid message: {error}.") from None


def _api_path(*parts: str) -> str:
    """Return the path of these parts below /api, each quoted."""
    return "/api/" + "/".join(map(quote_name, parts))


def quote_name(name: str) -> str:
    """Quote a name as one part of a path.

    Raises:
        ConfigError: The name is "", "." or "..", which would change the path, or has a surrogate
            code point, which UTF-8 cannot hold.
    """
    if name in ("", ".", ".."):
        raise ConfigError(
            'The name of a campaign, disclosure or model cannot be empty, "." or "..".'
        )
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:
        raise ConfigError(
            f"The name of a campaign, disclosure or model is text in UTF-8; got {name!a}."
        ) from None
