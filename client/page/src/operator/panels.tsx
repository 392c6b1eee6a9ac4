/** How the service is doing: spending by day, refusals, the ledger's places, rounds and campaigns. */

import { useState } from "preact/hooks";

import { ShowPending, Trouble, usePending } from "../parts/draft";
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

const DAYS = 30;

export function Spending({ found }: { found: Overview }) {
  const days = found.days.slice(-DAYS);
  const most = Math.max(1, ...days.map(({ requests }) => requests));
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
                <progress value={day.requests} max={most} aria-label={`Requests of ${day.day}`} />
              </td>
              <td data-name="Charged to people">{charged(day, "subject")}</td>
              <td data-name="Charged to data sets">{charged(day, "dataset")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function charged({ spent }: Day, kind: string): string {
  const texts = spent
    .filter((one) => one.kind === kind)
    .map(
      ({ amount, counted_in, charges }) =>
        `${amount} ${short(counted_in)} in ${several(charges, "charge")}`,
    );
  return texts.join("; ") || "–";
}

export function Refusals({ apiKey }: { apiKey: string }) {
  const draft = usePending(() => fetchRefusals(apiKey), [apiKey]);
  return (
    <ShowPending draft={draft}>
      {(found) =>
        found.length === 0 ? <p>None since the service started.</p> : <Counts found={found} />
      }
    </ShowPending>
  );
}

function Counts({ found }: { found: readonly Refusal[] }) {
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
          {found.map(({ operation, status, count, reasons }) => (
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

export function Ledger({ found, log, apiKey }: { found: Overview; log: Log; apiKey: string }) {
  const { store } = found;
  return (
    <>
      <dl class="health">
        <Fact name="Kept in" good>
          {store.place === "file" ? "a file" : store.place},{" "}
          {several(log.entries, "entry", "entries")} in its log
        </Fact>
        <Fact name="Second place" good={store.apart}>
          {store.second === "file" ? "a file" : store.second},{" "}
          {store.apart
            ? "on another device or server"
            : "on the device or server of the ledger: a backup that is restored gives spent budgets back"}
        </Fact>
        <Fact name="Verified" good={log.replayed?.sound !== false}>
          {verified(log)}
        </Fact>
      </dl>
      <Download apiKey={apiKey} />
    </>
  );
}

/** Whether the log and every table agree. */
function verified({ replayed }: Log): string {
  if (replayed === null) return "the log is being replayed: look again";
  if (!replayed.sound)
    return `the log does not agree with its tables: ${replayed.problems.join("; ")}`;
  return `just now, up to entry ${replayed.entries}: the log agrees with every table`;
}

function Fact(given: { name: string; good: boolean; children: preact.ComponentChildren }) {
  return (
    <div class={given.good ? undefined : "warned"}>
      <dt>{given.name}</dt>
      <dd>{given.children}</dd>
    </div>
  );
}

/** Pages of the log become one file here: the key stays in a header and is in no address. */
function Download({ apiKey }: { apiKey: string }) {
  const [entries, setEntries] = useState<number>();
  const [trouble, setTrouble] = useState<string>();
  const load = async () => {
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
      <button type="button" class="quiet" onClick={() => void load()}>
        Download the audit log
      </button>
      <p role="status" class="log">
        {entries !== undefined && `${several(entries, "entry", "entries")}. `}
        It has names, times, charges and hashes of answers, and no answer.
      </p>
      {trouble !== undefined && <Trouble>{trouble}</Trouble>}
    </>
  );
}

export function Runs({ apiKey }: { apiKey: string }) {
  const draft = usePending(() => fetchProgress(apiKey), [apiKey]);
  return (
    <ShowPending draft={draft}>
      {(found) =>
        found.length === 0 ? (
          <p>Neither rounds nor campaigns are served here.</p>
        ) : (
          <ul class="runs">
            {found.map((one) => (
              <RunShown key={`${one.noun} ${one.name}`} run={one} />
            ))}
          </ul>
        )
      }
    </ShowPending>
  );
}

function RunShown({ run: { noun, name, done, of, unit, state } }: { run: Progress }) {
  return (
    <li>
      <strong>{name}</strong> <span class="noun">{noun}</span>
      <span class="amount">
        {done.toLocaleString()}
        {of !== undefined && ` of ${of.toLocaleString()}`} {unit}; {state}
      </span>
      {of !== undefined && <progress value={done} max={of} aria-label={`${unit} of ${name}`} />}
    </li>
  );
}

export function useOverview(apiKey: string) {
  return usePending(() => fetchOverview(apiKey), [apiKey]);
}

function several(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}

/** "epsilon, in nats" is said once, above the table. */
function short(unit: string): string {
  return unit.split(",")[0] as string;
}
