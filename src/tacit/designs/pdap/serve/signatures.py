"""Signed messages between vendors: HTTP Message Signatures with Ed25519, one form of them only.

Source    RFC 9421, with the digest of RFC 9530; the key id is the sender's name.
Covered   of a request: method, path, digest and type of the content, Idempotency-Key (the nonce),
          and Tacit-Audience (the receiver's name and public key, so that a message for one
          deployment is none for another of the same name). Of an answer: status, digest and type,
          Tacit-Audience (the service that asked), and the nonce of the request that it answers.
Refused   whatever is not spelled as it is written here: one signature, all of this and nothing
          else, made by a known key, for this receiver, not older than `LASTS` seconds and not from
          the future, give or take `SKEW`. A second use of a nonce is the ledger's to notice.
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

LASTS = 60
SKEW = 30
OCTETS = "application/octet-stream"
AUDIENCE = "tacit-audience"
_PARAMETERS = re.compile(
    r"\([a-z@\" -]*\);created=(?P<created>[1-9][0-9]{0,11})"
    r';nonce="(?P<nonce>[A-Za-z0-9._~-]{8,128})"'
    r';keyid="(?P<keyid>[a-z0-9][a-z0-9_-]{0,63})";alg="ed25519";tag="[a-z-]{1,64}"'
)
_SIGNATURE = re.compile(r"tacit=:([A-Za-z0-9+/]{86}==):")


class SignatureError(ValueError):
    """A message that is not signed as it has to be. Why is nobody's business."""


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
        sender: its name, which is the key id.
        audience: receiver of the message, as of `audience_of`.
        body: the content.
        nonce: of the request; an answer has that of the request that it answers.
        now: seconds since 1970.
        path: of the POST; "" for an answer.
        status: of the answer; unused for a POST.

    Returns:
        Values of headers by name, in small letters.
    """
    values = _signed_components(audience, body, nonce, path, status)
    parameters = _parameters(values, str(int(now)), nonce, sender, path)
    signature = base64.b64encode(key.sign(base_of(values, parameters))).decode()
    own = {name: value for name, value in values.items() if not name.startswith("@")}
    signed = {"signature-input": f"tacit={parameters}", "signature": f"tacit=:{signature}:"}
    return own | signed


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
        headers: all headers, names in small letters.
        senders: public keys of those that may have sent it, by name.
        audience: receiver that it has to be signed for, as of `audience_of`.
        body: the content as received.
        now: seconds since 1970.
        path: of the POST; "" for an answer.
        status: of the answer; unused for a POST.
        nonce: of the request that an answer has to answer; "" for a POST, which has its own.

    Returns:
        Name of the sender, and the nonce.

    Raises:
        SignatureError: It is not signed as it has to be.
    """
    label, _, parameters = _single_header(headers, "signature-input").partition("=")
    match = _PARAMETERS.fullmatch(parameters)
    signature = _SIGNATURE.fullmatch(_single_header(headers, "signature"))
    if label != "tacit" or match is None or signature is None:
        raise SignatureError
    values = _signed_components(audience, body, nonce or match["nonce"], path, status)
    if any(
        _single_header(headers, name) != value for name, value in values.items() if name[0] != "@"
    ):
        raise SignatureError
    written = _parameters(values, match["created"], match["nonce"], match["keyid"], path)
    key, age = senders.get(match["keyid"]), now - int(match["created"])
    if parameters != written or key is None or not -SKEW <= age <= LASTS + SKEW:
        raise SignatureError
    if nonce and match["nonce"] != nonce:
        raise SignatureError
    try:
        key.verify(base64.b64decode(signature[1]), base_of(values, parameters))
    except InvalidSignature:
        raise SignatureError from None
    return match["keyid"], match["nonce"]


def _signed_components(
    audience: str, body: bytes, nonce: str, path: str, status: int
) -> dict[str, str]:
    """All that is signed, in its order."""
    digest = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    content = {"content-digest": digest, "content-type": OCTETS}
    if not path:
        return {"@status": str(status), **content, AUDIENCE: audience}
    request = {"@method": "POST", "@path": path, **content, "idempotency-key": nonce}
    return request | {AUDIENCE: audience}


def _parameters(covered: Iterable[str], created: str, nonce: str, sender: str, path: str) -> str:
    names = " ".join(f'"{name}"' for name in covered)
    tag = "tacit-vendors" if path else "tacit-vendors-answer"
    signed = f'({names});created={created};nonce="{nonce}";keyid="{sender}"'
    return f'{signed};alg="ed25519";tag="{tag}"'


def base_of(values: Mapping[str, str], parameters: str) -> bytes:
    """The signature base: the bytes that are signed (RFC 9421, 2.5)."""
    lines = [f'"{name}": {value}' for name, value in values.items()]
    return "\n".join([*lines, f'"@signature-params": {parameters}']).encode("ascii")


def audience_of(name: str, key: Ed25519PublicKey) -> str:
    """A vendor that is meant: of this name, and with this key."""
    return f"{name} {public_text(key)}"


def new_vendor_key(path: Path) -> str:
    """Make a private key that its owner alone can read; gives the public one, for tacit.toml."""
    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        create_private_file(path, content)
    except FileExistsError:
        raise ConfigError(f"{path}: is there already. A key is made once.") from None
    return public_text(key.public_key())


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """ConfigError if the file holds no such key, or others than its owner may open it."""
    content = read_private_file(path, "this vendor's signature")
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{path}: holds no private key of a vendor (Ed25519, PEM).")
    return key


def public_text(key: Ed25519PublicKey) -> str:
    """Write a public key as it stands in a neighbour's tacit.toml."""
    return base64.b64encode(key.public_bytes_raw()).decode()


def read_public_key(text: str) -> Ed25519PublicKey:
    """ConfigError unless it is 32 bytes in base64."""
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))
    except ValueError:
        raise ConfigError("A neighbour's public key is 32 bytes in base64.") from None


def _single_header(headers: Sequence[tuple[str, str]], name: str) -> str:
    """A header that is there once, of printable signs."""
    values = [value for known, value in headers if known == name]
    if len(values) != 1 or not values[0].isascii() or not values[0].isprintable():
        raise SignatureError
    return values[0]
