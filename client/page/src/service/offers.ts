/** What the service offers to anybody: the same for everybody, fetched whole. */

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

/**
 * A disclosure that devices may answer with letters.
 *
 * log: which disclosure counted in which epoch. table: by which lists are made here, where the
 * operator publishes it; where not, popular: all items, those that most people like first.
 */
export interface Offer extends Published {
  readonly name: string;
  readonly table: ItemTable | undefined;
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
  /** Whether it takes no more reports, and whether its clusters are there. */
  readonly isClosed: boolean;
  readonly hasClusters: boolean;
}

/** A private model that was released: lists are made of it here, and nothing is sent for them. */
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

/** released: the first model that this page can make lists of. */
export interface Offers {
  readonly models: readonly ServedModel[];
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

/** What needs no answer of another request is asked for at once: a visitor waits for all of it. */
export async function fetchOffers(): Promise<Offers> {
  const asked = fetchJson<{ models: readonly Model[] }>("/api/models");
  const catalogues = asked.then(({ models }) =>
    Promise.all(models.map(({ name, item_words }) => fetchCatalogue(name, item_words))),
  );
  const [{ models }, found, lists, offers, questions] = await Promise.all([
    asked,
    catalogues,
    asked.then(({ models }) => fetchLists(models)),
    fetchDisclosures(catalogues),
    fetchCampaigns(catalogues),
  ]);
  const served = models.map(({ name, scale }, place) => ({
    name,
    scale,
    catalogue: found[place] as Catalogue,
  }));
  const catalogue = served.find(({ name }) => name === lists?.name)?.catalogue;
  const released =
    lists === undefined || catalogue === undefined
      ? undefined
      : { ...lists, titles: catalogue.title, catalogue };
  return { models: served, released, offers, questions };
}

/** Without a model that can be read, the other ways to a list are there all the same. */
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

/** The tables and the log as they are now: a page may be open for days. */
export async function fetchPublished(name: string): Promise<Published> {
  const [bytes, { log }] = await Promise.all([
    fetchOctets(`/api/disclosures/${name}`),
    fetchJson<{ log: readonly LogRow[] }>(`/api/disclosures/${name}/log`),
  ]);
  const disclosure = Disclosure.decode(bytes);
  return { disclosure, log: log.map(({ epoch, digest }) => [epoch, digest] as const) };
}

async function fetchDisclosures(catalogues: Catalogues): Promise<Offer[]> {
  const { disclosures } = await fetchJson<{ disclosures: readonly DisclosureEntry[] }>(
    "/api/disclosures",
  );
  const found = await Promise.allSettled(disclosures.map((one) => fetchOffer(one, catalogues)));
  const offers = found.filter((one) => one.status === "fulfilled").map(({ value }) => value);
  const failed = found.find((one) => one.status === "rejected");
  // One that this page cannot read, such as an experimental one, does not take the others away.
  if (failed !== undefined && offers.length === 0) throw failed.reason;
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

async function fetchTable(name: string, disclosure: Disclosure): Promise<ItemTable | undefined> {
  const table = ItemTable.decode(await fetchOctets(`/api/disclosures/${name}/item-table`));
  return table.disclosure === (await disclosure.digest()) ? table : undefined;
}

async function fetchPopular(name: string): Promise<readonly ItemId[]> {
  const found = await fetchJson<{ items: readonly ItemId[] }>(`/api/disclosures/${name}/popular`);
  return found.items;
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

/** Titles and words by the first catalogue that has all these items; ids where there is none. */
function namesOf(
  items: readonly ItemId[],
  catalogues: readonly Catalogue[],
): { readonly titles: Titles; readonly words: Words } {
  const found = catalogues.find((one) => items.every((item) => one.has(item)));
  if (found !== undefined) return { titles: found.title, words: found.words };
  return { titles: (item) => printableId(`Item ${item}`), words: WORDS };
}
