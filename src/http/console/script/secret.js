// Buttons that fill a field with a new secret, and show it: the provider must be told.
for (const button of document.querySelectorAll("[data-makes]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const field = document.getElementById(button.dataset.makes);
    const bytes = crypto.getRandomValues(new Uint8Array(20));
    field.value = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    field.type = "text";
    field.focus();
    field.select();
  });
}
