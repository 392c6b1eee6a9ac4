"""The page's files: how they are served, what they may hold, and that the wheel has them."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tacit.service.resources import page

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A page of three files, in the place of the built one."""
    (tmp_path / "page" / "assets").mkdir(parents=True)
    (tmp_path / "page" / "index.html").write_text("<!doctype html>page")
    (tmp_path / "page" / "assets" / "index-abc123_-.js").write_text("script")
    (tmp_path / "page" / ".built-from").write_text("stamp")
    (tmp_path / "secret.js").write_text("secret")
    monkeypatch.setattr(page, "FOLDER", tmp_path / "page")
    return tmp_path / "page"


def test_the_page_is_asked_for_again_and_its_assets_are_kept_for_ever(shared_shop, folder):
    """An asset's name changes with its content, the page's does not."""
    index = shared_shop.get(None, "/")
    asset = shared_shop.get(None, "/assets/index-abc123_-.js")
    assert (index.status_code, asset.status_code) == (200, 200)
    assert index.headers["cache-control"] == "no-cache"
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert index.headers["content-type"] == "text/html; charset=utf-8"
    assert asset.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "default-src 'self'" in index.headers["content-security-policy"]


@pytest.mark.parametrize(
    "name",
    [
        "../secret.js",
        "..%2fsecret.js",
        "%2e%2e/secret.js",
        "..%5csecret.js",
        "....//secret.js",
        ".built-from",
        "index.html",
        "../index.html",
        "index-abc123_-.js%00.css",
        "index-abc123_-.js/",
        "nothing.js",
        "a.js%2f..%2f..%2fsecret.js",
    ],
)
def test_no_name_leads_to_another_file(shared_shop, folder, name):
    """Whatever is asked for that is no asset is refused, without a word of any file."""
    answer = shared_shop.get(None, f"/assets/{name}")
    assert 400 <= answer.status_code < 500
    assert "secret" not in answer.text
    assert "stamp" not in answer.text


def test_a_service_without_a_page_says_how_to_get_one(shared_shop, tmp_path, monkeypatch):
    """A sentence in plain text; the rest of the service is unchanged."""
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    answer = shared_shop.get(None, "/")
    assert answer.status_code == 200
    assert answer.text == page.NOT_BUILT
    assert shared_shop.get(None, "/healthz").status_code == 200


def test_a_page_that_cannot_be_read_is_an_error(shared_shop, tmp_path, monkeypatch):
    """It does not count as a service without a page."""
    (tmp_path / "index.html").mkdir()
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    answer = shared_shop.get(None, "/")
    assert answer.status_code == 500
    assert answer.text != page.NOT_BUILT


def test_scripts_are_under_100_kilobytes(built_page):
    """All of them together, as gzip packs them."""
    scripts = list(built_page.glob("assets/*.js"))
    assert scripts
    assert sum(len(gzip.compress(script.read_bytes())) for script in scripts) < 100_000


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(built_page):
    """The policy would stop it; here it is not even asked for."""
    index = (built_page / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son\w+=", index) == []
    for file in [built_page / "index.html", *built_page.glob("assets/*")]:
        addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", file.read_text("utf-8")))
        assert addresses <= {"http://www.w3.org"}, file.name  # the names of SVG and the like


def wheel_of(checkout: Path, to: Path, env: dict[str, str] | None = None) -> tuple[list[str], str]:
    """Names in the wheel that is built from a checkout, and what the build said."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(to)]
    done = subprocess.run(
        command, cwd=checkout, env=env, capture_output=True, text=True, check=True
    )
    (wheel,) = to.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist(), done.stdout + done.stderr


def test_the_wheel_holds_the_page(built_page, tmp_path):
    """Every file of it, though git ignores them."""
    names, _ = wheel_of(ROOT, tmp_path)
    files = [file for file in built_page.rglob("*") if file.is_file()]
    assert {
        f"tacit/service/page/{file.relative_to(built_page).as_posix()}" for file in files
    } <= set(names)


def test_without_node_and_page_the_build_stops(tmp_path):
    """A checkout that never built the page, on a machine without npm: no wheel, and the way out.
    With the way out taken, the wheel is built without the page."""
    checkout = tmp_path / "checkout"
    leave = shutil.ignore_patterns("node_modules", "__pycache__", "page", "*.nbi", "*.nbc")
    shutil.copytree(ROOT / "src", checkout / "src", ignore=leave)
    shutil.copytree(ROOT / "tools", checkout / "tools")
    (checkout / "client" / "page").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, checkout / name)
    built = tmp_path / "built"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    bare = {"PATH": str(tmp_path)}
    done = subprocess.run(
        command, cwd=checkout, env=bare, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "needs Node 20" in said
    assert "TACIT_WITHOUT_PAGE=1 pip install ." in said
    assert list(built.glob("*.whl")) == []
    names, _ = wheel_of(checkout, built, {**bare, "TACIT_WITHOUT_PAGE": "1"})
    assert "tacit/service/resources/health.py" in names
    assert not any(name.startswith("tacit/service/page/") for name in names)
