/**
 * The contract of executions that are tried again.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { Case } from "./contract_case.ts";
import { until } from "./service.ts";

/** Prints, saves and tells the number of its attempt; the third one succeeds. */
const THIRD_TIME = `
echo "attempt $VH_ATTEMPT of $VH_EXECUTION_ID"
echo "{\\"attempt\\": $VH_ATTEMPT}"
echo "$VH_ATTEMPT" >"$VH_OUTPUTS_DIR/file-$VH_ATTEMPT"
[ "$VH_ATTEMPT" = 3 ] || exit 75`;

/** The cases. */
export const retries: Case[] = [
  {
    name: "an execution is tried again, and each attempt has its own log, metadata and outputs",
    async test(service) {
      const rule = { attempts: 5, first: 0, factor: 1, exit_codes: [75] };
      const id = await service.submitWithRetry(THIRD_TIME, rule);
      const { status, attempts = [] } = await service.ended(id);
      assertEquals([status, attempts.length], ["complete", 3]);
      for (const { attempt, execution_id, exit_code } of attempts) {
        assertEquals(exit_code, attempt === 3 ? 0 : 75);
        const { metadata, outputs, ended_at } = await service.record(execution_id);
        assertEquals(metadata, { attempt });
        assertEquals(outputs.map(({ path }) => path), [`file-${attempt}`]);
        assertEquals(await service.output(execution_id, `file-${attempt}`), `${attempt}\n`);
        const [line] = await service.printed(execution_id, "stdout");
        assertEquals(line, `attempt ${attempt} of ${id}`);
        const said = (await service.printed(execution_id, "event"))
          .filter((each) => each.startsWith("It is tried again"));
        const expected = `It is tried again. Attempt ${attempt + 1} of 5 at ${ended_at}`;
        assertEquals(said, attempt === 3 ? [] : [expected]);
      }
    },
  },
  {
    name: "an attempt that waits for its time begins after a restart",
    async test(service) {
      const rule = { attempts: 2, first: 3, factor: 1, exit_codes: "*" as const };
      const id = await service.submitWithRetry(`[ "$VH_ATTEMPT" = 2 ]`, rule);
      await until(async () => (await service.record(id)).attempts?.length === 2);
      await service.restart();
      const { status, attempts } = await service.ended(id);
      assertEquals([status, attempts?.length], ["complete", 2]);
    },
  },
];
