/** A guarantee: its sentence, and the full card behind it. */

import { fetchGuarantee, type Card, type Guarantee } from "../service/cards";
import { ShowPending, usePending } from "./draft";

/** thing: for example `disclosures/films`. */
export function GuaranteeOf({ thing }: { thing: string }) {
  const draft = usePending(() => fetchGuarantee(thing), [thing]);
  return (
    <div class="guarantee">
      <ShowPending draft={draft}>{(found) => <GuaranteeShown guarantee={found} />}</ShowPending>
    </div>
  );
}

/** The promise as one sentence; the rest of it and the cards are behind a fold. */
export function PromiseInShort({ thing }: { thing: string }) {
  const draft = usePending(() => fetchGuarantee(thing), [thing]);
  return (
    <div class="guarantee">
      <ShowPending draft={draft}>
        {({ sentence, cards }) => {
          const first = /^.*?[.](?=\s|$)/s.exec(sentence)?.[0] ?? sentence;
          const rest = sentence.slice(first.length).trim();
          return (
            <>
              {cards[0] && <FirstLine card={cards[0]} />}
              <p class="promise">{first}</p>
              <details>
                <summary>On what conditions, and the full card</summary>
                {rest !== "" && <p>{rest}</p>}
                {cards.map((card) => (
                  <CardShown key={card.name} card={card} />
                ))}
              </details>
            </>
          );
        }}
      </ShowPending>
    </div>
  );
}

export function GuaranteeShown({ guarantee: { sentence, cards } }: { guarantee: Guarantee }) {
  return (
    <>
      {cards[0] && <FirstLine card={cards[0]} />}
      <p class="promise">{sentence}</p>
      {cards.length > 0 && (
        <details>
          <summary>{cards.length === 1 ? "The full card" : `The ${cards.length} cards in full`}</summary>
          {cards.map((card) => (
            <CardShown key={card.name} card={card} />
          ))}
        </details>
      )}
    </>
  );
}

function CardShown({ card }: { card: Card }) {
  return (
    <section class="card">
      <h3>{card.name}</h3>
      <FirstLine card={card} />
      <p>{card.sentence}</p>
      <dl>
        <Row name="Protects">{card.protects}</Row>
        <Row name="Against">{card.against}</Row>
        <Row name="Trusted">{card.trust}</Row>
        <Row name="Compared are">{`${card.adjacency.unit}: ${card.adjacency.change}`}</Row>
        <Row name="Basis">{card.basis}</Row>
        <Row name="Once">{amount(card.epsilon, card.delta)}</Row>
        <Row name="Over a lifetime">
          {card.lifetime_epsilon !== null && `${amount(card.lifetime_epsilon, card.lifetime_delta)}; `}
          {card.lifetime}
        </Row>
        <Several name="Assumes" texts={card.assumptions} />
        <Several name="Does not cover" texts={card.not_covered} />
        <Several
          name="Attacks"
          texts={card.measurements.map(
            (one) =>
              `${one.attack}, trained on ${one.trained_on} data, against ${one.release}: AUC ` +
              `${one.auc.toFixed(3)} (95 % interval ${one.low.toFixed(3)} to ${one.high.toFixed(3)}; ` +
              `0.5 is guessing), on ${one.data}`,
          )}
        />
        <Several name="Claims" texts={card.claims.map(({ text, verdict }) => `${text}: ${verdict}`)} />
        <Several name="Sources" texts={card.sources} />
      </dl>
    </section>
  );
}

/** The basis in plain words; a refuted claim in a colour of its own. */
function FirstLine({ card }: { card: Card }) {
  return <p class={card.basis === "refuted" ? "basis refuted" : "basis"}>{card.first_line}</p>;
}

function amount(epsilon: number | null, delta: number | null): string {
  if (epsilon === null) return "no epsilon";
  const short = Number(epsilon.toPrecision(4));
  return delta ? `epsilon ${short}, delta ${delta}` : `epsilon ${short}`;
}

function Row({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Several({ name, texts }: { name: string; texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <Row name={name}>
      <ul>
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Row>
  );
}
