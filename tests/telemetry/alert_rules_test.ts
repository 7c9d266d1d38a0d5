/** The alert rules, as Prometheus itself reads and evaluates them. */
import { fileURLToPath } from "node:url";
import { assertEquals, assertMatch } from "@std/assert";
import { has } from "../needs.ts";
import { temporaryFolder } from "../surroundings.ts";

/** Keeps the programs that `.ci/run` has built in the path. */
const TOOLS = 'PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin"';
const RULES = fileURLToPath(new URL("../../src/telemetry/alerts.yaml", import.meta.url));
const UP = 'up{job="hooklaunch",instance="a"} 1x200';
const DAY_S = 86_400;

/** Series with one sample a minute, in the notation of Prometheus' unit tests, and what fires at a minute. */
interface Case {
  series: readonly string[];
  minute: number;
  fires: readonly string[];
}

/** Makes the samples of a series of one instance. */
function series(name: string, samples: string, labels = ""): string {
  return `${name}{job="hooklaunch",instance="a"${labels && `,${labels}`}} ${samples}`;
}

const causes = (code: string, samples: string) =>
  series("hooklaunch_causes", samples, `code="${code}"`);
const deliveries = (outcome: string, samples: string) =>
  series("hooklaunch_deliveries_total", samples, `outcome="${outcome}"`);
const ofTrigger = (name: string, samples: string, label: string) =>
  series(name, samples, `trigger="t",project="p",${label}`);
const runs = (samples: string, status = "error") =>
  ofTrigger("hooklaunch_trigger_runs_total", samples, `status="${status}"`);
const executions = (samples: string) =>
  ofTrigger("hooklaunch_trigger_executions_total", samples, 'status="error"');
const starts = (samples: string, le: string) =>
  ofTrigger("hooklaunch_trigger_start_seconds_bucket", samples, `le="${le}"`);
const backups = (last: string, proof: string) => [
  series("hooklaunch_backup_interval_seconds", "600x90"),
  series("hooklaunch_backup_last_timestamp_seconds", last),
  series("hooklaunch_backup_proof_timestamp_seconds", proof),
];

const OF_INSTANCE = '{instance="a", job="hooklaunch"}';
const OF_TRIGGER = '{project="p", trigger="t"}';
const ofCode = (code: string) => `{code="${code}", instance="a", job="hooklaunch"}`;

/** Returns the cases of an alert that fires while there is a cause. */
function whileThereIs(alert: string, code: string, for_m: number): Case[] {
  return [
    { series: [causes(code, "0 1x200")], minute: for_m, fires: [] },
    {
      series: [causes(code, "0 1x200")],
      minute: for_m + 1,
      fires: [`${alert}${ofCode(code)}`],
    },
    // It goes before the time is over, and begins anew.
    { series: [causes(code, `1x${for_m} 0 1x200`)], minute: for_m + 2, fires: [] },
  ].filter(({ minute, fires }) => for_m > 0 || fires.length > 0 || minute === 0);
}

