/** The address at which jobs reach the service. */
import { assertEquals, assertThrows } from "@std/assert";
import { agentScript, checkAgentAddress } from "../../../src/engines/remote/agent.ts";
import { InvalidInputError } from "../../../src/platform/errors.ts";

Deno.test("jobs of other machines need an address that is not this machine's", () => {
  const cases: [url: string, http: boolean, isElsewhere: boolean, problem: string | undefined][] = [
    ["https://hooks.example.com", false, true, undefined],
    ["https://hooks.example.com/base/", false, true, undefined],
    ["http://10.0.0.7:8000", true, true, undefined],
    ["http://10.0.0.7:8000", false, true, "an https URL"],
    ["https://127.0.0.1:8000", false, true, "an address that other machines reach"],
    ["https://[::1]:8000", false, true, "an address that other machines reach"],
    ["https://[::ffff:127.0.0.1]", false, true, "an address that other machines reach"],
    ["https://localhost", false, true, "an address that other machines reach"],
    ["https://api.localhost.", false, true, "an address that other machines reach"],
    ["https://0.0.0.0", false, true, "an address that other machines reach"],
    ["http://127.1:8000", true, true, "an address that other machines reach"],
    ["http://127.0.0.1:8000", true, false, undefined],
    ["https://user:password@hooks.example.com", false, true, "a URL such as"],
    ["https://hooks.example.com/?x", false, true, "a URL such as"],
    ["ftp://hooks.example.com", false, true, "a URL such as"],
    ["hooks.example.com", false, true, "a URL such as"],
  ];
  for (const [url, http, isElsewhere, problem] of cases) {
    const check = () => checkAgentAddress({ url, http }, { isElsewhere });
    if (problem === undefined) check();
    else assertThrows(check, InvalidInputError, problem, url);
  }
});

Deno.test("nothing in an agent's settings is code", () => {
  const script = agentScript({
    url: "https://hooks.example.com/it's/",
    executionId: "01900000-0000-7000-8000-000000000000",
    token: "hlj_$(x)",
    ca: "line\n'$(x)'\n",
  });
  const shown = `${script.split("\n").slice(0, 7).join("\n")}\nprintf '%s|' "$url" "$token" "$ca"`;
  const { stdout } = new Deno.Command("sh", { args: ["-c", shown] }).outputSync();
  assertEquals(
    new TextDecoder().decode(stdout),
    "https://hooks.example.com/it's/api/v0/jobs/01900000-0000-7000-8000-000000000000|" +
      "hlj_$(x)|line\n'$(x)'\n|",
  );
});
