/**
 * Where a device's draws come from: the platform's generator, or the account's secret.
 *
 * From a secret, each item has its own draws, and they depend on nothing else: not on the star, the
 * other items, the tables or the time. So a held-back item uses up no draw of another one, and a lost
 * memory cannot lead to other draws. Each draw's word is
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

/** A uniform integer in [0, bound). */
export type Draw = (bound: number) => Promise<number>;

/** The draws for one item, from its first one on. */
export type Drawing = (item: ItemId) => Draw;

/** Anew each time: for tests, where no secret is. */
export function systemDrawing(): Drawing {
  return () => drawFromSystem;
}

/** The key that the draws and the speaking moments of an account are made with. */
export async function rootKey(secret: Secret): Promise<CryptoKey> {
  return importSecret(await hmac(await importSecret(secret), encodeUtf8("tacit standard scheme 2\0")));
}

/** Made of the secret and of the item. */
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
