"""What the pages tell people to type works.

In README.md, docs/tutorial.md and the notebooks, blocks marked `python` share one interpreter and
blocks marked `sh` one folder, empty at first; all run from top to bottom. `pip install .` is left
out but in a long test, and so are all tours of `tacit demo` but one, which tests/cli/test_demo.py
makes; `tacit serve` is stopped once it answers. `console`, `text` and `json` blocks are only shown.
Output is not compared. On every page, a `tacit` command line has to be one that parses.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import executed
import pytest

import tacit
from tacit.cli.app import EXIT_CODES, main
from tacit.designs.standard_scheme.disclosure import Disclosure
from tacit.designs.standard_scheme.messages import Release, Scores, encode
from tests.support.executed_pages import EXECUTED, ROOT
from tests.support.seen import require_any

PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")],
    key=lambda page: page.relative_to(ROOT).as_posix(),
)
TARGET = re.compile(r"^make ([a-z-]+)", re.MULTILINE)
A_BLOCK_S = 1500  # seconds: ends a block that hangs, also on a machine that is busy with other work


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    cell: executed.Cell

    @property
    def language(self) -> str:
        return self.cell.language

    @property
    def code(self) -> str:
        return self.cell.code

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.cell.line}"


def blocks(page: Path) -> Iterator[Block]:
    for cell in executed.cells(page.read_text(encoding="utf-8")):
        yield Block(page, cell)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", EXECUTED, ids=named)
def test_every_block_runs_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever types this page from top to bottom into an empty folder sees no error."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    ran = 0
    for block in blocks(page):
        if block.language == "python":
            run_python(block, names)
        elif block.language == "sh" and not TARGET.match(block.code):
            run_shell(block, tmp_path)
        else:
            continue
        ran += 1
    assert ran >= 2, f"{named(page)} has hardly a block that runs"


def run_python(block: Block, names: dict[str, Any]) -> None:
    try:
        executed.run(block.cell, str(block), names)
    except Exception as error:
        raise AssertionError(f"{block}: {type(error).__name__}: {error}") from error


SERVE = re.compile(r"^(tacit serve\b.*)$", re.MULTILINE)
STOPPED_ONCE_IT_ANSWERS = r"""
\1 --port 0 > serving.txt &
until grep -q http: serving.txt; do kill -0 $!; sleep 0.1; done
kill $!; wait $! || test $? -eq 143"""
TOURS = re.compile(r"^tacit demo(?= *(#|$))", re.MULTILINE)
INSTALL = re.compile(r"^pip install '?\.(\[[a-z,]+\])?'?.*$", re.MULTILINE)


def run_shell(block: Block, folder: Path, *, tours: str = "tacit demo prec") -> None:
    programs = Path(sys.executable).parent
    assert (programs / "tacit").exists(), "the project is not installed beside this Python"
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    code = SERVE.sub(STOPPED_ONCE_IT_ANSWERS, INSTALL.sub("", block.code))
    code = TOURS.sub(tours, code)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=A_BLOCK_S,
    )
    assert done.returncode == 0, f"{block}: exit code {done.returncode}\n{done.stderr}"


def test_the_readme_starts_with_two_commands() -> None:
    """The first block of the README installs tacit, with every extra it needs, and tours it."""
    first = next(blocks(ROOT / "README.md"))
    lines = [line.split("#")[0].strip() for line in first.code.splitlines()]
    assert lines == ["pip install '.[service,plots]'", "tacit demo"]


@pytest.mark.long
def test_the_readme_in_a_fresh_environment(tmp_path: Path, monkeypatch) -> None:
    """What the first line installs is enough for the rest of the page; needs a package index."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "fresh"], check=True)
    python = tmp_path / "fresh" / "bin" / "python"
    extra = INSTALL.search(next(blocks(ROOT / "README.md")).code)[1]
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{ROOT}{extra}"], check=True)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "empty").mkdir()
    for block in blocks(ROOT / "README.md"):
        if block.language == "sh" and not TARGET.match(block.code):
            run_shell(block, tmp_path / "empty", tours="tacit demo")


