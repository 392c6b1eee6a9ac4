/** What the service knows of one visitor, and what they may ask it with their key. */

import { askJson, Trouble } from "./asking";

export interface Visitor {
  readonly name: string;
  readonly key: string;
}

/** Amounts are decimals in text. */
export interface Budget {
  readonly counted_in: string;
  readonly cap: string;
  readonly spent: string;
  readonly left: string;
}

export interface Own {
  readonly budgets: readonly { readonly of: string; readonly budget: Budget }[];
}

export interface ReceiptGiven {
  readonly user: string;
  readonly gone: readonly string[];
  readonly cannot_be_recalled: readonly string[];
  readonly bounded_by: readonly { readonly of: string; readonly sentence: string }[];
  readonly kept: readonly string[];
}

/** A key for anyone who knows the token; the same token gets the same one. */
export async function visitorFor(token: string): Promise<Visitor> {
  try {
    return await askJson<Visitor>("/api/visitors", { method: "POST", json: { token } });
  } catch (error) {
    if (!(error instanceof Trouble) || error.status !== 404) throw error;
    throw new Trouble(
      "This service gives no keys to visitors, so nothing can be sent. Its operator can let "  +
        "visitors in.",
      error.status,
    );
  }
}

/** The epoch of the latest letter that the service took; -1 for none, and where it does not say. */
export async function latestOf(disclosure: string, { key }: Visitor): Promise<number> {
  try {
    const { latest } = await askJson<{ latest: number }>(`/api/disclosures/${disclosure}/latest`, { key });
    if (Number.isSafeInteger(latest)) return latest;
  } catch (error) {
    if (error instanceof Trouble && error.status === 404) return -1;
    throw error;
  }
  throw new Trouble("The service does not say which letter of yours is the latest.");
}

export function ownBudget({ key }: Visitor): Promise<Own> {
  return askJson<Own>("/api/privacy/budget", { key });
}

/** The receipt, as it was given. idempotency: the same for every try of one wish to be forgotten. */
export function erase({ name, key }: Visitor, idempotency: string): Promise<ReceiptGiven> {
  return askJson(`/api/users/${name}`, { method: "DELETE", key, idempotency });
}
