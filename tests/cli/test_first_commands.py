"""First commands need no second look: where results go, weak privacy, folders of ledgers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.auditing.attacks.membership import count_guesses, least_epsilon
from tacit.cli.app import main
from tacit.data import generate
from tacit.ledger import open_ledger

ROWS = "user,item,rating\n" + "".join(
    f"{person},{item},{1 + (person * item) % 5}\n"
    for person in range(1, 31)
    for item in range(1, 9)
)


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A file of ratings in a folder of its own."""
    path = tmp_path / "orders.csv"
    path.write_text(ROWS)
    return path


def test_a_model_lies_beside_its_ratings(orders: Path) -> None:
    """Without --out the model of orders.csv is orders.tacit, and nothing is replaced unasked."""
    fit = ["fit", "private", str(orders), "--epsilon", "1"]
    assert main(fit) == 0
    model = orders.with_suffix(".tacit")
    before = model.read_bytes()
    assert main(fit) != 0
    assert model.read_bytes() == before
    assert main([*fit, "--force"]) == 0
    assert model.read_bytes() != before


def test_an_import_lies_beside_its_file(orders: Path) -> None:
    """Without --out the folder of orders.csv is orders, replaced with --force alone."""
    words = ["data", "import", str(orders), "--yes"]
    assert main(words) == 0
    assert len(tacit.load(orders.with_suffix(""))) == 240
    assert main(words) != 0
    assert main([*words, "--force"]) == 0


def test_a_fit_to_generated_files_is_proved(tmp_path: Path) -> None:
    """`generate` describes its file: with it and the items no condition is left on the card."""
    shop, about = tmp_path / "shop.csv", str(tmp_path / "shop-items.csv")
    sizes = ["--users", "60", "--items", "20", "--ratings", "600", "--labels", "3"]
    assert main(["data", "generate", str(shop), "--seed", "1", *sizes]) == 0
    fit = ["fit", "private", str(shop), "--epsilon", "1", "--catalogue", about, "--force"]
    for words, basis in (
        (["--format", str(tmp_path / "shop-format.json")], "proved"),
        (["--scale", "1:5:1"], "conditional"),
    ):
        assert main([*fit, *words]) == 0
        (card,) = tacit.load_model(shop.with_suffix(".tacit")).guarantees()
        assert card.basis.value == basis
        assert not any("without being named" in line for line in card.assumptions)


def test_other_results_lie_beside_their_files(orders: Path) -> None:
    """Lists of everybody and domains, too, are written beside what they are made of."""
    orders.with_name("about.csv").write_text(
        "item,genres\n" + "".join(f"{n},{'A' if n < 5 else 'B'}\n" for n in range(1, 9))
    )
    about = str(orders.with_name("about.csv"))
    for words, name in (
        (["data", "domains", str(orders), "--items", about], "orders-domains.csv"),
        (["recommend", "MODEL", "--all", str(orders)], "orders-lists.parquet"),
    ):
        if "MODEL" in words:
            assert main(["fit", "private", str(orders), "--epsilon", "1"]) == 0
            words[1] = str(orders.with_suffix(".tacit"))
        assert main(words) == 0
        written = orders.with_name(name)
        before = written.read_bytes()
        assert main(words) != 0
        assert written.read_bytes() == before
        assert main([*words, "--force"]) == 0


@pytest.mark.parametrize(
    "words",
    [
        ("init",),
        ("fit", "private"),
        ("fit", "private-popularity"),
        ("fit", "xmap"),
        ("simulate", "prec"),
    ],
)
def test_help_says_alike_what_delta_is(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """It adds to the probability of any event; not: with this probability epsilon's bound fails."""
    assert main([*words, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Probability by which any event may exceed the bound of epsilon" in shown


def test_weak_privacy_is_named(orders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A delta of .9 is refused; a large epsilon and a large delta are called so."""
    fit = ["fit", "private", str(orders), "--force"]
    assert main([*fit, "--epsilon", "1", "--delta", "0.9"]) == 2
    assert "promises nothing" in capsys.readouterr().err
    assert main([*fit, "--epsilon", "1e9"]) == 0
    assert "promises next to nothing" in capsys.readouterr().err
    assert main([*fit, "--epsilon", "1", "--delta", "0.01"]) == 0
    assert "one whole profile in 100" in capsys.readouterr().err
    assert main([*fit, "--epsilon", "1"]) == 0
    assert "promises" not in capsys.readouterr().err


@pytest.mark.parametrize("people", range(2, 40))
def test_guesses_about_odd_numbers_of_people(people: int) -> None:
    """Of an odd number of people no more are guessed about than there are."""
    generator = np.random.default_rng(people)
    labels = generator.integers(0, 2, people)
    for share in (0.05, 0.2, 0.5, 1.0):
        right, made = count_guesses(labels, generator.random(people), share)
        assert 0 <= right <= made <= people
        least_epsilon(right, made, people=people)


def test_a_verdict_fits_its_mode() -> None:
    """Where everybody gets the same list, no list is called better than popularity."""
    ratings = generate(users=400, items=40, ratings=6_000, seed=2)
    models = [tacit.Private(epsilon=epsilon).fit(ratings) for epsilon in (0.1, 0.5, 2.0)]
    same_for_all = [model for model in models if not model.released_.serves_personal_lists]
    assert same_for_all
    for model in same_for_all:
        assert " are expected to beat popularity" not in model.summary()


def test_a_ledger_is_verified_by_its_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`ledger verify FOLDER` reads the folder's budgets.db, or says that there is none."""
    assert main(["ledger", "verify", str(tmp_path)]) == 2
    assert "no ledger" in capsys.readouterr().err
    open_ledger(tmp_path / "budgets.db").close()
    assert main(["ledger", "verify", str(tmp_path)]) == 0


def test_a_file_that_nobody_named_is_named(
    orders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """orders-items.csv beside orders.csv is read, said, and a condition on the card."""
    beside = orders.with_name("orders-items.csv")
    beside.write_text("item,Kategorie,shelf\n" + "".join(f"{n},k{n % 3},s{n}\n" for n in range(9)))
    assert main(["fit", "private", str(orders), "--epsilon", "1"]) == 0
    printed = capsys.readouterr()
    assert str(beside) in printed.err
    assert "Features of items: Kategorie. Not used as features: shelf." in printed.out
    (card,) = tacit.load_model(orders.with_suffix(".tacit")).guarantees()
    assert any("without being named" in line for line in card.assumptions)


def test_a_rare_value_of_an_attribute_is_named(
    orders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One person with a value of their own: the message names the value and what to do."""
    about = orders.with_name("people.csv")
    genders = ["f" if person % 2 else "m" for person in range(1, 31)]
    genders[6] = "unsaid"
    rows = [f"{person},{gender}\n" for person, gender in enumerate(genders, 1)]
    about.write_text("user,gender\n" + "".join(rows))
    assert main(["evaluate", "standard-scheme", str(orders), "--users", str(about)]) == 3
    said = capsys.readouterr().err
    assert "'unsaid'" in said
    assert "Leave these people out" in said
