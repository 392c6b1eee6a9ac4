/** What the service knows of one visitor, and what they may ask it with their key. */

import { fetchJson, Trouble } from "./requests";

export interface Visitor {
  readonly name: string;
  readonly key: string;
}

/** Amounts are decimals in text. Epsilons hold at `epsilon_delta`; the others are what is stored. */
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

/** A key for anyone who knows the token; the same token gets the same one. */
export async function fetchVisitor(token: string): Promise<Visitor> {
  try {
    return await fetchJson<Visitor>("/api/visitors", { method: "POST", json: { token } });
  } catch (error) {
    if (!(error instanceof Trouble) || error.status !== 404) throw error;
    throw new Trouble(
      "This service gives no keys to visitors, so nothing can be sent. Its operator can let " +
        "visitors in.",
      error.status,
    );
  }
}

/** The epoch of the latest letter that the service took; -1 for none, and where it does not say. */
export async function fetchLatestEpoch(disclosure: string, { key }: Visitor): Promise<number> {
  try {
    const { latest } = await fetchJson<{ latest: number }>(
      `/api/disclosures/${disclosure}/latest`,
      { key },
    );
    if (Number.isSafeInteger(latest)) return latest;
  } catch (error) {
    if (error instanceof Trouble && error.status === 404) return -1;
    throw error;
  }
  throw new Trouble("The service does not say which letter of yours is the latest.");
}

export function fetchOwnBudgets({ key }: Visitor): Promise<OwnBudgets> {
  return fetchJson<OwnBudgets>("/api/privacy/budget", { key });
}

/** The receipt, as it was given. idempotency: the same for every try of one wish to be forgotten. */
export function eraseVisitor({ name, key }: Visitor, idempotency: string): Promise<Receipt> {
  return fetchJson(`/api/users/${name}`, { method: "DELETE", key, idempotency });
}
