"""Which rollback is noticed, which cannot be, and a second place that a restore does not reach."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from tacit.cli.app import main
from tacit.errors import ConfigError
from tacit.ledger import Cap, LedgerFailed, LedgerRefused, LedgerUnavailable, open_ledger
from tacit.ledger.addresses import shares_device
from tacit.ledger.chain import Head
from tacit.ledger.heads import FileHead
from tests.support.ledger_requests import FILMS, ask, refused

MEMORY = Path("/dev/shm")


@pytest.fixture(autouse=True)
def no_server_in_the_environment(monkeypatch):
    """Unset the variables from which libpq takes what an address does not name."""
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=["file", "postgres"])
def second(request, tmp_path):
    """Where a second place is that nothing restores."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres").database()
    return tmp_path / "elsewhere" / "head"


@pytest.fixture
def spent(tmp_path, second):
    """A ledger with one release, and a copy of its store from before."""
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "budgets.db"
    with open_ledger(path, second=second) as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.000001"))
    shutil.copy(path, tmp_path / "older.db")
    with open_ledger(path, second=second) as ledger:
        ask(ledger, "a", FILMS)
    return path


def test_a_store_that_was_rolled_back_alone(spent, second, tmp_path):
    """The second place remembers more than the store: it is refused."""
    shutil.copy(tmp_path / "older.db", spent)
    told = refused(LedgerRefused, lambda: open_ledger(spent, second=second))
    assert "older" in told


def test_a_store_that_is_gone(spent, second):
    """A new ledger beside a second place that remembers one is refused."""
    spent.unlink()
    refused(LedgerRefused, lambda: open_ledger(spent, second=second))


def test_a_second_place_of_another_ledger(spent, second, tmp_path):
    """It is refused, and stays what it was."""
    other = tmp_path / "other.db"
    open_ledger(other).close()
    refused(LedgerRefused, lambda: open_ledger(other, second=second))
    open_ledger(spent, second=second).close()


def test_both_rolled_back_together(tmp_path):
    """What the documentation says cannot be noticed: the budget is there again."""
    path, head = tmp_path / "budgets.db", tmp_path / "budgets.db.head"
    with open_ledger(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.000001"))
    for file in (path, head):
        shutil.copy(file, f"{file}.older")
    with open_ledger(path) as ledger:
        ask(ledger, "a", FILMS)
    for file in (path, head):
        shutil.copy(f"{file}.older", file)
    with open_ledger(path) as ledger:
        assert ledger.balance(FILMS).spent == 0


def test_both_rolled_back_while_open(tmp_path):
    """A process that has the ledger open remembers its newest entry, and refuses."""
    path, head = tmp_path / "budgets.db", tmp_path / "budgets.db.head"
    with open_ledger(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))
        for file in (path, head):
            shutil.copy(file, f"{file}.older")
        ask(ledger, "a", FILMS)
        for file in (path, head):
            file.write_bytes(Path(f"{file}.older").read_bytes())
        refused(LedgerRefused, lambda: ask(ledger, "b", FILMS))


def test_a_second_place_that_is_away(postgres, tmp_path):
    """Nothing is released while it does not answer; afterwards the same key is charged once."""
    with open_ledger(tmp_path / "a.db", second=postgres.database(), patience=60) as ledger:
        ledger.open_budget(FILMS, Cap.pure("1"))
        postgres.stop()
        try:
            told = refused(LedgerUnavailable, lambda: ask(ledger, "a", FILMS))
        finally:
            postgres.start()
        assert "second place" in told
        ask(ledger, "a", FILMS)
        assert ledger.balance(FILMS).spent == 1


def test_one_device_is_noticed(tmp_path):
    """Two files of one device are together, also where a folder is not made yet; so are two
    databases of one server. A file and a server are apart."""
    path = tmp_path / "a.db"
    assert shares_device(path, None)
    assert shares_device(path, tmp_path / "new" / "folder" / "head")
    assert shares_device(str(path), f"sqlite:///{tmp_path}/head")
    one, other = "postgresql://u:p@one/a", "postgresql://u@other/a"
    assert shares_device(one, "postgresql://x@one:5432/b")
    assert not shares_device(one, other)
    assert not shares_device(one, path)
    assert not shares_device(path, one)