def test_every_block_of_the_readme_is_executed() -> None:
    """None is only shown; those of `make` name the two targets that set everything up."""
    shown = [
        block for block in blocks(ROOT / "README.md") if block.language not in ("sh", "python")
    ]
    made = [t for block in blocks(ROOT / "README.md") for t in TARGET.findall(block.code)]
    assert (shown, made) == ([], ["demo", "test"])


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_make_target_named_exists(page: Path) -> None:
    """A page names no target that the Makefile lacks."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    asked = {target for block in blocks(page) for target in TARGET.findall(block.code)}
    asked |= set(re.findall(r"`make ([a-z-]+)", text))
    assert asked <= known


def remove_prompt(line: str) -> str:
    """The command of a line that may begin with the shell's `$`."""
    return line.removeprefix("$ ")


def command_lines() -> Iterator[Any]:
    """Each `tacit` command in a block that shows or runs commands."""
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("sh", "console"):
                code = block.code.replace("\\\n", " ")
                for line in map(remove_prompt, code.splitlines()):
                    if line.startswith("tacit "):
                        typed = re.split(r" (?:>|\||&&|#)", line)[0]
                        yield pytest.param(shlex.split(typed)[1:], id=f"{block} {typed[:60]}")


@pytest.mark.parametrize("words", list(command_lines()))
def test_every_command_line_parses(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """No page shows a command or an option that does not exist."""
    code = main([*words, "--help"])  # options are parsed before help is printed
    assert code == 0, capsys.readouterr().err


def test_the_messages_shown_are_messages() -> None:
    """The examples on the page of messages decode; those on one line byte for byte."""
    shown = [block.code for block in blocks(ROOT / "docs" / "messages.md")]
    release, scores, disclosure = (code.strip() for code in shown)
    assert Release.decode(release.encode()).ratings
    assert Scores.decode(scores.encode()).scores
    assert Disclosure.decode(encode(json.loads(disclosure))).attributes


def test_the_exit_codes_listed_are_those_of_the_program() -> None:
    """docs/cli.md lists every exit code that `tacit --help` lists, and no other."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert sorted(map(int, listed)) == sorted(map(int, re.findall(r"\b\d+\b", EXIT_CODES)))


def test_a_wrong_block_is_named_by_its_line(tmp_path: Path) -> None:
    """The runner says where a page is wrong, in both languages."""
    page = ROOT / "docs" / "tutorial.md"
    with pytest.raises(AssertionError, match=r"tutorial\.md:7: ZeroDivisionError"):
        run_python(Block(page, executed.Cell("python", "1 / 0\n", 7, 0)), {})
    with pytest.raises(AssertionError, match=r"tutorial\.md:9: exit code 3"):
        run_shell(Block(page, executed.Cell("sh", "exit 3\n", 9, 0)), tmp_path)


def test_an_unknown_option_does_not_parse(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` at the end does not hide an option that does not exist."""
    assert main(["fit", "standard-scheme", "--no-such-option", "--help"]) == 2


def test_outputs_stand_after_their_block() -> None:
    """What a block prints, then the value of its last line; HTML where an object has a view."""
    page = "```python\nprint(1)\n2\n```\nand\n```python\nimport tacit\ntacit.Popularity()\n```\n"
    shown = executed.with_outputs(page, "page.md")
    assert "```\n\n```text\n1\n2\n```\n\nand" in shown
    assert re.search("```{raw} html\n<table><caption[^>]*>Popularity</caption>", shown)


def test_no_block_that_runs_names_an_address() -> None:
    """Nothing that a page tells people to type fetches something from an address."""
    for page in require_any(EXECUTED):
        for block in require_any(blocks(page)):
            assert "http" not in block.code, str(block)


def test_the_api_pages_have_every_public_name() -> None:
    """Each name of `tacit.__all__` stands on one page with its documentation and in an example."""
    documented: list[str] = []
    examples = ""
    for page in require_any((ROOT / "docs" / "api").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        documented += re.findall(r"auto(?:class|function):: tacit\.(\w+)$", text, re.MULTILINE)
        examples += "".join(block.code for block in blocks(page) if block.language == "python")
    assert sorted(documented) == sorted(set(tacit.__all__) - {"__version__"})
    errors = {name for name in documented if name.endswith(("Error", "Extra"))}
    assert set(documented) - errors <= set(re.findall(r"tacit\.(\w+)", examples))
