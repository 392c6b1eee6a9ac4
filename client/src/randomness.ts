/** Chance from the platform's WebCrypto, and chance made of an account's secret. */

import { concat, utf8, word, type Bytes } from "./bytes.js";

/** At least 32 bytes, or the HMAC key made of them: a key can be kept where no script reads it. */
export type Secret = Bytes | CryptoKey;

/** 32 bytes of the platform's generator: make one per account and never show it. */
export function newSecret(): Bytes {
  return crypto.getRandomValues(new Uint8Array(32));
}

/** The secret as an HMAC-SHA256 key that no script can read again; IndexedDB keeps it as it is. */
export async function keyOf(secret: Secret): Promise<CryptoKey> {
  if (!(secret instanceof Uint8Array)) return secret;
  checkSecret(secret);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  return crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
}

/** RangeError for a secret that is too short. */
export function checkSecret(secret: Secret): void {
  if (secret instanceof Uint8Array && secret.length < 32) {
    throw new RangeError("a secret has at least 32 bytes: make one with newSecret()");
  }
}

/** 32 bytes that are random to anyone who does not know the key. */
export async function hmac(key: CryptoKey, ...message: (string | Uint8Array)[]): Promise<Bytes> {
  const parts = message.map((part) => (typeof part === "string" ? utf8(part) : part));
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, concat(...parts)));
}

export async function sha256(bytes: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** A uniform integer in [0, bound) of the platform's generator. */
export async function systemBelow(bound: number): Promise<number> {
  return below(async () => word(crypto.getRandomValues(new Uint8Array(8))), bound);
}

/** A uniform integer in [0, bound): words that would favour small results are skipped. */
export async function below(next: () => Promise<bigint>, bound: number): Promise<number> {
  const limit = (1n << 64n) - ((1n << 64n) % BigInt(bound));
  let drawn = await next();
  while (drawn >= limit) drawn = await next();
  return Number(drawn % BigInt(bound));
}
