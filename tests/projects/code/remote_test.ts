/**
 * Remotes of projects: what git is told of them, what it is not told, and what it may take.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { systemClock } from "../../../src/platform/clock.ts";
import { ActionError } from "../../../src/platform/errors.ts";
import { Projects } from "../../../src/projects/projects.ts";
import { redactUrls } from "../../../src/platform/network/urls.ts";
import { openRemote } from "../../../src/projects/code/remote.ts";
import { assertTakesLess } from "../../surroundings.ts";
import { projectOf, setUp, TemporaryFolder } from "./git_fixture.ts";

Deno.test("remote: references that git could take for something else are refused", async () => {
  await using folder = new TemporaryFolder();
  const { projects, project } = await setUp(folder);
  for (
    const reference of [
      "--upload-pack=touch x",
      "-x",
      "main^",
      "main~1",
      "main:valohai.yaml",
      "a..b",
      "main@{0}",
      "@",
      "two\nlines",
      "",
      "zzzz",
    ]
  ) {
    await assertRejects(() => projects.resolve(project, reference), ActionError, "Cannot find");
  }
});

Deno.test("remote: addresses that git could take for something else are refused", async () => {
  await using folder = new TemporaryFolder();
  const { projects } = await setUp(folder);
  for (const address of ["--upload-pack=x", "ext::sh -c true", "a\nb"]) {
    await assertRejects(
      () => projects.fetch(projectOf(address)),
      ActionError,
      "repository address",
    );
  }
});

Deno.test("remote: a deploy key is used alone, and no helper of the service's user learns a password", async () => {
  await using folder = new TemporaryFolder();
  const key = `${folder.path}/key`;
  await Deno.writeTextFile(key, "");
  const access = { env: () => "s3cr3t", knownHostsFile: "/data/known" };
  const ssh = await openRemote({ repository: "git@h.example:x", deploy_key: key }, access);
  const options = [
    `-o 'IdentityFile="${key}"' -o IdentitiesOnly=yes -o BatchMode=yes`,
    `-o StrictHostKeyChecking=accept-new`,
    `-o 'UserKnownHostsFile="/data/known" ~/.ssh/known_hosts' -o ControlPath=none`,
  ];
  assertEquals(ssh.env, { GIT_SSH_COMMAND: `ssh ${options.join(" ")}` });

  const { url, env } = await openRemote({ repository: "https://{env:T}@h.example/x" }, access);
  assertEquals(url, "https://h.example/x");
  // The empty one is before ours: it forgets all others.
  assertEquals([env.GIT_CONFIG_KEY_0, env.GIT_CONFIG_VALUE_0], ["credential.helper", ""]);
  assertEquals(env.GIT_CONFIG_KEY_1, "credential.https://h.example.helper");
});

Deno.test("remote: a fetch ends when its time is up", async () => {
  await using folder = new TemporaryFolder();
  const { dataFolder } = await setUp(folder);
  // A server that accepts and never answers.
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  // Until its time is up, git may not have come to connect.
  const accepted = listener.accept().catch(() => undefined);
  const projects = new Projects({ dataFolder, clock: systemClock, fetchTimeout_ms: 700 });
  const project = projectOf(`http://127.0.0.1:${listener.addr.port}/x.git`);
  await assertRejects(() => projects.fetch(project), ActionError, "given up after 0.7 s");
  listener.close();
  (await accepted)?.close();
});

Deno.test("remote: an address with a password is not used, and not shown", async () => {
  await using folder = new TemporaryFolder();
  const { projects } = await setUp(folder);
  // No project is saved with one; a record may be older than that.
  const project = projectOf("http://me:s3cr3t with blanks@127.0.0.1:1/x.git");
  for (const use of [() => projects.fetch(project), () => projects.resolve(project, "main")]) {
    const error = await assertRejects(use, ActionError, "{env:GIT_TOKEN}");
    assert(!error.message.includes("s3cr3t"), error.message);
  }
});

Deno.test("remote: what stands before a host is hidden, of long words in a moment too", async () => {
  for (
    const [said, shown] of [
      [
        "to 'https://u:p@host/x' and git+ssh://u@h:",
        "to 'https://***@host/x' and git+ssh://***@h:",
      ],
      [`${"x".repeat(40)}://u:p@host`, `${"x".repeat(40)}://***@host`],
      ["https://host/x", "https://host/x"],
    ] as const
  ) assertEquals(redactUrls(said), shown);
  // Some milliseconds. Were it the square of the length, it would take a minute.
  await assertTakesLess(5_000, () => void redactUrls("a".repeat(300_000)));
});