def test_two_devices_are_apart(tmp_path):
    """A file system of its own is another device."""
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second file system here: mount one at /dev/shm")
    assert not shares_device(tmp_path / "a.db", MEMORY / "a.head")


@pytest.mark.parametrize("words", [("show",), ("verify",), ("verify", "--json")])
def test_the_commands_warn(tmp_path, capsys, words):
    """`tacit ledger` says that both lie on one device, with --json in the object."""
    path = tmp_path / "a.db"
    open_ledger(path).close()
    assert main(["ledger", words[0], str(path), *words[1:]]) == 0
    told = capsys.readouterr()
    where = told.out if "--json" in words else told.err
    assert "one device" in where
    assert "Warning" not in told.out


def test_a_password_is_not_shown(postgres, tmp_path, capsys):
    """The next command that is proposed names no address."""
    where = postgres.database().replace("tacit@", "tacit:c4n4ry@")
    assert main(["ledger", "create", str(tmp_path / "a.db"), "--second", where]) == 0
    told = capsys.readouterr()
    assert "c4n4ry" not in told.out + told.err
    assert "--second SECOND" in told.out
    assert "Warning" not in told.err


@pytest.mark.parametrize("host", ["", "localhost", "127.0.0.1", "[::1]", "LOCALHOST"])
def test_names_of_this_machine_are_one_server(host):
    """Whatever this machine's server is called in the two addresses, a restore moves both back."""
    store, other = "postgresql://127.0.0.1/store", f"postgresql://{host}/second"
    assert shares_device(store, other)
    assert shares_device(store, "postgresql:///second?host=/var/run/postgresql")
    assert not shares_device(store, "postgresql://elsewhere.example/second")
    assert not shares_device(store, f"postgresql://{host or 'localhost'}:5433/second")
    assert not shares_device(store, f"postgresql://{host}/second?port=5433")
    assert shares_device(f"{store}?port=5433", f"postgresql://{host}/second?port=5433")
    assert not shares_device(store, f"postgresql://{host}/second?host=elsewhere.example")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://one:7/second",
        "postgresql:///second?host=one:7",
        "postgresql://two:8/second?host=ONE:7",
        "postgresql:///second?host=one&port=7",
        "postgresql:///second?host=two,one&port=8,7",
        "postgresql:///second?host=two:8&host=one:7",
        "postgresql://two,one:7/second",
        "postgresql:///second?host=two,one&port=,7",
    ],
)
def test_every_way_to_name_a_server_is_compared(address):
    """libpq and SQLAlchemy accept several hosts and ports; any server in both addresses counts."""
    assert shares_device("postgresql://one:7/store", address)
    assert shares_device("postgresql:///store?host=three,one&port=9,7", address)
    assert not shares_device("postgresql://one/store", address)
    assert not shares_device("postgresql://one:8/store", address)
    assert not shares_device("postgresql:///store?host=three,one&port=7,9", address)


def test_hosts_without_ports_have_the_usual_one():
    """The port before the question mark is not that of several hosts after it."""
    address = "postgresql://other:7/second?host=one,two"
    assert shares_device("postgresql://two:5432/store", address)
    assert not shares_device("postgresql://two:7/store", address)


def test_a_numeric_address_counts_before_the_hosts_name():
    """libpq connects to `hostaddr`; the host's name is then only what a certificate has to name."""
    address = "postgresql://one/second?hostaddr=192.0.2.7"
    assert shares_device("postgresql://192.0.2.7/store", address)
    assert shares_device("postgresql://two/store?hostaddr=192.0.2.8,192.0.2.7", address)
    assert not shares_device("postgresql://one/store?hostaddr=192.0.2.8", address)
    assert shares_device("postgresql:///store", "postgresql://one/second?hostaddr=127.0.0.2")
    assert shares_device("postgresql://[2001:db8::1]/a", "postgresql://[2001:db8:0:0::1]/b")


def test_the_environment_names_what_an_address_leaves_out(monkeypatch):
    """libpq reads PGHOST, PGHOSTADDR and PGPORT for what no address names."""
    monkeypatch.setenv("PGHOST", "one")
    monkeypatch.setenv("PGPORT", "7")
    assert shares_device("postgresql:///store", "postgresql://one:7/second")
    assert not shares_device("postgresql:///store", "postgresql://localhost:7/second")
    assert not shares_device("postgresql:///store", "postgresql://one:5432/second")
    monkeypatch.setenv("PGHOSTADDR", "192.0.2.7")
    assert shares_device("postgresql://two/store", "postgresql://192.0.2.7/second")


