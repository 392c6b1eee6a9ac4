"""Golden releases of the standard scheme."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from golden_vectors import completion, readable, release

from tacit.client.drawing import SecretDraws
from tacit.recommenders.sketches.sensing import below, words
from tacit.recommenders.standard_scheme.messages import (
    MICRO,
    RELEASES,
    AttributeTable,
    Disclosure,
    Release,
    Rule,
    Scores,
)

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
    name: str, values: tuple[str, ...], items: int, levels: int, strata: int, seed: int
) -> AttributeTable:
    """Public numbers that mean nothing, in bounds. levels: 0 for no coupling."""
    stream = words(bytes(16), seed)

    def some(size: int, least: int, most: int) -> tuple[int, ...]:
        return tuple(least + below(stream, most - least + 1) for _ in range(size))

    def shares() -> tuple[int, ...]:
        parts = some(levels - 1, 0, MICRO // levels)
        return (*accumulate(parts), MICRO)

    def of_values(make: Callable[[], Any]) -> tuple[Any, ...]:
        return tuple(make() for _ in values)

    def coupling() -> Any:
        return tuple(tuple(shares() for _ in range(levels)) for _ in range(items))

    return AttributeTable(
        name=name,
        values=values,
        offsets=of_values(lambda: some(items, -MICRO, MICRO)),
        bounds=of_values(lambda: tuple(sorted(some(strata - 1, 1, max(1, items))))),
        keep=of_values(lambda: tuple(some(items, MICRO // 2, MICRO) for _ in range(strata))),
        means=of_values(lambda: some(items, 0, 4 * MICRO)),
        coupling=of_values(coupling) if levels else (),
    )


def disclosure(
    rule: Rule,
    *,
    scale: Scale = WHOLE_STARS,
    items: tuple[int | str, ...] = ITEMS,
    attributes: tuple[tuple[str, tuple[str, ...]], ...] = (GENDER,),
    strata: int = 2,
    seed: int = 0,
) -> Disclosure:
    coupled = scale.levels if rule.transform == "coupling" else 0
    means = words(bytes(16), 1000 + seed)
    return Disclosure(
        rule=rule,
        minimum=scale.minimum,
        step=scale.step,
        levels=scale.levels,
        items=items,
        item_means=tuple(below(means, 4 * MICRO) for _ in items),
        attributes=tuple(
            table(name, values, len(items), coupled, strata, 100 * seed + number)
            for number, (name, values) in enumerate(attributes)
        ),
    )


def visits(scale: Scale, items: tuple[int | str, ...]) -> list[dict[int | str, float]]:
    """Some stars; the same and more of them; some changed."""
    first = {item: scale.stars(number) for number, item in enumerate(items[:6])}
    more = {item: scale.stars(number + 2) for number, item in enumerate(items[6:])}
    both = {"elsewhere": 99.0} | first | more
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
        two = disclosure(rule, attributes=(AGE, GENDER), scale=HALF_STARS, strata=3, seed=number)
        found.append((two, HALF_STARS))
        if rule.transform != "coupling":
            found.append((disclosure(rule, scale=RULER, strata=1, seed=number), RULER))
    rounding = RELEASES["scheme+selection+rounding"]
    found.append((disclosure(rounding, scale=INTEGERS), INTEGERS))
    found.append((disclosure(rounding, items=()), WHOLE_STARS))
    return found


def safe_rules() -> list[Rule]:
    rules = [rule for rule in RELEASES.values() if not unsafe(rule)]
    mixed = [replace(rule, mix=400_000) for rule in rules]
    return [
        *rules,
        *mixed,
        Rule("coupling", selection=True, rounding=True),
        Rule("movie-average", selection=True, rounding=True),
        Rule("attribute-average", selection=True, rounding=True, mix=999_999),
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
        shown = disclosure(rule, strata=1)
        draws = SecretDraws(SECRETS[0], shown, OWN, {})
        drawn = []
        for item in shown.items:
            draws.begin(item, None)
            drawn.append(draws.draw(MICRO))
        for more in (0, 1):
            fitted = fit(shown.attributes[0], [draw + more for draw in drawn])
            changed = replace(shown, attributes=(fitted,))
            history: dict[int | str, float] = dict.fromkeys(shown.items, 3.0)
            found.append(release([changed.encode()], [OWN], [history], SECRETS[0]))
    halves: dict[int | str, float] = {item: n + 0.5 for n, item in enumerate(ITEMS)}
    true = disclosure(replace(plain, mix=1), scale=Scale(0.0, 1e6, 0), strata=1)
    return [*found, release([true.encode()], [OWN], [halves], SECRETS[0])]


def _fit_keep(made: AttributeTable, drawn: list[int]) -> AttributeTable:
    """An item is shown while the die lies below."""
    return replace(made, keep=tuple((tuple(drawn),) for _ in made.values))


def _fit_offsets(made: AttributeTable, drawn: list[int]) -> AttributeTable:
    """A level goes up while the draw lies below what is left of it."""
    return replace(made, offsets=tuple(tuple(-draw for draw in drawn) for _ in made.values))


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
        readable(Release("", tuple((letter, n) for n, letter in enumerate(letters)))),
        readable(Release("é", ((2**53, 2**53), (-(2**53), -(2**53)), (10**4299, 0)))),
        readable(Scores("x", ())),
    ]


def completions() -> list[dict[str, Any]]:
    found = []
    for number, (shown, _) in enumerate(disclosures()[:6]):
        stream = words(bytes(16), number)
        levels = [below(stream, 8 * MICRO) - 2 * MICRO for _ in shown.items]
        scores = Scores(shown.digest, tuple(zip(shown.items, levels, strict=True)))
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
