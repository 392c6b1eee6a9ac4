"""Keys: what is kept of them, whom they let in, and the commands that give and take them."""

from __future__ import annotations

import json
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.cli.app import main
from tacit.cli.serve import suggest_operator_key
from tacit.errors import ConfigError, DataError, OutputError
from tacit.service import keys
from tacit.service.keys import (
    ANONYMOUS,
    KeyRing,
    Role,
    add_key,
    read_keys,
    read_secret,
    revoke_key,
)

SECRET = bytes(32)


@pytest.fixture
def place(tmp_path):
    """A folder that names its tenant."""
    (tmp_path / "tacit.toml").write_text('tenant = "shop"\n')
    return tmp_path


def ring(path, tenant="shop", secret=SECRET):
    return KeyRing(path, secret, tenant)


def test_a_key_is_known_by_its_hash(tmp_path):
    """The file lets its key in and does not hold it."""
    file = tmp_path / "keys.json"
    key = add_key(file, "ops", Role.OPERATOR, "shop")
    assert ring(file).find_caller(key).role is Role.OPERATOR
    assert key.rpartition(".")[2] not in file.read_text()


def test_a_persons_key_needs_no_file(tmp_path):
    """Any process with the secret knows a person's key, and no other does."""
    file = tmp_path / "none.json"
    key = ring(file).person_key("ann")
    assert ring(file).find_caller(key).name == "ann"
    assert ring(file, secret=b"x" * 32).find_caller(key) is None
    assert ring(file, tenant="other").find_caller(key) is None


def test_a_key_of_another_tenant(tmp_path):
    """An entry of another tenant lets nobody in here."""
    file = tmp_path / "keys.json"
    key = add_key(file, "ops", Role.OPERATOR, "elsewhere")
    assert ring(file).find_caller(key) is None
    assert ring(file, tenant="elsewhere").find_caller(key) is not None


@given(st.text(max_size=200))
def test_no_text_lets_anybody_in(text):
    """Whatever is not a key is nobody's, and raises nothing."""
    found = ring(Path("/nonexistent/keys.json"))
    assert found.find_caller(text) is None
    assert found.find_caller(f"tacit_person_{text}") is None
    assert found.find_caller(f"tacit_{text}." + "0" * 64) is None
    assert found.find_caller(None) is ANONYMOUS


def test_a_changed_key_is_unknown(tmp_path):
    """No sign of a key can be changed, nor its name exchanged."""
    file = tmp_path / "keys.json"
    key, other = (add_key(file, name, Role.AUDITOR, "shop") for name in ("one", "two"))
    known = ring(file)
    for place in range(len(key)):
        sign = "0" if key[place] != "0" else "1"
        assert known.find_caller(key[:place] + sign + key[place + 1 :]) is None
    mixed = key.partition(".")[0] + "." + other.partition(".")[2]
    assert known.find_caller(mixed) is None


@pytest.mark.parametrize("name", ["", "person", "A", "a b", "../x", "a" * 65, "é", "a\n", "_a"])
def test_names_that_are_refused(tmp_path, name):
    """A name stands in addresses and logs, so it is plain and short."""
    with pytest.raises(ConfigError, match="neither 'person' nor begins with 'person_'"):
        add_key(tmp_path / "keys.json", name, Role.OPERATOR, "shop")


def test_a_name_is_given_once(tmp_path):
    """A name that was taken, even by a revoked key, is not given again."""
    file = tmp_path / "keys.json"
    add_key(file, "ops", Role.OPERATOR, "shop")
    revoke_key(file, "ops")
    with pytest.raises(ConfigError, match="in use or revoked"):
        add_key(file, "ops", Role.OPERATOR, "shop")
    with pytest.raises(ConfigError):
        revoke_key(file, "nobody")


