"""`tacit recommend`: lists at the device, and from the letters of a device on the command line."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tacit.cli import app as cli

LATER = "2099-01-01T00:00:00"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with ratings, their users, and models with and without a table to publish."""
    made = tmp_path_factory.mktemp("cli")
    generated = ("--users", "240", "--items", "60", "--ratings", "7200", "--seed", "3")
    assert cli.main(["data", "generate", str(made / "r.csv"), *generated]) == 0
    fit = ["fit", "standard-scheme", str(made / "r.csv"), "--users", str(made / "r-users.csv")]
    fit += ["--service-sees-items", "no", "--no-measure"]
    assert cli.main([*fit, "--item-table", "-o", str(made / "m.tacit")]) == 0
    assert cli.main([*fit, "-o", str(made / "private.tacit")]) == 0
    return made


@pytest.fixture
def mine(tmp_path) -> Path:
    path = tmp_path / "mine.csv"
    path.write_text("item,rating\n1,5\n2,4\n3,1\n4,3\n5,5\n")
    return path


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


def items_of(result):
    return [entry["item_id"] for entry in result["items"]]


def files_of(mine):
    return {path.name: path.read_bytes() for path in sorted(mine.parent.iterdir())}


def test_a_list_at_the_device(folder, as_json, mine):
    """--at-device gives n unseen items, and writes nothing anywhere."""
    result = as_json("recommend", folder / "m.tacit", "--history", mine, "-n", 7, "--at-device")
    assert len(items_of(result)) == 7
    assert not {1, 2, 3, 4, 5} & set(items_of(result))
    assert (result["computed"], result["release"], result["shown"]) == ("at the device", None, None)
    assert list(files_of(mine)) == ["mine.csv"]


def test_no_list_at_the_device_without_consent(folder, tacit, mine):
    """Without the training people's agreement, one sentence says what is missing."""
    words = ("recommend", folder / "private.tacit", "--history", mine, "--at-device")
    code, out, err = tacit(*words)
    assert (code, out) == (5, "")
    assert "--item-table" in err
    assert err.count("Error") == 1


def test_at_device_releases_nothing(folder, tacit, mine):
    """--at-device and --about exclude one another."""
    words = ("recommend", folder / "m.tacit", "--history", mine, "--at-device")
    code, _, err = tacit(*words, "--about", "gender=F")
    assert code == 2
    assert "releases nothing" in err


def test_at_device_has_no_meaning_for_a_baseline(folder, tacit, mine, tmp_path):
    """A recommender without an item table does not pretend to have one."""
    tacit("fit", "popularity", folder / "r.csv", "-o", tmp_path / "b.tacit")
    code, _, err = tacit("recommend", tmp_path / "b.tacit", "--history", mine, "--at-device")
    assert code == 2
    assert "no item table" in err


def test_help_offers_the_device_first(tacit):
    """The help names the list at the device before the one from a release."""
    _, out, _ = tacit("recommend", "--help")
    assert out.index("--at-device") < out.index("--about")


def test_nothing_leaves_before_the_calendar_says_so(folder, as_json, mine):
    """A new account has no letter, however much is rated; its list is what most people like."""
    words = ("recommend", folder / "m.tacit", "--about", "gender=F", "--history", mine)
    before = int(time.time())
    first = as_json(*words)
    mine.write_text("item,rating\n" + "".join(f"{item},5\n" for item in range(1, 50)))
    second = as_json(*words)
    for result in (first, second):
        assert (result["release"], result["shown"]) == (None, None)
        assert result["computed"] == "before the first letter"
        assert datetime.fromisoformat(result["due"]).timestamp() >= before + 1800
    popular = as_json("recommend", folder / "m.tacit", "-n", 60)
    assert items_of(first) == [item for item in items_of(popular) if item > 5][:10]


def test_another_time_keeps_nothing(folder, as_json, mine):
    """--as-of shows the same letter again and again, and changes no file."""
    words = ("recommend", folder / "m.tacit", "--about", "gender=F", "--history", mine)
    as_json(*words)
    kept = files_of(mine)
    letters = {as_json(*words, "--as-of", LATER, "-n", n)["release"] for n in range(1, 5)}
    assert len(letters) == 1
    assert files_of(mine) == kept


def test_what_was_decided_in_a_trial_is_not_said_to_be_kept(folder, tacit, mine):
    """--as-of says that its trial is not stored, and what is; other calls name no trial."""
    words = ("recommend", folder / "m.tacit", "--about", "gender=F", "--history", mine)
    _, out, _ = tacit(*words)
    text = " ".join(out.split())
    assert "What this device decided is stored in" in text
    assert "trial" not in text
    _, out, _ = tacit(*words, "--as-of", LATER)
    text = " ".join(out.split())
    assert f"This is a trial of {datetime.fromisoformat(LATER)} UTC" in text
    assert "what was decided in it is not stored" in text
    assert "What this device decided until now is stored in" in text


