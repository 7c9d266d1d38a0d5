// The editor of a filter: what is typed is tried after a pause, by the form's own button. The server's page has
// the verdicts.
const TRY_AFTER_MS = 400;
const NOT_TRIED =
  "Not tried: the service does not answer, or your session is over. What you typed is kept";

function startFilter(field) {
  const panel = document.getElementById(field.dataset.try);
  const button = panel.querySelector("button");
  let timer;
  let isRunning = false;
  let isStale = false;

  async function run() {
    isStale = true;
    // One at a time: a slow filter is not tried at each key.
    if (isRunning) return;
    isRunning = true;
    panel.setAttribute("aria-busy", "true");
    while (isStale) {
      isStale = false;
      const form = new URLSearchParams(new FormData(field.form, button));
      show(await loadPage(field.form.action, form).catch(() => undefined));
    }
    panel.removeAttribute("aria-busy");
    isRunning = false;
  }
  function show(loaded) {
    const [summary, verdicts] = panel.querySelectorAll(":scope [id]");
    const [said, found] = [summary, verdicts].map(({ id }) => {
      const fresh = loaded?.getElementById(id);
      return fresh ? [...document.importNode(fresh, true).childNodes] : [];
    });
    summary.replaceChildren(...loaded ? said : [NOT_TRIED]);
    // While there is a mistake, the last verdicts stay: nothing jumps at each key.
    panel.classList.toggle("stale", found.length === 0);
    if (found.length === 0) return;
    const isOpen = verdicts.querySelector("details[open]") !== null;
    verdicts.replaceChildren(...found);
    if (isOpen) verdicts.querySelector("details")?.setAttribute("open", "");
  }
  function soon() {
    clearTimeout(timer);
    timer = setTimeout(run, TRY_AFTER_MS);
  }
  field.addEventListener("input", soon);
  // The sample depends on who sends.
  field.form.addEventListener("change", ({ target }) => target.matches("select") && soon());
  button.addEventListener("click", (event) => {
    event.preventDefault();
    run();
  });
  run();
}

for (const field of document.querySelectorAll("[data-try]")) startFilter(field);
