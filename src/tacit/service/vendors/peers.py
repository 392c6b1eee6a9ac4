"""Neighbours as the operator lists them: the only addresses that a vendor ever sends to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tacit.errors import ConfigError
from tacit.service.deployment import Section
from tacit.service.keys import NAME, read_private
from tacit.service.settings import FILE
from tacit.service.vendors.signatures import audience_of, read_public_key

_PATH = re.compile(rf"/api/vendors/{NAME.pattern}")
_API_KEY = re.compile(rb"[!-~]{1,256}")
_HERE = ("127.0.0.1", "::1", "localhost")
_KNOWN = {"url", "public_key", "api_key"}


@dataclass(frozen=True)
class Neighbour:
    """One of them. api_key: what it gave us."""

    name: str
    url: str
    public_key: Ed25519PublicKey = field(repr=False)
    api_key: str = field(repr=False)

    @classmethod
    def from_section(cls, name: str, section: Section) -> Self:
        """ConfigError for an address that is not https, or is not one of a vendor."""
        if not NAME.fullmatch(name) or set(section.values) != _KNOWN:
            raise ConfigError(f"{FILE}: {section.name} has url, public_key and api_key.")
        url = section.text("url")
        parts = urlsplit(url)
        safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _HERE)
        plain = not (parts.query or parts.fragment or parts.username or parts.password)
        if not (safe and plain and parts.hostname and _PATH.fullmatch(parts.path)):
            raise ConfigError(
                f"{FILE}: {section.name}.url is  https://HOST/api/vendors/NAME  (http on this "
                "machine alone)."
            )
        file = section.file("api_key")
        api_key = read_private(file, f"the key that {name} gave to this vendor").strip()
        if not _API_KEY.fullmatch(api_key):
            raise ConfigError(f"{file}: holds no API key, which is one line of printable signs.")
        public = read_public_key(section.text("public_key"))
        return cls(name, url, public, api_key.decode("ascii"))

    @property
    def audience(self) -> str:
        """What a message for it is signed for."""
        return audience_of(self.name, self.public_key)

    @property
    def path(self) -> str:
        """Of the vendor at the neighbour's service."""
        return urlsplit(self.url).path

    @property
    def health(self) -> str:
        """The address that says whether its service can answer."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/readyz"
