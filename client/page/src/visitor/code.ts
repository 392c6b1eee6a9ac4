/**
 * One code of 32 random bytes, from which all else of a visitor is made: the token that the service
 * gets with the first letter, and the secrets that no one gets.
 */

import type { Bytes } from "../../../src/bytes.js";
import { hmac, importSecret, newSecret } from "../../../src/randomness.js";

const CODE_KEY = "tacit.code";
const ADOPTED_KEY = "tacit.adopted";
const WELL_FORMED = /^[A-Za-z0-9_-]{43}$/;

export interface Identity {
  readonly code: string;
  /** Goes to the service, which makes a name of it. It says nothing about the code. */
  readonly token: string;
  readonly schemeSecret: Bytes;
  readonly sketchSecret: Bytes;
  /** When the code was brought here from another browser; empty where it was made here. */
  readonly adopted: string;
}

/** This browser's visitor, made now if there is none. */
export async function readIdentity(): Promise<Identity> {
  if (!isSecureContext) throw new Error(INSECURE);
  const code = readCode();
  const key = await importSecret(fromBase64url(code));
  const [token, schemeSecret, sketchSecret] = await Promise.all([
    hmac(key, "tacit page token"),
    hmac(key, "tacit page standard scheme"),
    hmac(key, "tacit page sketches"),
  ]);
  const adopted = localStorage.getItem(ADOPTED_KEY) ?? "";
  return { code, token: toBase64url(token), schemeSecret, sketchSecret, adopted };
}

/** Whether this browser is still that visitor: another tab may have taken another code. */
export function isCurrent({ code }: Identity): boolean {
  return localStorage.getItem(CODE_KEY) === code;
}

/** How this browser names what it keeps for a visitor. */
export function accountOf({ token }: Identity): string {
  return `visitor ${token.slice(0, 16)}`;
}

const INSECURE =
  "Browsers lend their cryptography only to pages that came over a secure connection. Ask for this " +
  "page over https, or as 127.0.0.1 on the machine that serves it.";

function readCode(): string {
  try {
    const code = localStorage.getItem(CODE_KEY);
    if (code !== null && WELL_FORMED.test(code)) return code;
    const made = toBase64url(newSecret());
    localStorage.setItem(CODE_KEY, made);
    return made;
  } catch {
    throw new Error("This browser keeps nothing for this page. Allow it to, then load it again.");
  }
}

/** Whether a text is a code; then this browser is that visitor from now on, with a memory of its own. */
export function adoptCode(text: string): boolean {
  const code = text.trim();
  const fits = WELL_FORMED.test(code) && toBase64url(fromBase64url(code)) === code;
  if (fits && code !== localStorage.getItem(CODE_KEY)) {
    localStorage.setItem(CODE_KEY, code);
    localStorage.setItem(ADOPTED_KEY, new Date().toISOString());
  }
  return fits;
}

function toBase64url(bytes: Uint8Array): string {
  const plain = btoa(String.fromCharCode(...bytes));
  return plain.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64url(text: string): Bytes {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (sign) => sign.charCodeAt(0));
}
