/** The frame of every page: head, navigation, content. */
import type { Child } from "@hono/hono/jsx";
import { SCOPES } from "../../../store/records/tokens.ts";
import { ASSETS } from "../assets.ts";
import { type NavigationEntry, navigationOf } from "../navigation.ts";
import type { Html, OpenView, View } from "../route.ts";
import { CsrfField } from "./form.tsx";
import { Notice } from "./table.tsx";

/** Tells whether the token of a session has a scope. */
export function may(view: View, scope: typeof SCOPES[number]): boolean {
  return SCOPES.indexOf(view.access.scope) >= SCOPES.indexOf(scope);
}

export interface PageProps {
  view: View | OpenView;
  title: string;
  /** The entry of the navigation that the page belongs to. */
  nav?: NavigationEntry;
  /** Set where the page shows the log of an execution. */
  hasLog?: boolean;
  children?: Child;
}

/** The frame of a page. Addresses in it are relative to the console. */
export function Page({ view, title, nav, hasLog = false, children }: PageProps): Html {
  const { root, nonce, notice } = view;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Hooklaunch`}</title>
        <base href={root} />
        <link rel="icon" href={ASSETS.icon.address} type={ASSETS.icon.type} />
        <link rel="stylesheet" nonce={nonce} href={ASSETS.style.address} />
        <script nonce={nonce} src={ASSETS.script.address} defer></script>
        {hasLog ? <script nonce={nonce} src={ASSETS.log.address} defer></script> : null}
      </head>
      <body>
        <a class="skip" href={`${view.address}#content`}>Skip to content</a>
        <header class="top">
          <a class="brand" href="">Hooklaunch</a>
          {view.access === undefined ? null : <Navigation view={view} nav={nav} />}
        </header>
        <main id="content" tabindex={-1}>
          {notice === undefined ? null : (
            <Notice tone={notice.tone}>
              {notice.text}
              {notice.delivery === undefined ? null : (
                <>
                  . <a href={`deliveries/${encodeURIComponent(notice.delivery)}`}>The delivery</a>
                </>
              )}
            </Notice>
          )}
          {view.access !== undefined && view.api.lacksLeader
            ? (
              <Notice tone="waiting">
                The instance that leads is silent. What it alone knows is left out: what needs
                attention, and the work under way
              </Notice>
            )
            : null}
          {children}
        </main>
        <KeyHelp />
      </body>
    </html>
  );
}

function Navigation({ view, nav }: { view: View; nav: NavigationEntry | undefined }): Html {
  const { name, scope } = view.access;
  return (
    <>
      <nav aria-label="Console">
        {navigationOf(view).map(([address, label]) => (
          <a href={address} aria-current={label === nav ? "page" : undefined}>{label}</a>
        ))}
        <a href="docs/">Docs</a>
      </nav>
      <form method="post" action="logout" class="who">
        <CsrfField view={view} />
        <a href="access/passkeys" title={`${name}, scope: ${scope}. Your passkeys`}>
          {name === "HOOKLAUNCH_ADMIN_TOKEN" ? "admin token" : name}
        </a>
        <button class="quiet">Log out</button>
      </form>
    </>
  );
}

const KEYS = [
  ["j / k", "Next and previous in a list"],
  ["o", "Open"],
  ["r", "Replay"],
  ["/", "Search"],
  ["?", "This list"],
] as const;

function KeyHelp(): Html {
  return (
    <dialog id="keys" aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl class="facts">
        {KEYS.map(([key, meaning]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </>
        ))}
      </dl>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}
