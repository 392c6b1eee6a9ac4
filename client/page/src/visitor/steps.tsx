/** The four steps of a visit, in their order; every one can be gone back to. */

import { Trouble } from "../parts/draft";
import { ModelSteps } from "../lists/model-visit";
import { goTo, STEPS, type Step } from "../route";
import { Hide } from "./hide";
import { List } from "./list";
import { Rate } from "./rate";
import { Receipt } from "./receipt";
import { Send } from "./send";
import { hasAllValues, type VisitState, type Visit } from "./visit";

const NAMES: Record<Step, string> = {
  rate: "Rate",
  list: "Your list",
  hide: "Hide",
  send: "What leaves",
};

export function VisitorSteps({ step, state }: { step: Step; state: VisitState }) {
  const { visit, modelsAlone, trouble, ended: over } = state;
  if (over !== undefined) return <Receipt over={over} />;
  if (trouble !== undefined) {
    return (
      <section class="lead">
        <h1 tabIndex={-1}>The visit cannot begin</h1>
        <Trouble>{trouble}</Trouble>
        <button type="button" onClick={() => location.reload()}>
          Try again
        </button>
      </section>
    );
  }
  if (modelsAlone !== undefined) return <ModelSteps step={step} offers={modelsAlone} />;
  if (visit === undefined) {
    return (
      <section class="lead waiting" aria-busy="true">
        <h1 tabIndex={-1}>One moment</h1>
        <p role="status">Fetching what is on offer …</p>
      </section>
    );
  }
  return (
    <>
      <Progress step={step} visit={visit} />
      {step === "rate" && <Rate visit={visit} onNext={() => goTo("list")} />}
      {step === "list" && <List visit={visit} />}
      {step === "hide" && <Hide visit={visit} onNext={() => goTo("send")} />}
      {step === "send" && <Send visit={visit} />}
    </>
  );
}

function Progress({ step, visit }: { step: Step; visit: Visit }) {
  const done: Record<Step, boolean> = {
    rate: visit.stars.size > 0,
    list: false,
    hide: hasAllValues(visit),
    send: visit.letters.allowedDisclosure !== "",
  };
  return (
    <nav class="progress" aria-label="Steps of the visit">
      <ol>
        {STEPS.map((each, at) => (
          <li key={each} class={done[each] ? "done" : undefined}>
            <a href={`#${each}`} aria-current={each === step ? "step" : undefined}>
              <span class="number" aria-hidden="true">
                {done[each] && each !== step ? "✓" : at + 1}
              </span>
              <span class="name">{NAMES[each]}</span>
              {done[each] && <span class="unseen">, done</span>}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
