/** `/access/passkeys`: the passkeys of who is logged in; with them, the next login needs no token. */
import { STATUS_CODE } from "@std/http/status";
import { PasskeyError } from "../../../logins/passkey.ts";
import { ConflictError, InvalidInputError } from "../../../platform/errors.ts";
import type { ListedPasskey } from "../../../store/records/passkeys.ts";
import { Confirm, CsrfField, Input } from "../components/form.tsx";
import { Page } from "../components/page.tsx";
import { Notice, Row, Table } from "../components/table.tsx";
import { Time } from "../components/values.tsx";
import { type Html, route, type Submission, type Submitted, type View } from "../route.ts";

const PAGE = "access/passkeys";

interface PasskeysProps {
  view: View;
  problem?: string;
  /** The form that was refused. */
  form?: URLSearchParams;
}

async function PasskeysPage({ view, problem, form }: PasskeysProps): Promise<Html> {
  const { passkeys, access } = view;
  const [own, owner] = await Promise.all([passkeys.list(), passkeys.owner()]);
  return (
    <Page view={view} title="Passkeys">
      <h1>Passkeys</h1>
      {problem === undefined ? null : <Notice tone="bad">{problem}</Notice>}
      <p>
        With a passkey you log in by a fingerprint, a face, a PIN or a security key. It rests on
        {" "}
        {access.issuer === undefined ? "the token" : "the account"} that you use now (
        {access.name}), allows the same, and opens nothing any more when that ends.
      </p>
      {access.issuer === undefined ? null : (
        <p>
          It works for 24 hours after your last login at{" "}
          {new URL(access.issuer).host}, as your roles are looked at there.
        </p>
      )}
      {own.length === 0 ? <p class="dim">There is none yet.</p> : <Own view={view} own={own} />}
      <h2>Add a passkey</h2>
      {passkeys.isPossible ? <AddForm view={view} owner={owner} form={form} /> : (
        <p>
          Browsers make none for an IP address: open the service by a name, and set{" "}
          <code>--public-url</code> to it.
        </p>
      )}
    </Page>
  );
}

function Own({ view, own }: { view: View; own: readonly ListedPasskey[] }): Html {
  return (
    <Table label="Passkeys" columns={["Name", "Used by", "Added", "Last used", "", ""]} stacked>
      {own.map(({ id, name, owner, created_at, last_used_at }) => (
        <Row id={id}>
          <td>{name}</td>
          <td>{owner}</td>
          <td>
            <Time at={created_at} now_ms={view.now_ms} />
          </td>
          <td>
            {last_used_at === undefined ? "never" : <Time at={last_used_at} now_ms={view.now_ms} />}
          </td>
          <td>
            <details>
              <summary class="button">Rename</summary>
              <form method="post" action={`${PAGE}/${id}/rename`}>
                <CsrfField view={view} />
                <Input label="Name" id={`name-${id}`} name="name" value={name} required />
                <button>Save the name</button>
              </form>
            </details>
          </td>
          <td>
            <Confirm
              view={view}
              to={`${PAGE}/${id}/remove`}
              consequence={`Remove ${name}, and end its sessions`}
            >
              Remove
            </Confirm>
          </td>
        </Row>
      ))}
    </Table>
  );
}

interface AddProps {
  view: View;
  /** The name of who uses the session, where it is known. */
  owner: string | undefined;
  form: URLSearchParams | undefined;
}

function AddForm({ view, owner, form }: AddProps): Html {
  return (
    <>
      <form
        method="post"
        action={PAGE}
        class="panel"
        data-passkey="create"
        data-options={`${PAGE}/options`}
        hidden
      >
        <CsrfField view={view} />
        <input type="hidden" name="credential" />
        <input type="hidden" name="challenge" />
        {owner === undefined
          ? (
            <Input
              label="Your name"
              id="owner"
              hint="In the audit log it stands beside the name of the token"
              maxlength={64}
              required
              value={form?.get("owner") ?? undefined}
            />
          )
          : null}
        <Input
          label="Name of the passkey"
          id="name"
          hint="The device or the key, such as laptop"
          maxlength={64}
          required
          value={form?.get("name") ?? undefined}
        />
        <button class="primary">Add a passkey</button>
        <p class="problem" role="alert" hidden></p>
      </form>
      <noscript>
        <p>Adding a passkey needs JavaScript.</p>
      </noscript>
    </>
  );
}

async function add({ view, form }: Submission): Promise<Submitted> {
  const field = (name: string) => form.get(name) ?? "";
  return await orRefused({ view, form }, async () => {
    await view.passkeys.add({
      name: field("name"),
      owner: field("owner"),
      credential: field("credential"),
      challenge: field("challenge"),
    });
    return { to: PAGE, notice: "The passkey is added: log in with it the next time" };
  });
}

/** Shows the page again where something is refused. */
async function orRefused(
  { view, form }: Pick<Submission, "view" | "form">,
  act: () => Promise<Submitted>,
): Promise<Submitted> {
  try {
    return await act();
  } catch (error) {
    const isRefused = error instanceof PasskeyError || error instanceof ConflictError ||
      error instanceof InvalidInputError;
    if (!isRefused) throw error;
    return { page: await PasskeysPage({ view, form, problem: `${error.message}.` }) };
  }
}

/** The routes of the passkeys of who is logged in. */
export const passkeyRoutes = [
  route({ path: "/access/passkeys", show: ({ view }) => PasskeysPage({ view }), submit: add }),
  route({
    path: "/access/passkeys/options",
    async answer({ view }) {
      try {
        return Response.json(await view.passkeys.begin(), {
          headers: { "cache-control": "no-store" },
        });
      } catch (error) {
        if (!(error instanceof PasskeyError)) throw error;
        return Response.json({ detail: error.message }, { status: STATUS_CODE.Conflict });
      }
    },
  }),
  route({
    path: "/access/passkeys/:id/rename",
    submit: ({ view, params: { id }, form }) =>
      orRefused({ view, form }, async () => {
        await view.passkeys.rename(id, form.get("name") ?? "");
        return { to: PAGE, notice: "The name is saved" };
      }),
  }),
  route({
    path: "/access/passkeys/:id/remove",
    async submit({ view, params: { id } }) {
      await view.passkeys.remove(id);
      return { to: PAGE, notice: "The passkey opens nothing any more" };
    },
  }),
];
