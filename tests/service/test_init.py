"""`tacit init`: a folder that serves at once, or nothing."""

from __future__ import annotations

import json
import shlex
import stat
import subprocess
import sys
import urllib.request

import pytest

from tacit.cli.app import main


@pytest.fixture
def ratings(tmp_path):
    """60 people who rated ten items."""
    path = tmp_path / "ratings.csv"
    rows = [
        f"{person},i{item},{1 + (person * item) % 5}" for person in range(60) for item in range(10)
    ]
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    return path


def made(capsys, *words):
    """The object that `tacit init ... --json` prints."""
    capsys.readouterr()
    assert main(["init", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_printed_command_gets_the_first_list(tmp_path, capsys, ratings):
    """Three commands: init, serve, and the curl that init printed."""
    found = made(capsys, tmp_path / "Our Shop", ratings)
    words = shlex.split(found["first_list"])
    with subprocess.Popen(
        [sys.executable, "-m", "tacit.cli.app", "serve", found["folder"], "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        address = json.loads(process.stdout.readline())["address"]
        try:
            headers = dict(words[place + 1].split(": ", 1) for place in (1, 3))
            url = words[-1].replace("http://127.0.0.1:8000", address)
            asked = urllib.request.Request(url, words[6].encode(), headers)
            with urllib.request.urlopen(asked) as answer:
                listed = json.load(answer)
        finally:
            process.terminate()
    assert len(listed["items"]) == 8
    assert listed["personal"]
    assert 'tenant = "our-shop"' in (tmp_path / "Our Shop" / "tacit.toml").read_text()


def test_only_its_owner_reads_the_secret(tmp_path, capsys, ratings):
    """Every key of a person is made from it."""
    made(capsys, tmp_path / "shop", ratings)
    mode = (tmp_path / "shop" / "service.secret").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_without_privacy_the_folder_says_so(tmp_path, capsys, ratings):
    """A model without a guarantee is served only by name."""
    made(capsys, tmp_path / "shop", ratings, "--epsilon", "inf")
    assert "without_guarantee = true" in (tmp_path / "shop" / "tacit.toml").read_text()


@pytest.mark.parametrize("fault", ["folder", "ratings", "epsilon"])
def test_nothing_is_left_after_a_refusal(tmp_path, capsys, ratings, fault):
    """A used folder, a file without ratings, an epsilon below 0."""
    folder = tmp_path / "shop"
    if fault == "folder":
        folder.mkdir()
        (folder / "mine.txt").write_text("mine")
    if fault == "ratings":
        ratings.write_text("nothing\n")
    before = sorted(tmp_path.rglob("*"))
    given = ["--epsilon", "-1"] if fault == "epsilon" else []
    assert main(["init", str(folder), str(ratings), *given]) not in (0, 70)
    assert capsys.readouterr().err.startswith("Error: ")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("header", "word"), [("product_id", "product"), ("articleId", "article"), ("item", "item")]
)
def test_items_are_called_as_the_files_column_calls_them(tmp_path, capsys, ratings, header, word):
    """The page's word for one item is that of the column of ids; none is guessed."""
    ratings.write_text(ratings.read_text().replace("user,item,", f"user,{header},", 1))
    made(capsys, tmp_path / "shop", ratings)
    assert f'item_word = "{word}"' in (tmp_path / "shop" / "tacit.toml").read_text()
