/** The standard scheme: hide an attribute from a recommender by what one's device sends. */

export { MessageError } from "../malformed.js";
export { Real } from "./canonical.js";
export * from "./device.js";
export * from "./drawing.js";
export * from "./messages.js";
