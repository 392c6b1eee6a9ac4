"""Models that are served: their catalogues, lists and guarantees.

    [models.films]
    file = "films.tacit"            # made by  tacit fit ... -o films.tacit
    scale = "1:5:1"                 # where the file does not hold it
    without_guarantee = false       # true serves a model that promises no privacy

A model file holds items and no people; but the file of a model that was fitted to people who agreed
not to be protected holds likes of these people. A list is made from the ratings that a person
stored here or sent with the question. No model learns from these ratings, so lists cost no budget.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self
from urllib.parse import urlsplit

import numpy as np

from tacit import container
from tacit.data.cold_items import read_cold_items
from tacit.data.ratings import RatingScale
from tacit.design import fit_count
from tacit.errors import ConfigError, DataError, ModelFileError, TacitError
from tacit.privacy import Basis, Guarantee
from tacit.privacy.officer_card import FitCount
from tacit.recommenders import Recommendation
from tacit.recommenders.item_details import ItemDetails, details_of_facts, title_of_facts
from tacit.recommenders.model_files import model_from_parts
from tacit.service.served_things import Section, ServedThing
from tacit.service.setting_tables import setting

LONGEST_LIST = 100
"""Most items of a list."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings:
    """The lines of [models.NAME]."""

    file: str = setting(
        "a model file of `tacit fit`", refused="outside of the folder, unreadable, or refuted"
    )
    scale: str | None = setting(
        "the stars that people may give, as `lowest:highest:step`, such as `1:5:1`",
        None,
        default_text="the model's own",
        refused="missing where the model has none, or other than the model's own",
    )
    without_guarantee: bool = setting(
        "serve a model that promises no privacy to the people it was fitted on",
        False,
        refused="`false` for such a model",
    )
    item_word: str = setting(
        "what one item is called on the page, such as `film`, `product` or `article`",
        "item",
        refused="other than 1 to 40 letters, blanks and hyphens",
    )
    cold_items: str | None = setting(
        "a table of items that no one rated, which lists made on devices may hold too, marked as "
        "new: ids in the first column, then columns of the catalogue; a change of it is noticed "
        "like one of `file`",
        None,
        default_text="none",
        refused="outside of the folder, no such table, or for a model that scores no such items",
    )


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """One item of a model's public catalogue."""

    item_id: str
    title: str | None
    """None where the catalogue has none."""
    domain: str | None
    """None in a model without domains."""
    recommended: bool
    """Whether it may be in a list."""
    categories: tuple[str, ...] = ()
    price: str | None = None
    """As the catalogue writes it."""
    image: str | None = None
    """Address of a picture: `https:`, or `data:` with the picture itself."""
    cold: bool = False
    """Whether no one rated it. Such an item may be in a list; in a history it is ignored."""


@dataclass(frozen=True, slots=True)
class ItemWords:
    """Words for the items of a model, for sentences on the page."""

    one: str
    """What one item is called, such as "film"."""
    many: str
    """What several items are called, such as "films"."""


ColdFacts = Mapping[str, Any]
"""Public facts of an item that no one rated, by the names of the catalogue's columns."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Choices about a list. Items are ids as texts; the model need not know them."""

    n: int = 10
    """Length of the list, from 1 to LONGEST_LIST."""
    exclude: frozenset[str] = frozenset()
    """Items to leave out."""
    candidates: frozenset[str] | None = None
    """Items to choose from; None: all."""
    category: str | None = None
    """A category that every listed item has; None: any."""
    diversity: int | None = None
    """Most items of one category in the list; None: any number."""
    keep_seen: bool = False
    """Whether items of the history may be listed."""
    cold: Mapping[str, ColdFacts] = field(default_factory=dict, hash=False)
    """Public facts of each item that may be listed although no one rated it, by item."""

    @property
    def is_plain(self) -> bool:
        """Whether all choices, except for the length, are the defaults."""
        default = ListOptions()
        return replace(self, n=default.n) == default


