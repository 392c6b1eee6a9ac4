/** Lists from choices: made on this device if the model has a file for that, else by the service. */

import type { ItemId } from "../../../src/items.js";
import type { DeviceLists } from "../../../src/private/lists.js";
import { fetchJson } from "../service/requests";
import type { ServedModel } from "../service/offers";
import { itemsOf, type Choices } from "./choices";

/** Number of items in a list. */
export const LENGTH = 10;
/** Most items that are named as reasons for a listed one. */
const MOST_REASONS = 3;

/** The choices from which a list is made, and the items that it may hold. */
export interface ListInput {
  readonly choices: Choices;
  /** Ids of the items that it may hold; undefined: all. */
  readonly candidates: ReadonlySet<string> | undefined;
}

/** Makes lists from a released model and choices, which stay on this device. */
export class DeviceMaker {
  private readonly ids: ReadonlyMap<string, ItemId>;

  constructor(readonly lists: DeviceLists) {
    this.ids = new Map([...lists.context, ...lists.items].map((item) => [String(item), item]));
  }

  /** Whether everybody gets the same list, of popular items: choices only leave items out of it. */
  get isForAll(): boolean {
    return this.lists.header["mode"] === "popularity";
  }

  /** List the best items, best first, by the ids of the catalogue. */
  rank({ choices, candidates }: ListInput): string[] {
    const options = { n: LENGTH, exclude: this.knownIds(choices.keys()) };
    const ranked =
      candidates === undefined
        ? this.lists.rank(this.history(choices), options)
        : this.lists.rank(this.history(choices), {
            ...options,
            candidates: this.lists.items.filter((item) => candidates.has(String(item))),
          });
    return ranked.map(([item]) => String(item));
  }

  /** List all items, the most popular first. */
  popular(): string[] {
    const ranked = this.lists.rank(new Map(), { n: this.lists.items.length });
    return ranked.map(([item]) => String(item));
  }

  /** Find the liked items that raise the score of an item most. */
  reasons(choices: Choices, item: string): string[] {
    const id = this.ids.get(item);
    if (id === undefined) return [];
    const history = this.history(choices);
    const [reasons = []] = this.lists.reasons(history, [id], { n: Math.max(1, history.size) });
    const reasonIds = reasons.map(([reason]) => String(reason));
    return reasonIds.filter((reason) => choices.get(reason) === "liked").slice(0, MOST_REASONS);
  }

  /** Make a history of choices: a like has the most stars, a dislike the fewest. */
  private history(choices: Choices): Map<ItemId, number> {
    const [least, most] = this.lists.header["scale"] as [number, number];
    const history = new Map<ItemId, number>();
    for (const item of this.knownIds(itemsOf(choices, "liked"))) history.set(item, most);
    for (const item of this.knownIds(itemsOf(choices, "uninterested"))) history.set(item, least);
    return history;
  }

  /** Convert ids of the catalogue to the model's; those that it does not know are left out. */
  private knownIds(items: Iterable<string>): ItemId[] {
    const ids: ItemId[] = [];
    for (const item of items) {
      const id = this.ids.get(item);
      if (id !== undefined) ids.push(id);
    }
    return ids;
  }
}

interface Answer {
  readonly items: readonly { readonly item_id: string }[];
}

/** Ask the service for a list. The choices are sent for it, and are not stored there. */
export async function requestList(
  { name, scale }: ServedModel,
  { choices, candidates }: ListInput,
  key: string,
): Promise<string[]> {
  const history: Record<string, number> = {};
  for (const item of itemsOf(choices, "liked")) history[item] = scale.maximum;
  for (const item of itemsOf(choices, "uninterested")) history[item] = scale.minimum;
  const json = {
    model: name,
    history,
    exclude: itemsOf(choices, "left-out"),
    n: LENGTH,
    ...(candidates === undefined ? {} : { candidates: [...candidates] }),
  };
  const { items } = await fetchJson<Answer>("/api/recommend", { method: "POST", key, json });
  return items.map(({ item_id }) => item_id);
}
