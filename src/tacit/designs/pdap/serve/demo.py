"""Vendors to try the service with: one section of tacit.toml, or two deployments with files."""

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
"""Names of the two vendors."""
VIDEOS = 8
"""Number of videos of each vendor."""
FEATURES = 2
"""Number of features of a context."""
TENANT = "demo"
"""The tenant to whom the vendors of both services belong."""
KEYS_FILE = "keys.json"
"""Name of the file with the API keys in the folder of a deployment."""


def make_demo(_: Path) -> str:
    """Make the section of one vendor. It has no neighbours: they would need another service."""
    return _section(NAMES[0], VIDEOS)


def make_two_deployments(
    folders: tuple[Path, Path],
    addresses: tuple[str, str],
    *,
    names: tuple[str, str] = NAMES,
    tenant: str = TENANT,
    videos: int = VIDEOS,
    **settings: float,
) -> tuple[dict[str, str], dict[str, str]]:
    """Write two deployments, each with a vendor that may forward to the other.

    Args:
        folders: of the deployments; they are created.
        addresses: of the services, with ports, such as `http://127.0.0.1:8001`.
        names: of the vendors, in the order of the folders.
        tenant: of both services.
        videos: number of videos of each vendor.
        settings: more settings of [vendors.NAME], the same for both.

    Returns:
        For each deployment, the API keys by role; the only role is "operator".
    """
    for folder in folders:
        folder.mkdir(parents=True)
    public_keys = [new_vendor_key(folder / "vendor.pem") for folder in folders]
    operator_keys: list[dict[str, str]] = []
    for own, other in ((0, 1), (1, 0)):
        name = names[own]
        peer = names[other]
        folder = folders[own]
        api_key_of_peer = add_key(folders[other] / KEYS_FILE, name, Role.VENDOR, tenant)
        create_private_file(folder / "neighbour.key", api_key_of_peer.encode())
        neighbour = {
            "url": f"{addresses[other]}/api/vendors/{peer}",
            "public_key": public_keys[other],
            "api_key": "neighbour.key",
        }
        text = f'tenant = "{tenant}"\n' + _section(name, videos, key="vendor.pem", **settings)
        text += _table(f"vendors.{name}.peers.{peer}", neighbour)
        text += _table("service", {"port": urlsplit(addresses[own]).port})
        write_whole(folder / TOML, text.encode())
        operator_key = add_key(folder / KEYS_FILE, "operator", Role.OPERATOR, tenant)
        operator_keys.append({"operator": operator_key})
    return operator_keys[0], operator_keys[1]


def _section(name: str, videos: int, **settings: object) -> str:
    """Make the section [vendors.NAME] with generated names of videos and further settings."""
    video_names = [f"{name}-{number + 1}" for number in range(videos)]
    return _table(f"vendors.{name}", {"videos": video_names, "features": FEATURES, **settings})


def _table(name: str, values: Mapping[str, object]) -> str:
    """Format a TOML table; its numbers, texts and lists are written as in JSON."""
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in values.items()]
    return f"[{name}]\n{''.join(lines)}\n"
