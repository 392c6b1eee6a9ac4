"""`tacit compare`: the same people for everybody, and one table a unit."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re

import pytest

from tacit import generate
from tacit.cli import app as cli
from tacit.cli.commands import keep_finished_tasks
from tacit.data.ratings import Ratings
from tacit.evaluation.compare import compare_entries
from tacit.evaluation.entries import baselines


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    made = generate(users=300, items=40, ratings=5000, seed=1)
    path, users = folder / "r.csv", folder / "users.csv"
    rows = zip(made.user_ids[made.users], made.item_ids[made.items], made.values, strict=True)
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{v:g}\n" for u, i, v in rows))
    people = zip(made.user_ids, made.user_attributes["gender"], strict=True)
    users.write_text("user,gender\n" + "".join(f"{u},{g}\n" for u, g in people))
    return path, users


def run(capsys, *words):
    code = cli.main([str(word) for word in words])
    return code, *capsys.readouterr()


@pytest.fixture(scope="module")
def compared(files, tmp_path_factory):
    """Everything written once, in one process, without attacks."""
    folder = tmp_path_factory.mktemp("out")
    words = [
        "compare", files[0], "--users", files[1], "--scale", "1:5:1", "--epsilon", "1,inf",
        "--seeds", "2", "--workers", "1", "--no-attacks",
        "--resume", folder / "kept.jsonl", "--csv", folder / "c.csv",
        "--latex", folder / "c.tex", "--report", folder / "c.html", "--json",
    ]  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert cli.main([str(word) for word in words]) == 0
    return folder, json.loads(said.getvalue())


def test_rows_have_the_names_of_the_machine_output(compared):
    """As documented; designs that do not fit say why in one line."""
    _, found = compared
    assert set(found["rows"][0]) == {
        "design", "variant", "epsilon", "unit", "against", "metric", "value", "low", "high",
    }  # fmt: skip
    assert {row["design"] for row in found["rows"]} > {
        "private", "sketches", "standard-scheme", "ease", "popularity",
    }  # fmt: skip
    assert found["left_out"]["xmap"].startswith("needs two domains")
    assert set(found["left_out"]) == {"xmap", "prec", "pdap"}


def test_numbers_are_those_of_the_single_command(compared, files, capsys):
    """Popularity, EASE and item-item have the same NDCG and recall as `tacit evaluate private`."""
    rows = compared[1]["rows"]
    code, out, _ = run(
        capsys, "evaluate", "private", files[0], "--scale", "1:5:1", "--epsilon", "1",
        "--seeds", "2", "--json",
    )  # fmt: skip
    assert code == 0
    for single in json.loads(out)["rows"]:
        if single["model"] in ("popularity", "ease", "item-item"):
            own = {row["metric"]: row["value"] for row in rows if row["design"] == single["model"]}
            assert own["ndcg@10"] == pytest.approx(single["ndcg"], abs=1e-12)
            assert own["recall@10"] == pytest.approx(single["recall"], abs=1e-12)


def test_only_its_owner_reads_what_ctrl_c_leaves(tmp_path, monkeypatch, capsys):
    """The copy of finished parts, which hold results of single people."""
    monkeypatch.chdir(tmp_path)

    def stop() -> None:
        with keep_finished_tasks("compare", None) as file:
            file.write_text("a finished part\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    (copy,) = tmp_path.iterdir()
    assert copy.read_text() == "a finished part\n"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert str(copy.name) in capsys.readouterr().err


def test_csv_latex_and_page_are_whole(compared):
    """A row for each metric, a line for each design, a table for each unit; no script."""
    folder, found = compared
    rows = list(csv.DictReader((folder / "c.csv").read_text().splitlines()))
    assert len(rows) == len(found["rows"])
    table = (folder / "c.tex").read_text()
    assert {row["design"] for row in rows} <= set(re.findall(r"^([a-z-]+) &", table, re.MULTILINE))
    assert table.startswith(r"\begin{tabular}")
    units = {row["unit"] for row in found["rows"]}
    page = (folder / "c.html").read_text()
    assert all(f"<h3>{unit.split(chr(39))[0]}" in page for unit in units)
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert "Lists by activity" in page


def test_the_page_opens_without_an_error(compared, chromium_path):
    """In Chromium, offline: no message, no request, and no page or table wider than a screen."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((compared[0] / "c.html").as_uri())
        assert page.title() == "Designs compared"
        cut = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        assert page.evaluate(f"{cut}.length") == 0
        page.set_viewport_size(
            {"width": 390, "height": 800}
        )  # a phone: tables scroll by themselves
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        browser.close()
    assert said == []
    assert len(asked) == 1


