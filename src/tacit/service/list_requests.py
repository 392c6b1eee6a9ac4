"""Requests for lists: histories in three forms, and choices about the list.

A history lists the ids of what a person liked or bought: alone, or with stars, or with a quantity.
An item with a quantity counts as liked. Items that the model does not know are left out and named
in the answer, so that one new product does not make the request fail. For an item that the model
knows, stars off the model's scale are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import Field, model_validator

from tacit.data.columns import LONGEST_ID
from tacit.errors import ConfigError
from tacit.service.keys import LONGEST_CUSTOMER_ID
from tacit.service.problems import Problem
from tacit.service.schemas import RequestModel
from tacit.service.served_models import LONGEST_LIST, ListOptions, ServedModel
from tacit.service.stored_ratings import MOST_RATINGS
from tacit.service.strict_json import LARGEST_INTEGER, PRINTABLE

MOST_PEOPLE = 200
"""Most people in one request for lists."""
MOST_ITEMS = 5_000
"""Most items that a request may exclude, or choose from."""
MOST_COLD_ITEMS = 100
"""Most items without ratings in one request."""
MOST_FACTS = 16
"""Most columns of an item without ratings, and most values in one of them."""

Length = Annotated[int, Field(ge=1, le=LONGEST_LIST)]
"""A number of items in a list."""
ItemId = Annotated[str, Field(min_length=1, max_length=LONGEST_ID, pattern=PRINTABLE)]
AnyItemId = ItemId | Annotated[int, Field(ge=-LARGEST_INTEGER - 1, le=LARGEST_INTEGER)]
"""Id of an item: a text, or a whole number where a shop's ids are numbers."""
Stars = Annotated[float, Field(allow_inf_nan=False)]
"""Any finite number; `check_stars` checks that it is on the model's scale."""
Quantity = Annotated[float, Field(gt=0, allow_inf_nan=False)]
CustomerId = Annotated[str, Field(min_length=1, max_length=LONGEST_CUSTOMER_ID, pattern=PRINTABLE)]


class HistoryItem(RequestModel):
    """One item of a history, with stars or a quantity. An item with neither counts as liked."""

    item: AnyItemId
    stars: Stars | None = None
    quantity: Quantity | None = None
    """How many were bought, or how often it was played. Any quantity is a like."""

    @model_validator(mode="after")
    def _check_one_amount(self) -> Self:
        if self.stars is not None and self.quantity is not None:
            raise ValueError("an item has stars or a quantity")
        return self


History = (
    Annotated[dict[ItemId, Stars], Field(max_length=MOST_RATINGS)]
    | Annotated[list[AnyItemId | HistoryItem], Field(max_length=MOST_RATINGS)]
)
"""Stars by item; or a list of ids, and of items with stars or quantities."""
ManyItems = Annotated[list[AnyItemId], Field(max_length=MOST_ITEMS)]


Fact = (
    Annotated[str, Field(max_length=LONGEST_ID, pattern=PRINTABLE)]
    | Annotated[int, Field(ge=-LARGEST_INTEGER - 1, le=LARGEST_INTEGER)]
)
"""A value of a catalogue's column: a text, or a year."""


class ColdItem(RequestModel):
    """An item that no one rated, with what the shop's catalogue says of it."""

    item: AnyItemId
    facts: Annotated[
        dict[ItemId, Fact | Annotated[list[Fact], Field(max_length=MOST_FACTS)]],
        Field(max_length=MOST_FACTS),
    ]
    """One value or several, by the name of the catalogue's column. The model's features were made
    of these columns."""


