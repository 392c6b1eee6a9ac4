"""What vendors send is signed as RFC 9421 has it, and whatever is spelled otherwise is refused."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from tacit.cli.app import main
from tacit.designs.pdap.serve import signatures
from tacit.designs.pdap.serve.signatures import (
    SignatureError,
    audience_of,
    new_vendor_key,
    public_text,
    read_private_key,
    read_public_key,
    sign,
    signature_base,
)
from tacit.errors import ConfigError
from tacit.service.keys import create_private_file

KEY, STRANGER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
BODY, NOW, NONCE = b"\x01\x02\x03", 1_700_000_000.0, "00112233445566778899aabbccddeeff"
OWN = Ed25519PrivateKey.generate()
ARTHOUSE, CINEMA = (
    audience_of("arthouse", OWN.public_key()),
    audience_of("cinema", KEY.public_key()),
)
PATH = "/api/vendors/arthouse/forwards"


def headers(**changed):
    sent = {
        "sender": "cinema",
        "audience": ARTHOUSE,
        "path": PATH,
        "body": BODY,
        "nonce": NONCE,
        "now": NOW,
        **changed,
    }
    return list(sign(sent.pop("key", KEY), **sent).items())


def check(found, **changed):
    expected = {"audience": ARTHOUSE, "path": PATH, "body": BODY, "now": NOW, **changed}
    senders = {"cinema": KEY.public_key()}
    return signatures.check(found, **{"senders": senders, **expected})


def test_the_standards_example():
    """RFC 9421, B.2.6: the signature there holds for the base that is built here."""
    values = {
        "date": "Tue, 20 Apr 2021 02:07:55 GMT",
        "@method": "POST",
        "@path": "/foo",
        "@authority": "example.com",
        "content-type": "application/json",
        "content-length": "18",
    }
    names = " ".join(f'"{name}"' for name in values)
    base = signature_base(values, f'({names});created=1618884473;keyid="test-key-ed25519"')
    public = base64.urlsafe_b64decode("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs=")
    signature = (
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="
    )
    Ed25519PublicKey.from_public_bytes(public).verify(base64.b64decode(signature), base)


def test_what_is_signed_is_known_by_sender_and_nonce():
    """A request that was signed here is accepted, with the name of its sender."""
    assert check(headers()) == ("cinema", NONCE)


@pytest.mark.parametrize(
    "changed",
    [
        {"audience": audience_of("other", OWN.public_key())},
        {"audience": audience_of("arthouse", STRANGER.public_key())},
        {"audience": "arthouse"},
        {"path": "/api/vendors/arthouse/rewards"},
        {"body": b"\x01\x02\x04"},
        {"senders": {}},
        {"senders": {"cinema": STRANGER.public_key()}},
        {"now": NOW + 91},
        {"now": NOW - 31},
        {"now": NOW + 600},
        {"now": NOW - 600},
    ],
)
def test_another_receiver_path_content_sender_or_time_is_refused(changed):
    """Each of what is covered makes the signature void if it is different."""
    with pytest.raises(SignatureError):
        check(headers(), **changed)


@pytest.mark.parametrize("late", [-30, 0, 60, 90])
def test_clocks_may_differ_by_half_a_minute(late):
    """60 seconds, give or take 30."""
    assert check(headers(), now=NOW + late)


@pytest.mark.parametrize("name", [name for name, _ in headers()])
@pytest.mark.parametrize("how", ["twice", "missing", "longer"])
def test_every_header_is_there_once_and_as_signed(name, how):
    """A header that comes twice, not at all or with something behind it is refused."""
    found = headers()
    if how == "twice":
        found = [*found, *(one for one in found if one[0] == name)]
    elif how == "missing":
        found = [one for one in found if one[0] != name]
    else:
        found = [(known, value + "x" if known == name else value) for known, value in found]
    with pytest.raises(SignatureError):
        check(found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('alg="ed25519"', 'alg="none"'),
        ('alg="ed25519"', 'alg="hmac-sha256"'),
        ('keyid="cinema"', 'keyid="arthouse"'),
        ('"@method" ', ""),
        ("tacit=(", "sig1=("),
        (NONCE, "f" * 32),
        ("created=17", "created=18"),
        ('tag="tacit-vendors"', 'tag="tacit-vendors-answer"'),
    ],
)
def test_other_parameters_are_refused(old, new):
    """Algorithm, key, list of what is covered, label, nonce, time and purpose are fixed."""
    found = [
        (name, value.replace(old, new) if name == "signature-input" else value)
        for name, value in headers()
    ]
    assert found != headers()
    with pytest.raises(SignatureError):
        check(found)


@given(st.lists(st.tuples(st.sampled_from([n for n, _ in headers()]), st.text()), max_size=12))
def test_whatever_comes_is_refused_and_not_a_fault(found):
    """Headers of anything at all raise SignatureError, nothing else."""
    with pytest.raises(SignatureError):
        check(found)


def test_an_answer_belongs_to_its_request():
    """One with the nonce of another request, another status or content, or for another asker."""
    given = {"sender": "arthouse", "status": 200, "body": BODY, "nonce": NONCE, "now": NOW}
    given["audience"] = CINEMA
    signed = list(sign(OWN, **given).items())
    del given["sender"]
    given["senders"] = {"arthouse": OWN.public_key()}
    assert signatures.check(signed, **given) == ("arthouse", NONCE)
    for other in (
        {"nonce": "a" * 32},
        {"status": 201},
        {"body": b""},
        {"now": NOW + 1000},
        {"audience": audience_of("cinema", STRANGER.public_key())},
    ):
        with pytest.raises(SignatureError):
            signatures.check(signed, **{**given, **other})


def test_a_key_is_made_once_and_is_its_owners(tmp_path):
    """The file is readable by its owner alone, and is not written over."""
    path = tmp_path / "vendor.pem"
    public = new_vendor_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert public_text(read_private_key(path).public_key()) == public
    with pytest.raises(ConfigError, match="never replaced"):
        new_vendor_key(path)


@pytest.mark.parametrize("text", ["", "x", "AAAA", "é", "A" * 43])
def test_no_public_key_is_refused_in_a_sentence(text):
    """What is not 32 bytes in base64."""
    with pytest.raises(ConfigError, match="32 bytes"):
        read_public_key(text)


def test_no_private_key_is_refused_in_a_sentence(tmp_path):
    """A file of something else."""
    create_private_file(tmp_path / "k", b"nothing")
    with pytest.raises(ConfigError, match="no private key"):
        read_private_key(tmp_path / "k")


def test_the_command_makes_one(tmp_path, capsys):
    """`tacit keys vendor` writes the private key into the folder and tells the public one."""
    (tmp_path / "tacit.toml").write_text('tenant = "shop"\n')
    assert main(["keys", "vendor", str(tmp_path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["public_key"] == public_text(read_private_key(tmp_path / "vendor.pem").public_key())
