/** The login, and the page behind it for a form that was sent without a session. */
import { CsrfField, Input } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { Notice } from "../components/table.tsx";
import type { LoginError } from "../../../logins/failure.ts";
import type { Html, OpenView, View } from "../route.ts";

const TOKEN_HINT =
  "That of HOOKLAUNCH_ADMIN_TOKEN, or the one that the first start has printed at a terminal, or " +
  "written to admin.token in the data folder. More are made on the page Access, or with: hooklaunch token create";

/** A form that was sent without a session. */
export interface KeptForm {
  address: string;
  /** Its fields as JSON: a list of names and values. */
  form: string;
}

/** A link to an identity provider. */
export interface LoginButton {
  name: string;
  address: string;
}

/** The content of the login page. */
export interface LoginProps {
  view: OpenView;
  /** The address to go to. */
  to: string;
  kept?: KeptForm | undefined;
  problem?: string;
  /** The identity providers at which one can log in. */
  buttons?: readonly LoginButton[];
  /** Somebody has a passkey. */
  hasPasskeys?: boolean;
}

export function LoginPage(
  { view, to, kept, problem, buttons = [], hasPasskeys = false }: LoginProps,
): Html {
  const hasButtons = buttons.length > 0 || hasPasskeys;
  return (
    <Page view={view} title="Log in">
      <div class="narrow" id="login">
        <h1>Log in</h1>
        {problem === undefined ? null : <Notice tone="bad">{problem}</Notice>}
        {buttons.map(({ name, address }) => (
          <p>
            <a class="button primary wide-button" href={address}>Log in with {name}</a>
          </p>
        ))}
        {hasPasskeys ? <PasskeyLogin to={to} /> : null}
        {hasButtons ? <h2>With a token</h2> : null}
        <form method="post" action="login">
          <input type="hidden" name="to" value={to} />
          {kept === undefined ? null : (
            <>
              <input type="hidden" name="kept_address" value={kept.address} />
              <input type="hidden" name="kept_form" value={kept.form} />
            </>
          )}
          <Input
            label="Operator's token"
            id="token"
            hint={TOKEN_HINT}
            type="password"
            autocomplete="current-password"
            required
            autofocus={!hasButtons}
          />
          <button class={hasButtons ? undefined : "primary"}>Log in</button>
        </form>
        {kept === undefined ? null : <OtherLogin kept={kept} />}
      </div>
    </Page>
  );
}

/** The way for who has no token: the form is sent again with the session of another tab. */
function OtherLogin({ kept }: { kept: KeptForm }): Html {
  return (
    <form method="post" action={kept.address}>
      <HiddenFields kept={kept} />
      <p>
        Or <a href="login" target="_blank">log in in another tab</a>, then{" "}
        <button>go on here</button>
      </p>
    </form>
  );
}

/** The login with a passkey. The script shows it where the browser has them. */
function PasskeyLogin({ to }: { to: string }): Html {
  return (
    <form
      method="post"
      action="login/passkey"
      data-passkey="get"
      data-options="login/passkey"
      hidden
    >
      <input type="hidden" name="to" value={to} />
      <input type="hidden" name="credential" />
      <input type="hidden" name="challenge" />
      <p>
        <button class="wide-button">Log in with a passkey</button>
      </p>
      <p class="problem" role="alert" hidden></p>
    </form>
  );
}

/** The page of a login at an identity provider that failed. */
export function FailedLoginPage({ view, error }: { view: OpenView; error: LoginError }): Html {
  return (
    <Page view={view} title="Not logged in">
      <div class="narrow" id="login">
        <h1>Not logged in</h1>
        <Notice tone="bad">{error.message}.</Notice>
        <p>{error.todo}</p>
        <p class="dim">Cause: {error.cause}. The log of the service says more.</p>
        <p>
          <a class="button primary" href="login">Back to the login</a>
        </p>
      </div>
    </Page>
  );
}

/** The page behind the logout of a person whose issuer has a session of its own. */
export function LoggedOutPage({ view, there }: { view: OpenView; there: LoginButton }): Html {
  return (
    <Page view={view} title="Logged out">
      <div class="narrow" id="login">
        <h1>You are logged out</h1>
        <p>
          You are still logged in at{" "}
          {there.name}: whoever uses this browser can log in again with it.
        </p>
        <p>
          <a class="button primary" href={there.address}>Log out at {there.name}, too</a>{" "}
          <a class="button" href="login">Log in again</a>
        </p>
      </div>
    </Page>
  );
}

/** Keeps the fields of a form that was sent without its session, and sends it when asked to. */
export function SendAgainPage({ view, kept }: { view: View | OpenView; kept: KeptForm }): Html {
  return (
    <Page view={view} title="Send it again">
      <div class="narrow">
        <h1>You are logged in again</h1>
        <p>
          What you sent to <code>{kept.address}</code> was not done yet. Your fields are kept.
        </p>
        <form method="post" action={kept.address}>
          <CsrfField view={view} />
          <HiddenFields kept={kept} />
          <button class="primary">Send it now</button> <a href="">Discard it</a>
        </form>
      </div>
    </Page>
  );
}

function HiddenFields({ kept }: { kept: KeptForm }): Html {
  return (
    <>
      {fieldsOf(kept.form).map(([name, value]) => (
        <input
          type="hidden"
          name={name}
          value={value}
        />
      ))}
    </>
  );
}

function fieldsOf(json: string): [string, string][] {
  try {
    const list: unknown = JSON.parse(json);
    if (!Array.isArray(list)) return [];
    return list.flatMap((entry) => {
      const [name, value] = Array.isArray(entry) ? entry : [];
      return typeof name === "string" && typeof value === "string" ? [[name, value]] : [];
    });
  } catch {
    return [];
  }
}
