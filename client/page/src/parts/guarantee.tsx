/** A guarantee: its sentence, and the full card behind it. */

import { fetchGuarantee, type Card, type Guarantee } from "../service/cards";
import { ShowPending, usePending } from "./pending";

/** The guarantee of one thing that is served, such as `disclosures/films`. */
export function GuaranteeOf({ thing }: { thing: string }) {
  const pending = usePending(() => fetchGuarantee(thing), [thing]);
  return (
    <div class="guarantee">
      <ShowPending pending={pending}>{(value) => <GuaranteeShown guarantee={value} />}</ShowPending>
    </div>
  );
}

/** The first sentence of a guarantee; the others and the cards can be unfolded. */
export function PromiseInShort({ thing }: { thing: string }) {
  const pending = usePending(() => fetchGuarantee(thing), [thing]);
  return (
    <div class="guarantee">
      <ShowPending pending={pending}>
        {({ sentence, cards }) => {
          const firstSentence = /^.*?[.](?=\s|$)/s.exec(sentence)?.[0] ?? sentence;
          const otherSentences = sentence.slice(firstSentence.length).trim();
          return (
            <>
              {cards[0] && <FirstLine card={cards[0]} />}
              <p class="promise">{firstSentence}</p>
              <details>
                <summary>On what conditions, and the full card</summary>
                {otherSentences !== "" && <p>{otherSentences}</p>}
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

/** A guarantee that was fetched; its cards can be unfolded. */
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

/** All facts of one card. */
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
        <Row name="Once">{formatLoss(card.epsilon, card.delta)}</Row>
        <Row name="Over a lifetime">
          {card.lifetime_epsilon !== null &&
            `${formatLoss(card.lifetime_epsilon, card.lifetime_delta)}; `}
          {card.lifetime}
        </Row>
        <Several name="Assumes" texts={card.assumptions} />
        <Several name="Does not cover" texts={card.not_covered} />
        <Several
          name="Attacks"
          texts={card.measurements.map(
            ({ attack, trained_on, release, auc, low, high, data }) =>
              `${attack}, trained on ${trained_on} data, against ${release}: AUC ` +
              `${auc.toFixed(3)} (95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}; ` +
              `0.5 is guessing), on ${data}`,
          )}
        />
        <Several name="Claims" texts={card.claims.map(({ text, verdict }) => `${text}: ${verdict}`)} />
        <Several name="Sources" texts={card.sources} />
      </dl>
    </section>
  );
}

/** The basis of a card in plain words; that of a refuted claim has its own colour. */
function FirstLine({ card }: { card: Card }) {
  return <p class={card.basis === "refuted" ? "basis refuted" : "basis"}>{card.first_line}</p>;
}

/** Write an epsilon with four digits, and its delta unless that is 0 or null. */
function formatLoss(epsilon: number | null, delta: number | null): string {
  if (epsilon === null) return "no epsilon";
  const rounded = Number(epsilon.toPrecision(4));
  return delta ? `epsilon ${rounded}, delta ${delta}` : `epsilon ${rounded}`;
}

function Row({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A row with a list of texts; nothing for no texts. */
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
