/** Step 1 of a visit to a model: choose items, found by search and category. */

import { useMemo, useState } from "preact/hooks";

import { Lock } from "../parts/lock";
import { capitalize, countOf, type Catalogue, type CatalogueItem } from "../service/catalogue";
import { itemsOf, type ChoiceKeeping } from "./choices";
import { Picture } from "./picture";
import type { ModelVisit } from "./model-visit";

/** Number of items that are shown at first. */
const AT_FIRST = 24;
/** Number of further items after each click on "Show more". */
const MORE = 24;

/** The items that can be chosen, with a search. */
export function Choose({ visit, onNext }: { visit: ModelVisit; onNext: () => void }) {
  const { model, keeping, maker } = visit;
  const { catalogue } = model;
  const { words } = catalogue;
  const [search, setSearch] = useState("");
  const [category, setCategory] = useState("");
  const [shownCount, setShownCount] = useState(AT_FIRST);
  const ordered = useMemo(
    () => orderItems(catalogue, maker?.popular() ?? []),
    [catalogue, maker],
  );
  const found = useMemo(
    () => findItems(ordered, catalogue, search, category),
    [ordered, search, category],
  );
  const chosenCount = itemsOf(keeping.choices, "liked").length;
  return (
    <section aria-labelledby="choose">
      <div class="lead">
        <h1 id="choose" tabIndex={-1}>
          What do you like?
        </h1>
        <p>
          {maker?.isForAll
            ? `This model has popular ${words.many} alone, the same for everybody. Choose those that ` +
              "you know: they are left out."
            : `Choose ${words.many} that you like. Your list is made of them.`}
        </p>
        <p class="stays">
          <Lock />
          {maker !== undefined
            ? " What you choose stays in this browser, and so does the list. Nothing is sent."
            : " What you choose is kept in this browser. The list of this model is made by the " +
              "service: your choices are sent when you ask for it, and are not stored there."}
        </p>
      </div>
      <Finder
        catalogue={catalogue}
        search={search}
        category={category}
        onSearch={(text) => {
          setSearch(text);
          setShownCount(AT_FIRST);
        }}
        onCategory={(name) => {
          setCategory(name);
          setShownCount(AT_FIRST);
        }}
      />
      <PictureSwitch visit={visit} />
      <p class="count" role="status">
        {found.length === 0
          ? `No ${words.one} was found. Try another word, or all categories.`
          : `${countOf(found.length, words)}`}
      </p>
      <ul class="offered">
        {found.slice(0, shownCount).map((item) => (
          <Offered key={item.item_id} item={item} visit={visit} keeping={keeping} />
        ))}
      </ul>
      {shownCount < found.length && (
        <p class="more">
          <button type="button" class="quiet" onClick={() => setShownCount(shownCount + MORE)}>
            Show more {words.many}
          </button>
        </p>
      )}
      <div class="bar">
        <p role="status">{`${countOf(chosenCount, words)} chosen`}</p>
        <button type="button" onClick={onNext}>
          Next: your list
        </button>
      </div>
    </section>
  );
}

/** The fields for a search and a category. */
function Finder(props: {
  catalogue: Catalogue;
  search: string;
  category: string;
  onSearch: (text: string) => void;
  onCategory: (name: string) => void;
}) {
  const { catalogue, search, category, onSearch, onCategory } = props;
  const categories = useMemo(() => catalogue.categories(), [catalogue]);
  return (
    <div class="finder" role="search">
      <label>
        Search
        <input
          type="search"
          value={search}
          placeholder="A word of its name"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => onSearch(event.currentTarget.value)}
        />
      </label>
      {categories.length > 0 && (
        <label>
          Category
          <select value={category} onChange={(event) => onCategory(event.currentTarget.value)}>
            <option value="">All</option>
            {categories.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

/** The switch for pictures, off at first: their hosts see which ones are fetched. */
function PictureSwitch({ visit }: { visit: ModelVisit }) {
  const hosts = visit.model.catalogue.pictureHosts();
  if (hosts.length === 0) return null;
  return (
    <label class="pictures">
      <input
        type="checkbox"
        role="switch"
        checked={visit.wantsPictures}
        onChange={(event) => visit.setWantsPictures(event.currentTarget.checked)}
      />
      <span>
        Show pictures. They come from {hosts.join(", ")}, which then sees the{" "}
        {visit.model.catalogue.words.many} that you are shown, in your list too.
      </span>
    </label>
  );
}

/** One item, with the button that chooses it. */
function Offered(props: { item: CatalogueItem; visit: ModelVisit; keeping: ChoiceKeeping }) {
  const { item, visit, keeping } = props;
  const { catalogue } = visit.model;
  const title = catalogue.title(item.item_id);
  const isLiked = keeping.choices.get(item.item_id) === "liked";
  return (
    <li class={isLiked ? "chosen" : undefined}>
      <Picture item={item} isShown={visit.wantsPictures} />
      <div>
        <h2>{title}</h2>
        <Facts item={item} />
      </div>
      <button
        type="button"
        class={isLiked ? "like" : "like quiet"}
        aria-pressed={isLiked}
        onClick={() => keeping.choose(item.item_id, isLiked ? undefined : "liked")}
      >
        <span aria-hidden="true">{isLiked ? "✓ Chosen" : "Choose"}</span>
        <span class="unseen">{`Choose ${title}`}</span>
      </button>
    </li>
  );
}

/** The categories and the price of an item, if the catalogue has them. */
export function Facts({ item }: { item: CatalogueItem }) {
  const facts = [...item.categories.slice(0, 3), ...(item.price === null ? [] : [item.price])];
  return facts.length === 0 ? null : <p class="facts">{facts.map(capitalize).join(" · ")}</p>;
}

/**
 * Order the items that can be chosen: those of `popular` first, then the others in the order of the
 * catalogue. Items that no one rated are left out, since choosing them changes no list.
 */
function orderItems(catalogue: Catalogue, popular: readonly string[]): CatalogueItem[] {
  const first = popular.map((id) => catalogue.find(id)).filter((item) => item !== undefined);
  const isFirst = new Set(first);
  const all = [...first, ...catalogue.items.filter((item) => !isFirst.has(item))];
  return all.filter((item) => !item.cold);
}

/** Find the items of a category that have all words of the search in their title or categories. */
function findItems(
  items: readonly CatalogueItem[],
  catalogue: Catalogue,
  search: string,
  category: string,
): CatalogueItem[] {
  const words = normalize(search).split(" ").filter(Boolean);
  return items.filter((item) => {
    if (category !== "" && !item.categories.includes(category)) return false;
    const text = normalize([catalogue.title(item.item_id), ...item.categories].join(" "));
    return words.every((word) => text.includes(word));
  });
}

/** Write a text in lower case and without accents, so that texts can be compared. */
function normalize(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}
