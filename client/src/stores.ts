/**
 * What a device drew and sent before. Losing it does not change what the secret makes of the same
 * stars; it does forget how much was spent.
 */

export interface Store<V> {
  /** Runs one piece of work at a time, also among tabs where they share the store. */
  runExclusively<T>(work: () => Promise<T>): Promise<T>;
  read(): Promise<Map<string, V>>;
  /** Adds or replaces; resolves when the entries are durable. All of them or none. */
  write(entries: ReadonlyMap<string, V>): Promise<void>;
}

/** One piece of work after the other, in the order of asking. */
class Queue {
  private lastWork: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lastWork.then(work);
    this.lastWork = result.catch(() => undefined);
    return result;
  }
}

/** Forgets when the page is closed: for tests, and for trying things out. */
export class TemporaryStore<V> implements Store<V> {
  private readonly queue = new Queue();
  private readonly entries = new Map<string, V>();

  runExclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.queue.run(work);
  }

  async read(): Promise<Map<string, V>> {
    return new Map(this.entries);
  }

  async write(added: ReadonlyMap<string, V>): Promise<void> {
    for (const [key, value] of added) this.entries.set(key, value);
  }
}

/** Kept by the browser under this site's address. `name`: one per account and purpose. */
export class BrowserStore<V> implements Store<V> {
  private readonly queue = new Queue();
  private database: Promise<IDBDatabase> | undefined;

  constructor(private readonly name: string) {}

  runExclusively<T>(work: () => Promise<T>): Promise<T> {
    const locks = globalThis.navigator?.locks as LockManager | undefined;
    if (locks === undefined) return this.queue.run(work);
    return locks.request(`tacit ${this.name}`, work) as Promise<T>;
  }

  async read(): Promise<Map<string, V>> {
    const store = (await this.open()).transaction("kept").objectStore("kept");
    const [keys, values] = await Promise.all([
      resultOf(store.getAllKeys()),
      resultOf(store.getAll()),
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
    this.database ??= openDatabase(`tacit ${this.name}`).catch((error: unknown) => {
      this.database = undefined; // asked again, it may work
      throw error;
    });
    return this.database;
  }
}

function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => void request.result.createObjectStore("kept");
  return resultOf(request);
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's database does not answer"));
  });
}
