"""Reports are counted once, exactly, wherever and in whatever order they come."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import container
from tacit.designs.sketches import sensing
from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.counting import item_counts, pair_counts
from tacit.designs.sketches.device import Device, Limits
from tacit.designs.sketches.messages import METHODS, RATED_METHODS, Report
from tacit.designs.sketches.server import REASONS, TICKET, Server
from tacit.designs.sketches.tickets import TicketSet
from tacit.engine import sketch_compiled
from tacit.errors import ConfigError, ModelFileError

NOW = 1_000


def reports(made, count, seed=0, **fields):
    """Random reports to a campaign."""
    rng = np.random.default_rng(seed)
    tickets = rng.integers(1, 2**64, size=count, dtype=np.uint64).tolist()
    bits = rng.integers(0, 2**made.questions, size=count).tolist()
    return [Report(made.id, t, b, **fields) for t, b in zip(tickets, bits, strict=True)]


def wire(sent):
    return b"".join(report.encode() for report in sent)


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        (40, {}),
        (41, {"rated": 41, "theta": 0.5}),
        (300, {"rated": 30, "questions": 7, "theta": 3.0}),
        (2, {"rated": 2}),
        (1000, {"rated": 2, "theta": 1.9}),
    ],
)
def test_counts_are_those_of_the_questions(campaign, items, wanted):
    """The compiled counts equal a walk through every report's sets in plain Python."""
    made = campaign(items, **wanted)
    sent = reports(made, 200)
    server = Server(made)
    server.fold(wire(sent), now=NOW)
    asked, ones = np.zeros(items, int), np.zeros(items, int)
    for report in sent:
        for q, members in enumerate(sensing.sensed_sets(made, report.ticket)):
            asked[members] += 1
            ones[members] += report.bits >> q & 1
    counts = item_counts(server)
    assert np.array_equal(counts.asked, asked)
    assert np.array_equal(counts.ones, ones)


@pytest.mark.parametrize(("items", "questions"), [(2, 1), (7, 3), (60, 1)])
def test_pair_counts_are_those_of_the_questions(campaign, items, questions):
    """The same for pairs, as the symmetric matrix of the paper."""
    made = campaign(items, rated=2, method="pairwise-preference", questions=questions)
    sent = reports(made, 300)
    server = Server(made)
    server.fold(wire(sent), now=NOW)
    asked, ones = np.zeros((items, items), int), np.zeros((items, items), int)
    for report in sent:
        for q, (i, j) in enumerate(sensing.pairs(made, report.ticket)):
            asked[i, j] += 1
            ones[i, j] += report.bits >> q & 1
    counts = pair_counts(server)
    upper = np.triu_indices(items, 1)
    assert np.array_equal(counts.asked, asked[upper])
    assert np.array_equal(counts.matrix(), ones + ones.T)


def test_chosen_pairs_are_counted(campaign):
    """Pairs that devices name are counted where they belong."""
    made = campaign(5, rated=2, method="pairwise-rated")
    sent = reports(made, 50, pair=(1, 4)) + reports(made, 20, seed=1, pair=(2, 3))
    server = Server(made)
    server.fold(wire(sent), now=NOW)
    matrix = pair_counts(server).matrix()
    assert matrix[1, 4] == sum(report.bits for report in sent[:50])
    assert matrix[3, 2] == sum(report.bits for report in sent[50:])
    assert matrix.sum() == 2 * sum(report.bits for report in sent)


def test_a_device_is_understood(campaign):
    """What the shipped device sends is accepted."""
    made = campaign(questions=3, rated=8)
    report = Device(bytes(32), {}, Limits(epsilon=5)).report(made, range(40), {3: 5.0})
    assert Server(made).fold(report.encode(), now=NOW).accepted_count == 1


def test_where_the_ticket_of_a_report_lies(campaign):
    """A cluster reads it there, to tell which reports are of one device."""
    at, length = TICKET
    report = Report(campaign(questions=3, rated=8).id, 0x1122334455667788, 1).encode()
    assert report[at : at + length] == bytes.fromhex("1122334455667788")


def bad(made):
    """One report for each reason, and the reason."""
    good = Report(made.id, 1 << 60, 1)
    encoded = good.encode()
    return {
        "malformed version": (b"\2" + encoded[1:], "malformed"),
        "malformed kind": (encoded[:1] + b"\1" + encoded[2:], "malformed"),
        "ticket 0": (Report(made.id, 0, 1).encode(), "malformed"),
        "too many bits": (Report(made.id, 5, 1 << made.questions).encode(), "malformed"),
        "campaign": (Report(b"otherone", 5, 1).encode(), "another campaign"),
        "shard": (Report(made.id, 5, 1).encode(), "another shard"),
        "duplicate": (encoded, "duplicate"),
    }


