/** Something that takes a moment: it is there, or on its way, or there is a sentence why not. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { describeError } from "../service/requests";

export interface Pending<T> {
  readonly value?: T;
  readonly trouble?: string;
}

/** Made again when what it depends on changes. keep: the earlier one is shown until it is there. */
export function usePending<T>(
  make: () => Promise<T>,
  depends: readonly unknown[],
  keep = false,
): Pending<T> {
  const [draft, setDraft] = useState<Pending<T>>({});
  useEffect(() => {
    let wanted = true;
    if (!keep) setDraft({});
    make()
      .then((value) => wanted && setDraft({ value }))
      .catch((error: unknown) => wanted && setDraft({ trouble: describeError(error) }));
    return () => void (wanted = false);
  }, depends);
  return draft;
}

export function ShowPending<T>(given: {
  draft: Pending<T>;
  children: (value: T) => ComponentChildren;
}) {
  const { value, trouble } = given.draft;
  if (trouble !== undefined) return <Trouble>{trouble}</Trouble>;
  if (value === undefined) return <p class="waiting">One moment …</p>;
  return <>{given.children(value)}</>;
}

export function Trouble({ children }: { children: ComponentChildren }) {
  return (
    <p class="trouble" role="alert">
      {children}
    </p>
  );
}
