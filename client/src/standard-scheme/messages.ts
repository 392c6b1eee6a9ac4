/**
 * What crosses between a device and the recommender in the standard scheme, and nothing else.
 *
 * Disclosure   recommender -> device   public numbers about items, the same for everybody
 * Release      device -> recommender   obfuscated stars of the items the device chose to show
 * Scores       recommender -> device   predicted levels, without the effect of the hidden attribute
 *
 * Mirrors src/tacit/recommenders/standard_scheme/messages.py, which says what the numbers mean. A
 * message is checked when it is made: what does not hold together throws MessageError.
 */

import { hex, type Bytes } from "../bytes.js";
import { isId, type ItemId } from "../items.js";
import { require } from "../malformed.js";
import { sha256 } from "../randomness.js";
import {
  content,
  decode,
  encode,
  fieldsOf,
  isInteger,
  isTable,
  LARGEST,
  Real,
  type Json,
} from "./canonical.js";

export const MICRO = 1_000_000;
export const VERSION = 1;
/** A continuous scale is this many levels long. */
export const CONTINUOUS_LEVELS = 4;
export const TRANSFORMS = [
  "none",
  "scheme",
  "coupling",
  "movie-average",
  "attribute-average",
] as const;
export type Transform = (typeof TRANSFORMS)[number];

/**
 * How a device turns its owner's stars into a release.
 *
 * mix: parts per million, the chance that a rating is obfuscated and not shown as it is.
 */
export interface Rule {
  readonly transform: Transform;
  readonly selection: boolean;
  readonly rounding: boolean;
  readonly mix: number;
}

/**
 * One attribute's public numbers; tables are indexed [value][item].
 *
 * offsets    micro-levels to subtract for a person with this value (they sum to 0 over values)
 * bounds     [value][stratum - 1]: fewest rated items of a person in stratum 1, 2, ...
 * keep       [value][stratum][item]: parts per million, chance that a rated item is shown
 * means      micro-levels: average level that such people give
 * coupling   [value][item][level]: cumulative parts per million over the released levels, or empty
 */
export interface AttributeTable {
  readonly name: string;
  readonly values: readonly string[];
  readonly offsets: readonly (readonly number[])[];
  readonly bounds: readonly (readonly number[])[];
  readonly keep: readonly (readonly (readonly number[])[])[];
  readonly means: readonly (readonly number[])[];
  readonly coupling: readonly (readonly (readonly (readonly number[])[])[])[];
}

/** The lowest star, and the stars in one level: an integer or a Real, as they were spelled. */
export type ScaleNumber = number | bigint | Real;

export interface DisclosureFields {
  readonly rule: Rule;
  readonly minimum: ScaleNumber;
  readonly step: ScaleNumber;
  /** How many whole levels; 0 on a continuous scale, which is CONTINUOUS_LEVELS long. */
  readonly levels: number;
  readonly items: readonly ItemId[];
  /** Micro-levels. */
  readonly itemMeans: readonly number[];
  readonly attributes: readonly AttributeTable[];
}

/** Everything a device needs. */
export class Disclosure implements DisclosureFields {
  readonly rule: Rule;
  readonly minimum: ScaleNumber;
  readonly step: ScaleNumber;
  readonly levels: number;
  readonly items: readonly ItemId[];
  readonly itemMeans: readonly number[];
  readonly attributes: readonly AttributeTable[];
  readonly itemNumber: ReadonlyMap<ItemId, number>;
  private named: Promise<string> | undefined;

  constructor(fields: DisclosureFields) {
    checkRule(fields.rule);
    for (const number of [fields.minimum, fields.step]) {
      require(Number.isFinite(numberOf(number)), "a scale has two numbers");
    }
    require(numberOf(fields.step) > 0 && isInteger(fields.levels, 0), "a scale has levels");
    require(fields.levels !== 1, "a scale has two levels or none");
    const items = fields.items.length;
    const distinct = fields.items.every(isId) && new Set(fields.items).size === items;
    require(distinct, "items are integers or strings, each once");
    const averages = isTable(fields.itemMeans, [items], -LARGEST, LARGEST);
    require(averages, "an item has an average");
    const names = fields.attributes.map((table) => table.name);
    const once = names.length > 0 && new Set(names).size === names.length;
    require(once, "a disclosure names attributes, each once");
    const coupled = fields.rule.transform === "coupling";
    require(fields.levels > 0 || !coupled, "no levels to couple");
    for (const table of fields.attributes) {
      require(table.coupling.length > 0 || !coupled, "a coupling is missing");
      checkTable(table, items, fields.levels);
    }
    this.rule = fields.rule;
    this.minimum = fields.minimum;
    this.step = fields.step;
    this.levels = fields.levels;
    this.items = fields.items;
    this.itemMeans = fields.itemMeans;
    this.attributes = fields.attributes;
    this.itemNumber = new Map(fields.items.map((item, number) => [item, number]));
  }