class ListQuestion(RequestModel):
    """Choices about a list, made by a person or a shop."""

    candidates: ManyItems | None = None
    """Items to choose from; null: all."""
    category: (
        Annotated[str, Field(min_length=1, max_length=LONGEST_ID, pattern=PRINTABLE)] | None
    ) = None
    """A category of the catalogue that every listed item has; null: any."""
    n: Length = 10
    """Length of the list."""
    diversity: Length | None = None
    """Most items of one category in the list; null: any number."""
    seen: bool = False
    """Whether items of the history may be listed."""
    cold: Annotated[list[ColdItem], Field(max_length=MOST_COLD_ITEMS)] = Field(default=[])
    """Items that no one rated, which may be listed, too. Each is scored by its features, at the
    popularity of an average item, and marked in the list."""


class PersonQuestion(RequestModel):
    """One person whose list is asked for. The history is not stored.

    Where lists are compared ([splits.NAME]), a keyed hash of the customer's id is stored, once for
    each request, until the figures of the day are released.
    """

    customer: CustomerId | None = None
    """The shop's id of the person, which the answer repeats; it changes no list."""
    history: History = Field(default=[])
    exclude: ManyItems = Field(default=[])
    """Items to leave out."""


@dataclass(frozen=True)
class ParsedQuestion:
    """A question for a list, with stars for the items that a model knows."""

    ratings: dict[str, float]
    """Stars of each item of the history that the model knows, by the item's id as text."""
    options: ListOptions
    """What the list may hold."""
    ignored: tuple[str, ...]
    """Items that have no effect, each once: items that the model does not know, and items without
    ratings (cold items) of which the model knows no feature."""


def parse_question(
    served: ServedModel, person: PersonQuestion, choices: ListQuestion
) -> ParsedQuestion:
    """Translate a question into ratings and choices that a model can use.

    Args:
        served: The model.
        person: Whose list is asked for, and their history.
        choices: Choices about the list.

    Raises:
        Problem: Status 422; stars are off the model's scale, or the model cannot score cold items.
    """
    cold = {}  # an item that the model knows is no cold item
    for entry in choices.cold:
        if str(entry.item) not in served.ids:
            cold[str(entry.item)] = entry.facts
    try:
        unknown_cold = served.unknown_cold_items(cold)
    except ConfigError as error:
        raise Problem(422, str(error)) from None
    ratings = _read_history(served, person.history)
    excluded = [str(item) for item in person.exclude]
    candidates = None
    named_items = [*ratings, *excluded]
    if choices.candidates is not None:
        candidates = frozenset(map(str, choices.candidates))
        named_items += map(str, choices.candidates)
    options = ListOptions(
        n=choices.n,
        exclude=frozenset(excluded),
        candidates=candidates,
        category=choices.category,
        diversity=choices.diversity,
        keep_seen=choices.seen,
        cold=cold,
    )
    known_ratings = {item: stars for item, stars in ratings.items() if item in served.ids}
    check_stars(served, known_ratings)
    unknown = [item for item in named_items if item not in served.ids and item not in cold]
    ignored = (*dict.fromkeys(unknown), *unknown_cold)  # `fromkeys`: each once
    return ParsedQuestion(known_ratings, options, ignored)


def check_stars(served: ServedModel, ratings: dict[str, float]) -> None:
    """Check that a model knows the rated items, and that the stars are on its scale.

    Args:
        served: The model.
        ratings: Stars by item.

    Raises:
        Problem: Status 422; the model does not know an item, or some stars are off its scale.
    """
    if len(served.usable_ratings(ratings)) < len(ratings):
        raise Problem(
            422,
            "A rating is of an item of the catalogue, in stars of the model's scale: see "
            "/api/models and /api/models/{model}/items.",
        )


def _read_history(served: ServedModel, history: History) -> dict[str, float]:
    """Return the stars by item of a history. An item that is listed twice has the last stars.

    An item without stars gets the most stars of the model's scale.
    """
    if isinstance(history, dict):
        return dict(history)
    stars_of_like = served.scale.maximum
    ratings: dict[str, float] = {}
    for entry in history:
        if isinstance(entry, HistoryItem):
            ratings[str(entry.item)] = stars_of_like if entry.stars is None else entry.stars
        else:
            ratings[str(entry)] = stars_of_like
    return ratings
