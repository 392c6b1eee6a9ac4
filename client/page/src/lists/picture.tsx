/** An item's picture, if the person asked for pictures, or else a drawing made of its id. */

import { useState } from "preact/hooks";

import type { CatalogueItem } from "../service/catalogue";
import { Poster } from "../visitor/poster";

/**
 * The picture of an item, or a drawing. Pictures from other hosts, which see what is fetched from
 * them, are shown only if `isShown`; pictures inside the catalogue are always shown.
 */
export function Picture({ item, isShown }: { item: CatalogueItem; isShown: boolean }) {
  const [hasFailed, setHasFailed] = useState(false);
  const isInCatalogue = item.image?.startsWith("data:") ?? false;
  const mayShow = isShown || isInCatalogue;
  if (item.image === null || hasFailed || !mayShow) return <Poster id={item.item_id} />;
  return (
    <img
      class="poster"
      src={item.image}
      alt=""
      width="54"
      height="72"
      loading="lazy"
      referrerpolicy="no-referrer"
      onError={() => setHasFailed(true)}
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