/** What fires, and what does not. The scrape itself works, unless a case says otherwise. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  HooklaunchDown: [
    { series: ['up{job="hooklaunch",instance="a"} 1 0x9'], minute: 2, fires: [] },
    {
      series: ['up{job="hooklaunch",instance="a"} 1 0x9'],
      minute: 3,
      fires: [`HooklaunchDown${OF_INSTANCE}`],
    },
    { series: ['up{job="other",instance="b"} 0x9', UP], minute: 5, fires: [] },
  ],
  HooklaunchMissing: [
    { series: ['up{job="other",instance="b"} 1x9'], minute: 4, fires: [] },
    {
      series: ['up{job="other",instance="b"} 1x9'],
      minute: 5,
      fires: ['HooklaunchMissing{job="hooklaunch"}'],
    },
  ],
  HooklaunchNotReady: [
    { series: [series("hooklaunch_ready", "1 0x9")], minute: 5, fires: [] },
    {
      series: [series("hooklaunch_ready", "1 0x9")],
      minute: 6,
      fires: [`HooklaunchNotReady${OF_INSTANCE}`],
    },
  ],
  HooklaunchRefusals: [
    {
      series: [deliveries("accepted", "0+1x90"), deliveries("refused", "0+1x90")],
      minute: 90,
      fires: ['HooklaunchRefusals{job="hooklaunch"}'],
    },
    // A tenth is not more than a tenth.
    {
      series: [deliveries("accepted", "0+9x90"), deliveries("refused", "0+1x90")],
      minute: 90,
      fires: [],
    },
    // All of few.
    {
      series: [deliveries("accepted", "0x90"), deliveries("refused", "0x80 9x10")],
      minute: 90,
      fires: [],
    },
  ],
  HooklaunchRunsFail: [
    { series: [runs("0x5 1x90")], minute: 10, fires: [`HooklaunchRunsFail${OF_TRIGGER}`] },
    // The series begins with the failure.
    { series: [runs("_x5 1x90")], minute: 10, fires: [`HooklaunchRunsFail${OF_TRIGGER}`] },
    {
      series: [runs("_x5 1x90", "complete_with_error")],
      minute: 10,
      fires: [`HooklaunchRunsFail${OF_TRIGGER}`],
    },
    { series: [runs("_x5 1x90")], minute: 80, fires: [] },
    // The service has started again, without a failure since.
    { series: [runs("_x5 1x90 _x200")], minute: 110, fires: [] },
    { series: [runs("_x5 1+1x200", "complete")], minute: 90, fires: [] },
  ],
  HooklaunchExecutionsFail: [
    {
      series: [executions("_x5 1x90")],
      minute: 6,
      fires: [`HooklaunchExecutionsFail${OF_TRIGGER}`],
    },
    {
      series: [executions("5x100 6x100")],
      minute: 105,
      fires: [`HooklaunchExecutionsFail${OF_TRIGGER}`],
    },
    { series: [executions("5x200")], minute: 150, fires: [] },
  ],
  HooklaunchBacklogGrows: [
    {
      series: [series("hooklaunch_backlog", "200+10x60")],
      minute: 40,
      fires: [`HooklaunchBacklogGrows${OF_INSTANCE}`],
    },
    { series: [series("hooklaunch_backlog", "2000-10x60")], minute: 40, fires: [] },
    { series: [series("hooklaunch_backlog", "0+2x60")], minute: 40, fires: [] },
  ],
  HooklaunchStartsLate: [
    {
      series: [starts("0x60", "300"), starts("0+1x60", "1800"), starts("0+1x60", "+Inf")],
      minute: 40,
      fires: [`HooklaunchStartsLate${OF_TRIGGER}`],
    },
    {
      series: [starts("0+1x60", "300"), starts("0+1x60", "1800"), starts("0+1x60", "+Inf")],
      minute: 40,
      fires: [],
    },
  ],
  HooklaunchDiskShort: [
    ...whileThereIs("HooklaunchDiskShort", "disk_full", 0),
    ...whileThereIs("HooklaunchDiskShort", "files_disk_full", 0),
    { series: [causes("disk_full", "1 0x9")], minute: 1, fires: [] },
  ],
  HooklaunchCertificateEnds: [
    {
      series: [series("hooklaunch_certificate_end_timestamp_seconds", `${2 * DAY_S + 60}x90`)],
      minute: 2,
      fires: [`HooklaunchCertificateEnds${OF_INSTANCE}`],
    },
    {
      series: [series("hooklaunch_certificate_end_timestamp_seconds", `${3 * DAY_S}x90`)],
      minute: 2,
      fires: [],
    },
    {
      series: [series("hooklaunch_certificate_end_timestamp_seconds", "0x90")],
      minute: 2,
      fires: [],
    },
  ],
  HooklaunchCertificateFails: whileThereIs("HooklaunchCertificateFails", "certificate_failed", 60),
  HooklaunchBackupFails: whileThereIs("HooklaunchBackupFails", "backup_failed", 10),
  HooklaunchBackupOld: [
    {
      series: backups("0x90", "0+60x90"),
      minute: 52,
      fires: [`HooklaunchBackupOld${OF_INSTANCE}`],
    },
    { series: backups("0+60x90", "0+60x90"), minute: 80, fires: [] },
  ],
  HooklaunchBackupNotProven: [
    {
      series: backups("0+60x90", `-${2 * DAY_S}x90`),
      minute: 62,
      fires: [`HooklaunchBackupNotProven${OF_INSTANCE}`],
    },
    { series: backups("0+60x90", `-${2 * DAY_S}x90`), minute: 60, fires: [] },
    { series: backups("0+60x90", "0x90"), minute: 90, fires: [] },
  ],
  HooklaunchNotifierFails: whileThereIs("HooklaunchNotifierFails", "notifier_failed", 10),
  HooklaunchScheduleFails: whileThereIs("HooklaunchScheduleFails", "schedule_failed", 10),
  HooklaunchArtifactStoreFails: [
    {
      series: [series("hooklaunch_artifact_store_up", "1 0x9")],
      minute: 6,
      fires: [`HooklaunchArtifactStoreFails${OF_INSTANCE}`],
    },
    { series: [series("hooklaunch_artifact_store_up", "1 0x9")], minute: 5, fires: [] },
  ],
  HooklaunchEngineUnreachable: whileThereIs(
    "HooklaunchEngineUnreachable",
    "engine_unreachable",
    10,
  ),
  HooklaunchInstanceFails: [
    {
      series: [causes("instance_gone", "0 1x9"), causes("instance_not_serving", "0 2x9")],
      minute: 2,
      fires: ['HooklaunchInstanceFails{job="hooklaunch"}'],
    },
    // One that leads after the other: the cause goes on.
    {
      series: [
        causes("instance_gone", "0 1 _x9"),
        causes("instance_gone", "_ _ 1x9").replace('"a"', '"b"'),
      ],
      minute: 2,
      fires: ['HooklaunchInstanceFails{job="hooklaunch"}'],
    },
    { series: [causes("instance_gone", "0 1x9")], minute: 1, fires: [] },
  ],
  HooklaunchInstancesDiffer: whileThereIs("HooklaunchInstancesDiffer", "instance_differs", 10),
};

/** Runs the program that reads rules as Prometheus does. */
async function check(...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", `${TOOLS}; check-prometheus-rules "$@"`, "sh", ...args],
  }).output();
  const [printed, errors] = [stdout, stderr].map((each) => new TextDecoder().decode(each));
  return { code, printed, errors };
}

