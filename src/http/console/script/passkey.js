// Passkeys: the browser asks for a fingerprint, a PIN or a key, and the form carries its answer.
const WAYS = {
  create: (publicKey) =>
    navigator.credentials.create({
      publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey),
    }),
  get: (publicKey) =>
    navigator.credentials.get({
      publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey),
    }),
};
const PROBLEMS = {
  NotAllowedError: "It was cancelled, or took too long. Try again.",
  InvalidStateError: "This device has a passkey of yours for this service already.",
  SecurityError: "The browser makes no passkeys for this address.",
};
const isSupported = globalThis.PublicKeyCredential?.parseCreationOptionsFromJSON !== undefined;
for (const form of isSupported ? document.querySelectorAll("[data-passkey]") : []) {
  const { passkey: way, options: address } = form.dataset;
  const problem = form.querySelector("[role=alert]");
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const refuse = (text) => {
      problem.hidden = false;
      problem.textContent = text;
    };
    problem.hidden = true;
    try {
      const answer = await fetch(address);
      const { options, challenge, detail } = await answer.json();
      if (!answer.ok) return refuse(detail);
      const credential = await WAYS[way](options);
      form.elements.credential.value = JSON.stringify(credential.toJSON());
      form.elements.challenge.value = challenge;
      form.submit();
    } catch (error) {
      refuse(PROBLEMS[error.name] ?? error.message);
    }
  });
}
