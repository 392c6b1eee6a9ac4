"""Model files that are replaced while the service runs: each worker serves the new ones.

Every two seconds a worker looks whether a model file, or the table of cold items beside it, has
changed. A changed one is read and checked in a thread, while requests go on; then the new model
replaces the old one in one step. A file that cannot be served is logged and skipped, and the old
model stays.
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
    """The model files of a deployment, with the stamps that they had at the last look."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._stamps: dict[str, tuple[FileStamp, FileStamp | None] | None] = {}
        for address, served in deployment.served.items():
            if isinstance(served, ServedModel):
                self._stamps[address] = served.stamps  # these were read before the file was

    def take_up_changes(self, report_fault: Callable[[BaseException], None]) -> list[str]:
        """Serve the files that changed since the last call.

        Args:
            report_fault: Called with the error of a file, or table of cold items, that cannot be
                used. Without a usable table the new model is served without cold items.

        Returns:
            Addresses of the models that were replaced.
        """
        replaced = []
        for address in self._list_addresses():
            stamps = self._read_stamps(address)
            if stamps is None or stamps == self._stamps[address]:
                continue
            self._stamps[address] = stamps  # a file that cannot be read is not tried again
            try:
                section = self._deployment.sections[address]
                new_model = ServedModel.from_section(section, report_fault)
            except (TacitError, OSError) as error:
                report_fault(error)
                continue
            old_model = self._deployment.served[address]
            if isinstance(old_model, ServedModel) and new_model.differs_from(old_model):
                self._deployment.replace(address, new_model.replace_model(old_model))
                replaced.append(address)
        return replaced

    def _list_addresses(self) -> list[str]:
        """List the addresses of all models that are served."""
        served = self._deployment.served.items()
        return [address for address, thing in served if isinstance(thing, ServedModel)]

    def _read_stamps(self, address: str) -> tuple[FileStamp, FileStamp | None] | None:
        """Read the stamps of a model's files; None while there is no model file."""
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
    """Serve changed model files until the end of the block.

    Args:
        deployment: The deployment whose models are watched.
        report_fault: Called with the error of a file that cannot be used.
        report_change: Called with the address of a model that was replaced.
    """
    watch = ModelWatch(deployment)

    async def look() -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            for address in await asyncio.to_thread(watch.take_up_changes, report_fault):
                report_change(address)

    async with run_in_background(look()):
        yield
