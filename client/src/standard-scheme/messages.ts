/**
 * All messages between a device and the recommender in the standard scheme.
 *
 * Disclosure   recommender -> device   public numbers about items, the same for everybody
 * Release      device -> recommender   obfuscated stars of the items the device decided to show
 * Scores       recommender -> device   predicted level and preference of each item
 *
 * Mirrors disclosure.py and messages.py in src/tacit/designs/standard_scheme, which say what the
 * numbers mean. A message is checked when it is made or read: fields that do not fit together throw
 * MessageError.
 */

import { toHex, type Bytes } from "../bytes.js";
import { isItemId, type ItemId } from "../items.js";
import { require } from "../message-error.js";
import { sha256 } from "../randomness.js";
import {
  sortedFields,
  decode,
  encode,
  readFields,
  isInteger,
  isTable,
  LARGEST,
  Real,
  type Json,
} from "./canonical.js";
import {
  checkRule,
  checkTable,
  parseRule,
  ruleToWire,
  toNumbers,
  parseTable,
  type AttributeTable,
  type Rule,
} from "./tables.js";

export const VERSION = 2;
/** Seconds of the shortest time between two letters. */
export const DAY = 86_400;
/** Seconds of the default time between two letters. */
export const WEEK = 7 * DAY;
/** Levels from the lowest to the highest star of a continuous scale. */
export const CONTINUOUS_LEVELS = 4;

/** A number of a scale: an integer or a Real, as the message writes it. */
export type ScaleNumber = number | bigint | Real;

/** The ids of an item that was renamed, merged or split. */
export type Alias = readonly [oldId: ItemId, newId: ItemId];

/** Fields of a disclosure. */
export interface DisclosureFields {
  readonly rule: Rule;
  /** The lowest star. */
  readonly minimum: ScaleNumber;
  /** Stars in one level. */
  readonly step: ScaleNumber;
  /** Number of whole levels; 0 on a continuous scale, which is CONTINUOUS_LEVELS long. */
  readonly levels: number;
  readonly items: readonly ItemId[];
  /** Seconds of an epoch of the calendar. */
  readonly epochLength: number;
  /** Renamed ids. Each old id comes once and is none of `items`; no new id is also an old one. */
  readonly aliases: readonly Alias[];
  /** Average level of each item in micro-levels; empty unless the rule sends it. */
  readonly itemMeans: readonly number[];
  readonly attributes: readonly AttributeTable[];
}

/** The recommender's public numbers: everything that a device needs. */
export class Disclosure implements DisclosureFields {
  readonly rule: Rule;
  readonly minimum: ScaleNumber;
  readonly step: ScaleNumber;
  readonly levels: number;
  readonly items: readonly ItemId[];
  readonly epochLength: number;
  readonly aliases: readonly Alias[];
  readonly itemMeans: readonly number[];
  readonly attributes: readonly AttributeTable[];
  /** Position of each item in `items`. */
  readonly itemNumber: ReadonlyMap<ItemId, number>;
  private digestPromise: Promise<string> | undefined;

  constructor(fields: DisclosureFields) {
    checkRule(fields.rule);
    for (const number of [fields.minimum, fields.step]) {
      require(Number.isFinite(toNumber(number)), "a scale has two numbers");
    }
    require(toNumber(fields.step) > 0 && isInteger(fields.levels, 0), "a scale has levels");
    require(fields.levels !== 1, "a scale has two levels or none");
    const items = fields.items.length;
    const areDistinct = fields.items.every(isItemId) && new Set(fields.items).size === items;
    require(areDistinct, "items are integers or strings, each once");
    require(isInteger(fields.epochLength, 1), "an epoch has a length in whole seconds");
    checkAliases(fields.aliases, fields.items);
    const meansShape = fields.rule.transform === "movie-average" ? [items] : [0];
    const hasMeans = isTable(fields.itemMeans, meansShape, -LARGEST, LARGEST);
    require(hasMeans, "an item has an average where the rule needs it");
    const names = fields.attributes.map((table) => table.name);
    const haveNames = names.length > 0 && new Set(names).size === names.length;
    require(haveNames, "a disclosure names attributes, each once");
    const hasCoupling = fields.rule.transform === "coupling";
    require(fields.levels > 0 || !hasCoupling, "no levels to couple");
    for (const table of fields.attributes) {
      checkTable(table, { items, levels: fields.levels, rule: fields.rule });
    }
    this.rule = fields.rule;
    this.minimum = fields.minimum;
    this.step = fields.step;
    this.levels = fields.levels;
    this.items = fields.items;
    this.epochLength = fields.epochLength;
    this.aliases = fields.aliases;
    this.itemMeans = fields.itemMeans;
    this.attributes = fields.attributes;
    this.itemNumber = new Map(fields.items.map((item, number) => [item, number]));
  }

  encode(): Bytes {
    return encode(
      sortedFields({
        version: VERSION,
        message: "disclosure",
        rule: ruleToWire(this.rule),
        scale: scaleToWire(this),
        items: this.items,
        epoch_length: this.epochLength,
        aliases: this.aliases,
        item_means: this.itemMeans,
        attributes: this.attributes.map((table) => sortedFields({ ...table })),
      }),
    );
  }

