/** The secrets of a project: a table, and a form that sets one. */
import { isLimited } from "../../api/access.ts";
import type { ShownProject } from "../../api/projects.ts";
import type { ApiCallError } from "../client.ts";
import type { Html, View } from "../route.ts";
import { Confirm, CsrfField, describedBy, Field, Input } from "./form.tsx";
import { may } from "./page.tsx";
import { Notice, Row, Table } from "./table.tsx";

interface SecretsProps {
  view: View;
  project: ShownProject;
  /** The refusal of a secret, and its form, whose value is not shown again. */
  refused?: { error: ApiCallError; form: URLSearchParams } | undefined;
}

/** The secrets of a project. */
export function ProjectSecrets({ view, project, refused }: SecretsProps): Html {
  const { name, secrets = [] } = project;
  // A limited token cannot change a project.
  const mayChange = may(view, "admin") && !isLimited(view.access);
  return (
    <>
      <h2 id="secrets">Secrets</h2>
      {secrets.length === 0
        ? (
          <p class="dim">
            None. A step names one in an environment variable, as {"{secret:NAME}"}.
          </p>
        )
        : (
          <Table label="Secrets" columns={["Name", "Value", "Branches", ...mayChange ? [""] : []]}>
            {secrets.map((secret, index) => (
              <Row id={`secret-${index}`}>
                <td>{secret.name}</td>
                <td>
                  <code>{secret.fingerprint ?? secret.value}</code>
                </td>
                <td class="wide">
                  {secret.branches?.join(", ") ??
                    (project.directory === undefined ? "the default branch" : "")}
                </td>
                {mayChange
                  ? (
                    <td>
                      <Confirm
                        view={view}
                        to={`projects/${name}/secrets/remove`}
                        fields={{ secret: secret.name }}
                        consequence={`Steps that name ${secret.name} fail from now on`}
                      >
                        Remove
                      </Confirm>
                    </td>
                  )
                  : null}
              </Row>
            ))}
          </Table>
        )}
      {refused === undefined ? null : <Notice tone="bad">{refused.error.summary}</Notice>}
      {mayChange ? <SetSecret view={view} project={project} refused={refused} /> : null}
    </>
  );
}

function SetSecret({ view, project: { name, directory }, refused }: SecretsProps): Html {
  const typed = (field: string) => refused?.form.get(field) ?? "";
  const problemsAt = (at: string) =>
    refused?.error.problems.filter(({ pointer }) => pointer.startsWith(at));
  return (
    <details open={refused !== undefined}>
      <summary>Set a secret</summary>
      <form method="post" action={`projects/${name}/secrets`} autocomplete="off">
        <CsrfField view={view} />
        <Input
          label="Name"
          id="secret"
          required
          value={typed("secret")}
          hint="One of this name is replaced, for executions that start from then on"
          problems={problemsAt("/secrets")}
        />
        <Field
          label="Value"
          id="value"
          hint="It is encrypted and not shown again. {env:NAME} and {file:/path} name a place of the service"
          problems={problemsAt("/value")}
        >
          <textarea
            id="value"
            name="value"
            rows={3}
            required
            spellcheck={false}
            autocomplete="off"
            aria-describedby={describedBy("value")}
          >
          </textarea>
        </Field>
        {directory === undefined
          ? (
            <Input
              label="Branches"
              id="branches"
              value={typed("branches")}
              hint="Whose commits get it, such as main, release/*. Empty: the default branch"
              problems={problemsAt("/branches")}
            />
          )
          : null}
        <p>
          <button class="primary">Set the secret</button>
        </p>
      </form>
    </details>
  );
}