@pytest.mark.parametrize("name", bad(new_campaign(range(4), rated=1, epsilon=1.0)))
def test_bad_reports_are_refused_with_a_reason(campaign, name):
    """A report that does not count says why, is counted as such, and changes no count."""
    made = campaign()
    data, reason = bad(made)[name]
    server = Server(made, shard=(0, 2))
    server.fold(Report(made.id, 1 << 60, 1).encode(), now=NOW)
    before = server.totals.copy()
    receipt = server.fold(data, now=NOW)
    assert [REASONS[code] for code in receipt.codes] == [reason]
    assert server.rejected[reason] == receipt.counts[reason] == 1
    assert np.array_equal(server.totals, before)
    assert server.reports == 1


def test_late_reports_are_refused(campaign):
    """The last second counts, the next one does not."""
    made = campaign(closes=NOW)
    server = Server(made)
    first, second = (report.encode() for report in reports(made, 2))
    assert server.fold(first, now=NOW).accepted_count == 1
    assert server.fold(second, now=NOW + 1).counts["late"] == 1


@pytest.mark.parametrize("pair", [(3, 40), (40, 41)])
def test_pairs_of_unknown_items_are_malformed(campaign, pair):
    """A chosen pair names two items of the catalogue, in order."""
    made = campaign(method="pairwise-rated")
    sent = Report(made.id, 5, 1, pair)
    assert Server(made).fold(sent.encode(), now=NOW).counts["malformed"] == 1
    swapped = Report(made.id, 5, 1, (1, 3)).encode()
    swapped = swapped[:22] + swapped[26:] + swapped[22:26]
    assert Server(made).fold(swapped, now=NOW).counts["malformed"] == 1


def test_truncated_batches_are_refused_whole(campaign):
    """A batch cut at any byte of its last report counts nothing."""
    made = campaign()
    data = wire(reports(made, 3))
    for end in range(45, 66):
        server = Server(made)
        assert server.fold(data[:end], now=NOW).counts["malformed"] == 1
        assert server.reports == 0
        assert not server.totals.any()


def test_one_strange_message_spoils_no_other(campaign):
    """Of any length, among good ones: malformed alone, and every code is at its place."""
    made = campaign()
    good = [report.encode() for report in reports(made, 4)]
    sent = [b"", good[0], good[1][:11], good[1][:11], good[2], good[3] * 2, good[3], good[0]]
    server, alone = Server(made), Server(made)
    receipt = server.fold_each(sent, now=NOW)
    assert [REASONS[code] for code in receipt.codes] == [
        *("malformed", "accepted", "malformed", "malformed"),
        *("accepted", "malformed", "accepted", "duplicate"),
    ]
    alone.fold(good[0] + good[2] + good[3], now=NOW)
    assert np.array_equal(server.totals, alone.totals)
    assert server.rejected["malformed"] == receipt.counts["malformed"] == 4
    assert Server(made).fold_each([], now=NOW).accepted_count == 0


def test_duplicates_within_a_batch(campaign):
    """The first of several equal tickets counts, in the order in which they came."""
    made = campaign()
    one, other = Report(made.id, 5, 0), Report(made.id, 5, 1)
    receipt = Server(made).fold(wire([one, other, one]), now=NOW)
    assert [REASONS[code] for code in receipt.codes] == ["accepted", "duplicate", "duplicate"]


@settings(max_examples=25)
@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 7))
def test_how_reports_are_batched_does_not_matter(tickets, size):
    """Any batches of the same stream give the same counts and the same refusals."""
    made = new_campaign(range(40), rated=4, epsilon=1.0, seed=bytes(16))
    sent = [Report(made.id, ticket, ticket % 2).encode() for ticket in tickets]
    whole, parts = Server(made), Server(made)
    whole.fold(b"".join(sent), now=NOW)
    for start in range(0, len(sent), size):
        parts.fold(b"".join(sent[start : start + size]), now=NOW)
    assert np.array_equal(whole.totals, parts.totals)
    assert whole.rejected == parts.rejected
    assert whole.reports == len(set(tickets))


