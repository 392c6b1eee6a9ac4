"""The account's secret file: made once, never replaced, and it says whether a letter was sent."""

from __future__ import annotations

import json
import os
import stat

import pytest

from tacit.client import FileAccount
from tacit.errors import DataError, OutputError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "account"


def test_made_once(path, tmp_path):
    """An account is made at the first visit; the next visit finds it, and another file another."""
    first = FileAccount(path, now=1000)
    assert (len(first.secret), first.created, first.last_letter_epoch, first.is_fresh) == (
        32,
        1000,
        -1,
        True,
    )
    again = FileAccount(path, now=2000)
    assert (again.secret, again.created, again.is_fresh) == (first.secret, 1000, False)
    assert FileAccount(tmp_path / "other", now=1000).secret != first.secret


def test_what_was_spoken_is_on_disk(path):
    """The label of the last letter is in the file when `speaks` returns."""
    account = FileAccount(path, now=1000)
    account.store_letter_epoch(7)
    again = FileAccount(path)
    assert (again.last_letter_epoch, again.secret, again.created) == (7, account.secret, 1000)


def test_only_the_owner_reads(path):
    """The file is made, and replaced, for its owner alone, whatever the account's habits are."""
    before = os.umask(0)
    try:
        FileAccount(path).store_letter_epoch(0)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


WHOLE = {"created": 5, "secret": "00" * 32, "spoken": -1, "version": 2}


@pytest.mark.parametrize(
    "text",
    [
        *("", "xyz", "00" * 31, "é", "{", "[]", "{}"),
        *(json.dumps({**WHOLE, name: None}) for name in WHOLE),
        json.dumps({**WHOLE, "version": 3}),
        json.dumps({**WHOLE, "created": -1}),
        json.dumps({**WHOLE, "spoken": True}),
        json.dumps({**WHOLE, "secret": "00"}),
    ],
)
def test_what_is_no_secret(path, text):
    """A file that holds no account is not replaced by a new one."""
    path.write_text(text)
    with pytest.raises(DataError, match="no account"):
        FileAccount(path)
    assert path.read_text() == text


def test_no_folder(tmp_path):
    """A folder that is not there is said in one sentence."""
    with pytest.raises(OutputError, match="cannot be read or written"):
        FileAccount(tmp_path / "no" / "account")


def test_a_draft_of_an_interrupted_write_does_not_open_the_file_to_others(path):
    """A file that is left beside the secret keeps no rights of its own."""
    account = FileAccount(path, now=1000)
    draft = path.with_name(f"{path.name}.new")
    draft.write_bytes(b"")
    draft.chmod(0o644)
    account.store_letter_epoch(7)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
