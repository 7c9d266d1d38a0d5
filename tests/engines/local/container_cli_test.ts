/**
 * Calling a program that runs containers: what its failures are told as, and how a container is started.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import {
  handOverArguments,
  isImageName,
  runArguments,
} from "../../../src/engines/local/runners/container_arguments.ts";
import {
  callContainers,
  ContainersError,
  ContainersUnreachableError,
  messageFor,
} from "../../../src/engines/local/runners/container_cli.ts";
import { CONTAINER_PROGRAMS } from "../../../src/engines/local/runners/container_program.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { EngineFixture } from "../fixture.ts";

const [docker, podman] = CONTAINER_PROGRAMS;
assert(docker && podman);

/** A program that does as a script says. */
async function program(folder: string, script: string) {
  const name = join(folder, "program");
  await Deno.writeTextFile(name, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
  return { name, advice: "start it" };
}

Deno.test("containers: what a program says is told, and its environment is clean", async () => {
  const folder = await Deno.makeTempDir();
  Deno.env.set("TEST_OTHER_SECRET", "s3cr3t");
  const good = await program(folder, 'echo "$1 $2"; env | grep -c TEST_OTHER_SECRET; exit 0');
  assertEquals(await callContainers(good, ["a b", "c"]), {
    isOk: true,
    stdout: "a b c\n0",
    message: "",
  });
  const bad = await program(folder, "echo 'docker: Error response from daemon: No.' >&2; exit 125");
  assertEquals((await callContainers(bad, [])).message, "No.");
  await Deno.remove(folder, { recursive: true });
});

const unreachable = [
  "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
  "failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct",
  "error during connect: Get http://x/v1.41/info: EOF",
  "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/d.sock",
  "Cannot connect to Podman. Please verify your connection to the Linux system",
  "Error: unable to connect to Podman socket: Get http://d/_ping: dial unix: no such file",
];

Deno.test("containers: an engine that cannot be reached is told of, and what to do", async () => {
  const folder = await Deno.makeTempDir();
  for (const message of unreachable) {
    const broken = await program(folder, `echo '${message}' >&2; exit 1`);
    const error = await assertRejects(
      () => callContainers(broken, ["ps"]),
      ContainersUnreachableError,
      "Cannot reach ",
    );
    assertStringIncludes(error.message, "start it");
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("containers: a program that is not there, or does not answer, is told of", async () => {
  await assertRejects(
    () => callContainers({ name: "hooklaunch-no-such-program", advice: "" }, ["ps"]),
    ContainersError,
    "hooklaunch-no-such-program is not installed",
  );
  const folder = await Deno.makeTempDir();
  const slow = await program(folder, "exec sleep 100");
  await assertRejects(
    () => callContainers(slow, ["ps"], { timeout_ms: 100 }),
    ContainersError,
    "did not answer within 0.1 s",
  );
  const gone = AbortSignal.abort();
  await assertRejects(() => callContainers(slow, ["ps"], { signal: gone }), DOMException);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("containers: what is sent to the service's process group, as by Ctrl-C, reaches no call", async () => {
  const folder = await Deno.makeTempDir();
  const asked = await program(folder, "ps -o pgid= -p $$; echo $$");
  const { stdout } = await callContainers(asked, []);
  const [group = "", id] = stdout.split("\n");
  assertEquals(group.trim(), id);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("containers: credentials are not told", () => {
  const message = messageFor(`time="2026" level=warning msg="Failed, retrying"
    Error: initializing source docker://user:s3cr3t@registry/x: Get "https://cdn/blob?sig=s3cr3t": no
    Run 'docker run --help' for more information`);
  assertEquals(
    message,
    'initializing source docker://…@registry/x: Get "https://cdn/blob?…": no',
  );
  assert(messageFor("x".repeat(10_000)).length <= 500);
  for (const word of ["//?x", "//a?", "a?b", "what?"]) assertEquals(messageFor(word), word);
  assertEquals(messageFor("//?x//y?z?w"), "//?x//y?…");
});

Deno.test("containers: what a registry says at length is told in a moment", async () => {
  // Some milliseconds. Were it the square of the length, it would take minutes.
  await assertTakesLess(5_000, () => {
    const message = messageFor(`Error response from daemon: denied: ${"//a".repeat(300_000)}`);
    assert(message.startsWith("denied: //a"));
    assert(message.length <= 500);
  });
});

Deno.test("containers: a call that writes without end is ended, and what it wrote is not kept", async () => {
  const folder = await Deno.makeTempDir();
  const loud = await program(folder, "exec yes");
  await assertRejects(
    () => callContainers(loud, ["exec"]),
    ContainersError,
    "wrote more than 1048576 bytes",
  );
  const failing = await program(folder, "exec yes 'No such image' >&2");
  const { isOk, message } = await callContainers(failing, ["pull"]);
  assertEquals(isOk, false);
  assert(message.startsWith("No such image; No such image"));
  await Deno.remove(folder, { recursive: true });
});

Deno.test("containers: only what an image can be called is taken for one", () => {
  for (
    const name of [
      "python:3.12",
      "docker:24",
      "localhost:5000/a/b:c",
      "x@sha256:0f",
      "ghcr.io/a-b/c_d",
    ]
  ) {
    assertEquals(isImageName(name), true, name);
  }
  for (const name of ["", "-v", "--privileged", "a b", "a;b", "a,b", `a${"b".repeat(600)}`]) {
    assertEquals(isImageName(name), false, name);
  }
});

Deno.test("containers: limits, network and mounts are what was asked for", () => {
  const execution = EngineFixture.prototype.execution("true", { image: "python:3.12" });
  const options = { settings: {}, path: '/data/a,b"c/x', root: "/data", processors: 4 };
  const plain = runArguments(docker, { execution, ...options });
  assert(plain.includes("--network=none"));
  assertEquals(plain.filter((argument) => /cpus|memory/.test(argument)), []);
  assertEquals(plain.slice(-2), ["--entrypoint=sh", "python:3.12"]);
  const mounts = plain.filter((argument) => argument.startsWith("--mount="));
  assertEquals(mounts.length, 7);
  assert(
    mounts.includes(
      '--mount=type=bind,"source=/data/a,b""c/x/control/container",target=/valohai/control',
    ),
  );
  // From its owner the wrapper knows the service's user.
  assert(
    mounts.includes(
      '--mount=type=bind,"source=/data/a,b""c/x/config",target=/valohai/config,readonly',
    ),
  );
  for (const argument of ["--privileged", "--volume", "-v"]) assert(!plain.includes(argument));
  const handOver = handOverArguments(docker, { execution, ...options });
  assert(handOver.includes("--rm") && handOver.includes("--network=none"));
  for (const argument of ["--pull=never", "--cap-drop=MKNOD", "--security-opt=no-new-privileges"]) {
    assert(plain.includes(argument) && handOver.includes(argument), argument);
  }
  // What it prints would be kept a second time, without a limit.
  for (
    const argument of [
      "--log-driver=none",
      "--pids-limit=4096",
      "--label=hooklaunch.executions=/data",
    ]
  ) {
    assert(plain.includes(argument), argument);
  }

  const limited = { ...execution, resources: { cpu: 8, memory: 512 } };
  const open = { ...options, settings: { network: true } };
  const other = runArguments(podman, { execution: limited, ...open });
  assertEquals(other.filter((argument) => /cpus|memory|network|proxy/.test(argument)), [
    "--cpus=4",
    "--memory=512m",
    "--memory-swap=512m",
    "--http-proxy=false",
  ]);

  const asking = { ...execution, resources: { devices: { "nvidia.com/gpu": 2, other: 1 } } };
  const given = [{ source: '/srv/a"b', destination: "/data", readonly: true }];
  const withGpus = runArguments(docker, { execution: asking, ...options, mounts: given });
  assert(withGpus.includes("--gpus=2"));
  assert(withGpus.includes('--mount=type=bind,"source=/srv/a""b","target=/data",readonly'));
  const devices = runArguments(podman, { execution: asking, ...options })
    .filter((argument) => argument.startsWith("--device"));
  assertEquals(devices, ["--device=nvidia.com/gpu=0", "--device=nvidia.com/gpu=1"]);
});
