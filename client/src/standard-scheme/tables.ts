/** One attribute's public numbers, the rule they serve, and the checks that they hold together. */

import { require } from "../malformed.js";
import { content, fieldsOf, isInteger, isTable, LARGEST, type Json } from "./canonical.js";

export const MICRO = 1_000_000;
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
 * keep       parts per million: chance that a rated item is shown; 0 for all values: never decided
 * means      micro-levels: average level that such people give; empty unless the rule sends it
 * coupling   [value][item][level]: cumulative parts per million over the released levels; empty
 *            unless the rule couples
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
  return content({ transform, selection, rounding, mix });
}

export function ruleOf(value: Json | undefined): Rule {
  const names = ["transform", "selection", "rounding", "mix"];
  const [transform, selection, rounding, mix] = fieldsOf(value, "rule", ...names);
  const rule = { transform, selection, rounding, mix: small(mix as Json) } as Rule;
  checkRule(rule);
  return rule;
}

export function checkRule(rule: Rule): void {
  require(TRANSFORMS.includes(rule.transform), "a rule names a transform");
  const switches = typeof rule.selection === "boolean" && typeof rule.rounding === "boolean";
  require(switches, "a rule's switches are on or off");
  require(isInteger(rule.mix, 0, MICRO), "a rule's mix is a chance in parts per million");
}

export function tableOf(value: Json): AttributeTable {
  const names = ["name", "values", "offsets", "keep", "means", "coupling"];
  const [name, values, ...tables] = fieldsOf(value, "attribute", ...names);
  require([values, ...tables].every(Array.isArray), "an attribute has several values and tables");
  const [offsets, keep, means, coupling] = tables.map((table) => small(table));
  return { name, values, offsets, keep, means, coupling } as unknown as AttributeTable;
}

/** What the tables have to fit: the number of items, of whole levels, and the rule. */
export interface Frame {
  readonly items: number;
  readonly levels: number;
  readonly rule: Rule;
}

/** MessageError unless the tables have one entry for each value and item, in bounds. */
export function checkTable(table: AttributeTable, { items, levels, rule }: Frame): void {
  const values = table.values.length;
  const texts = [table.name, ...table.values].every((text) => typeof text === "string");
  const several = texts && values > 1 && new Set(table.values).size === values;
  require(several, "an attribute has several values");
  const averaged = rule.transform === "attribute-average" ? [values, items] : [0];
  const coupled = rule.transform === "coupling" ? [values, items, levels, levels] : [0];
  for (const [what, numbers, shape, lowest, highest] of [
    ["offsets", table.offsets, [values, items], -LARGEST, LARGEST],
    ["chances", table.keep, [values, items], 0, MICRO],
    ["means", table.means, averaged, -LARGEST, LARGEST],
    ["coupling", table.coupling, coupled, 0, MICRO],
  ] as const) {
    require(isTable(numbers, shape, lowest, highest), `wrong ${what}`);
  }
  for (const row of table.coupling.flat(2)) {
    require(goesUp(row) && row.at(-1) === MICRO, "a coupling adds up to 1");
  }
}

/** Quantities as plain numbers: 2^53 is read as a bigint and is still exact as a number. */
export function small(value: Json | undefined): unknown {
  if (Array.isArray(value)) return value.map(small);
  if (typeof value !== "bigint") return value;
  return value === BigInt(LARGEST) || value === -BigInt(LARGEST) ? Number(value) : value;
}

function goesUp(row: readonly number[]): boolean {
  return row.every((entry, at) => at === 0 || (row[at - 1] as number) <= entry);
}
