/** Values that take a moment to make or fetch, and what is shown meanwhile or after an error. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

import { describeError } from "../service/requests";

/** A value, or the sentence of an error; neither while it is pending. */
export interface Pending<T> {
  readonly value?: T;
  readonly trouble?: string;
}

/**
 * Make a value, and make it again when one of `dependencies` changes.
 *
 * @param keepsOld whether the old value stays until the new one has been made.
 */
export function usePending<T>(
  make: () => Promise<T>,
  dependencies: readonly unknown[],
  keepsOld = false,
): Pending<T> {
  const [pending, setPending] = useState<Pending<T>>({});
  useEffect(() => {
    let isCurrent = true; // false once a dependency has changed: a late result is then ignored
    if (!keepsOld) setPending({});
    make()
      .then((value) => isCurrent && setPending({ value }))
      .catch((error: unknown) => isCurrent && setPending({ trouble: describeError(error) }));
    return () => void (isCurrent = false);
  }, dependencies);
  return pending;
}

/** Shows a value by `children`; before that a waiting text, and after an error its sentence. */
export function ShowPending<T>(props: {
  pending: Pending<T>;
  children: (value: T) => ComponentChildren;
}) {
  const { value, trouble } = props.pending;
  if (trouble !== undefined) return <Trouble>{trouble}</Trouble>;
  if (value === undefined) return <p class="waiting">One moment …</p>;
  return <>{props.children(value)}</>;
}

/** The sentence of an error. */
export function Trouble({ children }: { children: ComponentChildren }) {
  return (
    <p class="trouble" role="alert">
      {children}
    </p>
  );
}