def test_keys_that_are_made_at_once_are_all_in_the_file(tmp_path, monkeypatch):
    """A change waits until the one that has read the file has written it."""
    file = tmp_path / "keys.json"
    write = keys.write_whole

    def write_slowly(*arguments):
        time.sleep(0.05)
        write(*arguments)

    monkeypatch.setattr(keys, "write_whole", write_slowly)
    add_key(file, "revoked", Role.AUDITOR, "shop")
    with ThreadPoolExecutor(5) as threads:
        made = [
            threads.submit(add_key, file, f"ops{number}", Role.AUDITOR, "shop")
            for number in range(4)
        ]
        made.append(threads.submit(revoke_key, file, "revoked"))
        for change in made:
            change.result()
    entries = {entry.name: entry.revoked for entry in read_keys(file)}
    assert entries == {"revoked": True, "ops0": False, "ops1": False, "ops2": False, "ops3": False}
    assert [path.name for path in tmp_path.iterdir()] == ["keys.json"]


def test_a_key_for_a_folder_that_is_not_there_is_a_sentence(tmp_path):
    """Nothing is made."""
    with pytest.raises(OutputError, match="cannot be written"):
        add_key(tmp_path / "none" / "keys.json", "ops", Role.OPERATOR, "shop")


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", '{"keys": 1}', '{"keys": [{"name": "a"}]}', '{"keys": ["a"]}', "\xff"),
        '{"keys": [{"name": "a", "role": "king", "tenant": "t", "sha256": ""}]}',
        '{"keys": [{"name": "../a", "role": "operator", "tenant": "t", "sha256": ""}]}',
    ],
)
def test_files_that_are_none(tmp_path, content):
    """What is no file of keys is refused with the command that makes one."""
    file = tmp_path / "keys.json"
    file.write_text(content, encoding="latin-1")
    with pytest.raises(DataError, match="tacit keys add"):
        read_keys(file)


def test_the_secret_is_its_owners(tmp_path):
    """The secret is made once, for its owner alone; one that others can read is not used."""
    file = tmp_path / "service.secret"
    assert read_secret(file) == read_secret(file)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_secret(file)


def test_a_short_secret(tmp_path):
    """A secret that could be guessed is refused."""
    with pytest.raises(ConfigError):
        ring(tmp_path / "keys.json", secret=b"short")


def test_the_commands(place, capsys):
    """add shows a key once, list shows whose keys there are, revoke takes one back."""
    assert main(["keys", "add", str(place), "ops", "--role", "operator", "--json"]) == 0
    key = json.loads(capsys.readouterr().out)["key"]
    assert ring(place / "keys.json").find_caller(key).role is Role.OPERATOR
    assert main(["keys", "list", str(place), "--json"]) == 0
    listed = capsys.readouterr().out
    assert json.loads(listed)["keys"] == [
        {"name": "ops", "role": "operator", "tenant": "shop", "revoked": False}
    ]
    assert key not in listed
    assert main(["keys", "revoke", str(place), "ops"]) == 0
    assert ring(place / "keys.json").find_caller(key) is None


def test_the_suggested_operators_key_can_be_added(place):
    """Its name is not one that is in the file."""
    for name in ("operator", "operator-2", "operator-3"):
        words = shlex.split(suggest_operator_key(place).partition("  makes")[0])
        assert words == ["tacit", "keys", "add", str(place), name, "--role", "operator"]
        assert main(words[1:]) == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["list", "missing"], 2, "tacit.toml"),
        (["add", ".", "ops", "--role", "king"], 2, "operator"),
        (["add", ".", "Ops", "--role", "operator"], 2, "a-z"),
        (["revoke", ".", "ops"], 2, "No key"),
        (["add", ".", "ops"], 2, "--role"),
    ],
)
def test_wrong_commands(place, monkeypatch, capsys, words, code, said):
    """What cannot be done is a sentence that says what to do."""
    monkeypatch.chdir(place)
    assert main(["keys", *words]) == code
    assert said in capsys.readouterr().err


def test_an_empty_list_says_what_to_do(place, capsys):
    """Without keys the next command is shown."""
    assert main(["keys", "list", str(place)]) == 0
    assert "tacit keys add" in capsys.readouterr().out
