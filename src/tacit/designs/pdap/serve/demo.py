"""Sections of vendors on generated names, for trying out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from tacit.atomic_writes import write_whole
from tacit.designs.pdap.serve.signatures import new_vendor_key
from tacit.service.keys import Role, add_key, create_private_file
from tacit.service.setting_tables import TOML

NAMES = ("cinema", "arthouse")
VIDEOS = 8
FEATURES = 2
TENANT = "demo"
KEYS_FILE = "keys.json"


def make_demo(_: Path) -> str:
    """Write the section of one vendor alone: whom it could ask would be another service."""
    return _section(NAMES[0], VIDEOS)


def make_two(
    folders: tuple[Path, Path],
    addresses: tuple[str, str],
    *,
    names: tuple[str, str] = NAMES,
    tenant: str = TENANT,
    videos: int = VIDEOS,
    **settings: float,
) -> tuple[dict[str, str], dict[str, str]]:
    """Write two deployments, each a vendor that may forward to the other.

    Args:
        folders: new ones.
        addresses: of the services, such as `http://127.0.0.1:8001`, with ports.
        names: of the vendors.
        tenant: whose services they are.
        videos: of each vendor.
        settings: more lines of [vendors.NAME], the same for both.

    Returns:
        The operator's keys of each.
    """
    for folder in folders:
        folder.mkdir(parents=True)
    public = [new_vendor_key(folder / "vendor.pem") for folder in folders]
    keys = []
    for own, other in ((0, 1), (1, 0)):
        name, peer = names[own], names[other]
        folder = folders[own]
        given = add_key(folders[other] / KEYS_FILE, name, Role.VENDOR, tenant)
        create_private_file(folder / "neighbour.key", given.encode())
        neighbour = {
            "url": f"{addresses[other]}/api/vendors/{peer}",
            "public_key": public[other],
            "api_key": "neighbour.key",
        }
        text = f'tenant = "{tenant}"\n' + _section(name, videos, key="vendor.pem", **settings)
        text += _table(f"vendors.{name}.peers.{peer}", neighbour)
        text += _table("service", {"port": urlsplit(addresses[own]).port})
        write_whole(folder / TOML, text.encode())
        keys.append({"operator": add_key(folder / KEYS_FILE, "operator", Role.OPERATOR, tenant)})
    return keys[0], keys[1]


def _section(name: str, videos: int, **more: object) -> str:
    """The lines of [vendors.NAME]."""
    names = [f"{name}-{number + 1}" for number in range(videos)]
    return _table(f"vendors.{name}", {"videos": names, "features": FEATURES, **more})


def _table(name: str, values: Mapping[str, object]) -> str:
    """A table of TOML, whose numbers, texts and lists are those of JSON."""
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items()]
    return f"[{name}]\n{''.join(lines)}\n"
