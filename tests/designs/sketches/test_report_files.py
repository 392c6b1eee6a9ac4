"""Reports of a file are found, whatever stands between them and wherever a block ends."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.messages import REPORT_HEAD, Report
from tacit.designs.sketches.report_files import read_messages
from tacit.designs.sketches.server import Server

CAMPAIGN = new_campaign(range(40), rated=4, epsilon=1.0, seed=bytes(16))
BEGINNING = REPORT_HEAD + CAMPAIGN.id
JUNK = st.one_of(
    st.binary(max_size=60),
    st.integers(0, 9).map(lambda size: BEGINNING[:size]),
    st.integers(0, 21).map(lambda size: Report(CAMPAIGN.id, 1, 0).encode()[:size]),
)


def messages_of(data, at_once=3):
    """All messages of these bytes, some read at a time."""
    blocks = list(read_messages(io.BytesIO(data), CAMPAIGN, at_once=at_once))
    return [message for block in blocks for message in block]


@given(st.lists(JUNK, max_size=8), st.integers(1, 5))
def test_no_junk_costs_an_honest_report(junk, at_once):
    """Every whole report is a message of its own, and no byte is lost or doubled."""
    honest = [Report(CAMPAIGN.id, n + 2, n % 2).encode() for n in range(len(junk) + 1)]
    data = honest[0] + b"".join(map(bytes.__add__, junk, honest[1:]))
    found = messages_of(data, at_once)
    assert b"".join(found) == data
    assert [message for message in found if message in set(honest)] == honest


@given(st.lists(st.sampled_from([CAMPAIGN.id, bytes(8), bytes(range(8))]), max_size=20))
def test_whole_reports_are_the_messages(ids):
    """Reports to other campaigns are told from each other, too, and refused as such."""
    sent = [Report(one, number + 1, 0).encode() for number, one in enumerate(ids)]
    assert messages_of(b"".join(sent)) == sent
    server = Server(CAMPAIGN)
    server.fold_each(messages_of(b"".join(sent)), now=0)
    assert server.reports == ids.count(CAMPAIGN.id)
    assert server.rejected["another campaign"] == len(ids) - server.reports


def test_a_long_file_without_a_report_is_read_in_parts():
    """What is between reports is handed on as it is read: memory does not grow with a file."""
    for data in (bytes(22_000), Report(CAMPAIGN.id, 1, 0).encode() + bytes(22_000)):
        blocks = list(read_messages(io.BytesIO(data), CAMPAIGN, at_once=10))
        assert max(map(len, blocks)) <= 12
        assert sum(len(message) for block in blocks for message in block) == len(data)
