/** Random numbers from the platform's WebCrypto, and others derived from an account's secret. */

import { concatBytes, encodeUtf8, firstWord, type Bytes } from "./bytes.js";

/** At least 32 bytes, or the HMAC key made of them, whose bytes no script can read. */
export type Secret = Bytes | CryptoKey;

/** Draw 32 bytes from the platform's generator: make one secret per account and never show it. */
export function newSecret(): Bytes {
  return crypto.getRandomValues(new Uint8Array(32));
}

/** Make an HMAC-SHA256 key of a secret. IndexedDB can store it, and no script can read its bytes. */
export async function importSecret(secret: Secret): Promise<CryptoKey> {
  if (!(secret instanceof Uint8Array)) return secret;
  checkSecret(secret);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
}

/** Throw a RangeError for a secret that is too short. */
export function checkSecret(secret: Secret): void {
  if (secret instanceof Uint8Array && secret.length < 32) {
    throw new RangeError("a secret has at least 32 bytes: make one with newSecret()");
  }
}

/** Compute HMAC-SHA256 of the parts of a message: 32 bytes, random to anyone without the key. */
export async function hmac(key: CryptoKey, ...message: (string | Uint8Array)[]): Promise<Bytes> {
  const parts = message.map((part) => (typeof part === "string" ? encodeUtf8(part) : part));
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, concatBytes(...parts)));
}

/** Compute SHA-256: 32 bytes. */
export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Draw a uniform integer in [0, bound) from the platform's generator. */
export async function drawFromSystem(bound: number): Promise<number> {
  return drawBelow(async () => firstWord(crypto.getRandomValues(new Uint8Array(8))), bound);
}

/**
 * Draw a uniform integer in [0, bound).
 *
 * Words from the largest multiple of `bound` on are skipped: they would favour small results.
 *
 * @param nextWord draws a uniform word of 64 bits.
 */
export async function drawBelow(nextWord: () => Promise<bigint>, bound: number): Promise<number> {
  const limit = (1n << 64n) - ((1n << 64n) % BigInt(bound));
  let drawnWord = await nextWord();
  while (drawnWord >= limit) drawnWord = await nextWord();
  return Number(drawnWord % BigInt(bound));
}
