/**
 * What a device drew and sent before. Losing it does not change what the secret makes of the same
 * stars; it does forget how much was spent.
 */

export interface Store<V> {
  /** Runs one piece of work at a time, also among tabs where they share the store. */
  turn<T>(work: () => Promise<T>): Promise<T>;
  read(): Promise<Map<string, V>>;
  /** Adds or replaces; resolves when the entries are durable. All of them or none. */
  write(entries: ReadonlyMap<string, V>): Promise<void>;
}

/** One piece of work after the other, in the order of asking. */
class Queue {
  private last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.last.then(work);
    this.last = mine.catch(() => undefined);
    return mine;
  }
}

/** Forgets when the page is closed: for tests, and for trying things out. */
export class PassingStore<V> implements Store<V> {
  private readonly queue = new Queue();
  private readonly kept = new Map<string, V>();

  turn<T>(work: () => Promise<T>): Promise<T> {
    return this.queue.take(work);
  }

  async read(): Promise<Map<string, V>> {
    return new Map(this.kept);
  }

  async write(entries: ReadonlyMap<string, V>): Promise<void> {
    for (const [key, value] of entries) this.kept.set(key, value);
  }
}

/** Kept by the browser under this site's address. `name`: one per account and purpose. */
export class BrowserStore<V> implements Store<V> {
  private readonly queue = new Queue();
  private opened: Promise<IDBDatabase> | undefined;

  constructor(private readonly name: string) {}

  turn<T>(work: () => Promise<T>): Promise<T> {
    const locks = globalThis.navigator?.locks as LockManager | undefined;
    if (locks === undefined) return this.queue.take(work);
    return locks.request(`tacit ${this.name}`, work) as Promise<T>;
  }

  async read(): Promise<Map<string, V>> {
    const store = (await this.open()).transaction("kept").objectStore("kept");
    const [keys, values] = await Promise.all([
      settled(store.getAllKeys()),
      settled(store.getAll()),
    ]);
    return new Map(keys.map((key, at) => [String(key), values[at] as V]));
  }

  async write(entries: ReadonlyMap<string, V>): Promise<void> {
    const database = await this.open();
    const change = database.transaction("kept", "readwrite", { durability: "strict" });
    const done = new Promise<void>((resolve, reject) => {
      change.oncomplete = () => resolve();
      change.onabort = () => reject(change.error ?? new Error("the browser kept nothing"));
    });
    try {
      for (const [key, value] of entries) change.objectStore("kept").put(value, key);
    } catch {
      change.abort(); // else what was put before is kept
    }
    await done;
  }

  private open(): Promise<IDBDatabase> {
    this.opened ??= openDatabase(`tacit ${this.name}`).catch((error: unknown) => {
      this.opened = undefined; // asked again, it may work
      throw error;
    });
    return this.opened;
  }
}

function openDatabase(name: string): Promise<IDBDatabase> {
  const asked = indexedDB.open(name, 1);
  asked.onupgradeneeded = () => void asked.result.createObjectStore("kept");
  return settled(asked);
}

function settled<T>(asked: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error ?? new Error("the browser's database does not answer"));
  });
}
