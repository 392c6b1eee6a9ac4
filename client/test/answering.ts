/** Vectors come in, one line of JSON each, and what the client makes of them goes out. */

import { createInterface } from "node:readline";
import * as made from "./vectors.js";

const { answer, completion, life, message, privateRanking, ranking, recommendation, release } = made;
const KINDS = { answer, completion, life, message, privateRanking, ranking, recommendation, release };

for await (const line of createInterface({ input: process.stdin })) {
  const vector = JSON.parse(line) as made.Vector;
  const found = await KINDS[vector["do"] as keyof typeof KINDS](vector);
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
