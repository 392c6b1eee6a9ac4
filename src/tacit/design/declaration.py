"""`Design`, by which a design declares its names, cards, models, commands and served sections."""

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
    """First word of the section's name, such as "campaigns"."""
    kind: str
    """Class whose `from_section(section)` reads one section."""
    router: str
    """The HTTP resources."""
    demo: str
    """Function that takes a folder, writes into it the files of a section on generated data, and
    returns the text of the section."""
    counts_names: bool = False
    """Whether each name under which a client asks counts as another person, who gets a budget or a
    place of their own."""


@dataclass(frozen=True)
class Design:
    """All that commands need to know of a design.

    A design is a way to recommend, with its own assumption on whom people trust.
    """

    name: str
    """Name in commands, such as "standard-scheme"."""
    title: str
    """Name in sentences and headings."""
    citation: str
    """Citation of the paper."""
    models: Mapping[str, str]
    """Maps the kind in a model file's header to the name of the class in the design's package."""
    card_settings: type[Any]
    """Settings of `tacit guarantee NAME`: a dataclass like `Command.settings`."""
    cards: Callable[[Any], tuple[Guarantee, ...]]
    """Returns the guarantee cards for such settings, before anything is fitted. It raises
    ConfigError for settings that no model could have."""
    after_cards: str
    """The command to type next after reading the cards, two spaces, and what it does."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Other parts of the design by name, each as "module:name" in the design's package.

    audit                     function that returns a `tacit.auditing.claims.AuditPlan`
    tour                      function that returns a `Tour`
    useful                    function that says of a fitted model whether its lists are expected to
                              beat popularity
    count_fits                function that returns the `FitCount` of a fitted model
    fit, evaluate, attack,    a `Command` each
    plan, simulate, replay
    compare                   function that takes a `Comparison` and returns `ComparisonEntry`s, or
                              the reason why there are none
    reproduce                 a tuple of `PaperResult`
    models                    function that takes a folder, writes into it a model to be served, and
                              returns the text of the model's section of tacit.toml
    """
    works_from: str = ""
    """Sentence that says how many people the design needs for lists that beat popularity, as
    measured in docs/results.md."""
    served: tuple[ServedSection, ...] = ()
    """Kinds of sections that `tacit serve` can serve."""

    def part(self, name: str) -> Any:
        """Import and return one of `parts`.

        Raises:
            KeyError: The design has no such part.
        """
        return self.load(self.parts[name])

    def load(self, reference: str) -> Any:
        """Import and return "module:name" of the design's package."""
        return resolve_name(f"{self.package}.{reference}")

    @property
    def package(self) -> str:
        """Name of the design's package."""
        return self.card_settings.__module__.rpartition(".")[0]
