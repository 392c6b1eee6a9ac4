/** Which part of the page is shown: the word behind the # of its address. */

import { useEffect, useState } from "preact/hooks";

export const STEPS = ["rate", "list", "hide", "send"] as const;
export type Step = (typeof STEPS)[number];
export type Route = Step | "operator";

function currentRoute(): Route {
  const word = location.hash.slice(1);
  if (word === "operator") return word;
  return STEPS.find((step) => step === word) ?? "rate";
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const changed = () => setRoute(currentRoute());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

export function goTo(route: Route): void {
  location.hash = route;
}
