/** The public numbers of one attribute, the rule of a disclosure, and the checks of both. */

import { require } from "../message-error.js";
import { sortedFields, readFields, isInteger, isTable, LARGEST, type Json } from "./canonical.js";

export const MICRO = 1_000_000;
export const TRANSFORMS = [
  "none",
  "scheme",
  "coupling",
  "movie-average",
  "attribute-average",
] as const;
export type Transform = (typeof TRANSFORMS)[number];

/** How a device turns its owner's stars into a release. */
export interface Rule {
  /** How a level is changed before it is rounded. */
  readonly transform: Transform;
  /** Whether some rated items are held back at random. */
  readonly selection: boolean;
  /** Whether a released level is rounded to a whole one at random. */
  readonly rounding: boolean;
  /** Chance that a rating is obfuscated and not released as it is, in parts per million. */
  readonly mix: number;
}

/**
 * One attribute's public numbers; tables are indexed [value][item].
 *
 * offsets    micro-levels to subtract for a person with this value
 * keep       chance that a rated item is shown, in parts per million; an item with 0 for all values is
 *            never decided
 * means      average level that people with this value give, in micro-levels; empty unless the rule's
 *            transform is "attribute-average"
 * coupling   [value][item][level][released level]: cumulative chances in parts per million; empty
 *            unless the rule's transform is "coupling"
 */
export interface AttributeTable {
  readonly name: string;
  readonly values: readonly string[];
  readonly offsets: readonly (readonly number[])[];
  readonly keep: readonly (readonly number[])[];
  readonly means: readonly (readonly number[])[];
  readonly coupling: readonly (readonly (readonly (readonly number[])[])[])[];
}

export function ruleToWire(rule: Rule): ReadonlyMap<string, Json> {
  const { transform, selection, rounding, mix } = rule;
  return sortedFields({ transform, selection, rounding, mix });
}

export function parseRule(value: Json | undefined): Rule {
  const names = ["transform", "selection", "rounding", "mix"];
  const [transform, selection, rounding, mix] = readFields(value, "rule", ...names);
  const rule = { transform, selection, rounding, mix: toNumbers(mix as Json) } as Rule;
  checkRule(rule);
  return rule;
}

export function checkRule(rule: Rule): void {
  require(TRANSFORMS.includes(rule.transform), "a rule names a transform");
  const hasSwitches = typeof rule.selection === "boolean" && typeof rule.rounding === "boolean";
  require(hasSwitches, "a rule's switches are on or off");
  require(isInteger(rule.mix, 0, MICRO), "a rule's mix is a chance in parts per million");
}

export function parseTable(value: Json): AttributeTable {
  const names = ["name", "values", "offsets", "keep", "means", "coupling"];
  const [name, values, ...tables] = readFields(value, "attribute", ...names);
  require([values, ...tables].every(Array.isArray), "an attribute has several values and tables");
  const [offsets, keep, means, coupling] = tables.map((table) => toNumbers(table));
  return { name, values, offsets, keep, means, coupling } as unknown as AttributeTable;
}

/** What determines the shapes of tables: the numbers of items and of whole levels, and the rule. */
export interface TableShape {
  readonly items: number;
  readonly levels: number;
  readonly rule: Rule;
}

/** Throw a MessageError unless the tables have one entry for each value and item, in bounds. */
export function checkTable(table: AttributeTable, { items, levels, rule }: TableShape): void {
  const values = table.values.length;
  const areTexts = [table.name, ...table.values].every((text) => typeof text === "string");
  const hasValues = areTexts && values > 1 && new Set(table.values).size === values;
  require(hasValues, "an attribute has several values");
  const meansShape = rule.transform === "attribute-average" ? [values, items] : [0];
  const couplingShape = rule.transform === "coupling" ? [values, items, levels, levels] : [0];
  for (const [name, numbers, shape, lowest, highest] of [
    ["offsets", table.offsets, [values, items], -LARGEST, LARGEST],
    ["chances", table.keep, [values, items], 0, MICRO],
    ["means", table.means, meansShape, -LARGEST, LARGEST],
    ["coupling", table.coupling, couplingShape, 0, MICRO],
  ] as const) {
    require(isTable(numbers, shape, lowest, highest), `wrong ${name}`);
  }
  for (const row of table.coupling.flat(2)) {
    require(isRising(row) && row.at(-1) === MICRO, "a coupling adds up to 1");
  }
}

/** Convert 2^53 and -2^53, which are read as bigints, to numbers, which hold them exactly. */
export function toNumbers(value: Json | undefined): unknown {
  if (Array.isArray(value)) return value.map(toNumbers);
  if (typeof value !== "bigint") return value;
  return value === BigInt(LARGEST) || value === -BigInt(LARGEST) ? Number(value) : value;
}

/** Say whether no entry of a row is below the one before it. */
function isRising(row: readonly number[]): boolean {
  return row.every((entry, index) => index === 0 || (row[index - 1] as number) <= entry);
}
