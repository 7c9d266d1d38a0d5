/** `/access`: tokens, sessions, and the log of changes. */
import type { AuditEntry } from "../../../store/records/audit.ts";
import { type ListedToken, SCOPES } from "../../../store/records/tokens.ts";
import type { ShownLoginProvider } from "../../api/login_providers.ts";
import type { ShownPasskey } from "../../api/passkeys.ts";
import type { ServiceState } from "../../api/service.ts";
import type { ShownSession } from "../../api/sessions.ts";
import type { MadeToken } from "../../api/tokens.ts";
import { ApiCallError, type ListPage, search } from "../client.ts";
import { Confirm, CsrfField, describedBy, Field, Input } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { Passkeys, Providers } from "../components/ways_in.tsx";
import { More, Notice, Row, Table } from "../components/table.tsx";
import { Copied, Time } from "../components/values.tsx";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";

const DAY_MS = 24 * 60 * 60_000;
const LIFETIMES = [["", "never"], ["1", "in a day"], ["30", "in 30 days"], ["365", "in a year"]];
const AUDIT_ENTRIES = 20;
const BROWSER_LENGTH_MAX = 30;
/** The newest sessions, unless all are asked for. */
const SESSIONS_SHOWN = 25;

interface AccessProps {
  view: View;
  /** The form that was refused. */
  form?: URLSearchParams;
  refused?: ApiCallError;
  made?: MadeToken;
}

async function AccessPage({ view, ...props }: AccessProps): Promise<Html> {
  const [service, tokens, sessions, passkeys, providers, audit] = await Promise.all([
    view.api.ifKnown(view.api.get<ServiceState>("service/")),
    view.api.all<ListedToken>("tokens/"),
    view.api.all<ShownSession>("sessions/"),
    view.api.all<ShownPasskey>("passkeys/"),
    view.api.list<ShownLoginProvider>("login-providers/"),
    view.api.list<AuditEntry>("audit/", {
      limit: AUDIT_ENTRIES,
      cursor: view.query.get("audit") ?? undefined,
    }),
  ]);
  return (
    <Page view={view} title="Access" nav="Access">
      <h1>Access</h1>
      {props.made === undefined ? null : <NewToken made={props.made} />}
      <h2 id="tokens">Tokens</h2>
      <Tokens
        view={view}
        tokens={tokens}
        sessions={sessions}
        hasVariable={service?.settings.HOOKLAUNCH_ADMIN_TOKEN === true}
      />
      <TokenForm view={view} {...props} />
      <h2 id="sessions">Sessions</h2>
      <Sessions view={view} sessions={sessions} />
      <h2 id="passkeys">Passkeys</h2>
      <Passkeys view={view} passkeys={passkeys} />
      <h2 id="logins">Identity providers</h2>
      <Providers providers={providers.results} />
      <h2 id="audit">Changes</h2>
      <Audit view={view} audit={audit} />
    </Page>
  );
}

function NewToken({ made: { name, token } }: { made: MadeToken }): Html {
  return (
    <Notice tone="ok">
      <p>The token "{name}" is made. It is not shown again:</p>
      <Copied value={token} label="the token" />
    </Notice>
  );
}

interface TokensProps {
  view: View;
  tokens: readonly ListedToken[];
  sessions: readonly ShownSession[];
  /** The service has a token in its variable. */
  hasVariable: boolean;
}

function Tokens({ view, tokens, sessions, hasVariable }: TokensProps): Html {
  const { now_ms } = view;
  return (
    <Table label="Tokens" columns={["Name", "Scope", "Limited to", "Last used", "Expires", ""]}>
      {hasVariable
        ? (
          <Row id="of-variable">
            <td>HOOKLAUNCH_ADMIN_TOKEN</td>
            <td>admin</td>
            <td class="wide">–</td>
            <td>–</td>
            <td>never</td>
            <td class="dim">In a variable of the service: to revoke it, change that</td>
          </Row>
        )
        : null}
      {tokens.map(({ id, name, scope = "admin", triggers, projects, last_used_at, expires_at }) => (
        <Row id={id}>
          <td>{name}</td>
          <td>{scope}</td>
          <td class="wide">{[...triggers ?? [], ...projects ?? []].join(", ") || "–"}</td>
          <td>
            {last_used_at === undefined ? "never" : <Time at={last_used_at} now_ms={now_ms} />}
          </td>
          <td>{expires_at === undefined ? "never" : <Time at={expires_at} now_ms={now_ms} />}</td>
          <td>
            <Confirm
              view={view}
              to={`access/tokens/${id}/revoke`}
              consequence={consequence(name, sessions)}
            >
              Revoke
            </Confirm>
          </td>
        </Row>
      ))}
    </Table>
  );
}

