"""Results of a design's paper, for `tacit reproduce`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from tacit.errors import ConfigError

STATUSES = ("exact", "bound", "measured", "refuted", "not reproduced", "no figure")
"""How far a paper's result is reproduced; docs/reproduce.md says what each status means."""
STATUSES_WITHOUT_COMMAND = ("not reproduced", "no figure")
"""The statuses of results for which there is no command."""


@dataclass(frozen=True)
class PaperResult:
    """A table, figure, theorem or bound of a design's paper, and how it is reproduced.

    A test runs the command of every result with the options of `small`, and looks for each quantity
    of `shows` in its JSON.

    Raises:
        ConfigError: The status is unknown or does not fit the command, there is no reason, or
            there are quantities without a command.
    """

    item: str
    """Its name in the paper and in `tacit reproduce PAPER ITEM`, such as "Theorem 6"."""
    status: str
    """One of `STATUSES`."""
    command: str
    """The command that reproduces it, with FOLDER for the folder of data; "" if there is none."""
    reason: str
    """What is compared, how it differs from the paper, or why it is not reproduced."""
    printed: str = ""
    """The figures that the paper prints, if any."""
    shows: tuple[str, ...] = ()
    """Where the quantities are in the JSON of the command: paths of `tacit.evaluation.quantities`.
    """
    small: str = ""
    """Options that make the command quick enough for a test. Each replaces the option of the same
    name in the command, or is added to it."""

    def __post_init__(self) -> None:
        """Check the fields, as the class says."""
        if self.status not in STATUSES:
            statuses = ", ".join(STATUSES)
            raise ConfigError(f"{self.item}: no status '{self.status}'. Known: {statuses}.")
        if not self.reason:
            raise ConfigError(f"{self.item}: give a reason, or say what is compared.")
        if (self.command == "") != (self.status in STATUSES_WITHOUT_COMMAND):
            without_command = " or ".join(f"'{status}'" for status in STATUSES_WITHOUT_COMMAND)
            raise ConfigError(
                f"{self.item}: a result has no command if its status is {without_command}; any "
                "other result has one."
            )
        if self.shows and not self.command:
            raise ConfigError(f"{self.item}: quantities are shown by a command; there is none.")

    @property
    def words(self) -> list[str]:
        """The words of the command after `tacit`."""
        return shlex.split(self.command)[1:]

    @property
    def small_words(self) -> list[str]:
        """The words of the command with the options of `small`, and with `--json`."""
        new_words = shlex.split(self.small)
        replaced_options = {word for word in new_words if _is_option(word)}
        words: list[str] = []
        is_replaced = False  # whether the word, or the option that it is a value of, is replaced
        for word in self.words:
            if _is_option(word):
                is_replaced = word in replaced_options
            if not is_replaced:
                words.append(word)
        words += new_words
        if "--json" not in words:
            words.append("--json")
        return words


def _is_option(word: str) -> bool:
    """Say whether a word of a command line is an option, and not a value."""
    return word.startswith("--")
