"""Calls to the neighbours that the operator lists; a vendor sends nothing to other addresses.

Calls    One attempt, of at most `LONGEST_CALL` seconds from looking up the name to the last byte.
         No redirect is followed, no proxy of the environment is used, no content is decompressed.
         Everything but a signed answer of the right type and size counts as no answer. The same
         Forward is sent once (`recent_tasks.py`): who asks again gets the first call's answer.
Checks   A neighbour that does not work is not asked for a while. If failed calls decided this, the
         visits of some people would change the visits of others, which the learner's guarantee does
         not cover. So the service itself checks whether a neighbour is ready, at most once in
         `CHECK_INTERVAL` seconds, when any visitor comes; results of calls change nothing. A
         neighbour that is not ready is not asked until a check finds it ready. These checks are 2,
         4, 8 seconds apart and so on, up to `LONGEST_REST`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self
from urllib.parse import urlsplit

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.designs.pdap.messages import LARGEST_ANSWER, Forward
from tacit.designs.pdap.serve import signatures
from tacit.designs.pdap.serve.recent_tasks import RecentTasks
from tacit.designs.pdap.serve.signatures import SignatureError, audience_of
from tacit.errors import ConfigError
from tacit.service.keys import NAME, read_private_file
from tacit.service.served_things import Section
from tacit.service.setting_tables import TOML, setting

_PATH = re.compile(rf"/api/vendors/{NAME.pattern}")
"""Path of a vendor's address."""
_API_KEY = re.compile(rb"[!-~]{1,256}")
"""An API key: printable ASCII without spaces."""
_LOCAL_HOSTS = ("127.0.0.1", "::1", "localhost")
"""Hosts to which http is allowed: this machine."""


@dataclass(frozen=True, kw_only=True)
class PeerSettings:
    """The settings [vendors.NAME.peers.NAME] of one neighbour, under the neighbour's own name."""

    url: str = setting(
        "the address of the neighbour, `https://HOST/api/vendors/NAME`",
        refused="http, except on this machine; a query, a user",
    )
    public_key: str = setting(
        "what `tacit keys vendor` printed at the neighbour, base64 of 32 bytes"
    )
    api_key: str = setting(
        "a file with the API key that the neighbour made for this vendor",
        refused="a file that others can read",
    )


@dataclass(frozen=True)
class Neighbour:
    """One neighbour.

    Attributes:
        name: the neighbour's own name.
        url: of the neighbour, without a slash at the end.
        public_key: with which the neighbour's messages are verified.
        api_key: that the neighbour made for this vendor.
    """

    name: str
    url: str
    public_key: Ed25519PublicKey = field(repr=False)
    api_key: str = field(repr=False)

    @classmethod
    def from_section(cls, name: str, section: Section) -> Self:
        """Read a section [vendors.NAME.peers.NAME].

        Raises:
            ConfigError: The address is not a vendor's, or is http on another machine than this;
                the name or a key does not have the right form; or the file of the API key cannot be
                read, or is open to others.
        """
        if not NAME.fullmatch(name):
            raise ConfigError(f"{TOML}: a name in [vendors.NAME.peers.NAME] is of a-z, 0-9, _, -.")
        settings = section.read_settings(PeerSettings)
        if not _is_vendor_address(settings.url):
            raise ConfigError(
                f"{TOML}: {section.name}.url is  https://HOST/api/vendors/NAME  (http on this "
                "machine alone)."
            )
        file = section.file_path("api_key")
        api_key = read_private_file(file, f"the key that {name} gave to this vendor").strip()
        if not _API_KEY.fullmatch(api_key):
            raise ConfigError(
                f"{file}: holds no API key, which is one line of printable characters."
            )
        public_key = signatures.read_public_key(settings.public_key)
        return cls(name, settings.url, public_key, api_key.decode("ascii"))

    @property
    def audience(self) -> str:
        """The audience for which messages to this neighbour are signed."""
        return audience_of(self.name, self.public_key)

    @property
    def readiness_url(self) -> str:
        """The address at which the neighbour's service says whether it is ready."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/readyz"


def _is_vendor_address(url: str) -> bool:
    """Return whether a URL is that of a vendor, with https unless it is on this machine."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError unless it is a number up to 65535
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
        return False
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL_HOSTS)
    has_more_parts = parts.query or parts.fragment or parts.username or parts.password
    has_path = _PATH.fullmatch(parts.path) is not None
    return bool(is_safe and not has_more_parts and parts.hostname and has_path)


