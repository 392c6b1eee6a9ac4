"""Releases of the daily figures of comparisons: each day once, soon after it ended.

Days are released by the clock, and when staff look at a comparison. They are never released because
a person clicked, so that the time of a release reveals nothing about anyone. The file of a day is
removed once the day is released, also where nobody looks at the figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date

from tacit.ledger import BudgetExhausted, Charge
from tacit.randomness import Source
from tacit.service.background import run_in_background
from tacit.service.idempotency import Reply, answer_once, read_salted_state, reply, salt_states
from tacit.service.keys import Caller, Role
from tacit.service.service import Service
from tacit.service.splits import DayFigures, Split, decode_days, encode_days

RELEASE = "daily figures"
"""Name of the operation that releases a day, in the ledger's log."""
SECONDS_BETWEEN_RELEASES = 600.0
"""Seconds between two looks for days that ended."""


def released_days(service: Service, split: Split) -> tuple[DayFigures, ...]:
    """Read the released days, oldest first."""
    return decode_days(read_salted_state(service, split.state_name))


async def release_due_days(service: Service, split: Split) -> tuple[DayFigures, ...]:
    """Release the figures of days that ended, each once, and remove the files of these days.

    Returns:
        All released days, oldest first.
    """
    figures_of_days = await asyncio.to_thread(released_days, service, split)
    released = [figures.day for figures in figures_of_days]
    due = split.due_days(released)
    for day in due:
        try:
            await _release_day(service, split, day)
        except BudgetExhausted:  # the setting `lifetime` was lowered below what is spent
            break
        released.append(day)
    split.forget_days(released)
    if due:
        figures_of_days = await asyncio.to_thread(released_days, service, split)
    return figures_of_days


async def _release_day(service: Service, split: Split, day: date) -> None:
    """Charge, draw and store the figures of one day in one transaction.

    The day's file is read first: if that fails, nothing is charged and the day stays due.
    """
    records = await asyncio.to_thread(split.read_records, day)

    def draw(_: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
        figures = tuple(split.draw_figures(records))
        days = (*decode_days(stored), DayFigures(day, figures))
        epsilon = split.settings.epsilon
        return reply({"day": day.isoformat(), "figures": figures}), encode_days(days, epsilon)

    await answer_once(
        service,
        Caller(split.tenant, Role.OPERATOR, split.state_name),
        RELEASE,
        f"{split.name} {day.isoformat()}",
        b"",
        state=split.state_name,
        transition=salt_states(draw),
        charges=[Charge(split.holder, split.cost)],
    )


async def release_all(service: Service, report_fault: Callable[[BaseException], None]) -> None:
    """Release the due days of all comparisons.

    An error of one comparison is reported, and does not stop the others.
    """
    for split in service.deployment.find_all(Split).values():
        try:
            await release_due_days(service, split)
        except Exception as error:  # of the disk or the ledger; the next look tries again
            report_fault(error)


@asynccontextmanager
async def release_by_clock(
    service: Service, report_fault: Callable[[BaseException], None]
) -> AsyncIterator[None]:
    """Release days soon after they ended, until the end of the block.

    Every worker does so; the ledger makes each release once.
    """

    async def release() -> None:
        while True:
            await release_all(service, report_fault)
            await asyncio.sleep(SECONDS_BETWEEN_RELEASES)

    async with run_in_background(release()):
        yield
