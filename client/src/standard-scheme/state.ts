/**
 * The memory of a device: one record for each item that it decided. It stays where the stars are.
 *
 * It holds no true star and no draw, because neither is used again. It is encoded like a message but
 * never sent. A changed state has to be stored durably before a letter leaves.
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

/** The decision about one item, which holds for ever. */
export interface Record {
  /** The released micro-levels; null if the item is held back. */
  readonly level: number | null;
  /** Digest of the disclosure by which it was decided. */
  readonly digest: string;
  /** Label of the epoch in whose letter it was decided. */
  readonly epoch: number;
  /** Whether the owner deleted the rating; then no letter holds the item until it is rated again. */
  readonly withdrawn: boolean;
}

/** A calendar epoch, and the digest of the disclosure that is followed from that epoch on. */
export type LogEntry = readonly [epoch: number, digest: string];

/** The values of each attribute, as a disclosure lists them. */
export type ListedValues = readonly (readonly [name: string, values: readonly string[]])[];

/** Fields of a state; a field that is left out has its value in a new account. */
export interface StateFields {
  /** Second of the account's creation. */
  readonly created: number;
  /** Digest of the rule and the values that the records were made under; "" at first. */
  readonly binding?: string;
  readonly records?: Iterable<readonly [ItemId, Record]>;
  /** Items that are never decided nor sent, because another memory may have decided them. */
  readonly frozen?: Iterable<ItemId>;
  /** Undecided items: the second at which each was first seen rated. */
  readonly arrivals?: Iterable<readonly [ItemId, number]>;
  /** The latest epoch for which no further letter is made; -1 at first. */
  readonly lastEpoch?: number;
  /** The bytes of the last letter; null if there is none. */
  readonly letter?: Bytes | null;
  /** The latest epoch for which a letter was made, -1 at first; also stored beside the secret. */
  readonly lastLetterEpoch?: number;
  /** The service's log as far as this device has seen it. */
  readonly log?: readonly LogEntry[];
  /** The aliases of the disclosure that was followed last. */
  readonly aliases?: readonly Alias[];
  /** Epoch length of the first disclosure that was followed, in seconds; 0 before. */
  readonly epochLength?: number;
  /** Whether no item is decided any more, since another memory of this account exists. */
  readonly closed?: boolean;
  /**
   * Whether a letter showed an item, or may have; then items are decided on the first day only, and
   * not even then after an older copy of the memory was restored.
   */
  readonly showed?: boolean;
  /**
   * Ids of ratings that are ignored, because their item was merged with a shown one: no letter
   * reveals whether they exist.
   */
  readonly merged?: Iterable<ItemId>;
  /** Values that the first disclosure listed with which a device used this memory; empty before. */
  readonly values?: ListedValues;
}

