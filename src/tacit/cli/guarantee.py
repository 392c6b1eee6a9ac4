"""`tacit guarantee`: what is promised, to whom, and on what evidence."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.panel import Panel
from rich.text import Text

from tacit import terminal
from tacit.errors import ConfigError
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.privacy import Guarantee

app = typer.Typer()
_COLOURS = {
    "proved": "green",
    "exact": "green",
    "conditional": "yellow",
    "refuted": "bold red",
    "measured": "yellow",
    "unmeasured": "yellow",
    "none": "dim",
}
"""Of a card's first line, by its basis; red stands for refuted alone."""


def guarantee(what: str, *, as_json: bool, **given: Any) -> None:
    """Print the guarantee cards of a model file, a design before it is fitted, or a mechanism."""
    from tacit.design import names
    from tacit.mechanisms.guarantees import NAMES
    from tacit.privacy import refuted_first

    given = {name: value for name, value in given.items() if value is not None}
    if what in NAMES:
        cards, following, useful = _of_mechanism(what, given), _audit_of(what), None
    elif what in names():
        cards, following, useful = _of_design(what, given)
    else:
        cards, following, useful = _of_file(Path(what), given)
    terminal.emit(
        {"guarantees": [card.to_dict() for card in refuted_first(cards)], "useful": useful},
        as_json=as_json,
        render=partial(_show, following=following),
    )


def _options() -> dict[str, inspect.Parameter]:
    """The options of every design's cards: one each, with what it means for which design."""
    from tacit.design import design, names, options_of

    meant: dict[str, dict[str, list[str]]] = {}
    types: dict[str, Any] = {}
    for name in names():
        settings = design(name).card_settings
        hints = get_type_hints(settings)
        for key, field in options_of(settings).items():
            default = "" if field.default in (MISSING, None) else f" [default: {field.default}]"
            meaning = field.metadata["help"] + default
            meant.setdefault(key, {}).setdefault(meaning, []).append(name)
            types[key] = hints[key] | None
    return {
        key: inspect.Parameter(
            key,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[types[key], typer.Option(help=_meanings(meant[key]))],
        )
        for key in meant
    }


def _meanings(meant: dict[str, list[str]]) -> str:
    return " ".join(f"{', '.join(designs)}: {meaning}" for meaning, designs in meant.items())


def _declare() -> None:
    """Make the command, with one option for each of `_options`."""
    from tacit.design import names

    about = f"A model file, a mechanism, or a design: {', '.join(names())}."
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    what = Annotated[str, typer.Argument(help=about)]
    parameters = [
        inspect.Parameter("what", kind, annotation=what),
        *_options().values(),
        inspect.Parameter("as_json", kind.KEYWORD_ONLY, default=False, annotation=JSON),
    ]
    guarantee.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    guarantee.__annotations__ = {each.name: each.annotation for each in parameters}
    app.command()(guarantee)


_declare()


def _of_design(
    name: str, given: Mapping[str, Any]
) -> tuple[tuple[Guarantee, ...], str, str | None]:
    from tacit.design import design, options_of

    found = design(name)
    fields = options_of(found.card_settings)
    _only(name, given, tuple(fields))
    for key, field in fields.items():
        if field.default is MISSING and key not in given:
            raise ConfigError(f"What {name} promises depends on its {key}: add --{key}, such as 1.")
        least = field.metadata["least"]
        if least is not None and given.get(key, least) < least:
            raise ConfigError(f"--{key} of {name} is at least {least}; got {given[key]}.")
    return found.cards(found.card_settings(**given)), found.after_cards, found.works_from


def _of_mechanism(name: str, given: Mapping[str, Any]) -> tuple[Guarantee, ...]:
    from tacit.mechanisms.guarantees import guarantee_of

    _only(name, given, ("epsilon", "delta"))
    if "epsilon" not in given:
        raise ConfigError(f"What {name} promises depends on its epsilon: add --epsilon, such as 1.")
    return (guarantee_of(name, epsilon=given["epsilon"], delta=given.get("delta")),)


def _audit_of(mechanism: str) -> str:
    from tacit.auditing.shipped import BENCH

    return f"tacit audit {mechanism}  looks for violations of it." if mechanism in BENCH else ""


def _of_file(path: Path, given: Mapping[str, Any]) -> tuple[tuple[Guarantee, ...], str, str | None]:
    from tacit.design import design_of, names, usefulness
    from tacit.mechanisms.guarantees import NAMES
    from tacit.recommenders import load_model

    if not path.exists():
        raise ConfigError(
            f"No model file '{path}', and no design or mechanism of that name. "
            f"Designs: {', '.join(names())}. Mechanisms: {', '.join(NAMES)}."
        )
    _only("a model file", given, ())
    model = load_model(path)
    found = design_of(model)
    following = "" if found is None else found.after_cards
    return tuple(model.guarantees()), following, usefulness(model)


def _only(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """ConfigError if an option was given that `what` does not have."""
    for key in given:
        if key not in known:
            has = ", ".join(f"--{each}" for each in known) or "none: its card is in the file"
            raise ConfigError(f"--{key} is no option of {what}. Its options: {has}.")


def _show(result: dict[str, Any], *, following: str) -> None:
    for card in result["guarantees"]:
        frame = "bold red" if card["basis"] == "refuted" else "none"
        panel = Panel(_text(card), title=card["name"], title_align="left", border_style=frame)
        terminal.console.print(panel)
    if not result["guarantees"]:
        terminal.say("This model promises no privacy. It is there for comparison.")
    if result["useful"]:
        terminal.next_step(result["useful"])
    if result["guarantees"] and following:
        terminal.next_step(f"Next:  {following}")


def _text(card: dict[str, Any]) -> Text:
    text = Text()
    text.append(card["first_line"] + "\n\n", style=_COLOURS[card["basis"]])
    text.append(card["sentence"] + "\n\n", style="bold")
    epsilon = card["epsilon"]
    stated = (
        f"epsilon {epsilon:g}, delta {card['delta']:g}, {card['adjacency']['change']} one "
        f"{card['adjacency']['unit']}"
        if epsilon is not None
        else "none"
    )
    for name, value in (
        ("Protects", card["protects"]),
        ("Against", card["against"]),
        ("Who must be trusted", card["trust"]),
        ("Basis", card["basis"]),
        ("Epsilon", stated),
        ("Over a lifetime", _lifetime(card)),
    ):
        text.append(f"{name}: ", style="dim")
        text.append(f"{value}\n")
    holds = "The refuted claim assumed" if card["basis"] == "refuted" else "It holds if"
    _list(text, holds, card["assumptions"])
    _list(text, "Measured", [_measured(entry) for entry in card["measurements"]])
    for claim in card["claims"]:
        _list(
            text,
            f"Published claim: {claim['text']}. Verdict: {claim['verdict']}",
            claim["evidence"],
        )
    _list(text, "It does not cover", card["not_covered"])
    _list(text, "Sources", card["sources"])
    return text


def _lifetime(card: dict[str, Any]) -> str:
    if card["lifetime_epsilon"] is None:
        return str(card["lifetime"])
    epsilon, delta = card["lifetime_epsilon"], card["lifetime_delta"]
    return f"epsilon {epsilon:g}, delta {delta:g}: {card['lifetime']}"


def _measured(entry: dict[str, Any]) -> str:
    from tacit.privacy import Measurement

    return str(Measurement(**entry))


def _list(text: Text, title: str, lines: list[str]) -> None:
    if not lines:
        return
    text.append(f"\n{title}\n", style="bold")
    for line in lines:
        text.append(f"  - {line}\n")
