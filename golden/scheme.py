"""Golden releases of the standard scheme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from golden.vectors import completion, readable, release
from tacit.designs.sketches.sensing import draw_below, random_words
from tacit.designs.standard_scheme.dice import secret_dice
from tacit.designs.standard_scheme.disclosure import (
    CAP,
    FLOOR,
    RELEASES,
    AttributeTable,
    Disclosure,
    Rule,
)
from tacit.designs.standard_scheme.memory import Record, State
from tacit.designs.standard_scheme.messages import MICRO, WEEK, Release, Scores

SECRETS = (bytes([9]) * 32, bytes(range(40, 140)))
GENDER = ("gender", ("F", "M"))
AGE = ("age", ("to 25", "26 to 40", "older"))
OWN = {"gender": "F", "age": "older", "not asked for": "x"}
ITEMS: tuple[int | str, ...] = (12, "12", "é", "😀", -7, 2**53, 2**60, "", 'a "b"\\\n\u2028', 40)


@dataclass(frozen=True)
class Scale:
    """As in a disclosure."""

    minimum: float = 1.0
    step: float = 1.0
    levels: int = 5

    def stars(self, number: int) -> float:
        """Some star of it."""
        if self.levels:
            return self.minimum + self.step * (number % self.levels)
        return self.minimum + self.step * (number * 0.37 % 4)


WHOLE_STARS, HALF_STARS, RULER = Scale(), Scale(0.5, 0.5, 6), Scale(-10.0, 5.0, 0)
INTEGERS = Scale(minimum=1, step=1)


def table(
    name: str, values: tuple[str, ...], items: int, scale: Scale, rule: Rule, seed: int
) -> AttributeTable:
    """Public numbers that mean nothing, such as a device follows."""
    stream = random_words(bytes(16), seed)

    def some(size: int, least: int, most: int) -> tuple[int, ...]:
        return tuple(least + draw_below(stream, most - least + 1) for _ in range(size))

    def shares() -> tuple[int, ...]:
        parts = some(scale.levels - 1, 1, MICRO // scale.levels)
        return (*accumulate(parts), MICRO)

    def coupling() -> Any:
        return tuple(tuple(shares() for _ in range(scale.levels)) for _ in range(items))

    chances = [list(some(items, MICRO // 2, CAP)) for _ in values]
    for number in range(items):
        largest = draw_below(stream, len(values) + 1)
        for row, own in enumerate(chances):
            none = largest == len(values) and number % 5 == 4
            own[number] = 0 if none else CAP if row == largest % len(values) else own[number]
    averaged, coupled = rule.transform == "attribute-average", rule.transform == "coupling"
    return AttributeTable(
        name=name,
        values=values,
        offsets=tuple(some(items, -MICRO // 4, MICRO // 4) for _ in values),
        keep=tuple(map(tuple, chances)),
        means=tuple(some(items, 0, 4 * MICRO) for _ in values) if averaged else (),
        coupling=tuple(coupling() for _ in values) if coupled else (),
    )


def disclosure(
    rule: Rule,
    *,
    scale: Scale = WHOLE_STARS,
    items: tuple[int | str, ...] = ITEMS,
    attributes: tuple[tuple[str, tuple[str, ...]], ...] = (GENDER,),
    epoch_length: int = WEEK,
    aliases: tuple[tuple[int | str, int | str], ...] = (),
    seed: int = 0,
) -> Disclosure:
    averaged = items if rule.transform == "movie-average" else ()
    means = random_words(bytes(16), 1000 + seed)
    return Disclosure(
        rule=rule,
        minimum=scale.minimum,
        step=scale.step,
        levels=scale.levels,
        items=items,
        epoch_length=epoch_length,
        aliases=aliases,
        item_means=tuple(draw_below(means, 4 * MICRO) for _ in averaged),
        attributes=tuple(
            table(name, values, len(items), scale, rule, 100 * seed + number)
            for number, (name, values) in enumerate(attributes)
        ),
    )


def visits(scale: Scale, items: tuple[int | str, ...]) -> list[dict[int | str, float]]:
    """Some stars; the same and more of them; some changed, in another order; fewer; none."""
    first = {item: scale.stars(number) for number, item in enumerate(items[:6])}
    more = {item: scale.stars(number + 2) for number, item in enumerate(items[6:])}
    both = {"elsewhere": scale.stars(1), "other": 99.0} | first | more
    changed = both | {item: scale.stars(number + 1) for number, item in enumerate(items[2:5])}
    return [first, both, dict(reversed(changed.items())), first, {}]


def released(
    shown: Disclosure, scale: Scale, number: int, own: Mapping[str, str] = OWN
) -> dict[str, Any]:
    histories = visits(scale, shown.items)
    again = len(histories)
    secret = SECRETS[number % len(SECRETS)]
    return release([shown.encode()] * again, [own] * again, histories, secret)


def disclosures() -> list[tuple[Disclosure, Scale]]:
    """Every rule that a device carries out, on one attribute and on two; every scale; odd cases."""
    found = []
    for number, rule in enumerate(safe_rules()):
        found.append((disclosure(rule, seed=number), WHOLE_STARS))
        two = disclosure(rule, attributes=(AGE, GENDER), scale=HALF_STARS, seed=number)
        found.append((two, HALF_STARS))
        if rule.transform != "coupling":
            found.append((disclosure(rule, scale=RULER, seed=number), RULER))
    rounding = RELEASES["scheme+selection+rounding"]
    found.append((disclosure(rounding, scale=INTEGERS), INTEGERS))
    found.append((disclosure(rounding, items=()), WHOLE_STARS))
    moved = (("elsewhere", 12), ("gone", "not here"), (41, 40))
    found.append((disclosure(rounding, aliases=moved, epoch_length=86_400), WHOLE_STARS))
    return found


def safe_rules() -> list[Rule]:
    return [
        *(rule for rule in RELEASES.values() if not unsafe(rule)),
        Rule("coupling", selection=True, rounding=True),
        Rule("movie-average", selection=True, rounding=True),
        Rule("attribute-average", selection=True, rounding=True),
    ]


def unsafe(rule: Rule) -> bool:
    return rule.transform == "none" or (rule.transform == "scheme" and not rule.rounding)


def on_the_edge() -> list[dict[str, Any]]:
    """Draws that fall exactly on a chance: tables are made to fit what the secret draws."""
    plain = RELEASES["scheme+rounding"]
    found = []
    for rule, fit in (
        (RELEASES["scheme+selection+rounding"], _fit_keep),
        (plain, _fit_offsets),
        (RELEASES["coupling"], _fit_coupling),
    ):
        shown = disclosure(rule)
        dice = secret_dice(SECRETS[0])
        drawn = [dice(item)(MICRO) for item in shown.items]
        for more in (0, 1):
            fitted = fit(shown.attributes[0], [draw + more for draw in drawn])
            changed = replace(shown, attributes=(fitted,))
            history: dict[int | str, float] = dict.fromkeys(shown.items, 3.0)
            found.append(release([changed.encode()], [OWN], [history], SECRETS[0]))
    return found


def _fit_keep(made: AttributeTable, drawn: list[int]) -> AttributeTable:
    """An item is shown while the die lies below."""
    own = tuple(draw if FLOOR <= draw < CAP else CAP for draw in drawn)
    return replace(made, keep=(own, (CAP,) * len(drawn)))


def _fit_offsets(made: AttributeTable, drawn: list[int]) -> AttributeTable:
    """A level goes up while the draw lies below what is left of it."""
    row = tuple(-draw if draw <= MICRO // 2 else MICRO - draw for draw in drawn)
    return replace(made, offsets=(row, row))


def _fit_coupling(made: AttributeTable, drawn: list[int]) -> AttributeTable:
    """The first step that the draw lies below is sent."""
    rows = tuple(tuple((draw, draw, draw, MICRO, MICRO) for _ in range(5)) for draw in drawn)
    return replace(made, coupling=tuple(rows for _ in made.values))


def messages() -> list[dict[str, Any]]:
    """Numbers and letters at the ends of what can be spelled."""
    plain = disclosure(RELEASES["scheme+rounding"], items=(1,))
    scales = (0, 10**30, -(10**30), -0.0, 0.1, 1e15, 123456789012345680.0, 1e16, 1e22, 1e-4, 1e-5)
    odd = (1.5e-7, -2.5e-300, 5e-324, 1.7976931348623157e308, 2.0**53, 1 / 3, -1e100)
    letters = ("\x00\x1f\x7f\u2028", 'a"\\/\b\f\n\r\t', "é", "😀", "\ufeff", "\uffff")
    return [
        *(readable(replace(plain, minimum=number)) for number in (*scales, *odd)),
        *(readable(replace(plain, step=abs(number))) for number in odd),
        readable(Release("", 0, tuple((letter, n) for n, letter in enumerate(letters)))),
        readable(Release("é", 2**53, ((2**53, 2**53), (-(2**53), -(2**53)), (10**4299, 0)))),
        readable(Scores("x", ())),
        readable(Scores("x", ((7, 2**53, -(2**53)), ("7", 0, 1)))),
        readable(State(created=0)),
        readable(memory()),
    ]


def memory() -> State:
    """Every field filled, items in an order that is not that of the bytes."""
    items: tuple[int | str, ...] = ("😀", "\uffff", "é", 10, 9, -1, "9", "a", 2**60)
    return State(
        created=1_700_000_000,
        binding="0123456789abcdef",
        records={
            item: Record(None if n % 3 == 0 else n * MICRO, f"{n:016x}", n, n % 3 == 2)
            for n, item in enumerate(items)
        },
        frozen={"b", 3, "B", "\ue000", "\U00010000"},
        arrivals={"z": 1_700_000_001, 4: 1_699_999_999, "Z": 0},
        last_epoch=2810,
        letter=Release("é", 2810, (("é", 0),)).encode(),
        spoken=2809,
        log=((0, "0" * 16), (2809, "f" * 16)),
        showed=True,
        merged={"é", 11, "\ue000", "\U00010000"},
        values=(("é", ("b", 'a "\u2028')), ("", ())),
    )


def completions() -> list[dict[str, Any]]:
    found = []
    for number, (shown, _) in enumerate(disclosures()[:6]):
        stream = random_words(bytes(16), number)
        levels = [draw_below(stream, 8 * MICRO) - 2 * MICRO for _ in shown.items]
        ranks = [draw_below(stream, 2000) - 1000 for _ in shown.items]
        scores = Scores(shown.digest, tuple(zip(shown.items, levels, ranks, strict=True)))
        found.append(completion(shown.encode(), OWN, scores.encode()))
    return [*found, completion(shown.encode(), OWN, Scores(shown.digest, ()).encode())]


def content() -> dict[str, list[Any]]:
    found = [released(shown, scale, number) for number, (shown, scale) in enumerate(disclosures())]
    if not all("releases" in vector for vector in found):
        raise AssertionError("a device refused what it should carry out")
    return {
        "releases": [*found, *on_the_edge()],
        "completions": completions(),
        "messages": messages(),
    }
