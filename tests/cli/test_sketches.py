"""The commands a person types around sketches, on small numbers."""

from __future__ import annotations

import json
import shlex
from dataclasses import fields

import numpy as np
import polars as pl
import pytest

from tacit.auditing.claims import AuditResult
from tacit.cli import app as cli
from tacit.data.synthetic_worlds import Blocks
from tacit.designs.sketches.audit import audits
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.experiment.simulation import simulate
from tacit.designs.sketches.messages import Report
from tacit.designs.sketches.planner import plan
from tacit.designs.sketches.server import Server


@pytest.fixture
def tacit(capsys):
    """Run one command line in this process: exit code, standard output, standard error."""

    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def as_json(tacit):
    """Run one command line with --json and parse all of its standard output."""

    def call(*words: object) -> dict:
        code, out, err = tacit(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


PLAN = ("plan", "sketches", "--items", 200, "--rated", 20, "--epsilon", 1)
SIMULATE = ("simulate", "sketches", "--items", 30, "--rated", 10, "--seeds", 2)


def test_plan_prints_the_machine_output(as_json):
    """The planner's own numbers, under the promised keys."""
    found = as_json(*PLAN, "--clusters", 2, "--eta", 0.1)
    own = plan(items=200, rated=20, epsilon=1.0, clusters=2, eta=0.1)
    bounds = found["lower_bounds"]
    assert bounds.pop("one_bit") is None
    assert bounds == pytest.approx(own.lower_bounds)
    assert set(bounds) == {"ldp", "scarce", "adaptive"}
    assert found["lower_bounds"]["scarce"] == pytest.approx(4569.2, abs=0.1)
    for method in found["methods"]:
        keys = ["method", "theta", "questions", "users_clt", "users_theorem", "spectrum"]
        assert list(method) == keys
    assert found["methods"][0]["users_clt"] == pytest.approx(own.best.users_clt)


def test_plan_says_it_in_a_sentence(tacit):
    """At least so many, and what to use, with theta and the number of questions."""
    code, out, _ = tacit(*PLAN)
    said = " ".join(out.split())
    assert code == 0
    bounds = "with fewer than 269 people, or 4,570 if questions do not depend on earlier answers"
    assert f"No method finds the clusters {bounds}" in said
    assert "use maxsense with theta 0.9 and 1 question, which takes about 42,000,000" in said
    assert "Theorem 3.5" in said
    assert "Two people rated no item in common" in said
    assert "Theorem 4.3" not in said
    assert "Next:" in said


def test_plan_prints_theorem_4_3(tacit):
    """For one rated item the bound of one-bit questions, as a number and in a sentence."""
    words = ("plan", "sketches", "--items", 1682, "--rated", 1, "--epsilon", 1000)
    found = json.loads(tacit(*words, "--json")[1])
    assert round(found["lower_bounds"]["one_bit"]) == 1_763_734
    said = " ".join(tacit(*words)[1].split())
    assert "no method can learn the clusters from fewer than 1,763,734 people" in said
    assert (
        "does not hold for several questions to one person, nor for questions that depend" in said
    )


def test_wrong_labels_reach_the_plan(as_json):
    """--wrong and --eta lower the lower bounds as they do in the planner."""
    words = ("plan", "sketches", "--items", 200, "--rated", 1, "--epsilon", 1)
    own = plan(items=200, rated=1, epsilon=1.0, eta=0.2, wrong=0.05).lower_bounds
    found = as_json(*words, "--eta", 0.2, "--wrong", 0.05)["lower_bounds"]
    assert found.pop("adaptive") is None
    assert found == pytest.approx(own)
    usual = as_json(*words)["lower_bounds"]
    assert all(found[name] < usual[name] for name in ("ldp", "scarce", "one_bit"))


def test_shares_of_items_and_people(as_json):
    """--item-shares and --people-shares reach the plan and the simulation."""
    likes = ("--likes", "0.9,0.2/0.3,0.8")
    shares = ("--item-shares", "0.7,0.3", "--people-shares", "0.2,0.8")
    world = Blocks(np.array([0.2, 0.8]), np.array([0.7, 0.3]), np.array([[0.9, 0.2], [0.3, 0.8]]))
    own = plan(items=200, rated=20, epsilon=1.0, blocks=world).to_dict()
    found = as_json(*PLAN, *likes, *shares)
    assert found["methods"] == json.loads(json.dumps(own["methods"]))
    assert found["methods"] != as_json(*PLAN, *likes)["methods"]
    words = ("--people", 2000, "--epsilon", 4, *likes, *shares)
    rows = as_json(*SIMULATE, *words)["rows"]
    setting = {"items": 30, "rated": 10, "epsilon": 4.0, "users": [2000], "blocks": world}
    assert rows == [simulate("maxsense", seed=seed, **setting)[0] for seed in (0, 1)]


def test_plan_follows_the_assumed_world(as_json, tacit):
    """--likes changes what methods need and no lower bound; what cannot be told apart is said."""
    usual, easy = as_json(*PLAN), as_json(*PLAN, "--likes", "0.9,0.1")
    assert easy["lower_bounds"] == usual["lower_bounds"]
    assert easy["methods"][0]["users_clt"] < usual["methods"][0]["users_clt"] / 10
    alike = as_json(*PLAN, "--likes", "0.5,0.5")
    assert {method["users_clt"] for method in alike["methods"]} == {None}
    assert "no method here can tell these clusters apart" in " ".join(
        tacit(*PLAN, "--likes", "0.5,0.5")[1].split()
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--eta", 0.7), "eta is a chance"),
        (("--unit", "day"), "A unit is one of user"),
        (("--likes", "0.9,x"), "--likes has 2 numbers in every class"),
        (("--likes", "0.9,0.5,0.1"), "--clusters"),
        (("--likes", "0.9,1.5"), "Likes are chances"),
        (("--item-shares", "0.5,0.2,0.3"), "--item-shares has a share for each of 2 item"),
        (("--people-shares", "1"), "--people-shares has a share for each of 2 classes"),
        (("--item-shares", "0.5,0.6"), "add up to 1"),
        (("--rated", 201), "1 to 200 rated"),
        (("--epsilon", "inf"), "finite"),
    ],
)
def test_plans_of_nonsense_are_sentences(tacit, words, said):
    """What cannot be planned for is named."""
    code, _, err = tacit(*PLAN, *words)
    assert code == 2
    assert said in err


