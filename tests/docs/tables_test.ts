/** Tables and files of the pages that say what the code says. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { actionSchema } from "../../src/actions/mod.ts";
import * as settings from "../../src/actions/http_request_settings.ts";
import { CAUSE_CODES, CAUSES, FAILURE_CODES } from "../../src/attention/cause.ts";
import { DEPTH_MAX, MACRO_DEPTH_MAX, NODES_MAX } from "../../src/conditions/cel/check.ts";
import { VARIABLES } from "../../src/commands/input/variables.ts";
import { REFUSERS } from "../../src/conditions/kinds.ts";
import { conditionSchema } from "../../src/conditions/mod.ts";
import { presetGroups } from "../../src/conditions/signing/presets/groups.ts";
import { MAC_BYTES, SIGNATURE_ALGORITHMS } from "../../src/conditions/signing/scheme.ts";
import { configJsonSchema } from "../../src/config/json_schema.ts";
import { TIMESTAMP_FORMATS } from "../../src/conditions/freshness.ts";
import { SETTINGS } from "../../src/engines/local/options.ts";
import { REMOTE_SETTINGS } from "../../src/engines/remote/context.ts";
import { FILES_MAX } from "../../src/engines/shared/inputs/names.ts";
import { deliveryQuery } from "../../src/http/api/queries.ts";
import { ROUTES } from "../../src/http/console/mod.ts";
import { URL_LENGTH_MAX } from "../../src/http_requests/url_values.ts";
import { notifierSchema } from "../../src/notifications/schema.ts";
import { RESERVE_BYTES, RESERVE_FILES } from "../../src/store/file/space.ts";
import { RECORD_BYTES_MAX } from "../../src/store/records/record_size.ts";
import {
  ENTRIES_PER_MINUTE,
  ENTRIES_PER_TRIGGER_MINUTE as PER_TRIGGER,
} from "../../src/store/records/trigger_log.ts";
import { DIAGNOSIS_MS_MAX } from "../../src/triggers/diagnose.ts";
import { REPLAY_DELIVERIES_MAX, REPLAYS_RUNNING_MAX } from "../../src/triggers/replays.ts";
import * as schedules from "../../src/triggers/schedule_settings.ts";
import { triggerSchema } from "../../src/triggers/trigger.ts";
import { run } from "../commands/process.ts";
import { has } from "../needs.ts";
import { temporaryFolder } from "../surroundings.ts";
import { documentText } from "./blocks.ts";

Deno.test("the documented table of settings has the flags of serve and their defaults", async () => {
  const text = documentText("src/docs/settings.md");
  const [table = ""] = /\| flag [\s\S]*?\n\n/.exec(text) ?? [];
  const { printed } = await run(["serve", "--help"]);
  const help = printed.replaceAll(/\s+/g, " ");
  const inTable: string[] = [];
  for (const row of table.split("\n").slice(2, -2)) {
    const [, flags = "", defaults = ""] = row.split("|");
    const names = [...flags.matchAll(/`(--[\w-]+)`/g)].map(([, name = ""]) => name);
    const values = [...defaults.matchAll(/`([^`]+)`/g)].map(([, value = ""]) => value);
    inTable.push(...names);
    for (const [index, value] of values.entries()) {
      const [, told = ""] = help.split(` ${names[index]} `);
      const [, found] = /^(?:(?! --).)*?default: "?([^",)]+)/.exec(told) ?? [];
      assertEquals(found, value, names[index]);
    }
  }
  const inHelp = [...printed.matchAll(/^ +(?:-\w, )?(--[\w-]+)/gm)].map(([, name = ""]) => name);
  assertEquals(inTable.toSorted(), inHelp.filter((name) => name !== "--help").toSorted());
});

Deno.test("the documented settings of conditions, actions, triggers and notifiers are those of the code", async (t) => {
  const conditions = schemasOf(conditionSchema);
  const actions = schemasOf(actionSchema);
  const cases: [page: string, section: string, schema: z.ZodObject][] = [
    ...[...conditions].map(([type, schema]) => ["conditions", type, schema] as const),
    ...[...actions].map(([type, schema]) => ["actions", type, schema] as const),
    ["triggers", "A trigger in a file", triggerSchema],
    ["notifications", "Settings", notifierSchema],
  ].map(([page, section, schema]) => [page, section, schema] as [string, string, z.ZodObject]);
  for (const [page, section, schema] of cases) {
    await t.step(`${page}: ${section}`, () => {
      const fields = Object.keys(schema.shape).filter((name) => name !== "type");
      // They have a page of their own, and no settings.
      if (section === "payload_filter" || section === "fetch_repository") return;
      const documented = firstColumn(sectionOf(page, section));
      // What both have is described in one place.
      if (section === "signature") documented.push(...firstColumn(sectionOf(page, "hmac")));
      if (page === "actions") {
        documented.push(...firstColumn(sectionOf(page, "Settings of every action")));
      }
      const missing = fields.filter((name) => !documented.includes(name));
      const unknown = documented.filter((name) => !fields.includes(name));
      const others = section === "signature" ? ["secrets"] : [];
      assertEquals([missing, unknown], [[], others]);
    });
  }
});

Deno.test("the documented names of algorithms and formats are those of the code", () => {
  const names = {
    hmac: Object.keys(MAC_BYTES),
    signature: SIGNATURE_ALGORITHMS,
    timestamp: TIMESTAMP_FORMATS,
  };
  for (const [type, taken] of Object.entries(names)) {
    const section = sectionOf("conditions", type);
    const [last = "", ...others] = taken.map((name) => `\`${name}\``).toReversed();
    assertStringIncludes(section, `${others.toReversed().join(", ")} or ${last}`);
  }
});

Deno.test("the documented codes of causes are those of the code", () => {
  const pages = { monitoring: "What needs attention", notifications: "What is told" };
  const [attention, told] = Object.entries(pages)
    .map(([page, section]) => firstColumn(sectionOf(page, section)).toSorted());
  assertEquals(attention, CAUSE_CODES.toSorted());
  assertEquals(told, FAILURE_CODES.toSorted());
  // The page says that all but the last two are failures.
  const listed = firstColumn(sectionOf("monitoring", "What needs attention"));
  assertEquals(
    listed.slice(-2),
    CAUSE_CODES.filter((code) => CAUSES[code].group === "setup"),
  );
});

Deno.test("the documented filters of deliveries, and the causes of refusals, are those of the code", () => {
  const [filters = "", causes = ""] = sectionOf("deliveries", "Finding a delivery").split("### ");
  const notFilters = ["limit", "cursor", "follow", "only_changes"];
  assertEquals(
    firstColumn(filters).toSorted(),
    Object.keys(deliveryQuery.shape).filter((name) => !notFilters.includes(name)).toSorted(),
  );
  const [, ...documented] = firstColumn(causes);
  assertEquals(documented, REFUSERS.filter((name) => !conditionTypes().includes(name)));
});

Deno.test("every variable and every field of the configuration file is documented", () => {
  const pages = ["settings", "cli"].map((page) => documentText(`src/docs/${page}.md`)).join("\n");
  const flagOf = (name: string) =>
    `--${name.replace("HOOKLAUNCH_", "").toLowerCase().replaceAll("_", "-")}`;
  const unknown = VARIABLES.filter((name) =>
    !pages.includes(`\`${name}`) && !pages.includes(`\`${flagOf(name)}\``)
  );
  assertEquals(unknown, []);
  const { properties } = z.object({ properties: z.record(z.string(), z.unknown()) })
    .parse(configJsonSchema("https://hooks.example.com"));
  const fields = firstColumn(sectionOf("settings", "The configuration file"));
  assertEquals(fields.toSorted(), Object.keys(properties).toSorted());
});

Deno.test("the documented pages of the console are those that there are", () => {
  const documented = [...sectionOf("console", "Pages").matchAll(/`(\/[^`]*)`/g)]
    .map(([, path = ""]) => path);
  const shown = ROUTES.filter(({ show }) => show !== undefined)
    .map(({ path }) => path.replace(/:(\w+)/g, "<$1>"));
  assertEquals(shown.filter((path) => !documented.includes(path)), []);
});

Deno.test("the documented numbers of presets are not behind those of the code", () => {
  const names = presetGroups.flatMap(({ hmac, signature, static_token, handshakes }) =>
    [hmac, signature, static_token, handshakes].flatMap((rows) => Object.keys(rows ?? {}))
  );
  const { size } = new Set(names);
  const told = {
    "README.md": /(\d+) providers by name/,
    "src/docs/choose.md": /more than (\d+)\]/,
  };
  for (const [document, pattern] of Object.entries(told)) {
    const [, number] = pattern.exec(documentText(document)) ?? [];
    assertEquals(Number(number), Math.floor(size / 50) * 50, document);
  }
});

Deno.test("the documented limits are those of the code", () => {
  const limits: [page: string, sentence: string][] = [
    ["payload_filters", `| 4 KiB, ${shown(NODES_MAX)} parts, ${DEPTH_MAX} levels |`],
    ["payload_filters", `such as \`exists\` and \`map\` | ${MACRO_DEPTH_MAX} levels |`],
    ["doctor", `computes for at most ${DIAGNOSIS_MS_MAX / 1_000} s`],
    ["replays", `launches at most ${shown(REPLAY_DELIVERIES_MAX)} deliveries`],
    ["replays", `At most ${REPLAYS_RUNNING_MAX} replays run at once`],
    [
      "actions",
      `at most ${shown(settings.URL_LENGTH_MAX)} characters, and ${
        shown(URL_LENGTH_MAX)
      } with its values`,
    ],
    [
      "actions",
      `At most ${settings.HEADERS_MAX}, of ${shown(settings.VALUE_LENGTH_MAX)} characters each`,
    ],
    ["actions", `At most ${shown(settings.BODY_LENGTH_MAX)} characters before its values`],
    ["triggers", `A trigger has at most ${RECORD_BYTES_MAX / 1024} KiB in all`],
    ["projects", `A project has at most ${RECORD_BYTES_MAX / 1024} KiB in all`],
    [
      "triggers",
      `at most ${PER_TRIGGER} entries of each kind of one trigger, such as refusals or failed ` +
      `executions, and ${shown(ENTRIES_PER_MINUTE)} of all triggers`,
    ],
    [
      "deliveries",
      `at most ${PER_TRIGGER} a minute of one trigger and ${shown(ENTRIES_PER_MINUTE)} of all`,
    ],
    ["steps", `| outputs of an execution | ${shown(SETTINGS.outputsMax)} files`],
    ["steps", `| files of its inputs | ${shown(FILES_MAX)} |`],
    ["steps", `SIGTERM, and SIGKILL ${SETTINGS.grace_ms / 1_000} s later`],
    ["engines", `**At most ${shown(REMOTE_SETTINGS.executionsMax)} jobs**`],
    ["engines", `A pull takes at most ${SETTINGS.pull_ms / 60_000} minutes`],
    [
      "operating",
      `less than ${RESERVE_BYTES / 1024 ** 2} MiB, or room for fewer than ${
        shown(RESERVE_FILES)
      } files`,
    ],
    ["pace", `at most ${schedules.SCHEDULES_MAX} schedules`],
    ["pace", `any value of JSON, at most ${schedules.PAYLOAD_BYTES_MAX / 1024} KiB`],
  ];
  for (const [page, sentence] of limits) {
    const text = documentText(`src/docs/${page}.md`).replaceAll(/\s+/g, " ");
    assert(text.includes(sentence), `${page}: ${sentence}`);
  }
});

Deno.test("the documented folders of the code are those that there are", () => {
  const rows = documentText("CONTRIBUTING.md").matchAll(/^\| `src\/(\w+)` /gm);
  const documented = [...rows].map(([, name = ""]) => name);
  const folders = [...Deno.readDirSync(new URL("../../src/", import.meta.url))]
    .filter(({ isDirectory }) => isDirectory).map(({ name }) => name);
  assertEquals(documented.toSorted(), folders.toSorted());
});

Deno.test({
  name: "the documented unit is one that systemd reads",
  ignore: !has("systemd-analyze"),
  async fn() {
    const text = documentText("src/docs/operating.md");
    const [, unit = ""] = /```ini\n([\s\S]*?)```/.exec(text) ?? [];
    await using folder = await temporaryFolder();
    const path = `${folder.path}/hooklaunch.service`;
    // Neither the binary nor its user is on this machine.
    await Deno.writeTextFile(
      path,
      unit.replace("/usr/local/bin/hooklaunch", "/bin/true").replace("User=hooklaunch\n", ""),
    );
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["-c", 'exec systemd-analyze verify --man=no "$0"', path],
    }).output();
    const said = new TextDecoder().decode(stderr).split("\n");
    assertEquals([code, said.filter((line) => line.includes(path))], [0, []]);
    const judged = await new Deno.Command("sh", {
      args: [
        "-c",
        'exec systemd-analyze security --no-pager --offline=true --threshold=30 "$0"',
        path,
      ],
    }).output();
    // Its exposure is the last line; without the user, whom this machine lacks, it counts as root's.
    const [, exposure] =
      /exposure level for .*: ([\d.]+)/.exec(new TextDecoder().decode(judged.stdout)) ?? [];
    assertEquals(judged.code, 0, exposure);
  },
});

/** Returns the types of conditions. */
function conditionTypes(): string[] {
  return [...schemasOf(conditionSchema).keys()];
}

/** Returns a number as the pages write it. */
function shown(number: number): string {
  return number.toLocaleString("en");
}

/** Returns the text below a heading, to the next one. */
function sectionOf(page: string, heading: string): string {
  const sections = documentText(`src/docs/${page}.md`).split(/^## /m);
  const found = sections.find((section) =>
    section.split("\n", 1)[0]?.replaceAll("`", "") === heading
  );
  assert(found, `${page}.md has no section "${heading}"`);
  return found;
}

/** Returns the names in the first column of a table, without what stands in braces. */
function firstColumn(text: string): string[] {
  return [...text.matchAll(/^\| ([^|]*`[^|]*)\|/gm)]
    .flatMap(([, cell = ""]) => [...cell.matchAll(/`(\w+)/g)].map(([, name = ""]) => name));
}

/** Returns the schemas of a union, by their type. */
function schemasOf(union: { options: readonly unknown[] }): Map<string, z.ZodObject> {
  // Each option is an object that a literal tells apart.
  const schemas = union.options as z.ZodObject<{ type: z.ZodLiteral<string> }>[];
  return new Map(schemas.map((schema) => [schema.shape.type.value, schema]));
}
