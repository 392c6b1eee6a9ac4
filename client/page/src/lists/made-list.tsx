/** Step 2 of a visit to a model: the list, why each item is in it, and what is left out. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { ShowPending, usePending } from "../parts/draft";
import { PromiseInShort } from "../parts/guarantee";
import { Lock } from "../parts/lock";
import { capitalize, countOf, type CatalogueItem } from "../service/catalogue";
import { fetchVisitor } from "../service/visitor";
import { Trouble } from "../service/requests";
import { readIdentity } from "../visitor/code";
import { Facts } from "./choose";
import { itemsOf, type Choice } from "./choices";
import { requestList, type DeviceMaker, type ListWish } from "./list-making";
import type { ModelVisit } from "./model-visit";
import { Picture } from "./picture";

export function MadeList({ visit }: { visit: ModelVisit }) {
  const { model, keeping, maker } = visit;
  const { words } = model.catalogue;
  const [category, setCategory] = useState("");
  const wish = useMemo(
    () => ({ choices: keeping.choices, candidates: itemsIn(visit, category) }),
    [keeping.choices, category],
  );
  const liked = itemsOf(keeping.choices, "liked").length;
  const isForAll = maker?.isForAll ?? false;
  return (
    <section aria-labelledby="made">
      <div class="lead">
        <h1 id="made" tabIndex={-1}>
          {isForAll ? `Popular ${words.many}` : "For you"}
        </h1>
        {maker === undefined ? (
          <p class="stays">
            This model has no file for devices. Your choices are sent to the service for this list;
            it does not store them.
          </p>
        ) : (
          <p class="stays">
            <Lock /> Nothing leaves this browser. The service gives everybody the same model
            {isForAll
              ? ", and your device fetched all of it."
              : "; your device fetched all of it and ranks with what you chose."}
          </p>
        )}
        {isForAll && (
          <p>
            Everybody gets this list: the model was learned from too few people for lists of one's
            own. {capitalize(words.many)} that you chose or left out are not in it.
          </p>
        )}
        {liked === 0 && !isForAll && (
          <p>
            These are popular {words.many}. For a list of your own,{" "}
            <a href="#rate">choose {words.many}</a>.
          </p>
        )}
      </div>
      <CategoryChoice visit={visit} category={category} onChoose={setCategory} />
      {maker === undefined ? (
        <ListByService visit={visit} wish={wish} />
      ) : (
        <ListOnDevice visit={visit} maker={maker} wish={wish} />
      )}
      <OwnChoices visit={visit} />
      <section class="promise-of-model" aria-labelledby="promise">
        <h2 id="promise">What the model tells about the people it was learned from</h2>
        <PromiseInShort thing={`models/${model.name}`} />
      </section>
    </section>
  );
}

function CategoryChoice(given: {
  visit: ModelVisit;
  category: string;
  onChoose: (name: string) => void;
}) {
  const { visit, category, onChoose } = given;
  const categories = useMemo(() => visit.model.catalogue.categories(), [visit.model]);
  if (categories.length < 2) return null;
  return (
    <div class="finder">
      <label>
        Only from
        <select value={category} onChange={(event) => onChoose(event.currentTarget.value)}>
          <option value="">All categories</option>
          {categories.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

/** The items of one category; undefined: all. */
function itemsIn(visit: ModelVisit, category: string): ReadonlySet<string> | undefined {
  if (category === "") return undefined;
  const items = visit.model.catalogue.items.filter((item) => item.categories.includes(category));
  return new Set(items.map(({ item_id }) => item_id));
}

/** A list that is made here, once for each wish. */
function ListOnDevice(given: { visit: ModelVisit; maker: DeviceMaker; wish: ListWish }) {
  const { visit, maker, wish } = given;
  const items = useMemo(() => maker.rank(wish), [maker, wish]);
  return <Items visit={visit} maker={maker} items={items} wish={wish} />;
}