  encode(): Bytes {
    return encode(
      content({
        version: VERSION,
        message: "disclosure",
        rule: ruleToWire(this.rule),
        scale: scaleToWire(this),
        items: this.items,
        item_means: this.itemMeans,
        attributes: this.attributes.map((table) => content({ ...table })),
      }),
    );
  }

  static decode(data: Uint8Array): Disclosure {
    return decode(data, "disclosure", VERSION, (whole) => {
      const kind = "disclosure";
      const names = ["rule", "scale", "items", "item_means", "attributes", "message", "version"];
      const [rule, scale, items, itemMeans, attributes] = fieldsOf(whole, kind, ...names);
      const [minimum, step, levels] = fieldsOf(scale, "scale", "minimum", "step", "levels");
      require(isScaleNumber(minimum) && isScaleNumber(step), "a scale has two numbers");
      const lists = Array.isArray(items) && Array.isArray(itemMeans) && Array.isArray(attributes);
      require(lists, "a disclosure lists items, their averages and attributes");
      return new Disclosure({
        rule: ruleOf(rule),
        minimum,
        step,
        levels: small(levels) as number,
        items: items as ItemId[],
        itemMeans: small(itemMeans) as number[],
        attributes: (attributes as Json[]).map(tableOf),
      });
    });
  }

  /** Names this disclosure in releases: first 16 hex digits of its SHA-256. */
  digest(): Promise<string> {
    this.named ??= sha256(this.encode()).then((digest) => hex(digest).slice(0, 16));
    return this.named;
  }
}

/** An item with micro-levels: released ones, or a score. */
export type Pair = readonly [item: ItemId, level: number];

/**
 * What left the device: (item, released micro-levels), in the disclosure's item order.
 *
 * No user id, no attribute, no count of what was held back, no time.
 */
export class Release {
  constructor(
    readonly disclosure: string,
    readonly ratings: readonly Pair[],
  ) {
    checkPairs(disclosure, ratings);
  }

  encode(): Bytes {
    const { disclosure, ratings } = this;
    return encode(content({ version: VERSION, message: "release", disclosure, ratings }));
  }

  static decode(data: Uint8Array): Release {
    return decode(data, "release", VERSION, (whole) => {
      return new Release(...pairsOf(whole, "ratings", "release"));
    });
  }
}

/** Predicted level of each item in micro-levels, before the attribute's own effect. */
export class Scores {
  constructor(
    readonly disclosure: string,
    readonly scores: readonly Pair[],
  ) {
    checkPairs(disclosure, scores);
  }

  encode(): Bytes {
    const { disclosure, scores } = this;
    return encode(content({ version: VERSION, message: "scores", disclosure, scores }));
  }

  static decode(data: Uint8Array): Scores {
    return decode(data, "scores", VERSION, (whole) => {
      return new Scores(...pairsOf(whole, "scores", "list of scores"));
    });
  }
}

/** The nearest number to one of a scale's two. */
export function numberOf(value: ScaleNumber): number {
  return value instanceof Real ? value.value : Number(value);
}

export function ruleToWire(rule: Rule): ReadonlyMap<string, Json> {
  const { transform, selection, rounding, mix } = rule;
  return content({ transform, selection, rounding, mix });
}

export function scaleToWire({ minimum, step, levels }: DisclosureFields): ReadonlyMap<string, Json> {
  return content({ minimum, step, levels });
}

