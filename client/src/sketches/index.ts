/** Sketches: item clusters from a few randomised bits per person. */

export { MessageError } from "../message-error.js";
export * from "./device.js";
export * from "./explain.js";
export * from "./limits.js";
export * from "./messages.js";
export * from "./sensing.js";
export { printableId as shown } from "./formatting.js";