def test_simulate_prints_the_machine_output(as_json):
    """A row for each method, epsilon, crowd and seed; null stands for no noise."""
    rows = as_json(
        *SIMULATE,
        *("--method", "maxsense", "--method", "pairwise-preference", "--likes", "0.9,0.1"),
        *("--epsilon", "1,inf", "--people", "100,2000"),
    )["rows"]
    fields = ["method", "items", "rated", "epsilon", "users", "seed", "accuracy", "ari"]
    assert all(list(row) == fields for row in rows)
    settings = [(row["method"], row["epsilon"], row["users"], row["seed"]) for row in rows]
    assert len(set(settings)) == len(rows) == 16
    assert {row["epsilon"] for row in rows} == {1.0, None}
    assert all(0 <= row["accuracy"] <= 1 for row in rows)


def test_simulate_shows_means(tacit):
    """For people: a line for each setting."""
    code, out, _ = tacit(*SIMULATE, "--people", 500, "--likes", "0.9,0.1")
    assert code == 0
    assert "labels right" in out
    assert "Next:" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--people"),
        (("--people", "many"), "--people takes numbers"),
        (("--people", 100, "--method", "guess"), "A method is one of"),
    ],
)
def test_simulations_of_nonsense_are_sentences(tacit, words, said):
    """What cannot be simulated is named."""
    code, _, err = tacit(*SIMULATE, *words)
    assert code == 2
    assert said in " ".join(err.split())


@pytest.fixture(scope="module")
def ratings(tmp_path_factory):
    """A file of generated ratings."""
    made = tmp_path_factory.mktemp("sketches") / "r.csv"
    words = ("--users", "60", "--items", "40", "--ratings", "1200", "--seed", "1")
    assert cli.main(["data", "generate", str(made), *words]) == 0
    return made


EVALUATE = ("--rated", 15, "--seeds", 2, "--users-curve", "60,2000", "--epsilon", "1,inf")


