"""Setting up says what is missing, and does nothing when nothing changed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import set_up


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout with an environment, in which no command may be run."""
    for name in ("pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_text("")
    (tmp_path / ".venv").mkdir()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "stored.nbi").touch()
    monkeypatch.setattr(set_up, "ROOT", tmp_path)
    monkeypatch.setattr(set_up, "LOCK", tmp_path / "requirements.lock")
    monkeypatch.setattr(set_up, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(set_up, "STAMP", tmp_path / ".venv" / "set-up-from")
    monkeypatch.setattr(set_up, "KERNELS", tmp_path / "kernels")
    monkeypatch.setattr(set_up, "PIP_LOCK", tmp_path / ".venv" / "pip.lock")
    monkeypatch.setattr(set_up, "install", lambda everything: pytest.fail("installed"))
    return tmp_path


def test_second_run_does_nothing(checkout):
    """With the stamp of these very files nothing is installed; everything includes running."""
    set_up.STAMP.write_text(f"running {set_up.fingerprint()}")
    assert set_up.main() == 0
    set_up.STAMP.write_text(f"all {set_up.fingerprint()}")
    assert set_up.main() == 0
    assert set_up.main(["--all"]) == 0


def test_tests_need_more_than_running(checkout):
    """An environment for running is not one for tests."""
    set_up.STAMP.write_text(f"running {set_up.fingerprint()}")
    with pytest.raises(pytest.fail.Exception, match="installed"):
        set_up.main(["--all"])


def test_running_takes_a_part_of_the_lock():
    """Running needs what the package and its service import, and no tool of tests or documents."""
    root = Path(set_up.__file__).parent.parent
    lock, project = (root / "requirements.lock").read_text(), (root / "pyproject.toml").read_text()
    part = set_up.running_requirements(lock, project)
    names = {
        line.split("==")[0] for line in part.splitlines() if "==" in line and line[0].isalpha()
    }
    assert {"numpy", "scipy", "numba", "llvmlite", "polars", "typer", "click", "fastapi"} <= names
    assert {"sqlalchemy", "uvicorn", "starlette", "anyio", "hatchling", "editables"} <= names
    assert not names & {"sphinx", "mypy", "playwright", "pyspark-client", "implicit", "pytest"}
    assert set(part.splitlines()) <= set(lock.splitlines())
    for line in lock.splitlines():  # one for each range of Pythons
        assert line in part or not line.startswith("numpy==")


def test_uv_installs_where_it_is(checkout, monkeypatch):
    """With uv on the path, uv installs into the environment, and no pip is asked for anything."""
    monkeypatch.setattr(set_up.shutil, "which", lambda name: f"/somewhere/{name}")
    monkeypatch.setattr(set_up, "run", lambda *command: pytest.fail("ran a command"))
    assert set_up.prepare_installer()[:3] == ("/somewhere/uv", "pip", "install")


def test_without_uv_the_pip_of_the_lock_installs(checkout, monkeypatch):
    """The pip that came with Python installs one package, the pinned pip, by its hash."""
    commands = []
    monkeypatch.setattr(set_up.shutil, "which", lambda name: None)
    monkeypatch.setattr(set_up, "run", lambda *command: commands.append(command))
    lock = (Path(set_up.__file__).parent.parent / "requirements.lock").read_text()
    set_up.LOCK.write_text(lock)
    pip = set_up.prepare_installer()
    assert pip[:3] == (set_up.PYTHON, "-m", "pip")
    assert commands == [(*pip, "--require-hashes", "-r", set_up.PIP_LOCK)]
    pinned = set_up.PIP_LOCK.read_text()
    assert pinned.startswith("pip==")
    assert pinned.count("==") == 1
    assert pinned in lock


def test_without_the_pip_of_the_lock_the_present_one_installs(checkout, monkeypatch, capsys):
    """An index that lacks the pinned pip costs time, not the environment."""

    def fail(*command):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(set_up.shutil, "which", lambda name: None)
    monkeypatch.setattr(set_up, "run", fail)
    set_up.LOCK.write_text("pip==26.3 \\\n    --hash=sha256:0\n")
    assert set_up.prepare_installer()[:3] == (set_up.PYTHON, "-m", "pip")
    assert "the present one installs" in capsys.readouterr().out


@pytest.mark.parametrize("writes", [True, False])
def test_bytecode_is_written_where_imports_write_none(monkeypatch, tmp_path, writes):
    """Commands of the installation write theirs: the variable that forbids it is removed."""
    commands = []
    compiled = []
    (tmp_path / ".venv").mkdir()
    monkeypatch.setattr(set_up, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(set_up, "PIP_LOCK", tmp_path / ".venv" / "pip.lock")
    monkeypatch.setattr(set_up, "STAMP", tmp_path / ".venv" / "set-up-from")
    monkeypatch.setattr(set_up, "run", lambda *command: commands.append(command))
    monkeypatch.setattr(set_up, "working", lambda: True)
    monkeypatch.setattr(set_up, "compile_modules", lambda: compiled.append(True))
    monkeypatch.setattr(set_up.shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "dont_write_bytecode", not writes)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    set_up.install(everything=True)
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ
    assert [command[-1] for command in commands] == [set_up.PIP_LOCK, set_up.LOCK, set_up.ROOT]
    assert bool(compiled) != writes
    assert set_up.STAMP.read_text() == f"all {set_up.fingerprint()}"


def test_bytecode_is_made_of_packages_and_of_the_checkout(checkout, monkeypatch):
    """A file that no Python can read stops nothing; tests of packages are left out."""
    monkeypatch.setattr(set_up, "PYTHON", sys.executable)
    packages = checkout / ".venv" / "lib" / "python3.11" / "site-packages"
    for folder in (packages, packages / "one" / "tests", checkout / "src" / "tacit"):
        folder.mkdir(parents=True)
        (folder / "good.py").write_text("ONE = 1\n")
    (packages / "bad.py").write_text("def\n")
    set_up.compile_modules()
    assert [*packages.glob("__pycache__/good.*.pyc")]
    assert [*checkout.glob("src/tacit/__pycache__/good.*.pyc")]
    assert not [*packages.glob("one/tests/__pycache__/*")]


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.lock"])
def test_a_change_is_noticed(checkout, name):
    """A changed declaration or lock makes the environment stale."""
    set_up.STAMP.write_text(f"all {set_up.fingerprint()}")
    (checkout / name).write_text("changed")
    with pytest.raises(pytest.fail.Exception, match="installed"):
        set_up.main()


@pytest.mark.parametrize("version", [(3, 9, 2), (3, 10, 13), (3, 14, 0)])
def test_wrong_python(checkout, monkeypatch, capsys, version):
    """A Python that is too old or too new is named in one sentence, with the way out."""
    monkeypatch.setattr(sys, "version_info", version)
    assert set_up.main() == 1
    assert "make setup PYTHON=" in capsys.readouterr().err


def test_missing_venv(checkout, monkeypatch, capsys):
    """A Python without venv is told how to get it."""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    assert set_up.main() == 1
    assert "apt install python3-venv" in capsys.readouterr().err


def test_an_old_python_can_read_it():
    """The script parses under Python 3.7, or its sentence would be a SyntaxError."""
    source = Path(set_up.__file__).read_text()
    ast.parse(source, feature_version=(3, 7))


def test_kernels_are_compiled_once(checkout, monkeypatch):
    """The demo fills an empty cache; where machine code is stored, nothing is run."""
    commands = []

    def run(command, **options):
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(set_up.subprocess, "run", run)
    (set_up.KERNELS / "stored.nbi").unlink()
    set_up.STAMP.write_text(f"running {set_up.fingerprint()}")
    assert set_up.main(["--without-kernels"]) == 0
    assert not commands
    assert set_up.main() == 0
    assert commands == [[str(checkout / ".venv" / "bin" / "tacit"), "demo"]]
    (set_up.KERNELS / "__pycache__").mkdir()
    (set_up.KERNELS / "__pycache__" / "kernel.nbi").touch()
    assert set_up.main() == 0
    assert len(commands) == 1


def test_kernels_that_cannot_be_compiled_stop_nothing(checkout, monkeypatch, capsys):
    """A demo that fails leaves a finished environment, and it is said who compiles then."""
    (set_up.KERNELS / "stored.nbi").unlink()
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(set_up.subprocess, "run", lambda command, **options: failed)
    set_up.STAMP.write_text(f"running {set_up.fingerprint()}")
    assert set_up.main() == 0
    assert "each command compiles the kernels" in capsys.readouterr().out


def test_kernels_lie_where_numba_stores_them():
    """The folder that is looked through holds the compiled modules."""
    assert list(set_up.KERNELS.rglob("*_compiled.py"))
