"""The attacks on real ratings and real libraries; each in minutes."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

import tacit

pytestmark = pytest.mark.long

LENSKIT = """
import tacit
from lenskit.knn import ItemKNNScorer
ratings = tacit.generate(users=150, items=120, ratings=4000, seed=1)
found = tacit.attack(
    ItemKNNScorer(feedback="implicit"), ratings, attacks=("membership", "reconstruction"),
    targets=50, shadows=6, victims=3, length=20,
)
assert max(row.auc for row in found.rows) > 0.7, found.rows
print("done")
"""


def test_implicit_als_gives_membership_away_and_popularity_does_not(ml_100k):
    """MovieLens 100K: AUC .75 or more by lists, measured .99; .5 in the interval of popularity."""
    als = pytest.importorskip("implicit.als").AlternatingLeastSquares
    ratings = tacit.load(ml_100k)
    found = tacit.attack(
        als(num_threads=1, random_state=0), ratings, attacks=("membership",), shadows=8, victims=4
    )
    assert max(row.auc for row in found.rows) >= 0.75
    popular = tacit.attack(
        tacit.Popularity(), ratings, attacks=("membership",), shadows=4, victims=2
    )
    assert all(row.low <= 0.5 <= row.high for row in popular.rows)


def test_lenskit_in_an_environment_of_its_own(tmp_path, missing):
    """The real package, which tacit does not depend on: its item kNN is attacked."""
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    made = subprocess.run(
        [python, "-m", "pip", "install", "-q", "lenskit>=2025.8"], capture_output=True, check=False
    )
    if made.returncode:
        missing("lenskit cannot be installed here")
    home = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    source = Path(tacit.__file__).parents[1]
    paths = [source, home, sysconfig.get_paths()["purelib"]]
    ran = subprocess.run(
        [python, "-c", LENSKIT],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout.strip().endswith("done"), ran.stderr
