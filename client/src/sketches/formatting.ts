/** Numbers and names for people to read, written as in Python. */

import type { ItemId } from "../items.js";

/** Write a number with this many significant digits and no zeros at the end: Python's format `g`. */
export function formatGeneral(value: number, digits: number): string {
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e") as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < digits) {
    return trimZeros(value.toFixed(Math.max(0, digits - 1 - power)));
  }
  const sign = power < 0 ? "-" : "+";
  return `${trimZeros(mantissa)}e${sign}${String(Math.abs(power)).padStart(2, "0")}`;
}

function trimZeros(decimal: string): string {
  return decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
}

/**
 * Write an id for people to read: control characters, and characters that change the direction of
 * text, are written as \u....
 *
 * The recommender chooses ids, and must not be able to change how other text is shown.
 */
export function printableId(item: ItemId): string {
  return Array.from(String(item), (character) => {
    const isPrintable = character === " " || !/[\p{C}\p{Z}]/u.test(character);
    const point = (character.codePointAt(0) as number).toString(16).padStart(4, "0");
    return isPrintable ? character : `\\u${point}`;
  }).join("");
}
