/** The login, and the page behind it for a form that was sent without a session. */
import { CsrfField, Input } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { Notice } from "../components/table.tsx";
import type { Html, OpenView } from "../route.ts";

/** A form that was sent without a session. */
interface KeptForm {
  address: string;
  /** Its fields as JSON: a list of names and values. */
  form: string;
}

interface LoginProps {
  view: OpenView;
  /** The address to go to. */
  to: string;
  kept?: KeptForm | undefined;
  problem?: string;
}

export function LoginPage({ view, to, kept, problem }: LoginProps): Html {
  return (
    <Page view={view} title="Log in">
      <div class="narrow" id="login">
        <h1>Log in</h1>
        {problem === undefined ? null : <Notice tone="bad">{problem}</Notice>}
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
            hint="The service prints one at its first start; more are made on the page Access, or with: hooklaunch token create"
            type="password"
            autocomplete="current-password"
            required
            autofocus
          />
          <button class="primary">Log in</button>
        </form>
      </div>
    </Page>
  );
}

/** Shows the fields of a form that was sent without a session, and sends it when asked to. */
export function SendAgainPage({ view, kept }: { view: OpenView; kept: KeptForm }): Html {
  const fields = fieldsOf(kept.form);
  return (
    <Page view={view} title="Send it again">
      <div class="narrow">
        <h1>You are logged in again</h1>
        <p>
          What you sent to <code>{kept.address}</code> was not done yet. Your fields are kept.
        </p>
        <form method="post" action={kept.address}>
          <CsrfField view={view} />
          {fields.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
          <button class="primary">Send it now</button> <a href="">Discard it</a>
        </form>
      </div>
    </Page>
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
