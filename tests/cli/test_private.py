"""`private` on the command line: fit, recommend, guarantee, plan, evaluate, and refusals."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from tacit.cli import app as cli
from tacit.designs.private.audit import bench, membership
from tacit.mechanisms import samplers
from tacit.profile_sums.settings import Settings


@pytest.fixture
def tacit(capsys):
    """Run one command line in this process: exit code, standard output, standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def ratings(tmp_path):
    """120 people and 30 items of three genres, beside a file of their genres."""
    draws = np.random.default_rng(1)
    path, items = tmp_path / "r.csv", tmp_path / "items.csv"
    with path.open("w") as file:
        file.write("user,item,rating\n")
        for person in range(120):
            for item in np.flatnonzero(draws.random(30) < 0.5):
                stars = 5 if (item - person) % 3 == 0 else int(draws.integers(1, 5))
                file.write(f"{person},{item},{stars}\n")
    items.write_text("item,genres\n" + "".join(f"{item},g{item % 3}\n" for item in range(30)))
    return path, items


def test_fit_recommend_guarantee(tacit, ratings, tmp_path):
    """A model file, a list made on the device with its reasons, and the card of that file."""
    path, items = ratings
    model, history = tmp_path / "m.tacit", tmp_path / "h.csv"
    history.write_text("item,rating\n0,5\n3,5\n")
    code, out, _ = tacit(
        "fit", "private", path, "--items", items, "-o", model, "--epsilon", "inf", "--json"
    )
    made = json.loads(out)
    assert code == 0
    assert made["mode"] == "taste"
    assert made["features"] == ["genres=g0", "genres=g1", "genres=g2"]
    code, out, _ = tacit("recommend", model, "--history", history, "--at-device", "-n", 4, "--json")
    found = json.loads(out)
    assert found["computed"] == "at the device"
    assert [row["item_id"] % 3 for row in found["items"]] == [0, 0, 0, 0]
    assert {each["item_id"] for each in found["items"][0]["because"]} <= {0, 3}
    assert found["items"][0]["features"] == ["genres=g0"]
    assert tacit("recommend", model, "--history", history)[0] == 0
    code, out, _ = tacit("guarantee", model, "--json")
    assert json.loads(out)["guarantees"][0]["basis"] == "none"


def test_fit_without_noise_after_a_private_one(tacit, ratings, tmp_path):
    """It is the second fit of these people; its epsilon is inf, and there is no delta to name."""
    path, items = ratings
    private, exact = tmp_path / "private.tacit", tmp_path / "exact.tacit"
    assert tacit("fit", "private", path, "--items", items, "-o", private)[0] == 0
    options = ("--items", items, "--previous", private, "--epsilon", "inf", "-o", exact)
    code, out, _ = tacit("fit", "private", path, *options)
    assert code == 0
    sentence = "Fit 2 of these people: epsilon inf alone, inf in total."
    assert sentence in " ".join(out.split())
    code, out, _ = tacit("fit", "private", path, *options, "--json")
    assert code == 0
    assert json.loads(out)["budget_status"]["fits"] == 2


def test_fit_says_how_many_fits_of_a_plan_are_left(tacit, ratings, tmp_path):
    """One after the first of two; none after the second, which asks for no --previous."""
    path, items = ratings
    first, second = tmp_path / "first.tacit", tmp_path / "second.tacit"
    plan = ("--lifetime", "8", "--fits", "2")
    code, out, _ = tacit("fit", "private", path, "--items", items, *plan, "-o", first)
    assert code == 0
    sentence = "1 fit of the plan is left; the next one needs this model as --previous."
    assert sentence in " ".join(out.split())
    options = ("--items", items, "--previous", first, "-o", second)
    code, out, _ = tacit("fit", "private", path, *options)
    assert code == 0
    assert "No fit of the plan is left." in " ".join(out.split())


