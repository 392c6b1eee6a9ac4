"""Files of reports one after another, without anything between them.

A file may hold what untrusted devices sent. A message that is too long or too short costs no other
device its report: each report to the campaign is found by its first ten bytes, which are the same
in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from tacit.designs.sketches.messages import REPORT_HEAD, Campaign

_REPORTS_AT_ONCE = 1 << 17
"""Number of reports that are read from a file at a time."""


def read_messages(
    file: BinaryIO, campaign: Campaign, *, at_once: int = _REPORTS_AT_ONCE
) -> Iterator[list[bytes]]:
    """Yield the messages of a file in order, some at a time.

    Every place where a report to the campaign may begin begins a message. Other bytes are cut into
    messages of a report's length, the last of which may be shorter. So bytes between reports are
    messages that a server refuses.

    Args:
        file: The file, open for reading bytes.
        campaign: The campaign that the reports answer.
        at_once: Number of reports whose bytes are read at a time.
    """
    width = campaign.report_bytes
    beginning = REPORT_HEAD + campaign.id
    rest = b""
    while block := file.read(width * at_once):
        messages, rest = _split_messages(rest + block, beginning, width)
        if messages:
            yield messages
    last_messages = _cut(rest, width)
    if last_messages:
        yield last_messages


def _split_messages(data: bytes, beginning: bytes, width: int) -> tuple[list[bytes], bytes]:
    """Split bytes into messages, and return also the bytes at the end that more bytes may change.

    Args:
        data: The bytes.
        beginning: First bytes of every report.
        width: Length of a report.
    """
    messages = []
    start = 0
    while (next_start := data.find(beginning, start + 1)) >= 0:
        message = data[start:next_start]
        if len(message) == width:  # nearly always: `_cut` would take most of the time
            messages.append(message)
        else:
            messages += _cut(message, width)
        start = next_start
    # A report may begin in the last bytes, which are fewer than `beginning`.
    searched = len(data) - len(beginning) + 1 - start
    end = start + max(0, searched) // width * width
    messages += _cut(data[start:end], width)
    return messages, data[end:]


def _cut(data: bytes, width: int) -> list[bytes]:
    """Cut bytes into pieces of this length; the last one may be shorter."""
    return [data[start : start + width] for start in range(0, len(data), width)]
