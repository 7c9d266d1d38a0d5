/** A request as it came: headers, query, body. */
import { isUtf8 } from "node:buffer";
import type { DeliveryDetails } from "../../api/delivery_details.ts";
import type { Html, View } from "../route.ts";
import { Removed, Size, sizeText } from "./values.tsx";

/** The characters of a body that a page shows. */
export const BODY_SHOWN_MAX = 32_768;
/** The strings, the signs, and the numbers and names of JSON. */
const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

export function RequestView(
  { delivery, view }: { delivery: DeliveryDetails; view: View },
): Html {
  const { id, method, headers, query, left_out, body, size, outcome, run } = delivery;
  const removed_at = outcome === "accepted" ? run?.payload.removed_at : undefined;
  const tooLong = [...left_out?.headers ?? [], ...left_out?.query ?? []];
  const text = bodyText(body);
  return (
    <section aria-labelledby="request">
      <h2 id="request">Request</h2>
      <pre tabindex={0} aria-label="Headers">
        <strong>{method}{query === "" ? "" : ` ?${query}`}</strong>
        {Object.entries(headers).map(([name, value]) => (
          <>
            {"\n"}
            <span class="dim">{name}:</span> {value}
          </>
        ))}
      </pre>
      {tooLong.length === 0 ? null : <p class="hint">Too long to keep: {tooLong.join(", ")}</p>}
      <div class="title">
        <h3>Body</h3>
        <Size bytes={size} />
        {removed_at !== undefined || body === undefined && outcome !== "accepted"
          ? null
          : <a class="end" href={`deliveries/${id}/body`} download>Download</a>}
      </div>
      {removed_at === undefined
        ? <Body text={text} isKept={body !== undefined} size={size} />
        : <Removed at={removed_at} now_ms={view.now_ms} />}
    </section>
  );
}

interface BodyProps {
  text: string | undefined;
  isKept: boolean;
  size: number | undefined;
}

function Body({ text, isKept, size }: BodyProps): Html {
  if (size === 0) return <p class="dim">There was none.</p>;
  if (!isKept) return <p class="dim">It is not kept, or longer than 1 MiB.</p>;
  if (text === undefined) return <p class="dim">It is no text.</p>;
  const shown = indented(text);
  return (
    <>
      <pre tabindex={0} aria-label="Body">{shown.slice(0, BODY_SHOWN_MAX)}</pre>
      {shown.length > BODY_SHOWN_MAX
        ? <p class="hint">These are the first {sizeText(BODY_SHOWN_MAX)}.</p>
        : null}
    </>
  );
}

/** Returns a body in base64 as text; undefined when it is none. */
export function bodyText(body: string | undefined): string | undefined {
  if (body === undefined) return undefined;
  const bytes = Uint8Array.fromBase64(body);
  return isUtf8(bytes) && !bytes.includes(0) ? new TextDecoder().decode(bytes) : undefined;
}

/** Indents JSON without changing its values; other text stays as it is. */
function indented(text: string): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  const written: string[] = [];
  let depth = 0;
  let last = "";
  const breakLine = () => written.push("\n", "  ".repeat(depth));
  for (const [token] of text.matchAll(JSON_TOKENS)) {
    const isEnd = token === "}" || token === "]";
    const follows = last === "{" || last === "[";
    if (isEnd) depth--;
    if (isEnd ? !follows : follows || last === ",") breakLine();
    if (token === "{" || token === "[") depth++;
    written.push(token === ":" ? ": " : token);
    last = token;
  }
  return written.join("");
}