/** A list by the service, with the key of a visitor, or one that the person has. */
function ListByService({ visit, wish }: { visit: ModelVisit; wish: ListWish }) {
  const [key, setKey] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const draft = usePending(
    async () => {
      const own = key ?? (await findVisitorKey());
      return own === undefined ? undefined : requestList(visit.model, wish, own);
    },
    [wish, key],
    true,
  );
  return (
    <ShowPending draft={draft}>
      {(items) =>
        items !== undefined ? (
          <Items visit={visit} maker={undefined} items={items} wish={wish} />
        ) : (
          <form
            class="panel"
            onSubmit={(event) => {
              event.preventDefault();
              setKey(field.current?.value.trim());
            }}
          >
            <p>Lists of this model need a key, which you get from the operator of this service.</p>
            <label for="key">Your key</label>
            <div class="row">
              <input id="key" ref={field} autocomplete="off" spellcheck={false} required />
              <button type="submit">Show my list</button>
            </div>
          </form>
        )
      }
    </ShowPending>
  );
}

/** A visitor's key; undefined where this service gives none. */
async function findVisitorKey(): Promise<string | undefined> {
  try {
    const { key } = await fetchVisitor((await readIdentity()).token);
    return key;
  } catch (error) {
    if (error instanceof Trouble && error.status === 404) return undefined;
    throw error;
  }
}

function Items(given: {
  visit: ModelVisit;
  maker: DeviceMaker | undefined;
  items: readonly string[];
  wish: ListWish;
}) {
  const { visit, maker, items, wish } = given;
  const { catalogue } = visit.model;
  const [latest, setLatest] = useState<{ readonly item: string; readonly choice: Choice }>();
  const undo = useRef<HTMLButtonElement>(null);
  // The row with the button has gone; the focus must not go with it.
  useEffect(() => undo.current?.focus(), [latest]);
  const leave = (item: string, choice: Choice) => {
    visit.keeping.choose(item, choice);
    setLatest({ item, choice });
  };
  return (
    <>
      <div class="latest" role="status">
        {latest !== undefined && visit.keeping.choices.get(latest.item) === latest.choice && (
          <p>
            {catalogue.title(latest.item)}{" "}
            {latest.choice === "uninterested"
              ? "does not interest you: it is left out and counts as a dislike."
              : "is left out and counts for nothing."}{" "}
            <button
              type="button"
              class="quiet small"
              ref={undo}
              onClick={() => {
                visit.keeping.choose(latest.item, undefined);
                setLatest(undefined);
              }}
            >
              Undo
            </button>
          </p>
        )}
      </div>
      {items.length === 0 && <p>No {catalogue.words.one} is left for this list.</p>}
      <ol class="made">
        {items.map((id, place) => {
          const item = catalogue.find(id);
          return (
            item !== undefined && (
              <Row
                key={id}
                item={item}
                place={place + 1}
                visit={visit}
                maker={maker}
                wish={wish}
                onLeave={leave}
              />
            )
          );
        })}
      </ol>
    </>
  );
}

function Row(given: {
  item: CatalogueItem;
  place: number;
  visit: ModelVisit;
  maker: DeviceMaker | undefined;
  wish: ListWish;
  onLeave: (item: string, choice: Choice) => void;
}) {
  const { item, place, visit, maker, wish, onLeave } = given;
  const { catalogue } = visit.model;
  const title = catalogue.title(item.item_id);
  return (
    <li>
      <span class="place" aria-hidden="true">
        {place}
      </span>
      <Picture item={item} isShown={visit.wantsPictures} />
      <div class="said">
        <h2>
          {title}
          {item.cold && <span class="new">New</span>}
        </h2>
        <Facts item={item} />
        {maker !== undefined && (
          <Why item={item} visit={visit} maker={maker} wish={wish} title={title} />
        )}
      </div>
      <div class="leave">
        <button
          type="button"
          class="quiet small"
          onClick={() => onLeave(item.item_id, "uninterested")}
        >
          Not interested<span class="unseen">{` in ${title}`}</span>
        </button>
        <button type="button" class="quiet small" onClick={() => onLeave(item.item_id, "left-out")}>
          Leave out<span class="unseen">{` ${title}`}</span>
        </button>
      </div>
    </li>
  );
}

