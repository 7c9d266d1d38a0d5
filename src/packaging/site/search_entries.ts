/**
 * The sections of pages, through which the search of the site looks.
 *
 * @module
 */
import type { Page } from "../../docs/mod.ts";

/** A section of a page. */
interface Entry {
  /** Its address below the site's root. */
  id: string;
  page: string;
  title: string;
  text: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

/** Returns the sections of a page as it was rendered. */
export function entriesOf({ name, title }: Page, html: string): Entry[] {
  return html.split(/(?=<h[1-3] id=")/).flatMap((part) => {
    const [heading = "", level, id] = /^<h([1-3]) id="([^"]*)">.*?<\/h\1>/s.exec(part) ?? [];
    if (heading === "") return [];
    return {
      id: level === "1" ? `${name}/` : `${name}/#${id}`,
      page: title,
      title: textOf(heading.replace(/<a class="anchor".*?<\/a>/, "")),
      text: textOf(part.slice(heading.length)),
    };
  });
}

function textOf(html: string): string {
  return html.replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, " ").trim();
}
