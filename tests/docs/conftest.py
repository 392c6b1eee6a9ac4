"""A service for pages whose blocks ask one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of someone who started `tacit serve --demo` and exported what it printed."""
    folder = tmp_path_factory.mktemp("demonstration") / "shop"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tacit.cli.app", "serve", "--demo", str(folder)),
            *("--port", "0", "--json"),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TACIT_ANSWER_WITHIN": "300"},
    )
    with process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        programs = Path(sys.executable).parent
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        yield {"SERVICE": told["address"], "OPERATOR": told["keys"]["operator"], "PATH": path}
        process.terminate()
