"""A vendor of generated videos; and two of them, in two folders, that know each other."""

from __future__ import annotations

from pathlib import Path

from tacit.data.clicks import Clicks, generate
from tacit.designs.pdap.serve.signatures import new_vendor_key
from tacit.service.keys import Role, add_key, make_private
from tacit.service.settings import FILE
from tacit.writing import write_whole

NAMES = ("cinema", "arthouse")
VIDEOS, FEATURES, TENANT = 8, 2, "demo"
_SEED = 3
_KEYS = "keys.json"


def clicks() -> Clicks:
    """Who likes what: made up. The first vendor's videos come first."""
    return generate(vendors=len(NAMES), videos=VIDEOS, dimension=FEATURES, seed=_SEED)


def video(vendor: int, number: int) -> str:
    """The name of a vendor's video."""
    return f"{NAMES[vendor]}-{number + 1}"


def make_demo(_: Path) -> str:
    """One vendor alone: whom it could ask would be another service."""
    return _section(0, VIDEOS)


def make_two(
    folders: tuple[Path, Path],
    addresses: tuple[str, str],
    *,
    videos: int = VIDEOS,
    **settings: float,
) -> tuple[dict[str, str], dict[str, str]]:
    """Two deployments, each a vendor that may forward to the other; each one's operator's keys.

    folders: new ones. addresses: where the services will listen, `http://127.0.0.1:8001`.
    videos: of each. settings: more of [vendors.NAME], the same for both.
    """
    for folder in folders:
        folder.mkdir(parents=True)
    public = [new_vendor_key(folder / "vendor.pem") for folder in folders]
    keys = []
    for own, other in ((0, 1), (1, 0)):
        given = add_key(folders[other] / _KEYS, NAMES[own], Role.VENDOR, TENANT)
        make_private(folders[own] / "neighbour.key", given.encode())
        more = {name: repr(value) for name, value in settings.items()}
        parts = [
            f'tenant = "{TENANT}"\n',
            _section(own, videos, key='"vendor.pem"', **more),
            _neighbour(own, other, addresses[other], public[other]),
        ]
        write_whole(folders[own] / FILE, "\n".join(parts).encode())
        keys.append({"operator": add_key(folders[own] / _KEYS, "operator", Role.OPERATOR, TENANT)})
    return keys[0], keys[1]


def _section(vendor: int, videos: int, **more: str) -> str:
    names = ", ".join(f'"{video(vendor, number)}"' for number in range(videos))
    lines = [f"videos = [{names}]", f"features = {FEATURES}"]
    lines += [f"{name} = {value}" for name, value in more.items()]
    return "\n".join([f"[vendors.{NAMES[vendor]}]", *lines, ""])


def _neighbour(own: int, other: int, address: str, public_key: str) -> str:
    return "\n".join(
        [
            f"[vendors.{NAMES[own]}.peers.{NAMES[other]}]",
            f'url = "{address}/api/vendors/{NAMES[other]}"',
            f'public_key = "{public_key}"',
            'api_key = "neighbour.key"',
            "",
        ]
    )
