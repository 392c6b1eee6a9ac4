/** Device halves: what runs where the stars are, and decides what leaves. */

export { Backend, ServiceError, type ServedList } from "./backend.js";
export { fromHex, toHex as hex, type Bytes } from "./bytes.js";
export { isItemId as isId, type ItemId } from "./items.js";
export { BrowserStore, TemporaryStore, TemporaryStore as PassingStore, type Store } from "./stores.js";
export { importSecret as keyOf, newSecret, type Secret } from "./randomness.js";
export { Refusal as Refused } from "./refusal.js";
export * as privateLists from "./private/index.js";
export * as sketches from "./sketches/index.js";
export * as standardScheme from "./standard-scheme/index.js";
