"""Commands of the service: `tacit init`, `tacit serve` and `tacit keys`.

`tacit init` makes a folder that `tacit serve` can serve. `tacit serve` runs the HTTP service on
such a folder, a model file or generated data. `tacit keys` makes, lists and revokes the keys of
staff, and makes the keys with which vendors sign. The keys of people are computed from the
service's secret: `tacit init` shows a first one, and the service makes others.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tacit import terminal
from tacit.cli.commands import command
from tacit.cli.source import RatingsOptions, split_names
from tacit.design import option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table
from tacit.profile_sums.options import FEATURES_HELP
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.designs.private.folder_fits import RefitSettings
    from tacit.designs.private.model import Private
    from tacit.service.settings import Settings

app = typer.Typer(help="Serve recommendations over HTTP, with budgets that survive.")
init_app = typer.Typer(help="Make a folder that  tacit serve  starts from.")
keys_app = typer.Typer(help="Issue and revoke the keys of a service.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="The service's folder, with its tacit.toml.")]
Name = Annotated[str, typer.Argument(help="Whose key it is: of a-z, 0-9, _ and -.")]
StaffRole = Literal["operator", "analyst", "auditor", "vendor", "recommend", "editor"]
"""Roles that a key of `tacit keys` may have."""
FIRST_VENDOR_PORT = 8001
"""Port of the first of two vendors; the second has the next one."""
KEYS_FILE = "keys.json"
"""Name of the file of the hashed keys that `tacit keys` makes, in the service's folder."""
MODEL_FILE = "lists.tacit"
"""Name of the model file that  tacit init  writes, in the service's folder."""
FIRST_PERSON = "me"
"""Name of the person whose key  tacit init  makes."""
_TOML_TEMPLATE = """\
# What is served, and how. Each setting: docs/settings.md. A change takes effect at the next start.
tenant = "{tenant}"              # whose people and budgets these are: a-z, 0-9, _ and -

[models.lists]                   # private lists, fitted by  tacit init  with epsilon {epsilon:g}
file = "{model}"
item_word = "{item_word}"        # what one item is called on the page
{without_guarantee}
[service]
# host = "127.0.0.1"             # a proxy on this machine speaks TLS: see deploy/ in the source
# port = 8000
# workers = 1                    # processes that answer
# behind_tls = false             # true behind such a proxy
# second = "/other/disk/head"    # the second place of the ledger's head, on another device
# database = "postgresql://tacit@db.example/tacit"   # default: the file budgets.db in this folder
"""
"""The tacit.toml that  tacit init  writes."""


@dataclass(frozen=True)
class OptionalRatings(RatingsOptions):
    """Options that name ratings. The path may be left out, since  --vendors  reads no ratings."""

    path: Path | None = option(  # type: ignore[assignment]  # checked where it is read
        "A file of ratings, or a folder of  tacit data import. None with --vendors.",
        argument="RATINGS",
    )


@command(init_app)
def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    source: OptionalRatings,
    epsilon: float = option("Epsilon for a person's whole profile; inf: no privacy.", default=1.0),
    delta: float = option(
        "Probability by which any event may exceed the bound of epsilon, such as 1e-6.",
        default=1e-6,
    ),
    catalogue: Path | None = option("Public list of items. Others are left out."),
    features: str | None = option(FEATURES_HELP),
    lifetime: float | None = option(
        "Epsilon of all fits together, shared by the fits of one year, in place of --epsilon."
    ),
    every: str = option("How often a fit is due: day, week or month.", default="week"),
    vendors: int | None = option(
        "Number of vendors that forward to each other, 2: write their folders, read no RATINGS."
    ),
    as_json: JSON = False,
) -> Result:
    """Fit private lists and write the folder of a service: tacit.toml, model, keys, timer.

    The keys are shown once. One is the operator's, who administers the service; the other one
    belongs to a first person, `me`. With --vendors, nothing is fitted, and each vendor's folder has
    its own settings and keys.
    """
    from tacit.cli.refit import refuse_unwritable_paths, write_units
    from tacit.designs.private.folder_fits import RefitSettings, fit_next
    from tacit.designs.private.model import Private

    name = re.sub(r"[^a-z0-9_-]+", "-", folder.absolute().name.lower()).strip("-_")[:64] or "shop"
    if vendors is not None:
        return _init_vendors(folder, name, vendors, source)
    if source.path is None:
        raise ConfigError(
            "Name the file of ratings, or  --vendors 2  for vendors, which need none."
        )
    refuse_unwritable_paths(folder.absolute(), source.path.absolute())  # before the fit
    refits = RefitSettings(
        epsilon=epsilon,
        delta=delta,
        lifetime=lifetime,
        every=every,  # type: ignore[arg-type]  # the class checks it
        catalogue=None if catalogue is None else str(catalogue.absolute()),
        features=split_names(features),
        rows=source.describe(),
    )
    _ = Private(epsilon, delta, lifetime=lifetime).settings  # raises before the file is read
    _refuse_used(folder)
    ratings = source.read(catalogue=catalogue, domains=False)
    if lifetime is not None:
        refits = _share_lifetime(refits, ratings)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tacit-init-", dir=folder.parent) as temporary:
        new_folder = Path(temporary) / "folder"  # renamed once it is complete
        new_folder.mkdir()
        with terminal.progress("Fitting", None, quiet=as_json):
            model = fit_next(new_folder, refits, name, ratings).model
        refits.write(new_folder)
        data = source.path.absolute()
        write_units(new_folder, name, every, data, service_folder=folder.absolute())
        files = [path for path in (catalogue, source.items, source.path) if path is not None]
        word = guess_item_word(files, source.item)
        keys = _write_settings_and_keys(new_folder, name, model, word)
        new_folder.rename(folder)
    return _make_init_result(folder, source.path, every, model, keys)


