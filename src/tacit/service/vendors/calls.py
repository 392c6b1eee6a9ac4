"""Calls to neighbours: one address each, one attempt, an end in time, and little is read.

A call has `WITHIN` seconds in all, from looking up the name to the last byte, whatever drips. No
redirect is followed, no proxy of the environment is used, nothing is unpacked. Whatever is not a
signed answer of the right type and size is none.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.designs.pdap.messages import LARGEST
from tacit.service.vendors.peers import Neighbour
from tacit.service.vendors.signatures import (
    OCTETS,
    NotSigned,
    audience_of,
    check_answer,
    sign_request,
)

WITHIN = 1.0
"""Seconds of a call, at most."""
_LOOK_WITHIN = 0.8
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log addresses


@dataclass(frozen=True)
class Calls:
    """Sends as one vendor. transport: instead of the network, in tests."""

    sender: str
    key: Ed25519PrivateKey = field(repr=False)
    transports: Mapping[str, httpx2.AsyncBaseTransport] = field(default_factory=dict)
    _running: set[asyncio.Task[bytes | None]] = field(default_factory=set, repr=False)

    @property
    def audience(self) -> str:
        """What a request to this vendor signs."""
        return audience_of(self.sender, self.key.public_key())

    def ask(
        self, peer: Neighbour, forward: bytes, nonce: str, *, within: float = WITHIN
    ) -> asyncio.Task[bytes | None]:
        """The answer to a Forward; None if there is none that can be trusted, or not in time.

        It runs to its end, waited for or not: the neighbour must not see which.
        """
        asked = self._post(peer, "forwards", forward, nonce, min(within, WITHIN))
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

    async def _post(
        self, peer: Neighbour, what: str, body: bytes, nonce: str, within: float
    ) -> bytes | None:
        headers = sign_request(
            self.key,
            sender=self.sender,
            audience=peer.audience,
            path=f"{peer.path}/{what}",
            body=body,
            nonce=nonce,
            now=time.time(),
        )
        headers |= {"authorization": f"Bearer {peer.api_key}", "accept-encoding": "identity"}
        try:
            async with (
                asyncio.timeout(within),
                self._client(peer) as client,
                client.stream(
                    "POST", f"{peer.url}/{what}", content=body, headers=headers
                ) as answer,
            ):
                return await _read(answer, peer, nonce, self.audience)
        except (httpx2.HTTPError, OSError, TimeoutError, ValueError):
            return None  # httpx2 raises ValueError of many kinds for what is no HTTP

    def _client(self, peer: Neighbour) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            transport=self.transports.get(peer.name),
            trust_env=False,
            follow_redirects=False,
            verify=_trusted(),
            timeout=WITHIN,
        )


async def _read(
    answer: httpx2.Response, peer: Neighbour, nonce: str, audience: str
) -> bytes | None:
    if answer.status_code != 200 or "content-encoding" in answer.headers:
        return None
    if answer.headers.get("content-type") != OCTETS:
        return None
    body = b""
    async for part in answer.aiter_raw():
        body += part
        if len(body) > LARGEST:
            return None
    try:
        check_answer(
            [(name.lower(), value) for name, value in answer.headers.multi_items()],
            sender=peer.name,
            key=peer.public_key,
            audience=audience,
            status=answer.status_code,
            body=body,
            nonce=nonce,
            now=time.time(),
        )
    except NotSigned:
        return None
    return body


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """The system's authorities, read once."""
    return ssl.create_default_context()
