"""Neighbours as the operator lists them: the only addresses that a vendor ever sends to.

Calls    One attempt, within `WITHIN` seconds from looking up the name to the last byte. No redirect
         is followed, no proxy of the environment is used, nothing is unpacked. Whatever is not a
         signed answer of the right type and size is none.
Breaker  If it opened after calls that failed, whose visits were forwarded would decide for
         everybody: that is what the learner hides. So it asks whether the neighbour is ready, at
         most once in `EVERY` seconds, whenever anybody comes; what came of a call changes nothing.
         A neighbour is up, or down for `REST` seconds and then for twice as many, up to
         `MOST_REST`, until it says that it is ready again.
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

from tacit.designs.pdap.messages import LARGEST, Forward
from tacit.designs.pdap.serve import signatures
from tacit.designs.pdap.serve.signatures import SignatureError, audience_of
from tacit.errors import ConfigError
from tacit.service.keys import NAME, read_private_file
from tacit.service.served_things import Section
from tacit.service.setting_tables import TOML, setting

_PATH = re.compile(rf"/api/vendors/{NAME.pattern}")
_API_KEY = re.compile(rb"[!-~]{1,256}")
_HERE = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, kw_only=True)
class PeerLines:
    """The lines of [vendors.NAME.peers.NAME]: a neighbour, by the name it has for itself."""

    url: str = setting(
        "the address of the vendor there, `https://HOST/api/vendors/NAME`",
        refused="http, but on this machine; a query, a user",
    )
    public_key: str = setting("what `tacit keys vendor` printed there, base64 of 32 bytes")
    api_key: str = setting(
        "a file with the key that it made for this vendor", refused="a file that others can read"
    )


@dataclass(frozen=True)
class Neighbour:
    """One neighbour.

    Attributes:
        name: that it has for itself.
        url: of the vendor there.
        public_key: that its answers are signed with.
        api_key: that it made for this vendor.
    """

    name: str
    url: str
    public_key: Ed25519PublicKey = field(repr=False)
    api_key: str = field(repr=False)

    @classmethod
    def from_section(cls, name: str, section: Section) -> Self:
        """Read a section; ConfigError for an address that is not https, or is not a vendor's."""
        if not NAME.fullmatch(name):
            raise ConfigError(f"{TOML}: a name in [vendors.NAME.peers.NAME] is of a-z, 0-9, _, -.")
        given = section.read_settings(PeerLines)
        parts = urlsplit(url := given.url)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _HERE)
        plain = not (parts.query or parts.fragment or parts.username or parts.password)
        if not (safe and plain and parts.hostname and _PATH.fullmatch(parts.path)):
            raise ConfigError(
                f"{TOML}: {section.name}.url is  https://HOST/api/vendors/NAME  (http on this "
                "machine alone)."
            )
        file = section.file_path("api_key")
        api_key = read_private_file(file, f"the key that {name} gave to this vendor").strip()
        if not _API_KEY.fullmatch(api_key):
            raise ConfigError(f"{file}: holds no API key, which is one line of printable signs.")
        public = signatures.read_public_key(given.public_key)
        return cls(name, url, public, api_key.decode("ascii"))

    @property
    def audience(self) -> str:
        """The audience that a message for it is signed for."""
        return audience_of(self.name, self.public_key)

    @property
    def health(self) -> str:
        """Address where its service says whether it can answer."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/readyz"


WITHIN = 1.0
"""Seconds of a call, at most."""
_LOOK_WITHIN = 0.8
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log addresses


@dataclass(frozen=True)
class Calls:
    """Sends messages as one vendor.

    Attributes:
        sender: its name.
        key: that it signs with.
        transports: of neighbours by name, instead of the network, in tests.
    """

    sender: str
    key: Ed25519PrivateKey = field(repr=False)
    transports: Mapping[str, httpx2.AsyncBaseTransport] = field(default_factory=dict)
    _running: set[asyncio.Task[bytes | None]] = field(default_factory=set, repr=False)

    @property
    def audience(self) -> str:
        """The audience that a request to this vendor is signed for."""
        return audience_of(self.sender, self.key.public_key())

    def sign(self, peer: Neighbour, **message: Any) -> dict[str, str]:
        """Headers of a message to this neighbour. message: as of `signatures.sign`."""
        message |= {"sender": self.sender, "audience": peer.audience}
        return signatures.sign(self.key, now=time.time(), **message)

    def sender_of(
        self, headers: Sequence[tuple[str, str]], peers: Iterable[Neighbour], **message: Any
    ) -> str:
        """Name the neighbour that signed, as `signatures.check`; SignatureError if none."""
        senders = {peer.name: peer.public_key for peer in peers}
        message |= {"senders": senders, "audience": self.audience}
        return signatures.check(headers, now=time.time(), **message)[0]

    def ask(
        self, peer: Neighbour, forward: bytes, *, within: float = WITHIN
    ) -> asyncio.Task[bytes | None]:
        """Start to send a Forward to a neighbour.

        The call runs to its end, waited for or not: the neighbour must not see which.

        Args:
            peer: the neighbour.
            forward: an encoded Forward.
            within: seconds until it is given up; `WITHIN` at most.

        Returns:
            A task that ends with the content of the signed answer; None if no answer that can be
            trusted comes in time.

        Raises:
            MessageError: `forward` is no Forward.
        """
        nonce = Forward.decode(forward).request.hex()
        asked = self._post(peer, forward, nonce, min(within, WITHIN))
        task = asyncio.get_running_loop().create_task(asked)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def reaches(self, peer: Neighbour) -> bool:
        """Whether its service says that it can answer."""
        try:
            async with (
                asyncio.timeout(_LOOK_WITHIN),
                self._client(peer) as client,
                client.stream("GET", peer.health) as answer,
            ):
                return answer.status_code == 200
        except (httpx2.HTTPError, OSError, TimeoutError, ValueError):
            return False

    async def _post(self, peer: Neighbour, body: bytes, nonce: str, within: float) -> bytes | None:
        address = f"{peer.url}/forwards"
        headers = self.sign(peer, path=urlsplit(address).path, body=body, nonce=nonce)
        headers |= {"authorization": f"Bearer {peer.api_key}", "accept-encoding": "identity"}
        try:
            async with (
                asyncio.timeout(within),
                self._client(peer) as client,
                client.stream("POST", address, content=body, headers=headers) as answer,
            ):
                return await self._read(answer, peer, nonce)
        except (httpx2.HTTPError, OSError, TimeoutError, ValueError):
            return None  # httpx2 raises ValueError of many kinds for what is no HTTP

    async def _read(self, answer: httpx2.Response, peer: Neighbour, nonce: str) -> bytes | None:
        octets = answer.headers.get("content-type") == signatures.OCTETS
        if answer.status_code != 200 or "content-encoding" in answer.headers or not octets:
            return None
        body = b""
        async for part in answer.aiter_raw():
            body += part
            if len(body) > LARGEST:
                return None
        headers = [(name.lower(), value) for name, value in answer.headers.multi_items()]
        with suppress(SignatureError):
            self.sender_of(headers, [peer], status=200, body=body, nonce=nonce)
            return body
        return None

    def _client(self, peer: Neighbour) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=self.transports.get(peer.name),
            trust_env=False,
            follow_redirects=False,
            verify=_authorities(),
            timeout=WITHIN,
        )


@lru_cache(maxsize=1)
def _authorities() -> ssl.SSLContext:
    """The system's authorities, read once."""
    return ssl.create_default_context()


