/** The frame of the page, with a visitor's steps or the operator's view in it. */

import { useEffect, useRef } from "preact/hooks";

import { Operator } from "./operator/operator";
import { useRoute } from "./route";
import { VisitorSteps } from "./visitor/steps";
import { useVisit } from "./visitor/visit";

/** The whole page. A new route moves the focus to its heading. */
export function Page() {
  const route = useRoute();
  const visitState = useVisit(route !== "operator");
  const main = useRef<HTMLElement>(null);
  const isFirstRoute = useRef(true);
  useEffect(() => {
    document.title = `${TITLES[route]} · tacit`;
    if (isFirstRoute.current) {
      isFirstRoute.current = false;
      return;
    }
    // Focus moves to the heading, for people who cannot see that the page changed.
    scrollTo(0, 0);
    findHeading(main.current)?.focus({ preventScroll: true });
  }, [route]);
  useEffect(() => (main.current === null ? undefined : keepHeadingFocused(main.current)), []);
  return (
    <>
      <header class="top">
        <button type="button" class="skip" onClick={() => findHeading(main.current)?.focus()}>
          Skip to the content
        </button>
        <div class="wide">
          <a class="mark" href="#rate">
            <Mark />
            tacit
          </a>
          <nav aria-label="Views">
            <a href="#rate" aria-current={route === "operator" ? undefined : "true"}>
              Visitor
            </a>
            <a href="#operator" aria-current={route === "operator" ? "true" : undefined}>
              Operator
            </a>
          </nav>
        </div>
      </header>
      <main ref={main} class="wide">
        {route === "operator" ? <Operator /> : <VisitorSteps step={route} state={visitState} />}
      </main>
      <footer>
        <div class="wide">
          This page talks to the service it came from and to nobody else.{" "}
          <a href="/api/openapi.json">What the service answers</a>
        </div>
      </footer>
    </>
  );
}

const TITLES = {
  rate: "Rate",
  list: "Your list",
  hide: "Hide",
  send: "What leaves",
  operator: "Operator",
};

/** Find the heading in the main part. Links cannot lead to it, because addresses name the steps. */
function findHeading(main: HTMLElement | null): HTMLElement | null {
  return main?.querySelector("h1") ?? null;
}

/**
 * Focus the new heading whenever a heading that has the focus is replaced, as happens after the
 * content of a step was fetched.
 *
 * @returns a function that stops this.
 */
function keepHeadingFocused(main: HTMLElement): () => void {
  let focusedHeading: HTMLElement | undefined;
  const noteFocus = ({ target }: FocusEvent) => {
    focusedHeading = target instanceof HTMLHeadingElement ? target : undefined;
  };
  const observer = new MutationObserver(() => {
    if (focusedHeading === undefined || focusedHeading.isConnected) return;
    focusedHeading = undefined;
    if (document.activeElement === document.body) findHeading(main)?.focus({ preventScroll: true });
  });
  document.addEventListener("focusin", noteFocus);
  observer.observe(main, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("focusin", noteFocus);
    observer.disconnect();
  };
}

/** The logo. */
function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#1f5c57" />
      <path d="M9 11h14" stroke="#fff" stroke-width="3.2" stroke-linecap="round" />
      <path
        d="M16 11v12"
        stroke="#fff"
        stroke-width="3.2"
        stroke-linecap="round"
        stroke-dasharray="0.1 5.6"
      />
    </svg>
  );
}
