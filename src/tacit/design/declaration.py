"""How a design declares itself: its names, cards, models, commands and what it serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.privacy import Guarantee


@dataclass(frozen=True)
class ServedSection:
    """A kind of section of tacit.toml, `[NOUN.NAME]`, that a design serves over HTTP.

    `kind`, `router` and `demo` are each "module:name" in the design's package.
    """

    noun: str
    """First word of the section, such as "campaigns"."""
    kind: str
    """Class whose `from_section(section)` reads one table."""
    router: str
    """Its resources."""
    demo: str
    """Function that writes a section on generated data into a folder."""
    counts_names: bool = False
    """Whether it counts a name as a person, with a budget or a place of theirs."""


@dataclass(frozen=True)
class Design:
    """One way to recommend under one kind of trust: all that commands need to know of it."""

    name: str
    """Name as commands spell it."""
    title: str
    """Name as people read it."""
    citation: str
    """Citation of the paper."""
    models: Mapping[str, str]
    """Names in model files, each with its class in the design's package."""
    card_settings: type[Any]
    """Dataclass like `Command.settings`, of `tacit guarantee NAME`."""
    cards: Callable[[Any], tuple[Guarantee, ...]]
    """Guarantee cards of such settings, before anything is fitted; ConfigError for settings that no
    model could have."""
    after_cards: str
    """Command that a reader of the cards types next, and what it does."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Other parts that commands ask for, each as "module:name" in the design's package.

    audit                     makes a `tacit.auditing.claims.AuditPlan`
    tour                      makes a `Tour`
    useful                    says of a fitted model whether its lists are expected to beat
                              popularity
    count_fits                counts the fits of a fitted model's people, as a `FitCount`
    fit, evaluate, attack,    a `Command` each
    plan, simulate, replay
    compare                   returns the `ComparisonEntry`s for a `Comparison`, or the reason why
                              there are none
    reproduce                 a tuple of `PaperResult`
    models                    writes a model that is served, with its section, into a folder
    """
    works_from: str = ""
    """From how many people its lists beat popularity, by docs/results.md."""
    served: tuple[ServedSection, ...] = ()
    """Sections that `tacit serve` mounts."""

    def part(self, name: str) -> Any:
        """Load one of `parts`.

        Raises:
            KeyError: The design has no such part.
        """
        return self.load(self.parts[name])

    def load(self, place: str) -> Any:
        """Load "module:name" of the design's package."""
        return resolve_name(f"{self.package}.{place}")

    @property
    def package(self) -> str:
        """Module that has the design's classes."""
        return self.card_settings.__module__.rpartition(".")[0]