EVERY = 2.0
REST = 1.0
MOST_REST = 30.0


@dataclass
class _PeerState:
    up: bool = True
    next: float = 0.0
    rest: float = REST


@dataclass
class Reach:
    """Neighbours of one vendor that can be asked; for one process, on its event loop alone.

    Attributes:
        calls: how the vendor sends.
        peers: its neighbours.
    """

    calls: Calls
    peers: Sequence[Neighbour]
    _seen: dict[str, _PeerState] = field(default_factory=dict)
    _looking: set[asyncio.Task[None]] = field(default_factory=set)

    def peers_up(self) -> tuple[str, ...]:
        """Names of those that can be asked. A visit may trigger a look at the network."""
        for peer in self.peers:
            seen = self._seen.setdefault(peer.name, _PeerState())
            if time.monotonic() >= seen.next:
                seen.next = time.monotonic() + EVERY
                task = asyncio.get_running_loop().create_task(self._look(peer, seen))
                self._looking.add(task)
                task.add_done_callback(self._looking.discard)
        return tuple(peer.name for peer in self.peers if self._seen[peer.name].up)

    async def _look(self, peer: Neighbour, seen: _PeerState) -> None:
        seen.up = await self.calls.reaches(peer)
        seen.rest = REST if seen.up else min(2 * seen.rest, MOST_REST)
        seen.next = time.monotonic() + (EVERY if seen.up else seen.rest)
