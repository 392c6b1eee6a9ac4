"""Freeze what commands, the service and the files of models and ledgers look like.

`python -m golden.outputs` runs every command of COMMANDS with --json on made-up data and
writes `golden/outputs.json`: the shape of each answer, and the numbers too where no secure noise is
in them. Sentences count as text: they may become plainer. `golden/openapi.json` is the interface of
the demo service in the same form. `--files` also writes `golden/files/`: a model of each kind and
a ledger, which later versions have to open.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

OUTPUTS = Path(__file__).parent / "outputs.json"
INTERFACE = Path(__file__).parent / "openapi.json"
FILES = Path(__file__).parent / "files"
LEDGER = ("budgets.db", "budgets.db.head")

DOMAINS = "--domain-column kind --source source --target target"
METHODS = "--method popularity --method item-average"
PEOPLE = "{folder}/made.csv --users {folder}/made-users.csv"
CROWD = "{folder}/crowd.csv --users {folder}/crowd-users.csv"
SCHEME = "--service-sees-items no --no-measure --workers 1"
PURE = ("bit-release", "kary-response", "laplace", "selection")
APPROXIMATE = ("gaussian", "gram", "sums")

# The answers of these hold numbers that depend on arguments and seeds alone.
EXACT = {
    "guarantees": [
        "guarantee standard-scheme",
        "guarantee standard-scheme --variant published",
        "guarantee xmap --epsilon 1 --delta 1e-6",
        "guarantee sketches --epsilon 1",
        "guarantee sketches --epsilon 2 --method pairwise-preference --rated 20",
        "guarantee prec --epsilon 1 --delta 1e-6 --voters 500 --rounds 100",
        "guarantee prec --variant published --peers 60 --voters 500 --rounds 100",
        "guarantee pdap --epsilon 1",
        "guarantee pdap --epsilon 1 --variant published",
        *(f"guarantee {name} --epsilon 1" for name in PURE),
        *(f"guarantee {name} --epsilon 1 --delta 1e-6" for name in APPROXIMATE),
    ],
    "plans": [
        "plan sketches --items 60 --rated 20 --epsilon 1",
        "plan prec --objects 2 --rounds 100 --peers 60 --voters 500",
    ],
    "data": [
        "data generate {folder}/made.csv --seed 1 --users 60 --items 40 --ratings 900",
        "data describe {folder}/made.csv --users {folder}/made-users.csv",
    ],
    "baselines": [
        "fit popularity {folder}/made.csv -o {folder}/popularity.tacit",
        "fit item-mean {folder}/made.csv -o {folder}/item-mean.tacit",
        "fit matrix-factorization {folder}/made.csv -o {folder}/factors.tacit",
        "fit user-average {folder}/made.csv -o {folder}/user-average.tacit",
        "fit user-item-mean {folder}/made.csv -o {folder}/user-item-mean.tacit",
        "fit item-knn {folder}/made.csv -o {folder}/item-knn.tacit",
        "recommend {folder}/popularity.tacit --history {folder}/own.csv -n 5",
        "recommend {folder}/factors.tacit --history {folder}/own.csv -n 5",
    ],
}

# The answers of these hold secure noise, times or paths: their shape is frozen.
SHAPES = {
    "standard scheme": [
        "data generate {folder}/crowd.csv --seed 1 --users 200 --items 40 --ratings 4000",
        f"fit standard-scheme {CROWD} --item-table -o {{folder}}/scheme.tacit {SCHEME}",
        "guarantee {folder}/scheme.tacit",
        "recommend {folder}/scheme.tacit --history {folder}/own.csv --at-device -n 5",
        f"attack standard-scheme {PEOPLE} --folds 3 --attack logistic-svd --workers 1",
    ],
    "xmap": [
        f"fit xmap {{folder}}/two.csv {DOMAINS} --epsilon inf -o {{folder}}/xmap.tacit",
        f"fit xmap {{folder}}/two.csv {DOMAINS} --epsilon 3 -o {{folder}}/xmap-private.tacit",
        "recommend {folder}/xmap.tacit --history {folder}/own-source.csv -n 5",
        f"evaluate xmap {{folder}}/two.csv {DOMAINS} --seeds 2 --workers 1 {METHODS}",
    ],
    "sketches": [
        "simulate sketches --people 500 --items 20 --rated 8 --seeds 1",
        "device explain --epsilon 1",
    ],
    "prec": [
        "simulate prec --rounds 20 --voters 80 --peers 30 --seeds 1 --workers 1",
        "replay prec {folder}/votes.csv --voters 60 --follow v1 --epsilon inf",
    ],
    "pdap": ["simulate pdap --vendors 2 --videos 3 --arrivals 60 --seeds 1 --policies dap,p-dap"],
    "ledger": [
        "ledger create {folder}/budgets.db",
        "ledger open-budget {folder}/budgets.db --tenant shop --dataset ratings --epsilon 2",
        "ledger show {folder}/budgets.db",
        "ledger verify {folder}/budgets.db",
    ],
}


def prepare(folder: Path) -> None:
    """The files that the commands read."""
    from tacit.data.synthetic_worlds import generate_domains

    two = generate_domains(120, (24, 24), 12.0, seed=5)
    kinds = two.item_metadata["domain"]
    lines = [
        f"{user},{item},{star},{kinds[item]}"
        for user, item, star in zip(two.users, two.items, two.values, strict=True)
    ]
    _write(folder / "two.csv", "user,item,rating,kind", lines)
    items = [item for item, kind in enumerate(kinds) if kind == "source"][:4]
    _write(folder / "own-source.csv", "item,rating", [f"{item},4" for item in items])
    _write(folder / "own.csv", "item,rating", ["1,5", "2,3", "3,4"])
    votes = [f"{n},v{v},{'ab'[(n + v) % 2]}" for n in range(5) for v in range(40)]
    _write(folder / "votes.csv", "round,voter,candidate", votes)


def _write(file: Path, head: str, lines: Sequence[str]) -> None:
    file.write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def outputs(folder: Path) -> dict[str, dict[str, Any]]:
    """Each command line and the frozen form of its answer."""
    prepare(folder)
    frozen: dict[str, dict[str, Any]] = {}
    for commands, exact in ((EXACT, True), (SHAPES, False)):
        for lines in commands.values():
            frozen.update((line, form(answer(line, folder), exact=exact)) for line in lines)
    return frozen


def answer(line: str, folder: Path) -> Any:
    """What one command prints with --json."""
    from tacit.cli.app import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([*(word.format(folder=folder) for word in line.split()), "--json"])
    if code:
        raise SystemExit(f"tacit {line}  ended with code {code}.")
    return json.loads(out.getvalue())


def form(value: Any, *, exact: bool) -> Any:
    """A value without sentences; if not `exact`, without numbers and the length of lists."""
    match value:
        case dict():
            return {str(key): form(inner, exact=exact) for key, inner in sorted(value.items())}
        case list():
            forms = [form(inner, exact=exact) for inner in value]
            return forms if exact or not forms else [max(forms, key=lambda one: len(str(one)))]
        case bool() | None:
            return value if exact else type(value).__name__
        case int() | float():
            return float(f"{value:.4g}") if exact else "number"
        case _:
            return "text"


def interface() -> dict[str, Any]:
    """Paths, methods, statuses and schemas of the demo service, without sentences."""
    from tacit.service.application import create_app
    from tacit.service.demo import make_demo
    from tacit.service.kinds import open_service
    from tacit.service.settings import Settings

    with tempfile.TemporaryDirectory() as name:
        service = open_service(Settings(make_demo(Path(name) / "shop").folder))
        try:
            return dict(without_sentences(create_app(service).openapi()))
        finally:
            service.close()


def without_sentences(value: Any) -> Any:
    """An OpenAPI document without titles, summaries, descriptions and examples."""
    left_out = ("title", "summary", "description", "example", "examples")
    if isinstance(value, dict):
        return {
            key: without_sentences(inner)
            for key, inner in sorted(value.items())
            if key not in left_out or (isinstance(inner, dict) and "type" in inner)
        }
    return [without_sentences(inner) for inner in value] if isinstance(value, list) else value


def spelled(content: Any) -> str:
    """JSON, one key a line."""
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


@contextlib.contextmanager
def made() -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder in which all commands have run, and what they answered."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name), outputs(Path(name))


def main() -> int:
    with made() as (folder, frozen):
        OUTPUTS.write_text(spelled(frozen), encoding="utf-8")
        if "--files" in sys.argv:
            FILES.mkdir(exist_ok=True)
            for file in [*folder.glob("*.tacit"), *(folder / name for name in LEDGER)]:
                (FILES / file.name).write_bytes(file.read_bytes())
    INTERFACE.write_text(spelled(interface()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
