"""`tacit guarantee`: shows what is promised, to whom, and on what evidence.

With --for-officer it writes a page about a model file, for a data protection officer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from tacit import terminal
from tacit.cli.commands import make_parameter, with_typer_signature
from tacit.design import design, design_of, fit_count, names, option, options_of, usefulness
from tacit.errors import ConfigError
from tacit.terminal import JSON

if TYPE_CHECKING:
    from rich.text import Text

    from tacit.design import Design
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
"""Style of a card's first line, by the card's basis."""


def guarantee(
    what: str, *, as_json: bool, for_officer: bool = False, out: Path | None = None, **options: Any
) -> None:
    """Print the guarantee cards of a model file, a design before it is fitted, or a mechanism.

    With --for-officer: one page in HTML about a model file, for a data protection officer.
    """
    from tacit.mechanisms.guarantees import NAMES

    typed_options = {name: value for name, value in options.items() if value is not None}
    if for_officer:
        _check_options("a model file", typed_options, ())
        _write_officer_page(Path(what), out, as_json=as_json)
        return
    if out is not None:
        raise ConfigError("--out names the file of the officer's page: add --for-officer.")
    if what in NAMES:
        found = _make_mechanism_cards(what, typed_options)
    elif what in names():
        found = _make_design_cards(design(what), typed_options)
    elif Path(what).exists():
        _check_options("a model file", typed_options, ())
        found = _read_model_cards(Path(what))
    else:
        raise ConfigError(
            f"No model file '{what}', and no design or mechanism of that name. "
            f"Designs: {', '.join(names())}. Mechanisms: {', '.join(NAMES)}."
        )
    result = {
        "guarantees": [card.to_dict() for card in found.cards],
        "useful": found.usefulness_sentence,
    }
    terminal.emit(result, as_json=as_json, render=lambda _: _print_cards(found))


class _CardsToShow(NamedTuple):
    """Guarantee cards, and what is printed below them."""

    cards: Sequence[Guarantee]
    """The cards, those of refuted claims first. Empty for a model that promises no privacy."""
    usefulness_sentence: str | None
    """How many people a design needs, or whether a model's lists are expected to be useful; None:
    nothing is known of that."""
    next_command: str
    """Command to suggest, with what it does; "": none."""


def _make_mechanism_cards(name: str, typed_options: Mapping[str, Any]) -> _CardsToShow:
    """Make the card of a mechanism with the options that were typed.

    Raises:
        ConfigError: An option is unknown, epsilon is missing, or a value is not allowed.
    """
    from tacit.auditing.shipped_mechanisms import MECHANISMS
    from tacit.mechanisms.guarantees import guarantee_of

    _check_options(name, typed_options, ("epsilon", "delta"), needed=("epsilon",))
    epsilon = typed_options["epsilon"]
    card = guarantee_of(name, epsilon=epsilon, delta=typed_options.get("delta"))
    next_command = f"tacit audit {name}  looks for violations of it." if name in MECHANISMS else ""
    return _CardsToShow((card,), None, next_command)


def _read_model_cards(model_file: Path) -> _CardsToShow:
    """Read the cards of a model file."""
    from tacit.privacy import sort_refuted_first
    from tacit.recommenders import load_model

    model = load_model(model_file)
    owner = design_of(model)
    next_command = "" if owner is None else owner.after_cards
    cards = sort_refuted_first(tuple(model.guarantees()))
    return _CardsToShow(cards, usefulness(model), next_command)


def _write_officer_page(model_file: Path, out: Path | None, *, as_json: bool) -> None:
    """Write the officer's page of a model file, and print where it is.

    Args:
        model_file: The model file.
        out: File of the page; None: MODEL.officer.html beside the model file.
        as_json: Whether the result is printed as JSON.

    Raises:
        ConfigError: There is no such file.
        ModelFileError: The file holds no model.
        OutputError: The page cannot be written.
    """
    from tacit.atomic_writes import write_whole
    from tacit.privacy import sort_refuted_first
    from tacit.privacy.officer_card import CardFacts, judge_all, officer_page
    from tacit.recommenders import load_model

    if not model_file.is_file():
        raise ConfigError(f"{model_file}: is no file. An officer's page is about a model file.")
    model = load_model(model_file)
    fits = fit_count(model)
    date_made = datetime.fromtimestamp(model_file.stat().st_mtime, UTC).date()
    facts = CardFacts(model_file.name, date_made, datetime.now(UTC).date(), fits)
    cards = sort_refuted_first(tuple(model.guarantees()))
    page = out or model_file.with_suffix(".officer.html")
    write_whole(page, officer_page(cards, facts).encode())
    result = {
        "page": page,
        "verdict": judge_all(cards),
        "fits": None if fits is None else asdict(fits),
    }
    sentence = f"Wrote {page}: protection {result['verdict']}. Open it in a browser, or print it."
    terminal.emit(result, as_json=as_json, render=lambda _: terminal.say(sentence))


def _make_design_cards(owner: Design, typed_options: Mapping[str, Any]) -> _CardsToShow:
    """Make the guarantee cards of a design before it is fitted, with the options that were typed.

    Raises:
        ConfigError: An option is unknown or missing, or its value is not allowed.
    """
    from tacit.privacy import sort_refuted_first

    fields = options_of(owner.card_settings)
    required = [key for key, field in fields.items() if field.default is MISSING]
    _check_options(owner.name, typed_options, tuple(fields), needed=required)
    for key, field in fields.items():
        least = field.metadata["least"]
        if least is not None and key in typed_options and typed_options[key] < least:
            raise ConfigError(
                f"--{key} of {owner.name} is at least {least}; got {typed_options[key]}."
            )
    cards = sort_refuted_first(owner.cards(owner.card_settings(**typed_options)))
    return _CardsToShow(cards, owner.works_from, owner.after_cards)


def _check_options(
    what: str, typed_options: Mapping[str, Any], known: Sequence[str], *, needed: Sequence[str] = ()
) -> None:
    """Check that the options that were typed are known, and that needed ones are among them.

    Args:
        what: Name of a design or a mechanism, or "a model file".
        typed_options: Options that were typed, by name.
        known: Names of the options that this design or mechanism has.
        needed: Names of the options that must be typed.

    Raises:
        ConfigError: An option is unknown, or one is missing.
    """
    for key in typed_options:
        if key not in known:
            known_flags = ", ".join(f"--{name}" for name in known) or "none"
            raise ConfigError(f"--{key} is no option of {what}. Its options: {known_flags}.")
    for key in needed:
        if key not in typed_options:
            raise ConfigError(f"What {what} promises depends on its {key}: add --{key}, such as 1.")


def _add_command() -> None:
    """Add the command to `app`, with an option for each field of the designs' card settings.

    Several designs may have an option of the same name. Its help has a sentence for each meaning,
    which names the designs that have the option with this meaning.
    """
    designs_by_option: dict[str, dict[str, list[str]]] = {}  # names by option, then by meaning
    types: dict[str, Any] = {}
    for name in names():
        settings = design(name).card_settings
        hints = get_type_hints(settings)
        for key, field in options_of(settings).items():
            default = "" if field.default in (MISSING, None) else f" [default: {field.default}]"
            meaning = field.metadata["help"] + default
            designs_by_option.setdefault(key, {}).setdefault(meaning, []).append(name)
            types[key] = hints[key] | None
    options = []
    for key, designs_by_meaning in designs_by_option.items():
        sentences = []
        for meaning, designs in designs_by_meaning.items():
            sentences.append(f"{', '.join(designs)}: {meaning}")
        options.append(make_parameter(key, types[key], option(" ".join(sentences))))
    help_text = f"A model file, a mechanism, or a design: {', '.join(names())}."
    what = make_parameter("what", Annotated[str, typer.Argument(help=help_text)])
    officer = option(
        "Write one page in HTML for a data protection officer, about a model file.", default=False
    )
    page = option("The officer's page [MODEL.officer.html].", flag="--out -o", writes=True)
    options += [
        make_parameter("for_officer", bool, officer),
        make_parameter("out", Path | None, page),
        make_parameter("as_json", JSON, False),
    ]
    app.command()(with_typer_signature(guarantee, [what, *options]))


_add_command()


def _print_cards(found: _CardsToShow) -> None:
    """Print guarantee cards, each in a frame, how useful lists are, and what to type next."""
    from rich.panel import Panel

    for card in found.cards:
        frame = "bold red" if card.basis == "refuted" else "none"
        panel = Panel(_format_card(card), title=card.name, title_align="left", border_style=frame)
        terminal.console().print(panel)
    if not found.cards:
        terminal.say("This model promises no privacy. It is there for comparison.")
    if found.usefulness_sentence:
        terminal.say_quietly(found.usefulness_sentence)
    if found.cards and found.next_command:
        terminal.show_next(found.next_command)


def _format_card(card: Guarantee) -> Text:
    """Format a guarantee card for the terminal."""
    from rich.text import Text

    claimed = "none"
    if card.epsilon is not None:
        claimed = f"{_format_claim(card.epsilon, card.delta)}, {card.adjacency}"
    lifetime = card.lifetime
    if card.lifetime_epsilon is not None:
        lifetime_claim = _format_claim(card.lifetime_epsilon, card.lifetime_delta)
        lifetime = f"{lifetime_claim}: {card.lifetime}"
    text = Text()
    text.append(card.first_line + "\n\n", style=_COLOURS[card.basis])
    text.append(card.sentence + "\n\n", style="bold")
    for name, value in (
        ("Protects", card.protects),
        ("Against", card.against),
        ("Who must be trusted", card.trust),
        ("Basis", card.basis),
        ("Epsilon", claimed),
        ("Over a lifetime", lifetime),
    ):
        text.append(f"{name}: ", style="dim")
        text.append(f"{value}\n")
    assumptions_title = "The refuted claim assumed" if card.basis == "refuted" else "It holds if"
    sections: list[tuple[str, Sequence[object]]] = [
        (assumptions_title, card.assumptions),
        ("Measured", card.measurements),
    ]
    for claim in card.claims:
        title = f"Published claim: {claim.text}. Verdict: {claim.verdict}"
        sections.append((title, claim.evidence))
    sections += [("It does not cover", card.not_covered), ("Sources", card.sources)]
    for title, lines in sections:
        if lines:
            text.append(f"\n{title}\n", style="bold")
            text.append("".join(f"  - {line}\n" for line in lines))
    return text


def _format_claim(epsilon: float, delta: float | None) -> str:
    """Format an epsilon and its delta, both rounded up; None: a delta of 0."""
    from tacit.privacy import format_upper_bound

    return f"epsilon {format_upper_bound(epsilon)}, delta {format_upper_bound(delta or 0.0)}"
