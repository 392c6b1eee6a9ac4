/** What an operator may ask, with a key that is kept in memory alone. */

import { askJson } from "./asking";
import type { Budget } from "./person";

export interface HeldBudget {
  readonly number: number;
  readonly kind: string;
  readonly name: string;
  readonly budget: Budget;
}

export interface Point {
  readonly epsilon: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** non_private: the value without privacy. made_with: how it was measured. */
export interface Curve {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly unit: string;
  readonly points: readonly Point[];
  readonly non_private: number;
  readonly made_with: string;
}

export interface ModelCurve {
  readonly model: string;
  readonly curve: Curve;
}

/** Where the log of what was spent stands. replayed: null while the first replay runs. */
export interface Log {
  readonly entries: number;
  readonly head: string;
  readonly replayed: {
    readonly entries: number;
    readonly sound: boolean;
    readonly problems: readonly string[];
  } | null;
}

export function log(key: string): Promise<Log> {
  return askJson("/api/privacy/ledger", { key });
}

/** One page of budgets; next: where the following page begins, or null. */
export function budgets(key: string, after: number): Promise<{ budgets: HeldBudget[]; next: number | null }> {
  return askJson(`/api/privacy/budgets?after=${after}&limit=100`, { key });
}

export async function curves(key: string): Promise<readonly ModelCurve[]> {
  return (await askJson<{ curves: ModelCurve[] }>("/api/curves", { key })).curves;
}
