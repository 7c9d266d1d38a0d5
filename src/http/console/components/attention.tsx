/** The list of all that needs attention, in words, each with its link. */
import type { Html } from "../route.ts";

const SHOWN_MAX = 20;

/** A reason to look at something. */
export interface Concern {
  /** The trigger that it is about. */
  trigger?: string;
  text: string;
  /** The place of its cause, or its cure. */
  href: string;
}

export function Attention({ concerns }: { concerns: readonly Concern[] }): Html {
  if (concerns.length === 0) {
    return <p class="notice ok">Nothing needs attention.</p>;
  }
  return (
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      <ul>
        {concerns.slice(0, SHOWN_MAX).map(({ trigger, text, href }) => (
          <li>
            {trigger === undefined ? null : (
              <>
                <strong>{trigger}</strong>:{" "}
              </>
            )}
            <a href={href}>{text}</a>
          </li>
        ))}
      </ul>
      {concerns.length > SHOWN_MAX
        ? <p class="dim">… and {concerns.length - SHOWN_MAX} more.</p>
        : null}
    </section>
  );
}
