// Live pages. The server tells that something has changed, by server-sent events or not at all; the page is
// then loaded again, and its parts with an id replace those that are shown. No text becomes HTML here: the
// browser parses the server's page.
const REFRESH_MS = 1000;
// A service that takes long to answer is asked less often.
const LOAD_SHARE = 10;
const REFRESH_MS_MAX = 5000;
// An answer that was lost on its way never comes, and the page asks again.
const ANSWER_MS_MAX = 60000;
// With a filter, changes of older deliveries are told to nobody.
const UNTOLD_MS = 30000;
// Events may be refused: by a service that stops or starts, by a proxy before it, or as there are too many readers.
const ASK_AGAIN_MS = 10000;
// A reader who leaves the list may be on the way to the bar.
const GO_ON_MS = 1000;

// Loads the page as a document, or what it answers to a form. Nothing in such a document runs.
function loadPage(address, form) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.onload = () => {
      if (request.status === 401 && !form) endSession();
      else if (request.status === 200 && request.response) resolve(request.response);
      else reject(request.status);
    };
    request.onerror = reject;
    request.ontimeout = reject;
    if (!form) request.timeout = ANSWER_MS_MAX;
    request.open(form ? "POST" : "GET", address);
    request.setRequestHeader("x-console-refresh", "1");
    request.send(form);
  });
}

function isChanged({ options, selectedIndex, type, checked, defaultChecked, value, defaultValue }) {
  if (options) {
    return selectedIndex !== Math.max(0, [...options].findIndex((o) => o.defaultSelected));
  }
  return checked !== defaultChecked || (value !== defaultValue && !/checkbox|radio/.test(type));
}

// Leads to the login, unless that would lose what was typed: a form that is sent keeps it.
function endSession() {
  const typed = [...document.querySelectorAll("input, select, textarea")].find(isChanged);
  if (!typed) return location.reload();
  if (document.getElementById("session-over")) return;
  const notice = document.createElement("p");
  Object.assign(notice, { id: "session-over", className: "notice bad", role: "alert" });
  notice.textContent = "Your session is over. Send the form: the login keeps what you typed.";
  (typed.form ?? typed).before(notice);
}

// Brings a list to the rows of another, and leaves alone what is the same.
function mergeRows(shown, wanted) {
  const ids = new Set([...wanted.children].map(({ id }) => id));
  for (const row of [...shown.children]) if (!ids.has(row.id)) row.remove();
  let place = shown.firstElementChild;
  for (const row of [...wanted.children]) {
    const found = row.id && [...shown.children].find(({ id }) => id === row.id);
    if (found && found === place) place = place.nextElementSibling;
    if (!found) shown.insertBefore(document.importNode(row, true), place);
    else replace(found, row);
  }
}

// Tells an element that can have the focus from the others beside it.
function keyOf(element) {
  const { tagName, textContent } = element;
  const name = element.getAttribute("href") ?? element.ariaLabel ?? textContent;
  return [tagName, element.closest("[id]").id, element.closest("form")?.action, name].join();
}

