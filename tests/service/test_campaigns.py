"""Campaigns over HTTP, held against the library's own server of the same reports."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.sketches import (
    Campaign,
    Clusters,
    Device,
    Report,
    Server,
    item_counts,
    new_campaign,
    new_secret,
    pair_counts,
    publish,
    score_clusters,
)
from tacit.designs.sketches.serve.campaigns import ServedCampaign
from tacit.errors import ConfigError
from tacit.ledger import Holder
from tacit.service.problems import Problem
from tacit.service.served_things import Section

TASTE = "/api/campaigns/taste"
REPORTS = f"{TASTE}/reports"
OCTETS = {"content-type": "application/octet-stream"}
LIKES = {1: 5.0, 7: 4.0, 50: 2.0}


@pytest.fixture
def shop(demo, folder, shops):
    """An application that does not mind how long a busy machine takes."""
    with shops(demo, folder) as opened:
        yield opened


@pytest.fixture
def served(shop) -> ServedCampaign:
    """The demonstration's campaign, without the reports that came before."""
    found = shop.service.deployment.find_all(ServedCampaign)["taste"]
    object.__setattr__(found, "earlier_counts", None)
    return found


def send(shop, name: str, report: bytes, path: str = REPORTS, **given):
    """A report with this person's key."""
    key = shop.service.keys.person_key(name)
    headers = {**OCTETS, "authorization": f"Bearer {key}"}
    return shop.post(None, path, content=report, headers=headers, **given)


def reports_of(campaign: Campaign, items, people: int) -> list[bytes]:
    """As many devices report, while the campaign is open."""
    devices = (Device(new_secret(), {}) for _ in range(people))
    return [device.report(campaign, items, LIKES, now=0).encode() for device in devices]


def counted(campaign: Campaign, reports: list[bytes]) -> Server:
    """The library's server of the same reports."""
    server = Server(campaign)
    server.fold_each(reports, now=0)
    return server


def made(folder, **settings) -> ServedCampaign:
    """A campaign about 12 items, served from a folder."""
    items = list(range(1, 13))
    campaign = new_campaign(items, rated=4, **{"epsilon": 1.0, **settings})
    (folder / "c").write_bytes(campaign.encode())
    (folder / "i").write_text(json.dumps(items))
    return ServedCampaign.from_section(Section("t", "x", folder, {"campaign": "c", "items": "i"}))


def test_what_anybody_reads(shop, served):
    """The list, the bytes and the catalogue are the campaign that was designed."""
    (listed,) = shop.get(None, "/api/campaigns").json()["campaigns"]
    assert listed["epsilon"] == 1.0
    assert listed["closed"] is False
    assert "times as likely" in listed["guarantee"]
    assert shop.get(None, TASTE).content == served.campaign.encode()
    assert tuple(shop.get(None, f"{TASTE}/catalogue").json()["items"]) == served.items


def test_a_whole_campaign(shop, served):
    """Counts and clusters are those of the library's server that got the same reports."""
    sent = reports_of(served.campaign, served.items, 30)
    for number, report in enumerate(sent):
        assert send(shop, f"p{number}", report).json() == {"counted": True}
    server = counted(served.campaign, sent)
    counts = item_counts(server)
    told = shop.get("analyst", f"{TASTE}/counts").json()
    assert told["reports"] == 30
    assert [row["asked"] for row in told["items"]] == counts.asked.tolist()
    assert shop.get(None, f"{TASTE}/clusters").status_code == 409
    closed = shop.post("operator", f"{TASTE}/close").json()
    expected = publish(served.campaign, score_clusters(counts)).encode()
    assert shop.get(None, f"{TASTE}/clusters").content == expected
    assert closed["reports"] == 30
    assert sum(closed["sizes"]) == len(served.items)


