/** A visit to a service that has models but no letters: choose items, get a list. */

import { useMemo, useState } from "preact/hooks";

import { goTo, type Step } from "../route";
import type { Offers, ServedModel } from "../service/offers";
import { Choose } from "./choose";
import { useChoices, type ChoiceKeeping } from "./choices";
import { DeviceMaker } from "./list-making";
import { MadeList } from "./made-list";
import { readWantsPictures, storeWantsPictures } from "./picture";

/** A visit to one model. */
export interface ModelVisit {
  readonly model: ServedModel;
  /** Makes lists on this device; undefined if only the service can make them. */
  readonly maker: DeviceMaker | undefined;
  readonly keeping: ChoiceKeeping;
  readonly wantsPictures: boolean;
  readonly setWantsPictures: (wanted: boolean) => void;
}

const NAMES: readonly (readonly [Step, string])[] = [
  ["rate", "Choose"],
  ["list", "Your list"],
];

/** The two steps of a visit to a model, and the choice of the model if there are several. */
export function ModelSteps({ step, offers }: { step: Step; offers: Offers }) {
  const [name, setName] = useState(offers.released?.name ?? offers.models[0]?.name);
  const model = offers.models.find((offered) => offered.name === name) as ServedModel;
  const { released } = offers;
  const maker = useMemo(
    () => (released !== undefined && released.name === name ? new DeviceMaker(released.lists) : undefined),
    [released, name],
  );
  const keeping = useChoices(model.name);
  const [wantsPictures, setWantsPictures] = useState(readWantsPictures);
  const visit = {
    model,
    maker,
    keeping,
    wantsPictures,
    setWantsPictures: (wanted: boolean) => {
      storeWantsPictures(wanted);
      setWantsPictures(wanted);
    },
  };
  const isList = step === "list";
  return (
    <>
      {offers.models.length > 1 && (
        <ModelChoice models={offers.models} name={model.name} onChoose={setName} />
      )}
      <nav class="progress" aria-label="Steps of the visit">
        <ol>
          {NAMES.map(([listedStep, title], index) => {
            const isDone = listedStep === "rate" && keeping.choices.size > 0;
            const isCurrent = (listedStep === "list") === isList;
            return (
              <li key={listedStep} class={isDone ? "done" : undefined}>
                <a href={`#${listedStep}`} aria-current={isCurrent ? "step" : undefined}>
                  <span class="number" aria-hidden="true">
                    {isDone && !isCurrent ? "✓" : index + 1}
                  </span>
                  <span class="name">{title}</span>
                  {isDone && <span class="unseen">, done</span>}
                </a>
              </li>
            );
          })}
        </ol>
      </nav>
      {isList ? <MadeList visit={visit} /> : <Choose visit={visit} onNext={() => goTo("list")} />}
    </>
  );
}

/** The selection of one of several models. */
function ModelChoice(props: {
  models: readonly ServedModel[];
  name: string;
  onChoose: (name: string) => void;
}) {
  const { models, name, onChoose } = props;
  return (
    <div class="finder">
      <label>
        Lists of
        <select value={name} onChange={(event) => onChoose(event.currentTarget.value)}>
          {models.map((model) => (
            <option key={model.name} value={model.name}>
              {model.name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}
