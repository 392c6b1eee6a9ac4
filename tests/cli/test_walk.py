"""A walk through all commands in the tutorial's order: what each says to type next is typed."""

from __future__ import annotations

import contextlib
import io
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacit.cli.app import main
from tacit.design import design, names
from tacit.designs.sketches import Report, new_campaign
from tests.support.program import all_commands

WALK = """
tacit doctor
tacit data generate ratings.csv --seed 2 --users 150 --items 40 --ratings 3000
tacit data import orders.csv -o shop
tacit data export ratings.csv --to recbole
tacit fit private ratings.csv --epsilon 3 -o private.tacit
tacit recommend private.tacit --history mine.csv -n 5
tacit recommend private.tacit --all ratings.csv
tacit fit standard-scheme ratings.csv --users ratings-users.csv --attribute gender \
  --service-sees-items no --item-table --no-measure -o scheme.tacit
tacit recommend scheme.tacit --history mine.csv
tacit fit standard-scheme ratings.csv --users ratings-users.csv --attribute gender \
  --service-sees-items no --no-measure -o letters.tacit
tacit recommend letters.tacit --history mine.csv
tacit attack standard-scheme ratings.csv --users ratings-users.csv --folds 3 --attack lda \
  --workers 1
tacit data films films.csv --users 150
tacit data domains films.csv --items films-items.csv
tacit recommend model.tacit --history mine.csv
tacit evaluate xmap films-domains.csv --domain-column domain --source D1 --target D2 \
  --seeds 1 --k 5 --epsilon 1 --variant sound --method x-map-ib --method popularity --workers 1
tacit evaluate private ratings.csv --seeds 1 --epsilon 1 --workers 1
tacit evaluate private films.csv --items films-items.csv --features genres --seeds 1 \
  --lifetime 1 --fits 3 --weeks 1,3 --workers 1
tacit evaluate sketches ratings.csv --seeds 1 --epsilon 4 --users-curve 300 --rated 20
tacit compare ratings.csv --epsilon 1 --seeds 1 --design private --no-attacks --workers 1
tacit attack --model popularity ratings.csv --attack membership --shadows 4 --victims 1
tacit fit popularity ratings.csv
tacit fit private-popularity ratings.csv --epsilon 1 -o counts.tacit
tacit plan private --people 5000 --items 200 --epsilon 1
tacit plan private --people 5000 --items 200 --epsilon 1 --fits 3
tacit plan xmap --ratings 100000 --people 5000 --items 200
tacit plan sketches --items 200 --rated 20 --epsilon 1
tacit plan prec --objects 2 --rounds 20 --peers 12 --voters 300
tacit simulate standard-scheme
tacit simulate xmap --samples 200 --pairs 100
tacit simulate sketches --items 60 --rated 20 --people 500 --seeds 1 --workers 1
tacit simulate prec --rounds 20 --voters 100 --peers 30 --seeds 1 --workers 1
tacit simulate pdap --arrivals 50 --test 50 --seeds 1 --policies dap,uniform
tacit replay prec votes.csv --follow 1 --voters 100
tacit replay pdap visits.csv --contexts age
tacit device explain
tacit sketches fold campaign.bin reports.bin
tacit guarantee laplace --epsilon 1
tacit audit laplace --samples 1000
tacit reproduce prec
tacit reproduce prec 'Theorem 15'
tacit ledger create budgets.db --operator-key operator.key
tacit ledger advance budgets.db --operator-key operator.key
tacit ledger token 2 --operator-key operator.key
tacit ledger verify budgets.db
tacit ledger export budgets.db
tacit ledger backup budgets.db
tacit init service ratings.csv
tacit refit service ratings.csv
tacit keys list service
tacit keys add service auditor --role auditor
tacit keys revoke service auditor
"""
"""Lines that are typed; a line that one of them says to type next is typed after it."""
NOT_WALKED = {
    "demo": "its three lines are typed by test_demo.py",
    "data get": "needs the network",
    "serve": "runs until it is stopped; tests/service starts it",
    "keys vendor": "a folder of vendors; tests/service makes one",
    "ledger restore": "a ledger that is gone; test_ledger_changes.py",
    "fit als": "prints what `fit popularity` prints",
    "fit ease": "prints what `fit popularity` prints",
    "fit item-item": "prints what `fit popularity` prints",
    "fit item-mean": "prints what `fit popularity` prints",
    "fit item-knn": "prints what `fit popularity` prints",
    "fit matrix-factorization": "prints what `fit popularity` prints",
    "fit remote-user": "prints what `fit popularity` prints",
    "fit user-average": "prints what `fit popularity` prints",
    "fit user-item-mean": "prints what `fit popularity` prints",
}
"""Commands that the walk leaves out, each with the reason."""
TOO_LONG = {
    "tacit serve ": "runs until it is stopped",
    "tacit audit ": "an audit samples for up to minutes; the tests of audits run each",
    "tacit simulate pdap": "40 CPU seconds; walked with fewer visits",
}
"""Beginnings of lines that are told and not typed, with the reason; that they parse is tested."""