def test_one_report_of_each_person(shop, served):
    """The same report again is answered the same, under any key; another one is refused."""
    first, other = reports_of(served.campaign, served.items, 2)
    answers = [send(shop, "ann", first, key=key) for key in ("one-key-1", "one-key-1", "two-key-2")]
    assert {answer.content for answer in answers} == {b'{"counted":true}'}
    assert [a.headers.get("idempotency-replayed") for a in answers] == [None, "true", "true"]
    assert send(shop, "ann", other).status_code == 409
    assert shop.get("analyst", f"{TASTE}/counts").json()["reports"] == 1


def test_a_report_is_charged_once(shop, served):
    """A person's own budget pays for her report once, and shows it."""
    (report,) = reports_of(served.campaign, served.items, 1)
    for _ in range(3):
        assert send(shop, "ann", report).status_code == 200
    balance = shop.service.ledger.balance(Holder.subject("demo", "ann"))
    assert (balance.spent, balance.cap.amount) == (1_000_000, 4_000_000)


def test_a_budget_that_does_not_cover_it(shop, served):
    """A person whose budget is spent is refused, and her report is not counted."""
    from tacit.ledger import Cap

    shop.service.ledger.open_budget(Holder.subject("demo", "ann"), Cap.pure("0.5"))
    (report,) = reports_of(served.campaign, served.items, 1)
    assert send(shop, "ann", report).status_code == 409
    assert shop.get("analyst", f"{TASTE}/counts").json()["reports"] == 0


def test_closing(shop, served):
    """A closed campaign takes no reports, repeats answers it gave, and closes again the same."""
    early, late = reports_of(served.campaign, served.items, 2)
    send(shop, "ann", early)
    closed = shop.post("analyst", f"{TASTE}/close")
    assert send(shop, "bob", late).status_code == 409
    assert send(shop, "ann", early).json() == {"counted": True}
    assert shop.post("operator", f"{TASTE}/close").content == closed.content
    assert shop.get("analyst", f"{TASTE}/counts").json()["reports"] == 1


def test_the_demonstration(shop):
    """Reports that came from elsewhere are in the counts, and clusters are made with them."""
    campaign = shop.service.deployment.find_all(ServedCampaign)["taste"]
    (report,) = reports_of(campaign.campaign, campaign.items, 1)
    before = shop.get("analyst", f"{TASTE}/counts").json()
    assert send(shop, "ann", report).status_code == 200
    after = shop.get("analyst", f"{TASTE}/counts").json()
    assert (before["reports"], after["reports"]) == (20_000, 20_001)
    assert sum(row["asked"] for row in before["items"]) > 0
    assert shop.post("operator", f"{TASTE}/close").json()["clusters"] > 1


@pytest.mark.parametrize("content", [b"", b"nothing", None])
def test_earlier_counts_of_something_else(tmp_path, content):
    """Counts that are no checkpoint, or one of another campaign, are refused in a sentence."""
    made(tmp_path)
    if content is None:
        Server(new_campaign([1, 2, 3], rated=1, epsilon=1.0)).save(tmp_path / "n")
    else:
        (tmp_path / "n").write_bytes(content)
    section = Section("t", "x", tmp_path, {"campaign": "c", "items": "i", "counts": "n"})
    with pytest.raises(ConfigError, match="counts"):
        ServedCampaign.from_section(section)


def test_nobody_reported(shop, served):
    """A campaign without reports closes with one cluster."""
    assert shop.post("operator", f"{TASTE}/close").json()["clusters"] == 1


def test_closing_that_was_interrupted(shop, served, monkeypatch):
    """Where making the clusters failed, the campaign is closed and the retry makes them."""
    from tacit.designs.sketches.serve.campaigns import CampaignState

    def broken(_):
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(CampaignState, "learn_clusters", broken)
        assert shop.post("operator", f"{TASTE}/close", key="close-it-1").status_code == 500
    (late,) = reports_of(served.campaign, served.items, 1)
    assert send(shop, "bob", late).status_code == 409
    assert shop.post("operator", f"{TASTE}/close", key="close-it-1").status_code == 200
    Clusters.decode(shop.get(None, f"{TASTE}/clusters").content)


