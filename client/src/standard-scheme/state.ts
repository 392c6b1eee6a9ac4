/**
 * What a device remembers: one record for each item it decided. It stays where the stars are.
 *
 * No true star and no die is in it: neither is used again. Its canonical bytes are those of a message
 * that is never sent. Whatever changes a state has to be kept durably before a letter leaves.
 * Mirrors src/tacit/designs/standard_scheme/memory.py.
 */

import { compareBytes, encodeUtf8, type Bytes } from "../bytes.js";
import { isItemId, type ItemId } from "../items.js";
import { require } from "../message-error.js";
import { Refusal } from "../refusal.js";
import { LAST_EPOCH_OF_FIRST_DAY } from "./epochs.js";
import { sortedFields, decode, encode, readFields, isInteger, type Json } from "./canonical.js";
import { VERSION, type Alias } from "./messages.js";
import { toNumbers } from "./tables.js";

/**
 * What was decided about one item, for ever.
 *
 * level: the released micro-levels; null: held back. digest: of the disclosure that decided. epoch:
 * label of the letter that was made then. withdrawn: its owner deleted the rating, so that it is not
 * in the letters until it is rated again.
 */
export interface Record {
  readonly level: number | null;
  readonly digest: string;
  readonly epoch: number;
  readonly withdrawn: boolean;
}

/** Calendar epoch, and the digest of the disclosure that counts from then on. */
export type LogEntry = readonly [epoch: number, digest: string];

export interface StateFields {
  /** Second of the account's creation. */
  readonly created: number;
  /** Names the rule and the values that the records were made under; "" at first. */
  readonly binding?: string;
  readonly records?: Iterable<readonly [ItemId, Record]>;
  /** Items that are never decided nor sent, because another memory may have decided them. */
  readonly frozen?: Iterable<ItemId>;
  /** Undecided items: the second at which each was first seen rated. */
  readonly arrivals?: Iterable<readonly [ItemId, number]>;
  /** The latest epoch that is closed, -1 at first. */
  readonly lastEpoch?: number;
  /** The bytes that were made for that epoch, if any were. */
  readonly letter?: Bytes | null;
  /** The latest epoch that a letter was made for, -1 at first; kept beside the secret as well. */
  readonly lastLetterEpoch?: number;
  /** The service's log as far as this device has seen it. */
  readonly log?: readonly LogEntry[];
  /** The names that it follows, as in the disclosure that was followed last. */
  readonly aliases?: readonly Alias[];
  /** Seconds, of the first disclosure that was followed; 0 before. */
  readonly epochLength?: number;
  /** Whether nothing is decided any more: another memory of this account exists. */
  readonly closed?: boolean;
  /** Whether a letter showed an item, or may have: then the first day alone decides. */
  readonly showed?: boolean;
  /**
   * Ids of ratings that count for nothing, because their item was merged with a shown one: no letter
   * tells whether they exist.
   */
  readonly merged?: Iterable<ItemId>;
}

/** An account on one device. */
export class State {
  readonly created: number;
  binding: string;
  readonly records: Map<ItemId, Record>;
  readonly frozen: Set<ItemId>;
  readonly arrivals: Map<ItemId, number>;
  lastEpoch: number;
  letter: Bytes | null;
  lastLetterEpoch: number;
  log: readonly LogEntry[];
  aliases: readonly Alias[];
  epochLength: number;
  closed: boolean;
  showed: boolean;
  readonly merged: Set<ItemId>;

  constructor(fields: StateFields) {
    this.created = fields.created;
    this.binding = fields.binding ?? "";
    this.records = new Map(fields.records);
    this.frozen = new Set(fields.frozen);
    this.arrivals = new Map(fields.arrivals);
    this.lastEpoch = fields.lastEpoch ?? -1;
    this.letter = fields.letter ?? null;
    this.lastLetterEpoch = fields.lastLetterEpoch ?? -1;
    this.log = fields.log ?? [];
    this.aliases = fields.aliases ?? [];
    this.epochLength = fields.epochLength ?? 0;
    this.closed = fields.closed ?? false;
    this.showed = fields.showed ?? false;
    this.merged = new Set(fields.merged);
    this.check();
  }

  /** Whether nothing was or may have been decided about it. */
  isUndecided(item: ItemId): boolean {
    return !this.records.has(item) && !this.frozen.has(item);
  }

  /**
   * Whether the account decides items in the epoch with this label.
   *
   * It does on its first day, and later until a letter shows an item. After that letters show nothing
   * new, whatever is deleted, renamed or lost, so that they never tell in which order items were rated.
   */
  mayDecide(epoch: number): boolean {
    return epoch <= LAST_EPOCH_OF_FIRST_DAY || !this.showed;
  }

