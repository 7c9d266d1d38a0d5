// The keyboard: j and k move in a list, o opens, other keys press the button that names them.
function isTyping({ target }) {
  return target.closest?.("input, select, textarea, [contenteditable]") !== null;
}

const KEYED = "a, button, summary";

function move(step) {
  // A row without anything to press takes no focus.
  const rows = [...document.querySelectorAll("[data-row]")].filter((row) =>
    row.querySelector(KEYED)
  );
  const current = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[current === -1 ? (step > 0 ? 0 : rows.length - 1) : current + step];
  const link = next?.querySelector(KEYED);
  link?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
  const { key, repeat } = event;
  // Only moving goes on while a key is held. Behind a dialog nothing is pressed.
  if ((repeat && !"jk".includes(key)) || document.querySelector("dialog[open]")) return;
  if (key === "j" || key === "k") move(key === "j" ? 1 : -1);
  else if (key === "o") {
    document.activeElement?.closest?.("[data-row]")?.querySelector("a")?.click();
  } else if (key === "?") document.getElementById("keys")?.showModal();
  else {
    const row = document.activeElement?.closest?.("[data-row]");
    const selector = `[data-hotkey="${CSS.escape(key)}"]`;
    const target = row?.querySelector(selector) ?? document.querySelector(selector);
    if (!target) return;
    if (target.matches("input, select, textarea")) target.focus();
    else target.click();
  }
  event.preventDefault();
});
