/**
 * A look for work that waits, by as few reads as that takes: an idle minute costs no more.
 *
 * @module
 */

/** The prefixes of what has not ended. Each of them is empty where nothing waits. */
const OPEN = ["pending", "held", "execution_open", "pipeline_open", "http_request_open"];

/** Returns true when there is anything that has not ended. */
export async function isWorkPending(kv: Deno.Kv): Promise<boolean> {
  const looks = OPEN.map(async (prefix) => {
    for await (const _ of kv.list({ prefix: [prefix] }, { limit: 1 })) return true;
    return false;
  });
  return (await Promise.all(looks)).includes(true);
}