def test_fit_says_how_useful_it_is(tacit, ratings, tmp_path, monkeypatch):
    """With noise, here of one step of presence: effective population, mode, people missing,
    epsilon; the count of people is the noisy one."""
    monkeypatch.setattr(samplers, "discrete_gaussian", lambda values, sigma: values + 4096)
    code, out, _ = tacit("fit", "private", ratings[0], "-o", tmp_path / "m", "--json")
    made = json.loads(out)
    assert code == 0
    assert 0.999 < made["epsilon"] <= 1
    assert made["missing"] > 0
    assert made["basis"] == "conditional"
    assert "people" in made
    assert made["people"] == pytest.approx(120 + 1 / Settings().presence)
    code, out, _ = tacit("fit", "private", ratings[0], "-o", tmp_path / "m")
    assert "Effective population" in " ".join(out.split())


def test_evaluate_has_the_machine_output(tacit, ratings):
    """Rows of every model with the promised fields; 'inf' where there is no noise."""
    code, out, err = tacit(
        "evaluate", "private", ratings[0], "--items", ratings[1], "--epsilon", "1,inf",
        "--seeds", 2, "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    fields = {"model", "epsilon", "ndcg", "recall", "rmse", "low", "high", "kept"}
    assert all(set(row) == fields for row in rows)
    named = [(row["model"], row["epsilon"]) for row in rows]
    assert {("popularity", None), ("ease", None), ("private", 1.0), ("private", "inf")} <= set(
        named
    )
    best = dict(zip(named, rows, strict=True))
    assert best["private", "inf"]["ndcg"] > best["popularity", None]["ndcg"]


def test_evaluate_measures_a_plan_while_people_arrive(tacit, ratings):
    """Rows of the plan, of one release and of a fresh fit for each week; also by time where there
    are times, which here is refused in a sentence."""
    command = ("evaluate", "private", ratings[0], "--items", ratings[1], "--lifetime", 3)
    command += ("--fits", 3, "--weeks", "1,3", "--seeds", 2, "--json")
    code, out, err = tacit(*command)
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    assert all(set(row) == {"model", "epsilon", "week", "ndcg", "low", "high"} for row in rows)
    named = {(row["model"], row["week"]): row["epsilon"] for row in rows}
    assert named["plan", 1] == named["plan", 3] == named["one release", 3] == 3
    assert 1 < named["fresh fit", 3] < 3
    assert named["popularity", 1] is None
    assert tacit(*command, "--by-time")[0] != 0


def test_fit_says_how_many_agreed(tacit, ratings, tmp_path):
    """People of the file with and without ratings; a file with an index column is refused."""
    path, items = ratings
    people, model = tmp_path / "people.csv", tmp_path / "m.tacit"
    people.write_text("user\n" + "".join(f"{person}\n" for person in range(100, 125)))
    fit = ("fit", "private", path, "--items", items, "--epsilon", 8, "--consented", people)
    code, out, _ = tacit(*fit, "-o", model)
    assert code == 0
    assert "Of the 25 people of" in out
    assert "20 have ratings and 5 have none" in out
    people.write_text(",user\n" + "".join(f"{row},{row + 100}\n" for row in range(20)))
    code, _, err = tacit(*fit, "-o", tmp_path / "n.tacit")
    assert code == 3
    assert "not certain which column" in err


def test_evaluate_with_consenting_people(tacit, ratings):
    """The same rows; private is fitted with the share that consents, and others are judged."""
    code, out, err = tacit(
        "evaluate", "private", ratings[0], "--items", ratings[1], "--epsilon", "3",
        "--consented-share", 0.3, "--mode", "taste", "--seeds", 2, "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert {row["model"] for row in json.loads(out)["rows"]} >= {"private", "ease", "popularity"}


def test_plan_over_a_lifetime(tacit):
    """52 fits that share epsilon 1: each takes less, and more than a 52th."""
    code, out, _ = tacit(
        "plan",
        "private",
        "--people",
        6000,
        "--items",
        3000,
        "--every",
        "week",
        "--for",
        52,
        "--json",
    )
    made = json.loads(out)
    assert code == 0
    assert 1 / 52 < made["epsilon"] < 0.2
    assert made["missing"] == made["needed"] - 6000
    code, out, _ = tacit("plan", "private", "--people", 6000, "--items", 3000)
    assert "are expected to beat popularity" in " ".join(out.split())


def test_refits_are_charged_and_refused(tacit, ratings, tmp_path):
    """Two weeks fit into the lifetime; the third is refused and the model file stays."""
    model, ledger = tmp_path / "m.tacit", tmp_path / "b.db"
    words = ["fit", "private", ratings[0], "-o", model, "--ledger", ledger, "--lifetime", "1.5"]
    code, out, _ = tacit(*words, "--json")
    assert code == 0
    assert json.loads(out)["budget_status"]["further"] == 1
    code, out, _ = tacit(*words, "--previous", model)
    said = " ".join(out.split())
    assert code == 0
    assert "Fit 2 of these people: epsilon 1 alone, 1.45" in said
    assert "Warning: another fit like this one would exceed the lifetime" in said
    before = model.read_bytes()
    code, _, err = tacit(*words, "--previous", model)
    assert code == 5
    assert "Nothing was drawn, spent or written" in " ".join(err.split())
    assert model.read_bytes() == before
    code, out, _ = tacit("guarantee", model, "--json")
    assert 1.45 < json.loads(out)["guarantees"][0]["epsilon"] < 1.5


def test_an_open_budget_pays_for_the_epsilon_that_it_was_set_to(tacit, ratings, tmp_path):
    """A budget of 0.0123 for all fits refuses a first fit of 0.0124, and pays for one of 0.0123."""
    model, ledger = tmp_path / "m.tacit", tmp_path / "b.db"
    assert tacit("ledger", "create", ledger)[0] == 0
    words = (
        "--tenant",
        "tacit",
        "--dataset",
        "ratings",
        "--fits",
        "--epsilon",
        "0.0123",
        "--delta",
        "1e-6",
    )
    assert tacit("ledger", "open-budget", ledger, *words)[0] == 0
    fit = ("fit", "private", ratings[0], "-o", model, "--ledger", ledger)
    assert tacit(*fit, "--epsilon", "0.0124")[0] == 5
    assert not model.exists()
    code, out, err = tacit(*fit, "--epsilon", "0.0123")
    assert code == 0, out + err
    assert tacit(*fit, "--previous", model, "--epsilon", "0.0001")[0] == 5
    (row,) = json.loads(tacit("ledger", "show", ledger, "--json")[1])["budgets"]
    assert row["epsilon"] == row["epsilon_cap"] == 0.0123


def test_plan_of_fits_prints_weeks(tacit):
    """The plan's lists get better from fit to fit; a fresh fit each has 7 times the noise."""
    _, out, _ = tacit("plan", "private", "--people", 6000, "--items", 3000, "--fits", 52, "--json")
    weeks = json.loads(out)["weeks"]
    assert [week["week"] for week in weeks] == [1, 13, 26, 52]
    effective_population = [week["effective_population"] for week in weeks]
    assert effective_population == sorted(effective_population)
    single = weeks[0]["single_release"]
    assert effective_population[0] == pytest.approx(single * 0.5**0.5, rel=1e-2)
    assert weeks[0]["fresh_fit"] == pytest.approx(single / 52**0.5)
    shares = [week["share"] for week in weeks]
    assert shares == sorted(shares)
    for week in weeks:
        assert week["fresh_fit_share"] < week["share"] < 1
        assert week["fresh_fit_share"] < week["single_release_share"] < 1


def test_plan_of_fits_says_what_its_shares_are(tacit):
    """Lists' expected quality is printed for each week, and that it is an estimate."""
    _, out, _ = tacit("plan", "private", "--people", 6000, "--items", 3000, "--fits", 52)
    words = " ".join(out.split())
    assert "share of EASE's gain" in words
    assert "an estimate before any data" in words


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fits", 52, "--ratings", 1e6), "--fits goes with none of"),
        (("--fits", 52, "--stars"), "--fits goes with none of"),
        (("--weeks", "1,2"), "--weeks needs --fits"),
    ],
)
def test_plan_ignores_no_option(tacit, options, said):
    """What a plan of fits, or of one release, would not use is refused in a sentence."""
    code, _, err = tacit("plan", "private", "--people", 6000, "--items", 3000, *options)
    assert code == 2
    assert said in " ".join(err.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--weeks", "1,2"), "need a plan"),
        (("--by-time",), "need a plan"),
        (("--lifetime", 3, "--fits", 3, "--epsilon", 1), "--lifetime is the epsilon"),
        (("--lifetime", 3, "--fits", 3, "--source", "books"), "in one domain"),
        (("--lifetime", 3, "--fits", 3, "--consented-share", 0.2), "go with none of"),
        (("--lifetime", 3, "--fits", 3, "--text", "title"), "go with none of"),
    ],
)
def test_evaluate_ignores_no_option(tacit, ratings, options, said):
    """What the measurement of lists, or of a plan, would not use is refused in a sentence."""
    code, _, err = tacit("evaluate", "private", ratings[0], "--items", ratings[1], *options)
    assert code == 2
    assert said in " ".join(err.split())


