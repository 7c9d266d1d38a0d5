/** Which hosts are reached without a proxy, beside those that the operator has named. */
import { assertEquals } from "@std/assert";
import { reachOwnMachineDirectly } from "../../../src/commands/process/own_machine.ts";

const OWN = "localhost,127.0.0.0/8,::1";

for (
  const [name, env, expected] of [
    ["none", {}, OWN],
    ["some", { NO_PROXY: "a.example, .b.example" }, `a.example, .b.example,${OWN}`],
    ["some, in lower case", { no_proxy: "a.example" }, `a.example,${OWN}`],
    ["all", { NO_PROXY: "*" }, "*"],
    ["all, in lower case", { no_proxy: "*" }, undefined],
  ] as const
) {
  Deno.test(`this machine is reached directly where those that are named so are: ${name}`, () => {
    const names = ["NO_PROXY", "no_proxy"] as const;
    const before = names.map((name) => Deno.env.get(name));
    const set = (values: readonly (string | undefined)[]) => {
      for (const [index, name] of names.entries()) {
        const value = values[index];
        if (value === undefined) Deno.env.delete(name);
        else Deno.env.set(name, value);
      }
    };
    try {
      const { NO_PROXY, no_proxy }: { NO_PROXY?: string; no_proxy?: string } = env;
      set([NO_PROXY, no_proxy]);
      reachOwnMachineDirectly();
      assertEquals(Deno.env.get("NO_PROXY"), expected);
    } finally {
      set(before);
    }
  });
}