def test_a_letter_holds_no_attribute(folder, as_json, mine):
    """The bytes name items, stars and the epoch only, and never a count of what was held back."""
    words = ("recommend", folder / "m.tacit", "--about", "gender=M", "--history", mine)
    result = as_json(*words, "--as-of", LATER)
    content = json.loads(result["release"])
    assert set(content) == {"version", "message", "disclosure", "epoch", "ratings"}
    assert content["version"] == 2
    assert result["shown"] == len(content["ratings"])
    assert result["computed"] == "from the release"


def test_the_list_of_a_letter(folder, as_json, mine):
    """The list is by the scores of the letter alone: stars that the letter lacks do not move it."""
    words = ("recommend", folder / "m.tacit", "--about", "gender=F", "--history", mine)
    result = as_json(*words, "--as-of", LATER)
    shown = {item for item, _ in json.loads(result["release"])["ratings"]}
    assert shown <= {1, 2, 3, 4, 5}
    assert not {1, 2, 3, 4, 5} & set(items_of(result))


def test_a_lost_memory_decides_nothing_twice(folder, as_json, mine):
    """If the memory is gone and the account is not, nothing is sent, and the notice says why."""
    words = ("recommend", folder / "m.tacit", "--about", "gender=F", "--history", mine)
    as_json(*words)
    (mine.parent / "mine.csv.released.json").unlink()
    result = as_json(*words, "--as-of", LATER)
    assert result["shown"] is None
    assert "another memory of this account" in result["notice"]


def test_another_value_decides_nothing_new(folder, as_json, mine):
    """An account keeps its value: under another one, letters show nothing new, with a notice."""
    words = ("recommend", folder / "m.tacit", "--history", mine)
    memory = mine.parent / "mine.csv.released.json"
    as_json(*words, "--about", "gender=F")
    state = json.loads(memory.read_text())
    after_a_letter = {"binding": "0123456789abcdef", "last_epoch": 0, "spoken": 0}
    kept = json.loads(state["state"]) | after_a_letter
    state["state"] = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    memory.write_text(json.dumps(state))
    result = as_json(*words, "--about", "gender=F", "--as-of", LATER)
    assert "Nothing new is decided" in result["notice"]
    assert result["shown"] == 0


def test_files_are_their_owners(folder, as_json, mine):
    """Memory and account can be read by their owner alone."""
    as_json("recommend", folder / "m.tacit", "--about", "gender=F", "--history", mine)
    modes = {path.name: path.stat().st_mode & 0o777 for path in mine.parent.iterdir()}
    assert modes["mine.csv.released.json"] == modes["mine.csv.released.json.account"] == 0o600


