"""tacit-client holds what a device needs, and nothing that needs another package."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile

import make_distributions
import pytest

from hatch_build import read_alone

ROOT = make_distributions.ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel of tacit-client, unpacked where no other package is."""
    folder = tmp_path_factory.mktemp("client")
    wheel = make_distributions.build_client(folder)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run_on_device(installed, code):
    """Run Python without site-packages: the standard library and the wheel."""
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.append({str(installed)!r})\n{code}",
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_works_with_the_standard_library_alone(installed):
    """The client, and lists made on the device."""
    code = "import tacit.client, tacit.designs.private.device as d; print(d.DeviceLists.__name__)"
    done = run_on_device(installed, code)
    assert (done.returncode, done.stdout.strip()) == (0, "DeviceLists"), done.stderr


def test_what_it_lacks_is_said_in_words(installed):
    """`tacit.Private` names the distribution that has it."""
    done = run_on_device(installed, "import tacit; tacit.Private")
    assert done.returncode == 1
    assert "pip install tacit-rec" in done.stderr


def test_its_files_are_those_of_the_tree(installed):
    """File for file, but for the first `__init__`; and no model, curator or service."""
    names = {file.relative_to(installed) for file in installed.rglob("*.py")}
    assert len(names) > 20
    for name in names:
        same = ROOT / "client" / "python" / "__init__.py"
        if len(name.parts) > 2 or name.name != "__init__.py":
            same = ROOT / "src" / name
        assert (installed / name).read_bytes() == same.read_bytes()
    assert not any(set(name.parts) & {"model.py", "server.py", "service", "cli"} for name in names)


def test_all_distributions_have_one_version():
    """tacit-rec, tacit-client in its two places, and the npm package."""
    files = ("pyproject.toml", "client/python/pyproject.toml", "client/python/__init__.py")
    found = []
    for name in (*files, "client/package.json"):
        text = (ROOT / name).read_text(encoding="utf-8")
        found.append(re.search(r'version[_"]*:? =? ?"(\d+\.\d+\.\d+)"', text).group(1))
    assert len(found) == 4
    assert len(set(found)) == 1


def test_the_readme_of_the_index_has_no_link_to_a_file():
    """Words of links stay, pictures and relative addresses go."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](docs/" in text
    alone = read_alone(text)
    targets = re.findall(r"\]\(([^)]+)\)", alone)
    assert all(target.startswith(("http", "#")) for target in targets)
    assert "docs/figures" not in alone
    assert "is this number strong?" in alone
    assert alone.startswith("# tacit")
