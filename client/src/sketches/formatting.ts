/** Numbers and names for the eyes, spelled as in Python. */

import type { ItemId } from "../items.js";

/** So many significant digits, no zeros at the end: Python's format `g`. */
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
 * An id for the eyes: what a screen would obey, or turn round, is written out as \u....
 *
 * The recommender chooses ids, and must not change what a person reads about it.
 */
export function printableId(item: ItemId): string {
  return Array.from(String(item), (letter) => {
    const printable = letter === " " || !/[\p{C}\p{Z}]/u.test(letter);
    const point = (letter.codePointAt(0) as number).toString(16).padStart(4, "0");
    return printable ? letter : `\\u${point}`;
  }).join("");
}
