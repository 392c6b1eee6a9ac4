# Appended to a module by a test of `tools/mutants.py`: its first use takes longer than a test may.
import os
import time
from pathlib import Path

_is_open_quickly = is_open  # type: ignore[name-defined]  # noqa: F821


def is_open(gate: object, survivors: int) -> object:
    used = Path(os.environ["SLOW_ONCE"])
    if not used.exists():
        used.touch()
        began = time.process_time()
        while time.process_time() - began < 60:
            pass
    return _is_open_quickly(gate, survivors)
