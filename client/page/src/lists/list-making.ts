/** Lists from choices: on this device where the model has a file for it, else by the service. */

import type { ItemId } from "../../../src/items.js";
import type { DeviceLists } from "../../../src/private/lists.js";
import { fetchJson } from "../service/requests";
import type { ServedModel } from "../service/offers";
import { itemsOf, type Choices } from "./choices";

export const LENGTH = 10;
const MOST_REASONS = 3;

/** Only items of these categories, where any is named. */
export interface ListWish {
  readonly choices: Choices;
  readonly candidates: ReadonlySet<string> | undefined;
}

/** Makes lists of a released model, from choices that stay here. */
export class DeviceMaker {
  private readonly ids: ReadonlyMap<string, ItemId>;

  constructor(readonly lists: DeviceLists) {
    this.ids = new Map([...lists.context, ...lists.items].map((item) => [String(item), item]));
  }

  /** Whether everybody gets the same list, of popular items: choices only leave items out of it. */
  get isForAll(): boolean {
    return this.lists.header["mode"] === "popularity";
  }

  /** Items by the ids that the catalogue writes, best first. */
  rank({ choices, candidates }: ListWish): string[] {
    const allowed =
      candidates === undefined
        ? {}
        : { candidates: this.lists.items.filter((item) => candidates.has(String(item))) };
    const ranked = this.lists.rank(this.history(choices), {
      n: LENGTH,
      exclude: this.known(choices.keys()),
      ...allowed,
    });
    return ranked.map(([item]) => String(item));
  }

  /** Everybody's order, the most popular first. */
  popular(): string[] {
    const ranked = this.lists.rank(new Map(), { n: this.lists.items.length });
    return ranked.map(([item]) => String(item));
  }

  /** The chosen items that speak most for an item. */
  reasons(choices: Choices, item: string): string[] {
    const id = this.ids.get(item);
    if (id === undefined) return [];
    const history = this.history(choices);
    const [falls = []] = this.lists.reasons(history, [id], { n: Math.max(1, history.size) });
    const own = falls.map(([item]) => String(item));
    return own.filter((item) => choices.get(item) === "liked").slice(0, MOST_REASONS);
  }

  /** A like is the most stars, a dislike the fewest. */
  private history(choices: Choices): Map<ItemId, number> {
    const [least, most] = this.lists.header["scale"] as [number, number];
    const history = new Map<ItemId, number>();
    for (const item of this.known(itemsOf(choices, "liked"))) history.set(item, most);
    for (const item of this.known(itemsOf(choices, "uninterested"))) history.set(item, least);
    return history;
  }

  private known(items: Iterable<string>): ItemId[] {
    const found: ItemId[] = [];
    for (const item of items) {
      const id = this.ids.get(item);
      if (id !== undefined) found.push(id);
    }
    return found;
  }
}

interface Answer {
  readonly items: readonly { readonly item_id: string }[];
}

/** A list that the service makes: the choices are sent for it, and it keeps none of them. */
export async function requestList(
  { name, scale }: ServedModel,
  { choices, candidates }: ListWish,
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
