"""Records of measured results: a command measures them, tables show them, a second run checks them.

    python tools/results.py measure NAME...     run a record's command, write its record
    python tools/results.py remeasure NAME...   run it again and say whether the record still holds
    python tools/results.py page                write the tables of the pages from the records
    python tools/results.py check               say where pages, definitions and records disagree
    python tools/results.py list                list the records, each with its processor time

The pages are docs/results.md and docs/results/*.md. Definitions are TOML, in a file for each
design: docs/results/definitions/DESIGN.toml. Records are
JSON, docs/results/records/NAME.json. CONTRIBUTING.md shows how one is added.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tracked import ROOT

from tacit.evaluation.quantities import Place, find_quantities, locate_quantities

FOLDER = ROOT / "docs" / "results"
FIRST_PAGE = ROOT / "docs" / "results.md"
PAGE_BREAK = "\f"
"""Separates the pages of the results when they are joined to one text."""
PACKAGES = {"tacit": "tacit-rec", "NumPy": "numpy", "SciPy": "scipy"}
"""Packages whose versions a record has: their names on the page, and those of the installed ones.
"""
FAST_SECONDS = 10.0
"""Most seconds of processor that the commands of a fast record took."""
TOLERANCE = 1e-6
"""Largest relative difference between equal numbers, which two machines may compute differently."""
_BLOCK = re.compile(r"<!-- table (?P<name>\S+) -->\n(?P<body>.*?)<!-- end -->\n", re.DOTALL)
_TYPED_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_TYPED_MARK = re.compile(r"\n\*No record: \S.*\b\d{4}-\d{2}-\d{2}\b.*\.\*\n")
"""The line below a table without a record: the command that printed it, and the date."""
_PLACEHOLDER = re.compile(
    r"\{(?:(?P<record>[^{}:|]+): )?(?P<path>[^{}|?]*)(?P<optional>\?)?(?:\|(?P<format>[^{}]*))?\}"
)


class ResultsError(Exception):
    """A definition, record or page that is wrong, in a sentence."""


@dataclass(frozen=True)
class RecordDefinition:
    """How a record is measured: a table `[records.NAME]` of a file of definitions."""

    name: str
    command: str
    """The line that a reader types. It prints one JSON object. FOLDER: where MovieLens lies."""
    data: str
    """Description of the data, such as "MovieLens 100K"."""
    keep: tuple[str, ...]
    """Paths of the quantities that the record keeps (`tacit.evaluation.quantities`)."""
    prepare: tuple[str, ...] = ()
    """Lines that are run before the command, in the same folder, such as those that make two.csv.
    """
    intervals: tuple[tuple[str, str, str], ...] = ()
    """For a command whose output varies: paths of a value and of the ends of its interval. A second
    measurement of the value must lie in the recorded interval. Empty for a command that prints the
    same each time."""
    at_least: Mapping[str, float] = field(default_factory=dict)
    """For figures that no second run repeats, such as a speed: paths, and the least value that
    confirms the claim. Nothing else of such a record is compared."""
    small: str = ""
    """For a benchmark: the command at a small shape, which `make bench` runs; "" for others."""
    costs: tuple[str, ...] = ()
    """Those paths of `keep` that are costs of a run, such as its seconds. They differ each time and
    are not compared."""

    def __post_init__(self) -> None:
        if not (self.command and self.data and self.keep):
            raise ResultsError(f"records.{self.name}: give command, data and keep.")

    @property
    def lines(self) -> tuple[str, ...]:
        """All lines, in the order in which they are run."""
        return (*self.prepare, self.command)

    @property
    def needs_real_data(self) -> bool:
        """Whether any line reads MovieLens."""
        return any("FOLDER" in line for line in self.lines)


@dataclass(frozen=True)
class RowDefinition:
    """One row of a table, or several: for each entry of a list, or for each word of `over`."""

    cells: tuple[str, ...]
    """Texts with placeholders `{PATH|FORMAT}` or `{RECORD: PATH|FORMAT}`."""
    each: str = ""
    """`RECORD: PATH` of entries, each of which gives a row; in its cells, placeholders without a
    record begin at the entry. "" for a single row."""
    over: tuple[str, ...] = ()
    """Words, each of which gives a row in which it replaces `@` in the cells and in `each`."""

    @property
    def variants(self) -> list[RowDefinition]:
        """The row for each word of `over`; the row itself if `over` is empty."""
        return [self._with_word(word) for word in self.over] or [self]

    def _with_word(self, word: str) -> RowDefinition:
        """Return the row in which a word replaces `@`."""
        cells = [cell.replace("@", word) for cell in self.cells]
        return RowDefinition(tuple(cells), self.each.replace("@", word))


@dataclass(frozen=True)
class TableDefinition:
    """A table of the page: a table `[tables.NAME]` of a file of definitions."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[RowDefinition, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    """Texts that replace values and whole cells on the page, such as `p-dap = "P-DAP"`."""
    commands: bool = True
    """Whether the commands stand above the table; False if the table before it has the same."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ResultsError(
                    f"tables.{self.name}: a row has {len(row.cells)} cells for "
                    f"{len(self.columns)} columns."
                )

    @property
    def records(self) -> list[str]:
        """Names of the records that the table shows, in the order in which they are named."""
        named = []
        for row in self.all_rows:
            if row.each:
                named.append(row.each.partition(": ")[0])
            for cell in row.cells:
                named += [match["record"] for match in _PLACEHOLDER.finditer(cell)]
        return list(dict.fromkeys(name for name in named if name))

    @property
    def all_rows(self) -> list[RowDefinition]:
        """All rows, after the words of `over` replaced `@`."""
        return [variant for row in self.rows for variant in row.variants]


