/**
 * Lists that a device makes from true stars and published item-item weights; nothing is sent.
 *
 * Runs at     the person's own device.
 * Sees        the person's true stars and the published table, the same for everybody.
 * Releases    nothing.
 * Guarantee   none for the people whose ratings the table was fitted to: it is published with their
 *             consent only.
 *
 * Mirrors src/tacit/designs/standard_scheme/messages.py. All numbers are integers, so that
 * two languages rank alike.
 */

import type { Bytes } from "../bytes.js";
import type { ItemId } from "../items.js";
import { require } from "../message-error.js";
import { sortedFields, decode, encode, readFields, isInteger, isTable, type Json } from "./canonical.js";
import { VERSION } from "./messages.js";
import { toNumbers } from "./tables.js";

/** Largest weight of a level, in tenths. */
const MOST_LIKED = 10;
/** Most weights of one item. */
const LARGEST_COLUMN = 256;
/** Largest absolute value of a weight, in thousandths. */
const LARGEST_WEIGHT = 1_000_000_000;

/** Numbers of other items in rising order, and their weights in thousandths. */
export type Column = readonly [rows: readonly number[], weights: readonly number[]];

/** An item and its preference in ten-thousandths, by which lists are ranked. */
export type PreferredItem = readonly [item: ItemId, preference: number];

/**
 * Weights by which liked items recommend others.
 *
 * disclosure: digest of the disclosure whose items the columns belong to, in its order. liked: weight
 * of each whole level in tenths, from the lowest level up. columns: one for each item, empty for an
 * item that the table leaves out.
 */
export class ItemTable {
  constructor(
    readonly disclosure: string,
    readonly liked: readonly number[],
    readonly columns: readonly Column[],
  ) {
    require(typeof disclosure === "string", "an item table names a disclosure");
    const areWeights = Array.isArray(liked) && isTable(liked, [liked.length], 0, MOST_LIKED);
    require(areWeights && liked.length > 1, "an item table says what a level counts for");
    require(Array.isArray(columns), "an item table has a column for each item");
    for (const [number, column] of columns.entries()) checkColumn(column, number, columns.length);
  }

  encode(): Bytes {
    const { disclosure, liked, columns } = this;
    const fields = { version: VERSION, message: "item-table", disclosure, liked, columns };
    return encode(sortedFields(fields));
  }

  static decode(data: Uint8Array): ItemTable {
    return decode(data, "item-table", VERSION, (whole) => {
      const names = ["disclosure", "liked", "columns", "message", "version"];
      const [disclosure, liked, columns] = readFields(whole, "item table", ...names);
      return new ItemTable(
        disclosure as string,
        toNumbers(liked) as number[],
        toNumbers(columns as Json) as Column[],
      );
    });
  }

  /**
   * Rank the unrated items by their preference, best first; ties in the order of `items`. Items that
   * the table leaves out come last. RangeError for other items or levels than the table's.
   *
   * @param items those of the disclosure, in its order.
   * @param levels the person's own whole levels, from 0; unknown items are ignored.
   */
  rank(items: readonly ItemId[], levels: ReadonlyMap<ItemId, number>): PreferredItem[] {
    if (items.length !== this.columns.length) {
      throw new RangeError("this item table was made for another disclosure");
    }
    const fits = [...levels.values()].every((level) => isInteger(level, 0, this.liked.length - 1));
    if (!fits) throw new RangeError("a level lies off the scale of this item table");
    const likedByItem = items.map((item) => this.liked[levels.get(item) ?? -1]);
    const unseen = [...items.keys()].filter((number) => likedByItem[number] === undefined);
    const preferences = new Map(unseen.map((number) => [number, this.preference(number, likedByItem)]));
    const preferenceOf = (number: number) => preferences.get(number) as number;
    const isLeftOut = (number: number) => this.columns[number]?.[0].length === 0;
    unseen.sort((left, right) => {
      if (isLeftOut(left) !== isLeftOut(right)) return isLeftOut(left) ? 1 : -1;
      return preferenceOf(right) - preferenceOf(left);
    });
    return unseen.map((number) => [items[number] as ItemId, preferenceOf(number)]);
  }

  /** Sum the weights of the rated items in an item's column, each times the weight of its level. */
  private preference(item: number, likedByItem: readonly (number | undefined)[]): number {
    const [rows, weights] = this.columns[item] as Column;
    return rows.reduce(
      (sum, row, index) => sum + (likedByItem[row] ?? 0) * (weights[index] as number),
      0,
    );
  }
}

/** Throw a MessageError unless a column has valid weights for items other than its own, `number`. */
function checkColumn(column: Column, number: number, items: number): void {
  require(Array.isArray(column) && column.length === 2, "a column has items and weights");
  const [rows, weights] = column;
  const size = Array.isArray(rows) ? rows.length : -1;
  require(size <= LARGEST_COLUMN, "an item has too many weights");
  const areItems = isTable(rows, [size], 0, items - 1);
  const isRising =
    areItems && rows.every((row, index) => index === 0 || (rows[index - 1] as number) < row);
  require(isRising, "items of a column go up");
  require(!rows.includes(number), "an item has no weight for itself");
  const areWeights = isTable(weights, [size], -LARGEST_WEIGHT, LARGEST_WEIGHT);
  require(areWeights && !weights.includes(0), "an item has a weight for each item of its column");
}