def test_cut_short(shop, served):
    """A report cut at any length, or one byte too long, is refused and not counted."""
    (report,) = reports_of(served.campaign, served.items, 1)
    for length in range(len(report)):
        assert send(shop, "ann", report[:length]).status_code == 422
    assert send(shop, "ann", report + b"\0").status_code == 422
    assert shop.get("analyst", f"{TASTE}/counts").json()["reports"] == 0


@given(data=st.data())
def test_what_is_checked_is_what_counts(data):
    """Bytes are let in if and only if the library's server would count them."""
    items = tuple(range(20))
    campaign = new_campaign(items, rated=4, epsilon=2.0, questions=2, seed=bytes(16))
    served = ServedCampaign("t", "x", campaign, items)
    good = Report(campaign.id, 5, 3).encode()
    place = data.draw(st.integers(0, len(good)))
    change = data.draw(st.binary(min_size=0, max_size=2))
    message = good[:place] + change + good[place + len(change) :]
    counts = bool(Server(campaign).fold_each([message], now=0).accepted_count)
    try:
        served.check(message)
    except Problem:
        assert not counts
    else:
        assert counts


def test_several_at_once(shop, served):
    """Sixteen threads report for 64 people; nobody is lost and nobody counts twice."""
    sent = reports_of(served.campaign, served.items, 64)
    with ThreadPoolExecutor(16) as threads:
        jobs = [
            threads.submit(send, shop, f"p{number}", report)
            for number, report in enumerate(sent)
            for _ in range(2)
        ]
        assert {job.result().status_code for job in jobs} == {200}
    counts = item_counts(counted(served.campaign, sent))
    told = shop.get("analyst", f"{TASTE}/counts").json()
    assert told["reports"] == 64
    assert [row["asked"] for row in told["items"]] == counts.asked.tolist()


def test_two_workers(demo, folder, shops, postgres, tmp_path):
    """Two applications on one ledger in PostgreSQL count into the same counts."""
    where = {"database": postgres.database(), "second": str(tmp_path / "head")}
    with shops(demo, folder, **where) as one, shops(demo, folder, **where) as two:
        served = one.service.deployment.find_all(ServedCampaign)["taste"]
        first, second = reports_of(served.campaign, served.items, 2)
        before = one.get("analyst", f"{TASTE}/counts").json()["reports"]
        send(one, "ann", first)
        send(two, "bob", second)
        assert one.get("analyst", f"{TASTE}/counts").json()["reports"] == before + 2
        assert send(two, "ann", second).status_code == 409
        two.post("operator", f"{TASTE}/close")
        assert one.get(None, "/api/campaigns").json()["campaigns"][0]["closed"] is True


def test_a_late_report(shop, served, monkeypatch):
    """After its time a campaign takes no reports; the clock set back does not change an answer."""
    items = served.items
    late = new_campaign(items, rated=20, epsilon=1.0, closes=1000)
    object.__setattr__(served, "campaign", late)
    (report,) = reports_of(late, items, 1)
    assert send(shop, "ann", report).status_code == 409
    monkeypatch.setattr(time, "time", lambda: 900.0)
    assert send(shop, "ann", report).status_code == 409
    (other,) = reports_of(late, items, 1)
    assert send(shop, "bob", other).status_code == 200


def test_the_ledger_holds_no_report(shop, served):
    """Neither a report nor its ticket is written anywhere."""
    (report,) = reports_of(served.campaign, served.items, 1)
    assert send(shop, "ann", report).status_code == 200
    written = b"".join(
        path.read_bytes() for path in shop.folder.glob("budgets.db*") if path.is_file()
    )
    assert report not in written
    assert report[10:18] not in written