const SCROLLED = ".scroll, pre";
const scrolledTo = ({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop];

// Replaces an element, and keeps the focus, and how far its lists are scrolled.
function replace(shown, wanted) {
  if (sameContent(shown, wanted)) return;
  const focused = document.activeElement;
  const key = shown.contains(focused) && keyOf(focused);
  const fresh = document.importNode(wanted, true);
  const places = [...shown.querySelectorAll(SCROLLED)].map(scrolledTo);
  shown.replaceWith(fresh);
  for (const [index, each] of fresh.querySelectorAll(SCROLLED).entries()) {
    if (places[index]?.some((px) => px > 0)) each.scrollTo(...places[index]);
  }
  if (!key) return;
  [...fresh.querySelectorAll("*")].find((each) => keyOf(each) === key)
    ?.focus({ preventScroll: true });
}

// Relative times differ all the time.
function sameContent(one, other) {
  const [a, b] = [one, other].map((each) => {
    const copy = each.cloneNode(true);
    for (const time of copy.querySelectorAll("time")) time.textContent = "";
    return copy;
  });
  return a.isEqualNode(b);
}

// Replaces the parts of the page that refresh by themselves: `data-refresh` beside an id.
function replaceParts(loaded) {
  for (const part of document.querySelectorAll("[data-refresh][id]")) {
    const fresh = loaded.getElementById(part.id);
    if (!fresh || isBusy(part)) continue;
    const rows = part.querySelector("tbody:hover");
    // No row moves under the pointer; more behind the last one move nothing.
    if (!rows || rowIds(fresh).startsWith(rowIds(part))) {
      replace(part, fresh);
      continue;
    }
    for (const row of [...rows.children]) {
      const wanted = loaded.getElementById(row.id);
      if (wanted) replace(row, wanted);
    }
  }
}

// A part in which somebody types, presses a button, or is asked for a second click.
function isBusy(part) {
  const field = document.activeElement;
  return part.matches(":active") || part.querySelector("details[open]") ||
    (part.contains(field) && field.matches("input, select, textarea") && isChanged(field));
}

function rowIds(part) {
  return [...part.querySelectorAll("[data-row]")].map(({ id }) => id).join();
}

function startList(list) {
  let events;
  let isLoading = false;
  let isStale = false;
  let waiting;
  const bar = document.createElement("button");
  bar.className = "new-bar";
  bar.hidden = true;
  bar.setAttribute("aria-live", "polite");
  bar.addEventListener("click", () => {
    scrollTo({ top: 0 });
    show();
  });
  // It takes no room: the list must not move when it appears.
  const place = document.createElement("div");
  place.className = "new-place";
  place.append(bar);
  list.closest(".scroll").before(place);

  // A list never moves under the reader.
  const isRead = () =>
    scrollY > 80 || list.matches(":hover") || bar.matches(":hover") ||
    list.contains(document.activeElement);
  const newRows = () =>
    [...waiting.children].filter(({ id }) => !document.getElementById(id)).length;
  function show() {
    bar.hidden = true;
    if (waiting) {
      mergeRows(list, waiting);
      // It begins behind the last row that is shown.
      const [shown, wanted] = [document, waiting.ownerDocument].map((page) =>
        page.getElementById("older")
      );
      replace(shown, wanted);
    }
    if (list.firstElementChild) document.querySelector(".empty")?.remove();
    waiting = undefined;
  }
  async function refresh() {
    isStale = true;
    if (isLoading) return;
    isLoading = true;
    while (isStale && !document.hidden) {
      isStale = false;
      const began_ms = performance.now();
      const loaded = await loadPage(location.href).catch(() => undefined);
      const took_ms = performance.now() - began_ms;
      const wanted = loaded?.getElementById(list.id);
      if (loaded) replaceParts(loaded);
      // What has changed may be told once.
      else isStale = true;
      if (wanted) {
        waiting = wanted;
        const count = newRows();
        if (!isRead() || count === 0) show();
        else {
          bar.hidden = false;
          bar.textContent = count >= list.children.length ? `${count} or more new` : `${count} new`;
        }
      } else if (loaded && loaded.querySelector("[data-live]") === null) location.reload();
      await new Promise((done) =>
        setTimeout(done, Math.min(REFRESH_MS_MAX, Math.max(REFRESH_MS, took_ms * LOAD_SHARE)))
      );
    }
    isLoading = false;
  }
  function follow() {
    events?.close();
    events = undefined;
    if (document.hidden) return;
    events = new EventSource(list.dataset.live);
    events.onmessage = refresh;
    events.addEventListener("gap", refresh);
    events.onopen = refresh;
    // A browser connects again by itself only where it got no answer.
    events.onerror = ({ target }) => target.readyState === EventSource.CLOSED && askAgain(target);
  }
  // Without events the list is loaded all the same.
  const askAgain = (refused) =>
    setTimeout(() => {
      if (refused !== events) return;
      follow();
      refresh();
    }, ASK_AGAIN_MS);
  const goOn = () => setTimeout(() => waiting && !isRead() && show(), GO_ON_MS);
  setInterval(() => list.querySelector(".state.running, .state.waiting") && refresh(), UNTOLD_MS);
  list.addEventListener("pointerleave", goOn);
  addEventListener("scroll", goOn, { passive: true });
  // A hidden page holds no connection: a browser has few of them.
  document.addEventListener("visibilitychange", () => {
    follow();
    if (!document.hidden) refresh();
  });
  follow();
}

// Another attempt has a log of its own. Who follows the log is led to it; who reads it, once that is done. While that
// attempt waits, the log of the one that has failed says more.
function hasOtherLog(loaded) {
  const [shown, latest] = [document, loaded].map((page) =>
    page.querySelector("[data-log]")?.dataset.query
  );
  return shown && latest && shown !== latest &&
    loaded.querySelector(".line, #head:not([data-refresh])") !== null;
}

function startParts() {
  const seconds = Math.min(
    ...[...document.querySelectorAll("[data-refresh]")].map(({ dataset }) =>
      Number(dataset.refresh) || 5
    ),
  );
  if (!Number.isFinite(seconds)) return;
  let isLoading = false;
  let isOtherLog = false;
  setInterval(async () => {
    if (isOtherLog && document.querySelector(".follow").hidden) return location.reload();
    // Of a service that takes longer to answer, answers would come ever later.
    if (isLoading || document.hidden || !document.querySelector("[data-refresh]")) return;
    isLoading = true;
    const loaded = await loadPage(location.href).catch(() => undefined);
    isLoading = false;
    if (!loaded) return;
    replaceParts(loaded);
    isOtherLog = hasOtherLog(loaded);
  }, seconds * 1000);
}

// Loads a part of another page, which takes longer to make than this one.
async function loadPart(part) {
  const loaded = await loadPage(part.dataset.load).catch(() => undefined);
  const found = loaded?.getElementById(part.id);
  if (found) part.replaceChildren(...document.importNode(found, true).childNodes);
}

for (const part of document.querySelectorAll("[data-load][id]")) loadPart(part);
for (const list of document.querySelectorAll("[data-live]")) startList(list);
startParts();
