/**
 * Running git: that it has ended with all that it started when that is said, however late they end. What
 * gets a signal goes on for a moment, on a machine with much to do for longer.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { git, GitError } from "../../../src/projects/code/git.ts";
import { eventually, temporaryFolder } from "../../surroundings.ts";
import { processesWith } from "./git_fixture.ts";

/** Stands for ssh. No signal to git's own session reaches it, so it surely ends later than git. */
const LATE = `#!/bin/sh
exec setsid sh -c ': >"$0.began"; until [ -e "$0.go" ] || [ ! -e "$0" ]; do sleep 0.05; done
  sleep 0.5; :' "$0"
`;

Deno.test("git: one that is ended has ended when what it started has, too", async () => {
  await using folder = await temporaryFolder();
  const ssh = join(folder.path, "ssh");
  await Deno.writeTextFile(ssh, LATE, { mode: 0o755 });
  const closing = new AbortController();
  const ended = assertRejects(
    () =>
      git(["ls-remote", "ssh://nobody/x.git"], {
        env: { GIT_SSH_COMMAND: ssh },
        signal: closing.signal,
        ownSession: true,
      }),
    GitError,
    "git ls-remote was ended before it was done",
  );
  await eventually(() => Deno.stat(`${ssh}.began`).catch(() => undefined), { what: "ssh" });
  closing.abort();
  await Deno.writeTextFile(`${ssh}.go`, "");
  await ended;
  assertEquals([...(await processesWith(ssh)).values()], []);
});

Deno.test("git: one is ended for which there is no shell to do it, for want of files", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = `git://127.0.0.1:${listener.addr.port}/x.git`;
  const closing = new AbortController();
  const ended = assertRejects(
    () => git(["ls-remote", address], { env: {}, signal: closing.signal, ownSession: true }),
    GitError,
    "git ls-remote was ended before it was done",
  );
  using _silent = await listener.accept();
  const { Command } = Deno;
  Deno.Command = class extends Command {
    override output(): never {
      throw new Error("Too many open files (os error 24)");
    }
  };
  closing.abort();
  await ended.finally(() => Deno.Command = Command);
});
