/** `/access/device`: confirms the login of a command line, by the code that it shows. */
import { STATUS_CODE } from "@std/http/status";
import type { DeviceLogin } from "../../../store/records/device_logins.ts";
import { CsrfField, Input } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { Notice } from "../components/table.tsx";
import { Facts, Time } from "../components/values.tsx";
import { type Html, route, type Shown, type View } from "../route.ts";

const PAGE = "access/device";

function CodePage({ view, problem }: { view: View; problem?: string }): Html {
  return (
    <Page view={view} title="Log in a command line">
      <div class="narrow">
        <h1>Log in a command line</h1>
        {problem === undefined ? null : <Notice tone="bad">{problem}</Notice>}
        <form method="get" action={PAGE}>
          <Input
            label="Code"
            id="code"
            hint="hooklaunch login shows it"
            autocomplete="off"
            required
            autofocus
          />
          <button class="primary">Go on</button>
        </form>
      </div>
    </Page>
  );
}

function ConfirmPage({ view, login }: { view: View; login: DeviceLogin }): Html {
  const { access, now_ms, deviceLogins } = view;
  const { user_code, device, remote_ip, created_at } = login;
  const limits = [...access.triggers ?? [], ...access.projects ?? []].join(", ");
  return (
    <Page view={view} title="Log in a command line">
      <div class="narrow">
        <h1>Log in this command line?</h1>
        <Facts
          facts={[
            ["Code", <code>{user_code}</code>],
            ["Computer", device],
            ["Address", remote_ip],
            ["Asked", <Time at={created_at} now_ms={now_ms} />],
            ["It may", `what you may, with the scope ${deviceLogins.scopeFor(login)}`],
            ...limits === "" ? [] : [["Limited to", limits] as const],
            ["Ends", "in 30 days, or with your own login"],
          ]}
        />
        <Notice tone="waiting">
          Confirm it only if you have typed <code>hooklaunch login</code>{" "}
          yourself, and it shows this code. Who has sent you a code or this link acts as you then.
        </Notice>
        <form method="post" action={PAGE}>
          <CsrfField view={view} />
          <input type="hidden" name="code" value={user_code} />
          <p>
            <button class="primary" name="decision" value="confirm">Log it in</button>{" "}
            <button name="decision" value="deny">Refuse it</button>
          </p>
        </form>
      </div>
    </Page>
  );
}

async function show(view: View): Promise<Shown> {
  const code = view.query.get("code") ?? "";
  if (code === "") return CodePage({ view });
  const login = await view.deviceLogins.find(code);
  if (login !== undefined) return ConfirmPage({ view, login });
  const problem = "No login with this code waits: it is mistyped, was decided, or is too old.";
  return { page: CodePage({ view, problem }), status: STATUS_CODE.NotFound };
}

/** The routes of logins of command lines. */
export const deviceRoutes = [
  route({
    path: "/access/device",
    show: ({ view }) => show(view),
    async submit({ view, form }) {
      const code = form.get("code") ?? "";
      if (form.get("decision") !== "confirm") {
        await view.deviceLogins.deny(code);
        return { to: PAGE, notice: { text: "The command line gets no access", tone: "bad" } };
      }
      await view.deviceLogins.confirm(code);
      return { to: PAGE, notice: "The command line is logged in: go on there" };
    },
  }),
];
