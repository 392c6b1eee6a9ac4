"""Disclosures and letters over HTTP, held against the library called directly."""

from __future__ import annotations

import threading
import time
from copy import copy
from dataclasses import replace

import pytest

from tacit.data.synthetic import generate
from tacit.designs.standard_scheme import (
    Device,
    Disclosure,
    Release,
    Scores,
    StandardScheme,
    epochs,
)
from tacit.designs.standard_scheme.experiment.evaluation import evaluate_hiding
from tacit.designs.standard_scheme.memory import State
from tacit.designs.standard_scheme.messages import ItemTable
from tacit.designs.standard_scheme.serve.disclosure import ServedDisclosure
from tacit.designs.standard_scheme.serve.operator import MEASUREMENTS_OF_DEMO, DigestLog
from tacit.errors import ConfigError
from tacit.recommenders.baselines import Popularity
from tacit.service.demo_data import population
from tacit.service.served_things import Section
from tacit.service.setting_tables import TOML

LETTERS = "/api/disclosures/gender/letters"
OCTETS = {"content-type": "application/octet-stream"}
HISTORY = {1: 5.0, 2: 3.0, 5: 1.0, 40: 4.0, 7: 2.0, 11: 5.0}
SETTINGS = {"file": "gender.tacit", "service_sees_items": False, "item_table": True}


@pytest.fixture(scope="module")
def served(shared_shop) -> ServedDisclosure:
    return shared_shop.service.deployment.find_all(ServedDisclosure)["gender"]


@pytest.fixture(scope="module")
def letter(served) -> bytes:
    """What one device sends for the first epoch."""
    return made(served.disclosure, 0)


def made(disclosure: Disclosure, epoch: int, history=HISTORY, secret: int = 1) -> bytes:
    """The letter of a new account."""
    device = Device(disclosure, {"gender": "F"}, State(created=0), bytes([secret]) * 32)
    return device.release(history, epoch).encode()


def post(shop, name: str, message: bytes, **more):
    """A letter of the person of this name."""
    key = shop.service.keys.person_key(name)
    headers = {**OCTETS, "authorization": f"Bearer {key}"}
    path = more.pop("path", LETTERS)
    return shop.post(None, path, content=message, headers=headers, **more)


def test_the_list(shared_shop, served):
    """The list says what is disclosed, with the sentence of its guarantee and when letters go."""
    listed = shared_shop.get(None, "/api/disclosures").json()["disclosures"]
    assert [one["name"] for one in listed] == ["gender"]
    assert listed[0]["digest"] == served.disclosure.digest
    assert listed[0]["guarantee"] == served.guarantees()[0].sentence
    assert listed[0]["epoch_length"] == served.disclosure.epoch_length
    assert listed[0]["service_sees_items"] is False
    assert listed[0]["item_table"] is True


def test_the_bytes(shared_shop, served):
    """A device fetches exactly the disclosure's canonical bytes."""
    answer = shared_shop.get(None, "/api/disclosures/gender")
    assert answer.headers["content-type"] == OCTETS["content-type"]
    assert answer.content == served.disclosure.encode()


def test_the_item_table(shared_shop, served):
    """The table for lists at home is the model's own."""
    answer = shared_shop.get(None, "/api/disclosures/gender/item-table")
    assert ItemTable.decode(answer.content) == served.model.item_table_


def test_the_most_liked_items_are_in_the_order_of_an_empty_letter(shared_shop, served):
    """What a person without a letter is shown is what one who shows nothing is answered."""
    answer = shared_shop.get(None, "/api/disclosures/gender/popular").json()["items"]
    empty = served.model.server_.score(Release(served.disclosure.digest, 0, ()))
    ranked = sorted(empty.scores, key=lambda score: -score[2])
    inside = served.model.fitted_.ease.has_weights[
        [served.disclosure.item_number[item] for item in answer]
    ]
    assert sorted(answer) == sorted(served.disclosure.items)
    listed = [item for item, weighed in zip(answer, inside, strict=True) if weighed]
    assert listed == [item for item, _, _ in ranked][: len(listed)]


@pytest.mark.parametrize(
    "path", ["", "/gender", "/gender/log", "/gender/item-table", "/gender/popular"]
)
def test_everybody_is_shown_the_same(shared_shop, path):
    """What is public is the same bytes with a key, with another one, and without."""
    address = f"/api/disclosures{path}"
    answers = {shared_shop.get(role, address).content for role in (None, "subject", "other")}
    assert len(answers) == 1


