"""Every `python` block of the documentation runs, also on pages that are not read from the top.

The blocks of a page share one interpreter and run in order, in a folder with small files under the
names that the pages use. Pages are found, not listed: a new page with a block is run, too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from urllib.request import Request, urlopen

import executed
import numpy as np
import pytest

import tacit
from tacit.data import write_items, write_ratings
from tacit.data.tables.folder import write_columns
from tests.support.executed_pages import EXECUTED, ROOT

DOCS = ROOT / "docs"
COOKBOOK = DOCS / "service-cookbook.md"
"""Run by test_cookbook.py."""
CLIENT = DOCS / "client.md"
"""Run below, against a service."""
SCALE = DOCS / "scale.md"
"""Run below, against a cluster."""
PACKAGES = {DOCS / "attacks.md": "implicit"}
"""The package that a page shows with tacit, by page."""
SERVER = "sc://127.0.0.1:15002"
"""The address on the page of the server that its reader started."""


def python_cells(page: Path) -> list[executed.Cell]:
    """The `python` blocks of a page, in order."""
    cells = executed.cells(page.read_text(encoding="utf-8"))
    return [cell for cell in cells if cell.language == "python"]


PAGES = sorted([*DOCS.glob("**/*.md"), *ROOT.glob("client/*/README.md")])
FOUND = [page for page in PAGES if python_cells(page)]
ALONE = [page for page in FOUND if page not in {*EXECUTED, COOKBOOK, CLIENT, SCALE}]
"""Pages whose blocks need nothing but files."""


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that readers of the pages have."""
    folder = tmp_path_factory.mktemp("files")
    ratings = tacit.generate(users=1000, items=100, ratings=25_000, labels=6, seed=1)
    write_ratings(ratings, folder / "ratings.csv")
    write_items(ratings, folder / "items.csv")
    for week in (1, 2):
        later = tacit.generate(users=1000, items=100, ratings=25_000, seed=1 + week)
        write_ratings(later, folder / f"week{week}.csv")
    domains = np.where(ratings.item_ids % 2, "films", "books")
    write_columns({"item": ratings.item_ids, "domain": domains}, folder / "catalogue.csv")
    (folder / "ratings").mkdir()
    write_ratings(ratings, folder / "ratings" / "part.parquet")
    write_movielens(folder / "data" / "ml-100k")
    return folder


def write_movielens(folder: Path) -> None:
    """Write a few people and films in the layout of MovieLens 100K."""
    ratings = tacit.generate(users=80, items=30, ratings=1200, seed=1)
    folder.mkdir(parents=True)
    users, items = ratings.user_ids[ratings.users], ratings.item_ids[ratings.items]
    rows = zip(users, items, ratings.values.astype(int), strict=True)
    table = "".join(f"{user}\t{item}\t{stars}\t881250949\n" for user, item, stars in rows)
    (folder / "u.data").write_text(table)
    people = (f"{user}|30|{'MF'[user % 2]}|writer|0\n" for user in ratings.user_ids)
    (folder / "u.user").write_text("".join(people))
    genres = "|".join("1" if place == 5 else "0" for place in range(19))
    films = (f"{item}|Film {item} (1994)|01-Jan-1994|||{genres}\n" for item in ratings.item_ids)
    (folder / "u.item").write_text("".join(films))


@pytest.fixture
def names(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The variables of an interpreter that was started in a copy of the folder."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return {"__name__": "__main__"}


def test_the_pages_are_found() -> None:
    """Among the pages with blocks are those that a reader would name, and nothing is run twice."""
    found = {page_name(page) for page in FOUND}
    assert found >= {"docs/accounting.md", "docs/private.md", "docs/tutorial.md"}
    assert found >= {page_name(page) for page in (COOKBOOK, CLIENT, SCALE, *PACKAGES)}
    assert {page_name(page) for page in ALONE} >= {"docs/engine.md", "docs/ledger.md"}


@pytest.mark.filterwarnings("ignore:OpenBLAS is configured")  # of what implicit sees here
@pytest.mark.filterwarnings("ignore:Method expects CSR")  # of what implicit computed itself
@pytest.mark.parametrize("page", ALONE, ids=page_name)
def test_every_python_block_runs_in_order(page: Path, names: dict[str, Any]) -> None:
    """Whoever copies the blocks of this page, in order, sees no error."""
    if page in PACKAGES:
        pytest.importorskip(PACKAGES[page])
    for cell in python_cells(page):
        executed.run(cell, page_name(page), names)


def test_the_client_asks_a_service(
    demonstration: dict[str, str], names: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/client.md, by a person whose account is an hour old when the letter is due."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not there")
    for name, value in demonstration.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ANN", key_of_ann(demonstration))
    cells = executed.cells(CLIENT.read_text(encoding="utf-8"))
    makes_account, *others = [cell for cell in cells if cell.language in ("python", "sh")]
    an_hour_ago = time.time() - 3600
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: an_hour_ago)
        executed.run(makes_account, page_name(CLIENT), names)
    for cell in others:
        if cell.language == "sh":
            subprocess.run(["bash", "-euo", "pipefail", "-c", cell.code], check=True)
        else:
            executed.run(cell, page_name(CLIENT), names)
    assert names["sent"].receipt == {"counted": True}
    assert names["result"].letter is not None, "the blocks after a letter were not run"


def key_of_ann(demonstration: dict[str, str]) -> str:
    """The key that the operator of the demonstration gives ann."""
    headers = {
        "Authorization": f"Bearer {demonstration['OPERATOR']}",
        "Content-Type": "application/json",
    }
    request = Request(f"{demonstration['SERVICE']}/api/people", b'{"name": "ann"}', headers)
    with urlopen(request) as response:
        return str(json.load(response)["key"])


@pytest.fixture
def cluster(names: dict[str, Any], missing: Callable[[str], NoReturn]) -> Iterator[str]:
    """The address of a pysail server that was started in the folder."""
    if find_spec("pysail") is None:
        missing("pysail is not installed: pip install 'tacit-rec[spark]' pysail")
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    yield "sc://{}:{}".format(*server.listening_address)
    server.stop()


def test_a_cluster_sums_what_the_page_says(cluster: str, names: dict[str, Any]) -> None:
    """docs/scale.md, with pysail for the server that its reader started."""
    for cell in python_cells(SCALE):
        assert SERVER in cell.code
        code = cell.code.replace(SERVER, cluster)
        executed.run(executed.Cell("python", code, cell.line, cell.end), page_name(SCALE), names)
    assert tacit.load_model("m.tacit").guarantees()[0].epsilon == pytest.approx(1.0)
