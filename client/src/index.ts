/** Device halves: what runs where the stars are, and decides what leaves. */

export { fromHex, hex, type Bytes } from "./bytes.js";
export { isId, type ItemId } from "./items.js";
export { BrowserStore, PassingStore, type Store } from "./memory.js";
export { keyOf, newSecret, type Secret } from "./randomness.js";
export { Refused } from "./refused.js";
export * as privateLists from "./private/index.js";
export * as sketches from "./sketches/index.js";
export * as standardScheme from "./standard-scheme/index.js";