def _make_init_result(
    folder: Path, ratings_path: Path, every: str, model: Private, keys: dict[str, str]
) -> Result:
    """Make the result of `tacit init`: what was written, the keys, and the commands to go on with.

    Args:
        folder: The service's folder.
        ratings_path: File or folder of the ratings.
        every: How often a fit is due: "day", "week" or "month".
        model: The fitted model.
        keys: The key of the operator, and that of FIRST_PERSON.
    """
    (card,) = model.guarantees()
    result: dict[str, Any] = {
        "folder": folder,
        "model": folder / MODEL_FILE,
        "items": len(model.item_ids_),
        "lists": model.released_.serves_personal_lists,
        "epsilon": card.epsilon,
        "delta": card.delta,
        "basis": card.basis.value,
        "first_line": card.first_line,
        "keys": keys,
        "first_list": _make_list_command(model, keys[FIRST_PERSON]),
        "fits_left": model.budget_status_.further,
    }
    contents = f"tacit.toml, keys, and private lists of {result['items']:,} items"
    key_lines = [f"  key of {owner}: {key}" for owner, key in keys.items()]
    shown = [
        f"Wrote {folder}: {contents}. {card.first_line}",
        *key_lines,
        "The keys are not shown again.",
        "In another terminal, the first list, from two items rated with the most stars:",
        f"  {result['first_list']}",
        f"Every {every} a new fit: {folder / 'systemd'} has a timer and a cron line. The commands:",
        f"  tacit serve {shlex.quote(str(folder))}",
        f"  tacit refit {shlex.quote(str(folder))} {shlex.quote(str(ratings_path))}",
        f"  tacit guarantee {shlex.quote(str(folder / MODEL_FILE))} --for-officer",
    ]
    return Result(result, shown, f"tacit serve {shlex.quote(str(folder))}  serves it.")


def _init_vendors(folder: Path, tenant: str, vendors: int, source: OptionalRatings) -> Result:
    """Write the folders of two vendors that forward to each other.

    Args:
        folder: Folder to make, in which the vendors' folders are.
        tenant: Name of the tenant of both vendors, from which their names are made.
        vendors: Value of --vendors.
        source: Options that name ratings.

    Raises:
        ConfigError: `vendors` is not 2, ratings were named, or the folder is not empty.
    """
    from tacit.designs.pdap.serve.demo import make_two_deployments

    if vendors != 2 or source.path is not None:
        raise ConfigError("--vendors 2  writes two folders, and reads no ratings.")
    _refuse_used(folder)
    names = (f"{tenant[:50]}-1", f"{tenant[:50]}-2")  # a name has at most 64 characters
    ports = (FIRST_VENDOR_PORT, FIRST_VENDOR_PORT + 1)
    addresses = tuple(f"http://127.0.0.1:{port}" for port in ports)
    folders = tuple(folder / name for name in names)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tacit-init-", dir=folder.parent) as temporary:
        new_folder = Path(temporary) / "folder"  # renamed once it is complete
        vendor_folders = tuple(new_folder / name for name in names)
        keys = make_two_deployments(vendor_folders, addresses, names=names, tenant=tenant)  # type: ignore[arg-type]
        new_folder.rename(folder)
    result = {"folders": folders, "addresses": addresses, "keys": keys}
    shown = [f"Wrote two vendors that forward to each other: {', '.join(names)}."]
    for address, keys_of_vendor in zip(addresses, keys, strict=True):
        shown.append(f"  {address}  key of its operator: {keys_of_vendor['operator']}")
    shown.append(
        "The keys are not shown again. Write your articles under `videos` in each tacit.toml."
    )
    shown.append("Each in a terminal of its own:")
    shown += [f"  tacit serve {shlex.quote(str(vendor_folder))}" for vendor_folder in folders]
    return Result(result, shown, f"tacit serve {shlex.quote(str(folders[0]))}  serves the first.")


