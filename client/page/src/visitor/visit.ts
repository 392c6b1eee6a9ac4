/** One visit: what was rated, what is hidden, what may leave, and what came back. */

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { ItemId } from "../../../src/items.js";
import { renamed } from "../../../src/standard-scheme/device.js";
import { askOctets, told } from "../service/asking";
import { fetchOffers, type Offer, type Offers } from "../service/offers";
import { erase, visitorFor, type ReceiptGiven, type Visitor } from "../service/person";
import { identity, isCurrent, type Identity } from "./code";
import * as kept from "./kept";
import type { Report } from "./letters";
import { alone, markSent, neverAgain, resume, seconds, starsOf } from "./release";
import { useSpeaking, type Speaking } from "./speaking";

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
  readonly sendReport: (report: Report) => Promise<void>;
  readonly speaking: Speaking;
  readonly visitor: () => Promise<Visitor>;
  /** Deletes everything, there and here. wish: the same for every try. */
  readonly end: (wish: string) => Promise<void>;
}

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
  /** The visit is over. service: what the service says it deleted, if it ever had anything. */
  readonly over?: {
    readonly service: ReceiptGiven | undefined;
    readonly frozen: number;
    /** What the visitor sent to, such as `campaigns/taste`. */
    readonly used: readonly string[];
  };
}

interface Fetched {
  readonly offers: Offers;
  readonly identity: Identity;
}

/** wanted: whether the visitor's part of the page is shown; before, nothing is fetched or kept. */
export function useVisit(wanted: boolean): Begun {
  const [begun, setBegun] = useState<Fetched>();
  const [trouble, setTrouble] = useState<string>();
  const [chosen, setChosen] = useState<string>(kept.keptAllowed);
  const [ratings, setRatings] = useState<kept.Ratings>(kept.keptRatings);
  const [values, setValues] = useState(kept.keptValues);
  const [sent, setSent] = useState(kept.keptSent);
  const [over, setOver] = useState<Begun["over"]>();
  const visitor = useRef<Promise<Visitor> | undefined>(undefined);

  useEffect(() => {
    if (!wanted || begun !== undefined) return;
    fetchAll(ratings)
      .then(setBegun)
      .catch((error: unknown) => setTrouble(told(error)));
  }, [wanted]);
  useEffect(() => {
    if (begun === undefined || over !== undefined) return;
    const changedElsewhere = () => {
      if (!isCurrent(begun.identity)) return location.reload(); // another visitor's page by now
      setRatings(kept.keptRatings());
      setValues(kept.keptValues());
      setSent(kept.keptSent());
    };
    addEventListener("storage", changedElsewhere);
    return () => removeEventListener("storage", changedElsewhere);
  }, [begun, over]);
  const offer =
    begun?.offers.offers.find(({ name }) => name === chosen) ?? begun?.offers.offers[0];
  const rate = useCallback(
    (item: ItemId, given: number | undefined) => {
      const after = rated(kept.keptRatings(), namesOf(item, offer), given);
      kept.keepRatings(after);
      setRatings(after);
    },
    [offer],
  );
  const stars = useMemo(() => {
    const all = starsOf(ratings);
    return offer === undefined ? all : renamed(all, offer.disclosure);
  }, [ratings, offer]);
  const own = values[offer?.name ?? ""] ?? NO_VALUES;
  const speaking = useSpeaking(
    over === undefined && begun !== undefined && offer !== undefined
      ? { offer, identity: begun.identity }
      : undefined,
    () => setSent(kept.keptSent()),
  );

  if (over !== undefined) return { over };
  if (trouble !== undefined) return { trouble };
  if (begun === undefined) return {};
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
      values: own,
      setValues: (given) => {
        const all = { ...kept.keptValues(), [offer.name]: given };
        kept.keepValues(all);
        setValues(all);
      },
      sent,
      sendReport: async (report) => {
        kept.keepSpoken(report.path);
        const { key } = await who();
        await report.seal();
        await askOctets(report.path, { method: "POST", key, octets: report.body });
        await markSent(report.path, report.body);
        setSent(kept.keptSent());
      },
      speaking,
      visitor: who,
      end: async (wish) => {
        speaking.allow(false);
        const ended = await alone(begun.identity, async () => {
          const used = kept.keptSpoken().map((path) => path.split("/").slice(2, 4).join("/"));
          const known = kept.keptSpoken().length > 0 || begun.identity.adopted !== "";
          const service = known ? await erase(await who(), wish) : undefined;
          const frozen = await neverAgain(begun.identity, [...stars.keys(), ...kept.keptRatings().keys()]);
          await kept.forget(frozen);
          return { service, frozen: frozen.length, used };
        });
        setOver(ended);
      },
    },
  };
}

const NO_VALUES: kept.Values = {};

/** An item's name, and those that it had. */
function namesOf(item: ItemId, offer: Offer | undefined): ItemId[] {
  const aliases = offer?.disclosure.aliases ?? [];
  return [item, ...aliases.filter(([, now]) => now === item).map(([old]) => old)];
}

/**
 * Ratings with these stars for an item, or without them. It keeps its first second, and the names
 * that it was rated under: they distinguish deletions from new names.
 */
function rated(before: kept.Ratings, names: ItemId[], stars: number | undefined): kept.Ratings {
  const after = new Map(before);
  for (const name of names) after.delete(name);
  if (stars === undefined) return after;
  const known = names.filter((name) => before.has(name));
  for (const name of known.length > 0 ? known : names.slice(0, 1)) {
    after.set(name, { stars, entered: before.get(name)?.entered ?? seconds() });
  }
  return after;
}

async function fetchAll(ratings: kept.Ratings): Promise<Fetched> {
  const [offers, own] = await Promise.all([fetchOffers(), identity()]);
  const length = offers.offers[0]?.disclosure.epochLength;
  if (length !== undefined) await resume(own, [...ratings.keys()], length);
  return { offers, identity: own };
}