def test_evaluate_prints_the_machine_output(ratings, as_json):
    """A row for each method, epsilon, crowd and seed, what is needed, and the sentence."""
    found = as_json("evaluate", "sketches", ratings, *EVALUATE)
    fields = ["method", "epsilon", "users", "seed", "ndcg_at_10", "recall_at_10"]
    assert all(list(row) == fields for row in found["rows"])
    assert {row["method"] for row in found["rows"]} == {
        *("multi-maxsense", "spectral-coclustering", "popularity", "item-knn")
    }
    assert [need["epsilon"] for need in found["needed"]] == [1.0]
    assert "These ratings have 60 people." in found["sentences"][0]
    assert found["manifest"]["settings"]["seeds"] == [0, 1]


def test_evaluate_says_it_in_words(ratings, tacit):
    """For people: a table with infinitely many reports, and how many people it takes."""
    code, out, _ = tacit("evaluate", "sketches", ratings, *EVALUATE)
    assert code == 0
    assert "infinite" in out
    assert "nobody can put all of 40 items" in out
    assert "Next:" in out


def test_explain_prints_every_byte(as_json):
    """The bytes that are explained are the whole report, and the campaign is as asked for."""
    found = as_json("device", "explain", "--questions", 3)
    assert found["size"] == 22
    data = "".join(row["bytes"] for row in found["bytes"] if not row["bytes"].startswith("bit"))
    assert data == found["report"]
    asked = [row["meaning"] for row in found["bytes"] if row["bytes"].startswith("bit")]
    assert len(asked) == 3
    assert all("do you like" in meaning for meaning in asked)
    assert (found["campaign"]["epsilon"], found["campaign"]["questions"]) == (1.0, 3)


def test_explain_says_what_stays_at_home(tacit):
    """For people: what is asked, what she rated, what leaves, and what to read next."""
    code, out, _ = tacit("device", "explain")
    assert code == 0
    assert "On the device, and never sent: film 3: 5" in out
    assert "22 bytes" in out
    assert "tacit guarantee sketches --epsilon 1" in out


def test_a_device_refuses_too_much(tacit):
    """More epsilon than the owner allows: exit code 5; allowed, it answers."""
    code, out, err = tacit("device", "explain", "--epsilon", 2)
    assert (code, out) == (5, "")
    assert "at most 1" in err
    assert tacit("device", "explain", "--epsilon", 2, "--limit", 2)[0] == 0


@pytest.mark.parametrize("ids", [[7, -12, 30, 31], ["a", "b b", "--5", "7"]])
def test_explain_a_campaign_of_ones_own(as_json, tmp_path, ids):
    """A campaign's bytes, its items and a history, each from a file; ids are texts or integers."""
    made = new_campaign(ids, rated=2, epsilon=0.5, theta=0.5, seed=bytes(16))
    (tmp_path / "campaign").write_bytes(made.encode())
    (tmp_path / "items").write_text("\n".join(map(str, ids)))
    (tmp_path / "mine.csv").write_text(f"item,rating\n{ids[0]},5\n{ids[1]},2\n")
    files = ("--campaign", tmp_path / "campaign", "--catalogue", tmp_path / "items")
    found = as_json("device", "explain", *files, "--history", tmp_path / "mine.csv")
    assert found["campaign"]["bytes"] == made.encode().hex()
    assert found["report"].startswith("0102" + made.id.hex())


def test_explain_names_the_cards_of_its_own_campaign(tacit, tmp_path):
    """With all that the cards depend on; the command that is printed prints them."""
    made = new_campaign([1, 2, 3, 4], rated=2, epsilon=0.123456, method="pairwise-preference")
    (tmp_path / "campaign").write_bytes(made.encode())
    (tmp_path / "items").write_text("1\n2\n3\n4\n")
    (tmp_path / "mine.csv").write_text("item,rating\n1,5\n2,2\n")
    files = ("--campaign", tmp_path / "campaign", "--catalogue", tmp_path / "items")
    _, out, _ = tacit("device", "explain", *files, "--history", tmp_path / "mine.csv")
    shown = " ".join(out.split())
    options = "--epsilon 0.123456 --method pairwise-preference --questions 1 --rated 2"
    command = f"tacit guarantee sketches {options} --unit user"
    assert command in shown
    assert tacit(*shlex.split(command)[1:])[0] == 0