LONGEST_CALL = 1.0
"""Seconds of a call, at most."""
SHORTEST_CALL = 0.01
"""Seconds of a call, at least: no call is made in less time, since none could be answered."""
_LONGEST_CHECK = 0.8
"""Seconds of a check whether a neighbour is ready, at most."""
_FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError, ValueError)
"""Errors of a call that fails. httpx2 raises several kinds of ValueError for invalid HTTP."""
# httpx2 would log the addresses of its requests.
logging.getLogger("httpx2").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Calls:
    """Sends messages from one vendor to its neighbours.

    Attributes:
        sender: name of the vendor.
        key: private key with which the vendor signs.
        transports: HTTP transports by name of the neighbour, used in tests in place of the network.
    """

    sender: str
    key: Ed25519PrivateKey = field(repr=False)
    transports: Mapping[str, httpx2.AsyncBaseTransport] = field(default_factory=dict)
    recent: RecentTasks = field(default_factory=RecentTasks, repr=False)
    """Calls that have not ended, or were started a short time ago."""

    @property
    def audience(self) -> str:
        """The audience for which messages to this vendor are signed."""
        return audience_of(self.sender, self.key.public_key())

    def sign(self, peer: Neighbour, **message: Any) -> dict[str, str]:
        """Make the signature headers of a message to a neighbour.

        Args:
            peer: the neighbour.
            message: `body`, `nonce`, and `path` or `status`, as in `signatures.sign`.
        """
        message |= {"sender": self.sender, "audience": peer.audience}
        return signatures.sign(self.key, now=time.time(), **message)

    def sender_of(
        self, headers: Sequence[tuple[str, str]], peers: Iterable[Neighbour], **message: Any
    ) -> str:
        """Find which neighbour signed a message to this vendor.

        Args:
            headers: of the message, names in lower case.
            peers: neighbours that may have signed it.
            message: `body`, and either `path` alone or both `status` and `nonce`, as in
                `signatures.check`.

        Returns:
            Name of the neighbour.

        Raises:
            SignatureError: The message has no valid signature of any of them.
        """
        senders = {peer.name: peer.public_key for peer in peers}
        message |= {"senders": senders, "audience": self.audience}
        sender, _ = signatures.check(headers, now=time.time(), **message)
        return sender

    def ask(
        self, peer: Neighbour, forward: bytes, *, seconds: float = LONGEST_CALL
    ) -> asyncio.Task[bytes | None] | None:
        """Start a call that sends a Forward to a neighbour, unless it was sent a short time ago.

        The call runs to its end even if nobody waits for it, because the neighbour must not see
        whether its offer will be shown.

        Args:
            peer: the neighbour.
            forward: an encoded Forward.
            seconds: time until the call is given up; `LONGEST_CALL` at most.

        Returns:
            A task that ends with the content of the signed answer; None if no answer that can be
            trusted comes in time. It is the first call's task if the Forward was sent before. None
            in place of a task if it was not, and `seconds` is below `SHORTEST_CALL`: then nothing
            is sent or remembered.

        Raises:
            MessageError: The bytes are not an encoded Forward.
        """
        nonce = Forward.decode(forward).request.hex()
        key = (peer.name, forward)
        if seconds < SHORTEST_CALL:
            return self.recent.find(key)
        longest = min(seconds, LONGEST_CALL)
        return self.recent.run_once(key, lambda: self._post(peer, forward, nonce, longest))

    async def is_ready(self, peer: Neighbour) -> bool:
        """Check whether a neighbour's service says that it is ready."""
        try:
            async with (
                asyncio.timeout(_LONGEST_CHECK),
                self._client(peer) as client,
                client.stream("GET", peer.readiness_url) as answer,
            ):
                return answer.status_code == 200
        except _FAILURES:
            return False

    async def _post(self, peer: Neighbour, body: bytes, nonce: str, seconds: float) -> bytes | None:
        """Send a signed Forward, and return the answer's content; None without a valid answer.

        Args:
            peer: the neighbour.
            body: the encoded Forward.
            nonce: the number of its request, in hexadecimal.
            seconds: time until the call is given up.
        """
        address = f"{peer.url}/forwards"
        headers = self.sign(peer, path=urlsplit(address).path, body=body, nonce=nonce)
        headers |= {"authorization": f"Bearer {peer.api_key}", "accept-encoding": "identity"}
        try:
            async with (
                asyncio.timeout(seconds),
                self._client(peer) as client,
                client.stream("POST", address, content=body, headers=headers) as answer,
            ):
                return await self._read(answer, peer, nonce)
        except _FAILURES:
            return None

    async def _read(self, answer: httpx2.Response, peer: Neighbour, nonce: str) -> bytes | None:
        """Return the content of an answer; None unless the answer can be trusted.

        An answer can be trusted if it has status 200 and the type of messages, is signed by the
        neighbour, and is neither too long nor compressed.
        """
        is_octets = answer.headers.get("content-type") == signatures.OCTETS
        is_compressed = "content-encoding" in answer.headers
        if answer.status_code != 200 or is_compressed or not is_octets:
            return None
        body = b""
        async for part in answer.aiter_raw():
            body += part
            if len(body) > LARGEST_ANSWER:
                return None
        headers = [(name.lower(), value) for name, value in answer.headers.multi_items()]
        with suppress(SignatureError):
            self.sender_of(headers, [peer], status=200, body=body, nonce=nonce)
            return body
        return None

    def _client(self, peer: Neighbour) -> httpx2.AsyncClient:
        """Make an HTTP client for one call to a neighbour."""
        return httpx2.AsyncClient(
            transport=self.transports.get(peer.name),
            trust_env=False,
            follow_redirects=False,
            verify=_authorities(),
            timeout=LONGEST_CALL,
        )


