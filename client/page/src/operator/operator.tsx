/** The operator's view: what was spent, what is promised, what privacy costs. */

import { useRef, useState } from "preact/hooks";

import { Drafted, Trouble, useDraft } from "../parts/draft";
import { GuaranteeShown } from "../parts/guarantee";
import { told } from "../service/asking";
import { allGuarantees } from "../service/cards";
import { budgets, curves, log, type Log } from "../service/operating";
import { Budgets } from "./budgets";
import { CurveShown } from "./curve";

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
      await budgets(key, 0);
      onKey(key);
    } catch (error) {
      setTrouble(told(error));
      field.current?.focus();
    } finally {
      setAsking(false);
    }
  };
  return (
    <section class="lead">
      <h1 tabIndex={-1}>Operator</h1>
      <p>
        Budgets, guarantees and what privacy costs. The key stays in this page's memory: a reload
        forgets it.
      </p>
      <form class="door" onSubmit={(event) => void enter(event)}>
        <label for="key">Operator's key</label>
        <div class="row">
          <input id="key" type="password" ref={field} autocomplete="off" spellcheck={false} required />
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
  const promised = useDraft(allGuarantees, []);
  const logged = useDraft(() => log(apiKey), [apiKey]);
  const measured = useDraft(() => curves(apiKey), [apiKey]);
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
      <section class="panel" aria-labelledby="budgets">
        <h2 id="budgets">Budgets</h2>
        <Budgets apiKey={apiKey} />
        <Drafted draft={logged}>{(found) => <p class="log">{standing(found)}</p>}</Drafted>
      </section>
      <section class="panel" aria-labelledby="curves">
        <h2 id="curves">What privacy costs</h2>
        <Drafted draft={measured}>
          {(found) =>
            found.length === 0 ? (
              <p>No curves came with what is served here.</p>
            ) : (
              <div class="curves">
                {found.map((each) => (
                  <CurveShown key={`${each.model} ${each.curve.title}`} {...each} />
                ))}
              </div>
            )
          }
        </Drafted>
      </section>
      <section class="panel" aria-labelledby="guarantees">
        <h2 id="guarantees">Guarantees</h2>
        <Drafted draft={promised}>
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
        </Drafted>
      </section>
    </section>
  );
}

/** Whether the log and every table agree, in a sentence. */
function standing({ entries, replayed }: Log): string {
  const length = entries === 1 ? "1 entry" : `${entries} entries`;
  if (replayed === null) return `The log has ${length}. It is being replayed: look again.`;
  if (!replayed.sound) return `The log does not agree with its tables: ${replayed.problems.join("; ")}`;
  return `The log has ${length}. Replayed up to entry ${replayed.entries}, it agrees with every table.`;
}
