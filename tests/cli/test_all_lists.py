"""`tacit recommend MODEL --all RATINGS`: the same lists in every kind of file and database."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading

import polars as pl
import pytest

from tacit.cli.all_lists import strip_credentials
from tacit.cli.app import main
from tacit.data.list_stores import REDIS_PREFIX


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with ratings and a model of them."""
    folder = tmp_path_factory.mktemp("lists")
    words = "--seed 1 --users 120 --items 30 --ratings 2000 --labels 4"
    assert main(["data", "generate", str(folder / "shop.csv"), *words.split()]) == 0
    fit = ["fit", "private", str(folder / "shop.csv"), "-o", str(folder / "m.tacit")]
    assert main([*fit, "--epsilon", "3"]) == 0
    return folder


@pytest.fixture(scope="module")
def expected(made):
    """The lists in Parquet: items and scores by person."""
    assert write(made, "--out", str(made / "lists.parquet")) == 0
    found = {}
    for user, rank, item, score in pl.read_parquet(made / "lists.parquet").iter_rows():
        items, scores = found.setdefault(user, ([], []))
        assert rank == len(items) + 1
        items.append(item)
        scores.append(score)
    assert len(found) == 120
    return found


def write(made, *place):
    """The exit code of writing lists of five to a place."""
    files = [str(made / "m.tacit"), "--all", str(made / "shop.csv")]
    return main(["recommend", *files, "-n", "5", *place])


def test_csv_has_the_same_rows(made, expected):
    """Column by column."""
    assert write(made, "--out", str(made / "lists.csv")) == 0
    rows = pl.read_csv(made / "lists.csv")
    parquet = pl.read_parquet(made / "lists.parquet")
    assert rows.columns == ["user", "rank", "item", "score"]
    assert rows.select("user", "rank", "item").rows() == parquet.select(rows.columns[:3]).rows()
    assert rows["score"].to_list() == pytest.approx(parquet["score"].to_list())


def test_json_lines_have_a_line_for_each_person(made, expected):
    """With items and scores, the best first."""
    assert write(made, "--out", str(made / "lists.jsonl")) == 0
    lines = [json.loads(line) for line in (made / "lists.jsonl").read_text().splitlines()]
    assert {line["user"]: (line["items"], line["scores"]) for line in lines} == expected
    assert len(lines) == len(expected)


def test_sqlite_has_a_table_of_lists(made, expected):
    """A person's list is one query; a second run takes the place of the first."""
    for _ in range(2):
        assert write(made, "--out", str(made / "lists.sqlite")) == 0
    with sqlite3.connect(made / "lists.sqlite") as database:
        for user, (items, _) in expected.items():
            rows = database.execute("SELECT item FROM lists WHERE user=? ORDER BY rank", (user,))
            assert [item for (item,) in rows] == items
    database.close()


def test_postgresql_has_a_table_of_lists(made, expected, postgres):
    """Written twice: the second takes the place of the first."""
    import psycopg

    address = postgres.database()
    for _ in range(2):
        assert write(made, "--into", address) == 0
    with psycopg.connect(address) as connection:
        rows = connection.execute("SELECT user_id, item_id FROM lists ORDER BY user_id, rank")
        found = {}
        for user, item in rows:
            found.setdefault(user, []).append(item)
    assert found == {str(user): list(map(str, items)) for user, (items, _) in expected.items()}


class FakeRedis:
    """A server that keeps what SET says, and answers every command alike."""

    def __init__(self, answer=b"+OK\r\n"):
        self.kept = {}
        self.commands = []
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with self._listening:
            connection, _ = self._listening.accept()
        with connection, connection.makefile("rb") as sent:
            while header := sent.readline():
                words = []
                for _ in range(int(header[1:])):
                    size = int(sent.readline()[1:])
                    words.append(sent.read(size).decode())
                    sent.read(2)
                self.commands.append(words[0])
                if words[0] == "SET":
                    self.kept[words[1]] = json.loads(words[2])
                connection.sendall(self._answer)


def test_redis_has_a_key_for_each_person(made, expected):
    """After the password and the number of the database; neither is shown."""
    server = FakeRedis()
    assert write(made, "--into", f"redis://:secret@127.0.0.1:{server.port}/3") == 0
    assert server.kept == {f"{REDIS_PREFIX}{user}": items for user, (items, _) in expected.items()}
    assert server.commands[:2] == ["AUTH", "SELECT"]


def test_what_redis_refuses_is_an_error_without_the_password(made, capsys):
    """With the server's word for it."""
    server = FakeRedis(b"-WRONGPASS invalid\r\n")
    assert write(made, "--into", f"redis://:secret@127.0.0.1:{server.port}") != 0
    said = capsys.readouterr().err
    assert "WRONGPASS" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    "place",
    [
        ["--out", "lists.xlsx"],
        ["--into", "mysql://host/lists"],
        ["--out", "a.csv", "--into", "redis://host"],
    ],
)
def test_other_places_are_refused_before_a_list_is_made(made, place, capsys):
    """With the kinds that there are."""
    assert write(made, *place) == 2
    assert capsys.readouterr().err.startswith("Error: ")


def test_a_database_is_for_the_lists_of_all(made, capsys):
    """One person's list is shown."""
    assert main(["recommend", str(made / "m.tacit"), "--into", "redis://127.0.0.1"]) == 2
    assert "--all" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("destination", "shown"),
    [
        ("lists.csv", "lists.csv"),
        ("s3://bucket/a@b", "s3://bucket/a@b"),
        ("s3://key:secret@bucket/a", "s3://bucket/a"),
        ("s3a://AK:se/cret@bucket/lists", "s3a://bucket/lists"),
        ("s3://key:secret@bucket/a@b", "s3://..."),
        ("s3://bucket/lists?token=a", "s3://bucket/lists"),
        ("redis://:secret@host:7/3", "redis://host:7/3"),
        ("redis://:se/cret@host/3", "redis://host/3"),
        ("postgresql://h/db?user=u&password=secret", "postgresql://h/db"),
        ("postgresql://h?password=sec/ret", "postgresql://h"),
        ("postgresql://h/db?password=secret@secret", "postgresql://..."),
        ("postgresql://u:secret?secret@h/db", "postgresql://..."),
    ],
)
def test_an_address_is_shown_without_its_password(destination, shown):
    """Wherever it stands; an @ in the path of a folder stays."""
    assert strip_credentials(destination) == shown