def test_a_published_model_reproduces(folder, as_json, mine, tmp_path):
    """The paper as printed makes its release at once, and keeps no memory of it."""
    fit = ("fit", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv")
    as_json(*fit, "--variant", "published", "--no-measure", "-o", tmp_path / "p.tacit")
    before = set(files_of(mine))
    words = ("recommend", tmp_path / "p.tacit", "--history", mine, "--about", "gender=F")
    assert as_json(*words)["computed"] == "from the release"
    assert set(files_of(mine)) == before


def test_due_is_in_utc(folder, as_json, mine):
    """The next letter's time is given with its zone."""
    words = ("recommend", folder / "m.tacit", "--about", "gender=F", "--history", mine)
    assert datetime.fromisoformat(as_json(*words)["due"]).tzinfo == UTC


def test_a_stranger_gets_a_list_without_what_was_rated(folder, as_json, mine):
    """Somebody who was not in training gets n items, none of which they rated."""
    result = as_json("recommend", folder / "m.tacit", "--history", mine, "-n", 7)
    items = [entry["item_id"] for entry in result["items"]]
    assert len(items) == 7
    assert not {1, 2, 3, 4, 5} & set(items)
    assert result["computed"] == "here"
    assert result["release"] is None


def test_exclude_and_candidates(folder, as_json):
    """--candidates restricts the list, --exclude takes out of it, unknown ids do no harm."""
    result = as_json(
        "recommend",
        folder / "m.tacit",
        "--candidates",
        "10,11,12,1000",
        "--exclude",
        "11,nobody",
    )
    assert {entry["item_id"] for entry in result["items"]} == {10, 12}


def test_ids_from_a_file(folder, as_json, tmp_path):
    """@FILE holds one id a line."""
    (tmp_path / "ids.txt").write_text("20\n21\n\n")
    result = as_json("recommend", folder / "m.tacit", "--candidates", f"@{tmp_path / 'ids.txt'}")
    assert {entry["item_id"] for entry in result["items"]} == {20, 21}


def test_a_broken_memory_stops_the_release(folder, tacit, mine, tmp_path):
    """A memory that cannot be read is never replaced by fresh draws."""
    memory = tmp_path / "memory.json"
    memory.write_text("[[1, 2")
    words = ("recommend", folder / "m.tacit", "--history", mine)
    code, out, err = tacit(*words, "--about", "gender=F", "--memory", memory)
    assert (code, out) == (3, "")
    assert str(memory) in err
    assert memory.read_text() == "[[1, 2"


def test_a_memory_is_no_folder(folder, tacit, mine, tmp_path, monkeypatch):
    """It is refused in words, and no account is made."""
    monkeypatch.chdir(tmp_path)
    words = ("recommend", folder / "m.tacit", "--history", mine)
    code, out, err = tacit(*words, "--about", "gender=F", "--memory", ".")
    assert (code, out) == (1, "")
    assert "Name a file with --memory" in err
    assert [file.name for file in tmp_path.iterdir()] == ["mine.csv"]


@pytest.mark.parametrize(
    ("about", "words"),
    [("gender=X", "F, M"), ("age=3", "gender"), ("gender", "NAME=VALUE")],
)
def test_a_wrong_attribute_is_one_sentence(folder, tacit, about, words, mine, tmp_path):
    """An unknown value or name is refused with what is expected, and leaves no file behind."""
    code, out, err = tacit("recommend", folder / "m.tacit", "--history", mine, "--about", about)
    assert code in (2, 3)
    assert (out, err.count("Error")) == ("", 1)
    assert words in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_a_history_of_another_catalogue_is_refused(folder, tacit, tmp_path):
    """If the model knows none of the items, it says so."""
    (tmp_path / "h.csv").write_text("item,rating\nfoo,5\nbar,4\n")
    code, _, err = tacit("recommend", folder / "m.tacit", "--history", tmp_path / "h.csv")
    assert code == 3
    assert "knows none of these items" in err


def test_a_star_off_the_scale_is_refused(folder, tacit, tmp_path):
    """Seven stars out of five are no rating; nothing is written."""
    (tmp_path / "h.csv").write_text("item,rating\n1,7\n2,4\n")
    words = ("recommend", folder / "m.tacit", "--history", tmp_path / "h.csv")
    for about in ((), ("--about", "gender=F")):
        code, _, err = tacit(*words, *about)
        assert code == 3
        assert "scale" in err
    assert [path.name for path in tmp_path.iterdir()] == ["h.csv"]


def test_a_flipped_byte_is_refused(folder, tacit, tmp_path):
    """A damaged model gives its path and the reason, exit code 4."""
    content = bytearray((folder / "m.tacit").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "bad.tacit").write_bytes(content)
    code, out, err = tacit("recommend", tmp_path / "bad.tacit")
    assert (code, out) == (4, "")
    assert "bad.tacit" in err
    assert "SHA-256" in err


def test_a_device_says_where_its_memory_is(folder, tacit, mine):
    """With --about, the file of its decisions and that of its secret are named."""
    words = ("recommend", folder / "m.tacit", "--about", "gender=F", "--history", mine)
    _, out, _ = tacit(*words)
    for end in (".released.json", ".released.json.account"):
        assert str(mine) + end in out
        assert Path(str(mine) + end).exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--as-of", LATER], "--as-of is about what a device sends: add --about"),
        (["--memory", "m.json"], "--memory is about what a device sends: add --about"),
        (["-o", "lists.csv"], "--out is for the lists of all people: add --all RATINGS."),
        (["--engine", "spark"], "--engine is for the lists of all people"),
        (["--all", "r.csv", "--about", "gender=F"], "--about is for the list of one person"),
        (["--all", "r.csv", "--exclude", "3"], "--exclude is for the list of one person"),
        (["--all", "r.csv", "--as-of", LATER], "--as-of is for the list of one person"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(folder, tacit, words, says):
    """Nothing that was typed is left out in silence."""
    code, out, err = tacit("recommend", folder / "m.tacit", *words)
    assert (code, out) == (2, "")
    assert says in " ".join(err.split())


def test_a_published_model_sends_nothing_later(folder, tacit, mine, tmp_path):
    """It has no calendar of letters: a trial of another time is refused."""
    fit = ["fit", "standard-scheme", folder / "r.csv", "--users", folder / "r-users.csv"]
    fit += ["--variant", "published", "--no-measure", "-o", tmp_path / "p.tacit"]
    assert tacit(*fit)[0] == 0
    about = ["--history", mine, "--about", "gender=F", "--as-of", LATER]
    code, _, err = tacit("recommend", tmp_path / "p.tacit", *about)
    assert code == 2
    assert "leave out --as-of" in " ".join(err.split())
