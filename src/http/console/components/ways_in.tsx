/** The ways to log in beside tokens: passkeys and identity providers. */
import type { ShownLoginProvider } from "../../api/login_providers.ts";
import type { ShownPasskey } from "../../api/passkeys.ts";
import type { Html, View } from "../route.ts";
import { Confirm } from "./form.tsx";
import { Row, Table } from "./table.tsx";
import { Copied, Time } from "./values.tsx";

/** The passkeys of all people. */
export function Passkeys(
  { view, passkeys }: { view: View; passkeys: readonly ShownPasskey[] },
): Html {
  return (
    <>
      {passkeys.length === 0 ? null : (
        <Table
          label="Passkeys"
          columns={["Used by", "Name", "Rests on", "Last used", ""]}
          stacked
        >
          {passkeys.map(({ id, name, owner, login, last_used_at }) => (
            <Row id={id}>
              <td>{owner}</td>
              <td>{name}</td>
              <td>{login ?? "nothing that works now"}</td>
              <td>
                {last_used_at === undefined
                  ? "never"
                  : <Time at={last_used_at} now_ms={view.now_ms} />}
              </td>
              <td>
                <Confirm
                  view={view}
                  to={`access/passkeys/${id}/revoke`}
                  consequence={`Remove ${name} of ${owner}, and end its sessions`}
                >
                  Remove
                </Confirm>
              </td>
            </Row>
          ))}
        </Table>
      )}
      <p>
        <a href="access/passkeys">Add a passkey of your own</a>
      </p>
    </>
  );
}

/** The identity providers at which people log in. */
export function Providers({ providers }: { providers: readonly ShownLoginProvider[] }): Html {
  if (providers.length === 0) {
    return (
      <p>
        People can log in with their accounts at Google, GitHub, Keycloak and others: see{" "}
        <a href="docs/logins">Logins</a>.
      </p>
    );
  }
  return (
    <Table label="Identity providers" columns={["Name", "Issuer", "Redirect URI", "Roles"]} stacked>
      {providers.map(({ id, name, issuer, redirect_uri, roles }) => (
        <Row id={id}>
          <td>{name}</td>
          <td class="wide">{issuer}</td>
          <td class="wide">
            <Copied value={redirect_uri} label="the redirect URI" />
          </td>
          <td class="wide">
            {roles.map(({ when, scope, triggers = [], projects = [] }) => (
              <p>
                <code>{when}</code>: {[scope, ...triggers, ...projects].join(", ")}
              </p>
            ))}
          </td>
        </Row>
      ))}
    </Table>
  );
}
