"""Releases of the daily figures of comparisons: each day once, soon after it ended.

Days are released by the clock, and when staff look at a comparison: never because a person
clicked, so that the time of a release says nothing of anyone. The files of released days go with
it, also where nobody looks.
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
"""Name of the release of a day in the log."""
SECONDS_BETWEEN_RELEASES = 600.0
"""Time after which the service looks for days that ended."""


def released_days(service: Service, split: Split) -> tuple[DayFigures, ...]:
    """Read the released days, oldest first."""
    return decode_days(read_salted_state(service, split.state))


async def release_due_days(service: Service, split: Split) -> tuple[DayFigures, ...]:
    """Release the figures of days that ended, each once, and remove what they were made of.

    Returns:
        All released days, oldest first.
    """
    days = await asyncio.to_thread(released_days, service, split)
    released = [one.day for one in days]
    due = split.due_days(released)
    for day in due:
        try:
            await _release_day(service, split, day)
        except BudgetExhausted:  # the settings' lifetime was lowered below what is spent
            break
        released.append(day)
    split.forget_days(released)
    return await asyncio.to_thread(released_days, service, split) if due else days


async def _release_day(service: Service, split: Split, day: date) -> None:
    """Charge, draw and store the figures of one day in one transaction.

    A file that cannot be read fails here, before anything is charged, and the day stays due.
    """
    records = await asyncio.to_thread(split.read_records, day)

    def draw(_: Source, stored: bytes | None) -> tuple[Reply, bytes | None]:
        figures = tuple(split.draw_figures(records))
        days = (*decode_days(stored), DayFigures(day, figures))
        epsilon = split.settings.epsilon
        return reply({"day": day.isoformat(), "figures": figures}), encode_days(days, epsilon)

    await answer_once(
        service,
        Caller(split.tenant, Role.OPERATOR, split.state),
        RELEASE,
        f"{split.name} {day.isoformat()}",
        b"",
        state=split.state,
        transition=salt_states(draw),
        charges=[Charge(split.holder, split.cost)],
    )


async def release_all(service: Service, report_fault: Callable[[BaseException], None]) -> None:
    """Release the due days of all comparisons; one that fails does not hold up the others."""
    for split in service.deployment.find_all(Split).values():
        try:
            await release_due_days(service, split)
        except Exception as error:  # of a disk or the ledger: the next look tries again
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
