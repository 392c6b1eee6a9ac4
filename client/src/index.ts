/** Device halves: what runs where the stars are, and decides what leaves. */

export { Backend, ServiceError, type ServedList } from "./backend.js";
export { fromHex, toHex, type Bytes } from "./bytes.js";
export { isItemId, type ItemId } from "./items.js";
export { BrowserStore, TemporaryStore, type Store } from "./stores.js";
export { importSecret, newSecret, type Secret } from "./randomness.js";
export { Refusal } from "./refusal.js";
export * as privateLists from "./private/index.js";
export * as sketches from "./sketches/index.js";
export * as standardScheme from "./standard-scheme/index.js";