function consequence(name: string, sessions: readonly ShownSession[]): string {
  const count = sessions.filter(({ token }) => token === name).length;
  const ended = count === 0 ? "" : `, end ${count} ${count === 1 ? "session" : "sessions"}`;
  return `Revoke ${name}${ended}`;
}

function TokenForm({ view, form, refused }: AccessProps): Html {
  const problemsOf = (field: string) =>
    refused?.problems.filter(({ pointer }) => pointer.split("/")[1] === field) ?? [];
  const typed = (name: string) => form?.get(name) ?? undefined;
  return (
    <details open={refused !== undefined}>
      <summary class="button">New token</summary>
      <form method="post" action="access/tokens" class="panel">
        <CsrfField view={view} />
        {refused !== undefined && refused.problems.length === 0
          ? <Notice tone="bad">{refused.message}</Notice>
          : null}
        <Input
          label="Name"
          id="name"
          hint="The person or program that uses it"
          problems={problemsOf("name")}
          required
          value={typed("name")}
        />
        <Field
          label="Scope"
          id="scope"
          hint="read: see everything; operate: also run, replay and stop work; admin: also change everything"
          problems={problemsOf("scope")}
        >
          <select id="scope" name="scope" aria-describedby={describedBy("scope")}>
            {SCOPES.map((scope) => (
              <option value={scope} selected={scope === typed("scope")}>{scope}</option>
            ))}
          </select>
        </Field>
        <Input
          label="Only these triggers"
          id="triggers"
          hint="Names, with commas between; all when empty"
          problems={problemsOf("triggers")}
          value={typed("triggers")}
        />
        <Input
          label="Only these projects"
          id="projects"
          hint="Names, with commas between; all when empty"
          problems={problemsOf("projects")}
          value={typed("projects")}
        />
        <Field label="Expires" id="days" problems={problemsOf("expires_at")}>
          <select id="days" name="days" aria-describedby={describedBy("days")}>
            {LIFETIMES.map(([days, label]) => (
              <option value={days} selected={days === typed("days")}>{label}</option>
            ))}
          </select>
        </Field>
        <button class="primary">Create the token</button>
      </form>
    </details>
  );
}

function Sessions({ view, sessions }: { view: View; sessions: readonly ShownSession[] }): Html {
  const { now_ms } = view;
  const isWhole = sessions.length <= SESSIONS_SHOWN || view.query.has("sessions");
  if (!isWhole) {
    return (
      <>
        <Sessions view={view} sessions={newestFirst(sessions).slice(0, SESSIONS_SHOWN)} />
        <More
          href="access?sessions=all#sessions"
          label={`${sessions.length - SESSIONS_SHOWN} more sessions`}
        />
      </>
    );
  }
  return (
    <Table
      label="Sessions"
      columns={["Opened by", "At", "Expires", "Address", "Browser", ""]}
      stacked
    >
      {newestFirst(sessions).map((
        { id, token, issuer, created_at, expires_at, remote_ip, user_agent },
      ) => (
        <Row id={id}>
          <td title={issuer}>
            {token}
            {id === view.sessionId ? <span class="dim">{" (this one)"}</span> : null}
          </td>
          <td>
            <Time at={created_at} now_ms={now_ms} />
          </td>
          <td class="minor">
            <Time at={expires_at} now_ms={now_ms} />
          </td>
          <td>{remote_ip}</td>
          <td title={user_agent}>{browserOf(user_agent)}</td>
          <td>
            <Confirm
              view={view}
              to={`access/sessions/${id}/end`}
              consequence={`End it for ${token}`}
            >
              End
            </Confirm>
          </td>
        </Row>
      ))}
    </Table>
  );
}

