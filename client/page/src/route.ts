/** The part of the page that is shown: the word after the # of its address. */

import { useEffect, useState } from "preact/hooks";

export const STEPS = ["rate", "list", "hide", "send"] as const;
export type Step = (typeof STEPS)[number];
export type Route = Step | "operator";

/** Return the route in the address; the first step if it names none. */
function currentRoute(): Route {
  const word = location.hash.slice(1);
  if (word === "operator") return word;
  return STEPS.find((step) => step === word) ?? "rate";
}

/** Return the present route; the component is rendered again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const readRoute = () => setRoute(currentRoute());
    addEventListener("hashchange", readRoute);
    return () => removeEventListener("hashchange", readRoute);
  }, []);
  return route;
}

export function goTo(route: Route): void {
  location.hash = route;
}
