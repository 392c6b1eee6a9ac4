"""The deployment kit: its commands run, its settings and metrics exist."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from tacit.service.monitoring import Metrics

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


def test_the_unit_is_well_formed(tmp_path):
    """As systemd reads it."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not there")
    unit = tmp_path / "tacit.service"
    unit.write_text(
        (KIT / "tacit.service").read_text().replace("/opt/tacit/bin/tacit", "/bin/true")
    )
    found = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True)
    assert "tacit.service" not in found.stderr


@pytest.mark.long
def test_the_steps_of_the_image(tmp_path):
    """Where no container runs: its steps in a bare folder, its command, its health check."""
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
    (tmp_path / "head").mkdir()
    health = json.loads(line_of("HEALTHCHECK").partition(" CMD ")[2])
    with subprocess.Popen([tacit, *words], cwd=tmp_path) as process:
        try:
            asked = [f"{tmp_path}/tacit/bin/python", *health[1:]]
            until = time.monotonic() + 120
            while subprocess.run(asked, capture_output=True).returncode:
                assert time.monotonic() < until
        finally:
            process.terminate()
