/** Items are named by integers or texts. Ids that differ in Python differ here. */

/** An integer that a number cannot hold exactly is a bigint; every other one is a number. */
export type ItemId = number | bigint | string;

/** Say whether a value is an id: a text, a safe integer that is not -0, or a larger bigint. */
export function isItemId(value: unknown): value is ItemId {
  if (typeof value === "bigint") return !Number.isSafeInteger(Number(value));
  return typeof value === "string" || (Number.isSafeInteger(value) && !Object.is(value, -0));
}

/** Say whether a message can hold an id. It cannot hold a text with half of a surrogate pair. */
export function isWritableId(value: unknown): value is ItemId {
  return isItemId(value) && !(typeof value === "string" && /\p{Surrogate}/u.test(value));
}

/** Make the id of an integer, however large. */
export function integerId(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