def test_scores_are_the_librarys(shared_shop, served, letter):
    """A letter is answered with level and preference of every item, as the server half gives."""
    answer = post(shared_shop, "scored", letter)
    assert answer.status_code == 200
    scores = Scores.decode(answer.content)
    assert scores == served.model.server_.score(Release.decode(letter))
    assert [item for item, *_ in scores.scores] == list(served.disclosure.items)


def test_an_empty_letter(shared_shop, served):
    """A letter that shows nothing is answered with scores, too."""
    answer = post(shared_shop, "empty", made(served.disclosure, 0, {}))
    assert len(Scores.decode(answer.content).scores) == len(served.disclosure.items)


def test_a_retry(shared_shop, letter):
    """The same letter again, under any key, has the same answer, and the answer says so."""
    first, again = (post(shared_shop, "retrying", letter) for _ in range(2))
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"


def test_a_second_letter_of_one_epoch(shared_shop, served, letter):
    """Another letter of an epoch is refused; the first and the next epoch's are answered."""
    post(shared_shop, "second", letter)
    other = post(shared_shop, "second", made(served.disclosure, 0, {1: 1.0}, secret=2))
    assert other.status_code == 409
    assert post(shared_shop, "second", letter).status_code == 200
    assert post(shared_shop, "second", made(served.disclosure, 1)).status_code == 200


def latest(shop, name: str) -> int:
    key = shop.service.keys.person_key(name)
    path = LETTERS.replace("letters", "latest")
    return shop.get(None, path, headers={"authorization": f"Bearer {key}"}).json()["latest"]


def test_the_latest_epoch(shop):
    """It is that of the person's own latest letter that was accepted, -1 for none; a letter of an
    earlier epoch, a refused one and a repeated one leave it as it is."""
    served = shop.service.deployment.find_all(ServedDisclosure)["gender"]
    now = epochs.calendar_epoch(int(time.time()), served.disclosure.epoch_length)
    found = [latest(shop, "late")]
    for epoch in (0, now - 1, 1, now, 0):
        post(shop, "late", made(served.disclosure, epoch))
        found.append(latest(shop, "late"))
    assert found == [-1, 0, *[now - 1] * 4]
    assert latest(shop, "another") == -1
    key = shop.service.keys.person_key("late")
    headers = {"authorization": f"Bearer {key}"}
    assert shop.delete(None, "/api/users/late", headers=headers).status_code == 200
    assert latest(shop, "late") == -1
    assert post(shop, "late", made(served.disclosure, 1, {1: 2.0})).status_code == 409


def test_people_do_not_mind_each_other(shared_shop, served, letter):
    """The letter of one person is no second letter of another one."""
    assert post(shared_shop, "one", letter).status_code == 200
    assert post(shared_shop, "another", made(served.disclosure, 0, {})).status_code == 200


def test_an_epoch_that_has_not_ended(shared_shop, served):
    """A letter of the present epoch or a later one is refused; one of the last epoch is not."""
    now = epochs.calendar_epoch(int(time.time()), served.disclosure.epoch_length)
    for epoch in (now, now + 1, 1 << 53):
        answer = post(shared_shop, "early", made(served.disclosure, epoch))
        assert answer.status_code == 422
        assert "has not ended" in answer.json()["detail"]
    assert post(shared_shop, "early", made(served.disclosure, now - 1)).status_code == 200


def test_nothing_of_a_letter_is_kept(shop):
    """Neither the letter nor the scores are in the ledger's file or in the log."""
    disclosure = shop.service.deployment.find_all(ServedDisclosure)["gender"].disclosure
    letter = made(disclosure, 0)
    answer = post(shop, "ann", letter)
    assert answer.status_code == 200
    written = b"".join(
        path.read_bytes() for path in shop.folder.glob("budgets.db*") if path.is_file()
    )
    for message in (letter, answer.content):
        assert message[:40] not in written
        assert message[-40:] not in written
    assert "gender" not in shop.logged.getvalue()