function newestFirst(sessions: readonly ShownSession[]): ShownSession[] {
  return sessions.toSorted((a, b) => a.created_at < b.created_at ? 1 : -1);
}

/** Shortens how a browser names itself: most names hold those of others, too. */
function browserOf(userAgent: string): string {
  const [, name, version] = /(Edg|OPR|Firefox|Chrome|Safari)\/(\d+)/.exec(
    userAgent.replace(/^.*(?=(?:Edg|OPR)\/)/, ""),
  ) ?? [];
  const [system = ""] = /Android|iPhone|iPad|Windows|Mac OS X|Linux/.exec(userAgent) ?? [];
  if (name === undefined) return userAgent.slice(0, BROWSER_LENGTH_MAX);
  return `${name} ${version}${system && `, ${system}`}`;
}

function Audit({ view, audit }: { view: View; audit: ListPage<AuditEntry> }): Html {
  return (
    <>
      <Table label="Changes" columns={["Time", "Who", "From", "Operation", "Changed"]} stacked>
        {audit.results.map(({ id, time, author, remote_ip, operation, path, changes }) => (
          <Row id={id}>
            <td>
              <Time at={time} now_ms={view.now_ms} />
            </td>
            <td class="name" title={author.issuer && `${author.subject} at ${author.issuer}`}>
              {author.name}
            </td>
            <td>{remote_ip}</td>
            <td class="wide">
              {operation}
              <br />
              <span class="dim">{path}</span>
            </td>
            <td class="wide">
              {changes.length === 0 ? "" : (
                <details>
                  <summary>{changes.map(({ pointer }) => pointer || "all").join(", ")}</summary>
                  <pre tabindex={0}>{changes.map(changeText).join("\n")}</pre>
                </details>
              )}
            </td>
          </Row>
        ))}
      </Table>
      {audit.cursor === undefined
        ? null
        : <More href={`access${search({ audit: audit.cursor })}#audit`} />}
    </>
  );
}

function changeText({ pointer, before, after }: AuditEntry["changes"][number]): string {
  const lines = [pointer || "(the whole record)"];
  if (before !== undefined) lines.push(`- ${JSON.stringify(before, undefined, 2)}`);
  if (after !== undefined) lines.push(`+ ${JSON.stringify(after, undefined, 2)}`);
  return lines.join("\n");
}

async function create({ view, form }: Submission): Promise<Submitted> {
  const list = (name: string) => {
    const names = (form.get(name) ?? "").split(",").map((each) => each.trim()).filter(Boolean);
    return names.length === 0 ? {} : { [name]: names };
  };
  const days = Number(form.get("days"));
  const expiry = days > 0
    ? { expires_at: new Date(view.now_ms + days * DAY_MS).toISOString() }
    : {};
  const settings = {
    name: form.get("name")?.trim() ?? "",
    scope: form.get("scope") ?? "read",
    ...list("triggers"),
    ...list("projects"),
    ...expiry,
  };
  try {
    const made = await view.api.send<MadeToken>("POST", "tokens/", settings);
    // Shown at once and not behind a redirect: it is kept nowhere.
    return { page: await AccessPage({ view, made }), status: 200 };
  } catch (error) {
    if (!(error instanceof ApiCallError)) throw error;
    return { page: await AccessPage({ view, form, refused: error }) };
  }
}

/** The routes of tokens, sessions and the log of changes. */
export const accessRoutes = [
  route({ path: "/access", show: ({ view }) => AccessPage({ view }) }),
  route({ path: "/access/tokens", submit: create }),
  route({
    path: "/access/tokens/:id/revoke",
    async submit({ view, params: { id } }) {
      await view.api.send("DELETE", `tokens/${id}/`);
      return { to: "access#tokens", notice: "The token opens nothing any more" };
    },
  }),
  route({
    path: "/access/passkeys/:id/revoke",
    async submit({ view, params: { id } }) {
      await view.api.send("DELETE", `passkeys/${id}/`);
      return { to: "access#passkeys", notice: "The passkey opens nothing any more" };
    },
  }),
  route({
    path: "/access/sessions/:id/end",
    async submit({ view, params: { id } }) {
      await view.api.send("DELETE", `sessions/${id}/`);
      return { to: "access#sessions", notice: "The session has ended" };
    },
  }),
];