Deno.test({
  name: "Prometheus takes the alert rules",
  ignore: !has("check-prometheus-rules"),
  async fn() {
    assertEquals(await check(RULES), { code: 0, printed: "", errors: "" });
    const text = await Deno.readTextFile(RULES);
    await using folder = await temporaryFolder();
    const file = `${folder.path}/rules.yaml`;
    await Deno.writeTextFile(file, text.replace("absent(up", "absent((up"));
    const { code, errors = "" } = await check(file);
    assertEquals(code, 1);
    assertMatch(errors, /HooklaunchMissing.*could not parse expression/);
  },
});

Deno.test({
  name: "Prometheus fires each alert when its page says so, and no other",
  ignore: !has("check-prometheus-rules"),
  async fn() {
    const text = await Deno.readTextFile(RULES);
    const alerts = [...text.matchAll(/alert: (\w+)/g)].map(([, name]) => name);
    assertEquals(Object.keys(CASES).toSorted(), alerts.toSorted());
    const cases = Object.values(CASES).flat().map((each) => ({
      ...each,
      series: each.series.some((one) => one.startsWith("up{")) ? each.series : [...each.series, UP],
    }));
    await using folder = await temporaryFolder();
    const file = `${folder.path}/cases.json`;
    await Deno.writeTextFile(file, JSON.stringify(cases));
    const { code, printed = "", errors } = await check(RULES, file);
    assertEquals([code, errors], [0, ""]);
    const fired: string[][] = JSON.parse(printed);
    const shown = ({ series, minute }: Case, fires: readonly string[] = []) =>
      [`${series.join("; ")} at ${minute}`, fires.toSorted()] as const;
    assertEquals(
      cases.map((each, index) => shown(each, fired[index])),
      cases.map((each) => shown(each, each.fires)),
    );
  },
});
