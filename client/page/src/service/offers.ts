/** What the service offers to everybody: models, disclosures and campaigns, fetched whole. */

import type { ItemId } from "../../../src/items.js";
import { DeviceLists } from "../../../src/private/lists.js";
import { Campaign } from "../../../src/sketches/messages.js";
import { printableId } from "../../../src/sketches/formatting.js";
import type { Published } from "../../../src/standard-scheme/account.js";
import { ItemTable } from "../../../src/standard-scheme/item-table.js";
import { Disclosure } from "../../../src/standard-scheme/messages.js";
import { Catalogue, fetchCatalogue, WORDS, type Words } from "./catalogue";
import { fetchJson, fetchOctets } from "./requests";

export type Titles = (item: ItemId) => string;

/** A disclosure that devices may answer with letters. */
export interface Offer extends Published {
  readonly name: string;
  /** Table from which lists are made on the device; undefined if the operator publishes none. */
  readonly table: ItemTable | undefined;
  /** All items, those that most people like first; empty if there is a table. */
  readonly popular: readonly ItemId[];
  readonly titles: Titles;
  readonly words: Words;
}

/** A campaign that devices may answer with a few randomised bits. */
export interface Question {
  readonly name: string;
  readonly campaign: Campaign;
  readonly catalogue: readonly ItemId[];
  readonly titles: Titles;
  readonly words: Words;
  /** Whether it takes no more reports. */
  readonly isClosed: boolean;
  /** Whether its clusters can be fetched. */
  readonly hasClusters: boolean;
}

/** A private model that was released: lists are made from it on the device, and nothing is sent. */
export interface ReleasedModel {
  readonly name: string;
  readonly lists: DeviceLists;
  readonly titles: Titles;
  readonly catalogue: Catalogue;
}

/** A model that is served, whether or not devices can make lists of it. */
export interface ServedModel {
  readonly name: string;
  readonly scale: { readonly minimum: number; readonly maximum: number };
  readonly catalogue: Catalogue;
}

/** Everything that is offered. */
export interface Offers {
  readonly models: readonly ServedModel[];
  /** The first model from which this page can make lists; undefined for none. */
  readonly released: ReleasedModel | undefined;
  readonly offers: readonly Offer[];
  readonly questions: readonly Question[];
}

type Catalogues = Promise<readonly Catalogue[]>;

interface Model extends Named {
  readonly device: string | null;
  readonly item_words: Words;
  readonly scale: { readonly minimum: number; readonly maximum: number };
}

interface Named {
  readonly name: string;
}

interface DisclosureEntry extends Named {
  readonly item_table: boolean;
}

interface LogRow {
  readonly epoch: number;
  readonly digest: string;
}

interface CampaignEntry extends Named {
  readonly closed: boolean;
  readonly clusters: boolean;
}

/** Fetch everything that is offered, by requests at the same time, because a visitor waits for all. */
export async function fetchOffers(): Promise<Offers> {
  const modelsRequest = fetchJson<{ models: readonly Model[] }>("/api/models");
  const cataloguesRequest = modelsRequest.then(({ models }) =>
    Promise.all(models.map(({ name, item_words }) => fetchCatalogue(name, item_words))),
  );
  const [{ models }, catalogues, lists, offers, questions] = await Promise.all([
    modelsRequest,
    cataloguesRequest,
    modelsRequest.then(({ models }) => fetchLists(models)),
    fetchDisclosures(cataloguesRequest),
    fetchCampaigns(cataloguesRequest),
  ]);
  const served = models.map(({ name, scale }, index) => ({
    name,
    scale,
    catalogue: catalogues[index] as Catalogue,
  }));
  const catalogue = served.find(({ name }) => name === lists?.name)?.catalogue;
  const released =
    lists === undefined || catalogue === undefined
      ? undefined
      : { ...lists, titles: catalogue.title, catalogue };
  return { models: served, released, offers, questions };
}

/**
 * Fetch the device file of the first model that has a readable one; undefined if none has. An
 * unreadable file is no error, because the service can make lists instead.
 */
