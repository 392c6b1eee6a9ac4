"""Model files that change while the service runs: each worker takes them up by itself.

A file, and a table of cold items beside it, is looked at every two seconds. A new one is read and
checked in a thread beside the requests; then it replaces the one before in one step. A file that
cannot be served is logged and passed over, and the model before goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tacit.errors import ModelFileError, TacitError
from tacit.service.background import run_in_background
from tacit.service.deployment import Deployment
from tacit.service.served_models import FileStamp, ServedModel, read_stamps

SECONDS_BETWEEN_LOOKS = 2.0


class ModelWatch:
    """The model files of a deployment, as they were last looked at."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._stamps: dict[str, tuple[FileStamp, FileStamp | None] | None] = {}
        for address, served in deployment.served.items():
            if isinstance(served, ServedModel):
                self._stamps[address] = served.stamps  # from before it was read

    def take_up_changes(self, report_fault: Callable[[BaseException], None]) -> list[str]:
        """Serve the files that changed since the last call; return their addresses."""
        taken = []
        for address in self._addresses():
            stamps = self._read_stamps(address)
            if stamps is None or stamps == self._stamps[address]:
                continue
            self._stamps[address] = stamps  # one that cannot be read is not tried again
            try:
                # A table of cold items that cannot be used holds no new model back.
                made = ServedModel.from_section(self._deployment.sections[address], report_fault)
            except (TacitError, OSError) as error:
                report_fault(error)
                continue
            before = self._deployment.served[address]
            if isinstance(before, ServedModel) and made.differs_from(before):
                self._deployment.replace(address, made.replace_model(before))
                taken.append(address)
        return taken

    def _addresses(self) -> list[str]:
        served = self._deployment.served.items()
        return [address for address, thing in served if isinstance(thing, ServedModel)]

    def _read_stamps(self, address: str) -> tuple[FileStamp, FileStamp | None] | None:
        """The stamps of a model's files; none while the model's is not there."""
        try:
            return read_stamps(self._deployment.sections[address])
        except ModelFileError:
            return None


@asynccontextmanager
async def watch_models(
    deployment: Deployment,
    report_fault: Callable[[BaseException], None],
    report_change: Callable[[str], None],
) -> AsyncIterator[None]:
    """Take up changed model files until the end of the block."""
    watch = ModelWatch(deployment)

    async def look() -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            for address in await asyncio.to_thread(watch.take_up_changes, report_fault):
                report_change(address)

    async with run_in_background(look()):
        yield