class FileStamp(NamedTuple):
    """Properties of a file that change when it is replaced."""

    changed: int
    """Time of the last change, in nanoseconds."""
    size: int
    """In bytes."""
    inode: int
    """Number of the file in its file system."""


class ModelStamps(NamedTuple):
    """The stamps of a model's files."""

    model: FileStamp
    """Stamp of the model file."""
    cold_items: FileStamp | None
    """Stamp of the table of cold items; None where there is no table."""


def read_stamps(section: Section) -> ModelStamps:
    """Read the stamps of the files that a model's section names.

    Raises:
        ModelFileError: There is no model file.
        ConfigError: The section names no model file, or its `cold_items` is no text.
    """
    model = _read_stamp(section.folder / section.text("file"))
    if "cold_items" not in section.values:
        return ModelStamps(model, None)
    try:
        return ModelStamps(model, _read_stamp(section.folder / section.text("cold_items")))
    except ModelFileError:
        return ModelStamps(model, None)


def _read_stamp(path: Path) -> FileStamp:
    """Read the stamp of a file.

    Raises:
        ModelFileError: There is no such file, or it cannot be accessed.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror}).") from None
    return FileStamp(status.st_mtime_ns, status.st_size, status.st_ino)


@dataclass(frozen=True, eq=False)
class ServedModel(ServedThing):
    """A fitted model that is served.

    Items are named by texts here, as in requests and answers. The recommender `model` has ids of
    its own, which may be numbers; `ids` translates. Threads share one object, which does not change
    after it is made.
    """

    SETTINGS: ClassVar = ModelSettings

    name: str
    """Name of the model, which is a part of addresses."""
    kind: str
    """Name of the recommender, as the model file has it."""
    variant: str | None
    """Variant of the design, such as "sound"; None for a recommender without variants."""
    scale: RatingScale
    """Stars that people may give."""
    model: Any
    """The fitted recommender."""
    words: ItemWords = ItemWords("item", "items")
    """Words for its items on the page."""
    digest: str = ""
    """SHA-256 of the model file, in hexadecimal digits."""
    date_made: date = date.min
    """The day, in UTC, on which the model file was last changed."""
    stamps: ModelStamps | None = None
    """Stamps of its files, by which a change is noticed; None for a model that was not read from a
    file."""
    cold: Mapping[str, ColdFacts] = field(default_factory=dict, repr=False)
    """Public facts of the items that no one rated and that lists made on devices may hold, by
    item."""
    previous: ServedModel | None = field(default=None, repr=False)
    """The model that this one replaced while the service ran; None if it replaced none. Its own
    `previous` is None."""

    @classmethod
    def from_section(
        cls, section: Section, report_cold_fault: Callable[[BaseException], None] | None = None
    ) -> Self:
        """Read the model of a section.

        Args:
            section: The section of tacit.toml.
            report_cold_fault: Called with the error if the table of cold items cannot be used;
                the model is then served without it. None: the error is raised.

        Raises:
            ConfigError: A setting is wrong, or the model may not be served, or it cannot score cold
                items.
            ModelFileError: The file is no model.
            DataError: The table of cold items cannot be read.
        """
        where = f"models.{section.name}"
        settings = section.read_settings(ModelSettings)
        path = section.file_path("file")
        # Before the files are read, so that a change since then is noticed.
        stamps = read_stamps(section)
        # Once, so that the model and its digest are of the same bytes: a refit may replace the
        # file.
        content = container.read_bytes(path)
        header, arrays = container.unpack(content, path)
        kind = str(header.get("recommender"))
        variant = _read_variant(header, path)
        # Refused by the header, before a model is made of the rest of the file.
        for name in (variant, kind):
            if name in _REFUSAL_BY_NAME:
                raise ConfigError(f"{where} is {_REFUSAL_BY_NAME[name]}")
        model = model_from_parts(header, arrays, path)
        _check_promise(where, tuple(model.guarantees()), settings.without_guarantee)
        scale = _read_scale(where, model, settings.scale)
        words = read_words(f"{where}.item_word", settings.item_word)
        served = cls(
            section.name,
            kind,
            variant,
            scale,
            model,
            words,
            digest=hashlib.sha256(content).hexdigest(),
            date_made=datetime.fromtimestamp(stamps.model.changed / 1e9, UTC).date(),
            stamps=stamps,
            cold=_read_cold_items_or_report(where, section, model, report_cold_fault),
        )
        served._compute_cached()
        return served

    def _compute_cached(self) -> None:
        """Compute cached properties that requests need, so that the first request does not wait."""
        _ = (self.popular, self.positions, self.device_file, self.previous_device_file)

    def differs_from(self, other: ServedModel) -> bool:
        """Say whether the model file or the cold items differ from those of another model."""
        return self.digest != other.digest or self.cold != other.cold

    def with_previous(self, old: ServedModel) -> ServedModel:
        """Return a copy of this model whose `previous` is an older model."""
        successor = replace(self, previous=replace(old, previous=None))
        successor._compute_cached()
        return successor

    @cached_property
    def previous_device_file(self) -> bytes | None:
        """Device file of the previous model; None where there is none that may be given out.

        A model that was fitted to consenting people holds likes of theirs. Its file is not given
        out once it is replaced: some of them may have withdrawn their consent, and a withdrawal
        takes effect with the next file.
        """
        if self.previous is None:
            return None
        n_consenting: int = getattr(self.previous.model, "consenting_people_", 0)
        return self.previous.device_file if n_consenting == 0 else None

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee cards of the model."""
        return tuple(self.model.guarantees())

    def fit_count(self) -> FitCount | None:
        """Return how many fits were made to the data of the model's people, and how many are left.

        None: the model does not count fits.
        """
        return fit_count(self.model)

    def describe_releases(self) -> str:
        """Return what was released and cannot be recalled, for a person's receipt."""
        return (
            f"the model '{self.name}', and lists that others got from it: it was fitted before, on "
            "ratings that its makers had; what you rated here never went into it"
        )

    @cached_property
    def ids(self) -> Mapping[str, Any]:
        """The model's own ids of its items, by their texts."""
        known_items = (*self.model.history_ids_.tolist(), *self.model.item_ids_.tolist())
        return {str(item): item for item in known_items}

    @cached_property
    def items(self) -> tuple[CatalogueItem, ...]:
        """The catalogue: the model's items, in the order of `ids`, then the cold items."""
        # A list that is long enough holds every item that may be in a list.
        recommended = set(self.model.recommend(history={}, n=len(self.ids)).item_ids)
        domain_by_item = self._map_items_to_domains()
        titles = self.model.titles_
        details_by_item = getattr(self.model, "details_", {})
        items = []
        for text, model_id in self.ids.items():
            details = details_by_item.get(model_id, ItemDetails())
            row = CatalogueItem(
                item_id=text,
                title=titles.get(model_id),
                domain=domain_by_item.get(model_id),
                recommended=model_id in recommended,
                categories=details.categories,
                price=details.price,
                image=_find_safe_image(details.image),
            )
            items.append(row)
        items += [_describe_cold_item(item, facts) for item, facts in self.cold.items()]
        return tuple(items)

    @cached_property
    def image_origins(self) -> frozenset[str]:
        """Origins that pictures of the catalogue come from, such as `https://img.example`."""
        origins = set()
        for item in self.items:
            if item.image is None:
                continue
            address = urlsplit(item.image)
            if address.scheme == "https":  # in small letters, however it is written
                origins.add("https://" + address.netloc)
        return frozenset(origins)

    def _map_items_to_domains(self) -> Mapping[Any, str]:
        """Return the domain of each item, by the model's id; empty if the model has no domains."""
        catalogue = getattr(self.model, "catalogue_", None)
        if catalogue is None:
            return {}
        return dict(zip(self.model.item_ids_.tolist(), catalogue.domains.tolist(), strict=True))

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Position of each item in `items`, from 0."""
        return {item.item_id: position for position, item in enumerate(self.items)}

    @cached_property
    def popular(self) -> tuple[Recommendation, ...]:
        """The list for a person who rated nothing, of LONGEST_LIST items at most."""
        return tuple(self.model.recommend(history={}, n=LONGEST_LIST))

    @cached_property
    def device_file(self) -> bytes | None:
        """The file from which devices make lists; None for a model that has none."""
        make_file = getattr(self.model, "device_file", None)
        if make_file is None:
            return None
        try:
            return bytes(make_file(self.cold) if self.cold else make_file())
        except ConfigError:  # another variant, or several target domains
            return None

    def usable_ratings(self, ratings: Mapping[str, float]) -> dict[str, float]:
        """Return the ratings that a list can be made from: known items, with stars on the scale.

        Args:
            ratings: Stars by item.
        """
        known = {item: stars for item, stars in ratings.items() if item in self.ids}
        is_on_scale = self.scale.holds(np.array(list(known.values()), dtype=float))
        usable = {}
        for (item, stars), is_usable in zip(known.items(), is_on_scale, strict=True):
            if is_usable:
                usable[item] = stars
        return usable

    @cached_property
    def categories(self) -> Mapping[str, tuple[str, ...]]:
        """Categories of each item of the model, by item; cold items are not among them."""
        return {item.item_id: item.categories for item in self.items if not item.cold}

    def recommend(
        self, ratings: Mapping[str, float], options: ListOptions
    ) -> tuple[Recommendation, ...]:
        """List the best items for a person.

        Args:
            ratings: Stars by item, as `usable_ratings` returns them.
            options: What the list may hold.
        """
        if not ratings and options.is_plain:
            return self.popular[: options.n]
        history = {self.ids[item]: stars for item, stars in ratings.items()}
        n_ranked = options.n
        if options.diversity is not None:  # all items are ranked, and some are left out below
            n_ranked = len(self.ids) + len(options.cold)
        optional_arguments: dict[str, Any] = {}
        cold = self._select_cold_items(ratings, options)
        if cold:  # not every recommender has this parameter
            optional_arguments["cold"] = cold
        ranked = self.model.recommend(
            history=history,
            n=n_ranked,
            exclude=[self.ids[item] for item in options.exclude if item in self.ids],
            candidates=self._collect_candidates(options),
            keep_seen=options.keep_seen,
            **optional_arguments,
        )
        if options.diversity is None:
            return tuple(ranked)
        return self._limit_categories(ranked, options)

    def _select_cold_items(
        self, ratings: Mapping[str, float], options: ListOptions
    ) -> dict[str, ColdFacts]:
        """Return the facts of the cold items that a list may hold, by item."""
        selected = {}
        for item, facts in options.cold.items():
            categories = details_of_facts(facts).categories
            is_in_category = options.category is None or options.category in categories
            is_left_out_as_seen = item in ratings and not options.keep_seen
            if is_in_category and not is_left_out_as_seen and item not in options.exclude:
                selected[item] = facts
        return selected

    def unknown_cold_items(self, cold: Mapping[str, ColdFacts]) -> tuple[str, ...]:
        """Return the cold items that can be in no list, since the model knows no feature of theirs.

        Args:
            cold: Public facts of cold items, by item.

        Raises:
            ConfigError: The model cannot score cold items.
        """
        if not cold:
            return ()
        if not hasattr(self.model, "read_cold_items"):
            raise ConfigError("This model cannot score items without ratings: leave out cold.")
        return tuple(self.model.read_cold_items(cold).unknown)

    def similar_items(self, item: str, options: ListOptions) -> tuple[Recommendation, ...]:
        """List the items that go best with one item of the catalogue, best first.

        For a model without similarities it is the list of a person who gave this item the most
        stars and rated nothing else.

        Args:
            item: An item of the model.
            options: What the list may hold.
        """
        if not hasattr(self.model, "similar_items"):
            return self.recommend({item: self.scale.maximum}, options)
        allowed = self._collect_candidates(options)
        rows = []
        for row in self.model.similar_items(self.ids[item], n=len(self.ids)):
            is_allowed = allowed is None or row.item_id in allowed
            if is_allowed and str(row.item_id) not in options.exclude:
                rows.append(row)
        if options.diversity is not None:
            return self._limit_categories(rows, options)
        return _renumber(rows[: options.n])

    def _collect_candidates(self, options: ListOptions) -> frozenset[Any] | None:
        """Collect the model's ids of the items that a list is chosen from; None: of all items."""
        if options.candidates is None and options.category is None:
            return None
        items = self.ids.keys() if options.candidates is None else options.candidates
        candidate_ids = set()
        for item in items:
            categories = self.categories.get(item, ())
            is_in_category = options.category is None or options.category in categories
            if item in self.ids and is_in_category:
                candidate_ids.add(self.ids[item])
        return frozenset(candidate_ids)

    def _find_categories(self, item: str, options: ListOptions) -> tuple[str, ...]:
        """Return the categories of an item of the catalogue, or of a cold item of the options."""
        if item in options.cold:
            return details_of_facts(options.cold[item]).categories
        return self.categories[item]

    def _limit_categories(
        self, ranked: Iterable[Recommendation], options: ListOptions
    ) -> tuple[Recommendation, ...]:
        """Keep the best n rows such that no category has more than `diversity` of them.

        Args:
            ranked: Rows, the best first.
            options: Choices about the list, with a `diversity`.
        """
        most_of_category = options.diversity or LONGEST_LIST
        counts: Counter[str] = Counter()
        kept: list[Recommendation] = []
        for row in ranked:
            if len(kept) == options.n:
                break
            categories = self._find_categories(str(row.item_id), options)
            if all(counts[category] < most_of_category for category in categories):
                counts.update(categories)
                kept.append(row)
        return _renumber(kept)

    def title(self, item: str) -> str | None:
        """Return the title of an item; None where it has none, or is not in the catalogue."""
        position = self.positions.get(item)
        if position is None:
            return None
        return self.items[position].title


