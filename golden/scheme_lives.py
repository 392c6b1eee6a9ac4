"""Golden lives of accounts: many epochs, refits, deletions, lost and old memories, silence.

A step is one time at which the device is on: what it is given, the letter that is due (null where
none is) and what its owner hears. `open` is a start of the program: the memory found and the last
epoch that the file of the secret names (null: the secret was not made there). `forget` begins a new
account with the step's secret. At the end stands the memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from golden.scheme import AGE, GENDER, ITEMS, OWN, SECRETS, disclosure
from golden.vectors import History, Item, Vector, tagged, tagged_history
from tacit.designs.sketches.sensing import draw_below, random_words
from tacit.designs.standard_scheme.account import Account
from tacit.designs.standard_scheme.disclosure import RELEASES, Disclosure
from tacit.designs.standard_scheme.epochs import calendar_epoch, epoch_start, sending_time
from tacit.designs.standard_scheme.memory import Log, State, open_state, state_after_forgetting
from tacit.designs.standard_scheme.messages import DAY, WEEK

CREATED = 1_700_000_000
FIRST = calendar_epoch(CREATED, WEEK)
RULE = RELEASES["scheme+selection+rounding"]
SHOWN = disclosure(RULE)


def log_of(*digests: tuple[int, Disclosure]) -> Log:
    return tuple((epoch, shown.digest) for epoch, shown in digests)


class Life:
    """One account's life, written down while it is lived."""

    def __init__(self, shown: Disclosure = SHOWN, secret: bytes = SECRETS[0]) -> None:
        self.shown = shown
        self.log = log_of((FIRST, shown))
        self.values: Mapping[str, str] = OWN
        self.secret = secret
        self.state = State(created=CREATED)
        self.steps: list[Vector] = []
        self.started: list[bytes] = []

    def refit(self, shown: Disclosure, epoch: int) -> None:
        self.shown, self.log = shown, (*self.log, (epoch, shown.digest))

    def open(self, memory: bytes | None, spoken: int | None, history: History, at: int) -> None:
        found = None if memory is None else State.decode(memory)
        self.state = open_state(found, spoken, history, at, self.shown.epoch_length)
        told = None if memory is None else memory.decode()
        self.on(at, history, {}, open={"memory": told, "spoken": spoken})

    def forget(self, secret: bytes, history: History, at: int) -> None:
        self.state, self.secret = state_after_forgetting(self.state, history, at), secret
        self.on(at, {}, forget=[tagged(item) for item in history])

    def on(
        self, at: int, history: History, entered: Mapping[Item, int] | None = None, **more: Any
    ) -> None:
        heard: list[str] = []
        if entered is None:  # in the week before
            entered = dict.fromkeys(history, at - 3 * DAY)
        kept: list[State] = []
        account = Account(
            self.state, self.shown, self.log, self.values, self.secret, kept.append, heard.append
        )
        letter = account.make_due_letter(history, entered, at)
        self.started.append(self.shown.encode())
        self.steps.append(
            {
                "at": at,
                "secret": self.secret.hex(),
                "values": dict(self.values),
                "log": [list(entry) for entry in self.log],
                "history": tagged_history(history),
                "entered": [[tagged(item), second] for item, second in entered.items()],
                **more,
                "letter": None if letter is None else letter.decode(),
                "told": heard,
            }
        )

    def vector(self, name: str) -> Vector:
        distinct = list(dict.fromkeys(self.started))
        steps = [
            {"disclosure": distinct.index(data)} | step
            for data, step in zip(self.started, self.steps, strict=True)
        ]
        return {
            "name": name,
            "created": CREATED,
            "disclosures": [data.decode() for data in distinct],
            "steps": steps,
            "memory": self.state.encode().decode(),
        }


def monday(number: int) -> int:
    """A second of the week this many after the first, when its letter is due."""
    return epoch_start(FIRST + number, WEEK) + 2 * DAY


def some(count: int, first: int = 0) -> dict[Item, float]:
    return {item: 1.0 + (number + first) % 5 for number, item in enumerate(ITEMS[:count])}


def calm() -> Vector:
    """Cold start, then weeks; stars change, go and come back; one refit."""
    life = Life()
    for at in (0, 1_799, 1_800, 1_801, 86_399, 86_400):
        life.on(CREATED + at, some(3), {ITEMS[2]: CREATED + 1_800})
    due = sending_time(FIRST, CREATED, WEEK, SECRETS[0])
    for at in (epoch_start(FIRST + 1, WEEK), due - 1, due, due + 1):
        life.on(at, some(5), {ITEMS[4]: epoch_start(FIRST + 1, WEEK)})
    life.refit(disclosure(RULE, seed=1), FIRST + 2)
    life.on(monday(2), some(7, first=1), {})
    life.on(monday(5), {item: stars for item, stars in some(9).items() if item != ITEMS[0]})
    life.on(monday(6), some(10))
    life.on(monday(4), some(10))
    return life.vector("calm")


