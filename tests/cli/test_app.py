"""The frame of the command line: help, errors, exit codes."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from functools import cache

import pytest
import typer

from tacit.cli import app as cli
from tacit.errors import DataError, PrivacyError


def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit.cli.app", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=_env(settings))


@cache
def narrow_help(*words: str) -> str:
    """The help at 80 columns, asked for once; in this process, where the commands' modules are."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as shown:
        patch.setenv("COLUMNS", "80")
        patch.setenv("NO_COLOR", "1")
        assert cli.main([*words, "--help"]) == 0
    return shown.getvalue()


def _env(settings: dict[str, str]) -> dict[str, str]:
    import os

    kept = {key: value for key, value in os.environ.items() if key != "TACIT_DEBUG"}
    return {**kept, "COLUMNS": "200", "NO_COLOR": "1", **settings}


@pytest.fixture
def broken(monkeypatch):
    """Put a command in the place of `doctor` that raises what the test gives it."""

    def put(error: BaseException) -> None:
        stand_in = typer.Typer()

        @stand_in.command()
        def doctor(as_json: bool = typer.Option(False, "--json")) -> None:
            raise error

        monkeypatch.setattr(cli, "resolve_name", lambda name: stand_in)

    return put


def test_help_lists_every_command():
    """`tacit --help` shows each command with its line, and the exit codes."""
    shown = run("--help").stdout
    assert all(name in shown and line in shown for name, line in cli.COMMANDS.items())
    assert "5 refused, to protect privacy" in " ".join(shown.split())


def test_no_words_is_a_call_for_help():
    """`tacit` alone prints the help and is no error."""
    bare = run()
    assert (bare.returncode, bare.stdout) == (0, run("--help").stdout)


def test_help_imports_no_command():
    """Listing the commands imports none of them, nor NumPy."""
    code = (
        "import sys; from tacit.cli.app import main; main(['--help']); "
        "print([m for m in sys.modules if m.startswith('tacit.cli.') or m == 'numpy'])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines()[-1] == "['tacit.cli.first_use', 'tacit.cli.app']"


def test_every_listed_command_exists():
    """Each name in the table is a module whose help can be shown."""
    for name in cli.COMMANDS:
        assert f"tacit {name}" in narrow_help(name)


@pytest.mark.parametrize(
    "words", [(), ("fit",), ("fit", "ease"), ("fit", "xmap"), ("attack",), ("data", "import")]
)
@pytest.mark.parametrize("asked", ["-h", "--help"])
def test_help_is_that_of_the_whole_parser(capsys, words, asked):
    """Help is printed without reading values of options; the text is the same."""
    assert cli.main([*words, asked]) == 0
    printed = capsys.readouterr().out
    assert typer.main.get_command(cli.app)([*words, asked], "tacit", standalone_mode=False) == 0
    assert printed == capsys.readouterr().out
    assert f"Usage: {' '.join(['tacit', *words])}" in printed


@pytest.mark.parametrize("words", [("nothing", "-h"), ("fit", "nothing", "--help")])
def test_help_of_no_command_is_an_error(capsys, words):
    """A name that is no command's is said, as without the option."""
    assert cli.main(words) == 2
    assert "No such command 'nothing'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [*((name,) for name in (*cli.COMMANDS, "")), ("fit", "standard-scheme")],
    ids=" ".join,
)
def test_help_cuts_nothing_on_a_narrow_terminal(words):
    """At 80 columns no option, default or line about a command loses its end."""
    shown = narrow_help(*filter(None, words))
    assert "…" not in shown
    assert "..." not in re.sub(r"[A-Z][\]}]\.\.\.", "", shown)
    if "standard-scheme" in words:
        assert "--disclosure-epsilon" in shown
        assert "scheme+selection+rounding" in shown


def test_completion_is_offered_once():
    """Shell completion is installed for `tacit` as a whole, not command by command."""
    assert "--install-completion" in run("--help").stdout
    assert "--install-completion" not in run("doctor", "--help").stdout


def test_version():
    """`tacit --version` prints the installed version."""
    from tacit import __version__

    assert run("--version").stdout == f"tacit {__version__}\n"


