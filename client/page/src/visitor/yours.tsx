/** What is hers: the budget, the code, and the end of it all. */

import { useRef, useState } from "preact/hooks";

import { Drafted, Trouble, useDraft } from "../parts/draft";
import { told } from "../service/asking";
import { ownBudget } from "../service/person";
import { adopt } from "./code";
import type { Visit } from "./visit";

export function Yours({ visit }: { visit: Visit }) {
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

function BudgetPanel({ visit }: { visit: Visit }) {
  const never = Object.keys(visit.sent).length === 0;
  const draft = useDraft(
    async () => (never ? { budgets: [] } : ownBudget(await visit.visitor())),
    [visit.sent],
  );
  return (
    <div class="panel">
      <h3>Your budget</h3>
      <Drafted draft={draft}>
        {({ budgets }) =>
          budgets.length === 0 ? (
            <p class="none">
              {never ? "You have sent nothing yet." : "Nothing was charged to you."} Disguised stars have no epsilon to count; answers by coin
              toss are counted on your device, which stops at its limit.
            </p>
          ) : (
            <ul class="budgets">
              {budgets.map(({ of, budget }) => (
                <li key={of}>
                  <span>{of}</span>
                  <span class="amount">{`${budget.spent} of ${budget.cap} (${budget.counted_in})`}</span>
                  <progress value={Number(budget.spent)} max={Number(budget.cap)} aria-label={`Spent: ${of}`} />
                </li>
              ))}
            </ul>
          )
        }
      </Drafted>
    </div>
  );
}

function CodePanel({ visit }: { visit: Visit }) {
  const [shown, setShown] = useState(false);
  const [said, setSaid] = useState("");
  const field = useRef<HTMLInputElement>(null);
  return (
    <div class="panel">
      <h3>Another device</h3>
      <p>
        With your code, another browser is the same visitor: the same stars give the same bytes
        there. Whoever has it can undo the disguise, so keep it to yourself.
      </p>
      <p>
        <button type="button" class="quiet" aria-expanded={shown} onClick={() => setShown(!shown)}>
          {shown ? "Hide my code" : "Show my code"}
        </button>
      </p>
      {shown && <code class="code">{visit.identity.code}</code>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const fits = adopt(field.current?.value ?? "");
          setSaid(fits ? "" : "That is not a code: it has 43 letters, digits, - and _.");
          if (fits) location.reload();
        }}
      >
        <label for="code">I have a code</label>
        <div class="row">
          <input id="code" ref={field} autocomplete="off" spellcheck={false} required />
          <button type="submit" class="quiet">
            Use it
          </button>
        </div>
        {said !== "" && <Trouble>{said}</Trouble>}
      </form>
    </div>
  );
}

function ErasePanel({ visit }: { visit: Visit }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const wish = useRef<string>(crypto.randomUUID());
  const [trouble, setTrouble] = useState<string>();
  const remove = async () => {
    dialog.current?.close();
    setTrouble(undefined);
    try {
      await visit.end(wish.current);
    } catch (error) {
      setTrouble(told(error));
    }
  };
  return (
    <div class="panel">
      <h3>Delete everything</h3>
      <p>
        The service forgets what it keeps of you, and this browser forgets your stars, your answer and
        your code. What was learned from letters already sent is not undone: a receipt says what.
      </p>
      <p>
        <button type="button" class="danger" onClick={() => dialog.current?.showModal()}>
          Delete everything
        </button>
      </p>
      {trouble !== undefined && <Trouble>{trouble}</Trouble>}
      <dialog ref={dialog} aria-labelledby="sure">
        <h2 id="sure">Delete everything of yours?</h2>
        <p>
          It cannot be brought back. You get a receipt of what is gone and what is not. Whoever begins
          anew is somebody new, for whom chance is drawn anew: letters about the same stars add up.
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
