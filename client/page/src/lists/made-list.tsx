/** Step 2 of a visit to a model: the list, why each item is in it, and what is left out. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { ShowPending, usePending } from "../parts/pending";
import { PromiseInShort } from "../parts/guarantee";
import { Lock } from "../parts/lock";
import { capitalize, countOf, type CatalogueItem } from "../service/catalogue";
import { fetchVisitor } from "../service/visitor";
import { RequestError } from "../service/requests";
import { readIdentity } from "../visitor/code";
import { Facts } from "./choose";
import { itemsOf, type Choice } from "./choices";
import { requestList, type DeviceMaker, type ListInput } from "./list-making";
import type { ModelVisit } from "./model-visit";
import { Picture } from "./picture";

/** The list, the visitor's choices, and the model's guarantee. */
export function MadeList({ visit }: { visit: ModelVisit }) {
  const { model, keeping, maker } = visit;
  const { words } = model.catalogue;
  const [category, setCategory] = useState("");
  const listInput = useMemo(
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
        <ListByService visit={visit} listInput={listInput} />
      ) : (
        <ListOnDevice visit={visit} maker={maker} listInput={listInput} />
      )}
      <OwnChoices visit={visit} />
      <section class="promise-of-model" aria-labelledby="promise">
        <h2 id="promise">What the model tells about the people it was learned from</h2>
        <PromiseInShort thing={`models/${model.name}`} />
      </section>
    </section>
  );
}

