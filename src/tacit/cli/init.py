"""`tacit init`: a folder that `tacit serve` starts from, made from one file of ratings."""

from __future__ import annotations

import json
import math
import re
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import terminal
from tacit.cli.commands import Source, command
from tacit.design import option
from tacit.errors import ConfigError
from tacit.evaluation import Result
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.designs.private.model import Private

app = typer.Typer(help="Make a folder that  tacit serve  starts from.")

MODEL = "lists.tacit"
PERSON = "me"
_TOML = """\
# What is served, and how. Each setting: docs/settings.md. A change takes effect at the next start.
tenant = "{tenant}"              # whose people and budgets these are: a-z, 0-9, _ and -

[models.lists]                   # private lists, fitted by  tacit init  with epsilon {epsilon:g}
file = "{model}"
{without}
[service]
# host = "127.0.0.1"             # a proxy on this machine speaks TLS: see deploy/ in the source
# port = 8000
# workers = 1                    # processes that answer
# behind_tls = false             # true behind such a proxy
# second = "/other/disk/head"    # the second place of the ledger's head, on another device
# database = "postgresql://tacit@db.example/tacit"   # default: the file budgets.db in this folder
"""


@command(app)
def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    source: Source,
    epsilon: float = option("Epsilon for a person's whole profile; inf: no privacy.", default=1.0),
    delta: float = option(
        "Probability that the bound of epsilon fails, such as 1e-6.", default=1e-6
    ),
    catalogue: Path | None = option(
        "Public list of items with their metadata. Others are left out."
    ),
    as_json: JSON = False,
) -> Result:
    """Fit private lists and write the folder of a service: tacit.toml, model, keys.

    The keys are shown once. The operator's key administers; the other one is of a first person.
    """
    from tacit.designs.private.model import Private

    name = re.sub(r"[^a-z0-9_-]+", "-", folder.absolute().name.lower()).strip("-_")[:64]
    model = Private(epsilon, delta)
    _ = model.settings  # refuses bad ones before the file is read
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: is not an empty folder. Name a new one.")
    ratings = source.read(catalogue=catalogue, domains=False)
    with terminal.progress("Fitting", None, quiet=as_json):
        model.fit(ratings)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tacit-init-", dir=folder.parent) as beside:
        made = Path(beside) / "folder"  # the whole folder at once
        keys = _fill(made, name or "shop", model)
        made.rename(folder)
    (card,) = model.guarantees()
    result: dict[str, Any] = {
        "folder": folder,
        "model": folder / MODEL,
        "items": len(model.item_ids_),
        "lists": model.released_.serves_lists,
        "epsilon": card.epsilon,
        "delta": card.delta,
        "basis": card.basis.value,
        "first_line": card.first_line,
        "keys": keys,
        "first_list": _first_list(model, keys[PERSON]),
    }
    wrote = f"tacit.toml, keys, and private lists of {result['items']:,} items"
    shown = [
        f"Wrote {folder}: {wrote}. {card.first_line}",
        *(f"  key of {name}: {key}" for name, key in keys.items()),
        "The keys are not shown again.",
        "In another terminal, the first list, from two items rated with the most stars:",
        f"  {result['first_list']}",
    ]
    return Result(result, shown, f"tacit serve {shlex.quote(str(folder))}")


def _fill(made: Path, tenant: str, model: Private) -> dict[str, str]:
    from tacit.service.keys import KeyRing, Role, add_key, read_secret
    from tacit.service.settings import FILE

    made.mkdir()
    model.save(made / MODEL)
    without = "" if math.isfinite(model.epsilon) else "without_guarantee = true\n"
    text = _TOML.format(tenant=tenant, model=MODEL, epsilon=model.epsilon, without=without)
    (made / FILE).write_text(text, "utf-8")
    keys = made / "keys.json"
    operator = add_key(keys, "operator", Role.OPERATOR, tenant)
    person = KeyRing(keys, read_secret(made / "service.secret"), tenant).person_key(PERSON)
    return {"operator": operator, PERSON: person}


def _first_list(model: Private, key: str) -> str:
    """A command that asks for a list, from the stars of the two most popular items."""
    popular = [str(row.item_id) for row in model.recommend(history={}, n=2)]
    body = {"model": "lists", "history": dict.fromkeys(popular, model.scale_.maximum), "n": 10}
    headers = (f"Authorization: Bearer {key}", "Content-Type: application/json")
    words = ["curl", *(word for each in headers for word in ("-H", each)), "-d", json.dumps(body)]
    return shlex.join([*words, "http://127.0.0.1:8000/api/recommend"])
