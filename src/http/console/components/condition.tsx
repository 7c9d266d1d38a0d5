/** The conditions and actions of a trigger in words, and the secrets of conditions. */
import type { ShownTrigger } from "../../api/triggers.ts";
import type { ListedSecret } from "../../../triggers/list_secrets.ts";
import type { Html, View } from "../route.ts";
import { presetOf, secretsOf, type Settings } from "../triggers.ts";
import { valueText } from "./execution_facts.tsx";
import { Action, Confirm, CsrfField, Input } from "./form.tsx";
import { may } from "./page.tsx";
import { Badge } from "./states.tsx";
import { exactSpanText, Time } from "./values.tsx";

const HIDDEN = ["type", "preset", "secrets"];
/** Settings that are in seconds. */
const SPANS = ["window", "period", "tolerance", "leeway"];

/** One condition or action: its kind, and its settings as names and values. */
export function Described({ settings }: { settings: Settings }): Html {
  const title = presetOf(settings)?.title;
  const shown = Object.entries(settings).filter(([name, value]) =>
    !HIDDEN.includes(name) && valueText(value) !== "{}"
  );
  return (
    <>
      <strong>{settings.type.replaceAll("_", " ")}</strong>
      {title === undefined ? null : <>, as {title} does it</>}
      {shown.map(([name, value]) => (
        <>
          , {name.replaceAll("_", " ")}{" "}
          <code>{SPANS.includes(name) ? exactSpanText(Number(value)) : valueText(value)}</code>
        </>
      ))}
    </>
  );
}

interface SecretsProps {
  view: View;
  trigger: ShownTrigger;
  /** All its secrets, by names and fingerprints. */
  secrets: readonly ListedSecret[];
}

/** The secrets of all conditions: present or missing, and what can be done with them. */
export function Secrets({ view, trigger, secrets }: SecretsProps): Html {
  const conditions = trigger.conditions.map((settings, index) => ({ settings, index }))
    .filter(({ settings }) => secretsOf(settings).length > 0);
  if (conditions.length === 0) return <p class="dim">It has none: no condition needs one.</p>;
  return (
    <>
      {conditions.map(({ settings, index }) => (
        <>
          <h3>{presetOf(settings)?.title ?? settings.type}</h3>
          <ul class="files">
            {secretsOf(settings).map((_, place) => (
              <SecretRow
                view={view}
                trigger={trigger}
                secrets={secrets}
                condition={index}
                place={place}
              />
            ))}
          </ul>
          {may(view, "admin")
            ? <AddSecret view={view} trigger={trigger} condition={index} />
            : null}
        </>
      ))}
    </>
  );
}

function SecretRow(
  { view, trigger, secrets, condition, place }: SecretsProps & { condition: number; place: number },
): Html {
  const settings = trigger.conditions[condition] ?? {};
  const { value, until } = secretsOf(settings)[place] ?? {};
  const listed = secrets.find(({ pointer }) =>
    pointer === `/conditions/${condition}/secrets/${place}`
  );
  const { name, fingerprint, kind, source } = listed ?? {};
  const isStored = kind === "stored";
  const label = name ?? fingerprint ?? value ?? "";
  const missing = trigger.warnings.find(({ pointer }) =>
    pointer.startsWith(`/conditions/${condition}/secrets/${place}`)
  );
  const isOver = until !== undefined && Date.parse(until) <= view.now_ms;
  const to = `triggers/${trigger.id}/secrets`;
  const fields = {
    condition: String(condition),
    place: String(place),
    revision: String(trigger.revision),
  };
  const last = secretsOf(settings).length === 1;
  return (
    <li>
      <code>{label}</code> {missing !== undefined
        ? <Badge tone="bad" label={missing.detail} />
        : isOver
        ? <Badge tone="quiet" label="has ended" />
        : <Badge tone="ok" label={isStored ? "stored" : "present"} />}{" "}
      <span class="dim">
        {source === undefined || name === source ? null : `${kind} ${source} `}
        {fingerprint === undefined || fingerprint === label ? null : `fingerprint ${fingerprint} `}
      </span>
      {until === undefined ? null : (
        <span class="dim">
          ends <Time at={until} now_ms={view.now_ms} />
        </span>
      )} {may(view, "admin") && !last
        ? (
          <>
            {until === undefined
              ? (
                <Action view={view} to={`${to}/expire`} fields={fields} class="quiet">
                  Let it end in a day
                </Action>
              )
              : null}{" "}
            <Confirm
              view={view}
              to={`${to}/remove`}
              fields={fields}
              consequence={`Remove ${label}: it opens nothing any more`}
            >
              Remove
            </Confirm>
          </>
        )
        : null}
    </li>
  );
}

function AddSecret(
  { view, trigger, condition }: Omit<SecretsProps, "secrets"> & { condition: number },
): Html {
  const id = `secret-${condition}`;
  return (
    <details>
      <summary>Add a secret</summary>
      <form method="post" action={`triggers/${trigger.id}/secrets/add`} class="panel">
        <CsrfField view={view} />
        <input type="hidden" name="condition" value={condition} />
        <input type="hidden" name="revision" value={trigger.revision} />
        <Input
          label="Secret"
          id={id}
          hint="The text itself, {env:NAME} or {file:/path}. Requests may use any secret of the list"
          name="value"
          type="password"
          autocomplete="off"
          required
        />
        <Input label="Name" id={`${id}-name`} hint="To tell it from the others" name="name" />
        <button class="primary">Add</button>
      </form>
    </details>
  );
}