def test_own_error_is_one_paragraph(broken, capsys):
    """A TacitError gives its sentence on stderr, its own exit code, and no traceback."""
    broken(DataError("a rating is not a number", path="r.csv", row=3, found="x"))
    assert cli.main(["doctor"]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == "Error: r.csv, row 3: a rating is not a number; found 'x'.\n"


@pytest.mark.parametrize("words", [["--debug", "doctor"], ["doctor", "--debug"]])
def test_debug_shows_the_traceback(broken, capsys, words):
    """`--debug`, before or after the command, adds the traceback and keeps the exit code."""
    broken(PrivacyError("Refused."))
    assert cli.main(words) == 5
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--debug"]])
def test_without_a_command_the_help_is_printed(capsys, words):
    """`--debug` alone is no command."""
    assert cli.main(words) == 0
    assert "Usage" in capsys.readouterr().out


def test_debug_by_environment(broken, capsys, monkeypatch):
    """TACIT_DEBUG=1 does what `--debug` does."""
    monkeypatch.setenv("TACIT_DEBUG", "1")
    broken(PrivacyError("Refused."))
    cli.main(["doctor"])
    assert "Traceback" in capsys.readouterr().err


def test_error_as_json(broken, capsys):
    """With `--json` an error is one JSON object on stderr and stdout stays empty."""
    broken(DataError("a rating is not a number", path="r.csv", row=3))
    assert cli.main(["doctor", "--json"]) == 3
    output = capsys.readouterr()
    error = json.loads(output.err)["error"]
    assert output.out == ""
    assert (error["type"], error["row"], error["exit_code"]) == ("DataError", 3, 3)


def test_a_bug_says_so(broken, capsys):
    """An error nobody foresaw exits with 70 and tells how to report it, without a traceback."""
    broken(ZeroDivisionError("division by zero"))
    assert cli.main(["doctor"]) == 70
    message = capsys.readouterr().err
    assert "bug in tacit" in message
    assert "--debug" in message
    assert "Traceback" not in message


def test_unwritable_path_is_no_bug(broken, capsys):
    """A path the system refuses is named with the system's reason."""
    broken(PermissionError(13, "Permission denied", "/no/m.tacit"))
    assert cli.main(["doctor"]) == 1
    assert "/no/m.tacit: Permission denied" in capsys.readouterr().err


def test_a_size_that_no_machine_has_is_no_bug(capsys, tmp_path):
    """NumPy refuses an array of 10^23 columns otherwise than one that does not fit."""
    words = ("--users", "9", "--items", "9" * 23, "--ratings", "9", "--seed", "1")
    assert cli.main(["data", "generate", str(tmp_path / "r.csv"), *words]) == 1
    assert "not enough memory" in capsys.readouterr().err


def test_interrupt(broken, capsys):
    """Ctrl-C exits with 130 and no traceback."""
    broken(KeyboardInterrupt())
    assert cli.main(["doctor"]) == 130
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["docter"], "Did you mean 'doctor'"),
        (["doctor", "--nonsense"], "tacit doctor --help"),
    ],
)
def test_wrong_usage(words, says):
    """A wrong word exits with 2 and points to the right one or to the help."""
    answer = run(*words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert says in answer.stderr


def test_wrong_usage_as_json():
    """Wrong usage under `--json` is JSON on stderr too."""
    answer = run("doctor", "--json", "--nonsense")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert json.loads(answer.stderr)["error"]["exit_code"] == 2


@pytest.mark.parametrize("words", ["--help", "doctor", "doctor --json"])
def test_closed_pipe_is_quiet(words):
    """A reader that stops reading, as in `tacit ... | head -1`, leads to no complaint."""
    command = f"{sys.executable} -m tacit.cli.app {words} | true"
    answer = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert answer.stderr == ""


def test_lists_may_have_commas(capsys):
    """Every list of names: `--method a,b` is `--method a --method b`."""
    words = [
        "simulate",
        "prec",
        "--rounds",
        "20",
        "--voters",
        "30",
        "--peers",
        "10",
        "--seeds",
        "1",
    ]
    assert cli.main([*words, "--method", "majority,uniform", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["method"] for row in rows} == {"majority", "uniform"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("fit popularity --where item=1,2 -o m.tacit", "item=1,2"),
        ("fit standard-scheme --edges age=30,b -o m.tacit", "got age=30,b."),
        ("attack --model tacit:Private --set epsilon=[1,2]", "epsilon"),
    ],
)
def test_a_value_that_belongs_to_a_name_may_have_commas(tmp_path, capsys, words, says):
    """NAME=a,b is one text, not NAME=a and b: what is wrong with it is said of the whole."""
    ratings = tmp_path / "r.csv"
    ratings.write_text("user,item,rating\n1,1,5\n2,1,3\n2,2,4\n")
    command, *others = words.split()
    if command == "fit":
        command = f"fit {others.pop(0)}"
    assert cli.main([*command.split(), str(ratings), *others]) != 0
    told = capsys.readouterr().err
    assert says in " ".join(told.split())
