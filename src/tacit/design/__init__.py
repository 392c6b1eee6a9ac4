"""Designs: how a design declares itself, and the registry of all designs.

The folder of a design has a `design.py` with `DESIGN = Design(...)`.

declaration    `Design`: all that the commands need to know of a design
options        `option`: declares a field of settings that is also an option of a command
execution      options of commands that can also read from disk or compute on a cluster
commands       `Command`, a command of a design; `Run`, one run of it
answers        parts of the results of commands that fit a model
comparison     the question of `tacit compare` to a design, and the design's answer
papers         results of a design's paper, and how they are reproduced
people_needed  how many people each design needs, from a data file
tour           a design's screen of `tacit demo`
registry       designs by name, and the design of a model
"""

from tacit.design.answers import (
    card_summary,
    fit_summary,
    guarantee_command,
    private_fit_summary,
)
from tacit.design.commands import Command, Run
from tacit.design.comparison import Comparison, ComparisonEntry
from tacit.design.declaration import Design, ServedSection
from tacit.design.execution import ExecutionOptions
from tacit.design.options import option, options_of
from tacit.design.papers import STATUSES, STATUSES_WITHOUT_COMMAND, PaperResult
from tacit.design.registry import (
    BUILT_IN,
    design,
    design_of,
    fit_count,
    model_class,
    names,
    served_sections,
    usefulness,
)
from tacit.design.tour import Bar as Bar
from tacit.design.tour import Tour

__all__ = [
    "BUILT_IN",
    "STATUSES",
    "STATUSES_WITHOUT_COMMAND",
    "Bar",
    "Command",
    "Comparison",
    "ComparisonEntry",
    "Design",
    "ExecutionOptions",
    "PaperResult",
    "Run",
    "ServedSection",
    "Tour",
    "card_summary",
    "design",
    "design_of",
    "fit_count",
    "fit_summary",
    "guarantee_command",
    "model_class",
    "names",
    "option",
    "options_of",
    "private_fit_summary",
    "served_sections",
    "usefulness",
]
