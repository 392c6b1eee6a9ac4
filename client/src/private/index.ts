/** The design `private`: lists on the device from a released model. */

export { MessageError } from "../message-error.js";
export * from "./lists.js";
