"""Results of a design's paper, for `tacit reproduce`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tacit.errors import ConfigError

STATUSES = ("exact", "bound", "measured", "refuted", "not reproduced", "no figure")
"""What can become of a paper's result: docs/reproduce.md says what each means."""
UNMADE_STATUSES = ("not reproduced", "no figure")
"""Statuses of results for which there is no command."""


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
