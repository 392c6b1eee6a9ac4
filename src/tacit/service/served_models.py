"""Models that are served: what may be rated, what is recommended, and what is promised.

    [models.films]
    file = "films.tacit"            # made by  tacit fit ... -o films.tacit
    scale = "1:5:1"                 # where the file does not hold it
    without_guarantee = false       # true serves a model that promises no privacy

A model file holds items and no people: lists are made from the ratings that a person stored here,
or sends with their question. No model learns from them, so they cost no budget.
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
        "new: ids in the first column, then columns of the catalogue; it is looked at like `file`",
        None,
        default_text="none",
        refused="outside of the folder, no such table, or for a model that scores no such items",
    )


@dataclass(frozen=True, slots=True)
class CatalogueItem:
    """One item of a model's public catalogue."""

    item_id: str
    title: str | None
    domain: str | None
    recommended: bool
    """Whether it may be in a list."""
    categories: tuple[str, ...] = ()
    price: str | None = None
    """As the catalogue writes it."""
    image: str | None = None
    """Address of a picture, over HTTPS or written out as `data:`."""
    cold: bool = False
    """Whether no one rated it: it may be listed, and a history is not read for it."""


@dataclass(frozen=True, slots=True)
class ItemWords:
    """Words for items in sentences."""

    one: str
    many: str


ColdFacts = Mapping[str, Any]
"""Public facts of an item that no one rated, by the names of the catalogue's columns."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Choices about a list. Items are texts, of the catalogue or not."""

    n: int = 10
    """Length of the list, from 1 to LONGEST_LIST."""
    exclude: frozenset[str] = frozenset()
    """Items to leave out."""
    candidates: frozenset[str] | None = None
    """Items to choose from; None: all."""
    category: str | None = None
    """A category that every listed item has; None: any."""
    diversity: int | None = None
    """At most so many items of one category; None: any number."""
    keep_seen: bool = False
    """Whether items of the history may be listed."""
    cold: Mapping[str, ColdFacts] = field(default_factory=dict, hash=False)
    """Public facts of items that no one rated and that may be listed, too."""

    @property
    def is_plain(self) -> bool:
        """Whether the list of a person without a history is everybody's."""
        return replace(self, n=10) == ListOptions()


class FileStamp(NamedTuple):
    """Marks of a file that change when it is replaced."""

    changed: int
    """Time of the last change, in nanoseconds."""
    size: int
    """In bytes."""
    inode: int
    """Number of the file in its file system."""


def read_stamps(section: Section) -> tuple[FileStamp, FileStamp | None]:
    """Read the stamps of the model file and of its table of cold items; None without a table.

    Raises:
        ModelFileError: There is no model file.
    """
    model = _read_stamp(section.folder / section.text("file"))
    if "cold_items" not in section.values:
        return model, None
    try:
        return model, _read_stamp(section.folder / section.text("cold_items"))
    except ModelFileError:
        return model, None