def _read_cold_items(where: str, section: Section, model: Any) -> dict[str, ColdFacts]:
    """Read the section's table of cold items, without those that the model has or cannot score.

    The model may have an item of the table, if people have rated it since the table was written.

    Args:
        where: Name of the section, for errors.
        section: The section of tacit.toml.
        model: The recommender.

    Returns:
        Facts by item, without the items of which the model knows no feature; empty if the section
        names no table.

    Raises:
        ConfigError: The model cannot score cold items.
        DataError: The table cannot be read.
    """
    if "cold_items" not in section.values:
        return {}
    table = read_cold_items(section.file_path("cold_items"))
    if not hasattr(model, "read_cold_items"):
        raise ConfigError(f"{where}.cold_items: this model cannot score items without ratings.")
    known = {str(item) for item in model.history_ids_.tolist()}
    cold = {item: facts for item, facts in table.items() if item not in known}
    try:
        usable = set(model.read_cold_items(cold).ids)
    except ConfigError as error:
        raise ConfigError(f"{where}.cold_items: {error}") from None
    return {item: facts for item, facts in cold.items() if item in usable}


def _read_cold_items_or_report(
    where: str,
    section: Section,
    model: Any,
    report_fault: Callable[[BaseException], None] | None,
) -> dict[str, ColdFacts]:
    """Read the table of cold items; if it cannot be used, report the error and return no items.

    With `report_fault` None the error is raised.
    """
    try:
        return _read_cold_items(where, section, model)
    except (TacitError, OSError) as error:
        if report_fault is None:
            raise
        report_fault(error)
        return {}


