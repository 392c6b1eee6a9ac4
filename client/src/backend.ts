/**
 * A shop's backend: lists by the service, from histories that it sends and that are not stored.
 *
 * Mirrors src/tacit/client/backend.py. Its key has the role `recommend`, which can ask for lists and
 * nothing else.
 */

import type { ItemId } from "./items.js";

/** Stars by item; or ids of what was liked or bought, and items with stars or quantities. */
export type History =
  | ReadonlyMap<ItemId, number>
  | readonly (ItemId | { readonly item: ItemId; readonly stars?: number; readonly quantity?: number })[];

/** What a list may hold; without a field it may hold anything. */
export interface ListWish {
  readonly candidates?: readonly ItemId[];
  readonly category?: string;
  readonly n?: number;
  /** At most so many items of one category. */
  readonly diversity?: number;
  /** Whether items of the history may be listed. */
  readonly seen?: boolean;
  /** Items that no one rated, which may be listed too, with what the catalogue says of them. */
  readonly cold?: readonly ColdItem[];
}

/** facts: values by the names of the catalogue's columns. */
export interface ColdItem {
  readonly item: ItemId;
  readonly facts: Readonly<Record<string, string | number | readonly (string | number)[]>>;
}

export interface ListedItem {
  readonly rank: number;
  readonly item_id: string;
  readonly score: number;
  readonly title: string | null;
  /** Whether no one rated the item: its features alone were scored. */
  readonly cold: boolean;
}

/** ignored: items of the question that the model does not know. */
export interface ServedList {
  readonly customer?: string | null;
  readonly personal: boolean;
  readonly items: readonly ListedItem[];
  readonly ignored: readonly string[];
}

/** The service refused or failed. The message is its sentence. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";

  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

export class Backend {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  /** One person's list; without a history it is everybody's. */
  async recommend(
    model: string,
    history: History = [],
    wish: ListWish & { readonly customer?: string; readonly exclude?: readonly ItemId[] } = {},
  ): Promise<ServedList> {
    const question = { model, history: writeHistory(history), ...wish };
    return (await this.ask("POST", "/api/recommend", question)) as ServedList;
  }

  /** Lists of up to 200 people in one request, by the shop's id of each. */
  async recommendMany(
    model: string,
    histories: ReadonlyMap<string, History>,
    wish: ListWish = {},
  ): Promise<ReadonlyMap<string, ServedList>> {
    const people = [...histories].map(([customer, history]) => ({
      customer,
      history: writeHistory(history),
    }));
    const answer = await this.ask("POST", "/api/recommend-many", { model, people, ...wish });
    const { lists } = answer as { lists: ServedList[] };
    return new Map(lists.map((list) => [list.customer as string, list]));
  }

  /** The items that go best with one item. ServiceError of status 404 for an unknown one. */
  async similarItems(model: string, item: ItemId, n = 10): Promise<readonly ListedItem[]> {
    const path = `/v1/models/${encodeURIComponent(model)}/similar/${encodeURIComponent(String(item))}?n=${n}`;
    const { items } = (await this.ask("GET", path)) as { items: ListedItem[] };
    return items;
  }

  private async ask(method: string, path: string, question?: object): Promise<unknown> {
    const headers = { Authorization: `Bearer ${this.key}`, "Content-Type": "application/json" };
    const body = question === undefined ? null : JSON.stringify(question);
    const response = await fetch(this.url + path, { method, headers, body, redirect: "error" });
    if (!response.ok) throw new ServiceError(await readDetail(response), response.status);
    return response.json();
  }
}

function writeHistory(history: History): unknown {
  return history instanceof Map ? Object.fromEntries(history) : history;
}

async function readDetail(response: Response): Promise<string> {
  const problem = (await response.json().catch(() => ({}))) as { detail?: unknown };
  return typeof problem.detail === "string" ? problem.detail : `status ${response.status}`;
}
