"""Releases the daily figures of comparisons: those of each day once, soon after the day ended.

Figures are released by the clock alone. They are never released because a person clicked, so that
the time of a release reveals nothing about anyone; nor because staff look at a comparison, so that
the time of an answer does not show how many lines a day's file had. The file of a day is removed
once its figures are released, even if nobody looks at them.
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
"""Seconds between two looks for days that ended and are not released."""


def read_released_days(service: Service, split: Split) -> tuple[DayFigures, ...]:
    """Read the released figures of all days, the oldest day first."""
    return decode_days(read_salted_state(service, split.state_name))


async def release_due_days(service: Service, split: Split) -> None:
    """Release the figures of all due days; then remove the files of past days that are not due.

    A day is due once it has ended, until it is released, as long as the budget covers it.
    """
    figures_of_days = await asyncio.to_thread(read_released_days, service, split)
    released = [figures.day for figures in figures_of_days]
    for day in split.due_days(released):
        try:
            await _release_day(service, split, day)
        except BudgetExhausted:  # the setting `lifetime` was lowered below what is spent
            break
        released.append(day)
    split.forget_days(released)


async def _release_day(service: Service, split: Split, day: date) -> None:
    """Charge, draw and store the figures of one day in one transaction.

    The day's file is read before the transaction. If it cannot be read, nothing is charged, and the
    day stays due.
    """
    records = await asyncio.to_thread(split.read_records, day)

    def draw(_: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
        """Draw the figures of the day, and add them to those that are stored."""
        figures = tuple(split.count_with_noise(records))
        days = (*decode_days(stored), DayFigures(day, figures))
        epsilon = split.settings.epsilon
        return reply({"day": day.isoformat(), "figures": figures}), encode_days(days, epsilon)

    await answer_once(
        service,
        Caller(split.tenant, Role.OPERATOR, split.state_name),
        operation=RELEASE,
        key=f"{split.name} {day.isoformat()}",  # one for each day: a second release is a retry
        payload=b"",
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
        except Exception as error:  # of the disk or the ledger: tried again at the next look
            report_fault(error)


@asynccontextmanager
async def release_by_clock(
    service: Service, report_fault: Callable[[BaseException], None]
) -> AsyncIterator[None]:
    """Release the figures of days soon after they ended, until the end of the block.

    Each of several workers does so. After the first release of a day, the ledger takes any further
    release of that day for a retry.
    """

    async def release_repeatedly() -> None:
        while True:
            try:
                await release_all(service, report_fault)
            except Exception as error:  # the clock goes on
                report_fault(error)
            await asyncio.sleep(SECONDS_BETWEEN_RELEASES)

    async with run_in_background(release_repeatedly()):
        yield
