/** What people must trust says what it uses. */

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SOURCE = new URL("../src/", import.meta.url);
const files = readdirSync(SOURCE, { recursive: true, encoding: "utf-8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => [name, readFileSync(new URL(name, SOURCE), "utf-8")] as const);

test("there are files to look at", () => {
  expect(files.map(([name]) => name)).toContain("sketches/device.ts");
});

/** The client of a shop's backend makes requests; it runs on no person's device. */
const BACKEND = "backend.ts";
const onDevices = files.filter(([name]) => name !== BACKEND);

test("no file of a device imports the backend's client", () => {
  expect(files.map(([name]) => name)).toContain(BACKEND);
  const importing = onDevices.filter(([, text]) => /from\s+"[^"]*\/backend\.js"/.test(text));
  expect(importing.map(([name]) => name)).toEqual(["index.ts"]);
});

test.each(onDevices)("%s draws from WebCrypto alone, runs no text and sends nothing", (_, text) => {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  const refused =
    /Math\.random|\beval\b|\bFunction\s*\(|\bfetch\b|XMLHttpRequest|WebSocket|sendBeacon|import\s*\(|console\./;
  expect(code.match(refused)).toBeNull();
});

test.each(files)("%s imports nothing but files of its own", (_, text) => {
  const modules = [...text.matchAll(/(?:from|import)\s+"([^"]+)"/g)].map(([, name]) => name);
  expect(modules.filter((name) => !/^\.\.?\/[\w./-]+\.js$/.test(name as string))).toEqual([]);
});

test("nothing is needed to run", () => {
  const declared = readFileSync(new URL("../package.json", import.meta.url), "utf-8");
  expect(JSON.parse(declared)).not.toHaveProperty("dependencies");
});