def test_shards_add_up(campaign, tmp_path):
    """Three servers that each get everything, merged, equal one server; a part goes on from its
    own checkpoint."""
    made = campaign()
    data = wire(reports(made, 500))
    alone = Server(made)
    alone.fold(data, now=NOW)
    shards = [Server(made, shard=(k, 3)) for k in range(3)]
    for shard in shards:
        shard.fold(data, now=NOW)
        shard.save(tmp_path / "part")
        again = Server.load(tmp_path / "part")
        found = again.fold(data, now=NOW).counts
        assert found["duplicate"] + found["another shard"] == 500
    shards[0].merge(shards[1])
    shards[0].merge(again)
    assert np.array_equal(alone.totals, shards[0].totals)
    assert shards[0].reports == 500
    assert shards[0].fold(data, now=NOW).counts["duplicate"] == 500


@pytest.mark.parametrize("shard", [0, 1])
def test_a_merge_waits_for_a_batch(campaign, monkeypatch, shard):
    """What another thread counts meanwhile, at either server, is in the sum as a whole."""
    made = campaign()
    data = wire(reports(made, 200))
    first, second = Server(made, shard=(0, 2)), Server(made, shard=(1, 2))
    counted_by = (first, second)[shard]
    accepted = Server(made, shard=(shard, 2)).fold(data, now=NOW).accepted_count
    shipped, counting = sketch_compiled.count_sets, threading.Event()
    shards_while_counting = []

    def count_slowly(*arguments):
        counting.set()
        time.sleep(0.2)
        shards_while_counting.append(set(first.shards))
        shipped(*arguments)

    monkeypatch.setattr(sketch_compiled, "count_sets", count_slowly)
    folding = threading.Thread(target=counted_by.fold, args=(data,), kwargs={"now": NOW})
    folding.start()
    assert counting.wait(timeout=60)
    first.merge(second)
    folding.join()
    assert shards_while_counting == [{0}]
    assert first.reports == accepted > 0


def test_unlike_servers_are_not_merged(campaign):
    """Another campaign, another number of shards or the same shard: people could count twice."""
    one = Server(campaign(), shard=(0, 2))
    for other in (
        Server(campaign(theta=0.5), shard=(1, 2)),
        Server(campaign(), shard=(1, 3)),
        Server(campaign(), shard=(0, 2)),
    ):
        with pytest.raises(ConfigError):
            one.merge(other)


@pytest.mark.parametrize("shard", [(1, 1), (-1, 2), (0, 0)])
def test_impossible_shards_are_refused(campaign, shard):
    """A shard is one of so many."""
    with pytest.raises(ConfigError):
        Server(campaign(), shard=shard)


def test_a_killed_run_resumes(campaign, tmp_path):
    """From its checkpoint, with everything after it sent again, a run ends as if never killed."""
    made = campaign()
    sent = reports(made, 400)
    alone = Server(made)
    alone.fold(wire(sent), now=NOW)
    first = Server(made)
    first.fold(wire(sent[:150]), now=NOW)
    first.save(tmp_path / "counts")
    first.fold(wire(sent[150:300]), now=NOW)  # lost
    resumed = Server.load(tmp_path / "counts")
    receipt = resumed.fold(wire(sent[100:]), now=NOW)
    assert (receipt.accepted_count, receipt.counts["duplicate"]) == (250, 50)
    assert np.array_equal(resumed.totals, alone.totals)
    assert np.array_equal(resumed.ones, alone.ones)


def test_an_interrupted_batch_spoils_no_checkpoint(campaign, tmp_path, monkeypatch):
    """Stopped between a batch's tickets and its counts, a server does not replace what it saved."""
    made = campaign()
    server = Server(made)
    server.fold(wire(reports(made, 5)), now=NOW)
    server.save(tmp_path / "counts")
    before = (tmp_path / "counts").read_bytes()

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sketch_compiled, "count_sets", stop)
    with pytest.raises(KeyboardInterrupt):
        server.fold(wire(reports(made, 5, seed=1)), now=NOW)
    with pytest.raises(ConfigError, match="interrupted"):
        server.save(tmp_path / "counts")
    monkeypatch.undo()
    assert (tmp_path / "counts").read_bytes() == before
    again = Server.load(tmp_path / "counts")
    assert again.fold(wire(reports(made, 5, seed=1)), now=NOW).accepted_count == 5


def test_a_checkpoint_waits_for_a_batch(campaign, tmp_path, monkeypatch):
    """What one thread saves while another one counts is whole: all of the batch."""
    made = campaign()
    server, counting = Server(made), threading.Event()
    count = sketch_compiled.count_sets

    def slow(*arguments):
        counting.set()
        time.sleep(0.2)
        count(*arguments)

    monkeypatch.setattr(sketch_compiled, "count_sets", slow)
    folding = threading.Thread(
        target=server.fold, args=(wire(reports(made, 5)),), kwargs={"now": 0}
    )
    folding.start()
    assert counting.wait(timeout=60)
    server.save(tmp_path / "counts")
    folding.join()
    assert Server.load(tmp_path / "counts").reports == 5


