/** The standard scheme: hide an attribute from a recommender by what one's device sends. */

export { MessageError } from "../malformed.js";
export * from "./account.js";
export { Real } from "./canonical.js";
export * from "./device.js";
export * from "./drawing.js";
export * from "./epochs.js";
export * from "./item-table.js";
export * from "./messages.js";
export { CAP, refuseUnsafe } from "./refusing.js";
export * from "./starting.js";
export * from "./state.js";
export * from "./tables.js";
