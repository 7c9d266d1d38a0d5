/** Buttons that set what the providers of a trigger need of its answers. */
import { neededHandshake, type NeededSettings, neededSettings } from "../../../triggers/needs.ts";
import type { ShownTrigger } from "../../api/triggers.ts";
import type { Html, View } from "../route.ts";
import { Action, CsrfField, Input } from "./form.tsx";

/** Offers what the providers of a trigger need and it does not have; nothing where it has all. */
export function Needs({ view, trigger }: { view: View; trigger: ShownTrigger }): Html | null {
  const settings = neededSettings(trigger);
  const handshake = neededHandshake(trigger);
  const to = `triggers/${trigger.id}/needs`;
  if (settings === undefined && handshake === undefined) return null;
  return (
    <div class="needs">
      {settings === undefined
        ? null
        : (
          <Action view={view} to={to} fields={{ revision: String(trigger.revision) }}>
            Set {describe(settings)}
          </Action>
        )}
      {handshake === undefined ? null : (
        <form method="post" action={to}>
          <CsrfField view={view} />
          <input type="hidden" name="revision" value={trigger.revision} />
          <input type="hidden" name="preset" value={handshake.name} />
          <Input
            label={`Secret with which ${handshake.preset.title} checks the URL`}
            id="handshake-secret"
            name="secret"
            type="password"
            autocomplete="off"
            required
            problems={[]}
          />
          <button>Answer its check</button>
        </form>
      )}
    </div>
  );
}

/** Says what the button sets. */
function describe({ refused = {}, response }: NeededSettings): string {
  const causes = Object.entries(refused).map(([cause, status]) =>
    `${status} for ${NAMES[cause] ?? cause}`
  );
  const { status, type } = response ?? {};
  return [
    ...causes,
    ...(status === undefined ? [] : [`${status} for what is accepted`]),
    ...(type === "text" && status === undefined ? ["an empty answer"] : []),
    ...(type === "xml" ? ["the answer in XML that it waits for"] : []),
  ].join(", ");
}

const NAMES: Readonly<Record<string, string>> = {
  authentication: "wrong signatures",
  rate_limit: "launches over the limit",
  filter: "what the filter refuses",
};