def test_a_checkpoint_keeps_all(campaign, tmp_path):
    """Campaign, shards and refusals come back; saving again gives the same file."""
    server = Server(campaign(method="pairwise-preference"), shard=(1, 2))
    server.fold(wire(reports(server.campaign, 50)), now=NOW)
    server.save(tmp_path / "one")
    again = Server.load(tmp_path / "one")
    assert again.campaign == server.campaign
    assert again.rejected == server.rejected
    assert again.shards == server.shards
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_without_tickets_nothing_grows(campaign, tmp_path):
    """Distinct reports fold into the same counts in memory that stays as it is."""
    made = campaign()
    data = wire(reports(made, 9000))
    usual, constant = Server(made), Server(made, keep_tickets=False)
    before = constant.nbytes
    for server in (usual, constant):
        server.fold(data, now=NOW)
    assert np.array_equal(usual.totals, constant.totals)
    assert constant.nbytes == before < usual.nbytes
    constant.save(tmp_path / "counts")
    assert Server.load(tmp_path / "counts").fold(data[:22], now=NOW).accepted_count == 1


@pytest.mark.parametrize("wrong", ["kind", "campaign", "totals", "tickets", "shards"])
def test_damaged_checkpoints_are_refused(campaign, tmp_path, wrong):
    """A file that is intact but is no checkpoint, or lacks a part, is refused in one sentence."""
    server = Server(campaign())
    server.fold(wire(reports(server.campaign, 5)), now=NOW)
    server.save(tmp_path / "counts")
    header, arrays = container.read(tmp_path / "counts")
    header.pop(wrong, None)
    arrays.pop(wrong, None)
    container.write(tmp_path / "counts", header, arrays)
    with pytest.raises(ModelFileError):
        Server.load(tmp_path / "counts")


def damaged(path, *, header=None, arrays=None):
    """The checkpoint at path written anew, sound as a file, with other content."""
    old_header, old_arrays = container.read(path)
    container.write(path, old_header | (header or {}), old_arrays | (arrays or {}))


HUGE = new_campaign(range(4), rated=4, epsilon=1.0, seed=bytes(16))
object.__setattr__(HUGE, "items", 2**31 - 1)


@pytest.mark.parametrize(
    "header",
    [
        {"shards": [0, 1, 2, 99]},
        {"shards": [0, -5]},
        {"shards": [0, 0.5]},
        {"shards": [0, 0]},
        {"shards": []},
        {"shards": [True]},
        {"shards": {"0": 1}},
        {"shard_count": 0},
        {"shard_count": 1 << 64},
        {"shard_count": 2.0},
        {"keep_tickets": 1},
        {"rejected": ""},
        {"rejected": []},
        {"rejected": {"duplicate": "x"}},
        {"rejected": dict.fromkeys(REASONS[1:], "x")},
        {"rejected": dict.fromkeys(REASONS[1:], -1)},
        {"rejected": None},
        {"campaign": 5},
        {"campaign": "00"},
        {"campaign": HUGE.encode().hex()},
    ],
    ids=str,
)
def test_headers_that_no_server_writes_are_refused(campaign, tmp_path, header):
    """Shards, refusals and campaigns that cannot be are refused when they are read, not later."""
    server = Server(campaign())
    server.fold(wire(reports(server.campaign, 5)), now=NOW)
    server.save(tmp_path / "counts")
    damaged(tmp_path / "counts", header=header)
    with pytest.raises(ModelFileError, match="not what a server saves"):
        Server.load(tmp_path / "counts")


def test_counts_of_merged_shards_load(campaign, tmp_path):
    """Where one of two shards kept no tickets, the file has fewer of them than reports."""
    made = campaign(300, questions=7, rated=30)
    data = wire(reports(made, 60))
    first, second = Server(made, shard=(0, 2)), Server(made, shard=(1, 2), keep_tickets=False)
    for server in (first, second):
        server.fold(data, now=NOW)
    first.merge(second)
    first.save(tmp_path / "counts")
    again = Server.load(tmp_path / "counts")
    assert again.reports == 60
    assert np.array_equal(again.totals, first.totals)


def changed(array, place, value):
    copy = array.copy()
    copy[place] = value
    return copy