def _share_lifetime(refits: RefitSettings, ratings: Ratings) -> RefitSettings:
    """Share the epsilon of a lifetime among the fits of a year.

    If the items have two different feature values or more, the settings only state the number of
    fits: a plan then decides how much each of them gets. Otherwise each fit gets the same epsilon,
    that of `largest_epsilon_per_fit`.

    Args:
        refits: Settings with a lifetime.
        ratings: Ratings, for the items' features.

    Returns:
        The settings, with `fits`, the number of fits of the plan, or with the `epsilon` of a fit.
    """
    from tacit.data.domains import item_features
    from tacit.designs.private.folder_fits import FITS_A_YEAR
    from tacit.designs.private.plan import largest_epsilon_per_fit

    assert refits.lifetime is not None
    fits = FITS_A_YEAR[refits.every]
    feature_values = set()
    for column in item_features(ratings, refits.features).values():
        for values_of_item in column:
            feature_values.update(values_of_item)
    if len(feature_values) >= 2:
        return replace(refits, fits=fits)
    epsilon = largest_epsilon_per_fit(refits.lifetime, refits.delta, fits)
    return replace(refits, epsilon=epsilon)


def _refuse_used(folder: Path) -> None:
    """Raise ConfigError if there is a file or a folder with content at this path."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: is not an empty folder. Name a new one.")


def guess_item_word(files: Sequence[Path], column: str | None) -> str:
    """Guess what one item is called from the headers of columns that hold items' ids.

    Args:
        files: Files that may have such a column.
        column: Header that was typed for this column, which is looked at first; None: not typed.

    Returns:
        A word such as "product"; "item" where the headers say nothing.
    """
    from tacit.data.tables.item_words import headers_of_item_ids, word_for_items

    headers = [] if column is None else [column]
    for path in files:
        headers += headers_of_item_ids(path)
    return word_for_items(headers) or "item"


def _write_settings_and_keys(
    folder: Path, tenant: str, model: Private, word: str
) -> dict[str, str]:
    """Write tacit.toml, the service's secret and the file of keys into a new folder.

    Args:
        folder: The folder.
        tenant: Name of the tenant.
        model: The model in the folder.
        word: What one item is called on the page.

    Returns:
        The key of the operator under "operator", and that of the first person under FIRST_PERSON.
    """
    from tacit.service.keys import KeyRing, Role, add_key, read_secret
    from tacit.service.setting_tables import TOML

    without_guarantee = "" if math.isfinite(model.epsilon) else "without_guarantee = true\n"
    text = _TOML_TEMPLATE.format(
        tenant=tenant,
        model=MODEL_FILE,
        epsilon=model.epsilon,
        without_guarantee=without_guarantee,
        item_word=word,
    )
    (folder / TOML).write_text(text, "utf-8")
    operator = add_key(folder / KEYS_FILE, "operator", Role.OPERATOR, tenant)
    secret = read_secret(folder / "service.secret")  # made here, on first use
    person = KeyRing(folder / KEYS_FILE, secret, tenant).person_key(FIRST_PERSON)
    return {"operator": operator, FIRST_PERSON: person}


def _make_list_command(model: Private, key: str) -> str:
    """Make a command that asks a service at its default address for a person's list.

    In the request, the person has given two popular items the most stars.

    Args:
        model: The model.
        key: Key of a person.
    """
    popular = [str(row.item_id) for row in model.recommend(history={}, n=2)]
    history = dict.fromkeys(popular, model.scale_.maximum)
    body = {"model": "lists", "history": history, "n": 10}
    words = ["curl", "-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json"]
    words += ["-d", json.dumps(body)]
    return shlex.join([*words, "http://127.0.0.1:8000/api/recommend"])


@command(app)
def serve(
    folder: Path | None = option(
        "A model file; or a folder with tacit.toml. New with --demo.", argument="folder"
    ),
    demo: bool = option("Serve generated data."),
    host: str | None = option("Address to listen at [127.0.0.1]."),
    port: int | None = option("Port to listen at; 0: any free one [8000]."),
    database: str | None = option(
        "The ledger: a file or postgresql://HOST/NAME [FOLDER/budgets.db]."
    ),
    second: str | None = option(
        "The second place of the ledger's head: a file on another device, or "
        "postgresql://HOST/DATABASE; PostgreSQL needs one named [FOLDER/budgets.db.head]."
    ),
    workers: int | None = option("Processes that answer [1]."),
    visitors: bool | None = option(
        "Whether visitors get a person's key [with --demo yes, else no].",
        flag="--visitors/--no-visitors",
    ),
    behind_tls: bool | None = option("A proxy in front speaks TLS.", flag="--behind-tls"),
    item_word: str | None = option(
        "Of a model file: what one item is called on the page, such as product [item]."
    ),
    as_json: JSON = False,
) -> None:
    """Serve until it is stopped (Ctrl-C, SIGTERM): an interface under /api and a page for people.

    For a model file NAME.tacit the folder NAME-service is made, with a copy of the model, a
    tacit.toml to go on from and the operator's key, which is shown once.
    An option that is left out is read from the environment, such as TACIT_PORT, or from [service]
    in tacit.toml. The log is written to standard error, as JSON, without names or contents.
    """
    from tacit.service.processes import serve as run
    from tacit.service.settings import Settings

    if demo and visitors is None:
        visitors = True
    flags = {
        "host": host,
        "port": port,
        "database": database,
        "second": second,
        "workers": workers,
        "visitors": visitors,
        "behind_tls": behind_tls,
    }
    with _open_served_folder(folder, item_word, demo=demo) as (served_folder, new_keys):
        settings = Settings.gather(served_folder.absolute(), flags, os.environ)
        warnings = list(_warn_of_weak_settings(settings))
        if not as_json:  # with --json they are in the object
            for warning in warnings:
                typer.echo(f"Warning: {warning}", err=True)

        def report_address(address: str) -> None:
            """Print what is served and at which address, once the service answers."""
            result = {
                "address": address,
                "openapi": f"{address}/api/openapi.json",
                "folder": settings.folder,
                "workers": settings.workers,
                "process": os.getpid(),
                "keys": new_keys,
                "warnings": warnings,
            }
            if as_json:
                # One line, so that a program that started the service knows where the object ends.
                sys.stdout.write(json.dumps(terminal.to_json_types(result)) + "\n")
            else:
                _print_start(result)
            sys.stdout.flush()

        run(settings, report_address)


@contextmanager
def _open_served_folder(
    folder: Path | None, item_word: str | None, *, demo: bool
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yield the folder that is served, and the keys that were made now, by their roles.

    Args:
        folder: Model file or folder named on the command line; with `demo`, the folder to make.
            None: none was named; with `demo`, a temporary folder is made.
        item_word: What one item of a model file is called on the page; None: not typed.
        demo: Whether generated data are served.

    Raises:
        ConfigError: Nothing to serve was named, or `item_word` was given for anything but a model
            file.
    """
    from tacit.service.demo import make_demo
    from tacit.service.model_folder import make_model_folder

    if item_word is not None and (demo or folder is None or not folder.is_file()):
        raise ConfigError(
            "--item-word is for a model file. A folder's tacit.toml has item_word for each model."
        )
    if demo:
        with tempfile.TemporaryDirectory(prefix="tacit-demo-") as temporary:
            demo_folder = folder or Path(temporary)
            yield demo_folder, make_demo(demo_folder).keys
    elif folder is None:
        raise ConfigError(
            "Say which model file or folder is served, or  tacit serve --demo  for generated data."
        )
    elif folder.is_file():
        yield make_model_folder(folder, item_word)
    else:
        yield folder, {}