/** The selection of a category for the list; nothing if there are fewer than two. */
function CategoryChoice(props: {
  visit: ModelVisit;
  category: string;
  onChoose: (name: string) => void;
}) {
  const { visit, category, onChoose } = props;
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

/** Collect the ids of one category's items; undefined, which allows all items, for no category. */
function itemsIn(visit: ModelVisit, category: string): ReadonlySet<string> | undefined {
  if (category === "") return undefined;
  const items = visit.model.catalogue.items.filter((item) => item.categories.includes(category));
  return new Set(items.map(({ item_id }) => item_id));
}

/** A list that is made on this device. */
function ListOnDevice(props: { visit: ModelVisit; maker: DeviceMaker; listInput: ListInput }) {
  const { visit, maker, listInput } = props;
  const items = useMemo(() => maker.rank(listInput), [maker, listInput]);
  return <Items visit={visit} maker={maker} items={items} listInput={listInput} />;
}

/** A list that the service makes. The request has a visitor's key, or a key that the person enters. */
function ListByService({ visit, listInput }: { visit: ModelVisit; listInput: ListInput }) {
  const [key, setKey] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const pending = usePending(
    async () => {
      const usedKey = key ?? (await findVisitorKey());
      return usedKey === undefined ? undefined : requestList(visit.model, listInput, usedKey);
    },
    [listInput, key],
    true,
  );
  return (
    <ShowPending pending={pending}>
      {(items) =>
        items !== undefined ? (
          <Items visit={visit} maker={undefined} items={items} listInput={listInput} />
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

/** Fetch a visitor's key; undefined if this service gives none to visitors. */
async function findVisitorKey(): Promise<string | undefined> {
  try {
    const { key } = await fetchVisitor((await readIdentity()).token);
    return key;
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return undefined;
    throw error;
  }
}

/** The rows of a list, and the last item that was taken out of it, with a button that undoes that. */
function Items(props: {
  visit: ModelVisit;
  maker: DeviceMaker | undefined;
  items: readonly string[];
  listInput: ListInput;
}) {
  const { visit, maker, items, listInput } = props;
  const { catalogue } = visit.model;
  const [latest, setLatest] = useState<{ readonly item: string; readonly choice: Choice }>();
  const undo = useRef<HTMLButtonElement>(null);
  // The row whose button had the focus is gone: the focus moves to the button that undoes this.
  useEffect(() => undo.current?.focus(), [latest]);
  const takeOut = (item: string, choice: Choice) => {
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
        {items.map((id, index) => {
          const item = catalogue.find(id);
          return (
            item !== undefined && (
              <Row
                key={id}
                item={item}
                rank={index + 1}
                visit={visit}
                maker={maker}
                listInput={listInput}
                onTakeOut={takeOut}
              />
            )
          );
        })}
      </ol>
    </>
  );
}

/** One item of a list, with its reasons and the buttons that take it out. */
function Row(props: {
  item: CatalogueItem;
  rank: number;
  visit: ModelVisit;
  maker: DeviceMaker | undefined;
  listInput: ListInput;
  onTakeOut: (item: string, choice: Choice) => void;
}) {
  const { item, rank, visit, maker, listInput, onTakeOut } = props;
  const { catalogue } = visit.model;
  const title = catalogue.title(item.item_id);
  return (
    <li>
      <span class="place" aria-hidden="true">
        {rank}
      </span>
      <Picture item={item} isShown={visit.wantsPictures} />
      <div class="said">
        <h2>
          {title}
          {item.cold && <span class="new">New</span>}
        </h2>
        <Facts item={item} />
        {maker !== undefined && (
          <Why item={item} visit={visit} maker={maker} listInput={listInput} title={title} />
        )}
      </div>
      <div class="leave">
        <button
          type="button"
          class="quiet small"
          onClick={() => onTakeOut(item.item_id, "uninterested")}
        >
          Not interested<span class="unseen">{` in ${title}`}</span>
        </button>
        <button type="button" class="quiet small" onClick={() => onTakeOut(item.item_id, "left-out")}>
          Leave out<span class="unseen">{` ${title}`}</span>
        </button>
      </div>
    </li>
  );
}

/** Unfolds the reasons for an item. They are found only then, since that takes many scores. */
function Why(props: {
  item: CatalogueItem;
  title: string;
  visit: ModelVisit;
  maker: DeviceMaker;
  listInput: ListInput;
}) {
  const { item, title, visit, maker, listInput } = props;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        Why this {visit.model.catalogue.words.one}
        <span class="unseen">{`: ${title}`}</span>
      </summary>
      {isOpen && <Reasons item={item} visit={visit} maker={maker} listInput={listInput} />}
    </details>
  );
}

/** The chosen items without which an item would stand lower, in a sentence. */
function Reasons(props: {
  item: CatalogueItem;
  visit: ModelVisit;
  maker: DeviceMaker;
  listInput: ListInput;
}) {
  const { item, visit, maker, listInput } = props;
  const { catalogue } = visit.model;
  const reasons = useMemo(() => maker.reasons(listInput.choices, item.item_id), [listInput, item]);
  const liked = itemsOf(listInput.choices, "liked");
  const sharedCategories = item.categories.filter((category) =>
    liked.some((likedItem) => catalogue.find(likedItem)?.categories.includes(category)),
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
      You chose {joinNames(reasons.map((reason) => catalogue.title(reason)))}; without{" "}
      {reasons.length === 1 ? "it" : "them"} this {catalogue.words.one} would stand lower.
      {sharedCategories.length > 0 &&
        ` In common with your choices: ${joinNames(sharedCategories)}.`}
    </p>
  );
}

/** Name the facts by which an item is scored that no one rated. */
function describeFacts(item: CatalogueItem): string {
  return item.categories.length === 0 ? "description" : `category, ${joinNames(item.categories)}`;
}

/** The person's choices, each with a button that takes it back. */
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
      {CHOICE_NAMES.map(([choice, name]) => (
        <ItemsWithChoice
          key={choice}
          visit={visit}
          choice={choice}
          name={name}
          onTakeBack={() => heading.current?.focus()}
        />
      ))}
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

const CHOICE_NAMES: readonly (readonly [Choice, string])[] = [
  ["liked", "You chose"],
  ["uninterested", "Not interested"],
  ["left-out", "Left out"],
];

/** The items with one kind of choice; nothing if there are none. */
function ItemsWithChoice(props: {
  visit: ModelVisit;
  choice: Choice;
  name: string;
  onTakeBack: () => void;
}) {
  const { visit, choice, name, onTakeBack } = props;
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
                  onTakeBack();
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

/** Join names as in a sentence: "A, B and C". */
function joinNames(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? capitalize(last) : `${names.slice(0, -1).join(", ")} and ${last}`;
}
