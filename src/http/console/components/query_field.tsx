/** Fields of filters, with the mistakes in them. */
import type { Child } from "@hono/hono/jsx";
import type { ApiCallError } from "../client.ts";
import type { Html } from "../route.ts";
import { describedBy } from "./form.tsx";
import { Notice } from "./table.tsx";

interface QueryFieldProps {
  label: string;
  /** Its name in the query. Its input has the id `f-<name>`. */
  name: string;
  refused: ApiCallError | undefined;
  children?: Child;
}

/** A labelled field of a filter. Its mistakes are above its input, so that the inputs of a row stay in line. */
export function QueryField({ label, name, refused, children }: QueryFieldProps): Html {
  const problems = refused?.problems.filter(({ pointer }) => pointer === `/${name}`) ?? [];
  return (
    <div class={problems.length > 0 ? "wrong" : undefined}>
      <label for={`f-${name}`}>{label}</label>
      <div id={describedBy(`f-${name}`)}>
        {problems.map(({ detail }) => <p class="problem">{detail}</p>)}
      </div>
      {children}
    </div>
  );
}

/** A part of a query that has no field: it is shown, and sent with the others. */
export function QueryPart({ name, value }: { name: string; value: string }): Html {
  return (
    <span>
      {name.replace("_", " ")}: <code>{value}</code>
      <input type="hidden" name={name} value={value} />
    </span>
  );
}

/** The mistakes in the parts of a query that have no field. */
export function QueryProblems(
  { refused, fields }: { refused: ApiCallError | undefined; fields: readonly string[] },
): Html | null {
  if (refused === undefined) return null;
  const others = refused.problems.filter(({ pointer }) => !fields.includes(pointer.slice(1)));
  if (others.length === 0 && refused.problems.length > 0) return null;
  return (
    <Notice tone="bad">
      {refused.summary}
      {others.map(({ pointer, detail }) => <div>{pointer.slice(1)}: {detail}</div>)}
    </Notice>
  );
}