def catalogue() -> Vector:
    """Items come, go, are renamed, renamed again and merged; tables without a chance."""
    life = Life(disclosure(RULE, items=ITEMS[:6]))
    life.on(monday(1), some(8) | {"old": 4.0})
    life.refit(disclosure(RULE, items=ITEMS[2:9], aliases=(("old", ITEMS[3]),), seed=1), FIRST + 2)
    life.on(monday(2), some(8) | {"old": 4.0})
    merged = ((ITEMS[0], ITEMS[6]), (ITEMS[2], ITEMS[6]), (ITEMS[5], ITEMS[7]), ("old", ITEMS[3]))
    life.refit(disclosure(RULE, items=ITEMS[3:4] + ITEMS[6:], aliases=merged), FIRST + 3)
    life.on(monday(3), some(10) | {"old": 4.0})
    life.on(monday(4), some(10))
    again = (*((old, "new") if new == ITEMS[6] else (old, new) for old, new in merged),)
    life.refit(disclosure(RULE, items=("new",), aliases=(*again, (ITEMS[6], "new"))), FIRST + 5)
    life.on(monday(5), some(10))
    return life.vector("catalogue")


def merging() -> Vector:
    """Records of one item: held back, deleted and shown ones meet."""
    life = Life()
    life.on(monday(1), some(10))
    gone = (*ITEMS[:2], *ITEMS[7:9])
    life.on(monday(2), {item: stars for item, stars in some(10).items() if item not in gone})
    merged = tuple(zip(ITEMS[:4], ITEMS[5:9], strict=True))
    life.refit(disclosure(RULE, items=ITEMS[4:], aliases=merged), FIRST + 3)
    life.on(monday(3), {item: stars for item, stars in some(10).items() if item not in gone})
    life.on(monday(4), some(10))
    return life.vector("merging")


def named_again() -> list[Vector]:
    """Names that are dropped, contradicted, used again, or given without the step between."""
    before, after = ITEMS[1:], ("b", *ITEMS[1:])
    found = []
    for name, items, aliases in (
        ("a step left out", ("c", *before), ((ITEMS[0], "c"),)),
        ("a name dropped", after, ()),
        ("an old id again", ITEMS, ()),
        ("an old id again, turned round", ITEMS, (("b", ITEMS[0]),)),
        ("split after a merge", ("b", "c", *before), ((ITEMS[0], "c"),)),
        ("renamed twice", ("c", *before), ((ITEMS[0], "c"), ("b", "c"))),
    ):
        life = Life()
        life.on(monday(1), some(5))
        life.refit(disclosure(RULE, items=after, aliases=((ITEMS[0], "b"),)), FIRST + 2)
        life.on(monday(2), some(5))
        life.refit(disclosure(RULE, items=items, aliases=aliases), FIRST + 3)
        life.on(monday(3), some(8) | {"b": 2.0, "c": 3.0})
        life.on(monday(4), {item: stars for item, stars in some(8).items() if item != ITEMS[1]})
        found.append(life.vector(name))
    return found


def odd_stars() -> Vector:
    """Stars off the scale: of undecided items, of decided ones, of items of no table."""
    life = Life()
    life.on(monday(1), some(4) | {ITEMS[4]: 9.0, ITEMS[7]: 2.5, "elsewhere": 99.0})
    life.on(monday(2), dict.fromkeys(ITEMS[:4], -3.0) | {ITEMS[4]: 2.0})
    return life.vector("stars off the scale")


def memories() -> list[Vector]:
    """Lost, old and foreign memories; a program that starts again; "forget me"."""
    whole = Life()
    whole.on(monday(1), some(4))
    backup = whole.state.encode()
    whole.on(monday(2), some(8))
    whole.open(whole.state.encode(), whole.state.spoken, some(9), monday(3))
    found = [whole.vector("started again")]
    for name, memory, spoken in (
        ("lost", None, FIRST + 1),
        ("old", backup, FIRST + 1),
        ("another device", None, None),
        ("never spoken", None, -1),
    ):
        life = Life()
        life.open(memory, spoken, some(6), monday(2) + DAY)
        life.on(monday(3), some(8))
        life.on(monday(4), some(10))
        found.append(life.vector(name))
    gone = Life()
    gone.on(monday(1), some(4))
    gone.forget(SECRETS[1], some(6), monday(1) + 5)
    gone.on(monday(2), some(10))
    gone.on(monday(3), some(10))
    return [*found, gone.vector("forgotten")]