def test_every_design_is_attacked_by_its_lists(compared):
    """What ten items say about a gender, of each design and baseline alike."""
    rows = compared[1]["rows"]
    attacked = {row["design"] for row in rows if row["metric"] == "gender_auc"}
    assert attacked == {row["design"] for row in rows}


def test_too_few_ratings_are_refused_once(tmp_path, capsys):
    """No table without rows, and no exit as if all were well: each reason is said one time."""
    path = tmp_path / "tiny.csv"
    path.write_text("user,item,rating\n1,1,5\n1,2,3\n2,1,4\n")
    code, _, err = run(capsys, "compare", path, "--design", "private", "--epsilon", "1,inf")
    assert code == 3
    assert err.count("no test person has a held-out like") == 1
    assert "private sound 1, private non-private no noise, " in err


def test_one_domain_of_two_is_refused(files, capsys):
    """Both or neither."""
    code, _, error = run(capsys, "compare", files[0], "--source", "books")
    assert code == 2
    assert "Name both --source and --target" in error


def test_one_split_has_no_interval(files, capsys):
    """Rows with one figure have neither end, and every output is made."""
    words = ("--design", "private", "--epsilon", "inf", "--seeds", "1", "--no-attacks")
    code, said, _ = run(capsys, "compare", files[0], *words, "--workers", "1", "--json")
    assert code == 0
    assert {(row["low"], row["high"]) for row in json.loads(said)["rows"]} == {(None, None)}


def test_kept_pieces_are_those_of_the_same_domains(tmp_path):
    """A piece of one domain is none of two, nor one of other item metadata."""
    made = generate(users=300, items=40, ratings=5000, seed=1)

    def found(halves, **domains):
        known = {"domain": dict(zip(made.item_ids.tolist(), halves, strict=True))}
        ids = made.user_ids[made.users], made.item_ids[made.items]
        ratings = Ratings.from_arrays(*ids, made.values, item_metadata=known)
        entries = [each for each in baselines(ratings, None, None) if each.design == "popularity"]
        given = {"seeds": [0], "attacks": False, **domains}
        kept = compare_entries(ratings, entries, resume=tmp_path / "kept.jsonl", **given).rows
        assert kept == compare_entries(ratings, entries, **given).rows
        return kept

    halves = ["a"] * 20 + ["b"] * 20
    one, two = found(halves), found(halves, source="a", target="b")
    assert one != two
    assert found(halves[::-1], source="a", target="b") != two


def test_a_file_of_another_kind_is_not_added_to(files, capsys):
    """Its ratings stay as they are."""
    before = files[0].read_bytes()
    code, _, error = run(capsys, "compare", files[0], "--seeds", "1", "--resume", files[0])
    assert code == 2
    assert "not a file of finished tasks of tacit" in error
    assert files[0].read_bytes() == before


def test_ctrl_c_leaves_a_file_to_go_on_from(files, tmp_path, monkeypatch, capsys):
    """Finished parts are in the current folder, and --resume goes on from them."""
    monkeypatch.chdir(tmp_path)
    code = tmp_path / "mine.py"
    stopping = "def top(history):\n    raise KeyboardInterrupt\n"
    code.write_text(stopping)
    words = [
        "compare", files[0], "--scale", "1:5:1", "--design", "xmap", "--model", "mine.py:top",
        "--seeds", "1", "--workers", "1", "--no-attacks",
    ]  # fmt: skip
    assert run(capsys, *words)[0] == 130
    (left,) = tmp_path.glob("tacit-compare-*.jsonl")
    assert '"result"' in left.read_text()
    code.write_text(stopping.replace("raise KeyboardInterrupt", "return []"))
    assert run(capsys, *words, "--resume", left)[0] == 0
