/** The operators who made and changed a trigger, and the file that owns it. */
import type { ShownTrigger } from "../../api/triggers.ts";
import type { Html, View } from "../route.ts";
import { Time } from "./values.tsx";

export function TriggerOrigin({ view, trigger }: { view: View; trigger: ShownTrigger }): Html {
  const { created_at, created_by, updated_at, updated_by, file, revision } = trigger;
  return (
    <p class="dim">
      Made <Time at={created_at} now_ms={view.now_ms} />
      {created_by === undefined ? "" : ` by ${created_by}`}
      {revision === 1 ? null : (
        <>
          , changed <Time at={updated_at} now_ms={view.now_ms} />
          {updated_by === undefined ? "" : ` by ${updated_by}`}
        </>
      )}
      {file === undefined ? "." : (
        <>
          . It belongs to <code>{file}</code>: the next apply of it makes it as the file says.
        </>
      )}
    </p>
  );
}
