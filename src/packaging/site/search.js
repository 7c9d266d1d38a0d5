/* The search of the site: it looks through all sections, in the browser. */
import MiniSearch from "minisearch";

const SHOWN_MAX = 12;
const EXCERPT = 140;

const area = document.querySelector("search");
const root = area.dataset.root;
const input = area.querySelector("input");
const status = area.querySelector("[role=status]");
const list = area.querySelector("ol");
area.hidden = false;

let loading;

/** Loads the sections when somebody searches for the first time. */
async function load() {
  const sections = await (await fetch(`${root}search.json`)).json();
  const search = new MiniSearch({
    fields: ["title", "page", "text"],
    storeFields: ["title", "page", "text"],
    searchOptions: {
      boost: { title: 4, page: 2 },
      // The references have every word many times.
      boostDocument: (id) => /^(api|cli)\//.test(id) ? 0.3 : 1,
      prefix: true,
      fuzzy: 0.2,
      combineWith: "AND",
    },
  });
  search.addAll(sections);
  return search;
}

async function show() {
  const words = input.value.trim();
  if (words === "") return clear();
  let search;
  try {
    search = await (loading ??= load());
  } catch {
    // The next letter tries it again.
    loading = undefined;
    list.replaceChildren();
    status.textContent = "The search cannot be loaded now";
    return;
  }
  // Something else may have been typed meanwhile.
  if (words !== input.value.trim()) return;
  const found = search.search(words);
  status.textContent = found.length === 0
    ? `Nothing found for “${words}”`
    : `${found.length} found`;
  list.replaceChildren(...found.slice(0, SHOWN_MAX).map((each) => item(each, words)));
}

function item({ id, page, title, text }, words) {
  const link = document.createElement("a");
  link.href = root + id;
  const heading = document.createElement("strong");
  heading.textContent = title === page ? title : `${page} › ${title}`;
  const excerpt = document.createElement("span");
  excerpt.textContent = excerptOf(text, words);
  link.append(heading, excerpt);
  const entry = document.createElement("li");
  entry.append(link);
  return entry;
}

/** Returns the part of a text around the first word. */
function excerptOf(text, words) {
  const at = text.toLowerCase().indexOf(words.toLowerCase().split(/\s+/)[0]);
  const start = Math.max(0, at - 40);
  const cut = text.slice(start, start + EXCERPT);
  return (start > 0 ? "…" : "") + cut + (start + EXCERPT < text.length ? "…" : "");
}

function clear() {
  list.replaceChildren();
  status.textContent = "";
}

/** Moves through what was found by the arrow keys. */
function move(event) {
  const links = [...list.querySelectorAll("a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || links.length === 0) return;
  event.preventDefault();
  const at = links.indexOf(document.activeElement) + step;
  (at < 0 ? input : links[Math.min(at, links.length - 1)]).focus();
}

input.addEventListener("input", show);
area.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    input.value = "";
    clear();
    input.blur();
  } else if (event.key === "Enter" && document.activeElement === input) {
    list.querySelector("a")?.click();
  } else move(event);
});
list.addEventListener("click", clear);
document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input.focus();
});
document.addEventListener("click", ({ target }) => {
  if (!area.contains(target)) clear();
});
