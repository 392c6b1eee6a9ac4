"""Notices model files that are replaced while the service runs, and serves the new ones.

Every two seconds a worker looks whether a model file, or the table of cold items that belongs to
it, has changed. A changed one is read and checked in a thread, while requests go on. Then the new
model replaces the old one in one step. If a file cannot be served, this is logged, and the old
model stays. No error ends the watch.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tacit.errors import ModelFileError
from tacit.service.background import run_in_background
from tacit.service.deployment import Deployment
from tacit.service.served_models import ModelStamps, ServedModel, read_stamps

SECONDS_BETWEEN_LOOKS = 2.0
"""Seconds between two looks at the stamps of the files."""


class ModelWatch:
    """The model files of a deployment, with the stamps (see `FileStamp`) of the last look."""

    def __init__(self, deployment: Deployment) -> None:
        self._deployment = deployment
        self._stamps: dict[str, ModelStamps | None] = {}
        """Stamps at the last look, by address of the model."""
        for address, served in deployment.served.items():
            if isinstance(served, ServedModel):
                # Read before the file itself, so that a change since then is noticed.
                self._stamps[address] = served.stamps

    def reload_changed_models(self, report_fault: Callable[[BaseException], None]) -> list[str]:
        """Read the models whose files changed since the last call, and serve those that differ.

        Args:
            report_fault: Called with the error of a model file or a table of cold items that cannot
                be used. Without a usable table the new model is served without cold items.

        Returns:
            Addresses of the models that were replaced.
        """
        replaced = []
        for address in self._list_addresses():
            stamps = self._read_stamps(address)
            if stamps is None or stamps == self._stamps[address]:
                continue
            self._stamps[address] = stamps  # an unusable file is not read again until it changes
            try:
                section = self._deployment.sections[address]
                new_model = ServedModel.from_section(section, report_fault)
                old_model = self._deployment.served[address]
                if isinstance(old_model, ServedModel) and new_model.differs_from(old_model):
                    self._deployment.replace(address, new_model.with_previous(old_model))
                    replaced.append(address)
            except Exception as error:  # whatever the file does, the old model is served on
                report_fault(error)
        return replaced

    def _list_addresses(self) -> list[str]:
        """List the addresses of all models that are served."""
        served = self._deployment.served.items()
        return [address for address, thing in served if isinstance(thing, ServedModel)]

    def _read_stamps(self, address: str) -> ModelStamps | None:
        """Read the stamps of a model's files; None if there is no model file now."""
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
    """Serve model files that change, until the end of the block.

    Args:
        deployment: The deployment whose models are watched.
        report_fault: Called with the error of a file that cannot be used.
        report_change: Called with the address of each model that was replaced.
    """
    watch = ModelWatch(deployment)

    async def reload_repeatedly() -> None:
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            try:
                replaced = await asyncio.to_thread(watch.reload_changed_models, report_fault)
                for address in replaced:
                    report_change(address)
            except Exception as error:  # the watch goes on at the next look
                report_fault(error)

    async with run_in_background(reload_repeatedly()):
        yield
