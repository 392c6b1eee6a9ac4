/** A model's public catalogue: titles, categories, prices and pictures, fetched whole. */

import type { ItemId } from "../../../src/items.js";
import { printableId } from "../../../src/sketches/formatting.js";
import { fetchJson } from "./requests";

/** Words for one item and for several, in sentences. */
export interface Words {
  readonly one: string;
  readonly many: string;
}

/** Words for items if the model names no others. */
export const WORDS: Words = { one: "item", many: "items" };

/** One item, as the service describes it to everybody. */
export interface CatalogueItem {
  readonly item_id: string;
  readonly title: string | null;
  readonly recommended: boolean;
  readonly categories: readonly string[];
  readonly price: string | null;
  readonly image: string | null;
  /** Whether no one rated it: it may be listed, and choosing it changes no list. */
  readonly cold: boolean;
}

interface ItemPage {
  readonly items: readonly CatalogueItem[];
  readonly next: string | null;
}

/** Items in one answer of the service. */
const PAGE_LENGTH = 5000;

/** All items of a model, and the words for them. */
export class Catalogue {
  private readonly byId: ReadonlyMap<string, CatalogueItem>;

  constructor(
    readonly items: readonly CatalogueItem[],
    readonly words: Words,
  ) {
    this.byId = new Map(items.map((item) => [item.item_id, item]));
  }

  has(item: ItemId): boolean {
    return this.byId.has(String(item));
  }

  find(item: ItemId): CatalogueItem | undefined {
    return this.byId.get(String(item));
  }

  /** Returns the item's title; for an item without a title, the word for an item and its id. */
  readonly title = (item: ItemId): string =>
    printableId(this.find(item)?.title ?? `${capitalize(this.words.one)} ${item}`);

  /** List all categories, the most frequent first. */
  categories(): string[] {
    const counts = new Map<string, number>();
    for (const { categories } of this.items) {
      for (const category of categories) counts.set(category, (counts.get(category) ?? 0) + 1);
    }
    const rows = [...counts].sort(([, left], [, right]) => right - left);
    return rows.map(([category]) => category);
  }

  get hasPictures(): boolean {
    return this.items.some(({ image }) => image !== null);
  }

  /** List the hosts that a browser would ask for pictures; pictures in `data:` need no host. */
  pictureHosts(): string[] {
    const hosts = new Set<string>();
    for (const { image } of this.items) {
      if (image?.startsWith("https://")) hosts.add(new URL(image).host);
    }
    return [...hosts];
  }
}

/** Fetch the whole catalogue: a request for some items would reveal which ones interest a person. */
export async function fetchCatalogue(name: string, words: Words): Promise<Catalogue> {
  const items: CatalogueItem[] = [];
  for (let after: string | null = ""; after !== null;) {
    const start: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
    const page: ItemPage = await fetchJson(
      `/api/models/${name}/items?limit=${PAGE_LENGTH}${start}`,
    );
    items.push(...page.items);
    after = page.next;
  }
  return new Catalogue(items, words);
}

export function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** Write a number of items: "1 film", "3 films". */
export function countOf(count: number, words: Words): string {
  return `${count.toLocaleString("en")} ${count === 1 ? words.one : words.many}`;
}