def test_evaluate_suggests_a_plan_of_what_was_measured(tacit, tmp_path):
    """With its delta, its domains, the target's items, and an epsilon that a plan takes."""
    draws = np.random.default_rng(1)
    rows = ["user,item,rating,kind\n"]
    for person in range(60):
        for item in np.flatnonzero(draws.random(30) < 0.5):
            kind = "books" if item < 18 else "films"
            rows.append(f"{person},{item},{draws.integers(1, 6)},{kind}\n")
    (tmp_path / "r.csv").write_text("".join(rows))
    words = ("evaluate", "private", tmp_path / "r.csv", "--domain-column", "kind", "--seeds", 2)
    code, out, err = tacit(
        *words, "--source", "books", "--target", "films", "--delta", "1e-5", "--epsilon", "inf,2"
    )
    assert (code, err) == (0, "")
    line = "tacit plan private --people 60 --items 12 --across --delta 1e-05 --epsilon 2"
    assert line in " ".join(out.split())


@pytest.mark.parametrize("option", ["--epsilon", "--weeks"])
def test_an_empty_list_of_numbers_is_refused(tacit, ratings, option):
    """Before anything is measured."""
    code, out, err = tacit("evaluate", "private", ratings[0], option, "")
    assert (code, out) == (2, "")
    assert f"{option} takes numbers with commas" in " ".join(err.split())


