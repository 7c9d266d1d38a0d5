/** The examples of other systems on the page of work elsewhere. */
import { parseYaml } from "../../src/platform/yaml/parse.ts";
import { documentText } from "./blocks.ts";

/** Reads the actions of a section's example, for a server on this machine that is asked more often. */
export function systemActions(heading: string, port: number): Record<string, unknown>[] {
  const page = documentText("src/docs/http_requests.md");
  const section = page.slice(page.search(new RegExp(`^#+ ${heading}$`, "m")));
  const [, text = ""] = /```yaml\n([\s\S]*?)```/.exec(section) ?? [];
  const local = text.replaceAll(/https:\/\/[a-z.]+\.com/g, `http://127.0.0.1:${port}`);
  const { actions } = Object(parseYaml(local, heading).value);
  return actions.map(({ wait, ...action }: Record<string, unknown>) => {
    const { poll }: { poll?: object } = Object(wait);
    return {
      ...action,
      private_networks: true,
      wait: poll ? { poll: { ...poll, every: 1 } } : wait ?? "none",
    };
  });
}