def _warn_of_weak_settings(settings: Settings) -> Iterator[str]:
    """Yield a warning for each setting that weakens privacy, or the service's protection."""
    from tacit.ledger.addresses import SHARED_DEVICE_WARNING, shares_device
    from tacit.service.kinds import list_charged_by_name

    if shares_device(settings.ledger, settings.second):
        yield SHARED_DEVICE_WARNING
    if settings.behind_tls:
        yield (
            "behind a proxy every connection comes from its address, so the service cannot limit "
            "the connections of one sender. Let the proxy limit the connections of each address."
        )
    if settings.sends_keys_in_clear:
        yield (
            "keys travel unencrypted, and anyone on the network can read them. Put a proxy that "
            "speaks TLS in front and say --behind-tls, or listen on 127.0.0.1."
        )
    charged_by_name = list_charged_by_name(settings.folder) if settings.visitors else ()
    if charged_by_name:
        yield (
            "visitors are let in, and each new name has a new budget: what is promised "
            f"to a person by {', '.join(charged_by_name)} holds for each name. Let visitors into a "
            "demonstration only; otherwise issue keys yourself and use --no-visitors."
        )


def _print_start(result: dict[str, Any]) -> None:
    """Print what is served, at which address, the new keys, and what to do next.

    Args:
        result: The values that --json prints at the start.
    """
    lines = [("page", f"{result['address']}/"), ("interface", result["openapi"])]
    lines += [(f"key of the {role}", key) for role, key in result["keys"].items()]
    terminal.say(f"Serving {result['folder']}")
    for name, value in lines:
        terminal.say(f"  {name + ':':<21} {value}")
    if result["keys"]:
        terminal.say(
            "Open the page. Or as the operator:  "
            f'curl -H "Authorization: Bearer KEY" {result["address"]}/api/privacy/budgets'
        )
    else:
        terminal.show_next(suggest_operator_key(result["folder"]))


