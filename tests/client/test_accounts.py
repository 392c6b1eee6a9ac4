"""The account's secret file: made once, never replaced, and it says whether a letter was sent."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.client import Account, FileAccount
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


def test_an_earlier_epoch_lowers_nothing(path):
    """A program that read the account before another one sent a letter keeps the later epoch."""
    early = FileAccount(path, now=1000)
    FileAccount(path).store_letter_epoch(7)
    early.store_letter_epoch(5)
    assert FileAccount(path).last_letter_epoch == 7
    assert early.last_letter_epoch == early.read_letter_epoch() == 7
    early.store_letter_epoch(8)
    assert FileAccount(path).last_letter_epoch == 8


def test_the_epoch_of_another_program_is_read(path):
    """A program that goes on knows of the letters of others."""
    early = FileAccount(path, now=1000)
    FileAccount(path).store_letter_epoch(7)
    assert early.read_letter_epoch() == 7


def test_an_account_in_no_file_keeps_the_later_epoch():
    """Of two epochs the later one stays, whichever is stored last."""
    account = Account(bytes(32))
    account.store_letter_epoch(7)
    account.store_letter_epoch(5)
    assert account.read_letter_epoch() == account.last_letter_epoch == 7


def test_programs_that_store_at_once_keep_the_latest_epoch(path):
    """Whatever the order in which eight programs store their epochs, the latest is kept."""
    FileAccount(path, now=1000)
    accounts = [FileAccount(path) for _ in range(8)]

    def store_all(number):
        for epoch in range(number, 80, 8):
            accounts[number].store_letter_epoch(epoch)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(store_all, range(8)))
    assert FileAccount(path).last_letter_epoch == 79


def test_another_account_in_the_file_is_not_replaced(path):
    """A file that was exchanged while a program runs keeps its secret, and the program is told."""
    early = FileAccount(path, now=1000)
    path.unlink()
    other = FileAccount(path, now=2000)
    for use in (early.read_letter_epoch, lambda: early.store_letter_epoch(7)):
        with pytest.raises(DataError, match="another account than before"):
            use()
    assert FileAccount(path).secret == other.secret


def test_a_file_that_is_gone_is_written_again(path):
    """The secret is not lost while a program that has read it goes on sending."""
    account = FileAccount(path, now=1000)
    path.unlink()
    assert account.read_letter_epoch() == -1
    account.store_letter_epoch(7)
    again = FileAccount(path)
    assert (again.secret, again.last_letter_epoch) == (account.secret, 7)


def test_only_the_owner_reads(path):
    """The file is made, and replaced, for its owner alone, whatever the account's habits are."""
    before = os.umask(0)
    try:
        FileAccount(path).store_letter_epoch(0)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_name("account.lock").stat().st_mode) == 0o600


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