@dataclass(frozen=True)
class Step:
    """A line that was typed, and what it said."""

    line: str
    code: int
    output: str
    told: str
    """Line that it says to type next; empty where it says none."""


def type_line(line: str) -> Step:
    """Type a line in the current folder, as a person does."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(shlex.split(line)[1:])
    output = printed.getvalue()
    lines = output.splitlines()
    announced = [number for number, text in enumerate(lines) if text.startswith("Next:")]
    told = lines[announced[-1] + 1].strip() if announced else ""
    return Step(line, code, output, told)


def is_too_long(line: str) -> bool:
    """Whether a line is one of `TOO_LONG`; a planted audit of one mechanism is not."""
    if line == "tacit audit laplace --planted":
        return False
    return line.startswith(tuple(TOO_LONG))


def type_all_told(steps: dict[str, Step], line: str) -> None:
    """Type a line, then what it says to type next, until that was typed already."""
    while line and line not in steps:
        steps[line] = type_line(line)
        line = steps[line].told
        if is_too_long(line):
            break


def write_inputs() -> None:
    """Write the files that a person of the walk brings."""
    Path("mine.csv").write_text("item,rating\n3,5\n12,4\n17,2\n25,4\n")
    orders = [f"{person},{item}\n" for person in range(60) for item in range(person % 7, 30, 7)]
    Path("orders.csv").write_text("customer,product\n" + "".join(orders))
    votes = [f"{r},{v},{'ab'[v % 2]}{r}\n" for r in range(1, 6) for v in range(1, 61)]
    Path("votes.csv").write_text("round,voter,candidate\n" + "".join(votes))
    visits = [f"{n % 10 / 10},{'xy'[n % 2]},{n % 3 == 0:d}\n" for n in range(400)]
    Path("visits.csv").write_text("age,shown,click\n" + "".join(visits))
    campaign = new_campaign(range(20), rated=5, epsilon=2.0)
    Path("campaign.bin").write_bytes(campaign.encode())
    reports = [Report(campaign.id, ticket, 0).encode() for ticket in range(1, 50)]
    Path("reports.bin").write_bytes(b"".join(reports))


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Step]]:
    """Walk once, in a folder of its own."""
    with contextlib.chdir(tmp_path_factory.mktemp("walk")):
        write_inputs()
        typed: dict[str, Step] = {}
        for line in WALK.replace("\\\n", "").strip().splitlines():
            type_all_told(typed, " ".join(line.split()))
        for name in names():
            cards = design(name)
            for after in (cards.after_cards, cards.part("audit")().next_step):
                line = after.partition("  ")[0]
                if not is_too_long(line):
                    type_all_told(typed, line)
        yield typed


def test_every_step_is_done(steps: Mapping[str, Step]) -> None:
    """Lines of the walk, and lines that were told, all end with exit code 0."""
    failed = {line: step.output[-500:] for line, step in steps.items() if step.code != 0}
    assert not failed
    assert len(steps) > len(WALK.replace("\\\n", "").strip().splitlines()) + 10


def test_what_is_announced_is_a_command_of_its_own_line(steps: Mapping[str, Step]) -> None:
    """Below each "Next:" stands one command, without its gloss and without a placeholder."""
    announced = 0
    for step in steps.values():
        lines = step.output.splitlines()
        for number, text in enumerate(lines):
            if text.startswith("Next:"):
                announced += 1
                assert lines[number + 1].startswith("  tacit "), step.line
                assert not any(word.isalpha() and word.isupper() for word in step.told.split())
                assert "Put yours for" not in text, step.line
    assert announced > 30


def test_lines_that_are_too_long_to_type_are_told_as_they_parse(steps: Mapping[str, Step]) -> None:
    """A told line that is not typed names a command of the program and options that it has."""
    told = {step.told for step in steps.values() if step.told} - steps.keys()
    assert told
    commands = all_commands()
    for line in told:
        assert line.startswith(tuple(TOO_LONG)), line
        words = shlex.split(line)[1:]
        command = commands.get(words[0]) or commands[" ".join(words[:2])]
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options


def test_every_command_is_walked(steps: Mapping[str, Step]) -> None:
    """Each command of the program was typed, or is left out with a reason."""
    lines = [line.replace("attack --model", "attack model").split()[1:] for line in steps]
    walked = {" ".join(words[:count]) for words in lines for count in (1, 2)}
    commands = all_commands().keys()
    assert {"fit private", "recommend", "ledger create"} <= commands
    assert commands - walked == NOT_WALKED.keys()