@lru_cache(maxsize=1)
def _authorities() -> ssl.SSLContext:
    """Return the TLS context with the system's certificate authorities, which are read once."""
    return ssl.create_default_context()


CHECK_INTERVAL = 2.0
"""Seconds between two checks of a neighbour that is ready."""
FIRST_REST = 1.0
"""`_PeerState.rest` while a neighbour is ready, in seconds. It is doubled before each wait, so the
first wait after the neighbour stops being ready is twice this number."""
LONGEST_REST = 30.0
"""Seconds between two checks of a neighbour that is not ready, at most."""


@dataclass
class _PeerState:
    """Result of the last check of one neighbour, and the time of the next one.

    Attributes:
        is_ready: whether the last check found the neighbour ready; true before the first check.
        next_check: when the neighbour is checked again, in seconds of `time.monotonic`.
        rest: seconds from the last check to the next one if the neighbour is not ready.
    """

    is_ready: bool = True
    next_check: float = 0.0
    rest: float = FIRST_REST


@dataclass
class Reach:
    """Knows which neighbours of one vendor can be asked; for the event loop of one process.

    Attributes:
        calls: sends the vendor's messages.
        peers: the vendor's neighbours.
    """

    calls: Calls
    peers: Sequence[Neighbour]
    _states: dict[str, _PeerState] = field(default_factory=dict)
    """By name of the neighbour."""
    _checks: set[asyncio.Task[None]] = field(default_factory=set)
    """Checks that have not ended."""

    def peers_up(self) -> tuple[str, ...]:
        """Return the names of neighbours that can be asked, and start checks that are due."""
        for peer in self.peers:
            state = self._states.setdefault(peer.name, _PeerState())
            if time.monotonic() >= state.next_check:
                state.next_check = time.monotonic() + CHECK_INTERVAL
                task = asyncio.get_running_loop().create_task(self._check(peer, state))
                self._checks.add(task)  # so that the task is not garbage collected
                task.add_done_callback(self._checks.discard)
        return tuple(peer.name for peer in self.peers if self._states[peer.name].is_ready)

    async def _check(self, peer: Neighbour, state: _PeerState) -> None:
        """Check whether a neighbour is ready, and set the time of the next check."""
        state.is_ready = await self.calls.is_ready(peer)
        if state.is_ready:
            state.rest = FIRST_REST
            state.next_check = time.monotonic() + CHECK_INTERVAL
        else:
            state.rest = min(2 * state.rest, LONGEST_REST)
            state.next_check = time.monotonic() + state.rest