def _describe_cold_item(item: str, facts: ColdFacts) -> CatalogueItem:
    """Make the catalogue's row of an item that no one rated."""
    details = details_of_facts(facts)
    return CatalogueItem(
        item_id=item,
        title=title_of_facts(facts),
        domain=None,
        recommended=True,
        categories=details.categories,
        price=details.price,
        image=_find_safe_image(details.image),
        cold=True,
    )


def _renumber(rows: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Return rows with the ranks 1, 2, 3 and so on."""
    return tuple(replace(row, rank=rank) for rank, row in enumerate(rows, 1))


_REFUSAL_BY_NAME = {
    "published": "the published variant, made to reproduce what a paper got wrong. It is not "
    "served. Fit it again with  --variant sound.",
    "standard-scheme": "a standard scheme, whose people send obfuscated ratings from their "
    "devices; a model here gets true ones. Serve it as [disclosures.NAME].",
}
"""Variants and recommenders that are not served as models, each with what it is and the reason."""


def _read_variant(header: Mapping[str, Any], path: Path) -> str | None:
    """Read the variant of a design in the header of a model file; None for one without variants.

    Raises:
        ModelFileError: The settings in the header are no table, or the variant is no text.
    """
    settings = header.get("settings", {})
    variant = settings.get("variant") if isinstance(settings, dict) else None
    if not isinstance(settings, dict) or not isinstance(variant, str | None):
        raise ModelFileError(
            f"{path}: the settings in its header are none that tacit writes. Fit it again."
        )
    return variant


_WORD = re.compile(r"[^\W\d_]([^\W\d_]|[ -]){0,39}")
"""A word for an item: a letter, then up to 39 letters, blanks and hyphens."""
_IMAGE = re.compile(r"https://[a-z0-9.-]{1,253}(:[0-9]{1,5})?/[\x21-\x7e]{0,2000}", re.IGNORECASE)
"""An address of a picture that the page may load."""
_IMAGE_DATA = re.compile(r"data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/=]{1,200000}")
"""A picture that is written out in its address."""


def _find_safe_image(address: str | None) -> str | None:
    """Return the address of a picture if a page may show it; None for any other address."""
    if address is None or _IMAGE.fullmatch(address) or _IMAGE_DATA.fullmatch(address):
        return address
    return None


def read_words(where: str, word: str) -> ItemWords:
    """Make the words for items from the word for one of them, by the rules of English plurals.

    Args:
        where: Name of the setting or option of the word, for the error.
        word: What one item is called.

    Raises:
        ConfigError: The word is not of 1 to 40 letters, blanks and hyphens.
    """
    if not _WORD.fullmatch(word):
        raise ConfigError(f'{where} is 1 to 40 letters, blanks and hyphens, such as "product".')
    if word.endswith(("s", "x", "ch", "sh")):
        return ItemWords(word, word + "es")
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return ItemWords(word, word[:-1] + "ies")
    return ItemWords(word, word + "s")


def _check_promise(where: str, cards: tuple[Guarantee, ...], without_guarantee: bool) -> None:
    """Check that a model may be served with the guarantee cards that it has.

    Args:
        where: Name of the section, for errors.
        cards: The model's cards.
        without_guarantee: Whether a model that promises no privacy may be served.

    Raises:
        ConfigError: A claim is refuted; or nothing is promised, and that is not allowed.
    """
    if any(card.basis is Basis.REFUTED for card in cards):
        raise ConfigError(f"{where} rests on a claim that is refuted. It is not served.")
    if not without_guarantee and all(card.epsilon is None for card in cards):
        raise ConfigError(
            f"{where} promises no privacy to the people it was fitted on. Fit one that does, such "
            "as  tacit fit xmap, or write  without_guarantee = true  beside its file."
        )


def _read_scale(where: str, model: Any, text: str | None) -> RatingScale:
    """Return the stars that people may give: the model's own scale, or else the setting's.

    Raises:
        ConfigError: There is no scale, the setting is malformed, or it differs from the model's.
    """
    own_scale: RatingScale | None = getattr(model, "scale_", None)
    if text is None:
        if own_scale is None:
            raise ConfigError(f'{where}.scale is missing, such as  scale = "1:5:1".')
        return own_scale
    try:
        scale = RatingScale.parse(text)
    except DataError as error:
        raise ConfigError(f"{where}.scale: {error}") from None
    if own_scale is not None and own_scale != scale:
        raise ConfigError(f"{where}.scale is {scale}, and the model's own is {own_scale}.")
    return scale
