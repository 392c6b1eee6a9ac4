/** Explanations of every byte of a report, for its person. */

import { toHex } from "../bytes.js";
import type { ItemId } from "../items.js";
import { MICRO, CERTAIN, type Campaign, type Report } from "./messages.js";
import { itemPairs, sensedSets } from "./sensing.js";
import { formatGeneral, printableId } from "./formatting.js";

const UNIT_TEXTS = {
  user: "everything you rated",
  rating: "one rating more or less",
  "moved rating": "one rating given to another item",
};

/** Describe to the person what the epsilon of a campaign protects. */
function describeUnit(campaign: Campaign): string {
  if (campaign.namesPair) {
    return "your stars for these two items, and NOT for which items you rated";
  }
  return UNIT_TEXTS[campaign.unit];
}

/** Describe what a report costs for everything the person rated, if that is not what is stated. */
function describeUserEpsilon({ epsilon, userEpsilon }: Campaign): string {
  if (userEpsilon === epsilon) return "";
  const cost = formatGeneral(userEpsilon / MICRO, 10);
  return `; for everything you rated, they cost epsilon ${cost}`;
}

/** Write the beginning of a question, before the titles of its items. */
function beginQuestion(campaign: Campaign): string {
  if (campaign.hasSensedSets) return "do you like at least one of";
  if (campaign.asksIdentical) return "do you like both, or dislike both, of";
  return "do you like both of";
}

/**
 * Explain every byte of a report, in rows of [bytes in hex, meaning].
 *
 * After the row of the answers comes one row for each of them, with "bit 0" and so on instead of
 * bytes.
 */
export function explain(
  campaign: Campaign,
  report: Report,
  catalogue: readonly ItemId[],
): [bytes: string, meaning: string][] {
  const data = report.encode();
  const lie = 1 - campaign.truth / CERTAIN;
  const purpose = report.pair === undefined ? " that chooses the questions" : "";
  const rows: [string, string][] = [
    [toHex(data.subarray(0, 1)), "version of the message"],
    [toHex(data.subarray(1, 2)), "kind of the message: a report"],
    [toHex(data.subarray(2, 10)), "which campaign this answers"],
    [toHex(data.subarray(10, 18)), `a random number${purpose}; another one in every campaign`],
    [
      toHex(data.subarray(18, 22)),
      `the answers, ${campaign.questions} in all, each flipped with probability ` +
        `${lie.toFixed(4)}. Together they cost epsilon ${formatGeneral(campaign.epsilon / MICRO, 10)}, ` +
        `stated for ${describeUnit(campaign)}${describeUserEpsilon(campaign)}`,
    ],
  ];
  questionItems(campaign, report).forEach((items, question) => {
    const isYes = Math.floor(report.bits / 2 ** question) % 2 === 1;
    const titles = items.slice(0, 3).map((number) => printableId(catalogue[number] as ItemId));
    const others = items.length > 3 ? ` and ${items.length - 3} more` : "";
    const meaning = `${beginQuestion(campaign)} ${titles.join(", ")}${others}?`;
    rows.push([`bit ${question}`, `${isYes ? "yes" : "no"}, to: ${meaning}`]);
  });
  if (report.pair !== undefined) {
    const meaning = "these two items, which you rated: this is NOT protected";
    rows.push([toHex(data.subarray(22, 30)), meaning]);
  }
  return rows;
}

/** List the item numbers of each question that a report answers. */
function questionItems(campaign: Campaign, report: Report): (readonly number[])[] {
  if (campaign.hasSensedSets) return sensedSets(campaign, report.ticket);
  const { pair } = report;
  if (pair !== undefined) return Array.from({ length: campaign.questions }, () => pair);
  return itemPairs(campaign, report.ticket);
}
