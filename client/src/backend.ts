/**
 * A shop's backend: lists by the service, from histories that it sends and that are not stored.
 *
 * Mirrors src/tacit/client/backend.py. Its key has the role `recommend`, which can ask for lists and
 * nothing else.
 */

import type { ItemId } from "./items.js";

/** Stars by item; or a list of ids that were liked or bought, and of items with stars or quantities. */
export type History =
  | ReadonlyMap<ItemId, number>
  | readonly (ItemId | { readonly item: ItemId; readonly stars?: number; readonly quantity?: number })[];

/** Choices about a list. A field that is left out limits nothing. */
export interface ListChoices {
  /** Items to choose from. */
  readonly candidates?: readonly ItemId[];
  /** A category that every listed item has. */
  readonly category?: string;
  /** Length of the list; 10 if left out. */
  readonly n?: number;
  /** Most items of one category. */
  readonly diversity?: number;
  /** Whether items of the history may be listed. */
  readonly seen?: boolean;
  /** Items that no one rated, which may be listed too, with what the catalogue says of them. */
  readonly cold?: readonly ColdItem[];
}

/** An item that no one rated. */
export interface ColdItem {
  readonly item: ItemId;
  /** Values by the names of the catalogue's columns. */
  readonly facts: Readonly<Record<string, string | number | readonly (string | number)[]>>;
}

/** One item of a list. */
export interface ListedItem {
  /** From 1. */
  readonly rank: number;
  readonly item_id: string;
  /** The list is ranked by this number, which is no number of stars. */
  readonly score: number;
  readonly title: string | null;
  /** Whether no one rated the item: its features alone were scored. */
  readonly cold: boolean;
}

/** A list that the service made. */
export interface ServedList {
  /** The shop's id of the person, as the question had it. */
  readonly customer?: string | null;
  /** Whether the list was made from the person's history; if not, everybody gets the same list. */
  readonly personal: boolean;
  /** The best item first. */
  readonly items: readonly ListedItem[];
  /** Items of the question that the model does not know. */
  readonly ignored: readonly string[];
}

/** Error: the service refused or failed. The message is the sentence that it answered. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";

  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Asks a service at `url` for lists, with the key of a backend. */
export class Backend {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  /** Get one person's list; without a history it is the same for everybody. */
  async recommend(
    model: string,
    history: History = [],
    choices: ListChoices & { readonly customer?: string; readonly exclude?: readonly ItemId[] } = {},
  ): Promise<ServedList> {
    const question = { model, history: writeHistory(history), ...choices };
    return (await this.ask("POST", "/api/recommend", question)) as ServedList;
  }

  /** Get the lists of up to 200 people in one request, by the shop's id of each. */
  async recommendMany(
    model: string,
    histories: ReadonlyMap<string, History>,
    choices: ListChoices = {},
  ): Promise<ReadonlyMap<string, ServedList>> {
    const people = [...histories].map(([customer, history]) => ({
      customer,
      history: writeHistory(history),
    }));
    const answer = await this.ask("POST", "/api/recommend-many", { model, people, ...choices });
    const { lists } = answer as { lists: ServedList[] };
    return new Map(lists.map((list) => [list.customer as string, list]));
  }

  /** Get the items that go best with one item. ServiceError of status 404 for an unknown item. */
  async similarItems(model: string, item: ItemId, n = 10): Promise<readonly ListedItem[]> {
    const path = `/v1/models/${encodeURIComponent(model)}/similar/${encodeURIComponent(String(item))}?n=${n}`;
    const { items } = (await this.ask("GET", path)) as { items: ListedItem[] };
    return items;
  }

  /** Send a request with the key, and return its JSON. ServiceError if the service refuses. */
  private async ask(method: string, path: string, question?: object): Promise<unknown> {
    const headers = { Authorization: `Bearer ${this.key}`, "Content-Type": "application/json" };
    const body = question === undefined ? null : JSON.stringify(question);
    const response = await fetch(this.url + path, { method, headers, body, redirect: "error" });
    if (!response.ok) throw new ServiceError(await readDetail(response), response.status);
    return response.json();
  }
}

/** Return a history in the form that JSON can write: a map becomes an object. */
function writeHistory(history: History): unknown {
  return history instanceof Map ? Object.fromEntries(history) : history;
}

/** Read the sentence of a response that reports a problem. */
async function readDetail(response: Response): Promise<string> {
  const problem = (await response.json().catch(() => ({}))) as { detail?: unknown };
  return typeof problem.detail === "string" ? problem.detail : `status ${response.status}`;
}
