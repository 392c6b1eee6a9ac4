/** The standard scheme: a device sends obfuscated stars, which hide an attribute of its owner. */

export { MessageError } from "../message-error.js";
export * from "./account.js";
export { Real } from "./canonical.js";
export * from "./device.js";
export * from "./drawing.js";
export * from "./epochs.js";
export * from "./item-table.js";
export * from "./messages.js";
export { LARGEST_CHANCE, refuseUnsafe } from "./unsafe-disclosures.js";
export * from "./initial-state.js";
export * from "./state.js";
export * from "./tables.js";
