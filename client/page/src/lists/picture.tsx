/** An item's picture where the person asked for pictures, else a drawing made of its id. */

import { useState } from "preact/hooks";

import type { CatalogueItem } from "../service/catalogue";
import { Poster } from "../visitor/poster";

/** Pictures from elsewhere are fetched only if a person wants them: who serves them sees which. */
export function Picture({ item, isShown }: { item: CatalogueItem; isShown: boolean }) {
  const [failed, setFailed] = useState(false);
  const isHere = item.image?.startsWith("data:") ?? false;
  if (item.image === null || failed || !(isShown || isHere)) return <Poster id={item.item_id} />;
  return (
    <img
      class="poster"
      src={item.image}
      alt=""
      width="54"
      height="72"
      loading="lazy"
      referrerpolicy="no-referrer"
      onError={() => setFailed(true)}
    />
  );
}

const KEY = "tacit.pictures";

export function readWantsPictures(): boolean {
  return localStorage.getItem(KEY) === "yes";
}

export function storeWantsPictures(wanted: boolean): void {
  if (wanted) localStorage.setItem(KEY, "yes");
  else localStorage.removeItem(KEY);
}
