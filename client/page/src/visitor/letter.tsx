/** The bytes of a letter with their meanings, and the request that sends them. */

import { toHex } from "../../../src/bytes.js";
import { usePending } from "../parts/pending";
import { makeHeaders } from "../service/requests";
import type { Letter, MessagePart } from "./letters";

/** A table of all parts of a letter, with their meanings. */
export function PartsShown({ letter }: { letter: Letter }) {
  return (
    <table class="parts">
      <caption>
        {letter.body.length} bytes, in {letter.parts.length} parts
      </caption>
      <thead>
        <tr>
          <th scope="col">Bytes</th>
          <th scope="col">What they mean</th>
        </tr>
      </thead>
      <tbody>
        {letter.parts.map((part, index) => (
          <PartRow key={index} part={part} />
        ))}
      </tbody>
    </table>
  );
}

/** The row of one part: its bytes, and what they mean. */
function PartRow({ part }: { part: MessagePart }) {
  return (
    <tr>
      <td class="bytes">
        <code class="hex">{spaceHex(toHex(part.bytes))}</code>
        {part.text !== undefined && <code class="text">{part.text}</code>}
      </td>
      <td>
        {part.meaning}
        {part.staysHere !== undefined && <span class="here">stays here: {part.staysHere}</span>}
        {part.bits !== undefined && (
          <ul class="bits">
            {part.bits.map((bit, index) => (
              <li key={index}>
                bit {index}: {bit}
              </li>
            ))}
          </ul>
        )}
      </td>
    </tr>
  );
}

/** The request that sends a letter, with its headers, and the request right before it. */
export function Envelope({ letter, token }: { letter: Letter; token: string }) {
  const headers = usePending(() => makeHeaders({ method: "POST", octets: letter.body }), [letter]);
  return (
    <details class="envelope">
      <summary>The envelope around it</summary>
      <dl>
        <dt>
          Right before, the page asks for a visitor's key, with a random number that is always yours
        </dt>
        <dd>
          <code>
            POST {location.origin}/api/visitors {JSON.stringify({ token })}
          </code>
        </dd>
        <dt>The letter goes to</dt>
        <dd>
          <code>
            POST {location.origin}
            {letter.path}
          </code>
        </dd>
        <dt>With the visitor's key: it says that the same visitor comes again, not who</dt>
        <dd>
          <code>authorization: Bearer …</code>
        </dd>
        {[...(headers.value ?? [])].map(([name, value]) => (
          <div key={name}>
            <dt>{MEANINGS[name] ?? name}</dt>
            <dd>
              <code>
                {name}: {value}
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
  "content-type": "Says that bytes follow",
  "idempotency-key": "A digest of the bytes: a repetition is known as one",
};

function spaceHex(digits: string): string {
  return digits.replace(/(..)(?=.)/g, "$1 ");
}

/** Write a time for people; it is given as text in ISO 8601, or in seconds since 1970. */
export function formatTime(time: string | number): string {
  const date = new Date(typeof time === "number" ? time * 1000 : time);
  return date.toLocaleString(undefined, { dateStyle: "full", timeStyle: "short" });
}
