/** The design `private`: lists at home from a released model. */

export { MessageError } from "../malformed.js";
export * from "./lists.js";
