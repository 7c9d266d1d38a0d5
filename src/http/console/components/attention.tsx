/** The list of all that needs attention, in words, each with its link. */
import type { Html } from "../route.ts";
import { Lasting } from "./values.tsx";

const SHOWN_MAX = 20;

/** A reason to look at something. */
export interface Concern {
  /** The name of the trigger, project or engine that it is about. */
  about?: string;
  text: string;
  /** The time since which it lasts. */
  since?: string;
  /** The place of its cause, or its cure. */
  href: string;
}

interface AttentionProps {
  concerns: readonly Concern[];
  /** The number of triggers that were checked, where there are others. */
  checked: number | undefined;
  now_ms: number;
}

export function Attention({ concerns, checked, now_ms }: AttentionProps): Html {
  const limit = checked === undefined
    ? null
    : `Only the ${checked} triggers of this page were checked.`;
  if (concerns.length === 0) {
    return <p class="notice ok">Nothing needs attention. {limit}</p>;
  }
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {concerns.slice(0, SHOWN_MAX).map(({ about, text, since, href }) => (
          <li>
            {about === undefined ? null : (
              <>
                <strong>{about}</strong>:{" "}
              </>
            )}
            <a href={href}>{text}</a>
            {since === undefined ? null : (
              <span class="dim">
                , <Lasting since={since} now_ms={now_ms} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {concerns.length > SHOWN_MAX
        ? <p class="dim">… and {concerns.length - SHOWN_MAX} more.</p>
        : null}
      {limit === null ? null : <p class="dim">{limit}</p>}
    </section>
  );
}
