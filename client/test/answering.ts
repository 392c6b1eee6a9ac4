/** Vectors come in, one line of JSON each, and what the client makes of them goes out. */

import { createInterface } from "node:readline";
import { answer, completion, message, recommendation, release, type Vector } from "./vectors.js";

const KINDS = { answer, completion, message, recommendation, release };

for await (const line of createInterface({ input: process.stdin })) {
  const vector = JSON.parse(line) as Vector;
  const found = await KINDS[vector["do"] as keyof typeof KINDS](vector);
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
