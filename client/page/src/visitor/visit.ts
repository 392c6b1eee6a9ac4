/** One visit: what was rated, what is hidden, what may leave, and what came back. */

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { ItemId } from "../../../src/items.js";
import { renameRatings } from "../../../src/standard-scheme/device.js";
import { fetchOctets, describeError } from "../service/requests";
import { fetchOffers, type Offer, type Offers } from "../service/offers";
import type { Words } from "../service/catalogue";
import { eraseVisitor, fetchVisitor, type Receipt, type Visitor } from "../service/visitor";
import { readIdentity, isCurrent, type Identity } from "./code";
import * as storage from "./storage";
import type { ReportDraft } from "./letters";
import { runAlone, markSent, frozenItems, resumeAccount, currentSecond, starsOf } from "./account";
import { useLetterSending, type LetterSending } from "./letter-sending";

export interface Visit {
  readonly offers: Offers;
  readonly identity: Identity;
  readonly offer: Offer;
  readonly choose: (name: string) => void;
  readonly stars: storage.Stars;
  readonly rate: (item: ItemId, stars: number | undefined) => void;
  readonly values: storage.Values;
  readonly setValues: (values: storage.Values) => void;
  readonly sent: Readonly<Record<string, storage.SentMessage>>;
  readonly sendReport: (report: ReportDraft) => Promise<void>;
  readonly letters: LetterSending;
  readonly visitor: () => Promise<Visitor>;
  /** Deletes everything, there and here. wish: the same for every try. */
  readonly end: (wish: string) => Promise<void>;
}

/** Whether the visitor's own value of every hidden attribute is known here. */
export function hasAllValues({ offer, values }: Visit): boolean {
  return offer.disclosure.attributes.every(({ name, values: known }) =>
    known.includes(values[name] ?? ""),
  );
}

/** The visit, or the sentence that says why there is none. Neither while it is being fetched. */
export interface VisitState {
  readonly visit?: Visit;
  /** What is served where nothing of it takes letters: models alone. */
  readonly modelsAlone?: Offers;
  readonly trouble?: string;
  /** The visit is over. service: what the service says it deleted, if it ever had anything. */
  readonly ended?: {
    readonly service: Receipt | undefined;
    readonly frozen: number;
    readonly words: Words;
    /** What the visitor sent to, such as `campaigns/taste`. */
    readonly used: readonly string[];
  };
}

interface VisitInputs {
  readonly offers: Offers;
  readonly identity: Identity;
}