def suggest_operator_key(folder: Path) -> str:
    """Return the command that makes an operator's key of a folder, with what it does.

    The key's name is "operator", or "operator-2" and so on if it is taken.
    """
    from tacit.service.keys import read_keys

    taken_names = {key.name for key in read_keys(folder / KEYS_FILE)}
    name = "operator"
    number = 1
    while name in taken_names:
        number += 1
        name = f"operator-{number}"
    return f"tacit keys add {shlex.quote(str(folder))} {name} --role operator  makes a key."


@keys_app.callback()
def _commands() -> None:
    """A running service notices changes of the keys' file at the next request."""


@command(keys_app)
def add(
    folder: Folder,
    name: Name,
    role: StaffRole = option("What the key may do; see docs/service.md."),
    lists: str = option(
        "Which lists a key of the role recommend gets: personal, or popularity to compare with.",
        default="personal",
    ),
) -> Result:
    """Make a key and show it once: the file stores only its hash."""
    from tacit.service.deployment import read_tenant
    from tacit.service.keys import Role, add_key

    tenant = read_tenant(folder)
    key = add_key(folder / KEYS_FILE, name, Role(role), tenant, lists=lists)
    hint = f"Hand it to '{name}'; it is not shown again. It goes into a header:  "
    data = {"name": name, "role": role, "tenant": tenant, "key": key}
    return Result(data, (key, f"{hint}Authorization: Bearer KEY"))


@command(keys_app, "list")
def list_keys(folder: Folder) -> Result:
    """List the names of the keys, never the keys."""
    from tacit.service.deployment import read_tenant
    from tacit.service.keys import read_keys

    read_tenant(folder)  # raises if the folder is not one of a service
    rows = []
    for key in read_keys(folder / KEYS_FILE):
        row = {"name": key.name, "role": key.role, "tenant": key.tenant, "revoked": key.revoked}
        rows.append(row)
    data = {"folder": folder, "keys": rows}
    if not rows:
        return Result(data, ("There is no key yet.",), suggest_operator_key(folder))
    cells = []
    for row in rows:
        state = "revoked" if row["revoked"] else "in use"
        cells.append((row["name"], row["role"], row["tenant"], state))
    return Result(data, (Table("Keys", ("name", "role", "tenant", "state"), cells),))


@command(keys_app)
def revoke(folder: Folder, name: Name) -> Result:
    """Revoke a key. No later key can have its name, so that logs stay unambiguous."""
    from tacit.service.deployment import read_tenant
    from tacit.service.keys import revoke_key

    read_tenant(folder)  # raises if the folder is not one of a service
    revoke_key(folder / KEYS_FILE, name)
    sentence = f"The key of '{name}' is refused from the next request on."
    return Result({"name": name, "revoked": True}, (sentence,))


@command(keys_app)
def vendor(
    folder: Folder, file: str = option("Where the private key goes.", default="vendor.pem")
) -> Result:
    """Make the key a vendor signs with, and show its public half."""
    from tacit.designs.pdap.serve.signatures import new_vendor_key
    from tacit.service.deployment import read_tenant

    read_tenant(folder)  # raises if the folder is not one of a service
    public = new_vendor_key(folder / file)
    hint = (
        "Neighbours write it as public_key in  [vendors.NAME.peers.YOURS]. Name the file, which "
        "stays here, as key in  [vendors.YOURS]."
    )
    return Result({"file": folder / file, "public_key": public}, (public, hint))
