/** Lists. */
import type { Child } from "@hono/hono/jsx";
import type { Html } from "../route.ts";

interface TableProps {
  /** Its name for screen readers. */
  label: string;
  /** The headings of its columns; empty for a column of buttons. */
  columns: readonly string[];
  /**
   * The stream that tells that something has changed. The script then loads the page again, and takes over the
   * rows, by their ids.
   */
  live?: string | undefined;
  /** On a phone each row has lines of its own in place of columns: for values that need no heading. */
  stacked?: true;
  /** Its rows. */
  children?: Child;
}

/** A table that scrolls inside itself where it is too wide. Each row is a `<Row>`. */
export function Table({ label, columns, live, stacked, children }: TableProps): Html {
  return (
    <div class="scroll" role="region" aria-label={label} tabindex={0}>
      <table class={stacked && "stacked"}>
        <thead>
          <tr>{columns.map((column) => column ? <th scope="col">{column}</th> : <td></td>)}</tr>
        </thead>
        <tbody id={live === undefined ? undefined : "live-rows"} data-live={live}>{children}</tbody>
      </table>
    </div>
  );
}

/** A row that the keyboard can reach. Its first link opens it. */
export function Row({ id, children }: { id: string; children?: Child }): Html {
  return <tr id={`row-${id}`} data-row>{children}</tr>;
}

/** The link to the next page of a list. */
export function More({ href, label = "Older" }: { href: string; label?: string }): Html {
  return (
    <p class="more">
      <a href={href} rel="next">{label}</a>
    </p>
  );
}

/** The text in place of a list without entries: what to do to get some. */
export function Empty({ title, children }: { title: string; children?: Child }): Html {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A message in colour. */
export function Notice({ tone, children }: { tone: "ok" | "bad" | "waiting"; children?: Child }) {
  return <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>{children}</div>;
}
