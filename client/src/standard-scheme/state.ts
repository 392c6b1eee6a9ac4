/**
 * What a device remembers: one record for each item it decided. It stays where the stars are.
 *
 * No true star and no die is in it: neither is used again. Its canonical bytes are those of a message
 * that is never sent. Whatever changes a state has to be kept durably before a letter leaves.
 * Mirrors src/tacit/designs/standard_scheme/memory.py.
 */

import { compare, utf8, type Bytes } from "../bytes.js";
import { isId, type ItemId } from "../items.js";
import { require } from "../malformed.js";
import { Refused } from "../refused.js";
import { content, decode, encode, fieldsOf, isInteger, type Json } from "./canonical.js";
import { VERSION, type Alias } from "./messages.js";
import { small } from "./tables.js";

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
  readonly spoken?: number;
  /** The service's log as far as this device has seen it. */
  readonly log?: readonly LogEntry[];
  /** The names that it follows, as in the disclosure that was followed last. */
  readonly aliases?: readonly Alias[];
  /** Seconds, of the first disclosure that was followed; 0 before. */
  readonly epochLength?: number;
  /** Whether nothing is decided any more: another memory of this account exists. */
  readonly closed?: boolean;
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
  spoken: number;
  log: readonly LogEntry[];
  aliases: readonly Alias[];
  epochLength: number;
  closed: boolean;

  constructor(fields: StateFields) {
    this.created = fields.created;
    this.binding = fields.binding ?? "";
    this.records = new Map(fields.records);
    this.frozen = new Set(fields.frozen);
    this.arrivals = new Map(fields.arrivals);
    this.lastEpoch = fields.lastEpoch ?? -1;
    this.letter = fields.letter ?? null;
    this.spoken = fields.spoken ?? -1;
    this.log = fields.log ?? [];
    this.aliases = fields.aliases ?? [];
    this.epochLength = fields.epochLength ?? 0;
    this.closed = fields.closed ?? false;
    this.check();
  }

  /** Whether nothing was or may have been decided about it. */
  undecided(item: ItemId): boolean {
    return !this.records.has(item) && !this.frozen.has(item);
  }

  /** Under the names that are followed. */
  named(items: Iterable<ItemId>): Set<ItemId> {
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
      throw new Refused("the disclosure's names of items contradict those that it gave before");
    }
  }

  /**
   * Move what is known about an old id to its new one; Refused as by `checkNames`.
   *
   * What the letters hold they go on holding, and nothing else comes into them: of several records a
   * shown one stands, the new id's own first, whatever was held back. A withdrawn one is held back
   * from then on.
   */
  follow(aliases: readonly Alias[]): void {
    this.checkNames(aliases);
    const before = new Map(this.aliases);
    for (const [old, now] of aliases) if (before.get(old) !== now) this.move(old, now);
    for (const item of this.records.keys()) this.frozen.delete(item);
    this.aliases = aliases;
  }

  private move(old: ItemId, now: ItemId): void {
    if (this.frozen.delete(old)) this.frozen.add(now);
    const second = this.arrivals.get(old);
    if (second !== undefined) {
      this.arrivals.delete(old);
      this.arrivals.set(now, Math.min(second, this.arrivals.get(now) ?? second));
    }
    const found = [this.records.get(now), this.records.get(old)].flatMap((record) =>
      record === undefined ? [] : record.withdrawn ? { ...record, level: null, withdrawn: false } : record,
    );
    this.records.delete(old);
    const stands = found.find(({ level }) => level !== null) ?? found[0];
    if (stands !== undefined) this.records.set(now, stands);
  }

  /** Mark the shown items whose rating was deleted, and unmark those rated again. */
  withdraw(rated: { has(item: ItemId): boolean }): void {
    for (const [item, record] of this.records) {
      const withdrawn = !rated.has(item);
      if (record.level !== null && record.withdrawn !== withdrawn) {
        this.records.set(item, { ...record, withdrawn });
      }
    }
  }

  /** Released micro-levels of the items that letters hold. */
  shown(): Map<ItemId, number> {
    const found = new Map<ItemId, number>();
    for (const [item, { level, withdrawn }] of this.records) {
      if (level !== null && !withdrawn) found.set(item, level);
    }
    return found;
  }

  encode(): Bytes {
    const records = inOrder(this.records).map(([item, { level, digest, epoch, withdrawn }]) => [
      ...[item, level, digest, epoch, withdrawn],
    ]);
    const frozen = inOrder(new Map([...this.frozen].map((item) => [item, null])));
    return encode(
      content({
        version: VERSION,
        message: "memory",
        created: this.created,
        binding: this.binding,
        records,
        frozen: frozen.map(([item]) => item),
        arrivals: inOrder(this.arrivals),
        last_epoch: this.lastEpoch,
        letter: this.letter === null ? null : new TextDecoder().decode(this.letter),
        spoken: this.spoken,
        log: this.log,
        aliases: this.aliases,
        epoch_length: this.epochLength,
        closed: this.closed,
      }),
    );
  }

  static decode(data: Uint8Array): State {
    return decode(data, "memory", VERSION, (whole) => {
      const [created, binding, records, frozen, arrivals, lastEpoch, letter, ...later] = fieldsOf(
        whole,
        "memory",
        ...["created", "binding", "records", "frozen", "arrivals", "last_epoch", "letter"],
        ...["spoken", "log", "aliases", "epoch_length", "closed", "message", "version"],
      );
      const [spoken, log, aliases, length, closed] = later;
      require(letter === null || typeof letter === "string", "a letter is a text");
      return new State({
        created: small(created) as number,
        binding: binding as string,
        records: rowsOf(records, 5).map(([item, ...rest]) => [item as ItemId, recordOf(rest)]),
        frozen: listOf(frozen) as ItemId[],
        arrivals: rowsOf(arrivals, 2) as unknown as [ItemId, number][],
        lastEpoch: small(lastEpoch) as number,
        letter: letter === null ? null : utf8(letter),
        spoken: small(spoken) as number,
        log: rowsOf(log, 2) as unknown as LogEntry[],
        aliases: pairsOf(aliases) as unknown as Alias[],
        epochLength: small(length) as number,
        closed: closed as boolean,
      });
    });
  }

  private check(): void {
    require(isInteger(this.created, 0), "a memory has the second of its creation");
    require([this.lastEpoch, this.spoken].every((one) => isInteger(one, -1)), "an epoch is a whole number");
    require(typeof this.binding === "string", "a binding is a text");
    for (const [item, record] of this.records) {
      require(isId(item) && isRecord(record), "an item and what was decided about it");
    }
    for (const [item, second] of this.arrivals) {
      require(isId(item) && isInteger(second), "an item and the second of its arrival");
    }
    require([...this.frozen].every(isId), "an item that is frozen");
    const logged = this.log.every(([epoch, digest]) => isInteger(epoch, 0) && typeof digest === "string");
    require(logged, "a log of digests");
    require(this.aliases.flat().every(isId), "old ids and new ones");
    require(isInteger(this.epochLength, 0), "the length of an epoch");
    require(typeof this.closed === "boolean", "whether the memory is closed");
  }
}

