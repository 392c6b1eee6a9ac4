"""A design is one way to recommend under one kind of trust; the registry knows all of them.

A design's folder has a `design.py` with `DESIGN = Design(...)`; entry points of the group
`tacit.designs` name those of other packages. None is imported before its name is asked for.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol

from tacit.errors import ConfigError
from tacit.extensions import DESIGNS, find_entry_points

if TYPE_CHECKING:
    from tacit.data.ratings import Ratings
    from tacit.data.stored import StoredRatings
    from tacit.evaluation import Result
    from tacit.privacy import Guarantee

BUILT_IN = ("private", "standard-scheme", "xmap", "sketches", "prec", "pdap")
STATUSES = ("exact", "bound", "measured", "refuted", "not reproduced", "no figure")
"""What can become of a paper's result: docs/reproduce.md says what each means."""
UNMADE_STATUSES = ("not reproduced", "no figure")
"""Statuses of results for which there is no command."""


@dataclass(frozen=True)
class Served:
    """What a design serves over HTTP: a section of tacit.toml, [NOUN.NAME].

    Each as "module:name" in the design's package: kind: a class whose `from_section(section)` reads
    one table; router: its resources; demo: writes a section on generated data into a folder.
    counts_names: whether it counts a name as a person, with a budget or a place of theirs.
    """

    noun: str
    kind: str
    router: str
    demo: str
    counts_names: bool = False


@dataclass(frozen=True)
class Design:
    """What commands need of a design.

    name: as commands spell it. title: as people read it. citation: of the paper.
    models: names in model files, each with its class in the design's package.
    card_settings: a dataclass like `Command.settings`, of `tacit guarantee NAME`.
    cards: the guarantee cards of such settings, before anything is fitted; ConfigError for
    settings that no model could have.
    after_cards: the command that a reader of the cards types next, and what it does.
    parts: what else commands ask for, each as "module:name" in the design's package. `audit` makes
    a `tacit.auditing.claims.Bench`, `tour` a `Tour`; `useful` says of a fitted model whether its
    lists are expected to beat popularity; `fit`, `evaluate`, `attack`, `plan`, `simulate` and
    `replay` are each a `Command`; `compare` gives the `Entry`s of a `Comparison`, or the reason why
    there are none; `reproduce` is a tuple of `PaperResult`; `models` writes one that is served,
    with its section, into a folder.
    works_from: from how many people its lists beat popularity, by docs/results.md.
    served: what `tacit serve` mounts.
    """

    name: str
    title: str
    citation: str
    models: Mapping[str, str]
    card_settings: type[Any]
    cards: Callable[[Any], tuple[Guarantee, ...]]
    after_cards: str
    parts: Mapping[str, str] = field(default_factory=dict)
    works_from: str = ""
    served: tuple[Served, ...] = ()

    def part(self, name: str) -> Any:
        return self.load(self.parts[name])

    def load(self, place: str) -> Any:
        """What "module:name" in its package is."""
        return resolve_name(f"{self.package}.{place}")

    @property
    def package(self) -> str:
        """The module that has the design's classes."""
        return self.card_settings.__module__.rpartition(".")[0]


@dataclass(frozen=True)
class PaperResult:
    """A table, figure, theorem or bound that a design's paper prints, and how it is made again.

    Paths are those of `tacit.evaluation.quantities`. A test runs the command of every result with
    the options of `small` and looks for each quantity of `shows` in its JSON.

    Raises:
        ConfigError: A status that there is not, a result without command and reason, or quantities
            of a result without a command.
    """

    item: str
    """What the paper calls it, such as "Theorem 6"; `tacit reproduce PAPER ITEM` names it so."""
    status: str
    """One of `STATUSES`."""
    command: str
    """The command that makes our figure; FOLDER is where data lie. "" where there is none."""
    reason: str
    """What is compared, how it differs from the paper, or why it is not made."""
    printed: str = ""
    """The paper's own figures, where it has any."""
    shows: tuple[str, ...] = ()
    """Paths of the quantities in the JSON that the command prints."""
    small: str = ""
    """Options that make the command quick enough for a test. Each replaces the option of the same
    name, wherever that stands in the command, or is added."""

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            known = ", ".join(STATUSES)
            raise ConfigError(f"{self.item}: no status '{self.status}'. Known: {known}.")
        if not self.reason:
            raise ConfigError(f"{self.item}: give a reason, or say what is compared.")
        if (self.command == "") != (self.status in UNMADE_STATUSES):
            unmade = " or ".join(f"'{status}'" for status in UNMADE_STATUSES)
            raise ConfigError(f"{self.item}: {unmade} has no command, all others have one.")
        if self.shows and not self.command:
            raise ConfigError(f"{self.item}: quantities are shown by a command; there is none.")

    @property
    def words(self) -> list[str]:
        """The words of the command, without its first, `tacit`."""
        return shlex.split(self.command)[1:]

    @property
    def small_words(self) -> list[str]:
        """The words of the command at its small size, with `--json`."""
        replacements = shlex.split(self.small)
        replaced = {word for word in replacements if _is_option(word)}
        kept: list[str] = []
        dropping = False
        for word in self.words:
            dropping = word in replaced or (dropping and not _is_option(word))
            if not dropping:
                kept.append(word)
        words = [*kept, *replacements]
        return words if "--json" in words else [*words, "--json"]


