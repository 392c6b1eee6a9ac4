/** What the service says it deleted, and what it cannot. */

import { useEffect, useRef } from "preact/hooks";

import type { ReceiptGiven } from "../service/person";

export function Receipt({ receipt }: { receipt: ReceiptGiven }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  const bounds = receipt.bounded_by.map(({ of, sentence }) => `${of}: ${sentence}`);
  return (
    <section class="lead">
      <h1 ref={heading} tabIndex={-1}>
        Deleted
      </h1>
      <p>
        This is the receipt of <code>{receipt.user}</code>.
      </p>
      <div class="receipt">
      <Several name="Gone from the service" texts={receipt.gone} />
      <Several
        name="Gone from this browser"
        texts={["your stars, your answer and your code", "what your device had drawn and sent"]}
      />
      <Several name="Cannot be called back" texts={receipt.cannot_be_recalled} />
      <Several name="What bounds it" texts={bounds} />
      <Several name="Stays with the service" texts={receipt.kept} />
      </div>
      <p>
        <button type="button" onClick={() => location.replace("/")}>
          Begin anew
        </button>
      </p>
    </section>
  );
}

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