@dataclass(frozen=True)
class Definitions:
    """All records and tables, by name."""

    records: Mapping[str, RecordDefinition]
    tables: Mapping[str, TableDefinition]

    def record(self, name: str) -> RecordDefinition:
        """Look up a record.

        Raises:
            ResultsError: No file defines it.
        """
        if name not in self.records:
            known = ", ".join(sorted(self.records))
            raise ResultsError(f"No definition of a record '{name}'. Known: {known}.")
        return self.records[name]


def read_definitions(folder: Path = FOLDER) -> Definitions:
    """Read every file of definitions.

    Raises:
        ResultsError: A name is defined twice, or a definition has an unknown key.
    """
    records: dict[str, RecordDefinition] = {}
    tables: dict[str, TableDefinition] = {}
    for file in sorted((folder / "definitions").glob("*.toml")):
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        for name, settings in content.pop("records", {}).items():
            _refuse_repeated(name, records, file)
            records[name] = _read_record(name, settings)
        for name, settings in content.pop("tables", {}).items():
            _refuse_repeated(name, tables, file)
            tables[name] = _read_table(name, settings)
        if content:
            raise ResultsError(f"{file.name}: only [records.NAME] and [tables.NAME] are read.")
    return Definitions(records, tables)


def _refuse_repeated(name: str, defined: Mapping[str, object], file: Path) -> None:
    """Raise ResultsError if a name of a file was defined before."""
    if name in defined:
        raise ResultsError(f"{file.name}: '{name}' is defined twice.")


def _read_record(name: str, settings: dict[str, Any]) -> RecordDefinition:
    """Make the definition of a record from its table of TOML, whose keys are taken out."""
    triples = [tuple(triple) for triple in settings.pop("intervals", ())]
    names = ("keep", "prepare", "costs")
    lists: dict[str, Any] = {key: tuple(settings.pop(key, ())) for key in names}
    try:
        return RecordDefinition(name, intervals=tuple(triples), **lists, **settings)
    except TypeError as error:
        raise ResultsError(f"records.{name}: {error}.") from None


def _read_table(name: str, settings: dict[str, Any]) -> TableDefinition:
    """Make the definition of a table from its table of TOML, whose keys are taken out."""
    rows = []
    for row in settings.pop("rows", ()):
        lists: dict[str, Any] = {key: tuple(row.pop(key, ())) for key in ("cells", "over")}
        rows.append(RowDefinition(**lists, **row))
    columns = tuple(settings.pop("columns", ()))
    try:
        return TableDefinition(name, columns, tuple(rows), **settings)
    except TypeError as error:
        raise ResultsError(f"tables.{name}: {error}.") from None


def measure(definition: RecordDefinition) -> dict[str, Any]:
    """Run a record's lines in an empty folder, and return a new record of the named quantities.

    Raises:
        ResultsError: A line fails, or the command prints no JSON or lacks a quantity.
    """
    started = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        for line in definition.lines:
            printed = run_line(line, Path(folder))
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime
    try:
        document = json.loads(printed)
    except ValueError:
        raise ResultsError(f"{definition.command}: prints no JSON: {printed[:80]!r}") from None
    record = {
        "name": definition.name,
        "command": definition.command,
        "prepare": list(definition.prepare),
        "data": definition.data,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": _versions(),
        "cpu_seconds": round(seconds, 1),
        "values": keep_quantities(document, definition.keep),
    }
    if definition.at_least:
        record["processor"] = _processor()
    return record


