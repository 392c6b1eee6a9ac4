"""The deployment kit: its commands run, its settings and metrics exist."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tacit.service.metrics import Metrics

ROOT = Path(__file__).parents[2]
KIT = ROOT / "deploy"


def line_of(word):
    """What follows a word of the Dockerfile's last stage."""
    text = (KIT / "Dockerfile").read_text()
    return re.findall(rf"^{word} (.*)$", text, re.MULTILINE)[-1]


def commands():
    """Every command line of `tacit serve` in the kit."""
    compose = yaml.safe_load((KIT / "compose.yaml").read_text())
    unit = (KIT / "tacit.service").read_text()
    return [
        json.loads(line_of("CMD")),
        compose["services"]["tacit"]["command"],
        shlex.split(re.search(r"ExecStart=\S+ (.*)", unit)[1]),
    ]


def test_every_flag_exists():
    """A misspelt flag would stop the service at its start."""
    found = subprocess.run(
        [sys.executable, "-m", "tacit.cli.app", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    flags = {word for line in commands() for word in line if word.startswith("--")}
    assert flags >= {"--second", "--behind-tls"}
    assert [flag for flag in flags if flag not in found] == []


@pytest.mark.parametrize("name", ["prometheus-rules.yaml", "grafana.json"])
def test_every_metric_exists(name):
    """An alert on a metric that is never counted would never come."""
    metrics = Metrics()
    metrics.observe("GET /healthz", 200, 0.01)
    known = set(re.findall(r"^(tacit_\w+)", metrics.text().decode(), re.MULTILINE))
    content = yaml.safe_load((KIT / name).read_text())  # JSON is YAML
    used = set(re.findall(r"tacit_\w+", json.dumps(content)))
    assert used
    assert used <= known


@pytest.fixture
def analyze():
    """systemd's own judge of units."""
    found = shutil.which("systemd-analyze")
    if found is None:
        pytest.skip("systemd-analyze is not there")
    return found


def exposure_is_below(analyze, most, unit):
    """most: tenths of what `systemd-analyze security` counts, from 0 (safe) to 100."""
    asked = [analyze, "security", "--offline=true", f"--threshold={most}", str(unit)]
    return subprocess.run(asked, capture_output=True).returncode == 0


def test_the_unit_is_hardened(analyze, tmp_path):
    """Below 1.5 of 10; without one of its lines it is above."""
    unit = KIT / "tacit.service"
    assert exposure_is_below(analyze, 15, unit)
    open_unit = tmp_path / "tacit.service"
    open_unit.write_text(unit.read_text().replace("CapabilityBoundingSet=\n", ""))
    assert not exposure_is_below(analyze, 15, open_unit)


def test_the_unit_is_well_formed(analyze, tmp_path):
    """As systemd reads it."""
    unit = tmp_path / "tacit.service"
    unit.write_text(
        (KIT / "tacit.service").read_text().replace("/opt/tacit/bin/tacit", "/bin/true")
    )
    found = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True)
    assert "tacit.service" not in found.stderr


READ_ONLY = """
mount --make-rprivate / && mount --bind "$0" "$0"
for place in data head tmp; do mount --bind "$0/$place" "$0/$place"; done
mount -o remount,bind,ro "$0" && mount -o remount,bind,ro / && exec "$@"
"""
"""A command with nothing to write to but the places that the container has."""


def read_only(tmp_path):
    """What goes before a command; nothing where only root could do it."""
    words = ["unshare", "--mount", "sh", "-euc"]
    able = shutil.which("unshare") and not subprocess.run([*words, "true"]).returncode
    return [*words, READ_ONLY, str(tmp_path)] if able else []


@pytest.mark.long
def test_the_steps_of_the_image(tmp_path):
    """Where no container runs: its steps in a bare folder, its command on a read-only root, its
    health check."""
    places = {"/opt/tacit": f"{tmp_path}/tacit", "/src": str(ROOT)}
    build = (KIT / "Dockerfile").read_text().split("\nFROM ")[1]
    for step in re.findall(r"^RUN (.*)$", build, re.MULTILINE):
        for place, here in places.items():
            step = step.replace(place, here)
        subprocess.run(step.replace("python -m", f"{sys.executable} -m"), shell=True, check=True)
    ratings = tmp_path / "r.csv"
    rows = [f"{person},{item},{1 + person % 5}" for person in range(40) for item in range(9)]
    ratings.write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    tacit = f"{tmp_path}/tacit/bin/tacit"
    subprocess.run([tacit, "init", f"{tmp_path}/data", ratings], check=True, cwd=tmp_path)
    words = [f"{tmp_path}{word}" if word[0] == "/" else word for word in json.loads(line_of("CMD"))]
    for place in ("head", "tmp"):
        (tmp_path / place).mkdir()
    settings = {**os.environ, "HOME": "/data", "TMPDIR": f"{tmp_path}/tmp"}
    health = json.loads(line_of("HEALTHCHECK").partition(" CMD ")[2])
    command = [*read_only(tmp_path), tacit, *words]
    with subprocess.Popen(command, cwd=tmp_path, env=settings) as process:
        try:
            asked = [f"{tmp_path}/tacit/bin/python", *health[1:]]
            until = time.monotonic() + 120
            while subprocess.run(asked, capture_output=True).returncode:
                assert process.poll() is None
                assert time.monotonic() < until
        finally:
            process.terminate()
