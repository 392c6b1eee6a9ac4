"""`tacit guarantee`: what is promised, to whom, and on what evidence."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.text import Text

from tacit.cli import options, output
from tacit.cli.output import JSON
from tacit.errors import ConfigError

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


@app.command()
def guarantee(
    what: Annotated[
        str,
        typer.Argument(
            help="A model file, a mechanism or a design: private, standard-scheme, xmap, sketches, "
            "prec, pdap."
        ),
    ],
    variant: options.Variant = "sound",
    release: Annotated[
        str, typer.Option(help="For a design: what devices send.")
    ] = "scheme+selection+rounding",
    epsilon: Annotated[
        float | None,
        typer.Option(help="Nats: of one call of a mechanism, or of a design."),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="For gaussian, gram, sums, smooth-cosine, prec: a chance, such as 1e-6."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="For sketches: multi-maxsense (maxsense has 1 question), pairwise-preference or "
            "pairwise-rated."
        ),
    ] = "multi-maxsense",
    questions: Annotated[int, typer.Option(help="For sketches: bits of a report.")] = 1,
    rated: Annotated[int, typer.Option(help="For sketches: likes that a device uses.")] = 50,
    unit: Annotated[str, typer.Option(help="For sketches: user, rating or moved rating.")] = "user",
    objects: Annotated[int, typer.Option(min=2, help="For prec: of a round.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="For prec: of one client.")] = 1000,
    voters: Annotated[int, typer.Option(min=1, help="For prec: a bound on them.")] = 5000,
    peers: Annotated[
        int | None, typer.Option(min=1, help="For prec: kept by the gate, or promised.")
    ] = None,
    clients: Annotated[
        int, typer.Option(min=1, help="For prec: whom epsilon is for, all together.")
    ] = 1,
    as_json: JSON = False,
) -> None:
    """Print the guarantee cards of a model file, a design before it is fitted, or a mechanism."""
    from tacit.mechanisms.guarantees import NAMES
    from tacit.privacy import refuted_first

    mechanism = what if what in NAMES else None
    if mechanism is not None:
        cards = _of_mechanism(mechanism, epsilon, delta)
    elif what == "private":
        cards = _of_private(epsilon, 1e-6 if delta is None else delta)
    elif what == "xmap":
        cards = _of_xmap(variant, epsilon, 1e-6 if delta is None else delta)
    elif what == "prec":
        cards = _of_prec(variant, epsilon, delta, (rounds, objects, voters, peers), clients)
    elif what == "pdap" and delta is None:
        cards = _of_pdap(variant, epsilon)
    elif what == "sketches" and delta is None:
        cards = _of_sketches(method, epsilon, questions, rated, unit)
    elif epsilon is not None or delta is not None:
        raise ConfigError(
            "--epsilon and --delta are for private, xmap, prec and mechanisms, --epsilon alone for "
            "sketches and pdap; "
            f"'{what}' is none of these, or has no such option. "
            f"Mechanisms: {', '.join(NAMES)}."
        )
    else:
        cards = _of_design(variant, release) if what == "standard-scheme" else _of_file(Path(what))
    output.emit(
        {"guarantees": [card.to_dict() for card in refuted_first(cards)]},
        as_json=as_json,
        render=partial(_show, mechanism=mechanism, design=what),
    )


def _of_mechanism(name: str, epsilon: float | None, delta: float | None) -> tuple[Any, ...]:
    from tacit.mechanisms.guarantees import guarantee_of

    if epsilon is None:
        raise ConfigError(f"What {name} promises depends on its epsilon: add --epsilon, such as 1.")
    return (guarantee_of(name, epsilon=epsilon, delta=delta),)


def _of_private(epsilon: float | None, delta: float) -> tuple[Any, ...]:
    from tacit.designs.private import Settings
    from tacit.designs.private.guarantees import card

    if epsilon is None:
        raise ConfigError("What private promises depends on its epsilon: add --epsilon, such as 1.")
    return (card(Settings(epsilon, delta)),)


def _of_xmap(variant: str, epsilon: float | None, delta: float) -> tuple[Any, ...]:
    import math

    from tacit.designs.xmap import XMap, guarantees

    if epsilon is None:
        raise ConfigError("What xmap promises depends on its epsilon: add --epsilon, such as 1.")
    if variant != "sound":
        raise ConfigError(
            f"The card of the {variant} variant counts what a fitted model has drawn. Run  tacit "
            f"fit xmap RATINGS --variant {variant} -o m.tacit  and then  tacit guarantee m.tacit"
        )
    XMap(target="any", epsilon=epsilon, delta=delta)  # refuses what it could not be fitted with
    if math.isinf(epsilon):
        return (guarantees.without_noise(variant),)
    return (guarantees.sound(epsilon=epsilon, delta=delta),)


def _of_pdap(variant: str, epsilon: float | None) -> tuple[Any, ...]:
    """For a usual setting: four vendors, 20 videos each, two features, 200,000 visits."""
    import math

    from tacit.designs.pdap import guarantees, sound_guarantees
    from tacit.designs.pdap.context import Context, ContextSetting
    from tacit.designs.pdap.control import Setting
    from tacit.designs.pdap.forwarding import Agreement
    from tacit.designs.pdap.forwarding_card import forwarded
    from tacit.designs.pdap.joint_setting import JointSetting
    from tacit.designs.pdap.trust import TrustSettings
    from tacit.designs.pdap.trust_card import learned_about_neighbours
    from tacit.randomness import secure
    from tacit.recommenders.baselines.linucb import LinUCB
    from tacit.recommenders.baselines.linucb_card import linear

    if epsilon is None:
        raise ConfigError("What pdap promises depends on its epsilon: add --epsilon, such as 1.")
    sizes: dict[str, Any] = {"videos": 20, "neighbours": 3, "dimension": 2}
    if variant == "published":
        setting = Setting(**sizes, horizon=200_000)
        cards = (*guarantees.published("p-dap", setting, epsilon=epsilon),)
        return (*cards, *guarantees.published("gp-dap", setting, epsilon=epsilon))
    if variant != "sound":
        raise ConfigError(f"--variant is sound or published; got '{variant}'.")
    if math.isinf(epsilon):
        return (sound_guarantees.without_noise("sound-joint"),)
    local = Context(ContextSetting(**sizes, epsilon=epsilon), randomness=secure())
    return (
        sound_guarantees.joint(JointSetting(**sizes, horizon=200_000, epsilon=epsilon)),
        sound_guarantees.answer(epsilon),
        forwarded(Agreement(features=2, slices=2, epsilon=epsilon), asks_all=True),
        learned_about_neighbours(TrustSettings(epsilon=epsilon / 10)),
        sound_guarantees.context(local),
        linear(LinUCB(**sizes, horizon=200_000, epsilon=epsilon)),
    )


def _of_prec(
    variant: str,
    epsilon: float | None,
    delta: float | None,
    sizes: tuple[int, int, int, int | None],
    clients: int,
) -> tuple[Any, ...]:
    from tacit.designs.prec import PRecSettings, cards

    rounds, objects, voters, peers = sizes
    if epsilon is None and peers is None:
        raise ConfigError(
            "What prec promises depends on its epsilon: add --epsilon, such as 1, or --peers."
        )
    return cards(
        PRecSettings(
            rounds,
            objects,
            voters,
            peers,
            variant=variant,  # type: ignore[arg-type]  # checked there
            epsilon=epsilon,
            delta=1e-6 if delta is None else delta,
            clients_together=clients,
        )
    )


def _of_sketches(
    method: str, epsilon: float | None, questions: int, rated: int, unit: str
) -> tuple[Any, ...]:
    from tacit.designs.sketches import cards, design
    from tacit.designs.sketches.messages import METHODS, UNITS

    for option, given, known in (("--method", method, METHODS), ("--unit", unit, UNITS)):
        if given not in known:
            raise ConfigError(f"{option} is one of {', '.join(known)}; got '{given}'.")
    if epsilon is None:
        raise ConfigError("What sketches promise depends on epsilon: add --epsilon, such as 1.")
    # No card depends on how many items there are, or on how large sets are.
    campaign = design(
        range(max(2, questions, rated)),
        rated=rated,
        epsilon=epsilon,
        method=method,
        theta=1e-6,
        questions=questions,
        unit=unit,
    )
    return cards(campaign)


def _of_design(variant: str, release: str) -> tuple[Any, ...]:
    import math

    from tacit.designs.standard_scheme import StandardScheme, guarantees

    model = StandardScheme(variant=variant, release=release)  # type: ignore[arg-type]  # checked there
    return (
        guarantees.for_the_person(
            attributes=model.attributes,
            release=release,
            mix=1.0,
            variant=variant,
            measurements=(),
        ),
        guarantees.for_the_consenting(epsilon=math.inf, contributions=model.contributions),
    )


def _of_file(path: Path) -> tuple[Any, ...]:
    from tacit.mechanisms.guarantees import NAMES
    from tacit.recommenders import load_model

    if not path.exists():
        raise ConfigError(
            f"No model file '{path}', and no design or mechanism of that name. "
            "Designs: private, standard-scheme, xmap, sketches, prec, pdap. "
            f"Mechanisms: {', '.join(NAMES)}."
        )
    return tuple(load_model(path).guarantees())


def _show(result: dict[str, Any], *, mechanism: str | None, design: str) -> None:
    for card in result["guarantees"]:
        frame = "bold red" if card["basis"] == "refuted" else "none"
        panel = Panel(_text(card), title=card["name"], title_align="left", border_style=frame)
        output.console.print(panel)
    if mechanism is not None:
        from tacit.auditing.shipped import BENCH

        if mechanism in BENCH:
            output.next_step(f"Next:  tacit audit {mechanism}  looks for violations of it.")
        return
    if not result["guarantees"]:
        output.console.print("This model promises no privacy. It is there for comparison.")
        return
    if design == "pdap":
        output.next_step("Next:  tacit audit pdap  looks for violations of it.")
        return
    if any("noisy sums over people" in card["name"] for card in result["guarantees"]):
        output.next_step("Next:  tacit evaluate private RATINGS  measures what it costs.")
        return
    if any("X-Map" in card["name"] for card in result["guarantees"]):
        output.next_step(
            "Next:  tacit evaluate xmap RATINGS --domain-column D --source S --target T  "
            "measures what it costs."
        )
        return
    if any("p-REC" in card["name"] for card in result["guarantees"]):
        output.next_step("Next:  tacit plan prec --help  says how many voters it takes.")
        return
    if any("one report" in card["name"] for card in result["guarantees"]):
        output.next_step("Next:  tacit device explain  shows what is sent, byte by byte.")
        return
    if not any(card["measurements"] for card in result["guarantees"]):
        output.next_step("Next:  tacit attack standard-scheme RATINGS  measures the attacks.")
        return
    output.next_step("Next:  tacit evaluate standard-scheme RATINGS --report out.html")


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
