"""`tacit recommend --cold`: items that no one rated, from a table of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.cli.app import main


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private model whose items have labels, and a history."""
    folder = tmp_path_factory.mktemp("cold")
    shape = ["--seed", "1", "--users", "300", "--items", "60", "--ratings", "6000", "--labels", "4"]
    assert main(["data", "generate", str(folder / "shop.csv"), *shape]) == 0
    catalogue = ["--catalogue", str(folder / "shop-items.csv"), "--scale", "1:5:1"]
    words = [str(folder / "shop.csv"), *catalogue, "--epsilon", "inf", "--mode", "taste"]
    assert main(["fit", "private", *words, "-o", str(folder / "shop.tacit")]) == 0
    (folder / "own.csv").write_text("item,rating\n3,5\n7,4\n")
    return folder


def recommend(shop: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The list as JSON."""
    capsys.readouterr()
    own = ["--history", str(shop / "own.csv"), "--at-device", "-n", "60"]
    code = main(["recommend", str(shop / "shop.tacit"), *own, *words, "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    return json.loads(said.out)["items"]


def test_cold_items_of_a_table_are_listed_and_marked(shop, capsys):
    """Those with a known feature, beside the others, whose order they do not change."""
    table = shop / "new.csv"
    table.write_text("sku,genres,price\nN-1,label 1|label 2,9.90\nN-2,label 9,1\n")
    plain = recommend(shop, capsys)
    rows = recommend(shop, capsys, "--cold", str(table))
    assert [row["item_id"] for row in rows if row["cold"]] == ["N-1"]
    rest = [row["item_id"] for row in rows if not row["cold"]]
    assert rest == [row["item_id"] for row in plain][: len(rest)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sku\nN-1\n",
        "sku,genres\n",
        "sku,genres\nN-1\n",
        "sku,genres\n,label 1\n",
        "sku,genres\nN-1,label 1\nN-1,label 2\n",
    ],
)
def test_a_table_of_no_items_is_refused(shop, capsys, text):
    """A sentence that names the file, and no list."""
    table = shop / "bad.csv"
    table.write_text(text)
    words = ["recommend", str(shop / "shop.tacit"), "--cold", str(table)]
    assert main(words) != 0
    assert "bad.csv" in capsys.readouterr().err
