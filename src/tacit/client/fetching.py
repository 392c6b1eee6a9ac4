"""What a service shows to everybody: fetched without a key, and checked before it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

from tacit.client.transport import ServiceError, Transport
from tacit.designs.private.device import DeviceLists
from tacit.designs.sketches.messages import Campaign, Clusters, MessageError, catalogue_digest
from tacit.designs.standard_scheme.canonical import MessageError as NotCanonical
from tacit.designs.standard_scheme.item_table import ItemTable
from tacit.designs.standard_scheme.memory import Log
from tacit.designs.standard_scheme.messages import Disclosure, ItemId
from tacit.errors import ConfigError, ModelFileError

M = TypeVar("M")


class Public:
    """The public files of one service. ServiceError for whatever is not what it should be."""

    def __init__(self, service: Transport) -> None:
        self._service = service
        self._lists: dict[str, DeviceLists] = {}

    def listed(self, noun: str) -> list[dict[str, Any]]:
        """What the service says about each of its campaigns or disclosures."""
        return self._objects(f"/api/{noun}", noun)

    def campaign(self, name: str) -> Campaign:
        return decoded(Campaign.decode, self._service.get(f"/api/campaigns/{quoted(name)}"))

    def clusters(self, name: str) -> Clusters:
        path = f"/api/campaigns/{quoted(name)}/clusters"
        return decoded(Clusters.decode, self._service.get(path))

    def catalogue(self, name: str, digest: bytes) -> list[ItemId]:
        """The item ids that a message names by this digest."""
        path = f"/api/campaigns/{quoted(name)}/catalogue"
        answer = self._service.json(self._service.get(path))
        items = answer.get("items") if isinstance(answer, dict) else None
        if not isinstance(items, list):
            items = []
        named = all(type(item) in (int, str) for item in items)
        if not named or catalogue_digest(items) != digest:
            raise ServiceError("The service's catalogue is not the list that its message names.")
        return list(items)

    def disclosure(self, name: str) -> Disclosure:
        return decoded(Disclosure.decode, self._service.get(f"/api/disclosures/{quoted(name)}"))

    def digest_log(self, name: str) -> Log:
        """Epochs and digests, as the disclosure's public log has them."""
        rows = self._objects(f"/api/disclosures/{quoted(name)}/log", "log")
        if not all(
            type(row.get("epoch")) is int and type(row.get("digest")) is str for row in rows
        ):
            raise ServiceError("The service's log has entries that are none.")
        return tuple((row["epoch"], row["digest"]) for row in rows)

    def latest(self, name: str) -> int:
        """The epoch of the account's latest letter that the service took; -1 for none, and where
        an older service does not say. The only request here that has the key."""
        try:
            data = self._service.get(f"/api/disclosures/{quoted(name)}/latest", own=True)
        except ServiceError as error:
            if error.status == 404:
                return -1
            raise
        answer = self._service.json(data)
        if not isinstance(answer, dict) or type(answer.get("latest")) is not int:
            raise ServiceError("The service's latest epoch is none.")
        return int(answer["latest"])

    def item_table(self, name: str) -> ItemTable:
        """The table for lists on the device; ServiceError of status 404 where none is published."""
        path = f"/api/disclosures/{quoted(name)}/item-table"
        return decoded(ItemTable.decode, self._service.get(path))

    def lists(self, name: str) -> DeviceLists:
        """Of a model, for lists on the device; fetched once by this object."""
        if name not in self._lists:
            data = self._service.get(f"/api/models/{quoted(name)}/device")
            self._lists[name] = decoded(DeviceLists.decode, data)
        return self._lists[name]

    def _objects(self, path: str, noun: str) -> list[dict[str, Any]]:
        answer = self._service.json(self._service.get(path))
        listed = answer.get(noun) if isinstance(answer, dict) else None
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise ServiceError(f"The service's list of {noun} is no list.")
        return listed


def decoded(decode: Callable[[bytes], M], data: bytes) -> M:
    """A message; ServiceError for bytes that are none."""
    try:
        return decode(data)
    except (MessageError, NotCanonical, ModelFileError, OverflowError) as error:
        raise ServiceError(f"The service sent what is no message: {error}.") from None


def quoted(name: str) -> str:
    """A name as one part of a path; ConfigError for what would be taken for a folder."""
    if name in ("", ".", ".."):
        raise ConfigError("A campaign, a disclosure or a model is asked for by its name.")
    return quote(name, safe="")
