"""`tacit attack --model`: a file of one's own, a name of tacit's, and refusals."""

from __future__ import annotations

import json

import pytest

from tacit import generate
from tacit.cli import app as cli

MINE = """
class Mine:
    def __init__(self, width=1.0):
        self.width = width
    def fit(self, x):
        self.both = (x.T @ x).toarray()
    def predict(self, x):
        return self.width * (x @ self.both)

class Silent(Mine):
    def predict(self, x):
        raise LookupError("nothing here")

class Short(Mine):
    def predict(self, x):
        return [1.0, 2.0, 3.0]

class Long(Mine):
    def recommend(self, x, n):
        return [[10_000]]

class Unmade(Mine):
    def __init__(self):
        raise OSError("no weights")
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attack")
    made = generate(users=90, items=40, ratings=1500, seed=1)
    path = folder / "r.csv"
    rows = zip(made.user_ids[made.users], made.item_ids[made.items], made.values, strict=True)
    path.write_text("user,item,rating\n" + "".join(f"{u},{i},{v:g}\n" for u, i, v in rows))
    (folder / "mine.py").write_text(MINE)
    return folder / "mine.py", path


def run(capsys, *words):
    code = cli.main([str(word) for word in words])
    return code, *capsys.readouterr()


QUICK = ("--targets", 20, "--shadows", 4, "--victims", 2, "--canaries", 8)


def test_a_class_in_a_file_is_attacked(capsys, files):
    """Rows as documented, and why an attack was not made: these ratings know no attribute."""
    mine, ratings = files
    code, out, _ = run(
        capsys, "attack", "--model", f"{mine}:Mine", ratings, "--set", "width=2", *QUICK, "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert {row["attack"] for row in found["rows"]} == {
        "membership-lists", "membership-lists-lira", "one-run-single-items", "one-run-groups",
        "reconstruction-changes",
    }  # fmt: skip
    assert found["left_out"] == ["attribute: no user attribute of two values; name one"]
    assert found["verdict"] == "no claim"
    assert found["manifest"]["settings"]["model"].endswith("mine.py:Mine")


def test_a_recommender_of_tacit_is_attacked_by_name(capsys, files):
    """Its card is the claim; people read a table and a sentence with unit and delta."""
    code, out, _ = run(
        capsys, "attack", files[1], "--model", "private", "--set", "epsilon=2", "--attack", "audit",
        "--canaries", 8,
    )  # fmt: skip
    assert code == 0
    assert "add or remove one user; claimed 2: no violation found." in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "nobody"), "no such recommender"),
        (("--model", "nofile.py:Mine"), "there is no such file"),
        (("--model", "json:Nothing"), "json has no 'Nothing'"),
        (("--model", "private", "--set", "epsilom=1"), "Arguments are given with --set NAME=VALUE"),
        (("--model", "popularity", "--attack", "luck"), "No attack 'luck'"),
    ],
)
def test_what_cannot_be_attacked_is_refused_in_a_sentence(capsys, files, words, said):
    """What, and what to do."""
    code, out, error = run(capsys, "attack", files[1], *words)
    assert code in (2, 3)
    assert out == ""
    assert said in " ".join(error.split())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Silent", "Silent cannot answer (LookupError: nothing here)"),
        (
            "Short",
            "Short cannot answer (ValueError: 40 scores were expected, of shape (40,)",
        ),
        (
            "Long",
            "Long cannot answer (ValueError: it listed an item that is none of the 40 columns",
        ),
        ("Unmade", "Unmade cannot be made (OSError: no weights)"),
    ],
)
def test_what_is_wrong_with_a_recommender_is_said_of_it(capsys, files, name, said):
    """It is no bug in tacit, and the sentence names the class."""
    mine, ratings = files
    code, _, error = run(capsys, "attack", ratings, "--model", f"{mine}:{name}", *QUICK)
    assert code == 2
    assert said in " ".join(error.split())


def test_a_card_is_not_judged_at_a_smaller_delta_than_its_own(capsys, files):
    """There it claims a larger epsilon, and a correct recommender would be called broken."""
    words = ("--model", "private", "--attack", "audit", "--canaries", 8, "--delta")
    code, _, error = run(capsys, "attack", files[1], *words, "1e-12")
    assert code == 2
    assert "states its epsilon at delta 1e-06" in " ".join(error.split())
