/**
 * Disclosures that no device follows, because their rule or their numbers would reveal the attribute.
 *
 * A device checks what can be checked without the consenting people's ratings: that no decision it
 * can make proves which of the listed values is its owner's. It cannot know whether the numbers are
 * honest, or whether people have the listed values. Every check here looks at all values of an
 * attribute at once, so that a refusal reveals nothing about the owner's value. `findOwnRows` checks
 * the list of values.
 *
 * Mirrors src/tacit/designs/standard_scheme/disclosure.py.
 */

import { Refusal } from "../refusal.js";
import { DAY, type Disclosure } from "./messages.js";
import { MICRO, type AttributeTable, type Rule } from "./tables.js";

/**
 * Largest chance to show an item, in parts per million. It is below 1 for every value, so that an
 * item that is known to be rated and is not shown proves no value.
 */
export const LARGEST_CHANCE = 950_000;
/** Smallest chance, in parts per million; an item that a value would show less often is not decided. */
const SMALLEST_CHANCE = 20_000;
/** Most micro-levels by which stars are moved, summed over the attributes. */
const MOST_OFFSET = MICRO / 2;
/**
 * Most levels of a scale. On a finer scale people give round numbers, and a star that rounding moved
 * by one level shows the sign of its offset.
 */
const MOST_LEVELS = 11;

/** Throw a Refusal unless a device may follow this disclosure. */
export function refuseUnsafe(disclosure: Disclosure): void {
  const { rule, attributes, epochLength, items } = disclosure;
  checkRule(rule);
  if (rule.transform === "scheme" && disclosure.levels > MOST_LEVELS) {
    throw new Refusal(
      `the scale has ${disclosure.levels} levels, and on more than ${MOST_LEVELS} a released ` +
        "star beside the round number that people give shows the attribute",
    );
  }
  if (epochLength < DAY) throw new Refusal("the disclosure asks for more than one message a day");
  if (rule.transform === "scheme") checkOffsets(disclosure);
  if (rule.selection) attributes.forEach(checkChances);
  if (rule.transform === "coupling") {
    for (const number of items.keys()) checkCouplings(disclosure, number);
  }
}

/** Throw a Refusal for a rule that releases true stars, or values that are not rounded. */
function checkRule(rule: Rule): void {
  if (rule.transform === "scheme" && !rule.rounding) {
    throw new Refusal(
      "unrounded releases tell the attribute exactly: the stars people give end after a " +
        "digit or two, and the released value plus or minus the public offset does for the " +
        "true value only",
    );
  }
  if (rule.transform === "none" || rule.mix < MICRO) {
    throw new Refusal("the disclosure asks for true stars");
  }
}

/** Throw a Refusal if offsets of all attributes together could move a star by too much. */
function checkOffsets({ items, attributes }: Disclosure): void {
  const largestOffset = (table: AttributeTable, number: number) =>
    Math.max(...table.offsets.map((row) => Math.abs(row[number] as number)));
  for (const number of items.keys()) {
    const sum = attributes.reduce((total, table) => total + largestOffset(table, number), 0);
    if (sum > MOST_OFFSET) {
      throw new Refusal("the disclosure would move a star by more than half a level");
    }
  }
}

/**
 * Throw a Refusal unless each item's chances to be shown are all 0, or within the bounds and at their
 * largest value for some attribute value.
 */
function checkChances({ keep }: AttributeTable): void {
  for (const number of keep[0]?.keys() ?? []) {
    const chances = keep.map((row) => row[number] as number);
    const followsRule =
      Math.max(...chances) === LARGEST_CHANCE && Math.min(...chances) >= SMALLEST_CHANCE;
    if (chances.some((chance) => chance > 0) && !followsRule) {
      throw new Refusal(
        "the disclosure's chances to show an item are not those of the rule: the largest " +
          `is ${LARGEST_CHANCE} and none is below ${SMALLEST_CHANCE}, or all are 0`,
      );
    }
  }
}

/** Throw a Refusal unless the same levels can be released for an item whatever the owner's values. */
function checkCouplings({ levels, attributes }: Disclosure, number: number): void {
  let reached = Array.from({ length: levels }, (_, level) => level);
  for (const { coupling } of attributes) {
    const reachedByValue = coupling.map((rowsOfValue) => {
      const next = new Set(
        reached.flatMap((level) => reachableLevels(rowsOfValue[number]?.[level] ?? [])),
      );
      return [...next].sort((left, right) => left - right);
    });
    reached = reachedByValue[0] as number[];
    if (reachedByValue.some((ofValue) => ofValue.join() !== reached.join())) {
      throw new Refusal(
        "the disclosure's couplings release a level for some values of an attribute and not for others",
      );
    }
  }
}

/** List the levels that a row of cumulative chances releases with a chance above 0. */
function reachableLevels(cumulative: readonly number[]): number[] {
  return [...cumulative.keys()].filter(
    (level) => (cumulative[level - 1] ?? 0) < (cumulative[level] as number),
  );
}
