"""Build the distributions into dist/ and try them in bare environments: `make dist`.

The wheel of tacit-rec is built from its sdist, without Node, and must hold the page. tacit-client
is built from the modules that `import tacit.client` loads. The npm package is packed alone.
Each is then installed outside the checkout and used.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
CLIENT = ROOT / "client" / "python"
MEBIBYTE = 2**20
_LOADED = (
    "import json, sys, tacit.client; "
    "print(json.dumps([m for m in sys.modules if m.split('.')[0] == 'tacit']))"
)
_WRITE_DEVICE_FILE = """
import sys
from pathlib import Path
import tacit
Path(sys.argv[2]).write_bytes(tacit.load_model(sys.argv[1]).device_file())
"""
_LIST_ON_DEVICE = """
import sys
from pathlib import Path
import tacit.client
from tacit.designs.private.device import DeviceLists
tacit.client.FileAccount("account")
lists = DeviceLists.decode(Path(sys.argv[1]).read_bytes())
print(lists.rank({12: 5.0, 40: 2.0, 7: 4.0}, n=5))
"""
_SEARCHED = "/usr/bin:/bin"
"""PATH of the wheel's build, so that it cannot find and use another npm."""


def main() -> int:
    """Build everything, try it, and print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-only", action="store_true", help="do not install anything")
    only_built = parser.parse_args().build_only
    shutil.rmtree(DIST, ignore_errors=True)
    sdist = build_sdist(DIST)
    wheel = build_wheel(sdist, DIST)
    client = build_client(DIST)
    package = pack_npm(DIST)
    for file in (sdist, wheel, client, package):
        if file is not None:
            print(f"{file.relative_to(ROOT)}  {file.stat().st_size / MEBIBYTE:.1f} MiB")
    if only_built:
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try_plain(wheel, Path(folder))
        try_service(wheel, Path(folder))
        try_client(client, Path(folder))
        try_sdist(sdist, Path(folder))
    print("The distributions work outside the checkout.")
    return 0


def build_sdist(to: Path) -> Path:
    """Build the page, and the sdist that contains it; return the sdist."""
    run(sys.executable, ROOT / "tools" / "build_page.py")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", to, cwd=ROOT)
    (made,) = to.glob("tacit_rec-*.tar.gz")
    return made


def build_wheel(sdist: Path, to: Path) -> Path:
    """Build the wheel from the sdist, without npm; SystemExit if it lacks the page."""
    with tempfile.TemporaryDirectory() as folder:
        source = unpack(sdist, Path(folder))
        command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", to)
        run(*command, cwd=source, env={"PATH": _SEARCHED})
    (made,) = to.glob("tacit_rec-*.whl")
    with zipfile.ZipFile(made) as archive:
        if "tacit/service/page/index.html" not in archive.namelist():
            raise SystemExit(f"{made.name} lacks the page.")
    return made


def build_client(to: Path) -> Path:
    """Build tacit-client: the modules of the device, with the `__init__` of the distribution."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for file in client_files():
            target = tree / file.relative_to(ROOT / "src")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)
        shutil.copy(CLIENT / "__init__.py", tree / "tacit" / "__init__.py")
        for name in (CLIENT / "pyproject.toml", CLIENT / "README.md", ROOT / "LICENSE"):
            shutil.copy(name, tree)
        command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", to)
        run(*command, cwd=tree)
    (made,) = to.glob("tacit_client-*.whl")
    return made


def client_files() -> list[Path]:
    """List the source files that `import tacit.client` loads, and the marker of types."""
    env = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", _LOADED], env=env, capture_output=True, text=True, check=True
    )
    files = [ROOT / "src" / "tacit" / "py.typed"]
    for module in json.loads(done.stdout):
        path = ROOT / "src" / Path(*module.split("."))
        files.append(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))
    return sorted(files)


def pack_npm(to: Path) -> Path | None:
    """Pack the TypeScript client as `npm publish` would; None where there is no npm."""
    npm = shutil.which("npm")
    if npm is None:
        print("There is no npm here: the TypeScript client is not packed.")
        return None
    client = ROOT / "client"
    if not (client / "node_modules").is_dir():
        quiet = ("--no-audit", "--no-fund", "--loglevel=error")
        run(npm, "ci", "--ignore-scripts", *quiet, cwd=client)
    run(npm, "run", "--silent", "build", cwd=client)
    run(npm, "pack", "--silent", "--pack-destination", to, cwd=client)
    (made,) = to.glob("tacit-client-*.tgz")
    return made