/** wanted: whether the visitor's part of the page is shown; before, nothing is fetched or storage. */
export function useVisit(isShown: boolean): VisitState {
  const [inputs, setInputs] = useState<VisitInputs>();
  const [trouble, setTrouble] = useState<string>();
  const [chosen, setChosen] = useState<string>(storage.readAllowed);
  const [ratings, setRatings] = useState<storage.Ratings>(storage.readRatings);
  const [values, setValues] = useState(storage.readValues);
  const [sent, setSent] = useState(storage.readSent);
  const [over, setOver] = useState<VisitState["ended"]>();
  const visitor = useRef<Promise<Visitor> | undefined>(undefined);

  useEffect(() => {
    if (!isShown || inputs !== undefined) return;
    fetchInputs(ratings)
      .then(setInputs)
      .catch((error: unknown) => setTrouble(describeError(error)));
  }, [isShown]);
  useEffect(() => {
    if (inputs === undefined || over !== undefined) return;
    const changedElsewhere = () => {
      if (!isCurrent(inputs.identity)) return location.reload(); // another visitor's page by now
      setRatings(storage.readRatings());
      setValues(storage.readValues());
      setSent(storage.readSent());
    };
    addEventListener("storage", changedElsewhere);
    return () => removeEventListener("storage", changedElsewhere);
  }, [inputs, over]);
  const offer =
    inputs?.offers.offers.find(({ name }) => name === chosen) ?? inputs?.offers.offers[0];
  const rate = useCallback(
    (item: ItemId, given: number | undefined) => {
      const after = withRating(storage.readRatings(), allNamesOf(item, offer), given);
      storage.storeRatings(after);
      setRatings(after);
    },
    [offer],
  );
  const stars = useMemo(() => {
    const all = starsOf(ratings);
    return offer === undefined ? all : renameRatings(all, offer.disclosure);
  }, [ratings, offer]);
  const own = values[offer?.name ?? ""] ?? NO_VALUES;
  const speaking = useLetterSending(
    over === undefined && inputs !== undefined && offer !== undefined
      ? { offer, identity: inputs.identity }
      : undefined,
    () => setSent(storage.readSent()),
  );

  if (over !== undefined) return { ended: over };
  if (trouble !== undefined) return { trouble };
  if (inputs === undefined) return {};
  if (offer === undefined) {
    if (inputs.offers.models.length > 0) return { modelsAlone: inputs.offers };
    return {
      trouble: "This service has no model that makes lists, and nothing that hides an attribute.",
    };
  }
  const currentVisitor = () => {
    if (visitor.current === undefined) {
      visitor.current = fetchVisitor(inputs.identity.token);
      visitor.current.catch(() => (visitor.current = undefined)); // asked again, it may work
    }
    return visitor.current;
  };
  return {
    visit: {
      ...inputs,
      offer,
      choose: setChosen,
      stars,
      rate,
      values: own,
      setValues: (given) => {
        const all = { ...storage.readValues(), [offer.name]: given };
        storage.storeValues(all);
        setValues(all);
      },
      sent,
      sendReport: async (report) => {
        storage.storeContacted(report.path);
        const { key } = await currentVisitor();
        await report.seal();
        await fetchOctets(report.path, { method: "POST", key, octets: report.body });
        await markSent(report.path, report.body);
        setSent(storage.readSent());
      },
      letters: speaking,
      visitor: currentVisitor,
      end: async (wish) => {
        speaking.allow(false);
        const ended = await runAlone(inputs.identity, async () => {
          const used = storage.readContacted().map((path) => path.split("/").slice(2, 4).join("/"));
          const known = storage.readContacted().length > 0 || inputs.identity.adopted !== "";
          const service = known ? await eraseVisitor(await currentVisitor(), wish) : undefined;
          const frozen = await frozenItems(inputs.identity, [
            ...stars.keys(),
            ...storage.readRatings().keys(),
          ]);
          await storage.forgetAll(frozen);
          return { service, frozen: frozen.length, words: offer.words, used };
        });
        setOver(ended);
      },
    },
  };
}

const NO_VALUES: storage.Values = {};

/** An item's name, and those that it had. */
function allNamesOf(item: ItemId, offer: Offer | undefined): ItemId[] {
  const aliases = offer?.disclosure.aliases ?? [];
  return [item, ...aliases.filter(([, now]) => now === item).map(([old]) => old)];
}

/**
 * Ratings with these stars for an item, or without them. It keeps its first second, and the names
 * that it was rated under: they distinguish deletions from new names.
 */
function withRating(
  before: storage.Ratings,
  names: ItemId[],
  stars: number | undefined,
): storage.Ratings {
  const after = new Map(before);
  for (const name of names) after.delete(name);
  if (stars === undefined) return after;
  const known = names.filter((name) => before.has(name));
  for (const name of known.length > 0 ? known : names.slice(0, 1)) {
    after.set(name, { stars, entered: before.get(name)?.entered ?? currentSecond() });
  }
  return after;
}

async function fetchInputs(ratings: storage.Ratings): Promise<VisitInputs> {
  const [offers, own] = await Promise.all([fetchOffers(), readIdentity()]);
  const length = offers.offers[0]?.disclosure.epochLength;
  if (length !== undefined) await resumeAccount(own, [...ratings.keys()], length);
  return { offers, identity: own };
}
