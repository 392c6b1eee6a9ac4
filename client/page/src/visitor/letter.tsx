/** One letter, byte by byte, with its envelope and its button. */

import { useState } from "preact/hooks";

import { hex } from "../../../src/bytes.js";
import { sha256 } from "../../../src/randomness.js";
import { Trouble, useDraft, type Draft } from "../parts/draft";
import { headersOf, told } from "../service/asking";
import type { Visitor } from "../service/person";
import type { Sent } from "./kept";
import type { Letter, Part } from "./letters";

interface Given {
  readonly letter: Letter;
  readonly visitor: Draft<Visitor>;
  readonly sent: Sent | undefined;
  readonly onSend: () => Promise<void>;
}

export function LetterShown({ letter, visitor, sent, onSend }: Given) {
  const [state, setState] = useState<"ready" | "sending" | "sent">("ready");
  const [trouble, setTrouble] = useState<string>();
  const send = async () => {
    setState("sending");
    setTrouble(undefined);
    try {
      await onSend();
      setState("sent");
    } catch (error) {
      setTrouble(told(error));
      setState("ready");
    }
  };
  const why = trouble ?? visitor.trouble;
  const size = letter.body.length;
  const digest = useDraft(async () => hex(await sha256(letter.body)), [letter]);
  const again = sent !== undefined && sent.digest === digest.value;
  return (
    <>
      <table class="parts">
        <caption>
          {size} bytes, in {letter.parts.length} parts
        </caption>
        <thead>
          <tr>
            <th scope="col">Bytes</th>
            <th scope="col">What they mean</th>
          </tr>
        </thead>
        <tbody>
          {letter.parts.map((part, at) => (
            <PartRow key={at} part={part} />
          ))}
        </tbody>
      </table>
      <Envelope letter={letter} visitor={visitor} />
      {again && (
        <p>These are the bytes that you sent before: whoever reads them again learns nothing more.</p>
      )}
      <div class="bar">
        <p role="status">
          {state === "sent" || sent !== undefined
            ? `Sent${sent ? ` on ${when(sent.at)}` : ""}`
            : "Not sent"}
        </p>
        <button
          type="button"
          disabled={visitor.value === undefined}
          aria-disabled={state === "sending"} // not disabled: it would lose the focus
          onClick={() => state !== "sending" && void send()}
        >
          {state === "sending" ? "Sending …" : `Send these ${size} bytes${again ? " again" : ""}`}
        </button>
      </div>
      {why !== undefined && <Trouble>{why}</Trouble>}
    </>
  );
}

function PartRow({ part }: { part: Part }) {
  return (
    <tr>
      <td class="bytes">
        <code class="hex">{spaced(hex(part.bytes))}</code>
        {part.text !== undefined && <code class="text">{part.text}</code>}
      </td>
      <td>
        {part.meaning}
        {part.here !== undefined && <span class="here">stays here: {part.here}</span>}
        {part.bits !== undefined && (
          <ul class="bits">
            {part.bits.map((bit, at) => (
              <li key={at}>
                bit {at}: {bit}
              </li>
            ))}
          </ul>
        )}
      </td>
    </tr>
  );
}

/** What the page writes around the bytes; the key is shown in part, as it opens what is hers. */
function Envelope({ letter, visitor }: { letter: Letter; visitor: Draft<Visitor> }) {
  const key = visitor.value?.key;
  const headers = useDraft(
    () => headersOf({ method: "POST", octets: letter.body, ...(key === undefined ? {} : { key }) }),
    [letter, key],
  );
  return (
    <details class="envelope">
      <summary>The envelope around it</summary>
      <dl>
        <dt>Goes to</dt>
        <dd>
          <code>
            POST {location.origin}
            {letter.path}
          </code>
        </dd>
        {[...(headers.value ?? [])].map(([name, value]) => (
          <div key={name}>
            <dt>{MEANINGS[name] ?? name}</dt>
            <dd>
              <code>
                {name}: {name === "authorization" ? `${value.slice(0, 28)}…` : value}
              </code>
            </dd>
          </div>
        ))}
      </dl>
      <p>
        Your browser adds its usual headers: its name and version, your languages, this page's
        address. The service sees your internet address and the time.
      </p>
    </details>
  );
}

const MEANINGS: Record<string, string> = {
  authorization: "Your visitor's key: says that the same visitor comes again, not who",
  "content-type": "Says that bytes follow",
  "idempotency-key": "A digest of the bytes: a repetition is known as one",
};

function spaced(digits: string): string {
  return digits.replace(/(..)(?=.)/g, "$1 ");
}

export function when(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