/** By the bytes of the item's JSON. */
function inOrder<V>(rows: ReadonlyMap<ItemId, V>): [ItemId, V][] {
  const spelled = [...rows].map(([item, value]) => {
    return { key: new TextEncoder().encode(spelledItem(item)), row: [item, value] as [ItemId, V] };
  });
  return spelled.sort((one, other) => compare(one.key, other.key)).map(({ row }) => row);
}

/** The item's JSON. */
export function spelledItem(item: ItemId): string {
  return typeof item === "string" ? JSON.stringify(item) : String(item);
}

function isRecord({ level, digest, epoch, withdrawn }: Record): boolean {
  const leveled = level === null || isInteger(level);
  const flagged = typeof withdrawn === "boolean" && !(withdrawn && level === null);
  return leveled && typeof digest === "string" && isInteger(epoch, 0) && flagged;
}

function recordOf([level, digest, epoch, withdrawn]: Json[]): Record {
  return { level, digest, epoch, withdrawn } as unknown as Record;
}

function listOf(value: Json | undefined): Json[] {
  require(Array.isArray(value), "a memory holds lists");
  return value as Json[];
}

function rowsOf(value: Json | undefined, width: number): Json[][] {
  return pairsOf(value, width).map(([item, ...rest]) => [item, ...rest.map(small)] as Json[]);
}

function pairsOf(value: Json | undefined, width = 2): Json[][] {
  const rows = listOf(value);
  const fits = rows.every((row) => Array.isArray(row) && row.length === width);
  require(fits, "a memory holds rows of known length");
  return rows as Json[][];
}
