"""Run under LD_PRELOAD: each call of a release fails once, in a process of its own.

python disk_faults.py FOLDER ERRNO

Prints a line of JSON for each call: which one failed, what was told, and what a new
process finds afterwards.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from itertools import count
from pathlib import Path

from tacit.errors import TacitError
from tacit.ledger import Cap, open_ledger, sqlite
from tests.support.ledger_requests import FILMS, ask

faults = ctypes.CDLL(os.environ["LD_PRELOAD"])
faults.failed_call.restype = ctypes.c_char_p


def told(work):
    """None where it was done, else the kind of error and its sentence."""
    try:
        work()
    except TacitError as error:
        return [type(error).__name__, str(error)]
    return None


def in_a_process(work):
    """What `work` gives, from a fork."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, json.dumps(work()).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        found = told.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(found)


def with_fault(path, number, error):
    """Two releases, with one failed call within the first, or as the log is emptied after it."""
    sqlite.WAL_CHECKPOINT_AFTER_S = 3600  # the log is emptied here
    with open_ledger(path) as ledger:
        faults.fail_call(number, error)
        first = told(lambda: ask(ledger, "a", FILMS))
        emptied = told(ledger.checkpoint_wal)
        failed = faults.failed_call().decode()
        faults.fail_call(-1, 0)
        second = told(lambda: ask(ledger, "b", FILMS))
        return {"failed": failed, "first": first, "emptied": emptied, "second": second}


def afterwards(path):
    """What is on disk, and whether asking again is safe."""
    with open_ledger(path, create=False) as ledger:
        sound, spent = ledger.verify().is_sound, ledger.balance(FILMS).spent
        repeated = [ask(ledger, key, FILMS).repeated for key in "ab"]
        return {"sound": sound, "spent": spent, "repeated": repeated,
                "then": ledger.balance(FILMS).spent}  # fmt: skip


def made(path):
    with open_ledger(path) as ledger:
        ledger.open_budget(FILMS, Cap.pure("0.00001"))


def copied(path, copy):
    """The files of a closed ledger, beside it."""
    for one in path.parent.glob(f"{path.name}*"):
        shutil.copy(one, f"{copy}{one.name.removeprefix(path.name)}")


def main(folder, error):
    made(folder / "new.db")  # here, so that what it imports is imported for all processes
    for number in count():
        path = folder / f"{number}.db"
        copied(folder / "new.db", path)
        found = in_a_process(lambda path=path, n=number: with_fault(path, n, error))
        found |= in_a_process(lambda path=path: afterwards(path))
        sys.stdout.write(json.dumps(found) + "\n")
        if not found["failed"]:  # there are no more calls
            return


main(Path(sys.argv[1]), int(sys.argv[2]))
