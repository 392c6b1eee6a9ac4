/** A person's choices about items, which are stored in this browser alone. */

import { useCallback, useEffect, useState } from "preact/hooks";

/** "liked": counts as a like. "uninterested": a dislike, and in no list. "left-out": in no list. */
export type Choice = "liked" | "uninterested" | "left-out";
export type Choices = ReadonlyMap<string, Choice>;

const KEY = "tacit.choices";
const KNOWN_CHOICES = new Set<unknown>(["liked", "uninterested", "left-out"]);

/** The stored choices, and the functions that change them. */
export interface ChoiceKeeping {
  readonly choices: Choices;
  /** Store a choice; undefined takes it back. */
  readonly choose: (item: string, choice: Choice | undefined) => void;
  /** Forget the choices for all models. */
  readonly forgetAll: () => void;
}

/** The choices for one model, the same in all tabs. */
export function useChoices(model: string): ChoiceKeeping {
  const [choices, setChoices] = useState<Choices>(() => readChoices(model));
  useEffect(() => {
    const readFromOtherTab = () => setChoices(readChoices(model));
    addEventListener("storage", readFromOtherTab);
    return () => removeEventListener("storage", readFromOtherTab);
  }, [model]);
  const choose = useCallback(
    (item: string, choice: Choice | undefined) => {
      const changed = new Map(readChoices(model));
      changed.delete(item); // an item that is chosen again goes to the end
      if (choice !== undefined) changed.set(item, choice);
      storeChoices(model, changed);
      setChoices(changed);
    },
    [model],
  );
  const forgetAll = useCallback(() => {
    localStorage.removeItem(KEY);
    setChoices(new Map());
  }, []);
  return { choices, choose, forgetAll };
}

/** List the items with this choice, in the order in which they were chosen. */
export function itemsOf(choices: Choices, choice: Choice): string[] {
  return [...choices].filter(([, ofItem]) => ofItem === choice).map(([item]) => item);
}

/** Read the stored choices for a model; invalid rows are left out. */
function readChoices(model: string): Choices {
  const rows = readAll()[model];
  if (!Array.isArray(rows)) return new Map();
  const valid = rows.filter(
    (row): row is [string, Choice] =>
      Array.isArray(row) && typeof row[0] === "string" && KNOWN_CHOICES.has(row[1]),
  );
  return new Map(valid);
}

function storeChoices(model: string, choices: Choices): void {
  localStorage.setItem(KEY, JSON.stringify({ ...readAll(), [model]: [...choices] }));
}

/** Read the stored choices of all models, by the model's name. */
function readAll(): Record<string, unknown> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof stored === "object" && stored !== null ? (stored as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
