/** One visit: what was rated, what is hidden, what was sent, and what came back. */

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

import { hex } from "../../../src/bytes.js";
import type { ItemId } from "../../../src/items.js";
import { sha256 } from "../../../src/randomness.js";
import { Device } from "../../../src/standard-scheme/device.js";
import { Scores } from "../../../src/standard-scheme/messages.js";
import { PassingStore } from "../../../src/memory.js";
import { askOctets, told } from "../service/asking";
import { fetchOffers, type Offer, type Offers } from "../service/offers";
import { erase, visitorFor, type ReceiptGiven, type Visitor } from "../service/person";
import { identity, type Identity } from "./code";
import * as kept from "./kept";
import type { Letter } from "./letters";

export interface Visit {
  readonly offers: Offers;
  readonly identity: Identity;
  readonly offer: Offer;
  readonly choose: (name: string) => void;
  readonly stars: kept.Stars;
  readonly rate: (item: ItemId, stars: number | undefined) => void;
  readonly values: kept.Values;
  readonly setValues: (values: kept.Values) => void;
  readonly sent: Readonly<Record<string, kept.Sent>>;
  readonly send: (letter: Letter) => Promise<Uint8Array>;
  readonly visitor: () => Promise<Visitor>;
  readonly predictions: ReadonlyMap<ItemId, number> | undefined;
  /** Deletes everything, there and here. wish: the same for every try. */
  readonly end: (wish: string) => Promise<void>;
  readonly complete: (scores: Uint8Array) => Promise<void>;
}

/** Fewer rated films say too little for a list. */
export const FEWEST = 5;

/** Whether the visitor's own value of every hidden attribute is known here. */
export function isAnswered({ offer, values }: Visit): boolean {
  return offer.disclosure.attributes.every(({ name, values: known }) =>
    known.includes(values[name] ?? ""),
  );
}

/** The visit, or the sentence that says why there is none. Neither while it is being fetched. */
export interface Begun {
  readonly visit?: Visit;
  readonly trouble?: string;
  /** The visit is over. */
  readonly receipt?: ReceiptGiven;
}

interface Fetched {
  readonly offers: Offers;
  readonly identity: Identity;
}

/** wanted: whether somebody visits; before that, nothing is fetched and nothing is kept. */
export function useVisit(wanted: boolean): Begun {
  const [begun, setBegun] = useState<Fetched>();
  const [trouble, setTrouble] = useState<string>();
  const [chosen, setChosen] = useState<string>();
  const [stars, setStars] = useState<kept.Stars>(kept.keptStars);
  const [values, setValues] = useState(kept.keptValues);
  const [sent, setSent] = useState(kept.keptSent);
  const visitor = useRef<Promise<Visitor> | undefined>(undefined);
  const [receipt, setReceipt] = useState<ReceiptGiven>();
  const [predictions, setPredictions] = useState<ReadonlyMap<ItemId, number>>();

  useEffect(() => {
    if (!wanted || begun !== undefined) return;
    Promise.all([fetchOffers(), identity()])
      .then(([offers, identity]) => setBegun({ offers, identity }))
      .catch((error: unknown) => setTrouble(told(error)));
  }, [wanted]);
  const rate = useCallback((item: ItemId, given: number | undefined) => {
    setStars((before) => {
      const after = new Map(before);
      if (given === undefined) after.delete(item);
      else after.set(item, given);
      kept.keepStars(after);
      return after;
    });
  }, []);

  if (receipt !== undefined) return { receipt };
  if (trouble !== undefined) return { trouble };
  if (begun === undefined) return {};
  const { offers } = begun;
  const offer = offers.offers.find(({ name }) => name === chosen) ?? offers.offers[0];
  if (offer === undefined) {
    return { trouble: "This service offers nothing that hides an attribute, so there is no visit." };
  }
  const who = () => {
    if (visitor.current === undefined) {
      visitor.current = visitorFor(begun.identity.token);
      visitor.current.catch(() => (visitor.current = undefined)); // asked again, it may work
    }
    return visitor.current;
  };
  return {
    visit: {
      ...begun,
      offer,
      choose: setChosen,
      stars,
      rate,
      values: values[offer.name] ?? {},
      setValues: (own) => {
        const all = { ...values, [offer.name]: own };
        kept.keepValues(all);
        setValues(all);
      },
      sent,
      send: async (letter) => {
        const { key } = await who();
        await letter.seal();
        const answer = await askOctets(letter.path, { method: "POST", key, octets: letter.body });
        const digest = hex(await sha256(letter.body));
        const record = { at: new Date().toISOString(), bytes: letter.body.length, digest };
        setSent((before) => {
          const all = { ...before, [letter.path]: record };
          kept.keepSent(all);
          return all;
        });
        return answer;
      },
      visitor: who,
      predictions,
      end: async (wish) => {
        const given = await erase(await who(), wish);
        await kept.forget();
        setReceipt(given);
      },
      complete: async (answer) => {
        // The device half needs no memory for this: it only adds what the attribute does.
        const device = new Device(offer.disclosure, values[offer.name] ?? {}, new PassingStore());
        setPredictions(await device.complete(Scores.decode(answer)));
      },
    },
  };
}
