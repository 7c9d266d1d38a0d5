// Buttons that copy a value.
const labels = new WeakMap();
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  if (!button) return;
  // Pressed twice, it shows another text in between.
  if (!labels.has(button)) labels.set(button, button.textContent);
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy it";
  }
  setTimeout(() => button.textContent = labels.get(button), 2000);
});