def silences() -> list[Vector]:
    """What a device sends where it decides nothing new."""
    other = disclosure(RULE, seed=1)
    unsafe = replace(SHOWN, epoch_length=WEEK, rule=RELEASES["selection"])
    found = []
    for name, shown, log, values in (
        ("another value", SHOWN, None, {"gender": "M"}),
        ("an unknown value", SHOWN, None, {}),
        ("another rule", disclosure(RELEASES["coupling+selection"]), FIRST + 2, OWN),
        ("another attribute", disclosure(RULE, attributes=(AGE, GENDER)), FIRST + 2, OWN),
        ("an unsafe rule", unsafe, FIRST + 2, OWN),
        ("not in the log", other, None, OWN),
        ("another calendar", disclosure(RULE, epoch_length=DAY), FIRST + 2, OWN),
        ("another calendar, not in the log", disclosure(RULE, epoch_length=DAY), None, OWN),
        ("not yet in the log", other, FIRST + 5, OWN),
        ("two in one epoch", other, FIRST, OWN),
    ):
        life = Life()
        life.on(monday(1), some(5))
        life.values, life.shown = values, shown
        if log is not None:
            life.log = (*life.log, (log, shown.digest))
        life.on(monday(2), some(8))
        life.on(monday(3), some(3))
        life.values, life.shown, life.log = OWN, SHOWN, log_of((FIRST, SHOWN))
        life.on(monday(4), some(8))
        found.append(life.vector(name))
    rewritten = Life()
    rewritten.on(monday(1), some(5))
    rewritten.shown, rewritten.log = other, log_of((FIRST, other))
    rewritten.on(monday(2), some(8))
    found.append(rewritten.vector("another log"))
    first = Life(unsafe)
    first.on(monday(1), some(5))
    return [*found, first.vector("unsafe from the first")]


def lists_of_values() -> list[Vector]:
    """Disclosures that list some values now and others later; an owner whose value is in one."""
    first = disclosure(RULE, attributes=(("gender", ("F", "Z")),))
    found = []
    for value in ("F", "M", "Z", "X"):
        life = Life(first)
        life.values = {"gender": value}
        for at in (CREATED + 1_800, CREATED + DAY, monday(1)):
            life.on(at, some(5))
        other = disclosure(RULE, attributes=(("gender", ("M", "Z")),), seed=1)
        life.refit(other, FIRST + 2)
        life.on(monday(2), some(8))
        life.refit(disclosure(RULE, attributes=(("gender", ("F", "Z")),), seed=2), FIRST + 3)
        life.on(monday(3), some(8))
        found.append(life.vector(f"a list without others, value {value}"))
    for value in ("F", "Z"):
        life = Life(first)
        life.values = {"gender": value}
        life.on(monday(1), {})
        other = disclosure(RULE, attributes=(("gender", ("M", "Z")),), seed=1)
        life.refit(other, FIRST + 2)
        life.on(monday(2), some(8))
        found.append(life.vector(f"another list after an empty letter, value {value}"))
    gone = Life(first)
    gone.values = {"gender": "M"}
    gone.on(monday(1), some(5))
    gone.forget(SECRETS[1], some(5), monday(1) + 5)
    gone.refit(disclosure(RULE, attributes=(("gender", ("M", "Z")),), seed=1), FIRST + 2)
    gone.on(monday(2), some(8))
    return [*found, gone.vector("another list after forgetting")]


def no_numbers() -> Vector:
    """Stars that are no numbers, or that stand for one."""
    life = Life()
    odd: dict[Item, Any] = dict(zip(ITEMS, (None, "4", [4.0], True, {"stars": 4}, 3), strict=False))
    life.on(monday(1), odd)
    life.on(monday(2), some(5))
    return life.vector("stars that are no numbers")


def lived(number: int) -> Vector:
    """A life by chance."""
    stream = random_words(bytes(16), 5000 + number)
    many = disclosure(RULE, attributes=(AGE, GENDER), seed=number)
    life = Life(many if number % 3 == 0 else SHOWN, SECRETS[number % 2])
    history: dict[Item, float] = {}
    entered: dict[Item, int] = {}
    at = CREATED
    for _ in range(12):
        at += draw_below(stream, 3 * DAY) if draw_below(stream, 2) else draw_below(stream, 2 * WEEK)
        for item in ITEMS:
            what = draw_below(stream, 8)
            if what == 0:
                history.pop(item, None)
            elif what < 3:
                entered.setdefault(item, at - draw_below(stream, DAY))
                history[item] = 1.0 + draw_below(stream, 5)
        if draw_below(stream, 4) == 0 and calendar_epoch(at, WEEK) > life.log[-1][0]:
            attributes = (AGE, GENDER) if number % 3 == 0 else (GENDER,)
            seed = 10 + draw_below(stream, 100)
            life.refit(disclosure(RULE, attributes=attributes, seed=seed), calendar_epoch(at, WEEK))
        life.on(at, dict(history), {i: s for i, s in entered.items() if i in history})
    return life.vector(f"by chance {number}")


def content() -> dict[str, list[Any]]:
    named = [catalogue(), merging(), *named_again()]
    others = [calm(), odd_stars(), no_numbers(), *memories(), *silences(), *lists_of_values()]
    lives = [*named, *others, *map(lived, range(12))]
    return {"lives": lives}
