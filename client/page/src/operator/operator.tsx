/** The operator's view: what was spent, and what is promised. */

import { useRef, useState } from "preact/hooks";

import { ShowPending, Trouble, usePending } from "../parts/draft";
import { GuaranteeShown } from "../parts/guarantee";
import { describeError } from "../service/requests";
import { fetchGuarantees } from "../service/cards";
import { fetchBudgets, fetchLog } from "../service/operator";
import { Budgets } from "./budgets";
import { Ledger, Refusals, Runs, Spending, useOverview } from "./panels";
import { Splits } from "./splits";

export function Operator() {
  const [key, setKey] = useState<string>();
  return key === undefined ? (
    <Door onKey={setKey} />
  ) : (
    <Overview key={key} apiKey={key} onLeave={() => setKey(undefined)} />
  );
}

function Door({ onKey }: { onKey: (key: string) => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [trouble, setTrouble] = useState<string>();
  const [asking, setAsking] = useState(false);
  const enter = async (event: SubmitEvent) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    setAsking(true);
    setTrouble(undefined);
    try {
      await fetchBudgets(key, 0);
      onKey(key);
    } catch (error) {
      setTrouble(describeError(error));
      field.current?.focus();
    } finally {
      setAsking(false);
    }
  };
  return (
    <section class="lead">
      <h1 tabIndex={-1}>Operator</h1>
      <p>
        Spending, refusals, the ledger, budgets, guarantees. The key stays in this page's memory: a
        reload forgets it.
      </p>
      <form class="door" onSubmit={(event) => void enter(event)}>
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
          <button type="submit" disabled={asking}>
            Open
          </button>
        </div>
        {trouble !== undefined && <Trouble>{trouble}</Trouble>}
      </form>
    </section>
  );
}

function Overview({ apiKey, onLeave }: { apiKey: string; onLeave: () => void }) {
  const promised = usePending(fetchGuarantees, []);
  const logged = usePending(() => fetchLog(apiKey), [apiKey]);
  const running = useOverview(apiKey);
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
        <ShowPending draft={running}>{(found) => <Spending found={found} />}</ShowPending>
      </section>
      <section class="panel" aria-labelledby="refused">
        <h2 id="refused">Refused, and why</h2>
        <p>Counts of requests since the service started; of no one in particular.</p>
        <Refusals apiKey={apiKey} />
      </section>
      <section class="panel" aria-labelledby="health">
        <h2 id="health">The ledger</h2>
        <ShowPending draft={running}>
          {(found) => (
            <ShowPending draft={logged}>
              {(read) => <Ledger found={found} log={read} apiKey={apiKey} />}
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
        <ShowPending draft={promised}>
          {(found) => (
            <ul class="guarantees">
              {found.map((each) => (
                <li key={`${each.noun}/${each.name}`}>
                  <h3>
                    {each.name} <span class="noun">{each.noun}</span>
                  </h3>
                  <GuaranteeShown guarantee={each} />
                </li>
              ))}
            </ul>
          )}
        </ShowPending>
      </section>
    </section>
  );
}