/** Reasons are looked for when they are asked for: each one takes a list without it. */
function Why(given: {
  item: CatalogueItem;
  title: string;
  visit: ModelVisit;
  maker: DeviceMaker;
  wish: ListWish;
}) {
  const { item, title, visit, maker, wish } = given;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        Why this {visit.model.catalogue.words.one}
        <span class="unseen">{`: ${title}`}</span>
      </summary>
      {isOpen && <Reasons item={item} visit={visit} maker={maker} wish={wish} />}
    </details>
  );
}

function Reasons(given: {
  item: CatalogueItem;
  visit: ModelVisit;
  maker: DeviceMaker;
  wish: ListWish;
}) {
  const { item, visit, maker, wish } = given;
  const { catalogue } = visit.model;
  const reasons = useMemo(() => maker.reasons(wish.choices, item.item_id), [wish, item]);
  const liked = itemsOf(wish.choices, "liked");
  const shared = item.categories.filter((category) =>
    liked.some((own) => catalogue.find(own)?.categories.includes(category)),
  );
  if (item.cold && reasons.length === 0) {
    return (
      <p class="why">
        Nobody rated it yet. It stands here by its {describeFacts(item)}, as if it were as popular as
        most {catalogue.words.many}.
      </p>
    );
  }
  if (reasons.length === 0) {
    return (
      <p class="why">
        Many people like it. None of the {catalogue.words.many} that you chose speaks for it.
      </p>
    );
  }
  return (
    <p class="why">
      {item.cold && `Nobody rated it yet: it stands here by its ${describeFacts(item)}. `}
      You chose {joined(reasons.map((own) => catalogue.title(own)))}; without{" "}
      {reasons.length === 1 ? "it" : "them"} this {catalogue.words.one} would stand lower.
      {shared.length > 0 && ` In common with your choices: ${joined(shared)}.`}
    </p>
  );
}

/** What is known of an item that no one rated. */
function describeFacts(item: CatalogueItem): string {
  return item.categories.length === 0 ? "description" : `category, ${joined(item.categories)}`;
}

/** What the person said, to take it back. */
function OwnChoices({ visit }: { visit: ModelVisit }) {
  const { keeping, model } = visit;
  const { words } = model.catalogue;
  const heading = useRef<HTMLHeadingElement>(null);
  if (keeping.choices.size === 0) return null;
  return (
    <section class="panel own-choices" aria-labelledby="own">
      <h2 id="own" ref={heading} tabIndex={-1}>
        What you said
      </h2>
      <Said visit={visit} choice="liked" name="You chose" onTaken={() => heading.current?.focus()} />
      <Said
        visit={visit}
        choice="uninterested"
        name="Not interested"
        onTaken={() => heading.current?.focus()}
      />
      <Said
        visit={visit}
        choice="left-out"
        name="Left out"
        onTaken={() => heading.current?.focus()}
      />
      <p>
        It is kept in this browser alone.{" "}
        <button
          type="button"
          class="danger small"
          onClick={() => {
            keeping.forgetAll();
            document.querySelector<HTMLElement>("h1")?.focus();
          }}
        >
          Forget all {countOf(keeping.choices.size, words)}
        </button>
      </p>
    </section>
  );
}

function Said(given: { visit: ModelVisit; choice: Choice; name: string; onTaken: () => void }) {
  const { visit, choice, name, onTaken } = given;
  const { keeping, model } = visit;
  const items = itemsOf(keeping.choices, choice);
  if (items.length === 0) return null;
  return (
    <>
      <h3>{name}</h3>
      <ul class="said-of">
        {items.map((item) => {
          const title = model.catalogue.title(item);
          return (
            <li key={item}>
              <span>{title}</span>
              <button
                type="button"
                class="clear"
                onClick={() => {
                  keeping.choose(item, undefined);
                  onTaken();
                }}
              >
                <span aria-hidden="true">×</span>
                <span class="unseen">{`Take back what you said of ${title}`}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </>
  );
}

function joined(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? capitalize(last) : `${names.slice(0, -1).join(", ")} and ${last}`;
}
