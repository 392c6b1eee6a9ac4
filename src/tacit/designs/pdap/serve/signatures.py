"""Signed messages between vendors: HTTP Message Signatures with Ed25519, in one fixed form.

Source    RFC 9421, with the digest of RFC 9530; the key id is the sender's name.
Signed    in a request: method, path, digest and type of the content, Idempotency-Key (the nonce),
          and Tacit-Audience (the receiver's name and public key, so that a message for one
          deployment is not valid for another of the same name). In an answer: status, digest and
          type, Tacit-Audience (the vendor that asked), and the nonce of the request.
Accepted  only a message with a single signature, in exactly the form that `sign` writes, by a known
          key, for this receiver, not older than `VALID_SECONDS` and not from the future; clocks may
          differ by `CLOCK_SKEW`. The ledger notices a second use of a nonce.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.errors import ConfigError
from tacit.service.keys import create_private_file, read_private_file

VALID_SECONDS = 60
"""Seconds for which a signature is valid."""
CLOCK_SKEW = 30
"""Seconds by which the clocks of two vendors may differ."""
OCTETS = "application/octet-stream"
"""Type of the content of all messages."""
AUDIENCE = "tacit-audience"
"""Name of the header for the receiver of a message."""
_PARAMETERS = re.compile(
    r"\([a-z@\" -]*\);created=(?P<created>[1-9][0-9]{0,11})"
    r';nonce="(?P<nonce>[A-Za-z0-9._~-]{8,128})"'
    r';keyid="(?P<keyid>[a-z0-9][a-z0-9_-]{0,63})";alg="ed25519";tag="[a-z-]{1,64}"'
)
"""The signature parameters that `_parameters` formats."""
_SIGNATURE = re.compile(r"tacit=:([A-Za-z0-9+/]{86}==):")
"""The header "signature": 64 bytes in base64, labelled "tacit"."""


class SignatureError(ValueError):
    """A message is not validly signed. The error does not tell a sender why."""


def sign(
    key: Ed25519PrivateKey,
    *,
    sender: str,
    audience: str,
    body: bytes,
    nonce: str,
    now: float,
    path: str = "",
    status: int = 0,
) -> dict[str, str]:
    """Make the signed headers of a POST, or of the answer to one.

    Args:
        key: private key of the sender.
        sender: name of the sender, which is the key id.
        audience: receiver of the message, from `audience_of`.
        body: the content.
        nonce: of the request, or of the request that an answer is for.
        now: seconds since 1970.
        path: of the POST; "" for an answer.
        status: of the answer; unused for a POST.

    Returns:
        Values of headers by name, in lower case.
    """
    components = _signed_components(audience, body, nonce, path, status)
    parameters = _parameters(components, str(int(now)), nonce, sender, path)
    signature = base64.b64encode(key.sign(signature_base(components, parameters))).decode()
    return _headers_among(components) | {
        "signature-input": f"tacit={parameters}",
        "signature": f"tacit=:{signature}:",
    }


def check(
    headers: Sequence[tuple[str, str]],
    *,
    senders: Mapping[str, Ed25519PublicKey],
    audience: str,
    body: bytes,
    now: float,
    path: str = "",
    status: int = 0,
    nonce: str = "",
) -> tuple[str, str]:
    """Check the signature of a POST, or of the answer to one.

    Args:
        headers: all headers, names in lower case.
        senders: public keys of the possible senders, by name.
        audience: receiver that the message must be signed for, from `audience_of`.
        body: the content as received.
        now: seconds since 1970.
        path: of the POST; "" for an answer.
        status: of the answer; unused for a POST.
        nonce: of the request that an answer must be for; "" for a POST, which has its own.

    Returns:
        Name of the sender, and the nonce.

    Raises:
        SignatureError: The message is not validly signed.
    """
    label, _, parameters = _single_header(headers, "signature-input").partition("=")
    match = _PARAMETERS.fullmatch(parameters)
    signature = _SIGNATURE.fullmatch(_single_header(headers, "signature"))
    if label != "tacit" or match is None or signature is None:
        raise SignatureError
    components = _signed_components(audience, body, nonce or match["nonce"], path, status)
    for name, value in _headers_among(components).items():
        if _single_header(headers, name) != value:
            raise SignatureError
    expected_parameters = _parameters(
        components, match["created"], match["nonce"], match["keyid"], path
    )
    if parameters != expected_parameters:
        raise SignatureError
    key = senders.get(match["keyid"])
    age = now - int(match["created"])
    if key is None or not -CLOCK_SKEW <= age <= VALID_SECONDS + CLOCK_SKEW:
        raise SignatureError
    if nonce and match["nonce"] != nonce:
        raise SignatureError
    try:
        key.verify(base64.b64decode(signature[1]), signature_base(components, parameters))
    except InvalidSignature:
        raise SignatureError from None
    return match["keyid"], match["nonce"]


def _signed_components(
    audience: str, body: bytes, nonce: str, path: str, status: int
) -> dict[str, str]:
    """Return all signed components by name, in the order of signing; args as in `sign`."""
    digest = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    content = {"content-digest": digest, "content-type": OCTETS}
    if not path:
        return {"@status": str(status), **content, AUDIENCE: audience}
    request = {"@method": "POST", "@path": path, **content, "idempotency-key": nonce}
    return request | {AUDIENCE: audience}


def _headers_among(components: Mapping[str, str]) -> dict[str, str]:
    """Select the components that are headers; names of all others begin with @."""
    return {name: value for name, value in components.items() if not name.startswith("@")}


def _parameters(components: Iterable[str], created: str, nonce: str, sender: str, path: str) -> str:
    """Format the signature parameters (RFC 9421, 2.3).

    Args:
        components: names of the signed components, in their order.
        created: seconds since 1970, in digits.
        nonce: of the request, or of the request that an answer is for.
        sender: name of the sender.
        path: of a POST; "" for an answer.
    """
    names = " ".join(f'"{name}"' for name in components)
    tag = "tacit-vendors" if path else "tacit-vendors-answer"
    return f'({names});created={created};nonce="{nonce}";keyid="{sender}";alg="ed25519";tag="{tag}"'


def signature_base(components: Mapping[str, str], parameters: str) -> bytes:
    """Make the signature base: the bytes that are signed (RFC 9421, 2.5)."""
    lines = [f'"{name}": {value}' for name, value in components.items()]
    return "\n".join([*lines, f'"@signature-params": {parameters}']).encode("ascii")


def audience_of(name: str, key: Ed25519PublicKey) -> str:
    """Name the audience of messages to the vendor of this name and public key."""
    return f"{name} {public_text(key)}"


def new_vendor_key(path: Path) -> str:
    """Make a new private key, and write it to a file that only its owner can read.

    Returns:
        The public key, as it is written in a neighbour's tacit.toml.

    Raises:
        ConfigError: The file exists already.
    """
    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        create_private_file(path, content)
    except FileExistsError:
        raise ConfigError(f"{path} exists already, and a key is never replaced.") from None
    return public_text(key.public_key())


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read a vendor's private key from its file.

    Raises:
        ConfigError: The file does not hold such a key, is missing, or can be read by others than
            its owner.
    """
    content = read_private_file(path, "the power to sign as this vendor")
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{path}: holds no private key of a vendor (Ed25519, PEM).")
    return key


def public_text(key: Ed25519PublicKey) -> str:
    """Format a public key as it is written in a neighbour's tacit.toml: base64 of 32 bytes."""
    return base64.b64encode(key.public_bytes_raw()).decode()


def read_public_key(text: str) -> Ed25519PublicKey:
    """Read a public key; ConfigError unless the text is 32 bytes in base64."""
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))
    except ValueError:
        raise ConfigError("A neighbour's public key is 32 bytes in base64.") from None


def _single_header(headers: Sequence[tuple[str, str]], name: str) -> str:
    """Return the value of a header.

    Raises:
        SignatureError: The header does not occur exactly once, or is not printable ASCII.
    """
    values = [value for header, value in headers if header == name]
    if len(values) != 1 or not values[0].isascii() or not values[0].isprintable():
        raise SignatureError
    return values[0]