@pytest.mark.parametrize(
    "query",
    ["host=a,b&port=1,2,3", "host=a:1&host=b:2&port=3", "port=seven", "host=a:1:2&host=b:3:4"],
)
def test_hosts_and_ports_that_do_not_fit_are_refused(query, tmp_path):
    """A sentence says so, without the password, wherever such an address is used."""
    address = f"postgresql://user:c4n4ry@one/db?{query}"
    for use in (
        lambda: open_ledger(address, second=tmp_path / "head"),
        lambda: open_ledger(tmp_path / "a.db", second=address),
        lambda: shares_device("postgresql://one/store", address),
    ):
        with pytest.raises(ConfigError, match="hosts and ports") as refusal:
            use()
        assert "c4n4ry" not in str(refusal.value)


def test_a_second_place_is_found_after_a_power_cut(tmp_path, monkeypatch):
    """Until its folder was synced the file's name is on no disk: a process that finds the file does
    not rely on the one that made it, whose sync may have failed."""
    folders, sync = [], os.fsync

    def watched(number):
        if stat.S_ISDIR(os.fstat(number).st_mode):
            folders.append(number)
            if len(folders) == 1:
                raise OSError(errno.EIO, "injected")
        sync(number)

    monkeypatch.setattr(os, "fsync", watched)
    chain = {number: f"{number:064}" for number in (1, 2, 3)}
    heads = [Head("l", number, digest) for number, digest in chain.items()]
    with pytest.raises(LedgerFailed):
        FileHead(tmp_path / "head").advance(heads[0], chain.get)
    again = FileHead(tmp_path / "head")
    again.advance(heads[1], chain.get)
    assert len(folders) == 2
    again.advance(heads[2], chain.get)
    assert len(folders) == 2


def test_a_torn_write_never_costs_the_newest_head(tmp_path):
    """A write goes to the slot that does not hold the newest head, however far the numbers jump."""
    path = tmp_path / "head"
    chain = {number: f"{number:064}" for number in (1, 3, 5)}
    for number, digest in chain.items():
        newest = FileHead(path).read()
        before = path.read_bytes() if newest else b""
        FileHead(path).advance(Head("l", number, digest), chain.get)
        after = path.read_bytes()
        if newest:
            (written,) = [at for at in (0, 4096) if after[at:][:512] != before[at:][:512]]
            path.write_bytes(after[:written] + b"x" * 256 + after[written + 256 :])
            assert FileHead(path).read() == newest
            path.write_bytes(after)


def test_a_head_that_was_not_synced_is_synced_before_the_other_slot_is_written(
    tmp_path, monkeypatch
):
    """The process that wrote it was killed, so only the other slot is surely on disk."""
    path = tmp_path / "head"
    chain = {number: f"{number:064}" for number in (1, 2, 3)}
    heads = [Head("l", number, digest) for number, digest in chain.items()]
    FileHead(path).advance(heads[0], chain.get)
    on_disk = [path.read_bytes()]
    sync = os.fsync

    def fail(number):
        if heads[1].hash.encode() in path.read_bytes():
            raise KeyboardInterrupt
        sync(number)

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(KeyboardInterrupt):
        FileHead(path).advance(heads[1], chain.get)

    def remember(number):
        sync(number)
        if not stat.S_ISDIR(os.fstat(number).st_mode):
            on_disk.append(path.read_bytes())

    monkeypatch.setattr(os, "fsync", remember)
    write = os.pwrite

    def write_when_newest_is_on_disk(number, data, place):
        if path.read_bytes()[place:].startswith(data):
            return write(number, data, place)
        (tmp_path / "disk").write_bytes(on_disk[-1])
        assert FileHead(tmp_path / "disk").read() == heads[1]
        return write(number, data, place)

    monkeypatch.setattr(os, "pwrite", write_when_newest_is_on_disk)
    FileHead(path).advance(heads[2], chain.get)
    assert FileHead(path).read() == heads[2]
