"""`tacit ledger backup` and `restore`: no copy gives a budget back."""

from __future__ import annotations

import json
import threading

import pytest

from tacit.cli.app import main
from tacit.errors import ConfigError
from tacit.ledger import Cap, Holder, LedgerRefused, open_ledger
from tacit.ledger.inspection import backup
from tests.support.ledger_requests import ask

FILMS = Holder.dataset("shop", "films")


@pytest.fixture
def path(tmp_path):
    """A ledger with one release."""
    with open_ledger(tmp_path / "b.db") as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.0001"))
        ask(ledger, "a", FILMS, steps=4)
    return tmp_path / "b.db"


def copied(path):
    """A backup of it."""
    copy = path.with_name("copy.db")
    assert main(["ledger", "backup", str(path), "--out", str(copy)]) == 0
    return copy


def restored(path, copy, *flags):
    """The exit code of restoring it where the ledger was."""
    return main(["ledger", "restore", str(path), "--source", str(copy), *flags])


def test_the_newest_backup_goes_on(path, capsys):
    """The store is lost, the second place is not: everything that was spent is spent."""
    copy = copied(path)
    path.unlink()
    assert restored(path, copy) == 0
    with open_ledger(path) as ledger:
        assert ledger.balance(FILMS).spent == 4
    assert path.stat().st_mode & 0o077 == 0


def test_an_older_backup_is_refused(path, capsys):
    """One release came after it: the reason is said, and nothing is written."""
    copy = copied(path)
    with open_ledger(path) as ledger:
        ask(ledger, "b", FILMS)
    path.unlink()
    assert restored(path, copy) == 5
    assert "older than what the second place" in capsys.readouterr().err
    assert not path.exists()


def test_without_a_second_place_it_is_refused(path, capsys):
    """Nothing can say whether the backup is the newest."""
    copy = copied(path)
    path.unlink()
    path.with_name("b.db.head").unlink()
    assert restored(path, copy) == 5
    assert not path.exists()


def test_a_ledger_is_not_overwritten(path, capsys):
    """Neither by a restore nor by a backup."""
    copy = copied(path)
    before = path.read_bytes(), copy.read_bytes()
    assert restored(path, copy) == 2
    assert main(["ledger", "backup", str(path), "--out", str(copy)]) != 0
    assert (path.read_bytes(), copy.read_bytes()) == before


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_what_is_left_of_a_lost_ledger_is_not_passed_over(path, capsys, end):
    """Its log would be brought into the restored file, or be lost with what it alone holds."""
    copy = copied(path)
    path.unlink()
    left = path.with_name(path.name + end)
    left.write_bytes(b"x")
    assert restored(path, copy) == 2
    assert left.name in capsys.readouterr().err
    assert not path.exists()


def test_a_damaged_backup_is_refused(path, capsys):
    """A changed byte in the log."""
    copy = copied(path)
    path.unlink()
    content = bytearray(copy.read_bytes())
    place = content.index(b'"ledger"')
    content[place + 12] ^= 1
    copy.write_bytes(bytes(content))
    assert restored(path, copy) in (2, 5)
    assert not path.exists()


