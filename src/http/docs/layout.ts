/**
 * The HTML around a page of the documentation: table of contents, links to the pages beside it.
 *
 * @module
 */
import { html, raw } from "@hono/hono/html";
import { INDEX, type Page, SECTIONS } from "../../docs/mod.ts";
import type { Heading, Rendered } from "./markdown.ts";

type Html = ReturnType<typeof html>;

/** A rendered page. */
interface Shown extends Rendered {
  page: Page;
  /** Elements of the head beside the title and the style. */
  head?: Html;
  /** The contents of the bar at the top. */
  bar: Html;
}

/** The depth of the headings that the table of contents lists. */
const LISTED_DEPTH = 2;
const PAGES = SECTIONS.flatMap(({ pages }) => pages);

/** Lays a page out. Every address begins with `root`, the address of the documentation. */
export function layOut(shown: Shown, root: string): Html {
  const { html: content, page: { name, title }, head = "", bar } = shown;
  const isUnknown = name === "";
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title === INDEX.title ? title : `${title} · Hooklaunch`}</title>
    <link rel="stylesheet" href="${root}style.css">
    ${isUnknown ? "" : html`<link rel="alternate" type="text/markdown" href="${root}${name}.md">`}
    ${head}
  </head>
  <body>
    <a class="skip" href="#content">Skip to content</a>
    <header class="top">
      ${bar}
    </header>
    <details class="menu">
      <summary>Contents</summary>
      <nav aria-label="Pages">${contents(shown, root)}</nav>
    </details>
    <div class="columns">
      <nav class="side" aria-label="Pages">${contents(shown, root)}</nav>
      <main id="content">
        ${raw(content)}
        ${isUnknown ? "" : footer(name, root)}
      </main>
    </div>
  </body>
</html>`;
}

function contents({ page: { name }, headings }: Shown, root: string): Html {
  return html`${
    SECTIONS.map(({ title, pages }) =>
      html`<h2>${title}</h2>
<ul>${
        pages.map((page) =>
          html`<li>${
            page.name === name
              ? html`<a href="${root}${page.name}/" aria-current="page">${page.title}</a>${
                sections(headings)
              }`
              : html`<a href="${root}${page.name}/">${page.title}</a>`
          }</li>`
        )
      }</ul>`
    )
  }`;
}

function sections(headings: readonly Heading[]): Html | string {
  const listed = headings.filter(({ depth }) => depth === LISTED_DEPTH);
  if (listed.length < 2) return "";
  return html`<ul>${
    listed.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)
  }</ul>`;
}

/** Links to the page before, the page after, and the same page as Markdown. */
function footer(name: string, root: string): Html {
  const index = PAGES.findIndex((page) => page.name === name);
  const link = (page: Page | undefined, rel: string, label: string) =>
    page === undefined
      ? ""
      : html`<a rel="${rel}" href="${root}${page.name}/"><small>${label}</small> ${page.title}</a>`;
  return html`<footer>
  ${index > 0 ? link(PAGES[index - 1], "prev", "Previous") : ""}
  ${link(PAGES[index + 1], "next", "Next")}
  <a class="markdown" href="${root}${name}.md">This page as Markdown</a>
</footer>`;
}