def _read_stamp(path: Path) -> FileStamp:
    """Read the stamp of a file.

    Raises:
        ModelFileError: There is no such file.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror}).") from None
    return FileStamp(found.st_mtime_ns, found.st_size, found.st_ino)


@dataclass(frozen=True, eq=False)
class ServedModel(ServedThing):
    """A fitted model. Item ids are texts in requests and answers, and the model's own inside.

    Threads share one: nothing changes after it is made.
    """

    SETTINGS: ClassVar = ModelSettings

    name: str
    kind: str
    """The recommender's name in its file."""
    variant: str | None
    scale: RatingScale
    model: Any
    words: ItemWords = ItemWords("item", "items")
    digest: str = ""
    """SHA-256 of the model file."""
    date_made: date = date.min
    """The day of the model file."""
    stamps: tuple[FileStamp, FileStamp | None] | None = None
    """By which a change of the model file, or of the table of cold items, is noticed."""
    cold: Mapping[str, ColdFacts] = field(default_factory=dict, repr=False)
    """Public facts of the items that no one rated and that lists on devices may hold."""
    previous: ServedModel | None = field(default=None, repr=False)
    """The model that this one replaced while the service ran, without its own previous one."""

    @classmethod
    def from_section(
        cls, section: Section, report_cold_fault: Callable[[BaseException], None] | None = None
    ) -> Self:
        """Read a model of the settings.

        Args:
            section: Its section.
            report_cold_fault: Called with what is wrong with the table of cold items, without which
                the model is served then; None: that is raised.
        """
        where = f"models.{section.name}"
        settings = section.read_settings(ModelSettings)
        path = section.file_path("file")
        stamps = read_stamps(section)  # before they are read, so that no later change is missed
        content = container.read_bytes(path)  # once: a refit may replace the file meanwhile
        header, arrays = container.unpack(content, path)
        kind = str(header.get("recommender"))
        variant = header.get("settings", {}).get("variant")
        reason = _REFUSED_KINDS.get(variant or "") or _REFUSED_KINDS.get(kind)
        if reason is not None:
            raise ConfigError(f"{where} is {reason}")  # before anything is loaded from the file
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
            date_made=datetime.fromtimestamp(stamps[0].changed / 1e9, UTC).date(),
            stamps=stamps,
            cold=_read_cold_items_or_report(where, section, model, report_cold_fault),
        )
        _ = served.popular, served.positions, served.device_file  # not while the first person waits
        return served

    def differs_from(self, before: ServedModel) -> bool:
        """Whether another file, or other cold items, are served than before."""
        return self.digest != before.digest or self.cold != before.cold

    def replace_model(self, before: ServedModel) -> ServedModel:
        """Return this model as the successor of another, which it remembers."""
        made = replace(self, previous=replace(before, previous=None))
        _ = made.popular, made.positions, made.device_file, made.previous_device
        return made

    @cached_property
    def previous_device(self) -> bytes | None:
        """The device file of the model before; None where there was none.

        One with likes of people who agreed to that is given out no longer: some of them may have
        withdrawn, and withdrawal takes effect with the next file.
        """
        if self.previous is None:
            return None
        consenting: int = getattr(self.previous.model, "consenting_people_", 0)
        return self.previous.device_file if consenting == 0 else None

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the cards of the model."""
        return tuple(self.model.guarantees())

    def fit_count(self) -> FitCount | None:
        """Count the fits of the model's people."""
        return fit_count(self.model)

    def describe_releases(self) -> str:
        """Say what keeps what the model learned, once a person has gone."""
        return (
            f"the model '{self.name}', and lists that others got from it: it was fitted before, on "
            "ratings that its makers had; what you rated here never went into it"
        )

    @cached_property
    def ids(self) -> Mapping[str, Any]:
        """The model's item ids, by the texts that stand for them in requests."""
        known_items = (*self.model.history_ids_.tolist(), *self.model.item_ids_.tolist())
        return {str(item): item for item in known_items}

    @cached_property
    def items(self) -> tuple[CatalogueItem, ...]:
        """The catalogue, in the model's order."""
        recommended = set(self.model.recommend(history={}, n=len(self.ids)).item_ids)
        domains = self._domains()
        titles = self.model.titles_
        details = getattr(self.model, "details_", {})
        items = []
        for text, item in self.ids.items():
            facts = details.get(item, ItemDetails())
            row = CatalogueItem(
                item_id=text,
                title=titles.get(item),
                domain=domains.get(item),
                recommended=item in recommended,
                categories=facts.categories,
                price=facts.price,
                image=_safe_image(facts.image),
            )
            items.append(row)
        items += [_describe_cold_item(item, facts) for item, facts in self.cold.items()]
        return tuple(items)

    @cached_property
    def image_hosts(self) -> frozenset[str]:
        """Origins that pictures of the catalogue come from, such as `https://img.example`."""
        origins = set()
        for item in self.items:
            if item.image is not None and item.image.startswith("https://"):
                origins.add("https://" + urlsplit(item.image).netloc)
        return frozenset(origins)

    def _domains(self) -> Mapping[Any, str]:
        """The domain of each item, where the model has domains."""
        catalogue = getattr(self.model, "catalogue_", None)
        if catalogue is None:
            return {}
        return dict(zip(self.model.item_ids_.tolist(), catalogue.domains.tolist(), strict=True))

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Position of each item in `items`."""
        return {item.item_id: position for position, item in enumerate(self.items)}

    @cached_property
    def popular(self) -> tuple[Recommendation, ...]:
        """The list of a person who rated nothing, made once for everybody."""
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
        """The ratings of items of the catalogue with stars on the scale: what a list is made from.

        Args:
            ratings: Stars by item.
        """
        rated = {item: stars for item, stars in ratings.items() if item in self.ids}
        on_scale = self.scale.holds(np.array(list(rated.values()), dtype=float))
        usable = {}
        for (item, stars), fits in zip(rated.items(), on_scale, strict=True):
            if fits:
                usable[item] = stars
        return usable

    @cached_property
    def categories(self) -> Mapping[str, tuple[str, ...]]:
        """Categories of each item of the model."""
        return {item.item_id: item.categories for item in self.items if not item.cold}

    def recommend(
        self, ratings: Mapping[str, float], options: ListOptions
    ) -> tuple[Recommendation, ...]:
        """The best items for a person.

        Args:
            ratings: Stars by item, as `usable_ratings` returns them.
            options: What the list may hold.
        """
        if not ratings and options.is_plain:
            return self.popular[: options.n]
        history = {self.ids[item]: stars for item, stars in ratings.items()}
        length = options.n
        if options.diversity is not None:
            length = len(self.ids) + len(options.cold)
        cold = self._cold_items(ratings, options)
        ranked = self.model.recommend(
            history=history,
            n=length,
            exclude=[self.ids[item] for item in options.exclude if item in self.ids],
            candidates=self._candidates(options),
            keep_seen=options.keep_seen,
            **({"cold": cold} if cold else {}),
        )
        if options.diversity is None:
            return tuple(ranked)
        return self._limit_categories(ranked, options)

    def _cold_items(
        self, ratings: Mapping[str, float], options: ListOptions
    ) -> dict[str, ColdFacts]:
        """The cold items that a list may hold."""
        allowed = {}
        for item, facts in options.cold.items():
            categories = details_of_facts(facts).categories
            in_category = options.category is None or options.category in categories
            is_seen = item in ratings and not options.keep_seen
            if in_category and not is_seen and item not in options.exclude:
                allowed[item] = facts
        return allowed

    def unknown_cold_items(self, cold: Mapping[str, ColdFacts]) -> tuple[str, ...]:
        """The cold items of which the model knows no feature: they are never listed.

        Raises:
            ConfigError: The model scores no cold items.
        """
        if not cold:
            return ()
        if not hasattr(self.model, "read_cold_items"):
            raise ConfigError("This model cannot score items without ratings: leave out cold.")
        return tuple(self.model.read_cold_items(cold).unknown)

    def similar_items(self, item: str, options: ListOptions) -> tuple[Recommendation, ...]:
        """List the items that go best with one item of the catalogue, best first.

        Args:
            item: An item of the catalogue.
            options: What the list may hold.
        """
        known = self.ids[item]
        if not hasattr(self.model, "similar_items"):
            return self.recommend({item: self.scale.maximum}, options)
        allowed = self._candidates(options)
        rows = []
        for row in self.model.similar_items(known, n=len(self.ids)):
            is_allowed = allowed is None or row.item_id in allowed
            if is_allowed and str(row.item_id) not in options.exclude:
                rows.append(row)
        if options.diversity is not None:
            return self._limit_categories(rows, options)
        return _renumber(rows[: options.n])

    def _candidates(self, options: ListOptions) -> frozenset[Any] | None:
        """The model's ids that a list is chosen from; None: all."""
        if options.candidates is None and options.category is None:
            return None
        texts = self.ids.keys() if options.candidates is None else options.candidates
        allowed = set()
        for text in texts:
            in_category = options.category is None or options.category in self.categories.get(
                text, ()
            )
            if text in self.ids and in_category:
                allowed.add(self.ids[text])
        return frozenset(allowed)

    def _categories_of(self, item: str, options: ListOptions) -> tuple[str, ...]:
        """The categories of an item of the catalogue, or of a cold one."""
        if item in options.cold:
            return details_of_facts(options.cold[item]).categories
        return self.categories[item]

    def _limit_categories(
        self, ranked: Iterable[Recommendation], options: ListOptions
    ) -> tuple[Recommendation, ...]:
        """Keep the first n rows of which at most `diversity` have any one category."""
        most = options.diversity or LONGEST_LIST
        counts: Counter[str] = Counter()
        kept: list[Recommendation] = []
        for row in ranked:
            item = str(row.item_id)
            categories = self._categories_of(item, options)
            if len(kept) == options.n:
                break
            if all(counts[category] < most for category in categories):
                counts.update(categories)
                kept.append(row)
        return _renumber(kept)

    def title(self, item: str) -> str | None:
        """The title of an item; None where it has none, or is not in the catalogue."""
        position = self.positions.get(item)
        if position is None:
            return None
        return self.items[position].title