def run_line(line: str, folder: Path) -> str:
    """Run a line of a definition in a folder, with this checkout's programs.

    Returns:
        Its standard output.

    Raises:
        ResultsError: It fails, or begins with another program than tacit or python.
    """
    words = shlex.split(line)
    starts = {
        "tacit": ["-c", "import sys; from tacit.cli.app import main; sys.exit(main())"],
        "python": [],
    }
    if words[0] not in starts:
        raise ResultsError(f"{line}: begins with neither 'tacit' nor 'python'.")
    data = os.environ.get("TACIT_DATA", "")
    if "FOLDER" in line and not data:
        raise ResultsError(f"{line}: set TACIT_DATA to the folder that holds ml-100k.")
    arguments = [_written_for_folder(word, data) for word in words[1:]]
    command = [sys.executable, *starts[words[0]], *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    environment["PYTHONPATH"] = str(ROOT / "src")
    finished = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise ResultsError(f"{line}: exit code {finished.returncode}: {finished.stderr[-400:]}")
    return finished.stdout


def _written_for_folder(word: str, data: str) -> str:
    """Return a word of a line, with full paths for FOLDER and for programs of this repository."""
    if word.endswith(".py") and (ROOT / word).is_file():
        return str(ROOT / word)
    return word.replace("FOLDER", data)


def _versions() -> dict[str, str]:
    """Return the versions of Python and of `PACKAGES`, by their names on the page."""
    versions = {"Python": ".".join(map(str, sys.version_info[:3]))}
    return versions | {name: version(package) for name, package in PACKAGES.items()}


def _processor() -> str:
    """Return the name of this machine's processor; on Linux it is the model."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def keep_quantities(document: Any, paths: Iterable[str]) -> Any:
    """Return the part of a document that paths name; lists have no gaps for missing entries.

    Raises:
        ResultsError: A path names nothing.
    """
    kept: dict[Place, Any] = {}
    for path in paths:
        found = locate_quantities(document, path)
        if not found:
            raise ResultsError(f"The command prints no {path}.")
        kept |= found
    return _build(kept)


def _build(places: Mapping[Place, Any]) -> Any:
    """Build a document from values by their places, which are sequences of keys and indices."""
    if () in places:
        return places[()]
    branches: dict[str | int, dict[Place, Any]] = {}
    for place, value in places.items():
        branches.setdefault(place[0], {})[place[1:]] = value
    if all(isinstance(step, int) for step in branches):
        return [_build(branches[number]) for number in sorted(branches)]
    return {key: _build(branch) for key, branch in branches.items()}


def record_file(name: str, folder: Path = FOLDER) -> Path:
    """Return the path of a record's file."""
    return folder / "records" / f"{name}.json"


def read_record(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Read a record.

    Raises:
        ResultsError: There is no such file: the record was never measured.
    """
    file = record_file(name, folder)
    if not file.exists():
        raise ResultsError(f"No record '{name}'. Run: python tools/results.py measure {name}")
    record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return record


def write_record(record: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """Write a record to its file."""
    file = record_file(record["name"], folder)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def is_fast(record: Mapping[str, Any]) -> bool:
    """Say whether a record is so fast that the usual tests measure it again."""
    return float(record["cpu_seconds"]) <= FAST_SECONDS


def differences(
    definition: RecordDefinition, record: Mapping[str, Any], again: Mapping[str, Any]
) -> list[str]:
    """List the quantities in which a second measurement refutes a record.

    If the definition gives least values, only these are compared. If it gives intervals, each value
    must lie in its recorded interval, and nothing else is compared. Otherwise all kept values but
    costs must be equal, up to rounding.

    Args:
        definition: The record's definition.
        record: The record.
        again: The second measurement.

    Returns:
        A sentence for each difference.
    """
    if definition.at_least:
        return below_claims(definition, again)
    if not definition.intervals:
        compared = [path for path in definition.keep if path not in definition.costs]
        first = keep_quantities(record["values"], compared)
        return list(_unequal(first, keep_quantities(again["values"], compared), ""))
    problems = []
    for value_path, low_path, high_path in definition.intervals:
        values = find_quantities(again["values"], value_path)
        lows = find_quantities(record["values"], low_path)
        highs = find_quantities(record["values"], high_path)
        if not values or not len(values) == len(lows) == len(highs):
            problems.append(f"{value_path}: {len(values)} values, {len(lows)} recorded intervals")
            continue
        for (path, value), low, high in zip(
            values.items(), lows.values(), highs.values(), strict=True
        ):
            if not low <= value <= high:
                problems.append(f"{path}: {value} lies outside of {low} to {high}")
    return problems


def below_claims(definition: RecordDefinition, record: Mapping[str, Any]) -> list[str]:
    """List the figures of a record that lie below the least values that its definition claims."""
    problems = []
    for path, least in definition.at_least.items():
        for place, value in find_quantities(record["values"], path).items():
            if value < least:
                problems.append(f"{place}: {value} is below {least}")
    return problems


def _unequal(first: Any, second: Any, path: str) -> Iterator[str]:
    """Yield a sentence for each difference between two documents; `path` leads to both of them."""
    if isinstance(first, Mapping) and isinstance(second, Mapping) and first.keys() == second.keys():
        for key in first:
            yield from _unequal(first[key], second[key], f"{path}.{key}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from _unequal(one, other, f"{path}[{number}]")
    elif not _is_equal(first, second):
        yield f"{path.removeprefix('.')}: {first} was recorded, now {second}"


def _is_equal(first: Any, second: Any) -> bool:
    """Say whether two values are equal, up to rounding if the first is a float."""
    if isinstance(first, float) and isinstance(second, int | float):
        return math.isclose(first, second, rel_tol=TOLERANCE, abs_tol=1e-12)
    return bool(first == second)


def render_table(table: TableDefinition, folder: Path = FOLDER) -> str:
    """Write the block of a table: its commands, the table, and a line on how it was measured.

    Raises:
        ResultsError: A record is missing, or a placeholder names no quantity or several.
    """
    records = {name: read_record(name, folder) for name in table.records}
    lines = []
    if table.commands:
        lines += ["```console", *_commands(records.values()), "```", ""]
    lines.append(f"| {' | '.join(table.columns)} |")
    lines.append("|" + "---|" * len(table.columns))
    for row in table.all_rows:
        for cells in _rendered_rows(row, table, records):
            lines.append(f"| {' | '.join(cells)} |")
    lines += ["", _provenance(list(records.values()))]
    return "\n".join(lines) + "\n"


def _commands(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """List the lines that measured some records, each once."""
    lines = []
    for record in records:
        lines += [*record["prepare"], record["command"]]
    return list(dict.fromkeys(lines))


def _rendered_rows(
    row: RowDefinition, table: TableDefinition, records: Mapping[str, Any]
) -> Iterator[list[str]]:
    """Yield the cells of the rows that one definition gives.

    Raises:
        ResultsError: Its `each` names no entry, or a placeholder names no quantity or several.
    """
    entries: list[Any] = [None]
    if row.each:
        name, _, path = row.each.partition(": ")
        entries = list(find_quantities(records[name]["values"], path).values())
        if not entries:
            raise ResultsError(f"tables.{table.name}: {row.each} names nothing.")
    for entry in entries:
        yield [_rendered_cell(cell, entry, table, records) for cell in row.cells]


def _rendered_cell(
    cell: str, entry: Any, table: TableDefinition, records: Mapping[str, Any]
) -> str:
    """Return a cell with values in place of its placeholders; `entry` is the row's, or None."""

    def replace(match: re.Match[str]) -> str:
        """Return the text of one placeholder's value; "" if an optional one has none."""
        document = records[match["record"]]["values"] if match["record"] else entry
        found = list(find_quantities(document, match["path"]).values())
        if not found and match["optional"]:
            return ""
        if len(found) != 1:
            raise ResultsError(f"tables.{table.name}: {match[0]} names {len(found)} quantities.")
        return written(found[0], match["format"] or "", table.names)

    return table.names.get(cell) or _PLACEHOLDER.sub(replace, cell)


def written(value: Any, form: str, names: Mapping[str, str]) -> str:
    """Return the text of a value on the page.

    Args:
        value: A number, a text, True, False or None.
        form: Python's format of numbers; the minus sign is then replaced by the typographic one.
        names: Texts that replace values that are texts.
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return names.get(value, value)
    if not isinstance(value, int | float):
        raise ResultsError(f"A cell shows a number or a text, not {type(value).__name__}.")
    text = format(value, form)
    return f"−{text[1:]}" if text.startswith("-") else text


def _provenance(records: list[Mapping[str, Any]]) -> str:
    """Write the line on how records were measured: data, dates, processors, versions and costs."""
    data = "; ".join(dict.fromkeys(record["data"] for record in records))
    dates = sorted({record["date"] for record in records})
    versions: dict[str, str] = {}
    for record in records:
        versions |= record["versions"]
    tools = []
    for name, number in versions.items():
        shown = number if name == "tacit" else ".".join(number.split(".")[:2])
        tools.append(f"{name} {shown}")
    seconds = sum(record["cpu_seconds"] for record in records)
    when = " and ".join(dates)
    processors = {record["processor"] for record in records if "processor" in record}
    where = f" on {' and '.join(sorted(processors))}" if processors else ""
    used = f"{seconds:,.0f} s of processor"
    return f"*{data}. Measured {when}{where} with {', '.join(tools)}; {used}.*"


def read_pages() -> dict[Path, str]:
    """Read the first page of the results and the page of each subject."""
    files = [FIRST_PAGE, *sorted(FOLDER.glob("*.md"))]
    return {file: file.read_text(encoding="utf-8") for file in files}


def render_page(text: str, definitions: Definitions, folder: Path = FOLDER) -> str:
    """Return a page in which each table between marks is written from the records.

    Raises:
        ResultsError: A mark names no table, or a table has no mark or several.
    """
    marked = [match["name"] for match in _BLOCK.finditer(text)]
    if text.count("<!-- table ") != len(marked):
        raise ResultsError("A mark '<!-- table NAME -->' has no '<!-- end -->' after it.")
    for name in marked:
        if name not in definitions.tables:
            raise ResultsError(f"The page marks a table '{name}' that no definition has.")
    for name in definitions.tables:
        if marked.count(name) != 1:
            raise ResultsError(f"The page marks the table '{name}' {marked.count(name)} times.")

    def replace(match: re.Match[str]) -> str:
        """Return the new block between two marks, and the marks."""
        block = render_table(definitions.tables[match["name"]], folder)
        return f"<!-- table {match['name']} -->\n{block}<!-- end -->\n"

    return _BLOCK.sub(replace, text)


def unmarked_tables(text: str) -> list[str]:
    """Return the headings of typed tables that do not state their command and its date."""
    typed = _BLOCK.sub("", text)
    tables = _TYPED_TABLE.finditer(typed)
    unmarked = [table[0] for table in tables if not _TYPED_MARK.match(typed, table.end())]
    return [table.partition("\n")[0] for table in unmarked]


def check(text: str, definitions: Definitions, folder: Path = FOLDER) -> list[str]:
    """List the disagreements between pages, definitions and records, as sentences."""
    problems = []
    for name, definition in definitions.records.items():
        try:
            record = read_record(name, folder)
        except ResultsError as error:
            problems.append(str(error))
            continue
        lines = (*record["prepare"], record["command"])
        if lines != definition.lines or record["data"] != definition.data:
            problems.append(f"{name}: the definition changed after the record was measured.")
    files = {file.stem for file in (folder / "records").glob("*.json")}
    undefined = sorted(files - set(definitions.records))
    problems += [f"{name}: a record without definition" for name in undefined]
    shown = {name for table in definitions.tables.values() for name in table.records}
    problems += [f"{name}: no table shows it" for name in definitions.records if name not in shown]
    for head in unmarked_tables(text):
        problems.append(
            f"Typed without '*No record: COMMAND, DATE.*' below it (better: a record): {head}"
        )
    try:
        if not problems and render_page(text, definitions, folder) != text:
            problems.append("The page is out of date. Run: python tools/results.py page")
    except ResultsError as error:
        problems.append(str(error))
    return problems


def main() -> int:
    """Run one action; the exit code is 1 if a record does not hold or a page is out of date."""
    parser = argparse.ArgumentParser(description="Records of the results.")
    parser.add_argument("action", choices=("measure", "remeasure", "page", "check", "list"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    try:
        return _run_action(options.action, options.names)
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 1


def _run_action(action: str, names: list[str]) -> int:
    """Run one action on the named records, and return the exit code."""
    definitions = read_definitions()
    if action == "measure":
        for name in names:
            write_record(measure(definitions.record(name)))
            print(f"{record_file(name).relative_to(ROOT)}: {read_record(name)['cpu_seconds']} s")
    elif action == "remeasure":
        refuted = [name for name in names if _remeasure(definitions.record(name))]
        return 1 if refuted else 0
    elif action == "list":
        for name in definitions.records:
            print(f"{name}: {read_record(name)['cpu_seconds']} s")
    elif action == "page":
        pages = read_pages()
        rendered = render_page(PAGE_BREAK.join(pages.values()), definitions)
        for file, text in zip(pages, rendered.split(PAGE_BREAK), strict=True):
            file.write_text(text, encoding="utf-8")
    else:
        problems = check(PAGE_BREAK.join(read_pages().values()), definitions)
        print("\n".join(problems) or f"{len(definitions.records)} records agree with the pages.")
        return 1 if problems else 0
    return 0


def _remeasure(definition: RecordDefinition) -> list[str]:
    """Measure a record again; print and return the differences."""
    problems = differences(definition, read_record(definition.name), measure(definition))
    print(f"{definition.name}: {'; '.join(problems) or 'holds'}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
