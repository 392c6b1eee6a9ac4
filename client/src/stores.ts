/**
 * Stores of what a device has drawn and sent.
 *
 * A device that lost its store draws the same for the same stars, because draws are derived from its
 * secret. But it does not know how much epsilon was spent before.
 */

/** Values by keys. */
export interface Store<V> {
  /** Run some work while no other work runs on this store, in any tab that shares it. */
  runExclusively<T>(work: () => Promise<T>): Promise<T>;
  /** Read all entries. */
  read(): Promise<Map<string, V>>;
  /** Add or replace entries, all or none; resolves when they are durable. */
  write(entries: ReadonlyMap<string, V>): Promise<void>;
}

/** Runs pieces of work one after the other, in the order in which they were added. */
class Queue {
  private lastWork: Promise<unknown> = Promise.resolve();

  /** Run some work after all earlier work, whether or not that failed; return its result. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lastWork.then(work);
    this.lastWork = result.catch(() => undefined);
    return result;
  }
}

/** A store in memory, which is lost when the page is closed: for tests and trials. */
export class TemporaryStore<V> implements Store<V> {
  private readonly queue = new Queue();
  private readonly entries = new Map<string, V>();

  runExclusively<T>(work: () => Promise<T>): Promise<T> {
    return this.queue.run(work);
  }

  async read(): Promise<Map<string, V>> {
    return new Map(this.entries);
  }

  async write(entries: ReadonlyMap<string, V>): Promise<void> {
    for (const [key, value] of entries) this.entries.set(key, value);
  }
}

/** A store in the browser's IndexedDB, for this site. Each account and purpose needs its own `name`. */
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
    return new Map(keys.map((key, index) => [String(key), values[index] as V]));
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
      change.abort(); // otherwise the entries that were put before would be stored
    }
    await done;
  }

  /** Open the database at the first call; later calls return the same one. */
  private open(): Promise<IDBDatabase> {
    this.database ??= openDatabase(`tacit ${this.name}`).catch((error: unknown) => {
      this.database = undefined; // the next try may work
      throw error;
    });
    return this.database;
  }
}

/** Open a database of this site; a new one gets its object store. */
function openDatabase(name: string): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => void request.result.createObjectStore("kept");
  return resultOf(request);
}

/** Wait for the result of a request to IndexedDB. */
function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("the browser's database does not answer"));
  });
}
