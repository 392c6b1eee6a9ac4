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
from tacit.errors import ConfigError
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


@app.command()
@terminal.reads_ratings
def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    source: terminal.Source,
    epsilon: Annotated[
        float, typer.Option(help="Epsilon for a person's whole profile; inf: no privacy.")
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(help="Probability that the bound of epsilon fails, such as 1e-6.")
    ] = 1e-6,
    catalogue: Annotated[
        Path | None,
        typer.Option(help="Public list of items with their metadata. Others are left out."),
    ] = None,
    as_json: JSON = False,
) -> None:
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
    result = {
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
    terminal.emit(result, as_json=as_json, render=_show)


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


def _show(result: dict[str, Any]) -> None:
    terminal.say(
        f"Wrote {result['folder']}: tacit.toml, keys, and private lists of {result['items']:,} "
        f"items. {result['first_line']}"
    )
    for name, key in result["keys"].items():
        terminal.say(f"  key of {name}: {key}")
    terminal.say(
        "The keys are not shown again. In another terminal, the first list, from two items rated "
        f"with the most stars:\n  {result['first_list']}"
    )
    terminal.next_step(f"Next:  tacit serve {shlex.quote(str(result['folder']))}")
