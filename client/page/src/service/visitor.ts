/** Requests of one visitor, with their key. */

import { fetchJson, RequestError } from "./requests";

/** A visitor as the service knows them: a name, and the key of their requests. */
export interface Visitor {
  readonly name: string;
  readonly key: string;
}

/**
 * A budget; amounts are decimal numbers as text. `epsilon` was spent, `epsilon_cap` is the most, and
 * both hold at `epsilon_delta`. `cap`, `spent` and `left` are the stored amounts, in `counted_in`.
 */
export interface Budget {
  readonly epsilon: string;
  readonly epsilon_cap: string;
  readonly epsilon_delta: string;
  readonly counted_in: string;
  readonly cap: string;
  readonly spent: string;
  readonly left: string;
}

export interface OwnBudgets {
  readonly budgets: readonly { readonly of: string; readonly budget: Budget }[];
}

export interface Receipt {
  readonly user: string;
  readonly gone: readonly string[];
  readonly cannot_be_recalled: readonly string[];
  readonly bounded_by: readonly { readonly of: string; readonly sentence: string }[];
  readonly kept: readonly string[];
}

/** Fetch the name and key of a visitor; the same token always gets the same ones. */
export async function fetchVisitor(token: string): Promise<Visitor> {
  try {
    return await fetchJson<Visitor>("/api/visitors", { method: "POST", json: { token } });
  } catch (error) {
    if (!(error instanceof RequestError) || error.status !== 404) throw error;
    throw new RequestError(
      "This service gives no keys to visitors, so nothing can be sent. Its operator can let " +
        "visitors in.",
      error.status,
    );
  }
}

/** Fetch the epoch of the latest letter that the service has accepted; -1 if it has none. */
export async function fetchLatestEpoch(disclosure: string, { key }: Visitor): Promise<number> {
  try {
    const { latest } = await fetchJson<{ latest: number }>(
      `/api/disclosures/${disclosure}/latest`,
      { key },
    );
    if (Number.isSafeInteger(latest)) return latest;
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return -1;
    throw error;
  }
  throw new RequestError("The service does not say which letter of yours is the latest.");
}

export function fetchOwnBudgets({ key }: Visitor): Promise<OwnBudgets> {
  return fetchJson<OwnBudgets>("/api/privacy/budget", { key });
}

/**
 * Ask the service to forget a visitor, and return its receipt.
 *
 * @param idempotency the same text for every retry of one request to be forgotten.
 */
export function eraseVisitor({ name, key }: Visitor, idempotency: string): Promise<Receipt> {
  return fetchJson(`/api/users/${name}`, { method: "DELETE", key, idempotency });
}
