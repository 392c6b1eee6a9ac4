"""Run the benchmark of every hot path, and show its ratio to a peer: `make bench`.

    python tools/bench.py                  at small shapes, about a quarter of an hour
    python tools/bench.py --full           at full shapes; writes records and the pages of results
    python tools/bench.py bench-ridge ...  only the named ones

A benchmark is a record of docs/results/definitions that has a command at a small shape
(`tools/results.py`). It measures tacit and a peer alternately in one run, and ends with an error if
their answers differ. At full shapes a ratio below its claim is an error too. At small shapes the
ratio is only shown, because the claim is about the full shape.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from results import (
    PAGE_BREAK,
    RecordDefinition,
    ResultsError,
    below_claims,
    measure,
    read_definitions,
    read_pages,
    render_page,
    run_line,
    write_record,
)

from tacit.evaluation.quantities import find_quantities


def main() -> int:
    """Run the benchmarks; the exit code is 1 if one fails."""
    parser = argparse.ArgumentParser(description="Benchmarks of all hot paths.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="some records; all by default")
    parser.add_argument("--full", action="store_true", help="at full shapes, and keep the records")
    options = parser.parse_args()
    definitions = read_definitions()
    try:
        chosen = [definitions.record(name) for name in options.names]
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 1
    if not chosen:
        chosen = [definition for definition in definitions.records.values() if definition.small]
    failed = []
    for definition in chosen:
        problems = run_benchmark(definition, full=options.full)
        for problem in problems:
            print(f"{definition.name}: {problem}", file=sys.stderr)
        if problems:
            failed.append(definition.name)
    if options.full:
        pages = read_pages()
        rendered = render_page(PAGE_BREAK.join(pages.values()), definitions)
        for file, text in zip(pages, rendered.split(PAGE_BREAK), strict=True):
            file.write_text(text, encoding="utf-8")
    print(f"{len(chosen) - len(failed)} of {len(chosen)} benchmarks passed.")
    return 1 if failed else 0


def run_benchmark(definition: RecordDefinition, *, full: bool) -> list[str]:
    """Run one benchmark and print its figures.

    Args:
        definition: Its record.
        full: Whether to run it at its full shape, and to write its record.

    Returns:
        Sentences on what is wrong: the command failed, or a figure at the full shape is below its
        claim.
    """
    started_at = time.monotonic()
    problems = []
    try:
        if full:
            record = measure(definition)
            write_record(record)
            problems = below_claims(definition, record)
            printed = record["values"]
        else:
            with tempfile.TemporaryDirectory() as folder:
                printed = json.loads(run_line(definition.small, Path(folder)))
    except ResultsError as error:
        return [str(error)]
    print(f"{definition.name} ({time.monotonic() - started_at:.0f} s)")
    for line in describe_figures(definition, printed):
        print(f"  {line}")
    sys.stdout.flush()
    return problems


def describe_figures(definition: RecordDefinition, printed: Any) -> list[str]:
    """Describe each figure for which a benchmark has a claim, with the claim.

    Args:
        definition: The benchmark's record.
        printed: The JSON that its command printed.
    """
    lines = []
    for path, least in definition.at_least.items():
        for place, value in find_quantities(printed, path).items():
            lines.append(f"{place} {value:g} (claimed at the full shape: {least:g})")
    return lines


if __name__ == "__main__":
    sys.exit(main())