def test_explain_what_it_was_not_given(tacit, tmp_path):
    """Missing and wrong files are sentences."""
    (tmp_path / "campaign").write_bytes(b"nothing")
    (tmp_path / "items").write_text("1\n2\n")
    campaign, items = ("--campaign", tmp_path / "campaign"), ("--catalogue", tmp_path / "items")
    for words, code, said in (
        (campaign, 2, "add --catalogue"),
        (items, 2, "name one with --campaign"),
        ((*campaign, *items), 3, "no campaign"),
        (("--questions", 40), 2, "No campaign can be made"),
        (("--campaign", tmp_path / "none", *items), 1, "No such file"),
    ):
        found, _, err = tacit("device", "explain", *words)
        assert found == code
        assert said in err


def test_the_cards_of_sketches(as_json, tacit):
    """One card a unit, with what three questions at epsilon 6 cost each; the bytes come next."""
    cards = as_json("guarantee", "sketches", "--epsilon", 6, "--questions", 3)["guarantees"]
    assert [card["epsilon"] for card in cards] == pytest.approx([6, 4, 4])
    assert {card["basis"] for card in cards} == {"proved"}
    assert "tacit device explain" in tacit("guarantee", "sketches", "--epsilon", 1)[1]
    (values,) = as_json("guarantee", "sketches", "--epsilon", 1, "--method", "pairwise-rated")[
        "guarantees"
    ]
    assert "NOT which items" in values["protects"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "add --epsilon"),
        (("--epsilon", "inf"), "finite"),
        (("--epsilon", 1, "--delta", 1e-6), "--delta is no option of sketches"),
        (("--epsilon", 1, "--method", "guess"), "--method is one of multi-maxsense"),
        (("--epsilon", 1, "--unit", "day"), "--unit is one of user"),
        (("--epsilon", 1, "--questions", 0), "at least 1"),
    ],
)
def test_cards_that_cannot_be_are_sentences(tacit, words, said):
    """Wrong options of a card."""
    code, _, err = tacit("guarantee", "sketches", *words)
    assert code == 2
    assert said in err


def test_audit_has_the_rows_of_the_others(as_json, monkeypatch):
    """The keys of `tacit audit mechanisms`, for a few samples, with planted bugs and twins."""
    monkeypatch.setattr(audits, "MECHANISMS", audits.MECHANISMS[:2])
    found = as_json("audit", "sketches", "--samples", 1000, "--planted")
    keys = {field.name for field in fields(AuditResult)}
    assert [set(one) for one in found["audits"]] == [keys, keys]
    assert [audit["exact"] for audit in found["audits"]] == pytest.approx([1, 1], rel=1e-6)
    assert all(bug["caught"] for bug in found["planted"])
    assert not any(twin["alarm"] for twin in found["clean"])


def test_audit_names_what_comes_next(tacit, monkeypatch):
    """The table for people; too few samples are refused."""
    monkeypatch.setattr(audits, "MECHANISMS", audits.MECHANISMS[:1])
    code, out, _ = tacit("audit", "sketches", "--samples", 1000)
    assert code == 0
    assert "tacit audit sketches --planted" in out
    assert tacit("audit", "sketches", "--samples", 10)[0] == 2


@pytest.mark.parametrize("crafted", [True, False])
def test_crafted_reports_are_said(tacit, tmp_path, crafted):
    """Counted reports come with what tests say of them, and how far fakes could have moved them."""
    campaign = new_campaign(range(50), rated=5, epsilon=1.0)
    (tmp_path / "c.bin").write_bytes(campaign.encode())
    bits = np.random.default_rng(1).random(3000) < (1.0 if crafted else 0.5)
    sent = [Report(campaign.id, n + 1, int(bit)).encode() for n, bit in enumerate(bits)]
    (tmp_path / "r.bin").write_bytes(b"".join(sent))
    words = ("sketches", "fold", tmp_path / "c.bin", tmp_path / "r.bin", "-o", tmp_path / "out")
    code, out, _ = tacit(*words)
    assert code == 0
    assert ("Some look crafted" if crafted else "No test says") in out
    assert "moves an item's share of yes by at most" in out
    assert json.loads(tacit(*words, "--json")[1])["crafted"] is crafted


