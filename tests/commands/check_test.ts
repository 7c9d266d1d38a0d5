/** `hooklaunch check`, which needs no service. */
import { assertEquals, assertMatch } from "@std/assert";
import { VARIABLES } from "../../src/commands/input/variables.ts";
import { defineProgram } from "../../src/commands/program.ts";
import { configJsonSchema } from "../../src/config/json_schema.ts";
import { didYouMean } from "../../src/platform/text/nearest.ts";
import type { Command } from "commander";
import { temporaryFolder } from "../data.ts";
import { runHosted as run } from "./hosted.ts";

const STEP = '- step: { name: train, image: i, command: "true", inputs: [{ name: event }] }\n';

/** A file with one trigger, changed in one place. */
function file(change: { project?: unknown; trigger?: unknown } = {}): string {
  return JSON.stringify({
    projects: [{ name: "digits", directory: "./code", ...Object(change.project) }],
    triggers: [{
      name: "t",
      project: "digits",
      conditions: [{ type: "hmac", preset: "github", secrets: ["{env:HOOK_SECRET}"] }],
      actions: [{ type: "run_execution", step: "train", payload_input_name: "event" }],
      ...Object(change.trigger),
    }],
  });
}

Deno.test("check finds in a file what saving would refuse, without a service", async (t) => {
  await using folder = await temporaryFolder();
  const path = `${folder.path}/hooklaunch.yaml`;
  await Deno.mkdir(`${folder.path}/code`);
  await Deno.writeTextFile(`${folder.path}/code/valohai.yaml`, STEP);
  await Deno.mkdir(`${folder.path}/broken`);
  await Deno.writeTextFile(`${folder.path}/broken/valohai.yaml`, "- step: { nam: x }\n");
  await Deno.mkdir(`${folder.path}/warned`);
  const variables = 'environment-variables: [{ name: TOKEN, default: "{env:TOKEN}" }], inputs:';
  await Deno.writeTextFile(
    `${folder.path}/warned/valohai.yaml`,
    STEP.replace("inputs:", variables),
  );
  const secret = { HOOK_SECRET: "a-secret-of-this-test" };
  const github = { type: "hmac", secrets: ["{env:HOOK_SECRET}"] };
  const action = (settings: unknown) => ({
    trigger: { actions: [{ type: "run_execution", step: "train", ...Object(settings) }] },
  });
  type Case = [
    name: string,
    text: string,
    code: number,
    says: RegExp,
    more?: { args?: string[]; env?: Record<string, string> },
  ];
  const repository = { directory: undefined, repository: "https://git.example.com/d.git" };
  const cases: Case[] = [
    [
      "a variable of a project's secret",
      file({ project: { secrets: [{ name: "token", value: "{env:HOOK_SECRE}" }] } }),
      0,
      /:1:\d+: warning: \/projects\/0\/secrets\/0\/value: HOOK_SECRE is not set here.* \(did you mean HOOK_SECRET\?\)/,
    ],
    [
      "a short secret of a project, which is not shown",
      file({ project: { secrets: [{ name: "token", value: "1234567" }] } }),
      1,
      /\/projects\/0\/secrets\/0\/value: Expected 8 characters or more[^"]*found 7\n/,
    ],
    ["nothing", file(), 0, /: 1 project, 1 trigger: no errors, no warnings\n$/],
    [
      "a preset",
      file({ trigger: { conditions: [{ ...github, preset: "githb" }] } }),
      1,
      /:1:\d+: \/triggers\/0\/conditions\/0\/preset: Expected one of \d+ values \(did you mean "github"\?\), found "githb"\n/,
    ],
    [
      "a type",
      file({ trigger: { conditions: [{ ...github, type: "hmca" }] } }),
      1,
      /"rate_limit" \(did you mean "hmac"\?\), found "hmca"\n/,
    ],
    [
      "a field",
      file({ trigger: { colour: 1 } }),
      1,
      /\/triggers\/0\/colour: Unknown field "colour"\n/,
    ],
    [
      "a field with a slip",
      file({ trigger: { contions: [] } }),
      1,
      /\/triggers\/0\/contions: Unknown field "contions" \(did you mean "conditions"\?\)\n/,
    ],
    ["a step", file(action({ step: "trian" })), 1, /\/actions\/0\/step: .*"trian"/],
    [
      "an input",
      file(action({ payload_input_name: "evnt" })),
      1,
      /\/actions\/0\/payload_input_name: .*evnt/,
    ],
    [
      "no configuration file of a project",
      file({ project: { config_file: "x.yaml" } }),
      1,
      /\/projects\/0\/config_file: Cannot read x\.yaml of project "digits" in \S+code[^]*: 1 error, no warnings\n$/,
    ],
    [
      "a mistake in that file",
      file({ project: { directory: "./broken" } }),
      1,
      /\/projects\/0\/config_file: .*nam.* See: hooklaunch project check \S+broken\/valohai\.yaml\n[^]*: 1 error, no warnings\n$/,
    ],
    [
      "a warning of a project's file",
      file({ project: { directory: "./warned" } }),
      0,
      /:1:\d+: warning: \/projects\/0\/config_file: valohai\.yaml: .*\{env:TOKEN\} is not read here/,
    ],
    ["no YAML", "triggers: [", 1, /: 1 error, no warnings\n$/],
    [
      "a weak secret in a variable",
      file(),
      1,
      /\/conditions\/0\/secrets\/0: .*HOOK_SECRET/,
      { env: { HOOK_SECRET: "secret" } },
    ],
    [
      "a variable that is not set, beside one of nearly its name",
      file(),
      0,
      /: warning: \/triggers\/0\/conditions\/0\/secrets\/0: HOOK_SECRET is not set here, or is empty \(did you mean HOOK_SECRTE\?\)[^]*1 warning\n$/,
      { env: { HOOK_SECRET: "", HOOK_SECRTE: "x" } },
    ],
    [
      "warnings as errors",
      file(),
      1,
      /no errors, 1 warning\n$/,
      { args: ["--strict"], env: { HOOK_SECRET: "" } },
    ],
    [
      "a setting that there is not",
      file(),
      0,
      /The variable HOOKLAUNCH_PROT is no setting of Hooklaunch \(did you mean HOOKLAUNCH_PORT\?\)/,
      { env: { ...secret, HOOKLAUNCH_PROT: "80" } },
    ],
    [
      "a setting that a variable turns off",
      file(),
      0,
      /no errors, no warnings\n$/,
      { env: { ...secret, HOOKLAUNCH_MCP: "false" } },
    ],
    [
      "a secret whose variable looks like a setting",
      file().replace("HOOK_SECRET", "HOOKLAUNCH_HOOK"),
      0,
      /no errors, no warnings\n$/,
      { env: { HOOKLAUNCH_HOOK: "a-secret-of-this-test" } },
    ],
    [
      "a repository that is elsewhere",
      file({ project: repository, ...action({ step: "trian" }) }),
      0,
      /not checked: the steps of project digits: its repository is not here\n/,
    ],
    [
      "its checkout here",
      file({ project: repository, ...action({ step: "trian" }) }),
      1,
      /"trian"/,
      { args: ["--code", `digits=${folder.path}/code`] },
    ],
    [
      "a project of the service",
      file({ project: { name: "other" } }),
      0,
      /not checked: the steps of trigger t: the file has no project digits\n/,
    ],
  ];
  for (const [name, text, code, says, { args = [], env = secret } = {}] of cases) {
    await t.step(name, async () => {
      await Deno.writeTextFile(path, text);
      const ended = await run(["check", path, ...args], env);
      assertMatch(ended.printed, says);
      assertEquals(ended.code, code, ended.printed);
    });
  }
  await t.step("as JSON", async () => {
    await Deno.writeTextFile(path, file({ trigger: { colour: 1 } }));
    const { code, printed } = await run(["check", path, "--json"], secret);
    const { errors: [error], ...rest } = JSON.parse(printed);
    assertEquals([code, error.path, error.line], [1, "/triggers/0/colour", 1]);
    assertEquals(Object.keys(rest), ["file", "projects", "triggers", "warnings", "left_out"]);
  });
});

Deno.test("the known variables are those of all options, and of the code", async () => {
  const named = new Set<string>();
  const collect = ({ options, commands }: Command) => {
    for (const { envVar, description } of options) {
      const told = /\(env: (\w+)=(?:true|false)\)/.exec(description)?.[1];
      for (const name of [envVar, told]) if (name !== undefined) named.add(name);
    }
    for (const command of commands) collect(command);
  };
  collect(await defineProgram(() => true));
  named.add("HOOKLAUNCH_ADMIN_TOKEN").add("HOOKLAUNCH_SECRET_KEY");
  assertEquals([...named].sort(), [...VARIABLES].sort());
});

Deno.test("the word that was meant is the nearest one", () => {
  const words = ["github", "gitlab", "gitea", "github_app", "run_execution", "hmac", "jwt"];
  const cases: [word: string, meant: string | undefined][] = [
    ["githb", "github"],
    ["GitHub", "github"],
    ["gtihub", "github"],
    ["gitlba", "gitlab"],
    ["hmca", "hmac"],
    ["run_exec", "run_execution"],
    ["jw", "jwt"],
    ["x", undefined],
    ["stripe", undefined],
    ["g".repeat(100), undefined],
  ];
  for (const [word, meant] of cases) {
    assertEquals(didYouMean(word, words), meant ? ` (did you mean ${meant}?)` : "", word);
  }
  assertEquals(didYouMean("x", ["*"]), "");
  assertEquals(didYouMean("1", ["", "true", "false"]), "");
  assertEquals(didYouMean("A", ["a"]), " (did you mean a?)");
});

Deno.test("the schema of the file knows fields and presets, and takes relative paths", () => {
  const url = "https://hooks.example.com/docs/schema.json";
  const schema = JSON.parse(JSON.stringify(configJsonSchema(url)));
  assertEquals([schema.$id, schema.additionalProperties], [url, false]);
  const { projects, triggers } = schema.properties;
  assertEquals(projects.items.properties.directory.pattern, undefined);
  assertEquals(projects.items.required, ["name"]);
  const { conditions } = triggers.items.properties;
  const hmac = conditions.items.oneOf.find((each: { properties: { type: { const: string } } }) =>
    each.properties.type.const === "hmac"
  );
  assertEquals(hmac.properties.preset.enum.includes("github"), true);
});
