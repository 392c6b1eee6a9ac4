/**
 * The code of a visitor, 32 random bytes. A token is derived from it, which the service gets before
 * the first letter, and secrets, which never leave this browser.
 */

import type { Bytes } from "../../../src/bytes.js";
import { hmac, importSecret, newSecret } from "../../../src/randomness.js";

const CODE_KEY = "tacit.code";
const ADOPTED_KEY = "tacit.adopted";
const CODE_PATTERN = /^[A-Za-z0-9_-]{43}$/;

/** A visitor's code, and what is derived from it. */
export interface Identity {
  readonly code: string;
  /** Sent to the service, which derives the visitor's name from it. It reveals nothing of the code. */
  readonly token: string;
  /** Secret of letters with disguised stars. */
  readonly schemeSecret: Bytes;
  /** Secret of reports in campaigns. */
  readonly sketchSecret: Bytes;
  /** Time at which the code was brought here from another browser; empty if it was made here. */
  readonly adopted: string;
}

/** Read this browser's visitor; one is made if there is none. */
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

/** Say whether this browser still has that code: another tab may have adopted another one. */
export function isCurrent({ code }: Identity): boolean {
  return localStorage.getItem(CODE_KEY) === code;
}

/** Return the name under which this browser stores data of a visitor. */
export function accountOf({ token }: Identity): string {
  return `visitor ${token.slice(0, 16)}`;
}

const INSECURE =
  "Browsers lend their cryptography only to pages that came over a secure connection. Ask for this " +
  "page over https, or as 127.0.0.1 on the machine that serves it.";

/** Read this browser's code; make and store one if there is none. */
function readCode(): string {
  try {
    const code = localStorage.getItem(CODE_KEY);
    if (code !== null && CODE_PATTERN.test(code)) return code;
    const newCode = toBase64url(newSecret());
    localStorage.setItem(CODE_KEY, newCode);
    return newCode;
  } catch {
    throw new Error("This browser keeps nothing for this page. Allow it to, then load it again.");
  }
}

/** Say whether a text is a code. */
export function isCode(text: string): boolean {
  return CODE_PATTERN.test(text) && toBase64url(fromBase64url(text)) === text;
}

/** Make the code of another browser that of this one, which keeps a memory of its own for it. */
export function storeAdoptedCode(code: string): void {
  localStorage.setItem(CODE_KEY, code);
  localStorage.setItem(ADOPTED_KEY, new Date().toISOString());
}

function toBase64url(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64url(text: string): Bytes {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
