/** What a person says of items, kept in this browser alone. */

import { useCallback, useEffect, useState } from "preact/hooks";

/** liked: lists are made of it. uninterested: a dislike, and in no list. left-out: in no list. */
export type Choice = "liked" | "uninterested" | "left-out";
export type Choices = ReadonlyMap<string, Choice>;

const KEY = "tacit.choices";
const KNOWN = new Set<unknown>(["liked", "uninterested", "left-out"]);

export interface ChoiceKeeping {
  readonly choices: Choices;
  /** undefined takes the choice back. */
  readonly choose: (item: string, choice: Choice | undefined) => void;
  readonly forgetAll: () => void;
}

/** The choices for one model, the same in all tabs. */
export function useChoices(model: string): ChoiceKeeping {
  const [choices, setChoices] = useState<Choices>(() => readChoices(model));
  useEffect(() => {
    const changedElsewhere = () => setChoices(readChoices(model));
    addEventListener("storage", changedElsewhere);
    return () => removeEventListener("storage", changedElsewhere);
  }, [model]);
  const choose = useCallback(
    (item: string, choice: Choice | undefined) => {
      const after = new Map(readChoices(model));
      after.delete(item);
      if (choice !== undefined) after.set(item, choice);
      storeChoices(model, after);
      setChoices(after);
    },
    [model],
  );
  const forgetAll = useCallback(() => {
    localStorage.removeItem(KEY);
    setChoices(new Map());
  }, []);
  return { choices, choose, forgetAll };
}

/** The items of which a person said this, the first one first. */
export function itemsOf(choices: Choices, choice: Choice): string[] {
  return [...choices].filter(([, said]) => said === choice).map(([item]) => item);
}

function readChoices(model: string): Choices {
  const rows = readAll()[model];
  if (!Array.isArray(rows)) return new Map();
  const known = rows.filter(
    (row): row is [string, Choice] =>
      Array.isArray(row) && typeof row[0] === "string" && KNOWN.has(row[1]),
  );
  return new Map(known);
}

function storeChoices(model: string, choices: Choices): void {
  localStorage.setItem(KEY, JSON.stringify({ ...readAll(), [model]: [...choices] }));
}

function readAll(): Record<string, unknown> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return typeof kept === "object" && kept !== null ? (kept as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
