/** A few answers by coin toss: a letter of fixed size that leaves by its button. */

import { useState } from "preact/hooks";

import { hex } from "../../../src/bytes.js";
import { sha256 } from "../../../src/randomness.js";
import { Drafted, Trouble, useDraft } from "../parts/draft";
import { GuaranteeOf } from "../parts/guarantee";
import { told } from "../service/asking";
import type { Question } from "../service/offers";
import { Envelope, PartsShown, when } from "./letter";
import { draftReport, type Report } from "./letters";
import type { Visit } from "./visit";

export function ReportLetter({ visit, question }: { visit: Visit; question: Question }) {
  const { stars, identity } = visit;
  const draft = useDraft<Report>(() => draftReport(question, stars, identity), [question, stars]);
  const id = `report-${question.name}`;
  return (
    <article class="letter" aria-labelledby={id}>
      <h2 id={id}>A few answers, by coin toss</h2>
      <p>
        The service groups films by what people like together. It asks everybody a few random
        questions; your device answers the opposite of the truth now and then, and no one can tell
        when. No list needs this letter. It has the same size whatever you rated.
      </p>
      <Drafted draft={draft}>
        {(report) => (
          <>
            <PartsShown letter={report} />
            <Envelope letter={report} token={identity.token} />
            <Sending visit={visit} report={report} />
            <GuaranteeOf thing={`campaigns/${question.name}`} />
          </>
        )}
      </Drafted>
    </article>
  );
}

function Sending({ visit, report }: { visit: Visit; report: Report }) {
  const [sending, setSending] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  const sent = visit.sent[report.path];
  const digest = useDraft(async () => hex(await sha256(report.body)), [report]);
  const again = sent !== undefined && sent.digest === digest.value;
  const send = async () => {
    setSending(true);
    setTrouble(undefined);
    try {
      await visit.sendReport(report);
    } catch (error) {
      setTrouble(told(error));
    }
    setSending(false);
  };
  return (
    <>
      {again && (
        <p>These are the bytes that you sent before: who reads them again learns nothing more.</p>
      )}
      <div class="bar">
        <p role="status">{sent === undefined ? "Not sent" : `Sent on ${when(sent.at)}`}</p>
        <button
          type="button"
          aria-disabled={sending} // not disabled: it would lose the focus
          onClick={() => !sending && void send()}
        >
          {sending ? "Sending …" : `Send these ${report.body.length} bytes${again ? " again" : ""}`}
        </button>
      </div>
      {trouble !== undefined && <Trouble>{trouble}</Trouble>}
    </>
  );
}