async function fetchLists(
  models: readonly Model[],
): Promise<{ readonly name: string; readonly lists: DeviceLists } | undefined> {
  for (const { name, device } of models) {
    if (device === null) continue;
    try {
      const octets = await fetchOctets(`/api/models/${name}/device?digest=${device}`);
      const lists = await DeviceLists.decode(octets);
      if (lists.digest === device) return { name, lists };
    } catch {
      continue;
    }
  }
  return undefined;
}

/** Fetch the present disclosure and log, which may have changed if the page was open for days. */
export async function fetchPublished(name: string): Promise<Published> {
  const [bytes, { log }] = await Promise.all([
    fetchOctets(`/api/disclosures/${name}`),
    fetchJson<{ log: readonly LogRow[] }>(`/api/disclosures/${name}/log`),
  ]);
  const disclosure = Disclosure.decode(bytes);
  return { disclosure, log: log.map(({ epoch, digest }) => [epoch, digest] as const) };
}

/**
 * Fetch all disclosures that this page can read. One that it cannot read, such as an experimental
 * one, is left out, unless there is no other.
 */
async function fetchDisclosures(catalogues: Catalogues): Promise<Offer[]> {
  const { disclosures } = await fetchJson<{ disclosures: readonly DisclosureEntry[] }>(
    "/api/disclosures",
  );
  const results = await Promise.allSettled(
    disclosures.map((disclosure) => fetchOffer(disclosure, catalogues)),
  );
  const offers = results.filter((result) => result.status === "fulfilled").map(({ value }) => value);
  const failure = results.find((result) => result.status === "rejected");
  if (failure !== undefined && offers.length === 0) throw failure.reason;
  return offers;
}

async function fetchOffer(
  { name, item_table }: DisclosureEntry,
  catalogues: Catalogues,
): Promise<Offer> {
  const { disclosure, log } = await fetchPublished(name);
  const table = item_table ? await fetchTable(name, disclosure) : undefined;
  const popular = table === undefined ? await fetchPopular(name) : [];
  const { titles, words } = namesOf(disclosure.items, await catalogues);
  return { name, disclosure, log, table, popular, titles, words };
}

/** Fetch an item table; undefined for one of another disclosure. */
async function fetchTable(name: string, disclosure: Disclosure): Promise<ItemTable | undefined> {
  const table = ItemTable.decode(await fetchOctets(`/api/disclosures/${name}/item-table`));
  return table.disclosure === (await disclosure.digest()) ? table : undefined;
}

async function fetchPopular(name: string): Promise<readonly ItemId[]> {
  const { items } = await fetchJson<{ items: readonly ItemId[] }>(
    `/api/disclosures/${name}/popular`,
  );
  return items;
}

async function fetchCampaigns(catalogues: Catalogues): Promise<Question[]> {
  const { campaigns } = await fetchJson<{ campaigns: readonly CampaignEntry[] }>("/api/campaigns");
  return Promise.all(
    campaigns.map(async ({ name, closed: isClosed, clusters: hasClusters }) => {
      const [bytes, { items }] = await Promise.all([
        fetchOctets(`/api/campaigns/${name}`),
        fetchJson<{ items: ItemId[] }>(`/api/campaigns/${name}/catalogue`),
      ]);
      const { titles, words } = namesOf(items, await catalogues);
      const campaign = Campaign.decode(bytes);
      return { name, campaign, catalogue: items, titles, words, isClosed, hasClusters };
    }),
  );
}

/** Return titles and words of the first catalogue that has all these items; without one, ids. */
function namesOf(
  items: readonly ItemId[],
  catalogues: readonly Catalogue[],
): { readonly titles: Titles; readonly words: Words } {
  const catalogue = catalogues.find((candidate) => items.every((item) => candidate.has(item)));
  if (catalogue !== undefined) return { titles: catalogue.title, words: catalogue.words };
  return { titles: (item) => printableId(`Item ${item}`), words: WORDS };
}