def test_plan_suggests_a_first_fit_with_what_was_typed(tacit):
    """No earlier model is named, and delta, domains and stars are kept."""
    people = ("plan", "private", "--people", 6000, "--items", 3000, "--delta", "1e-5")
    said = " ".join(tacit(*people, "--every", "week", "--for", 4, "--across", "--stars")[1].split())
    kept = "--source SOURCE --target TARGET --stars --delta 1e-05"
    fit = "tacit fit private RATINGS --epsilon 0.468 "
    assert f"{fit}{kept} --lifetime 1 --ledger budgets.db -o m.tacit" in said
    assert "Each later fit has --previous m.tacit as well." in said
    assert f"tacit evaluate private RATINGS --epsilon 0.468,1 {kept}" in said
    assert "tacit guarantee private --epsilon 0.468 --delta 1e-05" in said
    said = " ".join(tacit(*people, "--fits", 4)[1].split())
    assert "--lifetime 1 --fits 4 --delta 1e-05 --ledger" in said
    assert "tacit guarantee private --epsilon 1 --delta 1e-05" in said
    said = " ".join(tacit(*people[:-2])[1].split())
    assert "tacit fit private RATINGS --epsilon 1 -o m.tacit" in said


def test_plan_for_one_release(tacit):
    """1,141 people for 1,700 items at epsilon 1, more across domains."""
    _, out, _ = tacit("plan", "private", "--people", 1900, "--items", 1700, "--json")
    made = json.loads(out)
    assert made["needed"] == pytest.approx(1141, abs=1)
    assert made["worthwhile"] is True
    _, out, _ = tacit("plan", "private", "--people", 1900, "--items", 1700, "--across", "--json")
    assert json.loads(out)["needed"] == pytest.approx(1141 * 88 / 70, abs=2)


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "private", "r.csv", "--epsilon", "0"),
        ("fit", "private", "r.csv", "--mode", "best"),
        ("fit", "private", "r.csv", "--features", "colour"),
        ("fit", "private", "r.csv", "--per-item", "5"),
        ("fit", "private", "r.csv", "--per-user", "5"),
        ("fit", "private", "r.csv", "--target", "films"),
        ("plan", "private", "--people", "100", "--items", "10", "--every", "week"),
        ("plan", "private", "--people", "100", "--items", "10", "--epsilon", "inf"),
        ("evaluate", "private", "r.csv", "--epsilon", "many"),
        ("guarantee", "private"),
        ("guarantee", "private", "--epsilon", "-1"),
    ],
)
def test_refusals(tacit, ratings, tmp_path, monkeypatch, words):
    """One sentence, no traceback, no model file."""
    monkeypatch.chdir(tmp_path)
    given = [*words, *(["-o", "m.tacit"] if words[0] == "fit" else [])]
    code, out, err = tacit(*given)
    assert code not in (0, 1)
    assert out == ""
    assert "Traceback" not in err
    assert not (tmp_path / "m.tacit").exists()


