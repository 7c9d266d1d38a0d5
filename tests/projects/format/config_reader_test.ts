/** Large project configuration files, which a Worker reads while the service goes on. */
import { assertEquals, assertLess, assertRejects } from "@std/assert";
import { InvalidInputError, UnavailableError } from "../../../src/platform/errors.ts";
import { readConfig, type RunConfigJob } from "../../../src/projects/format/config_reader.ts";
import { readConfigFile } from "../../../src/projects/mod.ts";
import { newHeavyWork } from "../../../src/service/heavy_work.ts";

const PARTS = `
- step:
    name: train
    image: busybox
    command: [a, "b {parameters}"]
    inputs: [{ name: data, default: "https://x.example/a", keep-directories: full }]
    parameters:
      - { name: rate, type: float, default: 0.5, optional: true, min: 0 }
      - { name: layers, type: integer, multiple: repeat, default: [1, 2] }
      - { name: fast, type: flag }
    environment-variables: [{ name: MODE, default: "1" }]
    time-limit: 1h
    stop-condition: accuracy > 0.9
- pipeline:
    name: p
    nodes:
      - name: a
        type: execution
        step: train
        actions: [{ when: node-complete, if: "metadata.x > 1", then: stop-pipeline }]
      - { name: b, type: execution, step: train, override: { image: other }, on-error: retry }
    edges: [[a.output.*, b.input.data]]
    parameters: [{ name: rate, default: 1, targets: [a.parameter.rate] }]
- endpoint: { name: serve, image: i, server-command: c }
- task: { name: t, step: train, type: grid_search, parameters: [{ name: x, style: single, rules: { value: 1 } }] }
- unknown: {}
`;

function stepsOf(count: number): string {
  const steps = Array.from({ length: count }, (_, at) => `
- step:
    name: s${at}
    image: busybox
    command: [a, b, "c {parameters}"]
    inputs: [{ name: a, default: "https://x.example/a" }]
    parameters:
      - { name: p, type: integer, default: 1 }
`);
  return steps.join("");
}

/** Reads a text as a service does, in the time of a busy machine. */
async function read(text: string) {
  const heavyWork = newHeavyWork();
  try {
    return await readConfig(new TextEncoder().encode(text), "valohai.yaml", {
      project: "digits",
      signal: new AbortController().signal,
      runJob: (input, options) =>
        heavyWork.run("config_file", input, { ...options, timeout_ms: 60_000 }),
    });
  } finally {
    heavyWork[Symbol.dispose]();
  }
}

/** Without the fields that have no value. */
function defined(config: unknown): unknown {
  if (config instanceof Map) {
    return new Map([...config].map(([key, value]) => [key, defined(value)]));
  }
  if (Array.isArray(config)) return config.map(defined);
  if (typeof config !== "object" || config === null) return config;
  const fields = Object.entries(config).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields.map(([key, value]) => [key, defined(value)]));
}

Deno.test("project: a large file is read in a Worker as it would be here", async () => {
  const text = PARTS + stepsOf(100);
  const config = await read(text);
  assertEquals(defined(config), defined(readConfigFile(text, "valohai.yaml")));
  assertEquals(config.warnings.length, 1);
});

Deno.test("project: what is wrong with a large file is told with its place", async () => {
  const text = `${stepsOf(100)}- step: {}\n`;
  const error = await assertRejects(() => read(text), InvalidInputError);
  const here = await assertRejects(
    () => Promise.resolve().then(() => readConfigFile(text, "valohai.yaml")),
    InvalidInputError,
  );
  assertEquals([error.message, error.problems], [here.message, here.problems]);
});

Deno.test("project: the service goes on while a very large file is read", async () => {
  const text = stepsOf(900);
  const here_ms = performance.now();
  readConfigFile(text, "valohai.yaml");
  const takes_ms = performance.now() - here_ms;
  let [last_ms, longest_ms] = [performance.now(), 0];
  const timer = setInterval(() => {
    const now_ms = performance.now();
    longest_ms = Math.max(longest_ms, now_ms - last_ms);
    last_ms = now_ms;
  }, 1);
  try {
    assertEquals((await read(text)).steps.size, 900);
    assertLess(longest_ms, takes_ms / 2);
  } finally {
    clearInterval(timer);
  }
});

Deno.test("project: a file waits until the Worker has room for it", async () => {
  using heavyWork = newHeavyWork();
  let refused = 0;
  const runJob: RunConfigJob = async (input, options) => {
    if (refused++ < 2) throw new UnavailableError("full", 0.01);
    return await heavyWork.run("config_file", input, { ...options, timeout_ms: 60_000 });
  };
  const { signal } = new AbortController();
  const bytes = new TextEncoder().encode(stepsOf(100));
  const config = await readConfig(bytes, "valohai.yaml", { project: "digits", signal, runJob });
  assertEquals([config.steps.size, refused], [100, 3]);
});