def test_a_forgotten_person(shop):
    """After "forget me" no letter is accepted under the name, and the receipt says so."""
    letter = made(shop.service.deployment.find_all(ServedDisclosure)["gender"].disclosure, 0)
    assert post(shop, "ann", letter).status_code == 200
    receipt = shop.delete("subject", "/api/users/ann").json()
    assert any("accepts no more letters" in one for one in receipt["gone"])
    assert any("keyed hash" in one for one in receipt["cannot_be_recalled"])
    later = made(shop.service.deployment.find_all(ServedDisclosure)["gender"].disclosure, 1)
    assert post(shop, "ann", later).status_code == 409
    assert post(shop, "bob", later).status_code == 200


def test_cut_short(shared_shop, letter):
    """A letter cut at any length is refused."""
    for length in range(len(letter)):
        assert post(shared_shop, "cut", letter[:length]).status_code == 422


@pytest.mark.parametrize(
    "ratings",
    [
        ((1, 4_000_001),),
        ((1, 5_000_000),),
        ((1, -1_000_000),),
        ((10**9, 0),),
        (("1", 0),),
        ((1, 1 << 53),),
        ((2, 0), (1, 0)),
    ],
    ids=[
        *("above the scale", "a level above it", "below it", "an unknown item"),
        *("a text as id", "a huge level", "in another order"),
    ],
)
def test_no_device_makes_this(shared_shop, served, ratings):
    """Items and levels that no device would send for this disclosure are refused."""
    message = Release(served.disclosure.digest, 0, ratings).encode()
    answer = post(shared_shop, "wrong", message)
    assert answer.status_code == 422
    assert "1" not in answer.json()["detail"]


def test_an_item_that_earlier_tables_decided(served, tmp_path):
    """An item that these tables have no chance for is read: it was decided by earlier ones."""
    (table,) = served.disclosure.attributes
    keep = tuple((0, *row[1:]) for row in table.keep)
    refitted = replace(served.disclosure, attributes=(replace(table, keep=keep),))
    model = copy(served.model)
    model.disclosure_ = refitted
    letter = Release(refitted.digest, 0, ((refitted.items[0], 0),))
    log = DigestLog(tmp_path / "log", refitted.epoch_length)
    assert replace(served, model=model, log=log).read_letter(letter.encode()) == letter


def test_a_letter_of_averages(tmp_path):
    """A device that sends averages sends no whole levels; its letters are read."""
    model = StandardScheme(release="movie-average+selection", service_sees_items=False)
    model.fit(population())
    letter = made(model.disclosure_, 0)
    assert any(level % 1_000_000 for _, level in Release.decode(letter).ratings)
    log = DigestLog(tmp_path / "log", model.disclosure_.epoch_length)
    assert ServedDisclosure("averages", model, log).read_letter(letter).encode() == letter


def test_a_letter_of_averages_that_an_earlier_disclosure_decided(tmp_path):
    """A device sends the averages that it has shown under a later rule of whole levels, too."""
    averages = StandardScheme(release="movie-average+selection", service_sees_items=False)
    averages.fit(population())
    shown = Release.decode(made(averages.disclosure_, 0)).ratings
    later = StandardScheme(service_sees_items=False).fit(population())
    assert later.disclosure_.items == averages.disclosure_.items
    letter = Release(later.disclosure_.digest, 0, shown)
    log = DigestLog(tmp_path / "log", later.disclosure_.epoch_length)
    served = ServedDisclosure("gender", later, log)
    assert served.read_letter(letter.encode()) == letter
    assert len(Scores.decode(served.score(letter)).scores)


def test_another_disclosure(shared_shop):
    """A letter for another disclosure is refused."""
    assert post(shared_shop, "elsewhere", Release("0" * 16, 0, ()).encode()).status_code == 422


def test_more_than_everything(shared_shop, served):
    """A letter of every item that can be shown is read; a longer body is refused unread."""
    rows = zip(served.disclosure.items, *served.disclosure.attributes[0].keep, strict=True)
    levels = tuple((item, 4_000_000) for item, *chances in rows if any(chances))
    longest = Release(served.disclosure.digest, 1 << 53, levels).encode()
    assert len(longest) <= served.largest_letter
    assert "has not ended" in post(shared_shop, "all", longest).text
    assert "not a letter" in post(shared_shop, "all", b" " * (served.largest_letter + 1)).text


def test_json_is_no_letter(shared_shop):
    """Content of another kind is refused as such."""
    assert shared_shop.post("subject", LETTERS, json={}).status_code == 415


