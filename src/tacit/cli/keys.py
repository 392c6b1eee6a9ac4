"""`tacit keys`: who may ask a service, beside the people whose keys it makes itself."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import output
from tacit.cli.output import JSON

app = typer.Typer(help="Issue and revoke the keys of a service.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="The service's folder, with its tacit.toml.")]
Name = Annotated[str, typer.Argument(help="Whose key it is: of a-z, 0-9, _ and -.")]
FILE = "keys.json"


class Staff(StrEnum):
    """The roles that have keys in the file."""

    OPERATOR = "operator"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    VENDOR = "vendor"


@app.callback()
def _commands() -> None:
    """A running service notices a changed file at the next request."""


@app.command()
def add(
    folder: Folder,
    name: Name,
    role: Annotated[Staff, typer.Option(help="What the key may do; see docs/service.md.")],
    as_json: JSON = False,
) -> None:
    """Make a key and show it once: the file stores only its hash."""
    from tacit.service.deployment import tenant_of
    from tacit.service.keys import Role, add_key

    tenant = tenant_of(folder)
    key = add_key(folder / FILE, name, Role(role.value), tenant)
    result = {"name": name, "role": role.value, "tenant": tenant, "key": key}
    output.emit(result, as_json=as_json, render=_added)


@app.command("list")
def list_keys(folder: Folder, as_json: JSON = False) -> None:
    """List the names of the keys, never the keys."""
    from tacit.service.deployment import tenant_of
    from tacit.service.keys import read_keys

    tenant_of(folder)
    rows = [
        {"name": key.name, "role": key.role, "tenant": key.tenant, "revoked": key.revoked}
        for key in read_keys(folder / FILE)
    ]
    output.emit({"folder": folder, "keys": rows}, as_json=as_json, render=_listed)


@app.command()
def revoke(folder: Folder, name: Name, as_json: JSON = False) -> None:
    """Revoke a key. Its name cannot be used again, so that logs stay unambiguous."""
    from tacit.service.deployment import tenant_of
    from tacit.service.keys import revoke_key

    tenant_of(folder)
    revoke_key(folder / FILE, name)
    output.emit({"name": name, "revoked": True}, as_json=as_json, render=_revoked)


@app.command()
def vendor(
    folder: Folder,
    file: Annotated[str, typer.Option(help="Where the private key goes.")] = "vendor.pem",
    as_json: JSON = False,
) -> None:
    """Make the key a vendor signs with, and show its public half."""
    from tacit.designs.pdap.serve.signatures import new_vendor_key
    from tacit.service.deployment import tenant_of

    tenant_of(folder)
    result = {"file": folder / file, "public_key": new_vendor_key(folder / file)}
    output.emit(result, as_json=as_json, render=_made)


def _made(result: dict[str, Any]) -> None:
    output.console.print(result["public_key"], soft_wrap=True)
    output.next_step(
        "Neighbours write it as public_key in  [vendors.NAME.peers.YOURS]. Name the file, which "
        "stays here, as key in  [vendors.YOURS]."
    )


def _added(result: dict[str, Any]) -> None:
    output.console.print(result["key"], soft_wrap=True)
    output.next_step(
        f"Hand it to '{result['name']}'; it is not shown again. It goes into a header:  "
        "Authorization: Bearer KEY"
    )


def _listed(result: dict[str, Any]) -> None:
    if not result["keys"]:
        output.console.print("There is no key yet.")
        output.next_step(f"tacit keys add {result['folder']} NAME --role operator")
        return
    rows = [
        (key["name"], key["role"], key["tenant"], "revoked" if key["revoked"] else "in use")
        for key in result["keys"]
    ]
    output.table("Keys", ("name", "role", "tenant", "state"), rows)


def _revoked(result: dict[str, Any]) -> None:
    output.console.print(
        f"The key of '{result['name']}' is not known any more, from the next request on.",
        soft_wrap=True,
    )