def _read_cold_items(where: str, section: Section, model: Any) -> dict[str, ColdFacts]:
    """Read the table of items that no one rated, and leave out what the model has or cannot score.

    An item that people have rated since the table was written is one of the model's.
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
    """Read the table as `_read_cold_items`; none of it where a fault is reported, not raised."""
    try:
        return _read_cold_items(where, section, model)
    except (TacitError, OSError) as error:
        if report_fault is None:
            raise
        report_fault(error)
        return {}


def _describe_cold_item(item: str, facts: ColdFacts) -> CatalogueItem:
    """Describe an item that no one rated by what its table says."""
    details = details_of_facts(facts)
    return CatalogueItem(
        item_id=item,
        title=title_of_facts(facts),
        domain=None,
        recommended=True,
        categories=details.categories,
        price=details.price,
        image=_safe_image(details.image),
        cold=True,
    )


def _renumber(rows: Iterable[Recommendation]) -> tuple[Recommendation, ...]:
    """Give rows the ranks 1, 2, 3 and so on."""
    return tuple(replace(row, rank=rank) for rank, row in enumerate(rows, 1))


_REFUSED_KINDS = {
    "published": "the published variant, made to reproduce what a paper got wrong. It is not "
    "served. Fit it again with  --variant sound.",
    "standard-scheme": "a standard scheme, whose people send obfuscated ratings from their "
    "devices; a model here gets true ones. Serve it as [disclosures.NAME].",
}
"""Variants and recommenders that are not served as models, each with the reason."""


_WORD = re.compile(r"[^\W\d_]([^\W\d_]|[ -]){0,39}")
_IMAGE = re.compile(r"https://[a-z0-9.-]{1,253}(:[0-9]{1,5})?/[\x21-\x7e]{0,2000}", re.IGNORECASE)
_IMAGE_DATA = re.compile(r"data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/=]{1,200000}")


def _safe_image(address: str | None) -> str | None:
    """The address of a picture that a page may show; None for any other."""
    if address is None or _IMAGE.fullmatch(address) or _IMAGE_DATA.fullmatch(address):
        return address
    return None


def read_words(where: str, word: str) -> ItemWords:
    """Make the words for items from the word for one of them, by the rules of English plurals.

    Args:
        where: Name of the setting or option that gave the word, in the error.
        word: What one item is called.

    Raises:
        ConfigError: It is no word.
    """
    if not _WORD.fullmatch(word):
        raise ConfigError(f'{where} is 1 to 40 letters, blanks and hyphens, such as "product".')
    if word.endswith(("s", "x", "ch", "sh")):
        return ItemWords(word, word + "es")
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return ItemWords(word, word[:-1] + "ies")
    return ItemWords(word, word + "s")


def _check_promise(where: str, cards: tuple[Guarantee, ...], without_guarantee: bool) -> None:
    """Refuse a refuted claim, and no claim where that is not asked for by name."""
    if any(card.basis is Basis.REFUTED for card in cards):
        raise ConfigError(f"{where} rests on a claim that is refuted. It is not served.")
    if not without_guarantee and all(card.epsilon is None for card in cards):
        raise ConfigError(
            f"{where} promises no privacy to the people it was fitted on. Fit one that does, such "
            "as  tacit fit xmap, or write  without_guarantee = true  beside its file."
        )


def _read_scale(where: str, model: Any, text: str | None) -> RatingScale:
    """The stars that people may give: the model's own scale, or else the section's."""
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
