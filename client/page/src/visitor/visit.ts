/** The state of one visit: ratings, hidden values, letters and their answers. */

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

/** A visit that has begun: what is offered, what the visitor entered, and what they can do. */
export interface Visit {
  readonly offers: Offers;
  readonly identity: Identity;
  /** The chosen disclosure. */
  readonly offer: Offer;
  /** Choose the disclosure of this name. */
  readonly choose: (name: string) => void;
  /** Stars by the ids of the chosen disclosure. */
  readonly stars: storage.Stars;
  /** Rate an item; undefined takes the rating back. */
  readonly rate: (item: ItemId, stars: number | undefined) => void;
  /** The visitor's values of the attributes that the chosen disclosure hides. */
  readonly values: storage.Values;
  readonly setValues: (values: storage.Values) => void;
  /** The last message that was sent to each path. */
  readonly sent: Readonly<Record<string, storage.SentMessage>>;
  readonly sendReport: (report: ReportDraft) => Promise<void>;
  readonly letters: LetterSending;
  /** Ask the service for the visitor's name and key, once; this shows it that the visitor is here. */
  readonly visitor: () => Promise<Visitor>;
  /** Delete everything, at the service and here. idempotency: the same text for every retry. */
  readonly end: (idempotency: string) => Promise<void>;
}

/** Say whether the visitor has chosen a value of every hidden attribute. */
export function hasAllValues({ offer, values }: Visit): boolean {
  return offer.disclosure.attributes.every((table) =>
    table.values.includes(values[table.name] ?? ""),
  );
}

/** The visit, or what is shown instead of it. All fields are undefined while it is being fetched. */
export interface VisitState {
  readonly visit?: Visit;
  /** The offers of a service that has models, but nothing that takes letters. */
  readonly modelsAlone?: Offers;
  /** A sentence on why there is no visit. */
  readonly trouble?: string;
  /** What the page says after the visit was deleted. */
  readonly ended?: {
    /** The service's receipt; undefined if the service never heard of the visitor. */
    readonly service: Receipt | undefined;
    /** Number of items that this browser never decides again. */
    readonly frozen: number;
    readonly words: Words;
    /** Addresses that the visitor sent something to, such as `campaigns/taste`. */
    readonly used: readonly string[];
  };
}

interface VisitInputs {
  readonly offers: Offers;
  readonly identity: Identity;
}

/**
 * Read the stored part of the visit, and fetch what is offered.
 *
 * @param isShown whether the visitor's part of the page is shown; nothing is fetched before that.
 */
export function useVisit(isShown: boolean): VisitState {
  const [inputs, setInputs] = useState<VisitInputs>();
  const [trouble, setTrouble] = useState<string>();
  const [chosen, setChosen] = useState<string>(storage.readAllowed);
  const [ratings, setRatings] = useState<storage.Ratings>(storage.readRatings);
  const [values, setValues] = useState(storage.readValues);
  const [sent, setSent] = useState(storage.readSent);
  const [ended, setEnded] = useState<VisitState["ended"]>();
  const visitor = useRef<Promise<Visitor> | undefined>(undefined);

  useEffect(() => {
    if (!isShown || inputs !== undefined) return;
    fetchInputs(ratings)
      .then(setInputs)
      .catch((error: unknown) => setTrouble(describeError(error)));
  }, [isShown]);
  useEffect(() => {
    if (inputs === undefined || ended !== undefined) return;
    const readFromOtherTab = () => {
      if (!isCurrent(inputs.identity)) {
        // Another tab stores a new visitor in several entries: the first one reloads the page.
        removeEventListener("storage", readFromOtherTab);
        return location.reload();
      }
      setRatings(storage.readRatings());
      setValues(storage.readValues());
      setSent(storage.readSent());
    };
    addEventListener("storage", readFromOtherTab);
    return () => removeEventListener("storage", readFromOtherTab);
  }, [inputs, ended]);
  const offer =
    inputs?.offers.offers.find(({ name }) => name === chosen) ?? inputs?.offers.offers[0];
  const rate = useCallback(
    (item: ItemId, newStars: number | undefined) => {
      const changed = withRating(storage.readRatings(), allIdsOf(item, offer), newStars);
      storage.storeRatings(changed);
      setRatings(changed);
    },
    [offer],
  );
  const stars = useMemo(() => {
    const all = starsOf(ratings);
    return offer === undefined ? all : renameRatings(all, offer.disclosure);
  }, [ratings, offer]);
  const ownValues = values[offer?.name ?? ""] ?? NO_VALUES;
  const letters = useLetterSending(
    ended === undefined && inputs !== undefined && offer !== undefined
      ? { offer, identity: inputs.identity, values: ownValues }
      : undefined,
    () => setSent(storage.readSent()),
  );

  if (ended !== undefined) return { ended };
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
      visitor.current.catch(() => (visitor.current = undefined)); // the next try may work
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
      values: ownValues,
      setValues: (newValues) => {
        const all = { ...storage.readValues(), [offer.name]: newValues };
        storage.storeValues(all);
        setValues(all);
      },
      sent,
      sendReport: async (report) => {
        storage.storeContacted(report.path);
        const { key } = await currentVisitor();
        await report.commit();
        await fetchOctets(report.path, { method: "POST", key, octets: report.body });
        await markSent(report.path, report.body);
        setSent(storage.readSent());
      },
      letters,
      visitor: currentVisitor,
      end: async (idempotency) => {
        letters.allow(false);
        const result = await runAlone(inputs.identity, async () => {
          const paths = storage.readContacted();
          const used = paths.map((path) => path.split("/").slice(2, 4).join("/"));
          const mayBeKnown = paths.length > 0 || inputs.identity.adopted !== "";
          const service = mayBeKnown
            ? await eraseVisitor(await currentVisitor(), idempotency)
            : undefined;
          const frozen = await frozenItems(inputs.identity, [
            ...stars.keys(),
            ...storage.readRatings().keys(),
          ]);
          await storage.forgetAll(frozen);
          return { service, frozen: frozen.length, words: offer.words, used };
        });
        setEnded(result);
      },
    },
  };
}

const NO_VALUES: storage.Values = {};

/** List an item's id, and the old ids that it had. */
function allIdsOf(item: ItemId, offer: Offer | undefined): ItemId[] {
  const aliases = offer?.disclosure.aliases ?? [];
  return [item, ...aliases.filter(([, newId]) => newId === item).map(([oldId]) => oldId)];
}

/**
 * Return ratings with these stars for an item, or without the item for undefined.
 *
 * The item keeps the second of its first rating, and the ids that it was rated under, which
 * distinguish a deletion from a renaming.
 *
 * @param ids the item's id, and its old ids.
 */
function withRating(
  ratings: storage.Ratings,
  ids: ItemId[],
  stars: number | undefined,
): storage.Ratings {
  const changed = new Map(ratings);
  for (const id of ids) changed.delete(id);
  if (stars === undefined) return changed;
  const ratedIds = ids.filter((id) => ratings.has(id));
  for (const id of ratedIds.length > 0 ? ratedIds : ids.slice(0, 1)) {
    changed.set(id, { stars, entered: ratings.get(id)?.entered ?? currentSecond() });
  }
  return changed;
}

/** Fetch what is offered, read who the visitor is, and prepare their account. */
async function fetchInputs(ratings: storage.Ratings): Promise<VisitInputs> {
  const [offers, identity] = await Promise.all([fetchOffers(), readIdentity()]);
  const length = offers.offers[0]?.disclosure.epochLength;
  if (length !== undefined) await resumeAccount(identity, [...ratings.keys()], length);
  return { offers, identity };
}
