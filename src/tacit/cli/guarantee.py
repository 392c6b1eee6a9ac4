"""`tacit guarantee`: what is promised, to whom, and on what evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.panel import Panel
from rich.text import Text

from tacit import terminal
from tacit.cli.commands import parameter, with_typer_signature
from tacit.design import design, design_of, fit_count, names, option, options_of, usefulness
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
"""Colours of a card's first line by its basis; only a refuted claim is red."""


def guarantee(
    what: str, *, as_json: bool, for_officer: bool = False, out: Path | None = None, **given: Any
) -> None:
    """Print the guarantee cards of a model file, a design before it is fitted, or a mechanism.

    With --for-officer: one page in HTML about a model file, for a data protection officer.
    """
    from tacit.mechanisms.guarantees import NAMES, guarantee_of
    from tacit.privacy import sort_refuted_first
    from tacit.recommenders import load_model

    given = {name: value for name, value in given.items() if value is not None}
    if for_officer:
        _check_options("a model file", given, ())
        _write_officer_page(Path(what), out, as_json=as_json)
        return
    if out is not None:
        raise ConfigError("--out names the file of the officer's page: add --for-officer.")
    cards: tuple[Guarantee, ...]
    following = ""
    useful: str | None = None
    if what in NAMES:
        from tacit.auditing.shipped_mechanisms import MECHANISMS

        _check_options(what, given, ("epsilon", "delta"), needed=("epsilon",))
        cards = (guarantee_of(what, epsilon=given["epsilon"], delta=given.get("delta")),)
        if what in MECHANISMS:
            following = f"tacit audit {what}  looks for violations of it."
    elif what in names():
        cards, following, useful = _cards_of_design(what, given)
    elif Path(what).exists():
        _check_options("a model file", given, ())
        model = load_model(what)
        owner = design_of(model)
        following = "" if owner is None else owner.after_cards
        cards = tuple(model.guarantees())
        useful = usefulness(model)
    else:
        raise ConfigError(
            f"No model file '{what}', and no design or mechanism of that name. "
            f"Designs: {', '.join(names())}. Mechanisms: {', '.join(NAMES)}."
        )
    cards = sort_refuted_first(cards)
    result = {"guarantees": [card.to_dict() for card in cards], "useful": useful}
    terminal.emit(result, as_json=as_json, render=lambda _: _show(cards, useful, following))


def _write_officer_page(model_file: Path, out: Path | None, *, as_json: bool) -> None:
    """Write the officer's page of a model file beside it, or to `out`."""
    from tacit.atomic_writes import write_whole
    from tacit.privacy import sort_refuted_first
    from tacit.privacy.officer_card import CardFacts, judge_all, officer_page
    from tacit.recommenders import load_model

    if not model_file.is_file():
        raise ConfigError(f"{model_file}: is no model file. An officer's page is about one.")
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
    shown = f"Wrote {page}: protection {result['verdict']}. Open it in a browser, or print it."
    terminal.emit(result, as_json=as_json, render=lambda _: terminal.say(shown))


def _cards_of_design(
    name: str, given: Mapping[str, Any]
) -> tuple[tuple[Guarantee, ...], str, str | None]:
    owner = design(name)
    fields = options_of(owner.card_settings)
    needed = [key for key, field in fields.items() if field.default is MISSING]
    _check_options(name, given, tuple(fields), needed=needed)
    for key, field in fields.items():
        least = field.metadata["least"]
        if least is not None and given.get(key, least) < least:
            raise ConfigError(f"--{key} of {name} is at least {least}; got {given[key]}.")
    return owner.cards(owner.card_settings(**given)), owner.after_cards, owner.works_from


def _check_options(
    what: str, given: Mapping[str, Any], known: Sequence[str], *, needed: Sequence[str] = ()
) -> None:
    """Check the options that were typed.

    Args:
        what: Design, mechanism or model file, in words.
        given: Options that were typed.
        known: Options that it has.
        needed: Options that it must have.

    Raises:
        ConfigError: An option is unknown, or one is missing.
    """
    for key in given:
        if key not in known:
            has = ", ".join(f"--{each}" for each in known) or "none: its card is in the file"
            raise ConfigError(f"--{key} is no option of {what}. Its options: {has}.")
    for key in needed:
        if key not in given:
            raise ConfigError(f"What {what} promises depends on its {key}: add --{key}, such as 1.")


def _declare() -> None:
    """Make the command, with an option for each field of the designs' card settings."""
    meant: dict[str, dict[str, list[str]]] = {}
    kinds: dict[str, Any] = {}
    for name in names():
        settings = design(name).card_settings
        hints = get_type_hints(settings)
        for key, field in options_of(settings).items():
            default = "" if field.default in (MISSING, None) else f" [default: {field.default}]"
            meaning = field.metadata["help"] + default
            meant.setdefault(key, {}).setdefault(meaning, []).append(name)
            kinds[key] = hints[key] | None
    about = f"A model file, a mechanism, or a design: {', '.join(names())}."
    options = []
    for key, meanings in meant.items():
        texts = (f"{', '.join(each)}: {meaning}" for meaning, each in meanings.items())
        options.append(parameter(key, kinds[key], option(" ".join(texts))))
    what = parameter("what", Annotated[str, typer.Argument(help=about)])
    officer = option(
        "Write one page in HTML for a data protection officer, about a model file.", default=False
    )
    page = option("The officer's page [MODEL.officer.html].", flag="--out -o", writes=True)
    options += [
        parameter("for_officer", bool, officer),
        parameter("out", Path | None, page),
        parameter("as_json", JSON, False),
    ]
    app.command()(with_typer_signature(guarantee, [what, *options]))


_declare()


def _show(cards: Sequence[Guarantee], useful: str | None, following: str) -> None:
    for card in cards:
        frame = "bold red" if card.basis == "refuted" else "none"
        panel = Panel(_write_card(card), title=card.name, title_align="left", border_style=frame)
        terminal.console.print(panel)
    if not cards:
        terminal.say("This model promises no privacy. It is there for comparison.")
    if useful:
        terminal.say_quietly(useful)
    if cards and following:
        terminal.show_next(following)


def _write_card(card: Guarantee) -> Text:
    stated = "none"
    lifetime = card.lifetime
    if card.epsilon is not None:
        stated = f"epsilon {card.epsilon:g}, delta {card.delta:g}, {card.adjacency}"
    if card.lifetime_epsilon is not None:
        most = f"epsilon {card.lifetime_epsilon:g}, delta {card.lifetime_delta:g}"
        lifetime = f"{most}: {lifetime}"
    text = Text()
    text.append(card.first_line + "\n\n", style=_COLOURS[card.basis])
    text.append(card.sentence + "\n\n", style="bold")
    for name, value in (
        ("Protects", card.protects),
        ("Against", card.against),
        ("Who must be trusted", card.trust),
        ("Basis", card.basis),
        ("Epsilon", stated),
        ("Over a lifetime", lifetime),
    ):
        text.append(f"{name}: ", style="dim")
        text.append(f"{value}\n")
    holds = "The refuted claim assumed" if card.basis == "refuted" else "It holds if"
    sections: list[tuple[str, Sequence[object]]] = [
        (holds, card.assumptions),
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