def try_plain(wheel: Path, folder: Path) -> None:
    """Install the wheel alone: demo, a fit, a list; a report says which extra it needs."""
    python = bare_environment(folder / "plain")
    run(python, "-m", "pip", "install", "--quiet", wheel)
    print(f"a plain install: {size_of_packages(python):.0f} MiB of packages")
    empty = folder / "empty"
    empty.mkdir()
    tacit = python.parent / "tacit"
    run(tacit, "demo", cwd=empty, stdout=subprocess.DEVNULL)
    generated = ("--users", 2000, "--items", 300, "--ratings", 60000, "--labels", 6)
    run(tacit, "data", "generate", "shop.csv", "--seed", 1, *generated, cwd=empty)
    fit = ("fit", "private", "shop.csv", "--catalogue", "shop-items.csv", "--scale", "1:5:1")
    run(tacit, *fit, "--epsilon", 1, "-o", "shop.tacit", cwd=empty)
    (empty / "mine.csv").write_text("item,rating\n12,5\n40,2\n7,4\n", encoding="utf-8")
    run(tacit, "recommend", "shop.tacit", "--history", "mine.csv", "--at-device", cwd=empty)
    command = [str(tacit), "compare", "shop.csv", "--report", "page.html"]
    refused = subprocess.run(command, cwd=empty, capture_output=True, text=True, check=False)
    if "[plots]" not in refused.stderr or (empty / "page.html").exists():
        raise SystemExit(f"without [plots] a report is refused with its line; here:\n{refused}")


def try_service(wheel: Path, folder: Path) -> None:
    """Add the service to the same environment, serve the model, and fetch the page."""
    python = folder / "plain" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[service,plots]")
    command = [str(python.parent / "tacit"), "serve", "shop.tacit", "--port", "0", "--json"]
    with subprocess.Popen(
        command, cwd=folder / "empty", stdout=subprocess.PIPE, text=True
    ) as service:
        try:
            assert service.stdout is not None
            address = json.loads(service.stdout.readline())["address"]
            page = fetch(address)
        finally:
            service.terminate()
    if "<script" not in page:
        raise SystemExit(f"the service answers without its page:\n{page[:300]}")


def try_client(wheel: Path, folder: Path) -> None:
    """Install tacit-client in an environment without any other package, and make a list."""
    python = bare_environment(folder / "client")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel)
    model, device_file = folder / "empty" / "shop.tacit", folder / "shop.device"
    run(folder / "plain" / "bin" / "python", "-c", _WRITE_DEVICE_FILE, model, device_file)
    run(python, "-c", _LIST_ON_DEVICE, device_file, cwd=folder)


def try_sdist(sdist: Path, folder: Path) -> None:
    """Run the tests of extensions and of the deployment from the unpacked sdist."""
    source = unpack(sdist, folder)
    tests = ("tests/test_extensions.py", "tests/test_example_design.py", "tests/docs")
    env = {**os.environ, "PYTHONPATH": str(source / "src")}
    run(sys.executable, "-m", "pytest", "-q", "-n", 0, *tests, cwd=source, env=env)


def unpack(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist and return its folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.glob("tacit_rec-*")
    return source


def bare_environment(folder: Path) -> Path:
    """Make a virtual environment with pip alone; return its Python."""
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin" / "python"


def size_of_packages(python: Path) -> float:
    """Return the MiB of the installed packages, pip left out."""
    (packages,) = (python.parent.parent / "lib").glob("python*/site-packages")
    size = 0
    for file in packages.rglob("*"):
        own = file.relative_to(packages).parts[0]
        if file.is_file() and not own.startswith(("pip", "setuptools", "pkg_resources")):
            size += file.stat().st_size
    return size / MEBIBYTE


def fetch(address: str) -> str:
    """Fetch a page, once the service answers."""
    last = time.monotonic() + 60
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
            return str(answer.read().decode())
        if time.monotonic() > last:
            raise SystemExit(f"no answer from {address} within a minute")
        time.sleep(0.2)


def run(
    *command: object, cwd: Path | None = None, env: dict[str, str] | None = None, **more: int
) -> None:
    """Print and run a command; raise CalledProcessError if it fails."""
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    subprocess.run(words, cwd=cwd, env=env, check=True, **more)  # type: ignore[call-overload]


if __name__ == "__main__":
    sys.exit(main())
