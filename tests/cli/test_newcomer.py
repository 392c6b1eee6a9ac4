"""A newcomer's path: three messy files to a model that is served, each step one command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.cli.app import main
from tacit.errors import ConfigError, ModelFileError
from tests.support.messy import messy_files, own_ratings


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a command answers, run in a folder with the files."""
    monkeypatch.chdir(tmp_path)

    def runner(line: str) -> Any:
        code = main([*line.split(), "--json"])
        said = capsys.readouterr()
        assert code == 0, said.err
        return json.loads(said.out)

    return runner


def test_three_messy_files_are_imported(run: Any, tmp_path: Path) -> None:
    """Nothing is cleaned by hand, and what is dropped is counted."""
    files = list(messy_files(tmp_path, users=60, items=25, ratings=1500))
    assert len(files) == 3
    for file in files:
        name = file.name.split(".")[0]
        result = run(f"data import {file.name} -o {name}")
        dropped = sum(each["rows"] for each in result["dropped"])
        assert result["read"] == result["kept"] + dropped
        assert result["kept"] > 1300
        described = run(f"data describe {name}")
        assert (described["users"], described["items"]) == (60, 25)
        assert described["first"].startswith("2000")


def test_the_path_from_a_file_to_an_answer(run: Any, tmp_path: Path) -> None:
    """Import, fit, recommend, guarantee, evaluate: no step between them."""
    messy_files(tmp_path, users=60, items=25, ratings=1500)
    own = own_ratings(tmp_path)
    run("data import bewertungen.csv -o shop --items-from-ratings")
    fitted = run("fit private shop --epsilon 1 -o shop.tacit")
    assert fitted["basis"] == "conditional"
    listed = run(f"recommend shop.tacit --history {own.name} --at-device -n 3")
    assert listed["rated"] == 3
    assert listed["unknown_items"] == 0
    assert all(row["title"].startswith("Käse") for row in listed["items"])
    assert run("guarantee shop.tacit")
    rows = run("evaluate private shop --epsilon 1 --seeds 1")["rows"]
    assert {"private", "ease"} <= {row["model"] for row in rows}


def test_what_was_given_makes_the_claim_unconditional(run: Any, tmp_path: Path) -> None:
    """A list of items from elsewhere, a scale and the form of the rows, given at the import."""
    messy_files(tmp_path, users=60, items=25, ratings=1500)
    lines = ["sku,title"] + [f"{item:06},T{item}" for item in range(30)]
    (tmp_path / "list.csv").write_text("\n".join(lines))
    run("data import orders.parquet -o earlier --scale 1:5:1")
    run("data import orders.parquet -o shop --catalogue list.csv --format earlier/data.json")
    assert run("fit private shop --epsilon 1 -o shop.tacit")["basis"] == "proved"


def test_a_model_file_is_served_without_settings(run: Any, tmp_path: Path) -> None:
    """Its folder is made beside it, with a key that is shown once."""
    pytest.importorskip("fastapi")
    from tacit.service.model_folder import make_model_folder
    from tacit.service.setting_tables import read_toml

    messy_files(tmp_path, users=60, items=25, ratings=1500)
    run("data import events.csv.gz -o shop")
    run("fit popularity shop -o My_Shop.tacit")
    folder, keys = make_model_folder(tmp_path / "My_Shop.tacit")
    word = {"file": "model.tacit", "item_word": "item"}
    assert read_toml(folder)["models"] == {"my_shop": word}
    assert list(keys) == ["operator"]
    run("fit popularity shop -o My_Shop.tacit")
    assert make_model_folder(tmp_path / "My_Shop.tacit") == (folder, {})


@pytest.mark.parametrize("stem", ["a" * 80, "-" + "a" * 63 + "- b", "é"])
def test_a_model_is_served_under_a_name_whatever_its_file_is_called(
    tmp_path: Path, stem: str
) -> None:
    """A name of [models.NAME] has at most 64 characters."""
    pytest.importorskip("fastapi")
    from tacit.service.keys import NAME
    from tacit.service.model_folder import make_model_folder
    from tacit.service.setting_tables import read_toml

    made = Path(__file__).parents[2] / "golden" / "files" / "popularity.tacit"
    (tmp_path / f"{stem}.tacit").write_bytes(made.read_bytes())
    folder, _ = make_model_folder(tmp_path / f"{stem}.tacit")
    (name,) = read_toml(folder)["models"]
    assert NAME.fullmatch(name)


def test_what_is_no_model_is_not_served(tmp_path: Path) -> None:
    """No folder is made for it, and none is taken that holds something else."""
    pytest.importorskip("fastapi")
    from tacit.service.model_folder import make_model_folder

    (tmp_path / "m.tacit").write_text("no model")
    with pytest.raises(ModelFileError):
        make_model_folder(tmp_path / "m.tacit")
    assert [path.name for path in tmp_path.iterdir()] == ["m.tacit"]
    made = Path(__file__).parents[2] / "golden" / "files" / "popularity.tacit"
    (tmp_path / "p.tacit").write_bytes(made.read_bytes())
    (tmp_path / "p-service").mkdir()
    with pytest.raises(ConfigError, match=r"holds no tacit\.toml"):
        make_model_folder(tmp_path / "p.tacit")