function ruleOf(value: Json | undefined): Rule {
  const names = ["transform", "selection", "rounding", "mix"];
  const [transform, selection, rounding, mix] = fieldsOf(value, "rule", ...names);
  const rule = { transform, selection, rounding, mix: small(mix as Json) } as Rule;
  checkRule(rule);
  return rule;
}

function checkRule(rule: Rule): void {
  require(TRANSFORMS.includes(rule.transform), "a rule names a transform");
  const switches = typeof rule.selection === "boolean" && typeof rule.rounding === "boolean";
  require(switches, "a rule's switches are on or off");
  require(isInteger(rule.mix, 0, MICRO), "a rule's mix is a chance in parts per million");
}

function tableOf(value: Json): AttributeTable {
  const names = ["name", "values", "offsets", "bounds", "keep", "means", "coupling"];
  const [name, values, ...tables] = fieldsOf(value, "attribute", ...names);
  require([values, ...tables].every(Array.isArray), "an attribute has several values and tables");
  const [offsets, bounds, keep, means, coupling] = tables.map((table) => small(table));
  return { name, values, offsets, bounds, keep, means, coupling } as unknown as AttributeTable;
}

/** MessageError unless the tables have one entry for each value and item, in bounds. */
function checkTable(table: AttributeTable, items: number, levels: number): void {
  const values = table.values.length;
  const texts = [table.name, ...table.values].every((text) => typeof text === "string");
  const several = texts && values > 1 && new Set(table.values).size === values;
  require(several, "an attribute has several values");
  const rows: readonly unknown[] = table.bounds;
  require(rows.every(Array.isArray), "wrong bounds");
  const strata = 1 + (table.bounds[0]?.length ?? 0);
  const coupled = table.coupling.length > 0 ? [values, items, levels, levels] : [0];
  for (const [what, numbers, shape, lowest, highest] of [
    ["offsets", table.offsets, [values, items], -LARGEST, LARGEST],
    ["means", table.means, [values, items], -LARGEST, LARGEST],
    ["bounds", table.bounds, [values, strata - 1], 0, LARGEST],
    ["chances", table.keep, [values, strata, items], 0, MICRO],
    ["coupling", table.coupling, coupled, 0, MICRO],
  ] as const) {
    require(isTable(numbers, shape, lowest, highest), `wrong ${what}`);
  }
  require(table.bounds.every(goesUp), "bounds go up");
  for (const row of table.coupling.flat(2)) {
    require(goesUp(row) && row.at(-1) === MICRO, "a coupling adds up to 1");
  }
}

function checkPairs(disclosure: string, pairs: readonly Pair[]): void {
  const listed = typeof disclosure === "string" && Array.isArray(pairs);
  require(listed, "a list for a named disclosure");
  for (const pair of pairs) {
    require(Array.isArray(pair) && pair.length === 2, "an item and its level");
    require(isId(pair[0]) && isInteger(pair[1]), "an item and its level, both whole");
  }
  require(new Set(pairs.map(([item]) => item)).size === pairs.length, "an item comes once");
}

/** The disclosure and the pairs of a message that holds nothing else; field: what they are called. */
function pairsOf(whole: Json, field: string, kind: string): [disclosure: string, pairs: Pair[]] {
  const names = ["disclosure", field, "message", "version"];
  const [disclosure, listed] = fieldsOf(whole, kind, ...names);
  require(Array.isArray(listed), "a list for a named disclosure");
  const pairs = (listed as Json[]).map((pair) => {
    const two = Array.isArray(pair) && pair.length === 2;
    require(two, "an item and its level");
    return [pair[0], small(pair[1] as Json)] as unknown as Pair;
  });
  return [disclosure as string, pairs];
}

function isScaleNumber(value: Json | undefined): value is ScaleNumber {
  return typeof value === "number" || typeof value === "bigint" || value instanceof Real;
}

function goesUp(row: readonly number[]): boolean {
  return row.every((entry, at) => at === 0 || (row[at - 1] as number) <= entry);
}

/** Quantities as plain numbers: 2^53 is read as a bigint and is still exact as a number. */
function small(value: Json | undefined): unknown {
  if (Array.isArray(value)) return value.map(small);
  if (typeof value !== "bigint") return value;
  return value === BigInt(LARGEST) || value === -BigInt(LARGEST) ? Number(value) : value;
}
