/** The operator's panels: spending by day, refusals, the ledger, and rounds and campaigns. */

import { useState } from "preact/hooks";

import { ShowPending, Trouble, usePending } from "../parts/pending";
import { describeError } from "../service/requests";
import {
  downloadLog,
  fetchOverview,
  fetchProgress,
  fetchRefusals,
  type Day,
  type Log,
  type Overview,
  type Progress,
  type Refusal,
} from "../service/operator";

/** Number of latest days that are shown. */
const DAYS = 30;

/** A table of requests and charges by day, the latest day first. */
export function Spending({ overview }: { overview: Overview }) {
  const days = overview.days.slice(-DAYS);
  const mostRequests = Math.max(1, ...days.map(({ requests }) => requests));
  if (days.length === 0) return <p>Nothing was stored or charged yet.</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Spending by day, a wide table">
      <table class="figures stacks">
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            <th scope="col" class="number">
              Stored requests
            </th>
            <th scope="col">Of the busiest day</th>
            <th scope="col">Charged to people</th>
            <th scope="col">Charged to data sets</th>
          </tr>
        </thead>
        <tbody>
          {[...days].reverse().map((day) => (
            <tr key={day.day}>
              <th scope="row">{day.day}</th>
              <td class="number" data-name="Stored requests">
                {day.requests}
              </td>
              <td class="share">
                <progress
                  value={day.requests}
                  max={mostRequests}
                  aria-label={`Requests of ${day.day}`}
                />
              </td>
              <td data-name="Charged to people">{describeCharges(day, "subject")}</td>
              <td data-name="Charged to data sets">{describeCharges(day, "dataset")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Describe the charges of a day to people (kind "subject") or to data sets (kind "dataset"). */
function describeCharges({ spent }: Day, kind: string): string {
  const texts = spent
    .filter((charge) => charge.kind === kind)
    .map(
      ({ amount, counted_in, charges }) =>
        `${amount} ${shortUnit(counted_in)} in ${countOf(charges, "charge")}`,
    );
  return texts.join("; ") || "–";
}

/** The refused requests, fetched and shown as a table. */
export function Refusals({ apiKey }: { apiKey: string }) {
  const pending = usePending(() => fetchRefusals(apiKey), [apiKey]);
  return (
    <ShowPending pending={pending}>
      {(refusals) =>
        refusals.length === 0 ? (
          <p>None since the service started.</p>
        ) : (
          <RefusalTable refusals={refusals} />
        )
      }
    </ShowPending>
  );
}

/** A table with a row for each operation and status. */
function RefusalTable({ refusals }: { refusals: readonly Refusal[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Refusals, a wide table">
      <table class="figures stacks">
        <thead>
          <tr>
            <th scope="col">Asked for</th>
            <th scope="col" class="number">
              Refused
            </th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {refusals.map(({ operation, status, count, reasons }) => (
            <tr key={`${operation} ${status}`}>
              <th scope="row">{operation === "none" ? "an unknown address or key" : operation}</th>
              <td class="number" data-name="Refused">
                {count}
              </td>
              <td class="why">
                {status}: {reasons.join("; or: ") || "an error"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Where the ledger and its second place are, whether it is sound, and a button for its log. */
export function Ledger({
  overview,
  log,
  apiKey,
}: {
  overview: Overview;
  log: Log;
  apiKey: string;
}) {
  const { store } = overview;
  return (
    <>
      <dl class="health">
        <Fact name="Kept in" isGood>
          {store.place === "file" ? "a file" : store.place},{" "}
          {countOf(log.entries, "entry", "entries")} in its log
        </Fact>
        <Fact name="Second place" isGood={store.apart}>
          {store.second === "file" ? "a file" : store.second},{" "}
          {store.apart
            ? "on another device or server"
            : "on the device or server of the ledger: a backup that is restored gives spent budgets back"}
        </Fact>
        <Fact name="Verified" isGood={log.replayed?.sound !== false}>
          {describeReplay(log)}
        </Fact>
      </dl>
      <Download apiKey={apiKey} />
    </>
  );
}

/** Describe whether the newest replay found that the log and all tables agree. */
function describeReplay({ replayed }: Log): string {
  if (replayed === null) return "the log is being replayed: look again";
  if (!replayed.sound)
    return `the log does not agree with its tables: ${replayed.problems.join("; ")}`;
  return `just now, up to entry ${replayed.entries}: the log agrees with every table`;
}

/** One fact about the ledger, with a warning colour unless it is good. */
function Fact(props: { name: string; isGood: boolean; children: preact.ComponentChildren }) {
  return (
    <div class={props.isGood ? undefined : "warned"}>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

/**
 * The button that downloads the log as one file. The file is put together from pages here, so that
 * the key is sent in a header and not in an address.
 */
function Download({ apiKey }: { apiKey: string }) {
  const [entries, setEntries] = useState<number>();
  const [trouble, setTrouble] = useState<string>();
  const download = async () => {
    setTrouble(undefined);
    setEntries(0);
    try {
      const address = URL.createObjectURL(await downloadLog(apiKey, setEntries));
      const link = document.createElement("a");
      link.href = address;
      link.download = "tacit-log.jsonl";
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    } catch (error) {
      setTrouble(describeError(error));
    }
  };
  return (
    <>
      <button type="button" class="quiet" onClick={() => void download()}>
        Download the audit log
      </button>
      <p role="status" class="log">
        {entries !== undefined && `${countOf(entries, "entry", "entries")}. `}
        It has names, times, charges and hashes of answers, and no answer.
      </p>
      {trouble !== undefined && <Trouble>{trouble}</Trouble>}
    </>
  );
}

/** The progress of rounds and campaigns, fetched and shown as a list. */
export function Runs({ apiKey }: { apiKey: string }) {
  const pending = usePending(() => fetchProgress(apiKey), [apiKey]);
  return (
    <ShowPending pending={pending}>
      {(runs) =>
        runs.length === 0 ? (
          <p>Neither rounds nor campaigns are served here.</p>
        ) : (
          <ul class="runs">
            {runs.map((run) => (
              <RunShown key={`${run.noun} ${run.name}`} run={run} />
            ))}
          </ul>
        )
      }
    </ShowPending>
  );
}

/** One run of rounds or one campaign; with a bar if its number of units is known. */
function RunShown({ run: { noun, name, done, total, unit, state } }: { run: Progress }) {
  return (
    <li>
      <strong>{name}</strong> <span class="noun">{noun}</span>
      <span class="amount">
        {done.toLocaleString()}
        {total !== undefined && ` of ${total.toLocaleString()}`} {unit}; {state}
      </span>
      {total !== undefined && <progress value={done} max={total} aria-label={`${unit} of ${name}`} />}
    </li>
  );
}

/** Fetch the overview for the panels that share it. */
export function useOverview(apiKey: string) {
  return usePending(() => fetchOverview(apiKey), [apiKey]);
}

/** Write a number with its noun: "1 entry", "3 entries". */
function countOf(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? singular : plural}`;
}

/** Shorten "epsilon, in nats" to "epsilon", since the text above the table states the unit. */
function shortUnit(unit: string): string {
  return unit.split(",")[0] as string;
}