def test_the_log_cannot_be_tried_against_reports(shops, demo, folder, tmp_path, served):
    """Two ledgers that counted the same report hold different states: no hash fits a guess."""
    (report,) = reports_of(served.campaign, served.items, 1)
    states = set()
    for number in range(2):
        ledger = str(tmp_path / f"{number}.db")
        with shops(demo, folder, database=ledger) as one:
            assert send(one, "ann", report).status_code == 200
            states.add(one.service.ledger.state(f"demo/{served.state_name}"))
    assert len(states) == 2


def test_estimates_are_right(tmp_path):
    """Estimates from many reports lie within their stated errors of the true share."""
    served = made(tmp_path, epsilon=2.0)
    state = served.decode_state(None)
    people = 4000
    liked = {1, 2, 3}
    history = dict.fromkeys(liked, 5.0)
    reports = [
        Device(new_secret(), {}, _limits()).report(served.campaign, served.items, history).encode()
        for _ in range(people)
    ]
    state.server.fold_each(reports, now=0)
    rows = state.report(served.items)["items"]
    asked = [row for row in rows if row["item"] in liked]
    assert all(abs(row["estimate"] - 1) < 5 * row["error"] for row in asked)
    assert max(row["estimate"] for row in rows if row["item"] not in liked) < 0.9


def _limits():
    from tacit.designs.sketches import Limits

    return Limits(epsilon=3.0, lifetime=9.0)


def test_pairs(tmp_path):
    """A campaign about pairs counts pairs, tells them by item, and makes clusters."""
    served = made(tmp_path, method="pairwise-preference", theta=0.0)
    reports = reports_of(served.campaign, served.items, 200)
    kept = None
    for report in reports:
        served.check(report)
        _, kept = served.count_report(report, kept)
    pairs = pair_counts(counted(served.campaign, reports))
    now = served.decode_state(kept)
    assert np.array_equal(pair_counts(now.server).ones, pairs.ones)
    told = now.report(served.items)
    assert sum(row["asked"] for row in told["items"]) == 2 * pairs.asked.sum()
    Clusters.decode(now.learn_clusters())


def test_another_unit_costs_what_everything_costs(tmp_path):
    """The own budget counts everything a person rated, whatever unit the campaign states."""
    served = made(tmp_path, unit="rating", questions=2)
    everything = next(card for card in served.guarantees() if card.adjacency.unit == "user")
    assert everything.epsilon > 1
    assert served.cost.amount == served.campaign.user_epsilon
    assert served.cost.amount / 10**6 >= everything.epsilon * (1 - 1e-12)
    assert served.guarantees()[0].name.endswith("unit: rating")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": float("inf")}, "no noise"),
        ({"method": "pairwise-rated", "theta": 0.0}, "no budget can count"),
        ({"method": "pairwise-rated-identical", "theta": 0.0}, "no budget can count"),
        ({"epsilon": 5.0}, "lifetime"),
    ],
)
def test_what_is_not_served(tmp_path, settings, said):
    """Campaigns that devices refuse, or nobody could pay for, are refused in a sentence."""
    with pytest.raises(ConfigError, match=said):
        made(tmp_path, **settings)


@pytest.mark.parametrize("content", ["[1, 2]", "{}", "[", "[1,1]", "[null]"])
def test_another_catalogue(tmp_path, content):
    """A list of items that the campaign was not designed for is refused."""
    made(tmp_path)
    (tmp_path / "i").write_text(content)
    with pytest.raises(ConfigError, match="items"):
        ServedCampaign.from_section(Section("t", "x", tmp_path, {"campaign": "c", "items": "i"}))


def test_forgetting_a_person(shop, served):
    """A receipt names what is in the counts, and the epsilon that bounds it."""
    (report,) = reports_of(served.campaign, served.items, 1)
    send(shop, "ann", report)
    told = shop.delete("subject", "/api/users/ann").text
    assert "a report to the campaign taste" in told
    assert send(shop, "ann", report).status_code == 200
    assert shop.get("analyst", f"{TASTE}/counts").json()["reports"] == 1
