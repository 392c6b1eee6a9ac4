"""Answers of a service hold nothing of the rows that its models were fitted to, nor of visits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit import container
from tacit.cli.app import main
from tacit.service.demo import Demo
from tests.support.canary_files import CANARY, assert_no_canary, words_of, write_inputs
from tests.support.seen import require_any
from tests.support.service_requests import Operation
from tests.support.service_shop import Shop, open_shop

SERVED = {"private": "lists.tacit", "xmap": "films.tacit", "standard-scheme": "gender.tacit"}
"""Designs that are fitted to rows, and the files of the demonstration that their models replace."""
HISTORY = {"item-1": 5, "item-3": 4}
CONTEXT = 0.1337200001


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of rows with a canary in every cell."""
    folder = tmp_path_factory.mktemp("fitted")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_inputs(folder)
        for name, file in SERVED.items():
            words = words_of(name, "fit")
            extra = ["--item-table", "--no-measure"] if name == "standard-scheme" else []
            assert main([*words, *extra]) == 0
            shutil.move(folder / "out.tacit", folder / file)
    return folder


@pytest.fixture
def canary_shop(demo: Demo, folder: Path, fitted: Path) -> Iterator[Shop]:
    """The demonstration with these models, and with voters whose names are canaries."""
    for file in SERVED.values():
        shutil.copy(fitted / file, folder / file)
    votes = folder / "films.votes.json"
    votes.write_text(votes.read_text().replace("generated-", "canary-voter-"))
    with open_shop(demo, folder) as shop:
        yield shop


@pytest.fixture
def answers(
    canary_shop: Shop, operations: list[Operation], valid: Callable[[str], Any]
) -> list[bytes]:
    """What every operation that reads answers, after a visit and lists were asked for."""
    shop = canary_shop
    visit = shop.post("subject", "/api/vendors/cinema/visits", json={"context": [CONTEXT] * 2})
    assert visit.status_code == 200, visit.text
    made = [visit]
    for model in ("lists", "films"):
        body = {"model": model, "history": HISTORY, "n": 10}
        made.append(shop.post("subject", "/api/recommend", json=body))
        made.append(shop.get("anonymous", f"/api/models/{model}/items"))
        made.append(shop.get("anonymous", f"/api/guarantees/models/{model}"))
    reading = [operation.name for operation in operations if operation.name.startswith("GET ")]
    made += [valid(name).ask(shop, "GET") for name in require_any(reading)]
    assert sum(answer.status_code == 200 for answer in made) > 25
    return [answer.content + json.dumps(dict(answer.headers)).encode() for answer in made]


def test_no_answer_holds_a_cell_of_a_row(answers: list[bytes]) -> None:
    """Models, items, cards, tables, lists, metrics and logs of operations."""
    assert_no_canary(require_any(answers))


def test_a_title_of_a_row_is_found(demo: Demo, folder: Path, fitted: Path) -> None:
    """A model that holds a row's word in place of a title is served, and caught."""
    header, arrays = container.read(fitted / "lists.tacit")
    header["titles"] = ["canary-title-1", *header["titles"][1:]]
    container.write(folder / "lists.tacit", header, arrays)
    with open_shop(demo, folder) as shop:
        items = shop.get("anonymous", "/api/models/lists/items").content
    with pytest.raises(AssertionError, match="canary"):
        assert_no_canary([items])


def test_the_log_holds_no_cell_of_a_row(canary_shop: Shop, answers: list[bytes]) -> None:
    """Nor do the lines of the service's log."""
    assert len(answers) > 25
    assert CANARY.search(canary_shop.logged.getvalue().encode()) is None
