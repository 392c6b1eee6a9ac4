"""`tacit refit FOLDER RATINGS`: makes the next fit of a service's folder.

`write_units` writes the timers that run it, for `tacit init`.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from tacit import terminal
from tacit.atomic_writes import write_whole
from tacit.cli.commands import command
from tacit.cli.source import RatingsOptions
from tacit.errors import ConfigError
from tacit.evaluation import Result
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.designs.private.folder_fits import FolderFit, RefitSettings

app = typer.Typer(help="Fit a service's folder again, under its lifetime.")
UNITS = "systemd"
"""Folder of the systemd units that  tacit init  writes."""
_CALENDAR = {"day": "daily", "week": "weekly", "month": "monthly"}
"""The times of fits for systemd, by how often a fit is due."""
_CRON = {"day": "17 3 * * *", "week": "17 3 * * 1", "month": "17 3 1 * *"}
"""The times of fits for cron, by how often a fit is due: at 3:17 at night, on every day, on every
Monday, or on the first day of every month."""
_LINE_BREAK = re.compile(r"[\r\n]")
"""A character at which systemd or cron ends a line."""
_NOT_UTF_8 = re.compile(r"[\ud800-\udfff]")
"""What stands in a path's text for a byte that is not UTF-8."""


@command(app)
def refit(
    folder: Annotated[Path, typer.Argument(help="The service's folder, with its refit.toml.")],
    data: Annotated[Path, typer.Argument(help="All ratings until now.", metavar="RATINGS")],
    as_json: JSON = False,
) -> Result:
    """Make the folder's first fit or the next one, with the folder's settings.

    The fit is charged to the folder's lifetime before noise is drawn. If released values show that
    the new model is worse than the served one, the served one stays. Otherwise a running service
    serves the new file within seconds.
    """
    from tacit.designs.private.folder_fits import RefitSettings, fit_next
    from tacit.service.deployment import read_tenant

    settings = RefitSettings.read(folder)
    ratings = _read_ratings(settings, data)
    with terminal.progress("Fitting", None, quiet=as_json):
        fit = fit_next(folder, settings, read_tenant(folder), ratings)
    return Result(_describe_fit(folder, settings, fit), _write_sentences(settings, fit))


def _read_ratings(settings: RefitSettings, data: Path) -> Ratings:
    """Read the ratings with the options that the folder's settings have in [rows].

    Args:
        settings: The folder's settings.
        data: File or folder of the ratings.

    Raises:
        ConfigError: An option in [rows] is unknown, has the wrong type, or has a value that is not
            allowed.
        DataError: A row cannot be read.
    """
    options: dict[str, Any] = {}
    for option_field in fields(RatingsOptions):
        has_default = option_field.default is not MISSING
        options[option_field.name] = option_field.default if has_default else None
    types = get_type_hints(RatingsOptions)
    for name, value in settings.rows.items():
        options[name] = _read_row_setting(name, value, types)
    options["path"] = data
    source = RatingsOptions(**options)
    catalogue = None if settings.catalogue is None else Path(settings.catalogue)
    return source.read(catalogue=catalogue, domains=False)


def _read_row_setting(name: str, value: Any, types: Mapping[str, Any]) -> Any:
    """Check one value in [rows], and return it as a value of an option of `RatingsOptions`.

    Args:
        name: Name of the option.
        value: Value of the option in the file.
        types: Types of the options, by name.

    Raises:
        ConfigError: No option has this name, or the value has the wrong type.
    """
    from tacit.designs.private.folder_fits import REFIT_FILE

    if name not in types or name == "path":
        raise ConfigError(f"{REFIT_FILE}: [rows] has no setting '{name}'.")
    allowed_types = get_args(types[name]) or (types[name],)
    if Path in allowed_types and isinstance(value, str):
        return Path(value)
    is_list_of_texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
    is_whole_number = isinstance(value, int) and not isinstance(value, bool)
    if type(value) in allowed_types:
        return value
    if is_list_of_texts and list[str] in allowed_types:
        return value
    if is_whole_number and float in allowed_types:
        return value
    raise ConfigError(f"{REFIT_FILE}: [rows] {name} = {value!r} has the wrong type.")


def _describe_fit(folder: Path, settings: RefitSettings, fit: FolderFit) -> dict[str, Any]:
    """Describe a fit in the values that --json prints.

    Args:
        folder: The service's folder.
        settings: The folder's settings.
        fit: The fit.
    """
    released = fit.model.released_
    return {
        "folder": folder,
        "model": folder / settings.model,
        "replaced": fit.replaced,
        "reason": fit.reason,
        "digest": fit.digest,
        "previous_digest": fit.previous_digest,
        "mode": released.mode,
        "lists": released.serves_personal_lists,
        "effective_population": released.usefulness.effective_population,
        "budget_status": asdict(fit.model.budget_status_),
        "delta": settings.delta,
    }


