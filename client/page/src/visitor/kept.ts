/** What this browser keeps of a visit. None of it is sent. */

import type { ItemId } from "../../../src/items.js";

export type Stars = ReadonlyMap<ItemId, number>;
/** Attribute: the visitor's own value. */
export type Values = Readonly<Record<string, string>>;

/** What was sent, and when; to say so at the next visit. */
export interface Sent {
  readonly at: string;
  readonly bytes: number;
  readonly digest: string;
}

const STARS = "tacit.stars";
const VALUES = "tacit.values";
const SENT = "tacit.sent";

export function keptStars(): Stars {
  return new Map(read<[ItemId, number][]>(STARS, []));
}

export function keepStars(stars: Stars): void {
  localStorage.setItem(STARS, JSON.stringify([...stars]));
}

/** By disclosure: a person may hide one thing here and another there. */
export function keptValues(): Record<string, Values> {
  return read(VALUES, {});
}

export function keepValues(values: Record<string, Values>): void {
  localStorage.setItem(VALUES, JSON.stringify(values));
}

export function keptSent(): Record<string, Sent> {
  return read(SENT, {});
}

export function keepSent(sent: Record<string, Sent>): void {
  localStorage.setItem(SENT, JSON.stringify(sent));
}

/** Forget everything, the memories of what was drawn too. */
export async function forget(): Promise<void> {
  for (const name of Object.keys(localStorage)) {
    if (name.startsWith("tacit.")) localStorage.removeItem(name);
  }
  const found = await indexedDB.databases();
  const names = found.map(({ name }) => name ?? "").filter((name) => name.startsWith("tacit "));
  await Promise.all(names.map(empty));
}

/** Emptied and not deleted: a database that another tab has open cannot be deleted. */
function empty(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(name);
    opening.onerror = () => reject(new Error("The browser does not let go of what it keeps."));
    opening.onsuccess = () => {
      const database = opening.result;
      const stores = [...database.objectStoreNames];
      if (stores.length === 0) return resolve();
      const change = database.transaction(stores, "readwrite");
      for (const store of stores) change.objectStore(store).clear();
      change.oncomplete = () => resolve(database.close());
    };
  });
}

function read<T>(name: string, otherwise: T): T {
  try {
    return (JSON.parse(localStorage.getItem(name) ?? "null") as T | null) ?? otherwise;
  } catch {
    return otherwise;
  }
}
