"""The client of a shop's backend, which sends customers' histories and receives lists.

Unlike a device, a backend trusts the service with true histories; the service does not store them.
Its key has the role `recommend`: it can ask for lists, and report clicks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any
from urllib.parse import quote

from tacit.client.transport import ServiceError, Transport
from tacit.errors import ConfigError

ItemId = str | int
BackendHistory = Mapping[ItemId, float] | Sequence[ItemId | Mapping[str, Any]]
"""Stars by item; or a list of items that were liked or bought, each an id or an object such as
`{"item": ..., "quantity": 2}` or `{"item": ..., "stars": 4}`."""


@dataclass(frozen=True)
class ListedItem:
    """One item of a list."""

    item_id: str
    score: float
    """The number by which the list is sorted, the highest first; not predicted stars."""
    title: str | None
    """None if the catalogue has none."""
    cold: bool = False
    """Whether no one rated the item: its features alone were scored."""


@dataclass(frozen=True)
class ServedList:
    """A list of recommendations."""

    items: tuple[ListedItem, ...]
    """The items, the best first."""
    personal: bool
    """Whether the list depends on the history; otherwise it is the same for everybody."""
    ignored: tuple[str, ...]
    """Items of the request that the model does not know, and that had no effect."""
    customer: str | None = None
    """The customer's id in the request; None if there was none."""


class Backend:
    """Asks one service for lists.

    Every method raises ServiceError if the service fails or refuses the request.

    Args:
        url: Address of the service.
        key: A key of the role `recommend`.
        settings: Further arguments of `Transport`.
    """

    def __init__(self, url: str, key: str, **settings: Any) -> None:
        self._service = Transport(url, key, **settings)

    def recommend(
        self,
        model: str,
        history: BackendHistory = (),
        *,
        customer: str | None = None,
        exclude: Collection[ItemId] = (),
        candidates: Collection[ItemId] | None = None,
        category: str | None = None,
        n: int = 10,
        diversity: int | None = None,
        seen: bool = False,
        cold: Mapping[ItemId, Mapping[str, Any]] | None = None,
    ) -> ServedList:
        """Ask for one person's list.

        Args:
            model: Name of the served model.
            history: Items that the person liked, bought or rated; if it is empty, the list is the
                same for everybody.
            customer: The shop's id of the person, which the result repeats; None for no id.
            exclude: Items to leave out.
            candidates: Items to choose from; None means all.
            category: Only items of this category are listed; None means any.
            n: Most items of the list.
            diversity: Largest number of items of one category; None means any.
            seen: Whether items of the history may be listed.
            cold: Items that no one rated, which may be listed too: the id of each, with public
                facts about it by the names of the catalogue's columns, such as
                {"new-1": {"genre": ["Drama"]}}. None: no such items.
        """
        request = {
            "model": model,
            "customer": customer,
            "history": _convert_history(history),
            "exclude": list(exclude),
            "candidates": None if candidates is None else list(candidates),
            "category": category,
            "n": n,
            "diversity": diversity,
            "seen": seen,
            "cold": _convert_cold_items(cold),
        }
        answer = self._service.parse_json(self._service.post_json("/api/recommend", request))
        return _read_list(answer, customer)

    def recommend_many(
        self,
        model: str,
        histories: Mapping[str, BackendHistory],
        *,
        candidates: Collection[ItemId] | None = None,
        category: str | None = None,
        n: int = 10,
        diversity: int | None = None,
        seen: bool = False,
        cold: Mapping[ItemId, Mapping[str, Any]] | None = None,
    ) -> dict[str, ServedList]:
        """Ask for the lists of up to 200 people in one request.

        Args:
            model: Name of the served model.
            histories: Each person's history, by the shop's id of the person.
            candidates: Items to choose from; None means all.
            category: Only items of this category are listed; None means any.
            n: Most items of each list.
            diversity: Largest number of items of one category; None means any.
            seen: Whether items of a person's history may be in their list.
            cold: Items that no one rated, which may be listed too: the id of each, with public
                facts about it by the names of the catalogue's columns, such as
                {"new-1": {"genre": ["Drama"]}}. None: no such items.

        Returns:
            The lists, by the shop's id of the person.
        """
        people = []
        for customer, history in histories.items():
            people.append({"customer": customer, "history": _convert_history(history)})
        request = {
            "model": model,
            "people": people,
            "candidates": None if candidates is None else list(candidates),
            "category": category,
            "n": n,
            "diversity": diversity,
            "seen": seen,
            "cold": _convert_cold_items(cold),
        }
        answer = self._service.parse_json(self._service.post_json("/api/recommend-many", request))
        try:
            rows = dict(zip(histories, answer["lists"], strict=True))
        except (KeyError, TypeError, ValueError):
            raise ServiceError("The service's answer does not hold lists.") from None
        return {customer: _read_list(row, customer) for customer, row in rows.items()}

    def similar_items(self, model: str, item: ItemId, *, n: int = 10) -> tuple[ListedItem, ...]:
        """Ask for the items that go best with one item, the best first.

        Args:
            model: Name of the served model.
            item: Id of the item.
            n: Most items of the list.

        Raises:
            ServiceError: The item or the model is unknown (status 404).
        """
        path = f"/v1/models/{quote(model, safe='')}/similar/{quote(str(item), safe='')}?n={n}"
        answer = self._service.parse_json(self._service.get(path, with_key=True))
        return _read_items(answer)


def _convert_history(history: BackendHistory) -> Any:
    """Convert a history to the form of the request; ConfigError if stars are not finite."""
    if isinstance(history, Mapping):
        return {str(item): _convert_stars(item, stars) for item, stars in history.items()}
    return [dict(entry) if isinstance(entry, Mapping) else entry for entry in history]


def _convert_stars(item: ItemId, stars: Any) -> float:
    """Convert stars to a float; ConfigError if they are no finite number."""
    try:
        number = float(stars)
    except (TypeError, ValueError, OverflowError):
        number = nan
    if not isfinite(number):
        raise ConfigError(f"Stars are finite numbers; got {stars!r:.100} for {item!r}.")
    return number


def _convert_cold_items(cold: Mapping[ItemId, Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Convert items without ratings, and facts about them, to the form of the request."""
    if cold is None:
        return []
    return [{"item": item, "facts": dict(facts)} for item, facts in cold.items()]


def _read_list(answer: Any, customer: str | None) -> ServedList:
    """Read a list from the parsed answer; ServiceError if it is not one."""
    items = _read_items(answer)
    ignored = answer.get("ignored")
    personal = answer.get("personal")
    if not isinstance(ignored, list) or not isinstance(personal, bool):
        raise ServiceError("The service's answer is not a list.")
    return ServedList(items, personal, tuple(map(str, ignored)), customer)


def _read_items(answer: Any) -> tuple[ListedItem, ...]:
    """Read the items of a list from the parsed answer; ServiceError if it has none."""
    try:
        rows = answer["items"]
        return tuple(_read_item(row) for row in rows)
    except (KeyError, TypeError):
        raise ServiceError("The service's answer is not a list.") from None


def _read_item(row: Any) -> ListedItem:
    """Read one item of a list; KeyError or TypeError if the row is no item."""
    return ListedItem(row["item_id"], row["score"], row["title"], row["cold"])
