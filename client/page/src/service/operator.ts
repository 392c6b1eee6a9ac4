/** Requests of an operator, whose key is in memory alone. */

import { send, fetchJson } from "./requests";
import type { Budget } from "./visitor";

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

/** Figures of one day: people, with noise. */
export interface SplitDay {
  readonly day: string;
  readonly personal_served: number;
  readonly personal_clicked: number;
  readonly popularity_served: number;
  readonly popularity_clicked: number;
}

/** Private lists beside popular items. Rates are null where noise is too large to say. */
export interface Split {
  readonly name: string;
  readonly model: string;
  readonly epsilon: number;
  readonly lifetime: number;
  readonly days_left: number;
  readonly noise: number;
  readonly days: readonly SplitDay[];
  readonly personal_rate: number | null;
  readonly popularity_rate: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

export async function fetchSplits(key: string): Promise<readonly Split[]> {
  const { splits } = await fetchJson<{ splits: readonly Split[] }>("/api/splits", { key });
  return splits;
}

export function fetchLog(key: string): Promise<Log> {
  return fetchJson("/api/privacy/ledger", { key });
}

/** One page of budgets; next: where the following page begins, or null. */
export function fetchBudgets(
  key: string,
  after: number,
): Promise<{ budgets: HeldBudget[]; next: number | null }> {
  return fetchJson(`/api/privacy/budgets?after=${after}&limit=100`, { key });
}

/** Asked again until the whole log is added up. */
export async function fetchOverview(key: string): Promise<Overview> {
  for (;;) {
    const found = await fetchJson<Overview>("/api/operations", { key });
    if (found.read >= found.entries) return found;
  }
}

interface Kinds {
  readonly problems: readonly { readonly status: number; readonly title: string }[];
}

/** Counts by operation and status, as Prometheus gets them, with what each status may mean. */
export async function fetchRefusals(key: string): Promise<Refusal[]> {
  const [metrics, { problems }] = await Promise.all([
    send("/metrics", { key }).then((response) => response.text()),
    fetchJson<Kinds>("/api/problems"),
  ]);
  const line = /^tacit_requests_total\{operation="([^"]*)",status="(\d+)"\} ([\d.e+]+)$/gm;
  return [...metrics.matchAll(line)]
    .map(([, operation = "", code, count]) => ({
      operation,
      status: Number(code),
      count: Number(count),
    }))
    .filter(({ status }) => status >= 400)
    .map((one) => ({
      ...one,
      reasons: problems.filter(({ status }) => status === one.status).map(({ title }) => title),
    }))
    .sort((one, other) => other.count - one.count);
}

interface RoundsState {
  readonly name: string;
  readonly round: number;
  readonly rounds: number;
  readonly announced: readonly unknown[];
}

interface CampaignState {
  readonly name: string;
  readonly closed: boolean;
  readonly until: number | null;
}

export async function fetchProgress(key: string): Promise<Progress[]> {
  const [{ rounds }, { campaigns }] = await Promise.all([
    fetchJson<{ rounds: readonly RoundsState[] }>("/api/rounds"),
    fetchJson<{ campaigns: readonly CampaignState[] }>("/api/campaigns"),
  ]);
  const runs = rounds.map(({ name, round, rounds: of, announced }): Progress => {
    const state =
      announced.length > 0 ? "people vote on the next round" : round === 0 ? "not started" : "open";
    return { noun: "rounds", name, done: round, of, unit: "rounds opened", state };
  });
  const campaignProgress = campaigns.map(async ({ name, closed, until }): Promise<Progress> => {
    const { reports } = await fetchJson<{ reports: number }>(`/api/campaigns/${name}/counts`, {
      key,
    });
    const open = until ? `open until ${new Date(until * 1000).toLocaleDateString()}` : "open";
    const state = closed ? "closed" : open;
    return { noun: "campaign", name, done: reports, of: undefined, unit: "reports", state };
  });
  return [...runs, ...(await Promise.all(campaignProgress))];
}

/** Download the whole log, one entry a line. reportProgress: called with the number of entries. */
export async function downloadLog(
  key: string,
  reportProgress: (entries: number) => void,
): Promise<Blob> {
  const lines: string[] = [];
  for (let after: number | null = 0; after !== null;) {
    const page: { entries: object[]; next: number | null } = await fetchJson(
      `/api/operations/log?after=${after}`,
      { key },
    );
    lines.push(...page.entries.map((entry) => `${JSON.stringify(entry)}\n`));
    reportProgress(lines.length);
    after = page.next;
  }
  return new Blob(lines, { type: "application/jsonl" });
}
