/** Everything in golden/, which Python wrote, is what this client makes of it. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fromHex, toHex, sketches } from "../src/index.js";
import * as made from "./vectors.js";
import { untagged, type Vector } from "./vectors.js";

function golden(name: string): Record<string, Vector[]> {
  const file = new URL(`../../golden/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf-8")) as Record<string, Vector[]>;
}

const FILES = {
  itemTable: golden("item-table"),
  privateLists: golden("private-lists"),
  sketches: golden("sketches"),
  sketchesRefused: golden("sketches-refused"),
  scheme: golden("standard-scheme"),
  lives: golden("standard-scheme-lives"),
  schemeRefused: golden("standard-scheme-refused"),
};

function each(file: keyof typeof FILES, list: string): [number, Vector][] {
  const vectors = FILES[file][list] ?? [];
  expect(vectors.length).toBeGreaterThan(0);
  return vectors.map((vector, number) => [number, vector]);
}

/** The outcome part of a vector. People read what a refusal says; of other errors only the class counts. */
function outcome(vector: Vector, name: string): Vector {
  const { error, says } = vector;
  if (error === undefined) return { [name]: vector[name] };
  return { error, says: error === "Refused" ? says : expect.anything() };
}

test.each(each("sketches", "catalogues"))("catalogue %i has Python's digest", async (_, vector) => {
  const items = (vector["items"] as string[]).map(untagged);
  expect(toHex(await sketches.catalogueDigest(items))).toBe(vector["digest"]);
});

test.each(each("sketches", "limits"))("limit %i has as many millionths", (_, vector) => {
  expect(Number(sketches.toMicros(vector["nats"] as number))).toBe(vector["micros"]);
});

test.each(each("sketches", "questions"))("ticket %i asks the same questions", (_, vector) => {
  const campaign = sketches.Campaign.decode(fromHex(vector["campaign"] as string));
  const ticket = BigInt(`0x${vector["ticket"] as string}`);
  const asked = campaign.hasSensedSets
    ? sketches.sensedSets(campaign, ticket)
    : sketches.itemPairs(campaign, ticket);
  expect(asked).toEqual(vector["asked"]);
});

test.each(each("sketches", "answers"))("report %i has the same bytes", async (_, vector) => {
  expect(await made.answer(vector)).toEqual(outcome(vector, "report"));
});

test.each(each("sketches", "explanations"))("report %i is explained alike", (_, vector) => {
  const campaign = sketches.Campaign.decode(
    fromHex((vector["campaigns"] as string[])[0] as string),
  );
  const report = sketches.Report.decode(fromHex(vector["report"] as string));
  const catalogue = (vector["catalogue"] as string[]).map(untagged);
  expect(sketches.explain(campaign, report, catalogue)).toEqual(vector["explained"]);
});

test.each(each("sketches", "recommendations"))("list %i has the same order", async (_, vector) => {
  expect(await made.recommendation(vector)).toEqual(outcome(vector, "recommended"));
});

test.each(each("scheme", "releases"))("releases %i have the same bytes", async (_, vector) => {
  const { memory } = vector;
  expect(await made.release(vector)).toEqual({ ...outcome(vector, "releases"), memory });
});

test.each(each("scheme", "completions"))("predictions %i are equal", async (_, vector) => {
  expect(await made.completion(vector)).toEqual(outcome(vector, "predicted"));
});

test.each(each("lives", "lives"))("life %i has the same letters and memory", async (_, vector) => {
  const said = (vector["steps"] as Vector[]).map(({ letter, told }) => ({ letter, told }));
  expect(await made.life(vector)).toEqual({ said, memory: vector["memory"] });
});

test.each(each("itemTable", "rankings"))(
  "list at home %i has the same order",
  async (_, vector) => {
    expect(await made.ranking(vector)).toEqual(outcome(vector, "ranked"));
  },
);

test.each(each("privateLists", "rankings"))(
  "private list %i has the same scores",
  async (_, vector) => {
    expect(await made.privateRanking(vector)).toEqual(outcome(vector, "ranked"));
  },
);

test.each(each("privateLists", "reasons"))("reasons %i are the same", async (_, vector) => {
  expect(await made.privateReasons(vector)).toEqual(outcome(vector, "reasons"));
});

test.each(each("privateLists", "refused"))("private model %i is none", async (_, vector) => {
  expect(await made.privateRanking(vector)).toEqual(outcome(vector, "ranked"));
});

for (const file of ["sketches", "scheme", "itemTable"] as const) {
  test.each(each(file, "messages"))(
    `${file}: message %i is read and written`,
    async (_, vector) => {
      expect(await made.message(vector)).toEqual(outcome(vector, "encoded"));
    },
  );
}

for (const file of ["sketchesRefused", "schemeRefused"] as const) {
  test.each(each(file, "messages"))(`${file}: message %i is none`, async (_, vector) => {
    expect(await made.message(vector)).toEqual(outcome(vector, "encoded"));
  });
}

test.each(each("itemTable", "refused"))("item table %i is none", async (_, vector) => {
  expect(await made.message(vector)).toEqual(outcome(vector, "encoded"));
});

test.each(each("sketchesRefused", "answers"))("campaign %i is not answered", async (_, vector) => {
  expect(await made.answer(vector)).toEqual(outcome(vector, "report"));
});

test.each(each("sketchesRefused", "recommendations"))(
  "clusters %i fit no list",
  async (_, vector) => {
    expect(await made.recommendation(vector)).toEqual(outcome(vector, "recommended"));
  },
);

test.each(each("schemeRefused", "releases"))("disclosure %i is refused", async (_, vector) => {
  const { memory } = vector;
  expect(await made.release(vector)).toEqual({ ...outcome(vector, "releases"), memory });
});

test.each(each("schemeRefused", "completions"))("scores %i are refused", async (_, vector) => {
  expect(await made.completion(vector)).toEqual(outcome(vector, "predicted"));
});

test("a message that is refused nowhere would be seen", async () => {
  const report = "01024c2791624e1d7f9e0123456789abcdef00000002";
  expect(await made.message({ kind: "Report", bytes: report })).toEqual({ encoded: report });
});
