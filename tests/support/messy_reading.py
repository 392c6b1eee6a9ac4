"""Messy files read by the command line, and what differs from the truth that they were made from.

python -m tests.support.messy_reading [--first 70000] [--files 2000]

prints how many files were read right, how many were refused, and each that was misread.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import tacit
from tacit.cli.app import main
from tacit.data import Ratings
from tests.support.messy_files import LOCAL, MessyFile, draw_messy_file

REFUSALS = {2, 3, 4, 5, 6}


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


def run_command(words: list[str]) -> tuple[int, str, str]:
    """Run a command: its exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def misreading(messy: MessyFile, folder: Path) -> str | None:
    """Import a file: 'refused', what is wrong with the outcome, or None if nothing is."""
    path = folder / messy.name
    path.write_bytes(messy.content)
    out = str(folder / "out")
    words = ["data", "import", str(path), "-o", out, "--yes", "--json"]
    code, printed, errors = run_command(words)
    encoding = messy.choices["encoding"]
    if encoding in LOCAL:
        if f"--encoding {encoding} " not in errors:
            return f"{encoding} is not named: {errors[-300:]}{printed[:300]}"
        code, printed, errors = run_command([*words, "--encoding", encoding])
    if code in REFUSALS:
        message = json.loads(errors)["error"]["message"]
        return "refused" if len(message) > 20 and "Traceback" not in message else f"says {message}"
    if code:
        return f"exit code {code}: {errors[-300:]}"
    answer = json.loads(printed)
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


def read_all(seeds: range, folder: Path) -> tuple[int, list[str]]:
    """Read the files of some seeds: how many were refused, and what is wrong with others."""
    refused = 0
    wrong = []
    for seed in seeds:
        messy = draw_messy_file(seed)
        said = misreading(messy, folder)
        if said == "refused":
            refused += 1
        elif said is not None:
            wrong.append(f"seed {seed}: {said}; {messy.choices}")
    return refused, wrong


def report() -> int:
    """Read the files that were asked for; exit code 1 if one is misread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=70_000, help="The first seed.")
    parser.add_argument("--files", type=int, default=2_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seeds = range(asked.first, asked.first + asked.files)
        refused, wrong = read_all(seeds, Path(folder))
    right = asked.files - refused - len(wrong)
    counts = (
        f"{asked.files:,} files from seed {asked.first}: {right:,} read right, {refused:,} refused "
        f"in words, {len(wrong)} misread"
    )
    sys.stdout.write("\n".join([counts, *wrong]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(report())