def _is_option(word: str) -> bool:
    return word.startswith("--")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `tacit compare` asks a design for. source, target: names of domains, both or neither."""

    ratings: Ratings
    epsilons: tuple[float, ...]
    delta: float
    source: str | None
    target: str | None


@dataclass(frozen=True, eq=False)
class Entry:
    """One line of `tacit compare`. epsilon: None: none is claimed; inf: without noise.

    unit, against: what the epsilon, or the lack of it, is for. maker: "module:name" of a class
    with `fit(ratings)` and `recommend(user, n=..., candidates=...)`, made with `settings`. stars:
    whether `predict` gives stars. attacked: whether it also recommends for any `history`.
    """

    design: str
    variant: str
    epsilon: float | None
    unit: str
    against: str
    maker: str
    settings: Mapping[str, Any]
    stars: bool = False
    attacked: bool = True


@dataclass(frozen=True)
class Tour:
    """One screen about a design, of a real run on generated data.

    asked: who wanted what. left: what crossed to whom. learned: by an attacker. cost: in privacy
    and in accuracy. read_on: a page of the documentation. figures: the numbers of the sentences.
    """

    asked: str
    left: str
    learned: str
    cost: str
    read_on: str
    figures: Mapping[str, Any]


class Run(Protocol):
    """What a command gets of the terminal: the line that was typed, the file of ratings, progress.

    per_item, per_user: of --per-item and --per-user, 1 if it was left out.
    """

    command: str
    per_item: int
    per_user: int

    def read(self, *, catalogue: Path | None = None, domains: bool = True) -> Ratings:
        """The ratings; DataError with file, row and column.

        catalogue: a file of the only items that count. domains: whether it must have them.
        """

    def open(
        self, where: Where, *, catalogue: Path | None = None, domains: bool = True
    ) -> AbstractContextManager[Ratings | StoredRatings]:
        """The same where they are."""

    def progress(
        self, description: str, total: int | None
    ) -> AbstractContextManager[Callable[[float], None]]:
        """A bar; what it yields is called with the number of steps done, or a part of one."""


@dataclass(frozen=True)
class Command:
    """A command of a design, such as `tacit simulate NAME`.

    settings: a frozen dataclass made with `option`; its fields are the options. run: its docstring
    is the help. ratings: whether it reads a file of ratings.
    """

    settings: type[Any]
    run: Callable[[Any, Run], Result]
    ratings: bool = False


def option(
    help: str,  # noqa: A002
    *,
    default: Any = MISSING,
    least: float | None = None,
    flag: str = "",
    argument: str = "",
    writes: bool = False,
    repeat: bool = False,
) -> Any:
    """A field of settings that is also an option of a command.

    A tuple is written with commas, or, if `repeat`, by one option for each entry. least: the
    smallest value. flag: how it is typed, if not by the field's name: "--out -o". argument: what a
    positional one is called in the help. writes: a file, which must be writable before anything
    else is done.
    """
    metadata = {"help": help, "least": least, "flag": flag, "argument": argument}
    return field(default=default, metadata={**metadata, "writes": writes, "repeat": repeat})


@dataclass(frozen=True, kw_only=True)
class Where:
    """Options of commands whose sums over people need not be made in memory."""

    engine: str = option("Where sums are made: 'local', or 'spark' with --remote.", default="local")
    remote: str | None = option(
        "Spark Connect server, sc://HOST:PORT. RATINGS: a path or table it sees.", default=None
    )
    memory: str | None = option("Stream Parquet in this much memory, such as 4GiB.", default=None)
    tasks: int | None = option(
        "Tasks on a cluster; default: one for 2 million ratings.", default=None, least=1
    )

    def __post_init__(self) -> None:
        if self.engine not in ("local", "spark"):
            raise ConfigError(f"--engine is 'local' or 'spark'; got {self.engine!r}.")
        if (self.engine == "spark") != (self.remote is not None):
            raise ConfigError("--engine spark and --remote sc://HOST:PORT go together.")
        if self.engine == "spark" and self.memory is not None:
            raise ConfigError("--memory is of this machine; a cluster's is set at its workers.")
        if self.engine == "local" and self.tasks is not None:
            raise ConfigError("--tasks is for --engine spark.")

    @property
    def in_memory(self) -> bool:
        """Whether all ratings are read into memory."""
        return self.engine == "local" and self.memory is None


def options_of(settings: type[Any]) -> dict[str, Field[Any]]:
    """The fields of a settings class that are options, by name."""
    return {each.name: each for each in fields(settings) if "help" in each.metadata}


def names() -> tuple[str, ...]:
    """All designs: those of tacit, then those of other packages."""
    return (*BUILT_IN, *(name for name in find_entry_points(DESIGNS) if name not in BUILT_IN))


def _package(name: str) -> str:
    return f"tacit.designs.{name.replace('-', '_')}"


def design(name: str) -> Design:
    """The design of that name; ConfigError if there is none."""
    if name in BUILT_IN:
        loaded = resolve_name(f"{_package(name)}.design:DESIGN")
    elif name in (elsewhere := find_entry_points(DESIGNS)):
        loaded = elsewhere[name].load()
    else:
        raise ConfigError(f"No design '{name}'. Known: {', '.join(names())}.")
    if not isinstance(loaded, Design):
        raise ConfigError(
            f"The entry point {name} of {DESIGNS} names no Design but a {type(loaded).__name__}. "
            "Correct it in the package that has it."
        )
    return loaded


def nouns() -> dict[str, tuple[Design, Served]]:
    """What designs serve, by the section of tacit.toml."""
    by_noun = {one.noun: (owner, one) for owner in map(design, names()) for one in owner.served}
    return dict(sorted(by_noun.items()))


def model_class(kind: str) -> type[Any] | None:
    """The class that reads a model file of this name; None if no design has it."""
    for owner in map(design, names()):
        if kind in owner.models:
            read: type[Any] = resolve_name(f"{owner.package}:{owner.models[kind]}")
            return read
    return None


def design_of(model: object) -> Design | None:
    """The design that a fitted model is of; None for a baseline."""
    home = type(model).__module__
    own = [name for name in BUILT_IN if home.startswith(f"{_package(name)}.")]
    others = own or [name for name in names() if name not in BUILT_IN]  # no other is imported
    return next((d for d in map(design, others) if home.startswith(f"{d.package}.")), None)


def usefulness(model: object) -> str | None:
    """Whether a fitted model's lists are expected to beat popularity, and how many people are
    missing, in words: from public sizes or what was released. None for a baseline."""
    owner = design_of(model)
    if owner is None or "useful" not in owner.parts:
        return None if owner is None else owner.works_from
    sentence: str = owner.part("useful")(model)
    return sentence


def summary(name: str, out: Path, ratings: Ratings) -> dict[str, Any]:
    """What a fit without a promise answers: exact numbers of people and ratings, and the digest."""
    return private_summary(name, out, ratings.n_items) | {
        "people": ratings.n_users,
        "ratings": len(ratings),
        "data": ratings.digest,
    }


def private_summary(name: str, out: Path, items: int) -> dict[str, Any]:
    """What a private fit answers: exact numbers of people and ratings are in no private release."""
    return {"recommender": name, "model": str(out), "items": items}


def promised(card: Guarantee) -> dict[str, Any]:
    """What the answer of a private fit says of its card."""
    lines = {"first_line": card.first_line, "sentence": card.sentence}
    return {"basis": card.basis.value, **lines}
