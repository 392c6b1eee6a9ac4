/** What the service offers to anybody: the same for everybody, fetched whole. */

import type { ItemId } from "../../../src/items.js";
import { DeviceLists } from "../../../src/private/lists.js";
import { Campaign } from "../../../src/sketches/messages.js";
import { printableId } from "../../../src/sketches/formatting.js";
import type { Published } from "../../../src/standard-scheme/account.js";
import { ItemTable } from "../../../src/standard-scheme/item-table.js";
import { Disclosure } from "../../../src/standard-scheme/messages.js";
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
}

/** A campaign that devices may answer with a few randomised bits. */
export interface Question {
  readonly name: string;
  readonly campaign: Campaign;
  readonly catalogue: readonly ItemId[];
  readonly titles: Titles;
  /** Whether it takes no more reports, and whether its clusters are there. */
  readonly isClosed: boolean;
  readonly hasClusters: boolean;
}

/** A private model that was released: lists are made of it here, and nothing is sent for them. */
export interface ReleasedModel {
  readonly name: string;
  readonly lists: DeviceLists;
  readonly titles: Titles;
}

/** released: the first model that this page can make lists of. */
export interface Offers {
  readonly released: ReleasedModel | undefined;
  readonly offers: readonly Offer[];
  readonly questions: readonly Question[];
}

interface Model extends Named {
  readonly device: string | null;
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

interface ItemPage {
  readonly items: readonly { readonly item_id: string; readonly title: string | null }[];
  readonly next: string | null;
}

type Catalogue = ReadonlyMap<string, string | null>;

export async function fetchOffers(): Promise<Offers> {
  const { models } = await fetchJson<{ models: readonly Model[] }>("/api/models");
  const catalogues = await fetchCatalogues(models);
  const [released, offers, questions] = await Promise.all([
    fetchReleasedModel(models, catalogues),
    fetchDisclosures(catalogues),
    fetchCampaigns(catalogues),
  ]);
  return { released, offers, questions };
}

/** Without one that can be read, the other ways to a list are there all the same. */
async function fetchReleasedModel(
  models: readonly Model[],
  catalogues: readonly Catalogue[],
): Promise<ReleasedModel | undefined> {
  for (const { name, device } of models) {
    if (device === null) continue;
    try {
      const lists = await DeviceLists.decode(await fetchOctets(`/api/models/${name}/device`));
      if (lists.digest === device)
        return { name, lists, titles: titlesOf(lists.items, catalogues) };
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

async function fetchDisclosures(catalogues: readonly Catalogue[]): Promise<Offer[]> {
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
  catalogues: readonly Catalogue[],
): Promise<Offer> {
  const { disclosure, log } = await fetchPublished(name);
  const table = item_table ? await fetchTable(name, disclosure) : undefined;
  const popular = table === undefined ? await fetchPopular(name) : [];
  return { name, disclosure, log, table, popular, titles: titlesOf(disclosure.items, catalogues) };
}

async function fetchTable(name: string, disclosure: Disclosure): Promise<ItemTable | undefined> {
  const table = ItemTable.decode(await fetchOctets(`/api/disclosures/${name}/item-table`));
  return table.disclosure === (await disclosure.digest()) ? table : undefined;
}

async function fetchPopular(name: string): Promise<readonly ItemId[]> {
  const found = await fetchJson<{ items: readonly ItemId[] }>(`/api/disclosures/${name}/popular`);
  return found.items;
}

async function fetchCampaigns(catalogues: readonly Catalogue[]): Promise<Question[]> {
  const { campaigns } = await fetchJson<{ campaigns: readonly CampaignEntry[] }>("/api/campaigns");
  return Promise.all(
    campaigns.map(async ({ name, closed: isClosed, clusters: hasClusters }) => {
      const [bytes, { items }] = await Promise.all([
        fetchOctets(`/api/campaigns/${name}`),
        fetchJson<{ items: ItemId[] }>(`/api/campaigns/${name}/catalogue`),
      ]);
      const titles = titlesOf(items, catalogues);
      const campaign = Campaign.decode(bytes);
      return { name, campaign, catalogue: items, titles, isClosed, hasClusters };
    }),
  );
}

/** Titles by the first catalogue that has all these items; by their ids where there is none. */
function titlesOf(items: readonly ItemId[], catalogues: readonly Catalogue[]): Titles {
  const found = catalogues.find((one) => items.every((item) => one.has(String(item))));
  return (item) => printableId(found?.get(String(item)) ?? `Film ${item}`);
}

/** Whole catalogues, and not the titles of some items: which are asked for would tell something. */
async function fetchCatalogues(models: readonly Named[]): Promise<Catalogue[]> {
  return Promise.all(
    models.map(async ({ name }) => {
      const catalogue = new Map<string, string | null>();
      for (let after: string | null = ""; after !== null;) {
        const place: string = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
        const page: ItemPage = await fetchJson(`/api/models/${name}/items?limit=500${place}`);
        for (const { item_id, title } of page.items) catalogue.set(item_id, title);
        after = page.next;
      }
      return catalogue;
    }),
  );
}
