/**
 * Repositories over ssh that a deploy key opens, with a real server. Left out where there is none.
 *
 * @module
 */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { ActionError } from "../../../src/platform/errors.ts";
import type { Project } from "../../../src/store/records/projects.ts";
import { processesWith, projectOf, setUp, TemporaryFolder } from "./git_fixture.ts";
import { HAS_SSHD, makeKey, SshServer } from "./ssh_server.ts";

async function setUpSsh(folder: TemporaryFolder) {
  const given = await setUp(folder);
  const server = await SshServer.start(join(folder.path, "sshd"));
  const repository = server.address(given.remote.path);
  const project: Project = { ...projectOf(repository), deploy_key: server.keyFile };
  return { ...given, server, project };
}

Deno.test({
  name: "ssh: a deploy key opens a repository, and the server's key is kept with the project",
  ignore: !HAS_SSHD,
  async fn() {
    await using folder = new TemporaryFolder();
    const given = await setUpSsh(folder);
    const { remote, hash, dataFolder, projects } = given;
    await using server = given.server;
    const keyFile = join(folder.path, `it's the "key" at 100%`);
    await Deno.rename(server.keyFile, keyFile);
    const project = { ...given.project, deploy_key: keyFile };
    assertEquals((await projects.resolve(project, "main")).commit, hash);
    const newer = await remote.commit({ "a.txt": "a" });
    assertEquals(await projects.fetch(project), { branches: { main: newer } });
    const known = await Deno.readTextFile(join(dataFolder, "projects/digits/known_hosts"));
    assertStringIncludes(known, " ssh-ed25519 ");
  },
});

Deno.test({
  name: "ssh: another key, no key, a key that anybody can read and a missing one are told",
  ignore: !HAS_SSHD,
  async fn() {
    await using folder = new TemporaryFolder();
    const { server, projects, project } = await setUpSsh(folder);
    await using _ = server;
    const other = join(folder.path, "other");
    await makeKey(other);
    const open = join(folder.path, "open");
    await Deno.copyFile(server.keyFile, open);
    await Deno.chmod(open, 0o644);
    const cases: [key: string, says: string][] = [
      [other, "Permission denied (publickey)"],
      [open, "Permissions 0644"],
      [join(folder.path, "nowhere"), "does not exist"],
      [folder.path, "is no file"],
    ];
    for (const [deploy_key, says] of cases) {
      const error = await assertRejects(
        () => projects.fetch({ ...project, deploy_key }),
        ActionError,
        "Cannot fetch",
      );
      assertStringIncludes(error.message, says);
    }
  },
});

Deno.test({
  name: "ssh: a server whose key has changed is refused until the kept one is removed",
  ignore: !HAS_SSHD,
  async fn() {
    await using folder = new TemporaryFolder();
    const { remote, dataFolder, server, projects, project } = await setUpSsh(folder);
    await using _ = server;
    await projects.resolve(project, "main");
    await server.changeKey();
    const newer = await remote.commit({ "a.txt": "a" });
    await assertRejects(() => projects.fetch(project), ActionError, "HOST IDENTIFICATION");
    await Deno.remove(join(dataFolder, "projects/digits/known_hosts"));
    assertEquals(await projects.fetch(project), { branches: { main: newer } });
  },
});

Deno.test({
  name: "ssh: a fetch whose time is up leaves no process behind",
  ignore: !HAS_SSHD,
  async fn() {
    await using folder = new TemporaryFolder();
    const { restarted, project } = await setUp(folder, { fetchTimeout_ms: 700 });
    const keyFile = join(folder.path, "key");
    await makeKey(keyFile);
    // A server that accepts and never says a word.
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    // Until its time is up, git may not have come to connect.
    const accepted = listener.accept().catch(() => undefined);
    const repository = `ssh://git@127.0.0.1:${listener.addr.port}/x.git`;
    const silent = { ...project, repository, deploy_key: keyFile };
    await assertRejects(() => restarted().fetch(silent), ActionError, "given up after 0.7 s");
    assertEquals([...(await processesWith(keyFile)).values()], []);
    listener.close();
    (await accepted)?.close();
  },
});
