/** Requests to the service that the page came from, and to nobody else. */

import { toHex, type Bytes } from "../../../src/bytes.js";
import { sha256 } from "../../../src/randomness.js";
import { Refusal } from "../../../src/refusal.js";

export const OCTETS = "application/octet-stream";

/**
 * Error: the service refused, or did not answer. The message is a sentence for the person. status:
 * that of the answer; undefined if there was none.
 */
export class RequestError extends Error {
  override readonly name = "RequestError";

  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}

export interface RequestOptions {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly key?: string;
  readonly octets?: Bytes;
  readonly json?: unknown;
  /** The request's Idempotency-Key, the same for a retry; by default a digest of its body. */
  readonly idempotency?: string;
}

/** Make the headers that the page sets on a request; the browser adds its usual ones. */
export async function makeHeaders(options: RequestOptions): Promise<Headers> {
  const { method = "GET", key, octets, json, idempotency } = options;
  const headers = new Headers();
  if (key !== undefined) headers.set("Authorization", `Bearer ${key}`);
  if (octets !== undefined) headers.set("Content-Type", OCTETS);
  if (json !== undefined) headers.set("Content-Type", "application/json");
  if (method !== "GET") {
    headers.set("Idempotency-Key", idempotency ?? (await digestKey(octets ?? encodeJson(json))));
  }
  return headers;
}

/** Send a request. RequestError if the service does not answer, or answers with a problem. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = "GET", octets, json } = options;
  const body = octets ?? (json === undefined ? null : encodeJson(json));
  let response: Response;
  try {
    const headers = await makeHeaders(options);
    response = await fetch(path, { method, headers, body, credentials: "omit", redirect: "error" });
  } catch {
    throw new RequestError(
      "The service does not answer. Check that it is running and that you are connected, then try " +
        (body === null ? "again." : "again: the same bytes will be sent."),
    );
  }
  if (!response.ok) throw new RequestError(await readDetail(response), response.status);
  return response;
}

export async function fetchJson<T>(path: string, options?: RequestOptions): Promise<T> {
  return (await (await send(path, options)).json()) as T;
}

export async function fetchOctets(path: string, options?: RequestOptions): Promise<Bytes> {
  return new Uint8Array(await (await send(path, options)).arrayBuffer());
}

/** Return the sentence about an error that the page shows. */
export function describeError(error: unknown): string {
  if (error instanceof Refusal) return `Your device refuses: ${error.message}.`;
  if (error instanceof Error && error.message) {
    const text = error.message[0]?.toUpperCase() + error.message.slice(1);
    return /[.!?]$/.test(text) ? text : `${text}.`;
  }
  return "Something went wrong here. Reload the page; what you rated is kept.";
}

/** Make an Idempotency-Key of the body alone, so that sending the same body again is a retry. */
async function digestKey(body: Bytes): Promise<string> {
  return toHex(await sha256(body)).slice(0, 32);
}

function encodeJson(json: unknown): Bytes {
  return json === undefined ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(json));
}

/** Read the sentence of a response that reports a problem; a general one if it has none. */
async function readDetail(response: Response): Promise<string> {
  const fallback = `The service answered ${response.status} and gave no reason.`;
  try {
    const problem = (await response.json()) as { detail?: unknown };
    return typeof problem.detail === "string" ? problem.detail : fallback;
  } catch {
    return fallback;
  }
}
