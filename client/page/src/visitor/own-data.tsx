/** The visitor's own data: the budget, the code, and the deletion of everything. */

import { useRef, useState } from "preact/hooks";

import { ShowPending, Trouble, usePending } from "../parts/pending";
import { shareOf } from "../parts/share";
import { describeError } from "../service/requests";
import { epsilonOf } from "../parts/epsilon";
import { fetchOwnBudgets } from "../service/visitor";
import { adoptCode } from "./account";
import * as storage from "./storage";
import type { Visit } from "./visit";

/** All three panels. */
export function OwnData({ visit }: { visit: Visit }) {
  return (
    <section class="yours" aria-labelledby="yours">
      <h2 id="yours">What is yours</h2>
      <div class="panels">
        <BudgetPanel visit={visit} />
        <CodePanel visit={visit} />
        <ErasePanel visit={visit} />
      </div>
    </section>
  );
}

/**
 * The visitor's budgets. They are requested only by the button, because a request with the visitor's
 * key shows the service that the visitor is here.
 */
function BudgetPanel({ visit }: { visit: Visit }) {
  const [isRequested, setIsRequested] = useState(false);
  const hasSentNothing = Object.keys(visit.sent).length === 0;
  return (
    <div class="panel">
      <h3>Your budget</h3>
      <p>
        {hasSentNothing && "You have sent nothing yet. "}Disguised stars have no epsilon to count; answers by
        coin toss are counted on your device, which stops at its limit.
      </p>
      {!hasSentNothing && !isRequested && (
        <button type="button" class="quiet" onClick={() => setIsRequested(true)}>
          Ask the service what it counted
        </button>
      )}
      {isRequested && <ChargedBudgets visit={visit} />}
    </div>
  );
}

/** The budgets that the service counts for this visitor, fetched again after each message sent. */
function ChargedBudgets({ visit }: { visit: Visit }) {
  const pending = usePending(async () => fetchOwnBudgets(await visit.visitor()), [visit.sent]);
  return (
    <ShowPending pending={pending}>
      {({ budgets }) =>
        budgets.length === 0 ? (
          <p class="none">Nothing was charged to you.</p>
        ) : (
          <ul class="budgets">
            {budgets.map(({ of, budget }) => (
              <li key={of}>
                <strong>
                  You have used {shareOf(Number(budget.epsilon), Number(budget.epsilon_cap))}
                </strong>
                <span class="of">of {of}</span>
                <span class="amount">{epsilonOf(budget)}</span>
                <progress
                  value={Number(budget.epsilon)}
                  max={Number(budget.epsilon_cap)}
                  aria-label={`Spent: ${of}`}
                />
              </li>
            ))}
          </ul>
        )
      }
    </ShowPending>
  );
}

/** The visitor's code, and the form that adopts the code of another browser. */
function CodePanel({ visit }: { visit: Visit }) {
  const [isShown, setIsShown] = useState(false);
  const [message, setMessage] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const adopt = async (text: string) => {
    const rated = [...visit.stars.keys(), ...storage.readRatings().keys()];
    try {
      const isAdopted = await adoptCode(visit.identity, text, rated);
      setMessage(isAdopted ? "" : "That is not a code: it has 43 letters, digits, - and _.");
      if (isAdopted) location.reload();
    } catch (error) {
      setMessage(describeError(error));
    }
  };
  return (
    <div class="panel">
      <h3>Another device</h3>
      <p>
        With your code, another browser is the same visitor. What was decided here is kept here
        alone, so letters with disguised stars leave only from the browser that made the code. A
        person who has the code can undo the disguise: keep it to yourself.
      </p>
      <p>
        <button
          type="button"
          class="quiet"
          aria-expanded={isShown}
          onClick={() => setIsShown(!isShown)}
        >
          {isShown ? "Hide my code" : "Show my code"}
        </button>
      </p>
      {isShown && <code class="code">{visit.identity.code}</code>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void adopt(field.current?.value ?? "");
        }}
      >
        {visit.identity.adopted !== "" && (
          <p class="stays">
            Your code came from another browser, which decides what its letters hold. No letter
            leaves from here. Your list made here uses all that you rate here.
          </p>
        )}
        <label for="code">I have a code</label>
        <div class="row">
          <input id="code" ref={field} autocomplete="off" spellcheck={false} required />
          <button type="submit" class="quiet">
            Use it
          </button>
        </div>
        {message !== "" && <Trouble>{message}</Trouble>}
      </form>
    </div>
  );
}

/** The button that deletes everything, after a question in a dialog. */
function ErasePanel({ visit }: { visit: Visit }) {
  const { words } = visit.offer;
  const dialog = useRef<HTMLDialogElement>(null);
  const idempotency = useRef<string>(crypto.randomUUID());
  const [trouble, setTrouble] = useState<string>();
  const remove = async () => {
    dialog.current?.close();
    setTrouble(undefined);
    try {
      await visit.end(idempotency.current);
    } catch (error) {
      setTrouble(describeError(error));
    }
  };
  return (
    <div class="panel">
      <h3>Delete everything</h3>
      <p>
        The service forgets what it keeps of you, and this browser forgets your stars, your answer
        and your code. What was learned from letters already sent is not undone: a receipt says
        what.
      </p>
      <p>
        <button type="button" class="danger" onClick={() => dialog.current?.showModal()}>
          Delete everything
        </button>
      </p>
      {trouble !== undefined && <Trouble>{trouble}</Trouble>}
      <dialog ref={dialog} aria-labelledby="sure">
        <h2 id="sure">Delete everything of yours?</h2>
        <p>It cannot be brought back. You get a receipt of what is gone and what is not.</p>
        <p>
          If letters left from here, this browser keeps the numbers of the {words.many} they were
          decided from, without stars, so that a new visitor here never sends them. If that is
          erased too, by clearing the browser or in another one, rating the same {words.many} again
          on a new account shows two draws. A service that finds out that both are you then reads what you hid, with
          certainty.
        </p>
        <div class="row">
          <button type="button" class="quiet" onClick={() => dialog.current?.close()}>
            Keep it
          </button>
          <button type="button" class="danger" onClick={() => void remove()}>
            Delete
          </button>
        </div>
      </dialog>
    </div>
  );
}
