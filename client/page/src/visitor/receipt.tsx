/** What the service says it deleted, and what it cannot. */

import { useEffect, useRef } from "preact/hooks";

import { countOf } from "../service/catalogue";
import type { VisitState } from "./visit";

export function Receipt({
  over: { service, frozen, used, words },
}: {
  over: NonNullable<VisitState["ended"]>;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const bounds = service?.bounded_by ?? [];
  const first = used
    .map((one) => bounds.find(({ of }) => of === one))
    .filter((one) => one !== undefined);
  const own = first.map(({ sentence }) => sentence);
  const names = used.map((one) => ` ${one.split("/")[1]}`);
  const sent = (service?.cannot_be_recalled ?? []).filter(
    (text) => SENT.test(text) && names.some((name) => text.includes(name)),
  );
  const stays =
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
        <Several
          name="Gone from this browser"
          texts={["your stars, your answer and your code", "what your device had decided and sent"]}
        />
        <Several name="Stays in this browser" texts={stays} />
        {service !== undefined && (
          <>
            <Several name="Gone from the service" texts={service.gone} />
            <Several name="What you sent, and cannot be called back" texts={sent} />
            {own.length > 0 && <Several name="What bounds that" texts={own} />}
            <Several name="Stays with the service" texts={service.kept} />
            <details>
              <summary>More about it, and everything else that is served here</summary>
              <Several
                name="Cannot be called back"
                texts={service.cannot_be_recalled.filter((text) => !sent.includes(text))}
              />
              <Several
                name="What bounds it"
                texts={bounds
                  .filter((one) => !first.includes(one))
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

/** Of all that the service cannot take back, what a visitor of this page may have sent. */
const SENT = /^(a report|letters)/;

function Several({ name, texts }: { name: string; texts: readonly string[] }) {
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