  static decode(data: Uint8Array): Disclosure {
    return decode(data, "disclosure", VERSION, (whole) => {
      const [rule, scale, items, length, aliases, itemMeans, attributes] = readFields(
        whole,
        "disclosure",
        ...["rule", "scale", "items", "epoch_length", "aliases", "item_means", "attributes"],
        ...["message", "version"],
      );
      const [minimum, step, levels] = readFields(scale, "scale", "minimum", "step", "levels");
      require(isScaleNumber(minimum) && isScaleNumber(step), "a scale has two numbers");
      const lists = [items, aliases, itemMeans, attributes].every(Array.isArray);
      require(lists, "a disclosure lists items, aliases, averages and attributes");
      return new Disclosure({
        rule: parseRule(rule),
        minimum,
        step,
        levels: toNumbers(levels) as number,
        items: items as ItemId[],
        epochLength: toNumbers(length) as number,
        aliases: aliases as unknown as Alias[],
        itemMeans: toNumbers(itemMeans) as number[],
        attributes: (attributes as Json[]).map(parseTable),
      });
    });
  }

  /** Compute the first 16 hex digits of its SHA-256, which name this disclosure in releases. */
  digest(): Promise<string> {
    this.digestPromise ??= sha256(this.encode()).then((digest) => toHex(digest).slice(0, 16));
    return this.digestPromise;
  }
}

/** An item with its released micro-levels. */
export type Pair = readonly [item: ItemId, level: number];

/** An item, its predicted micro-levels, and its preference in thousandths, by which lists are ranked. */
export type Score = readonly [item: ItemId, level: number, preference: number];

/**
 * A letter, which is all that leaves the device: pairs of an item and its released micro-levels, in
 * the disclosure's order.
 *
 * It has no user id, no attribute, no number of items that were held back, and no exact time.
 * disclosure: digest of the disclosure. epoch: the latest epoch that had ended when it was made.
 */
export class Release {
  constructor(
    readonly disclosure: string,
    readonly epoch: number,
    readonly ratings: readonly Pair[],
  ) {
    require(isInteger(epoch, 0), "an epoch is a whole number from 0 on");
    checkRows(disclosure, ratings, 2);
  }

  encode(): Bytes {
    const { disclosure, epoch, ratings } = this;
    return encode(
      sortedFields({ version: VERSION, message: "release", disclosure, epoch, ratings }),
    );
  }

  static decode(data: Uint8Array): Release {
    return decode(data, "release", VERSION, (whole) => {
      const names = ["disclosure", "epoch", "ratings", "message", "version"];
      const [disclosure, epoch, ratings] = readFields(whole, "release", ...names);
      const rows = parseRows(ratings) as unknown as Pair[];
      return new Release(disclosure as string, toNumbers(epoch) as number, rows);
    });
  }
}

/** Predicted level of each item, without the attribute's effect, and its preference. */
export class Scores {
  constructor(
    readonly disclosure: string,
    readonly scores: readonly Score[],
  ) {
    checkRows(disclosure, scores, 3);
  }

  encode(): Bytes {
    const { disclosure, scores } = this;
    return encode(sortedFields({ version: VERSION, message: "scores", disclosure, scores }));
  }

  static decode(data: Uint8Array): Scores {
    return decode(data, "scores", VERSION, (whole) => {
      const names = ["disclosure", "scores", "message", "version"];
      const [disclosure, scores] = readFields(whole, "list of scores", ...names);
      return new Scores(disclosure as string, parseRows(scores) as unknown as Score[]);
    });
  }
}

/** Convert a number of a scale to the nearest number of JavaScript. */
export function toNumber(value: ScaleNumber): number {
  return value instanceof Real ? value.value : Number(value);
}

export function scaleToWire({
  minimum,
  step,
  levels,
}: DisclosureFields): ReadonlyMap<string, Json> {
  return sortedFields({ minimum, step, levels });
}

/** Throw a MessageError unless aliases are pairs of ids, and no old id is used for anything else. */
function checkAliases(aliases: readonly Alias[], items: readonly ItemId[]): void {
  const arePairs = aliases.every(
    (pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isItemId),
  );
  require(arePairs, "an alias is an old id and a new one");
  const oldIds = new Set(aliases.map(([oldId]) => oldId));
  require(oldIds.size === aliases.length, "an old id has one new id");
  const usedIds = [...items, ...aliases.map(([, newId]) => newId)];
  require(!usedIds.some((id) => oldIds.has(id)), "an old id is never used again");
}

/** Throw a MessageError unless rows are different items, each with `width` - 1 whole numbers. */
function checkRows(disclosure: string, rows: readonly (readonly unknown[])[], width: number): void {
  const isList = typeof disclosure === "string" && Array.isArray(rows);
  require(isList, "a list for a named disclosure");
  for (const row of rows) {
    require(Array.isArray(row) && row.length === width, "an item and its numbers");
    const areIntegers = row.slice(1).every((entry) => isInteger(entry));
    require(isItemId(row[0]) && areIntegers, "an item and its numbers, all whole");
  }
  require(new Set(rows.map(([item]) => item)).size === rows.length, "an item comes once");
}

/** Return rows of an item and numbers. MessageError for anything but a list of lists. */
function parseRows(value: Json | undefined): Json[][] {
  require(Array.isArray(value) && value.every(Array.isArray), "a list for a named disclosure");
  return (value as Json[][]).map(
    ([item, ...numbers]) => [item, ...numbers.map(toNumbers)] as Json[],
  );
}

function isScaleNumber(value: Json | undefined): value is ScaleNumber {
  return typeof value === "number" || typeof value === "bigint" || value instanceof Real;
}