def test_reports_of_a_file_are_counted(tmp_path):
    """From bytes and from Parquet: the same totals and refusals, also of repeated tickets."""
    campaign = new_campaign(range(50), rated=5, epsilon=2.0)
    bits = np.random.default_rng(1).integers(0, 2**campaign.questions, 3000)
    sent = [Report(campaign.id, n + 1, int(b)).encode() for n, b in enumerate(bits)]
    sent += [*sent[:40], Report(bytes(8), 7, 0).encode()]
    (tmp_path / "c.bin").write_bytes(campaign.encode())
    (tmp_path / "r.bin").write_bytes(b"".join(sent))
    pl.DataFrame({"report": sent}).write_parquet(tmp_path / "r.parquet")
    made = []
    for file in ("r.bin", "r.parquet"):
        out = tmp_path / f"{file}.tacit"
        words = ("sketches", "fold", tmp_path / "c.bin", tmp_path / file, "-o", out, "--json")
        assert cli.main([str(word) for word in words]) == 0
        made.append(Server.load(out))
    for server in made:
        assert server.reports == 3000
        assert server.rejected["duplicate"] == 40
        assert server.rejected["another campaign"] == 1
        assert (server.totals == made[0].totals).all()
        assert (server.ones == made[0].ones).all()


@pytest.mark.parametrize("spoiled", [b"x", b"", bytes(30)])
def test_a_message_of_another_length_costs_no_other_report(tacit, tmp_path, spoiled):
    """One device sends a byte too many, a byte too few or anything else: the others count."""
    campaign = new_campaign(range(50), rated=5, epsilon=2.0)
    sent = [Report(campaign.id, n + 1, n % 2).encode() for n in range(20)]
    (tmp_path / "c.bin").write_bytes(campaign.encode())
    first = sent[0] + spoiled if spoiled else sent[0][:-1]
    (tmp_path / "r.bin").write_bytes(first + b"".join(sent[1:]))
    code, out, _ = tacit("sketches", "fold", tmp_path / "c.bin", tmp_path / "r.bin", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["accepted"] == (20 if spoiled else 19)
    assert found["refused"]["malformed"] == (2 if len(spoiled) > 22 else 1)


def test_a_file_of_other_reports_is_doubted(tacit, tmp_path):
    """Where most reports are refused, the sentence says what to check; else it does not."""
    campaign = new_campaign(range(50), rated=5, epsilon=2.0)
    (tmp_path / "c.bin").write_bytes(campaign.encode())
    for name, ids in (("own", [campaign.id, bytes(8)]), ("other", [campaign.id, *[bytes(8)] * 2])):
        sent = [Report(one, number + 1, 0).encode() for number, one in enumerate(ids)]
        (tmp_path / f"{name}.bin").write_bytes(b"".join(sent))
        code, out, _ = tacit("sketches", "fold", tmp_path / "c.bin", tmp_path / f"{name}.bin")
        assert code == 0
        said = " ".join(out.split())
        assert ("check that this file has reports to this campaign" in said) == (name == "other")


def test_a_file_whose_reports_were_sent_often_is_not_doubted(tacit, tmp_path):
    """Most are refused as duplicates, and the file is the right one."""
    campaign = new_campaign(range(50), rated=5, epsilon=2.0)
    (tmp_path / "c.bin").write_bytes(campaign.encode())
    (tmp_path / "r.bin").write_bytes(Report(campaign.id, 1, 0).encode() * 4)
    code, out, _ = tacit("sketches", "fold", tmp_path / "c.bin", tmp_path / "r.bin")
    said = " ".join(out.split())
    assert code == 0
    assert "3 duplicate" in said
    assert "check that this file" not in said


def test_counts_lie_beside_their_reports(tacit, tmp_path):
    """Without --out the counts of r.bin are r.counts, replaced with --force alone."""
    campaign = new_campaign(range(50), rated=5, epsilon=2.0)
    (tmp_path / "c.bin").write_bytes(campaign.encode())
    (tmp_path / "r.bin").write_bytes(Report(campaign.id, 1, 0).encode())
    words = ("sketches", "fold", tmp_path / "c.bin", tmp_path / "r.bin")
    assert tacit(*words)[0] == 0
    assert Server.load(tmp_path / "r.counts").reports == 1
    assert tacit(*words)[0] != 0
    assert tacit(*words, "--force")[0] == 0


def test_fold_without_its_campaign(tacit, tmp_path):
    """A campaign that is not there is a missing file, as everywhere."""
    code, _, err = tacit(
        "sketches", "fold", tmp_path / "no", tmp_path / "r", "-o", tmp_path / "out"
    )
    assert code == 1
    assert "No such file" in err
