"""Disclosures and profiles over HTTP, held against the library called directly."""

from __future__ import annotations

import threading

import pytest

from tacit.errors import ConfigError
from tacit.recommenders.standard_scheme import Disclosure, Release, Scores, StandardScheme
from tacit.service.deployment import Section
from tacit.service.disclosures import ServedDisclosure
from tacit.service.settings import FILE

PROFILES = "/api/disclosures/gender/profiles"
OCTETS = {"content-type": "application/octet-stream"}
HISTORY = {1: 5.0, 2: 3.0, 5: 1.0, 40: 4.0}


@pytest.fixture(scope="module")
def served(demo) -> ServedDisclosure:
    section = Section("demo", "gender", demo.folder, {"file": "gender.tacit"})
    return ServedDisclosure.from_section(section)


@pytest.fixture(scope="module")
def release(served) -> bytes:
    """What one device sends."""
    return served.model.device({"gender": "F"}).release(HISTORY).encode()


def test_the_list(shared_shop, served):
    """Anybody reads what is disclosed, with the sentence of its guarantee."""
    listed = shared_shop.get(None, "/api/disclosures").json()["disclosures"]
    assert [one["name"] for one in listed] == ["gender"]
    assert listed[0]["digest"] == served.disclosure.digest
    assert listed[0]["guarantee"] == served.guarantees()[0].sentence


def test_the_bytes(shared_shop, served):
    """A device fetches exactly the disclosure's canonical bytes."""
    answer = shared_shop.get(None, "/api/disclosures/gender")
    assert answer.headers["content-type"] == OCTETS["content-type"]
    assert answer.content == served.disclosure.encode()
    assert Disclosure.decode(answer.content) == served.disclosure


def test_scores_are_the_librarys(shared_shop, served, release):
    """A release is answered with the scores that the server half gives for it."""
    answer = shared_shop.post("subject", PROFILES, content=release, headers=OCTETS)
    assert answer.status_code == 200
    assert Scores.decode(answer.content) == served.model.server_.score(Release.decode(release))


def test_an_empty_release(shared_shop, served):
    """Whoever shows nothing gets scores, too."""
    empty = Release(served.disclosure.digest, ()).encode()
    answer = shared_shop.post("subject", PROFILES, content=empty, headers=OCTETS)
    assert len(Scores.decode(answer.content).scores) == len(served.disclosure.items)


def test_a_retry(shared_shop, release):
    """The same key and release give the same bytes, said to be repeated."""
    first, again = (
        shared_shop.post("subject", PROFILES, content=release, headers=OCTETS, key="retried-1")
        for _ in range(2)
    )
    assert again.content == first.content
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"


def test_a_key_for_another_release(shared_shop, served, release):
    """A key that was used is not used for another release."""
    empty = Release(served.disclosure.digest, ()).encode()
    shared_shop.post("subject", PROFILES, content=release, headers=OCTETS, key="retried-2")
    other = shared_shop.post("subject", PROFILES, content=empty, headers=OCTETS, key="retried-2")
    assert other.status_code == 422


def test_nothing_of_a_profile_is_kept(shop, release):
    """Neither the release nor the scores are in the ledger's file or in the log."""
    answer = shop.post("subject", PROFILES, content=release, headers=OCTETS)
    assert answer.status_code == 200
    written = b"".join(
        path.read_bytes() for path in shop.folder.iterdir() if path.name.startswith("budgets")
    )
    for told in (release, answer.content):
        assert told[:40] not in written
        assert told[-40:] not in written
    assert "gender" not in shop.logged.getvalue().replace("/gender/", "")


def test_cut_short(shared_shop, release):
    """A release cut at any length is refused, and an uncut one is not."""
    for length in range(len(release)):
        cut = shared_shop.post("subject", PROFILES, content=release[:length], headers=OCTETS)
        assert cut.status_code == 422