  /** Under the names that are followed. */
  renameItems(items: Iterable<ItemId>): Set<ItemId> {
    const now = new Map(this.aliases);
    return new Set([...items].map((item) => now.get(item) ?? item));
  }

  /**
   * Refused if these drop or contradict a name that was followed: its item would be decided a second
   * time.
   */
  checkNames(aliases: readonly Alias[]): void {
    const now = new Map(aliases);
    if (this.aliases.some(([old, next]) => now.get(old) !== (now.get(next) ?? next))) {
      throw new Refusal("the disclosure's names of items contradict those that it gave before");
    }
  }

  /**
   * Move what is known about an old id to its new one; Refused as by `checkNames`.
   *
   * What the letters hold they go on holding, and nothing else comes into them: of several records a
   * shown one stands, the new id's own first, whatever was held back. A withdrawn one is held back
   * from then on.
   */
  followNames(aliases: readonly Alias[]): void {
    this.checkNames(aliases);
    const before = new Map(this.aliases);
    for (const [old, now] of aliases) if (before.get(old) !== now) this.moveItem(old, now);
    for (const item of this.records.keys()) {
      this.frozen.delete(item);
      this.arrivals.delete(item); // else a late rating under the new name would hide it
    }
    this.aliases = aliases;
  }

  private moveItem(old: ItemId, now: ItemId): void {
    if (this.frozen.delete(old)) this.frozen.add(now);
    const arrival = this.arrivals.get(old);
    if (arrival !== undefined) {
      this.arrivals.delete(old);
      this.arrivals.set(now, Math.min(arrival, this.arrivals.get(now) ?? arrival));
    }
    const candidates = [this.records.get(now), this.records.get(old)].flatMap((record) =>
      record === undefined
        ? []
        : record.withdrawn
          ? { ...record, level: null, withdrawn: false }
          : record,
    );
    this.records.delete(old);
    const chosen = candidates.find(({ level }) => level !== null) ?? candidates[0];
    if (chosen !== undefined) this.records.set(now, chosen);
  }

  /** Note whether an item is shown now; once one was, that is never forgotten. */
  noteShown(): void {
    this.showed ||= this.shownLevels().size > 0;
  }

  /**
   * Set ratings aside whose item takes the name of a shown one that is rated itself: otherwise they
   * would keep that item in the letters when its own rating is deleted.
   *
   * @param given ids of all ratings that count, as they were given.
   * @param aliases the names that are followed from now on.
   */
  setMergedAside(given: Iterable<ItemId>, aliases: readonly Alias[]): void {
    const before = new Map(this.aliases);
    const after = new Map(aliases);
    const shown = this.shownLevels();
    const names = [...given].map((item) => [item, before.get(item) ?? item] as const);
    const shownNames = names.map(([, name]) => name).filter((name) => shown.has(name));
    const taken = new Set(shownNames.map((name) => after.get(name) ?? name));
    for (const [item, name] of names) {
      if (!shown.has(name) && taken.has(after.get(name) ?? name)) this.merged.add(item);
    }
  }

  /** Mark the shown items whose rating was deleted, and unmark those rated again. */
  markWithdrawn(rated: { has(item: ItemId): boolean }): void {
    for (const [item, record] of this.records) {
      const withdrawn = !rated.has(item);
      if (record.level !== null && record.withdrawn !== withdrawn) {
        this.records.set(item, { ...record, withdrawn });
      }
    }
  }

  /** Released micro-levels of the items that letters hold. */
  shownLevels(): Map<ItemId, number> {
    const levels = new Map<ItemId, number>();
    for (const [item, { level, withdrawn }] of this.records) {
      if (level !== null && !withdrawn) levels.set(item, level);
    }
    return levels;
  }

  encode(): Bytes {
    const records = sortByJson(this.records).map(([item, { level, digest, epoch, withdrawn }]) => [
      ...[item, level, digest, epoch, withdrawn],
    ]);
    return encode(
      sortedFields({
        version: VERSION,
        message: "memory",
        created: this.created,
        binding: this.binding,
        records,
        frozen: sortItems(this.frozen),
        arrivals: sortByJson(this.arrivals),
        last_epoch: this.lastEpoch,
        letter: this.letter === null ? null : new TextDecoder().decode(this.letter),
        spoken: this.lastLetterEpoch,
        log: this.log,
        aliases: this.aliases,
        epoch_length: this.epochLength,
        closed: this.closed,
        showed: this.showed,
        merged: sortItems(this.merged),
      }),
    );
  }

