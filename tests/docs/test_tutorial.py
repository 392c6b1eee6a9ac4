"""What the pages tell people to type works.

In README.md and docs/tutorial.md, blocks marked `python` share one interpreter and blocks marked
`sh` one folder, empty at first; all run from top to bottom. `console`, `text` and `json` blocks are
only shown. Output is not compared. On every page, a `tacit` command line has to be one that parses.
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

import pytest

from tacit.cli.app import EXIT_CODES, main
from tacit.designs.standard_scheme import canonical
from tacit.designs.standard_scheme.messages import Disclosure, Release, Scores

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")],
    key=lambda page: page.relative_to(ROOT).as_posix(),
)
EXECUTED = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
TARGET = re.compile(r"^make ([a-z-]+)", re.MULTILINE)
A_BLOCK_S = 1500  # seconds: ends a block that hangs, also on a machine that is busy with other work


@dataclass(frozen=True)
class Block:
    """One fenced block; line: that of its first line of code in the page, from 1."""

    page: Path
    language: str
    code: str
    line: int

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start()) + 2
        yield Block(page, fence["language"], fence["code"], line)


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
    """Line numbers of a traceback are those of the page."""
    padded = "\n" * (block.line - 1) + block.code
    try:
        exec(compile(padded, str(block), "exec"), names)  # noqa: S102  # the project's own page
    except Exception as error:
        raise AssertionError(f"{block}: {type(error).__name__}: {error}") from error


def run_shell(block: Block, folder: Path) -> None:
    programs = Path(sys.executable).parent
    assert (programs / "tacit").exists(), "the project is not installed beside this Python"
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=A_BLOCK_S,
    )
    assert done.returncode == 0, f"{block}: exit code {done.returncode}\n{done.stderr}"


def test_the_readme_starts_with_two_commands() -> None:
    """The first block of the README is `make demo` and `make test`, and nothing else."""
    first = next(blocks(ROOT / "README.md"))
    lines = [line for line in first.code.splitlines() if line.strip()]
    assert [TARGET.match(line)[1] for line in lines if TARGET.match(line)] == ["demo", "test"]
    assert len(lines) == 2


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_make_target_named_exists(page: Path) -> None:
    """A page names no target that the Makefile lacks."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    asked = {target for block in blocks(page) for target in TARGET.findall(block.code)}
    asked |= set(re.findall(r"`make ([a-z-]+)", text))
    assert asked <= known


def command_lines() -> Iterator[Any]:
    """Each `tacit` command in a block that shows or runs commands."""
    for page in PAGES:
        for block in blocks(page):
            if block.language in ("sh", "console"):
                code = block.code.replace("\\\n", " ")
                for line in code.splitlines():
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
    assert Disclosure.decode(canonical.encode(json.loads(disclosure))).attributes


def test_the_exit_codes_listed_are_those_of_the_program() -> None:
    """docs/cli.md lists every exit code that `tacit --help` lists, and no other."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert sorted(map(int, listed)) == sorted(map(int, re.findall(r"\b\d+\b", EXIT_CODES)))


def test_a_wrong_block_is_named_by_its_line(tmp_path: Path) -> None:
    """The runner says where a page is wrong, in both languages."""
    page = ROOT / "docs" / "tutorial.md"
    with pytest.raises(AssertionError, match=r"tutorial\.md:7: ZeroDivisionError"):
        run_python(Block(page, "python", "1 / 0\n", 7), {})
    with pytest.raises(AssertionError, match=r"tutorial\.md:9: exit code 3"):
        run_shell(Block(page, "sh", "exit 3\n", 9), tmp_path)


def test_an_unknown_option_does_not_parse(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` at the end does not hide an option that does not exist."""
    assert main(["fit", "standard-scheme", "--no-such-option", "--help"]) == 2


def test_no_block_that_runs_names_an_address() -> None:
    """Nothing that a page tells people to type fetches something from an address."""
    for page in EXECUTED:
        for block in blocks(page):
            assert "http" not in block.code, str(block)