@pytest.mark.parametrize(
    "ratings",
    [((1, 4_000_001),), ((1, -1),), ((10**9, 0),), (("1", 0),), ((1, 1 << 53),)],
    ids=["above the scale", "below it", "an unknown item", "a text as id", "a huge level"],
)
def test_no_device_makes_this(shared_shop, served, ratings):
    """Items and levels that no device would send for this disclosure are refused."""
    message = Release(served.disclosure.digest, ratings).encode()
    answer = shared_shop.post("subject", PROFILES, content=message, headers=OCTETS)
    assert answer.status_code == 422
    assert "1" not in answer.json()["detail"]


def test_another_disclosure(shared_shop):
    """A release for another disclosure is refused."""
    message = Release("0" * 16, ()).encode()
    answer = shared_shop.post("subject", PROFILES, content=message, headers=OCTETS)
    assert answer.status_code == 422


def test_more_than_everything(shared_shop, served):
    """A body longer than a release of all items is refused before it is read."""
    everything = Release(
        served.disclosure.digest, tuple((item, 4_000_000) for item in served.disclosure.items)
    ).encode()
    whole = shared_shop.post("subject", PROFILES, content=everything, headers=OCTETS)
    assert whole.status_code == 200
    longer = shared_shop.post("subject", PROFILES, content=everything + b" ", headers=OCTETS)
    assert longer.status_code == 422


def test_json_is_no_release(shared_shop):
    """Content of another kind is refused as such."""
    assert shared_shop.post("subject", PROFILES, json={}).status_code == 415


@pytest.mark.parametrize("role", ["operator", "analyst", "auditor", "vendor"])
def test_staff_send_no_profiles(shared_shop, release, role):
    """Nobody but a person sends a profile."""
    answer = shared_shop.post(role, PROFILES, content=release, headers=OCTETS)
    assert answer.status_code == 403


def test_an_unknown_name(shared_shop, release):
    """What is not served is not there, in every operation."""
    assert shared_shop.get(None, "/api/disclosures/other").status_code == 404
    path = "/api/disclosures/other/profiles"
    assert shared_shop.post("subject", path, content=release, headers=OCTETS).status_code == 404


def test_several_at_once(demo, folder, shops, release):
    """Sixteen people at once all get the same scores."""
    with shops(demo, folder, answer_within=60) as shop:
        _all_get_the_same(shop, release)


def _all_get_the_same(shop, release) -> None:
    found: list[bytes] = []

    def send(name: str) -> None:
        key = shop.service.keys.person_key(name)
        headers = {**OCTETS, "authorization": f"Bearer {key}"}
        found.append(shop.post(None, PROFILES, content=release, headers=headers).content)

    threads = [threading.Thread(target=send, args=(f"p{number}",)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1
    Scores.decode(found[0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"variant": "published"}, "published"),
        ({"mix": 0.5}, "some stars as they are"),
    ],
)
def test_what_is_not_served(tmp_path, settings, said):
    """The published variant, and rules that show stars as they are, are refused in a sentence."""
    from tacit.data.synthetic import generate

    ratings = generate(users=60, items=30, ratings=1300, seed=1)
    StandardScheme(attributes=("gender",), **settings).fit(ratings).save(tmp_path / "m.tacit")
    with pytest.raises(ConfigError, match=said):
        ServedDisclosure.from_section(Section("t", "m", tmp_path, {"file": "m.tacit"}))


def test_another_kind_of_model(tmp_path):
    """A model that is no StandardScheme, or no model, is refused with the name of the file."""
    (tmp_path / "m.tacit").write_bytes(b"nothing")
    with pytest.raises(ConfigError, match=FILE):
        ServedDisclosure.from_section(Section("t", "m", tmp_path, {"file": "m.tacit"}))
    from tacit.data.synthetic import generate
    from tacit.recommenders.baselines import Popularity

    Popularity().fit(generate(users=40, items=20, ratings=800, seed=1)).save(tmp_path / "p.tacit")
    with pytest.raises(ConfigError, match="another recommender"):
        ServedDisclosure.from_section(Section("t", "m", tmp_path, {"file": "p.tacit"}))
