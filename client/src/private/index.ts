/** The design `private`: lists on the device from a released model. */

export { MessageError } from "../malformed.js";
export * from "./lists.js";
