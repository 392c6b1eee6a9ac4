"""Messy files: each is read as the truth that it was made from, or refused in words.

The generator is `tests/support/messy_files.py`. No file may be read as something else without a
word, and none may end in a traceback.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tacit
from tacit.cli.app import main
from tacit.data import Ratings
from tests.support.messy_files import LOCAL, MessyFile, draw_messy_file

REFUSALS = {2, 3, 4, 5, 6}
PARTS = 40


def values_of(ratings: Ratings) -> dict[tuple[str, str], float]:
    """Stars of all ratings by person and item, as their ids are written."""
    users = [str(key) for key in ratings.user_ids.tolist()]
    items = [str(key) for key in ratings.item_ids.tolist()]
    rows = zip(ratings.users, ratings.items, ratings.values, strict=True)
    return {(users[user], items[item]): float(value) for user, item, value in rows}


def times_of(ratings: Ratings) -> dict[tuple[str, str], int]:
    """Seconds of all ratings by person and item."""
    if ratings.timestamps is None:
        return {}
    return dict(zip(values_of(ratings), map(int, ratings.timestamps), strict=True))


def misreading(messy: MessyFile, folder: Path, capsys: pytest.CaptureFixture[str]) -> str | None:
    """Import a file: 'refused', what is wrong with the outcome, or None if nothing is."""
    path = folder / messy.name
    path.write_bytes(messy.content)
    out = str(folder / "out")
    words = ["data", "import", str(path), "-o", out, "--yes", "--json"]
    code = main(words)
    printed = capsys.readouterr()
    encoding = messy.choices["encoding"]
    if encoding in LOCAL:
        if f"--encoding {encoding} " not in printed.err:
            return f"{encoding} is not named: {printed.err[-300:]}{printed.out[:300]}"
        code = main([*words, "--encoding", encoding])
        printed = capsys.readouterr()
    if code in REFUSALS:
        message = json.loads(printed.err)["error"]["message"]
        return "refused" if len(message) > 20 and "Traceback" not in message else f"says {message}"
    if code:
        return f"exit code {code}: {printed.err[-300:]}"
    answer = json.loads(printed.out)
    ratings = tacit.load(out)
    truth = messy.truth
    wrong = set(values_of(ratings).items()) - set(truth.values.items())
    lost = truth.values.keys() - values_of(ratings).keys() - truth.damaged
    wrong |= {(pair, 0.0) for pair in lost}
    if wrong:
        return (
            f"{len(wrong)} rows differ, such as {sorted(map(str, wrong))[:2]}; {answer['columns']}"
        )
    if str(ratings.scale) != truth.scale:
        return f"scale {ratings.scale} for {truth.scale}"
    told = any("times" in sentence for sentence in answer["warnings"])
    lacks_times = bool(truth.times) and ratings.timestamps is None and not told
    if lacks_times or set(times_of(ratings).items()) - set(truth.times.items()):
        return f"times differ; {answer['columns']}"
    return None


def read_all(
    seeds: range, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    """Read the files of some seeds: how many were refused, and what is wrong with others."""
    refused = 0
    wrong = []
    for seed in seeds:
        messy = draw_messy_file(seed)
        said = misreading(messy, folder, capsys)
        if said == "refused":
            refused += 1
        elif said is not None:
            wrong.append(f"seed {seed}: {said}; {messy.choices}")
    return refused, wrong


def test_messy_files_are_read_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 40 messy files none is misread, and most are read."""
    refused, wrong = read_all(range(40), tmp_path, capsys)
    assert not wrong, "\n".join(wrong)
    assert refused < 20


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_two_thousand_messy_files_are_read_right(
    part: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 2,000 further messy files none is misread."""
    _, wrong = read_all(range(70_000 + 50 * part, 70_050 + 50 * part), tmp_path, capsys)
    assert not wrong, "\n".join(wrong)
