/**
 * A page that lists the operators' API, made from its declarations. It loads nothing from elsewhere.
 *
 * @module
 */
import { html } from "@hono/hono/html";
import { operations } from "./mod.ts";

/** The page's headers: it runs no script, and no other page may frame it. */
export const DOCS_HEADERS = {
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  "x-content-type-options": "nosniff",
};

/** Makes the page. */
export function docsPage(baseUrl: string) {
  const rows = operations.map(({ method, path, summary }) =>
    html`
      <tr>
        <td><code>${method.toUpperCase()}</code></td>
        <td><code>${path}</code></td>
        <td>${summary}</td>
      </tr>
    `
  );
  // Absolute: the page's own address may end with a slash or not.
  const description = `${new URL(baseUrl).pathname.replace(/\/$/, "")}/api/v0/openapi.json`;
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Hooklaunch API</title>
    <style>
      body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
      td { padding: 0.2rem 1rem 0.2rem 0; vertical-align: top }
      @media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } a { color: #8bf } }
    </style>
  </head>
  <body>
    <h1>Hooklaunch API</h1>
    <p>
      All paths are below <code>${baseUrl}/api/v0</code> and take
      <code>Authorization: Bearer &lt;token&gt;</code>. All fields are in
      <a href="${description}">openapi.json</a>.
    </p>
    <table>
      ${rows}
    </table>
  </body>
</html>`;
}