def test_a_backup_while_it_is_used_is_sound(path, capsys):
    """Other threads spend at the same time; the copy is of one moment, and needs no log."""
    copy = path.with_name("copy.db")
    with open_ledger(path) as ledger:
        threads = [
            threading.Thread(target=ask, args=(ledger, f"n{number}", FILMS)) for number in range(20)
        ]
        for thread in threads:
            thread.start()
        ledger.copy(copy)
        for thread in threads:
            thread.join()
    main(["ledger", "verify", str(copy), "--second", f"{path}.head", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert 1 <= found["releases"] <= 21
    assert all("older than" in problem for problem in found["problems"])
    assert copy.stat().st_mode & 0o077 == 0


def test_a_backup_that_fails_leaves_the_earlier_one(tmp_path):
    """With --force, too: the earlier backup is replaced only by a complete one."""
    earlier = tmp_path / "earlier.db"
    earlier.write_bytes(b"SQLite format 3\0 earlier")
    missing = tmp_path / "missing.db"
    assert main(["ledger", "backup", str(missing), "--out", str(earlier), "--force"]) != 0
    assert [path.name for path in tmp_path.iterdir()] == ["earlier.db"]
    assert earlier.read_bytes() == b"SQLite format 3\0 earlier"


def test_a_backup_replaces_an_earlier_one(tmp_path, capsys):
    """The name may hold a blank: the command that restores the copy is printed with quotes."""
    path, copy = tmp_path / "budgets.db", tmp_path / "a copy.db"
    open_ledger(path).close()
    copy.write_bytes(b"SQLite format 3\0 earlier")
    assert main(["ledger", "backup", str(path), "--out", str(copy), "--force"]) == 0
    assert f"--source '{copy}'" in capsys.readouterr().out
    assert sorted(file.name for file in tmp_path.glob("a copy*")) == ["a copy.db"]
    assert copy.read_bytes().startswith(b"SQLite format 3")


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""])
def test_a_file_that_is_no_ledger_has_no_backup(tmp_path, content, capsys):
    """It is refused with a sentence, and no file is written."""
    path = tmp_path / "b.db"
    path.write_bytes(content)
    with pytest.raises((LedgerRefused, ConfigError), match="no ledger"):
        backup(path, tmp_path / "copy.db")
    assert main(["ledger", "backup", str(path)]) in (2, 5)
    assert [file.name for file in tmp_path.iterdir()] == ["b.db"]


@pytest.mark.parametrize("command", ["backup", "export"])
@pytest.mark.parametrize("name", ["b.db", "b.db.head", "b.db-wal", "same/../b.db", "link.db"])
def test_a_ledgers_own_files_are_not_written_over(path, command, name, capsys):
    """Under any spelling and through a link, also with --force."""
    (path.parent / "same").mkdir()
    (path.parent / "link.db").symlink_to(path)
    contents = {file: file.read_bytes() for file in path.parent.glob("b.db*")}
    out = f"{path.parent}/{name}"
    assert main(["ledger", command, str(path), "--out", out, "--force"]) == 2
    assert "of the ledger itself" in capsys.readouterr().err
    assert {file: file.read_bytes() for file in path.parent.glob("b.db*")} == contents


def test_a_folder_is_not_replaced_by_a_backup(path, monkeypatch, capsys):
    """With --force neither: it is a sentence, and no file is left."""
    monkeypatch.chdir(path.parent)
    (path.parent / "folder").mkdir()
    names = sorted(path.parent.iterdir())
    for out in (".", "folder"):
        assert main(["ledger", "backup", "b.db", "--out", out, "--force"]) == 1
        assert "Error" in capsys.readouterr().err
    assert sorted(path.parent.iterdir()) == names


def test_what_is_no_backup_is_not_replaced(tmp_path, capsys):
    """Such as the second place of this ledger, which its file does not name."""
    path, head = tmp_path / "b.db", tmp_path / "other.head"
    open_ledger(path, second=head).close()
    before = head.read_bytes()
    assert main(["ledger", "backup", str(path), "--out", str(head), "--force"]) == 2
    assert "no earlier backup" in capsys.readouterr().err
    assert head.read_bytes() == before


def test_the_log_of_a_linked_ledger_is_not_written_over(tmp_path, capsys):
    """SQLite keeps it beside the file that the link names."""
    (tmp_path / "real").mkdir()
    open_ledger(tmp_path / "real" / "b.db").close()
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "real" / "b.db")
    out = tmp_path / "real" / "b.db-wal"
    assert main(["ledger", "backup", str(link), "--out", str(out)]) == 2
    assert "a file of the ledger itself" in capsys.readouterr().err
    assert not out.exists()
