"""Settings, model and public log of a served disclosure.

The log has the digest of the disclosure for every epoch in which it was served. It is a file of
canonical JSON lines to which lines are only added. Each line after the first holds the SHA-256 of
its own content and of all lines before it, so that a change of earlier lines is detected. An
operator could still write a whole new file or cut the end off; devices that saw more detect that,
because they store the log that they saw and compare it with the next one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.atomic_writes import explain_write_error, write_whole
from tacit.designs.standard_scheme import StandardScheme
from tacit.designs.standard_scheme.disclosure import DEFAULT_RELEASE
from tacit.designs.standard_scheme.messages import encode, is_integer
from tacit.designs.standard_scheme.settings import CONDITION_OF_USE
from tacit.errors import ConfigError, OutputError, TacitError
from tacit.privacy import PANEL, PERMUTED, Measurement
from tacit.recommenders.model_files import load_model
from tacit.service.served_things import Section
from tacit.service.setting_tables import TOML, setting

KIND = "tacit digest log"


@dataclass(frozen=True, kw_only=True)
class DisclosureSettings:
    """The lines of [disclosures.NAME]."""

    file: str = setting(
        "a saved `StandardScheme`", refused="another recommender, or the published variant"
    )
    service_sees_items: bool = setting(
        "a statement about the whole service: whether it learns what people rated or watched",
        refused="`true`, and a missing line",
    )
    item_table: bool = setting(
        "publish the table by which devices make lists from true stars",
        False,
        refused="`true` for a model that was fitted without its people's consent to it",
    )
    log: str | None = setting(
        "the file of the public log of digests",
        None,
        default_text="`NAME.digests` beside the model",
        refused="outside of the folder, or changed by hand",
    )


def read_disclosure(section: Section) -> tuple[DisclosureSettings, StandardScheme, DigestLog]:
    """Read a section's settings and model, and name its log, which need not exist yet.

    Raises:
        ConfigError: The section cannot be served.
    """
    if section.values.get("service_sees_items") is not False:
        raise ConfigError(
            f"{TOML}: {section.name}.service_sees_items is not false. {CONDITION_OF_USE} Write  "
            "service_sees_items = false  if the service does not otherwise learn that."
        )
    settings = section.read_settings(DisclosureSettings)
    path = section.file_path("file")
    name = section.name
    try:
        model = load_model(path)
    except TacitError as error:
        raise ConfigError(f"{TOML}: {name}.file cannot be served. {error}") from None
    if not isinstance(model, StandardScheme):
        raise ConfigError(
            f"{TOML}: {name}.file holds another recommender. A disclosure is a StandardScheme; "
            "others are served as [models.NAME]."
        )
    if model.variant == "published":
        raise ConfigError(
            f"{TOML}: {name} is the published variant, which tells the attribute. It is for "
            "reproducing the paper and is not served: fit it as variant='sound'."
        )
    if settings.item_table and not model.item_table:
        raise ConfigError(
            f"{TOML}: {name}.item_table is true, but the model was fitted without its people's "
            "consent to publish that table. Fit it with item_table=True, or take the line out."
        )
    return settings, model, DigestLog(_log_path(section), model.disclosure_.epoch_length)


def _log_path(section: Section) -> Path:
    """Return the path of the log: by default `NAME.digests` beside the model.

    Raises:
        ConfigError: The path lies outside of the folder of the settings, or is a folder itself.
    """
    if "log" not in section.values:
        return section.file_path("file").with_name(f"{section.name}.digests")
    path = (section.folder / section.text("log")).resolve()
    if not path.is_relative_to(section.folder.resolve()):
        raise ConfigError(f"{TOML}: {section.name}.log lies outside of the folder.")
    if path.is_dir():
        raise ConfigError(f"{TOML}: {section.name}.log names a folder. Name a file in it.")
    return path


class DigestLog:
    """Log of one disclosure. Processes and threads that share the file wait for each other."""

    def __init__(self, path: Path, epoch_length: int) -> None:
        """Name the log's file, which need not exist yet.

        Args:
            path: Path of the file.
            epoch_length: Seconds of an epoch, which is fixed for a log.
        """
        self._path = path
        self._first_line = _make_line({"epoch_length": epoch_length, "log": KIND})
        self._digests: dict[int, str] = {}

    def entries(self) -> list[dict[str, Any]]:
        """List the entries as JSON, the earliest first, as of the last time the file was read."""
        return [{"epoch": epoch, "digest": digest} for epoch, digest in self._digests.items()]

    def enter_digest(self, digest: str, epoch: int) -> None:
        """Enter the digest of a calendar epoch, unless it is entered already.

        Raises:
            ConfigError: The file has a later entry or another digest for this epoch, belongs to
                another epoch length, or was changed.
            OutputError: The file cannot be read or written.
        """
        if self._digests.get(epoch) == digest:
            return
        try:
            with _lock_folder(self._path.parent):
                self._add(digest, epoch)
        except OSError as error:
            raise OutputError(
                f"{self._path}: the log cannot be read or written ({error.strerror}). Let the "
                "service read and write it, and see that the disk is sound."
            ) from None

    def _add(self, digest: str, epoch: int) -> None:
        """Read the file again, and add a line for this epoch if there is none.

        Raises:
            ConfigError: As for `enter_digest`.
            OutputError: The file cannot be written.
            OSError: The file cannot be read.
        """
        data = self._path.read_bytes() if self._path.exists() else self._first_line
        digests = self._read(data)
        latest_epoch = max(digests, default=epoch)
        if latest_epoch > epoch:
            raise ConfigError(
                f"{self._path}: has an entry of epoch {latest_epoch}, and by the clock it is epoch "
                f"{epoch}. Set the clock of this machine."
            )
        logged_digest = digests.get(epoch, digest)
        if logged_digest != digest:
            raise ConfigError(
                f"{self._path}: the disclosure {logged_digest} was served in this epoch, and "
                f"devices accept one in each. Serve that one again, or wait for epoch {epoch + 1}."
            )
        if epoch not in digests:
            line = _make_line({"digest": digest, "epoch": epoch}, data)
            write_whole(self._path, data + line)
        self._digests = {**digests, epoch: digest}

    def _read(self, data: bytes) -> dict[int, str]:
        """Read the digest of each epoch from the file's bytes.

        Raises:
            ConfigError: The file belongs to another epoch length, or was changed.
        """
        if not data.startswith(self._first_line):
            raise ConfigError(
                f"{self._path}: is no log of this disclosure's epochs. Name another file, or fit "
                "the model with the epoch_length that the log began with."
            )
        digests: dict[int, str] = {}
        before = self._first_line
        for line in data[len(before) :].splitlines(keepends=True):
            try:
                content = json.loads(line)
                epoch = content["epoch"]
                digest = content["digest"]
                is_unchanged = line == _make_line({"digest": digest, "epoch": epoch}, before)
                is_later = is_integer(epoch, 1 + max(digests, default=-1))
                if not is_unchanged or not is_later:
                    raise ValueError
            except (ValueError, TypeError, KeyError, RecursionError):
                raise ConfigError(
                    f"{self._path}: its history was changed. Restore it from a copy: devices "
                    "refuse a log that does not continue the one they saw."
                ) from None
            digests[epoch] = digest
            before += line
        return digests


def _make_line(content: dict[str, Any], before: bytes | None = None) -> bytes:
    """Make a line of the log.

    Args:
        content: What the line says.
        before: All bytes before it, which its SHA-256 covers; None for the first line, which has no
            SHA-256.
    """
    if before is not None:
        digest = hashlib.sha256(before + encode(content)).hexdigest()
        content = {**content, "sha256": digest}
    return encode(content) + b"\n"


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder against other processes that add to a log in it.

    At the end the folder is synced, so that a new file in it is durable.

    Raises:
        OutputError: The folder cannot be opened.
        OSError: The folder cannot be locked or synced.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise explain_write_error(folder, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        os.fsync(handle)
    finally:
        os.close(handle)


_DATA = "600 generated people in 5 folds"
"""The attacked people, in the words of `MEASUREMENTS_OF_DEMO`."""
MEASUREMENTS_OF_DEMO = (
    Measurement(
        attack="strongest of 8 attackers (boosting-meta, union, trained on released data)",
        trained_on=PANEL,
        release=DEFAULT_RELEASE,
        auc=0.5714,
        low=0.5,
        high=0.6377,
        data=_DATA,
        people=600,
        rarest=180,
    ),
    Measurement(
        attack="strongest attacker",
        trained_on=PERMUTED,
        release=DEFAULT_RELEASE,
        auc=0.5661,
        low=0.5,
        high=0.6207,
        data=_DATA,
        people=600,
        rarest=180,
    ),
    Measurement(
        attack="logistic-svd",
        trained_on="raw",
        release="none",
        auc=0.817,
        low=0.7819,
        high=0.8521,
        data=_DATA,
    ),
)
"""Attacks that were measured on the demonstration's model. Measuring takes half a minute; a long
test measures them again."""


def make_demo(folder: Path) -> str:
    """Fit a model that hides generated people's gender, and write it to a folder.

    The people are generated, so the item table is published and devices can make lists at once.

    Returns:
        The model's section of tacit.toml.
    """
    from tacit.service.demo_data import population

    model = StandardScheme(attributes=("gender",), service_sees_items=False, item_table=True)
    model.fit(population())
    model.add_measurements(MEASUREMENTS_OF_DEMO)
    model.save(folder / "gender.tacit")
    return """[disclosures.gender]
file = "gender.tacit"
service_sees_items = false  # nobody but the device learns what a person rated
item_table = true           # devices make lists at once; the first letter is due after 30 minutes
"""
