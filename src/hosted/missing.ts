/**
 * Answers of a hosted service that lacks something.
 *
 * @module
 */

const NO_STORE = { "cache-control": "no-store" };
const RETRY_AFTER_S = "60";

/** Answers with what is missing: a page for a browser, text at `/readyz`, and nothing of it for senders. */
export function missingAnswer(request: Request, missing: readonly string[]): Response {
  const { pathname } = new URL(request.url);
  const headers = { ...NO_STORE, "retry-after": RETRY_AFTER_S };
  if (pathname === "/readyz" || pathname === "/readyz/") {
    const body = missing.map((sentence) => `not ready: ${sentence}\n`).join("");
    return new Response(body, { status: 503, headers });
  }
  if (pathname === "/") {
    return new Response(page(missing), {
      status: 503,
      headers: {
        ...headers,
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'",
        "x-content-type-options": "nosniff",
      },
    });
  }
  return new Response('{"title":"Service Unavailable","status":503}', {
    status: 503,
    headers: { ...headers, "content-type": "application/problem+json" },
  });
}

function page(missing: readonly string[]): string {
  const items = missing.map((sentence) => `<li>${escaped(sentence)}.</li>`).join("\n");
  return `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Hooklaunch: something is missing</title>
<h1>Hooklaunch runs, and something is missing</h1>
<ul>
${items}
</ul>
<p>The same is in the log and at <code>/readyz</code>. The documentation has a page about Deno Deploy.</p>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
