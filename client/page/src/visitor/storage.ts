/** What this browser stores of a visit. None of it is sent. */

import { integerId, type ItemId } from "../../../src/items.js";

export type Stars = ReadonlyMap<ItemId, number>;
export interface Rating {
  readonly stars: number;
  /** When the item got its first star, in seconds since 1970. */
  readonly entered: number;
}
export type Ratings = ReadonlyMap<ItemId, Rating>;
/** The visitor's own value of each attribute. */
export type Values = Readonly<Record<string, string>>;

/** A message that was sent. */
export interface SentMessage {
  /** When, as text in ISO 8601. */
  readonly at: string;
  /** Length of its body. */
  readonly bytes: number;
  /** SHA-256 of its body, in hex. */
  readonly digest: string;
  /** Whether the service refused it. */
  readonly refused?: boolean;
}

/** An item with its predicted stars; null if the answer was for another disclosure. */
export type RankedItem = readonly [item: ItemId, stars: number | null];

const STARS = "tacit.stars";
const VALUES = "tacit.values";
const SENT = "tacit.sent";
const CONTACTED = "tacit.spoken";
const ALLOWED = "tacit.allowed";
const FROZEN = "tacit.frozen";
/** Keys of what decides whether a letter is sent, and of what was sent. */
export const LETTER_KEYS = [SENT, ALLOWED];

/** Read the visitor's ratings. */
export function readRatings(): Ratings {
  const rows = readJson<[StoredId, number, number?][]>(STARS, []);
  return new Map(rows.map(([id, stars, entered = 0]) => [parseId(id), { stars, entered }]));
}

/** Store the visitor's ratings in place of the earlier ones. */
export function storeRatings(ratings: Ratings): void {
  const listed = [...ratings].map(([item, { stars, entered }]) => [toStored(item), stars, entered]);
  localStorage.setItem(STARS, JSON.stringify(listed));
}

/** Read the visitor's values for each disclosure, which may hide different attributes. */
export function readValues(): Record<string, Values> {
  return readJson(VALUES, {});
}

export function storeValues(values: Record<string, Values>): void {
  localStorage.setItem(VALUES, JSON.stringify(values));
}

export function readSent(): Record<string, SentMessage> {
  return readJson(SENT, {});
}

export function storeSent(sent: Record<string, SentMessage>): void {
  localStorage.setItem(SENT, JSON.stringify(sent));
}

/** List the paths to which something was or may have been sent, so that the service knows the visitor. */
export function readContacted(): readonly string[] {
  return [...new Set([...readJson<string[]>(CONTACTED, []), ...Object.keys(readSent())])];
}

/** Store a path before the first request that names the visitor, whose answer may be lost. */
export function storeContacted(path: string): void {
  localStorage.setItem(CONTACTED, JSON.stringify([...new Set([...readContacted(), path])]));
}

/** Read the name of the disclosure for which letters may be sent; "" while none may. */
export function readAllowed(): string {
  return readJson(ALLOWED, "");
}

export function storeAllowed(name: string): void {
  localStorage.setItem(ALLOWED, JSON.stringify(name));
}

/** Read the items that no account of this browser decides again. */
export function readFrozen(): readonly ItemId[] {
  return readJson<StoredId[]>(FROZEN, []).map(parseId);
}

/** Store the items that no account of this browser decides again. */
export function storeFrozen(frozen: readonly ItemId[]): void {
  if (frozen.length > 0) localStorage.setItem(FROZEN, JSON.stringify(frozen.map(toStored)));
}

/** Forget everything that this browser stores, except these items, whose stars are forgotten too. */
export async function forgetAll(frozen: readonly ItemId[]): Promise<void> {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith("tacit.")) localStorage.removeItem(name);
  }
  storeFrozen(frozen);
  const databases = await indexedDB.databases();
  const names = databases.map(({ name }) => name ?? "").filter((name) => name.startsWith("tacit "));
  await Promise.all(names.map(emptyDatabase));
}

/** Empty a database. It is not deleted, which fails while another tab has it open. */
export function emptyDatabase(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(name);
    opening.onerror = () => reject(new Error("The browser does not let go of what it keeps."));
    opening.onsuccess = () => {
      const database = opening.result;
      const stores = [...database.objectStoreNames];
      if (stores.length === 0) return resolve(database.close());
      const change = database.transaction(stores, "readwrite");
      for (const store of stores) change.objectStore(store).clear();
      change.oncomplete = () => resolve(database.close());
    };
  });
}

/** An item's id as it is stored. JSON.stringify refuses a bigint, so its digits are stored. */
type StoredId = number | string | { readonly integer: string };

function toStored(item: ItemId): StoredId {
  return typeof item === "bigint" ? { integer: String(item) } : item;
}

function parseId(stored: StoredId): ItemId {
  return typeof stored === "object" ? integerId(BigInt(stored.integer)) : stored;
}

/** Read a stored value; `fallback` if there is none or it is no JSON. */
function readJson<T>(name: string, fallback: T): T {
  try {
    return (JSON.parse(localStorage.getItem(name) ?? "null") as T | null) ?? fallback;
  } catch {
    return fallback;
  }
}
