/**
 * The contract of the values that a request brings: a command finds them byte by byte, in every interpreter that its
 * machine has, and none becomes code.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { launchStep, stepOf } from "../../src/projects/mod.ts";
import {
  HOSTILE_TEXTS,
  hostileText,
  INTERPRETERS,
  writingScript,
  writtenValues,
} from "../hostile_texts.ts";
import type { Case, ContractService } from "./contract_case.ts";

const DRAWN = 12;

/** The cases. */
export const values: Case[] = [
  {
    name: "values of a request are those that the command gets, byte by byte",
    async test(service) {
      // Some interpreters are in no image.
      const { id } = await service.run(
        Object.values(INTERPRETERS).map((each) => `command -v ${each} >/dev/null && echo ${each}`)
          .join("; ") + "; true",
      );
      const there = await service.printed(id, "stdout");
      const firstLines = Object.keys(INTERPRETERS).filter((each) =>
        there.includes(INTERPRETERS[each] ?? "")
      );
      const drawn = fc.array(hostileText, { minLength: DRAWN, maxLength: DRAWN });
      await fc.assert(
        fc.asyncProperty(drawn, async (texts) => {
          await Promise.all(
            firstLines.map((each) => check(service, each, [...HOSTILE_TEXTS, ...texts])),
          );
        }),
        { numRuns: 1 },
      );
    },
  },
];

/** Launches a step with these texts as its parameters and its variables. */
async function check(
  service: ContractService,
  firstLine: string,
  texts: readonly string[],
): Promise<void> {
  const given = Object.fromEntries(texts.map((text, index) => [`t${index}`, text]));
  const names = Object.keys(given);
  const step = stepOf({
    name: "write",
    image: "none",
    command: writingScript(firstLine, names),
    parameters: names.map((name) => ({ name, type: "string", optional: true })),
  });
  const { command, parameters, environment_variables } = launchStep(step, {
    parameters: given,
    environment_variables: Object.fromEntries(
      names.map((name) => [`SAID_${name}`, given[name] ?? ""]),
    ),
  });
  const ran = await service.run(command, { parameters, environment_variables });
  assertEquals([ran.status, ran.reason], ["complete", undefined], firstLine);
  assertEquals(ran.outputs.map(({ path }) => path), ["values"], firstLine);
  const output = await service.engine.output(ran.id, "values");
  const written = output && await new Response(output.stream).bytes();
  assertEquals(written, writtenValues(texts), firstLine);
}
