/** The four steps of a visit. A person can go back to each of them. */

import { Trouble } from "../parts/pending";
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

/** The step of the visit that the address names, or what is shown instead of a visit. */
export function VisitorSteps({ step, state }: { step: Step; state: VisitState }) {
  const { visit, modelsAlone, trouble, ended } = state;
  if (ended !== undefined) return <Receipt ended={ended} />;
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

/** Links to all steps, which show the steps that are done and the present one. */
function Progress({ step, visit }: { step: Step; visit: Visit }) {
  const isDone: Record<Step, boolean> = {
    rate: visit.stars.size > 0,
    list: false,
    hide: hasAllValues(visit),
    send: visit.letters.allowedDisclosure !== "",
  };
  return (
    <nav class="progress" aria-label="Steps of the visit">
      <ol>
        {STEPS.map((listedStep, index) => (
          <li key={listedStep} class={isDone[listedStep] ? "done" : undefined}>
            <a href={`#${listedStep}`} aria-current={listedStep === step ? "step" : undefined}>
              <span class="number" aria-hidden="true">
                {isDone[listedStep] && listedStep !== step ? "✓" : index + 1}
              </span>
              <span class="name">{NAMES[listedStep]}</span>
              {isDone[listedStep] && <span class="unseen">, done</span>}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