  static decode(data: Uint8Array): State {
    return decode(data, "memory", VERSION, (whole) => {
      const [created, binding, records, frozen, arrivals, lastEpoch, letter, ...later] = readFields(
        whole,
        "memory",
        ...["created", "binding", "records", "frozen", "arrivals", "last_epoch", "letter"],
        ...["spoken", "log", "aliases", "epoch_length", "closed", "showed", "merged"],
        ...["message", "version"],
      );
      const [spoken, log, aliases, length, closed, showed, merged] = later;
      require(letter === null || typeof letter === "string", "a letter is a text");
      return new State({
        created: toNumbers(created) as number,
        binding: binding as string,
        records: parseRows(records, 5).map(([item, ...rest]) => [
          item as ItemId,
          parseRecord(rest),
        ]),
        frozen: requireList(frozen) as ItemId[],
        arrivals: parseRows(arrivals, 2) as unknown as [ItemId, number][],
        lastEpoch: toNumbers(lastEpoch) as number,
        letter: letter === null ? null : encodeUtf8(letter),
        lastLetterEpoch: toNumbers(spoken) as number,
        log: parseRows(log, 2) as unknown as LogEntry[],
        aliases: requireRows(aliases) as unknown as Alias[],
        epochLength: toNumbers(length) as number,
        closed: closed as boolean,
        showed: showed as boolean,
        merged: requireList(merged) as ItemId[],
      });
    });
  }

  private check(): void {
    require(isInteger(this.created, 0), "a memory has the second of its creation");
    require([this.lastEpoch, this.lastLetterEpoch].every((one) =>
      isInteger(one, -1),
    ), "an epoch is a whole number");
    require(typeof this.binding === "string", "a binding is a text");
    for (const [item, record] of this.records) {
      require(isItemId(item) && isRecord(record), "an item and what was decided about it");
    }
    for (const [item, second] of this.arrivals) {
      require(isItemId(item) && isInteger(second), "an item and the second of its arrival");
    }
    require([...this.frozen].every(isItemId), "an item that is frozen");
    const isLog = this.log.every(
      ([epoch, digest]) => isInteger(epoch, 0) && typeof digest === "string",
    );
    require(isLog, "a log of digests");
    require(this.aliases.flat().every(isItemId), "old ids and new ones");
    require(isInteger(this.epochLength, 0), "the length of an epoch");
    require(typeof this.closed === "boolean", "whether the memory is closed");
    require(typeof this.showed === "boolean", "whether a letter showed an item");
    require([...this.merged].every(isItemId), "an id whose rating counts for nothing");
  }
}

/** By the bytes of the item's JSON. */
function sortByJson<V>(rows: ReadonlyMap<ItemId, V>): [ItemId, V][] {
  const spelled = [...rows].map(([item, value]) => {
    return { key: new TextEncoder().encode(itemJson(item)), row: [item, value] as [ItemId, V] };
  });
  return spelled.sort((one, other) => compareBytes(one.key, other.key)).map(({ row }) => row);
}

/** Items by the bytes of their JSON. */
function sortItems(items: Iterable<ItemId>): ItemId[] {
  return sortByJson(new Map([...items].map((item) => [item, null]))).map(([item]) => item);
}

/** The item's JSON. */
export function itemJson(item: ItemId): string {
  return typeof item === "string" ? JSON.stringify(item) : String(item);
}

function isRecord({ level, digest, epoch, withdrawn }: Record): boolean {
  const leveled = level === null || isInteger(level);
  const flagged = typeof withdrawn === "boolean" && !(withdrawn && level === null);
  return leveled && typeof digest === "string" && isInteger(epoch, 0) && flagged;
}

function parseRecord([level, digest, epoch, withdrawn]: Json[]): Record {
  return { level, digest, epoch, withdrawn } as unknown as Record;
}

function requireList(value: Json | undefined): Json[] {
  require(Array.isArray(value), "a memory holds lists");
  return value as Json[];
}

function parseRows(value: Json | undefined, width: number): Json[][] {
  return requireRows(value, width).map(
    ([item, ...rest]) => [item, ...rest.map(toNumbers)] as Json[],
  );
}

function requireRows(value: Json | undefined, width = 2): Json[][] {
  const rows = requireList(value);
  const fits = rows.every((row) => Array.isArray(row) && row.length === width);
  require(fits, "a memory holds rows of known length");
  return rows as Json[][];
}