DAMAGES = {
    "negative total": lambda a: {"totals": changed(a["totals"], (0, 0), -1)},
    "total too high": lambda a: {"totals": changed(a["totals"], (0, 0), 999)},
    "yes and no swapped": lambda a: {"totals": a["totals"][::-1].copy()},
    "totals of one place": lambda a: {"totals": a["totals"][:, :1].copy()},
    "totals of no answer": lambda a: {"totals": a["totals"][0].copy()},
    "totals not numbers": lambda a: {"totals": np.full(a["totals"].shape, np.nan)},
    "floats": lambda a: {"totals": a["totals"].astype(float)},
    "narrow totals": lambda a: {"totals": a["totals"].astype(np.int32)},
    "negated ones": lambda a: {"ones": -a["ones"]},
    "broadcast ones": lambda a: {"ones": np.ones(1, np.int64)},
    "one report too many": lambda a: {"ones": a["ones"] + 1},
    "float tickets": lambda a: {"tickets": a["tickets"].astype(float)},
    "tickets in rows": lambda a: {"tickets": np.stack([a["tickets"]] * 2)},
    "no tickets": lambda a: {"tickets": a["tickets"][:0].copy()},
    "ticket 0": lambda a: {"tickets": np.sort(changed(a["tickets"], 0, 0).view("u8")).view("i8")},
    "ticket twice": lambda a: {"tickets": changed(a["tickets"], 1, a["tickets"][0])},
    "no order": lambda a: {"tickets": a["tickets"][::-1].copy()},
    "another shard": lambda a: {"tickets": np.arange(1, 6)},
    "one array more": lambda a: {"more": np.zeros(1)},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_counts_that_do_not_add_up_are_refused(campaign, tmp_path, method, damage):
    """Arrays of another shape, type or range, or that contradict each other, are never used."""
    made = campaign(method=method)
    chosen = {"pair": (0, 1)} if method in RATED_METHODS else {}
    server = Server(made, shard=(0, 3))
    server.fold(wire([Report(made.id, 3 * n, int(n == 3), **chosen) for n in range(1, 6)]), now=NOW)
    server.save(tmp_path / "counts")
    assert Server.load(tmp_path / "counts").reports == 5
    damaged(tmp_path / "counts", arrays=DAMAGES[damage](container.read(tmp_path / "counts")[1]))
    with pytest.raises(ModelFileError, match="not what a server saves"):
        Server.load(tmp_path / "counts")


def test_counts_of_pairs_go_beyond_32_bits(campaign):
    """A pair that was asked about 2^31 times is still counted."""
    made = campaign(2, rated=2, method="pairwise-preference")
    server = Server(made)
    server.totals[1, 0] = 2**31 - 1
    server.fold(Report(made.id, 5, 1).encode(), now=NOW)
    assert pair_counts(server).ones.tolist() == [2**31]


def test_questions_are_of_one_kind(campaign):
    """Item counts of a campaign about pairs, or the other way round, are refused."""
    with pytest.raises(ConfigError, match="pair_counts"):
        item_counts(Server(campaign(method="pairwise-preference")))
    with pytest.raises(ConfigError, match="item_counts"):
        pair_counts(Server(campaign()))


def test_too_many_pairs_are_refused(campaign):
    """A matrix that would not fit is refused before it is made."""
    with pytest.raises(ConfigError, match="10000"):
        Server(campaign(10_001, method="pairwise-preference"))


def test_scores_are_shares(campaign):
    """Normalised scores are shares of ones; an item nobody was asked about has the common one."""
    made = campaign()
    server = Server(made)
    server.fold(Report(made.id, 9, 1).encode(), now=NOW)
    counts = item_counts(server)
    assert counts.normalised_scores.tolist() == [1.0] * 40


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(1, 2**64 - 1) | st.integers(1, 50), max_size=300)))
def test_seen_is_a_set(batches):
    """New is what was never there, whatever the tables do."""
    seen, known = TicketSet(), set()
    for batch in batches:
        expected = []
        for ticket in batch:
            expected.append(ticket not in known)
            known.add(ticket)
        assert seen.add(np.array(batch, dtype=np.uint64)).tolist() == expected
    assert len(seen) == len(known)
    if known:
        assert seen.tickets().tolist() == sorted(known)


def test_seen_is_small():
    """At most 16 bytes a ticket, while it grows too."""
    seen, rng = TicketSet(), np.random.default_rng(1)
    for _ in range(40):
        seen.add(rng.integers(1, 2**64, size=5_000, dtype=np.uint64))
        assert seen.nbytes / len(seen) <= 16