def test_audit_shows_lines_and_planted_bugs(tacit, monkeypatch):
    """With few samples: lines hold, one on a large table and one of a plan among them, a bug is
    caught, exit code 0. tests/designs/private/audit tries every way to fit and every bug."""
    shown = tuple(bug for bug in bench.BUGS if bug.name == "two sums with one charge")
    monkeypatch.setattr(bench, "BUGS", shown)
    monkeypatch.setattr(bench, "PLAN_BUGS", bench.PLAN_BUGS[:1])
    monkeypatch.setattr(bench, "LARGE_BUGS", bench.LARGE_BUGS[:1])
    monkeypatch.setattr(bench, "CLAIMS", (*bench.CLAIMS[:2], bench.CLAIMS[-1]))
    monkeypatch.setattr(membership, "GAMES", membership.GAMES[:1])
    code, out, _ = tacit("audit", "private", "--planted", "--samples", 1000)
    said = " ".join(out.split())
    assert code == 0
    assert "No violation was found" in said
    assert "two sums with one charge" in said


def test_a_catalogue_without_domains_makes_it_proved(tmp_path, capsys):
    """In one domain a public list of items needs no domain."""
    made, words = (
        str(tmp_path / "r.parquet"),
        ["--users", "80", "--items", "30", "--ratings", "900"],
    )
    assert cli.main(["data", "generate", made, "--seed", "1", "--labels", "3", *words]) == 0
    capsys.readouterr()
    items = str(tmp_path / "r-items.parquet")
    given = ["--catalogue", items, "--items", items, "--scale", "1:5:1", "--json"]
    given += ["--format", str(tmp_path / "r-format.json")]
    assert cli.main(["fit", "private", made, *given, "-o", str(tmp_path / "m.tacit")]) == 0
    assert json.loads(capsys.readouterr().out)["basis"] == "proved"


def test_streaming_and_a_cluster_are_options(tacit, ratings, tmp_path):
    """--memory fits from Parquet, with the card of memory; what does not go together is refused,
    and a server that is not there is said."""
    path, items = ratings
    parquet, model = tmp_path / "r.parquet", tmp_path / "m.tacit"
    pl.read_csv(path).write_parquet(parquet)
    asked = ("--items", items, "-o", model, "--epsilon", 2, "--scale", "1:5:1")
    streamed = json.loads(tacit("fit", "private", parquet, *asked, "--memory", "1GiB", "--json")[1])
    card = json.loads(tacit("fit", "private", path, *asked, "--json")[1])
    for name in ("epsilon", "delta", "features", "basis"):
        assert streamed[name] == card[name]
    server = ("--engine", "spark", "--remote", "sc://127.0.0.1:1")
    for words, said in (
        (("--engine", "spark"), "--remote"),
        (("--engine", "flink"), "'local' or 'spark'"),
        (("--tasks", "3"), "--tasks"),
        (("--memory", "much"), "4GiB"),
        (("--memory", "1GiB", "--delimiter", ","), "--delimiter"),
        ((*server, "--memory", "1GiB"), "--memory"),
        ((*server, "--delimiter", ","), "--delimiter"),
        (server, "No Spark Connect server"),
    ):
        code, _, err = tacit("fit", "private", parquet, *asked, *words)
        assert code in (1, 2)
        assert said in err


