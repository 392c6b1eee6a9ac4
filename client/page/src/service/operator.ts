/** Requests of an operator, whose key is in memory alone. */

import { send, fetchJson } from "./requests";
import type { Budget } from "./visitor";

/** The budget of a data set or a person. */
export interface HeldBudget {
  readonly number: number;
  readonly kind: string;
  readonly name: string;
  readonly budget: Budget;
}

/** The ledger's log as it is now, and its newest replay. */
export interface Log {
  readonly entries: number;
  /** Hash of the last entry. */
  readonly head: string;
  /** Null while the first replay runs. */
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

/** Charges by day, as far as the log was read, and where the ledger is stored. */
export interface Overview {
  readonly entries: number;
  /** Entries of the log that were added up so far. */
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

/** Progress of a run of rounds or of a campaign. */
export interface Progress {
  readonly noun: string;
  readonly name: string;
  /** How many units are done. */
  readonly done: number;
  /** How many units there are in all; undefined if there is no such number. */
  readonly total: number | undefined;
  readonly unit: string;
  readonly state: string;
}

/** Numbers of people on one day, with noise. */
export interface SplitDay {
  readonly day: string;
  readonly personal_served: number;
  readonly personal_clicked: number;
  readonly popularity_served: number;
  readonly popularity_clicked: number;
}

/** A comparison of private lists with popular items. Rates are null if noise is too large for them. */
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

/** Fetch one page of budgets. next: the value of `after` for the following page, null at the end. */
export function fetchBudgets(
  key: string,
  after: number,
): Promise<{ budgets: HeldBudget[]; next: number | null }> {
  return fetchJson(`/api/privacy/budgets?after=${after}&limit=100`, { key });
}

/** Fetch the overview, again and again until the service has added up the whole log. */
export async function fetchOverview(key: string): Promise<Overview> {
  for (;;) {
    const overview = await fetchJson<Overview>("/api/operations", { key });
    if (overview.read >= overview.entries) return overview;
  }
}

/** All problems that the service's answers can report. */
interface Kinds {
  readonly problems: readonly { readonly status: number; readonly title: string }[];
}

/** Fetch the counts of refused requests from the metrics, with the titles of their status codes. */
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
    .map((refusal) => ({
      ...refusal,
      reasons: problems.filter(({ status }) => status === refusal.status).map(({ title }) => title),
    }))
    .sort((left, right) => right.count - left.count);
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

/** Fetch the progress of all rounds and campaigns. */
export async function fetchProgress(key: string): Promise<Progress[]> {
  const [{ rounds }, { campaigns }] = await Promise.all([
    fetchJson<{ rounds: readonly RoundsState[] }>("/api/rounds"),
    fetchJson<{ campaigns: readonly CampaignState[] }>("/api/campaigns"),
  ]);
  const roundProgress = rounds.map(({ name, round, rounds: total, announced }): Progress => {
    let state = "open";
    if (announced.length > 0) state = "people vote on the next round";
    else if (round === 0) state = "not started";
    return { noun: "rounds", name, done: round, total, unit: "rounds opened", state };
  });
  const campaignProgress = campaigns.map(async ({ name, closed, until }): Promise<Progress> => {
    const { reports } = await fetchJson<{ reports: number }>(`/api/campaigns/${name}/counts`, {
      key,
    });
    const open = until ? `open until ${new Date(until * 1000).toLocaleDateString()}` : "open";
    const state = closed ? "closed" : open;
    return { noun: "campaign", name, done: reports, total: undefined, unit: "reports", state };
  });
  return [...roundProgress, ...(await Promise.all(campaignProgress))];
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