/** The memory of an account on one device. Its fields are explained in `StateFields`. */
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
  values: ListedValues;

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
    this.values = fields.values ?? [];
    this.check();
  }

  /** Say whether an item was certainly never decided: it has no record and is not frozen. */
  isUndecided(item: ItemId): boolean {
    return !this.records.has(item) && !this.frozen.has(item);
  }

  /**
   * Say whether the account decides items in the epoch with this label.
   *
   * It does on its first day, and later until a letter shows an item. After that, letters show nothing
   * new, whatever is deleted, renamed or lost. So they never reveal in which order items were rated. A
   * memory whose letter is lost decides nothing on the first day either: what that letter decided, and
   * the owner deleted since, would be decided again.
   */
  mayDecide(epoch: number): boolean {
    const isLetterLost = this.letter === null && this.lastLetterEpoch >= 0;
    const isFirstDay = epoch <= LAST_EPOCH_OF_FIRST_DAY;
    return !this.showed || (isFirstDay && !isLetterLost);
  }

  /** Rename items by the aliases of the last disclosure that was followed. */
  renameItems(items: Iterable<ItemId>): Set<ItemId> {
    const newIds = new Map(this.aliases);
    return new Set([...items].map((item) => newIds.get(item) ?? item));
  }

  /**
   * Throw a Refusal if new aliases drop or contradict an alias that was followed before. Otherwise the
   * item of that alias would be decided a second time.
   */
  checkNames(aliases: readonly Alias[]): void {
    const newIds = new Map(aliases);
    const isContradicted = ([oldId, newId]: Alias) =>
      newIds.get(oldId) !== (newIds.get(newId) ?? newId);
    if (this.aliases.some(isContradicted)) {
      throw new Refusal("the disclosure's names of items contradict those that it gave before");
    }
  }

  /**
   * Follow new aliases: move what is known about an old id to its new one. Refusal as by `checkNames`.
   *
   * Letters go on showing what they showed, and nothing else: see `moveItem`.
   */
  followNames(aliases: readonly Alias[]): void {
    this.checkNames(aliases);
    const followed = new Map(this.aliases);
    for (const [oldId, newId] of aliases) {
      if (followed.get(oldId) !== newId) this.moveItem(oldId, newId);
    }
    for (const item of this.records.keys()) {
      this.frozen.delete(item);
      this.arrivals.delete(item); // otherwise a late rating under the new id would hide the item
    }
    this.aliases = aliases;
  }

  /**
   * Move what is known about an old id to its new one.
   *
   * If both ids have a record, one of them is kept: the new id's if it is shown, else the old id's if
   * that is shown, else the new id's. A withdrawn record becomes one that is held back.
   */
  private moveItem(oldId: ItemId, newId: ItemId): void {
    if (this.frozen.delete(oldId)) this.frozen.add(newId);
    const arrival = this.arrivals.get(oldId);
    if (arrival !== undefined) {
      this.arrivals.delete(oldId);
      this.arrivals.set(newId, Math.min(arrival, this.arrivals.get(newId) ?? arrival));
    }
    const candidates: Record[] = [];
    for (const record of [this.records.get(newId), this.records.get(oldId)]) {
      if (record === undefined) continue;
      candidates.push(record.withdrawn ? { ...record, level: null, withdrawn: false } : record);
    }
    this.records.delete(oldId);
    const chosen = candidates.find(({ level }) => level !== null) ?? candidates[0];
    if (chosen !== undefined) this.records.set(newId, chosen);
  }

  /** Note for ever that a letter shows an item, if one is shown now. */
  noteShown(): void {
    this.showed ||= this.shownLevels().size > 0;
  }

  /**
   * Ignore ratings of items that are merged with a shown item which is rated itself. Otherwise they
   * would keep that item in the letters after its own rating is deleted.
   *
   * @param given ids of all ratings that count, before they are renamed.
   * @param aliases the aliases that are followed from now on.
   */
  setMergedAside(given: readonly ItemId[], aliases: readonly Alias[]): void {
    const followed = new Map(this.aliases);
    const next = new Map(aliases);
    const shown = this.shownLevels();
    const nextIdsOfShown = new Set<ItemId>();
    for (const item of given) {
      const id = followed.get(item) ?? item;
      if (shown.has(id)) nextIdsOfShown.add(next.get(id) ?? id);
    }
    for (const item of given) {
      const id = followed.get(item) ?? item;
      if (!shown.has(id) && nextIdsOfShown.has(next.get(id) ?? id)) this.merged.add(item);
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

  /** Return the released micro-levels of the items that letters hold. */
  shownLevels(): Map<ItemId, number> {
    const levels = new Map<ItemId, number>();
    for (const [item, { level, withdrawn }] of this.records) {
      if (level !== null && !withdrawn) levels.set(item, level);
    }
    return levels;
  }

  encode(): Bytes {
    const records = sortByJson(this.records).map(([item, record]) => [
      item,
      record.level,
      record.digest,
      record.epoch,
      record.withdrawn,
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
        // A memory that no device has used yet is written without them.
        ...(this.values.length > 0 && { values: this.values }),
      }),
    );
  }

  static decode(data: Uint8Array): State {
    return decode(data, "memory", VERSION, (whole) => {
      const hasValues = whole.has("values");
      const [created, binding, records, frozen, arrivals, lastEpoch, letter, ...later] = readFields(
        whole,
        "memory",
        ...["created", "binding", "records", "frozen", "arrivals", "last_epoch", "letter"],
        ...["spoken", "log", "aliases", "epoch_length", "closed", "showed", "merged"],
        ...["message", "version", ...(hasValues ? ["values"] : [])],
      );
      const [spoken, log, aliases, length, closed, showed, merged, ...others] = later;
      const values = hasValues ? others.at(-1) : undefined;
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
        values: values === undefined ? [] : (requireRows(values, 2) as unknown as ListedValues),
      });
    });
  }

  /** Throw a MessageError unless all fields have valid types and values. */
  private check(): void {
    require(isInteger(this.created, 0), "a memory has the second of its creation");
    const areEpochs = isInteger(this.lastEpoch, -1) && isInteger(this.lastLetterEpoch, -1);
    require(areEpochs, "an epoch is a whole number");
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
    const areListed = this.values.every(
      ([name, values]) =>
        typeof name === "string" &&
        Array.isArray(values) &&
        values.every((value) => typeof value === "string"),
    );
    require(areListed, "an attribute and its listed values");
  }
}

/** Sort the rows of a map by the bytes of the item's JSON. */
function sortByJson<V>(rows: ReadonlyMap<ItemId, V>): [ItemId, V][] {
  const withKeys = [...rows].map(([item, value]) => {
    return { key: new TextEncoder().encode(itemJson(item)), row: [item, value] as [ItemId, V] };
  });
  withKeys.sort((left, right) => compareBytes(left.key, right.key));
  return withKeys.map(({ row }) => row);
}

/** Sort items by the bytes of their JSON. */
function sortItems(items: Iterable<ItemId>): ItemId[] {
  return sortByJson(new Map([...items].map((item) => [item, null]))).map(([item]) => item);
}

/** Write an item's id as JSON. A text that UTF-8 cannot encode is written with escapes. */
export function itemJson(item: ItemId): string {
  return typeof item === "string" ? JSON.stringify(item) : String(item);
}

/** Say whether a record is valid; one that is held back is never withdrawn. */
function isRecord({ level, digest, epoch, withdrawn }: Record): boolean {
  const hasLevel = level === null || isInteger(level);
  const isHeldBackAndWithdrawn = withdrawn && level === null;
  const hasFlag = typeof withdrawn === "boolean" && !isHeldBackAndWithdrawn;
  return hasLevel && typeof digest === "string" && isInteger(epoch, 0) && hasFlag;
}

function parseRecord([level, digest, epoch, withdrawn]: Json[]): Record {
  return { level, digest, epoch, withdrawn } as unknown as Record;
}

function requireList(value: Json | undefined): Json[] {
  require(Array.isArray(value), "a memory holds lists");
  return value as Json[];
}

/** Return rows of an item and numbers. MessageError for anything but lists of `width` entries. */
function parseRows(value: Json | undefined, width: number): Json[][] {
  return requireRows(value, width).map(
    ([item, ...rest]) => [item, ...rest.map(toNumbers)] as Json[],
  );
}

/** Return a list of lists of `width` entries. MessageError for anything else. */
function requireRows(value: Json | undefined, width = 2): Json[][] {
  const rows = requireList(value);
  const fits = rows.every((row) => Array.isArray(row) && row.length === width);
  require(fits, "a memory holds rows of known length");
  return rows as Json[][];
}
