/** The receipt of a deleted visit: what is gone, and what stays. */

import { useEffect, useRef } from "preact/hooks";

import { countOf } from "../service/catalogue";
import type { VisitState } from "./visit";

/** The receipt. What the visitor sent comes first; other things that are served can be unfolded. */
export function Receipt({
  ended: { service, frozen, used, words },
}: {
  ended: NonNullable<VisitState["ended"]>;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const bounds = service?.bounded_by ?? [];
  const boundsOfUsed = used
    .map((address) => bounds.find(({ of }) => of === address))
    .filter((bound) => bound !== undefined);
  const sentencesOfUsed = boundsOfUsed.map(({ sentence }) => sentence);
  const namesOfUsed = used.map((address) => ` ${address.split("/")[1]}`);
  const sent = (service?.cannot_be_recalled ?? []).filter(
    (text) => SENT.test(text) && namesOfUsed.some((name) => text.includes(name)),
  );
  const staysHere =
    frozen === 0
      ? []
      : [
          `the numbers of ${countOf(frozen, words)}, without stars: letters of a new visitor never ` +
            "hold them",
        ];
  return (
    <section class="lead">
      <h1 ref={heading} tabIndex={-1}>
        Deleted
      </h1>
      <p>
        {service === undefined ? (
          "Nothing was ever sent, so the service had nothing to delete."
        ) : (
          <>
            This is the receipt of <code>{service.user}</code>.
          </>
        )}
      </p>
      <div class="receipt">
        <TextList
          name="Gone from this browser"
          texts={["your stars, your answer and your code", "what your device had decided and sent"]}
        />
        <TextList name="Stays in this browser" texts={staysHere} />
        {service !== undefined && (
          <>
            <TextList name="Gone from the service" texts={service.gone} />
            <TextList name="What you sent, and cannot be called back" texts={sent} />
            {sentencesOfUsed.length > 0 && (
              <TextList name="What bounds that" texts={sentencesOfUsed} />
            )}
            <TextList name="Stays with the service" texts={service.kept} />
            <details>
              <summary>More about it, and everything else that is served here</summary>
              <TextList
                name="Cannot be called back"
                texts={service.cannot_be_recalled.filter((text) => !sent.includes(text))}
              />
              <TextList
                name="What bounds it"
                texts={bounds
                  .filter((bound) => !boundsOfUsed.includes(bound))
                  .map(({ of, sentence }) => `${of}: ${sentence}`)}
              />
            </details>
          </>
        )}
      </div>
      <p>
        <button type="button" onClick={() => location.replace("/")}>
          Begin anew
        </button>
      </p>
    </section>
  );
}

/** Matches the sentences about what a visitor of this page may have sent. */
const SENT = /^(a report|letters)/;

/** A list of texts below a heading; "nothing" for no texts. */
function TextList({ name, texts }: { name: string; texts: readonly string[] }) {
  return (
    <>
      <h2>{name}</h2>
      <ul>
        {texts.length === 0 && <li>nothing</li>}
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </>
  );
}
