// Names of fields in expressions: those of the trigger's newest deliveries, below the editor while one types.
// Arrow down chooses, Enter or Tab takes, Escape closes.
const OFFERED_MAX = 8;
const BEGUN =
  /\b(?:body|headers|query)(?:\.parseJSON\(\)|\.\w*|\[\d*\]?|\[(?:'[^']*'?|"[^"]*"?)\]?)*$/;

function startCompletion(editor) {
  const list = document.createElement("ul");
  Object.assign(list, { id: `${editor.id}-fields`, className: "fields", hidden: true });
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Fields");
  editor.after(list);
  editor.setAttribute("aria-autocomplete", "list");
  editor.setAttribute("aria-controls", list.id);
  let loading;
  let active = -1;

  // Once, when somebody begins to type a field.
  function names() {
    loading ??= loadPage(editor.dataset.complete).then(
      (page) => [...page.querySelectorAll("[data-field]")].map((each) => each.textContent),
      () => [],
    );
    return loading;
  }
  function begun() {
    const { selectionStart, selectionEnd, value } = editor;
    // While the names were loading, the editor may have been left.
    if (selectionStart !== selectionEnd || document.activeElement !== editor) return undefined;
    return BEGUN.exec(value.slice(0, selectionStart))?.[0];
  }
  function close() {
    list.hidden = true;
    choose(-1);
  }
  function choose(place) {
    active = place;
    for (const [index, option] of [...list.children].entries()) {
      option.setAttribute("aria-selected", String(index === active));
    }
    if (active === -1) editor.removeAttribute("aria-activedescendant");
    else editor.setAttribute("aria-activedescendant", list.children[active].id);
  }
  function take(option) {
    const word = begun();
    if (word === undefined) return close();
    const end = editor.selectionStart;
    const isJson = editor.value.trimStart().match(/^[[{]/);
    const text = isJson ? JSON.stringify(option.textContent).slice(1, -1) : option.textContent;
    editor.setRangeText(text, end - word.length, end, "end");
    editor.dispatchEvent(new Event("input", { bubbles: true }));
    close();
  }
  async function offer() {
    const all = begun() === undefined ? [] : await names();
    const word = begun()?.replaceAll('"', "'").toLowerCase();
    const found = word === undefined ? [] : all.filter((each) => {
      const name = each.toLowerCase();
      return name !== word &&
        (name.startsWith(word) || name.startsWith(`string(base64.decode(${word}`));
    });
    const options = found.slice(0, OFFERED_MAX).map((name, index) => {
      const option = document.createElement("li");
      Object.assign(option, { id: `${list.id}-${index}`, textContent: name });
      option.setAttribute("role", "option");
      // The editor keeps the focus.
      option.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        take(option);
      });
      return option;
    });
    list.replaceChildren(...options);
    choose(-1);
    list.hidden = options.length === 0;
  }
  editor.addEventListener("input", offer);
  editor.addEventListener("blur", close);
  editor.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing) return;
    const { key } = event;
    const count = list.children.length;
    if (key === "ArrowDown") choose((active + 1) % count);
    else if (key === "ArrowUp" && active !== -1) choose((active + count - 1) % count);
    else if (key === "Escape") close();
    else if ((key === "Enter" || key === "Tab") && active !== -1) take(list.children[active]);
    else return;
    event.preventDefault();
  });
}

for (const editor of document.querySelectorAll("[data-complete]")) startCompletion(editor);