@pytest.mark.parametrize("design", ["private", "xmap"])
def test_plan_says_what_a_fit_costs(tacit, design):
    """Passes, tasks and tiles; ten times the ratings take about ten times the hours; with stars
    more passes, and one more for pairs of likes within one domain. Measured: 100 million streamed
    ratings of 27,000 items took 68 core seconds in four passes."""

    def priced(*words: str) -> dict[str, float]:
        asked = ("plan", design, "--users", "1e8", "--items", "1e6", "--json", *words)
        return json.loads(tacit(*asked)[1])["cost"]

    cost, less = priced("--ratings", "1e9"), priced("--ratings", "1e8")
    passes = 5 if design == "private" else 4
    assert (cost["passes"], cost["tasks"]) == (passes, 500)
    assert priced("--ratings", "1e9", "--stars")["passes"] == passes + 3
    for name in ("one_machine_core_hours", "cluster_core_hours", "shuffle_bytes"):
        assert 7 < cost[name] / less[name] < 12
    assert 0.5 < less["one_machine_core_hours"] * 3600 / 68.1 < 2
    code, out, _ = tacit("plan", design, "--users", "1e8", "--items", "1e6", "--ratings", "1e9")
    assert code == 0
    assert f"On a cluster: {passes} passes in 500 tasks" in " ".join(out.split())


@pytest.mark.parametrize(
    ("ratings", "here", "there"), [(1e6, 21.9, 42.1), (5e6, 37.5, 76.6), (2e7, 91.4, 171.1)]
)
def test_plan_of_the_published_x_map_is_near_what_was_measured(tacit, ratings, here, there):
    """Within a factor of 2 of the core seconds in memory and on pysail, 145 ratings a person."""
    asked = ("plan", "xmap", "--variant", "published", "--items", 27_000, "--people", ratings / 145)
    cost = json.loads(tacit(*asked, "--ratings", ratings, "--json")[1])["cost"]
    assert 0.5 < cost["one_machine_core_hours"] * 3600 / here < 2
    assert 0.5 < cost["cluster_core_hours"] * 3600 / there < 2
    assert tacit(*asked)[0] == 2


def test_plan_has_the_sizes_of_a_cluster():
    """Tasks, pieces, parts and directions are those of the code that has them."""
    pytest.importorskip("pyarrow")
    from tacit.engine import cost, item_item_tiles, spark
    from tacit.engine.spark import workers
    from tacit.profile_sums.settings import Settings

    of_code = (
        spark.TASK_ROWS,
        workers.PIECE,
        item_item_tiles.RATINGS_PER_PART,
        item_item_tiles.ITEMS_PER_PART,
    )
    assert of_code == (cost.TASK_ROWS, cost.PIECE, cost.RATINGS_PER_PART, cost.ITEMS_PER_PART)
    assert Settings().directions == cost.DIRECTIONS


@pytest.mark.parametrize("design", ["private", "xmap"])
@pytest.mark.parametrize("name", ["--people", "--items", "--ratings"])
@pytest.mark.parametrize("number", ["inf", "nan", "-1"])
def test_plan_takes_numbers_that_there_can_be(tacit, design, name, number):
    """Any other is refused in a sentence that names the option."""
    asked = {"--people": "500", "--items": "50", "--ratings": "900"} | {name: number}
    code, _, error = tacit("plan", design, *(word for pair in asked.items() for word in pair))
    assert code == 2
    assert name in error