def _write_sentences(settings: RefitSettings, fit: FolderFit) -> list[str]:
    """Return sentences about a fit: what is spent and left, and whether its model is served."""
    from tacit.designs.private.folder_fits import NEWEST
    from tacit.privacy import format_upper_bound

    status = fit.model.budget_status_
    served = "It is served from now on." if fit.replaced else f"It is NOT served: {fit.reason}."
    spent = f"epsilon {format_upper_bound(status.total, digits=4)}"
    if status.lifetime is not None:
        spent += f" of {status.lifetime:g} allowed"
    spent += f" is spent in total, at delta {settings.delta:g}"
    if status.lifetime is not None:
        spent += f"; {status.further} fits left"
    lines = [f"Fit {status.fits} of this folder: {spent}. {served}", fit.model.summary()]
    if status.repeated:
        lines.insert(
            1,
            "An earlier run charged this fit, but stopped before it wrote the model's file. The "
            "file is written now, from that run's ratings. The next  tacit refit  reads today's.",
        )
    if not fit.replaced:
        lines.append(
            f"The card of {settings.model} does not count this fit. The card of {NEWEST} counts "
            "all fits."
        )
    return lines


def refuse_unwritable_paths(*paths: Path) -> None:
    """Refuse paths that neither a systemd unit nor a crontab can name.

    Raises:
        ConfigError: A path has a line break, or bytes that are not UTF-8.
    """
    for path in paths:
        found = None
        if _LINE_BREAK.search(str(path)):
            found = "a line break"
        elif _NOT_UTF_8.search(str(path)):
            found = "bytes that are not UTF-8"
        if found is not None:
            raise ConfigError(
                f"The path {str(path)!a} has {found}, so neither a systemd unit nor a crontab "
                "can name it. Rename the file or folder."
            )


def write_units(folder: Path, name: str, every: str, data: Path, *, service_folder: Path) -> None:
    """Write systemd units of a service and of its refits with their timer, and a line for cron.

    Args:
        folder: The service's folder while it is being written; units go to its subfolder UNITS.
        name: Name of the units.
        every: How often a fit is due: "day", "week" or "month".
        data: The file of ratings that each fit reads.
        service_folder: The path that the service's folder will have, which the units name.

    Raises:
        ConfigError: A path has a line break, or bytes that are not UTF-8.
    """
    found_program = shutil.which("tacit")
    # A unit and a crontab are read in other folders, so a relative path would name nothing.
    program = "tacit" if found_program is None else str(Path(found_program).absolute())
    refuse_unwritable_paths(Path(program), data, service_folder)
    serve = _join_for_systemd(program, "serve", str(service_folder))
    refit_line = _join_for_systemd(program, "refit", str(service_folder), str(data))
    cron_command = _join_for_cron(program, "refit", str(service_folder), str(data))
    units = folder / UNITS
    units.mkdir()
    content_by_file = {
        f"{name}.service": (
            f"[Unit]\nDescription=tacit: {name}\nAfter=network-online.target\n\n"
            f"[Service]\nExecStart={serve}\nUMask=0077\nRestart=on-failure\nKillMode=mixed\n"
            "NoNewPrivileges=yes\nPrivateTmp=yes\n\n[Install]\nWantedBy=multi-user.target\n"
        ),
        f"{name}-refit.service": (
            f"[Unit]\nDescription=tacit: the next fit of {name}\n\n"
            f"[Service]\nType=oneshot\nExecStart={refit_line}\nUMask=0077\nNice=10\n"
        ),
        f"{name}-refit.timer": (
            f"[Unit]\nDescription=tacit: a fit of {name} every {every}\n\n"
            f"[Timer]\nOnCalendar={_CALENDAR[every]}\nPersistent=true\n\n"
            "[Install]\nWantedBy=timers.target\n"
        ),
        "crontab": f"{_CRON[every]} {cron_command}\n",
    }
    for file, content in content_by_file.items():
        write_whole(units / file, content.encode())


def _join_for_systemd(program: str, *words: str) -> str:
    """Join a program and its words to a command line that systemd reads as just these.

    systemd replaces % and, except in the program's path, $; each is doubled. A word that a shell
    would not read as itself is quoted.
    """
    escaped_words = [program, *(word.replace("$", "$$") for word in words)]
    quoted_words = []
    for word in escaped_words:
        quoted = word.replace("%", "%%")
        if shlex.quote(word) != word:
            quoted = quoted.replace("\\", "\\\\").replace('"', '\\"')
            quoted = f'"{quoted}"'
        quoted_words.append(quoted)
    return " ".join(quoted_words)


def _join_for_cron(*words: str) -> str:
    """Join words to a command of a crontab that cron and its shell read as just these words."""
    return " ".join(_quote_for_cron(word) for word in words)


def _quote_for_cron(word: str) -> str:
    r"""Quote a word for a crontab.

    Before the shell sees the command, cron ends it at a bare %, and reads \% as % and \\ as \, also
    within the shell's quotes. So each % is written as \% outside of quotes, which the shell also
    reads as % if a cron keeps the backslash. Each backslash gets quotes of its own, so that neither
    a % nor another backslash follows it.
    """
    quoted = ""
    for part in re.findall(r"%|\\|[^%\\]+", word):
        quoted += r"\%" if part == "%" else shlex.quote(part)
    return quoted or "''"
