/**
 * Sources of a device's draws: the platform's generator, or the account's secret.
 *
 * Draws from a secret depend on the item alone, and not on its stars, other items, the tables or the
 * time. So the draws of an item are the same whether or not another item is held back, and even after
 * the memory was lost. The word of each draw is
 *
 *   root   HMAC(secret, "tacit standard scheme 2" 0)
 *   word   first 8 bytes of HMAC(root, {"draw":n,"item":...})
 *
 * in canonical JSON, n counting the words of one item.
 */

import { encodeUtf8, firstWord } from "../bytes.js";
import type { ItemId } from "../items.js";
import { drawBelow, hmac, importSecret, drawFromSystem, type Secret } from "../randomness.js";
import { sortedFields, encode } from "./canonical.js";

/** Draws a uniform integer in [0, bound). */
export type Draw = (bound: number) => Promise<number>;

/** Returns the function that draws for one item, beginning with the item's first draw. */
export type Drawing = (item: ItemId) => Draw;

/** Make draws by the platform's generator, which differ each time: for tests, or without a secret. */
export function systemDrawing(): Drawing {
  return () => drawFromSystem;
}

/** Derive the key from which an account's draws and the times of its letters are made. */
export async function rootKey(secret: Secret): Promise<CryptoKey> {
  return importSecret(await hmac(await importSecret(secret), encodeUtf8("tacit standard scheme 2\0")));
}

/** Make the draws of a secret, which are always the same for one item. */
export async function secretDrawing(secret: Secret): Promise<Drawing> {
  const root = await rootKey(secret);
  return (item) => {
    let draw = 0;
    const nextWord = async () => {
      const message = encode(sortedFields({ draw, item }));
      draw += 1;
      return firstWord(await hmac(root, message));
    };
    return (bound) => drawBelow(nextWord, bound);
  };
}
