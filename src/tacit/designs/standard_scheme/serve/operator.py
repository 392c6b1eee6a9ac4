"""Settings, model and public log of a disclosure: what an operator names and keeps.

The log has the digest of every epoch in which the disclosure was served. It is a file of canonical
JSON lines that is only ever added to. Each line holds the SHA-256 of itself and of everything
before it, so that a line that was changed, moved or taken out is noticed. Devices keep the log that
they saw and compare it with the next one: what no file can prove, they notice.
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
from tacit.designs.standard_scheme.messages import encode, is_integer
from tacit.designs.standard_scheme.settings import WHO_MAY_USE_IT
from tacit.errors import ConfigError, TacitError
from tacit.privacy import Measurement
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
        "publish the table by which devices make lists of true stars",
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
    """Read a section's settings, its model and its log.

    Raises:
        ConfigError: The section names what is not served.
    """
    if section.values.get("service_sees_items") is not False:
        raise ConfigError(
            f"{TOML}: {section.name}.service_sees_items is not false. {WHO_MAY_USE_IT} Write  "
            "service_sees_items = false  where the service does not."
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
    """Find the file of the digests, by default beside the model.

    Raises:
        ConfigError: It lies outside of the folder.
    """
    if "log" not in section.values:
        return section.file_path("file").with_name(f"{section.name}.digests")
    path = (section.folder / section.text("log")).resolve()
    if not path.is_relative_to(section.folder.resolve()) or path.is_dir():
        raise ConfigError(f"{TOML}: {section.name}.log names no file in the folder.")
    return path


class DigestLog:
    """One disclosure's log. Processes and threads that share the file take turns.

    `now` is a calendar epoch in every method. Every method raises ConfigError for a file that is
    not as it was written.
    """

    def __init__(self, path: Path, epoch_length: int) -> None:
        """Name the log, whether or not its file is there.

        Args:
            path: Its file.
            epoch_length: Seconds of an epoch, for the log's life.
        """
        self._path = path
        self._first = _line({"epoch_length": epoch_length, "log": KIND})
        self._known: dict[int, str] = {}

    def entries(self) -> list[dict[str, Any]]:
        """List the entries as they are shown, the earliest first."""
        return [{"epoch": epoch, "digest": digest} for epoch, digest in self._known.items()]

    def enter_digest(self, digest: str, now: int) -> None:
        """Enter a digest as the one of epoch `now`.

        Raises:
            ConfigError: Another digest was served in this epoch.
        """
        if self._known.get(now) != digest:
            with _lock_folder(self._path.parent):
                self._add(digest, now)

    def _add(self, digest: str, now: int) -> None:
        data = self._path.read_bytes() if self._path.exists() else self._first
        digests = self._read(data)
        last = max(digests, default=now)
        if last > now:
            raise ConfigError(
                f"{self._path}: has an entry of epoch {last}, and by the clock it is epoch {now}. "
                "Set the clock of this machine."
            )
        served = digests.get(now, digest)
        if served != digest:
            raise ConfigError(
                f"{self._path}: the disclosure {served} was served in this epoch, and devices "
                f"accept one in each. Serve that one again, or wait for epoch {now + 1}."
            )
        if now not in digests:
            write_whole(self._path, data + _line({"digest": digest, "epoch": now}, data))
        self._known = {**digests, now: digest}

    def _read(self, data: bytes) -> dict[int, str]:
        if not data.startswith(self._first):
            raise ConfigError(
                f"{self._path}: is no log of this disclosure's epochs. Name another file, or fit "
                "the model with the epoch_length that the log began with."
            )
        digests: dict[int, str] = {}
        before = self._first
        for line in data[len(before) :].splitlines(keepends=True):
            try:
                content = json.loads(line)
                epoch = content["epoch"]
                digest = content["digest"]
                written = line == _line({"digest": digest, "epoch": epoch}, before)
                if not (written and is_integer(epoch, 1 + max(digests, default=-1))):
                    raise ValueError
            except (ValueError, TypeError, KeyError, RecursionError):
                raise ConfigError(
                    f"{self._path}: its history was changed. Restore it from a copy: devices "
                    "refuse a log that does not go on from the one they saw."
                ) from None
            digests[epoch] = digest
            before += line
        return digests


def _line(content: dict[str, Any], before: bytes | None = None) -> bytes:
    if before is not None:
        seal = hashlib.sha256(before + encode(content)).hexdigest()
        content = {**content, "sha256": seal}
    return encode(content) + b"\n"


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from adding to a log of this folder; make a new name in it durable."""
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
MEASURED = (
    Measurement(
        "strongest of 8 attackers (boosting-meta, three refits, trained on released data)",
        *("panel", "scheme+selection+rounding", 0.6591, 0.5936, 0.7247, _DATA, 600, 180),
    ),
    Measurement(
        "strongest attacker",
        *("permuted labels", "scheme+selection+rounding", 0.5602, 0.5, 0.6232, _DATA, 600, 180),
    ),
    Measurement("logistic-svd", "raw", "none", 0.817, 0.7819, 0.8521, _DATA),
)
"""Measured on the demonstration's model: half a minute, so a long test measures it again."""


def make_demo(folder: Path) -> str:
    """Write the model of a disclosure that hides the generated people's gender.

    No real people are concerned: the item table is published, so devices make lists at once.
    """
    from tacit.service.demo_data import population

    model = StandardScheme(attributes=("gender",), service_sees_items=False, item_table=True)
    model.fit(population())
    model.add_measurements(MEASURED)
    model.save(folder / "gender.tacit")
    return """[disclosures.gender]
file = "gender.tacit"
service_sees_items = false  # nobody but the device learns what a person rated
item_table = true           # devices make lists at once; the first letter is due after 30 minutes
"""
