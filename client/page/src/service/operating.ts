/** What an operator may ask, with a key that is kept in memory alone. */

import { ask, askJson } from "./asking";
import type { Budget } from "./person";

export interface HeldBudget {
  readonly number: number;
  readonly kind: string;
  readonly name: string;
  readonly budget: Budget;
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

/** Charges of one day to people or to data sets. */
export interface Spent {
  readonly kind: string;
  readonly counted_in: string;
  readonly charges: number;
  readonly amount: string;
}

export interface Day {
  readonly day: string;
  readonly requests: number;
  readonly spent: readonly Spent[];
}

/** read: entries of the log that were added up. */
export interface Overview {
  readonly entries: number;
  readonly read: number;
  readonly days: readonly Day[];
  readonly store: {
    readonly place: string;
    readonly second: string;
    readonly apart: boolean;
  };
}

/** Requests that were not answered as asked, since the service started. */
export interface Refusal {
  readonly operation: string;
  readonly status: number;
  readonly reasons: readonly string[];
  readonly count: number;
}

/** A run of rounds or a campaign. done, of: how far it is; of is undefined without an end. */
export interface Progress {
  readonly noun: string;
  readonly name: string;
  readonly done: number;
  readonly of: number | undefined;
  readonly unit: string;
  readonly state: string;
}

export function log(key: string): Promise<Log> {
  return askJson("/api/privacy/ledger", { key });
}

/** One page of budgets; next: where the following page begins, or null. */
export function budgets(key: string, after: number): Promise<{ budgets: HeldBudget[]; next: number | null }> {
  return askJson(`/api/privacy/budgets?after=${after}&limit=100`, { key });
}

/** Asked again until the whole log is added up. */
export async function overview(key: string): Promise<Overview> {
  for (;;) {
    const found = await askJson<Overview>("/api/operations", { key });
    if (found.read >= found.entries) return found;
  }
}

interface Kinds {
  readonly problems: readonly { readonly status: number; readonly title: string }[];
}

/** Counts by operation and status, as Prometheus gets them, with what each status may mean. */
export async function refusals(key: string): Promise<Refusal[]> {
  const [metrics, { problems }] = await Promise.all([
    ask("/metrics", { key }).then((response) => response.text()),
    askJson<Kinds>("/api/problems"),
  ]);
  const line = /^tacit_requests_total\{operation="([^"]*)",status="(\d+)"\} ([\d.e+]+)$/gm;
  return [...metrics.matchAll(line)]
    .map(([, operation = "", code, count]) => ({ operation, status: Number(code), count: Number(count) }))
    .filter(({ status }) => status >= 400)
    .map((one) => ({
      ...one,
      reasons: problems.filter(({ status }) => status === one.status).map(({ title }) => title),
    }))
    .sort((one, other) => other.count - one.count);
}

interface Run {
  readonly name: string;
  readonly round: number;
  readonly rounds: number;
  readonly announced: readonly unknown[];
}

interface Asked {
  readonly name: string;
  readonly closed: boolean;
  readonly until: number | null;
}

export async function progress(key: string): Promise<Progress[]> {
  const [{ rounds }, { campaigns }] = await Promise.all([
    askJson<{ rounds: readonly Run[] }>("/api/rounds"),
    askJson<{ campaigns: readonly Asked[] }>("/api/campaigns"),
  ]);
  const runs = rounds.map(({ name, round, rounds: of, announced }): Progress => {
    const state = announced.length > 0 ? "people vote on the next round" : round === 0 ? "not begun" : "open";
    return { noun: "rounds", name, done: round, of, unit: "rounds opened", state };
  });
  const asked = campaigns.map(async ({ name, closed, until }): Promise<Progress> => {
    const { reports } = await askJson<{ reports: number }>(`/api/campaigns/${name}/counts`, { key });
    const open = until ? `open until ${new Date(until * 1000).toLocaleDateString()}` : "open";
    const state = closed ? "closed" : open;
    return { noun: "campaign", name, done: reports, of: undefined, unit: "reports", state };
  });
  return [...runs, ...(await Promise.all(asked))];
}

/** The whole log, one entry a line; told: how far it is. */
export async function auditLog(key: string, told: (entries: number) => void): Promise<Blob> {
  const lines: string[] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: { entries: object[]; next: number | null } = await askJson(
      `/api/operations/log?after=${after}`,
      { key },
    );
    lines.push(...page.entries.map((entry) => `${JSON.stringify(entry)}\n`));
    told(lines.length);
    after = page.next;
  }
  return new Blob(lines, { type: "application/jsonl" });
}
