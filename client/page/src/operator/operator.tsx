/** The operator's view: what was spent, and what is promised. */

import { useRef, useState } from "preact/hooks";

import { ShowPending, Trouble, usePending } from "../parts/pending";
import { GuaranteeShown } from "../parts/guarantee";
import { describeError } from "../service/requests";
import { fetchGuarantees } from "../service/cards";
import { fetchBudgets, fetchLog } from "../service/operator";
import { Budgets } from "./budgets";
import { Ledger, Refusals, Runs, Spending, useOverview } from "./panels";
import { Splits } from "./splits";

/** The operator's view; before a key is accepted, the form that asks for it. */
export function Operator() {
  const [key, setKey] = useState<string>();
  return key === undefined ? (
    <KeyForm onKey={setKey} />
  ) : (
    <Overview key={key} apiKey={key} onLeave={() => setKey(undefined)} />
  );
}

/** The form that asks for the operator's key and tries it. */
function KeyForm({ onKey }: { onKey: (key: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [trouble, setTrouble] = useState<string>();
  const [isTrying, setIsTrying] = useState(false);
  const tryKey = async (event: SubmitEvent) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    setIsTrying(true);
    setTrouble(undefined);
    try {
      await fetchBudgets(key, 0);
      onKey(key);
    } catch (error) {
      setTrouble(describeError(error));
      field.current?.focus();
    } finally {
      setIsTrying(false);
    }
  };
  return (
    <section class="lead">
      <h1 tabIndex={-1}>Operator</h1>
      <p>
        Spending, refusals, the ledger, budgets, guarantees. The key stays in this page's memory: a
        reload forgets it.
      </p>
      <form class="door" onSubmit={(event) => void tryKey(event)}>
        <label for="key">Operator's key</label>
        <div class="row">
          <input
            id="key"
            type="password"
            ref={field}
            autocomplete="off"
            spellcheck={false}
            required
          />
          <button type="submit" disabled={isTrying}>
            Open
          </button>
        </div>
        {trouble !== undefined && <Trouble>{trouble}</Trouble>}
      </form>
    </section>
  );
}

/** All panels of the operator's view. */
function Overview({ apiKey, onLeave }: { apiKey: string; onLeave: () => void }) {
  const guarantees = usePending(fetchGuarantees, []);
  const log = usePending(() => fetchLog(apiKey), [apiKey]);
  const overview = useOverview(apiKey);
  return (
    <section aria-labelledby="operate">
      <div class="lead with-action">
        <h1 id="operate" tabIndex={-1}>
          Operator
        </h1>
        <button type="button" class="quiet" onClick={onLeave}>
          Forget the key
        </button>
      </div>
      <p class="more-about">
        Everything here follows from the log, from counts of requests, which you have anyway, and
        from daily figures with noise, which are charged when a day is over. No count is of what
        people rated.
      </p>
      <section class="panel" aria-labelledby="spending">
        <h2 id="spending">Spending over time</h2>
        <p>
          Amounts of epsilon are in nats. A sum over people measures use: no one's loss is that
          large.
        </p>
        <ShowPending pending={overview}>{(value) => <Spending overview={value} />}</ShowPending>
      </section>
      <section class="panel" aria-labelledby="refused">
        <h2 id="refused">Refused, and why</h2>
        <p>Counts of requests since the service started; of no one in particular.</p>
        <Refusals apiKey={apiKey} />
      </section>
      <section class="panel" aria-labelledby="health">
        <h2 id="health">The ledger</h2>
        <ShowPending pending={overview}>
          {(overviewValue) => (
            <ShowPending pending={log}>
              {(logValue) => <Ledger overview={overviewValue} log={logValue} apiKey={apiKey} />}
            </ShowPending>
          )}
        </ShowPending>
      </section>
      <section class="panel" aria-labelledby="splits">
        <h2 id="splits">Private lists beside popular items</h2>
        <Splits apiKey={apiKey} />
      </section>
      <section class="panel" aria-labelledby="runs">
        <h2 id="runs">Rounds and campaigns</h2>
        <Runs apiKey={apiKey} />
      </section>
      <section class="panel" aria-labelledby="budgets">
        <h2 id="budgets">Budgets</h2>
        <Budgets apiKey={apiKey} />
      </section>
      <section class="panel" aria-labelledby="guarantees">
        <h2 id="guarantees">Guarantees</h2>
        <ShowPending pending={guarantees}>
          {(list) => (
            <ul class="guarantees">
              {list.map((guarantee) => (
                <li key={`${guarantee.noun}/${guarantee.name}`}>
                  <h3>
                    {guarantee.name} <span class="noun">{guarantee.noun}</span>
                  </h3>
                  <GuaranteeShown guarantee={guarantee} />
                </li>
              ))}
            </ul>
          )}
        </ShowPending>
      </section>
    </section>
  );
}