@pytest.mark.parametrize("role", ["operator", "analyst", "auditor", "vendor"])
def test_staff_send_no_letters(shared_shop, letter, role):
    """Nobody but a person sends a letter."""
    answer = shared_shop.post(role, LETTERS, content=letter, headers=OCTETS)
    assert answer.status_code == 403


def test_an_unknown_name(shared_shop, letter):
    """What is not served is not there, in every operation."""
    for path in ("", "/log", "/item-table", "/popular"):
        assert shared_shop.get(None, f"/api/disclosures/other{path}").status_code == 404
    path = "/api/disclosures/other/letters"
    assert post(shared_shop, "lost", letter, path=path).status_code == 404


def test_several_at_once(demo, folder, shops):
    """Sixteen people at once all get the same scores."""
    with shops(demo, folder) as shop:
        letter = made(shop.service.deployment.find_all(ServedDisclosure)["gender"].disclosure, 0)
        found: list[bytes] = []
        threads = [
            threading.Thread(target=lambda n=n: found.append(post(shop, f"p{n}", letter).content))
            for n in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1
    Scores.decode(found[0])


# The log and the settings


def open_section(folder, **more) -> ServedDisclosure:
    """As a service does at its start."""
    served = ServedDisclosure.from_section(Section("t", "gender", folder, {**SETTINGS, **more}))
    served.check_stored_states(lambda _: None)
    return served


def log_of(shop) -> list:
    return shop.get(None, "/api/disclosures/gender/log").json()["log"]


def test_the_log(shop, monkeypatch):
    """The log has the digest of this epoch, and of each later one in which it is served."""
    disclosure = shop.service.deployment.find_all(ServedDisclosure)["gender"].disclosure
    week, digest = disclosure.epoch_length, disclosure.digest
    now = time.time()
    first = epochs.calendar_epoch(int(now), week)
    assert log_of(shop) == [{"epoch": first, "digest": digest}]
    monkeypatch.setattr(time, "time", lambda: now + 2 * week)
    assert log_of(shop) == [{"epoch": n, "digest": digest} for n in (first, first + 2)]


def test_a_refit_within_an_epoch(demo, folder, monkeypatch):
    """Another digest in the same epoch is not served; in the next epoch it is, and is logged."""
    before = open_section(folder)
    model = StandardScheme(service_sees_items=False, item_table=True, random_state=5)
    model.fit(generate(users=600, items=200, ratings=20_000, seed=9)).save(folder / "gender.tacit")
    with pytest.raises(ConfigError, match="served in this epoch"):
        open_section(folder)
    later = time.time() + before.disclosure.epoch_length
    monkeypatch.setattr(time, "time", lambda: later)
    digests = [one["digest"] for one in open_section(folder).log.entries()]
    assert digests == [before.disclosure.digest, model.disclosure_.digest]


def test_a_service_that_does_not_start_logs_nothing(demo, folder, shops):
    """Whatever else is wrong in the folder, no digest is in the log that was not served."""
    toml = folder / TOML
    toml.write_text(toml.read_text() + '\n[models.other]\nfile = "missing.tacit"\n')
    with pytest.raises(ConfigError, match="names no file"), shops(demo, folder):
        pass
    assert not (folder / "gender.digests").exists()


def test_a_log_elsewhere(folder):
    """The log is the file in the folder that the operator names; other paths are refused."""
    open_section(folder, log="public.log")
    assert (folder / "public.log").exists()
    assert not (folder / "gender.digests").exists()
    with pytest.raises(ConfigError, match="log lies outside"):
        open_section(folder, log="../public.log")
    with pytest.raises(ConfigError, match="log names a folder"):
        open_section(folder, log=".")


def test_a_log_that_was_changed(folder):
    """A service whose log was changed does not start."""
    open_section(folder)
    path = folder / "gender.digests"
    path.write_bytes(path.read_bytes().replace(b'"epoch":', b'"epoch":1'))
    with pytest.raises(ConfigError, match=r"history was changed"):
        open_section(folder)


def test_a_log_that_cannot_be_kept(shop, monkeypatch):
    """Where the log cannot go on, tables and letters are not served, and nothing is stored."""
    served = shop.service.deployment.find_all(ServedDisclosure)["gender"]
    later = time.time() + served.disclosure.epoch_length
    monkeypatch.setattr(time, "time", lambda: later)
    (shop.folder / "gender.digests").write_bytes(b"")
    before = shop.service.ledger.head
    for path in ("", "/log"):
        assert shop.get(None, f"/api/disclosures/gender{path}").status_code == 503
    assert post(shop, "ann", made(served.disclosure, 0)).status_code == 503
    (shop.folder / "gender.digests").unlink()
    (shop.folder / "gender.digests").mkdir()  # cannot be read as a file
    assert shop.get(None, "/api/disclosures/gender/log").status_code == 503
    assert shop.service.ledger.head == before


def test_the_promise_is_stated(folder):
    """Without `service_sees_items = false` nothing is served, and the reason is given."""
    values = {name: value for name, value in SETTINGS.items() if name != "service_sees_items"}
    with pytest.raises(ConfigError, match="service_sees_items is not false"):
        ServedDisclosure.from_section(Section("t", "gender", folder, values))
    with pytest.raises(ConfigError, match=r"from ten items known to be rated"):
        open_section(folder, service_sees_items=True)


def test_settings_are_true_or_false(folder):
    """A setting that is neither true nor false is refused by its name."""
    with pytest.raises(ConfigError, match=r"gender\.item_table is missing or is not true or false"):
        open_section(folder, item_table="yes")


def test_the_item_table_is_not_published_unasked(demo, folder, shops):
    """Without the setting, the table of a model whose people consented is not there."""
    toml = folder / TOML
    lines = toml.read_text().splitlines(keepends=True)
    toml.write_text("".join(line for line in lines if not line.startswith("item_table")))
    with shops(demo, folder) as shop:
        assert shop.get(None, "/api/disclosures/gender/item-table").status_code == 404


def small() -> object:
    return generate(users=200, items=30, ratings=4300, seed=1)


def test_an_item_table_without_consent(tmp_path):
    """A table whose people did not consent cannot be published."""
    StandardScheme(service_sees_items=False).fit(small()).save(tmp_path / "gender.tacit")
    with pytest.raises(ConfigError, match="consent"):
        open_section(tmp_path)


def test_the_published_variant_is_not_served(tmp_path):
    """The variant with the paper's mistakes is refused in a sentence."""
    StandardScheme(variant="published").fit(small()).save(tmp_path / "gender.tacit")
    with pytest.raises(ConfigError, match="published"):
        open_section(tmp_path, item_table=False)


def test_another_kind_of_model(tmp_path):
    """A model that is no StandardScheme, or no model, is refused with the name of the file."""
    (tmp_path / "gender.tacit").write_bytes(b"nothing")
    with pytest.raises(ConfigError, match=TOML):
        open_section(tmp_path)
    Popularity().fit(small()).save(tmp_path / "gender.tacit")
    with pytest.raises(ConfigError, match="another recommender"):
        open_section(tmp_path)


@pytest.mark.long
def test_the_demonstration_shows_what_was_measured():
    """Its card's attacks, made again on the same generated people: the same figures."""
    shown = MEASUREMENTS_OF_DEMO
    table = evaluate_hiding(
        population(),
        "gender",
        releases=("none", shown[0].release),
        panel="quick",
        folds=5,
        seed=0,
        workers=1,
    )
    found = {
        (one.attack, one.trained_on, one.release): (one.auc, one.low, one.high)
        for one in table.measurements(shown[0].release, "")
    }
    for one in shown:
        again = found[one.attack, one.trained_on, one.release]
        assert again == pytest.approx((one.auc, one.low, one.high), abs=1e-4)
    without = [auc for (_, _, release), (auc, *_) in found.items() if release == "none"]
    assert max(without) == pytest.approx(shown[-1].auc, abs=1e-4)


def test_a_letter_of_every_item_is_read(demo, shops, folder):
    """A letter may be larger than other requests: a person with many items is not silenced."""
    with shops(demo, folder, most_body=100) as small:
        served = small.service.deployment.find_all(ServedDisclosure)["gender"]
        everything = dict.fromkeys(served.disclosure.items, 3.0)
        letter = made(served.disclosure, 0, everything)
        assert len(letter) > 100
        assert post(small, "ann", letter).status_code == 200
        beyond = letter + b" " * (served.largest_letter + 1 - len(letter))
        assert post(small, "bob", beyond).status_code == 413
        assert post(small, "bob", letter, path="/api/disclosures/other/letters").status_code == 413
