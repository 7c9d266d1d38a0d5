/** `deno task release`: what it makes is the same each time, and runs where nothing else is. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { temporaryFolder } from "../data.ts";
import { type Command, has } from "../needs.ts";
import { eventually, isLong } from "../surroundings.ts";
import { releaseNotes } from "../../src/packaging/notes.ts";
import { makeNpmPackage } from "../../src/packaging/npm_package.ts";
import { FAST } from "../../src/packaging/release.ts";
import { Instances } from "./compose.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const TARGET = Deno.build.target;
const OTHER = TARGET.includes("darwin") ? "x86_64-unknown-linux-gnu" : "aarch64-apple-darwin";
const NAME = `hooklaunch-${config.version}`;
const PROCESSOR = Deno.build.arch === "x86_64" ? "amd64" : "arm64";
const OTHERS_PROCESSOR = PROCESSOR === "amd64" ? "arm64" : "amd64";

const SECRET = "0123456789abcdef".repeat(4);
const IMAGE = `${NAME}-linux-${PROCESSOR}-image.tar`;
const CHART = `hooklaunch-chart-${config.version}.tgz`;
/** What a release prints that has made an image. */
const HAS_IMAGE = `\nimage for ${PROCESSOR}\n`;

/** Puts what `.ci/run` has built on the path. */
const TOOLS = 'export PATH="$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/hooklaunch/bin"';

/** Answers with the files of a release. */
async function files(folder: string, request: Request): Promise<Response> {
  const name = new URL(request.url).pathname.split("/").at(-1) ?? "";
  const bytes = await Deno.readFile(join(folder, name));
  return new Response(bytes);
}

interface Ended {
  code: number;
  printed: string;
}

/** Runs a script of the shell in a folder, with an empty home. */
async function sh(cwd: string, script: string, env: Record<string, string> = {}): Promise<Ended> {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-ec", script],
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
  }).output();
  return { code, printed: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

async function release(output: string, ...args: string[]): Promise<Ended> {
  const fast = isLong ? [] : ["--fast"];
  const words = [config.version, "--snapshot", ...fast, "--output", output, ...args].join(" ");
  // Whose it is that makes a release is nothing that its files tell.
  return await sh(ROOT, `umask 077; ${TOOLS}; ${config.tasks.release.command} ${words}`);
}

/** A launch as a sender makes it, and a mistake: what the content of a release must do. */
const LAUNCH = `
$HOOKLAUNCH demo --once
$HOOKLAUNCH nonsense && exit 9 || test $? = 1
`;
/** A service that starts and stops: what a command must do, however it was installed. */
const TRY = `
$HOOKLAUNCH version
$HOOKLAUNCH serve --dev --port 0 --data "$HOME/data" >log 2>&1 &
until grep -q http://127.0.0.1 log; do kill -0 $!; sleep 0.05; done
kill -TERM $!
wait $!
`;

Deno.test({
  name: "a release runs from an empty folder, however it was installed",
  async fn(t) {
    await using folder = await temporaryFolder();
    const [one, other] = ["one", "other"].map((name) => join(folder.path, name));
    assert(one && other);
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => files(one, request),
    );
    const url = `http://127.0.0.1:${server.addr.port}/${config.version}`;
    const home = join(folder.path, "home");
    await Deno.mkdir(home);
    const made = await release(one, "--url", url, "--target", TARGET, "--image", PROCESSOR);
    assertEquals(made.code, 0, made.printed);

    const archives = [`${NAME}.tgz`, CHART, `hooklaunch-compose-${config.version}.tar.gz`];
    await t.step({
      name: "the same bytes when it is made again",
      // All is made anew: `deno task faults release`.
      ignore: !isLong,
      async fn() {
        // It has no archive with a Deno where none can be downloaded: the others are made alike.
        const image = `${PROCESSOR} ${OTHERS_PROCESSOR}`;
        const again = await release(other, "--target", OTHER, "--image", image);
        assertEquals(again.code, 0, again.printed);
        const [sums = "", others = ""] = await Promise.all(
          [one, other].map((folder) => Deno.readTextFile(join(folder, "SHA256SUMS"))),
        );
        const names = [...archives, `${NAME}.cdx.json`];
        if (made.printed.includes(HAS_IMAGE)) names.push(IMAGE);
        const lines = others.split("\n");
        for (const name of names) {
          const isSame = (line: string) => line.endsWith(name) && lines.includes(line);
          assert(sums.split("\n").some(isSame), name);
        }
      },
    });

    await t.step("the files of the commit, with its time, and nobody's name", async () => {
      const sums = await Deno.readTextFile(join(one, "SHA256SUMS"));
      const [, commit] = / of ([0-9a-f]{12}) is in /.exec(made.printed) ?? [];
      const { printed: time } = await sh(ROOT, `git show -s --format=%ct ${commit}`);
      for (const name of archives) {
        const listed = await sh(one, `TZ=UTC tar --full-time -tvzf ${name}`);
        const expected = new Date(Number(time) * 1_000).toISOString().slice(0, 19);
        for (const line of listed.printed.trim().split("\n")) {
          assertMatch(line, new RegExp(` root/root +\\d+ ${expected.replace("T", " ")} `), name);
        }
        // In the header of gzip is no time.
        const head = (await Deno.readFile(join(one, name))).subarray(4, 8);
        assertEquals([...head], [0, 0, 0, 0], name);
      }
      assertStringIncludes(sums, `${NAME}-${TARGET}.tar.gz`);
      const checked = await sh(one, "sha256sum -c SHA256SUMS");
      assertEquals(checked.code, 0, checked.printed);
      if (has("nfpm") && Deno.build.os === "linux") {
        assertMatch(sums, /\.deb$/m);
        assertMatch(sums, /\.rpm$/m);
      }
    });

    await t.step(
      "the list of materials names what is loaded, and nothing of the tests",
      async () => {
        const { components } = JSON.parse(await Deno.readTextFile(join(one, `${NAME}.cdx.json`)));
        const names = components.map(({ name }: { name: string }) => name);
        for (const name of ["hono", "jose", "zod", "deno"]) assert(names.includes(name), name);
        for (const name of ["stripe", "fast-check", "playwright-core"]) {
          assert(!names.includes(name));
        }
        for (const { purl, hashes, type } of components) {
          assertMatch(purl, /^pkg:(npm|jsr|github)\/.+@v?\d/);
          if (type === "library" && purl.startsWith("pkg:npm")) {
            assertMatch(hashes[0].content, /^[0-9a-f]{128}$/);
          }
        }
      },
    );

    const env = { HOME: home, XDG_CACHE_HOME: "", XDG_CONFIG_HOME: "", DENO_DIR: "" };
    const tried = async (place: string, script: string, command: string) => {
      const cwd = join(folder.path, place);
      await Deno.mkdir(cwd);
      const ended = await sh(cwd, script + TRY, { ...env, HOOKLAUNCH: command, MADE: one });
      assertEquals(ended.code, 0, ended.printed);
      assertMatch(
        ended.printed,
        new RegExp(`^version +${config.version}\ncommit +[0-9a-f]{40}\n`, "m"),
      );
      return ended.printed;
    };
    await t.step("from npm", async () => {
      const printed = await tried(
        "npm",
        `echo '{}' >package.json; npm install --silent --no-audit "$MADE/${NAME}.tgz"\n${LAUNCH}`,
        "node_modules/.bin/hooklaunch",
      );
      assertStringIncludes(printed, 'complete, and its step "greet" printed:');
      assertStringIncludes(printed, "unknown command 'nonsense'");
    });
    await t.step(
      "from an archive",
      async () =>
        void await tried(
          "archive",
          `tar xzf "$MADE/${NAME}-${TARGET}.tar.gz"\n`,
          `${NAME}/hooklaunch`,
        ),
    );
    await t.step("by the installer, twice, and not where a file is another one", async () => {
      const bin = `PREFIX="$PWD/prefix" sh "$MADE/install.sh"\n`;
      await tried("installer", bin + bin, "prefix/bin/hooklaunch");
      const archive = join(one, `${NAME}-${TARGET}.tar.gz`);
      await Deno.writeFile(archive, new Uint8Array([0]), { append: true });
      const ended = await sh(join(folder.path, "installer"), bin, { ...env, MADE: one });
      assertEquals(ended.code, 1, ended.printed);
      assertStringIncludes(
        ended.printed,
        "is not the file that SHA256SUMS names; nothing is installed",
      );
    });
    await t.step({
      name: "from the chart",
      ignore: !has("helm"),
      async fn() {
        const ended = await sh(
          one,
          `${TOOLS}; helm show chart ${CHART}; helm lint --strict ${CHART}`,
        );
        assertEquals(ended.code, 0, ended.printed);
        assertStringIncludes(ended.printed, `appVersion: ${config.version}\n`);
      },
    });
    const hasImage = made.printed.includes(HAS_IMAGE);
    if (!hasImage) assertStringIncludes(made.printed, "left out, since");
    await t.step({
      name: "from the image, which may write into its volume alone",
      ignore: !hasImage || !has("docker"),
      async fn() {
        const name = `hooklaunch:${config.version}`;
        const hardened =
          "--rm --network none --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges";
        // One container, as each copies all files where docker has no union of file systems.
        const ended = await sh(
          one,
          `docker load --quiet --input ${IMAGE}
          id=$(docker run --detach ${hardened} ${name})
          trap "docker rm --force --volumes $id" EXIT
          docker exec $id hooklaunch version
          docker exec $id hooklaunch demo --once
          docker exec $id sh -c 'id -u; git --version; echo a b | awk "{print \\$2}"'
          until docker logs $id 2>&1 | grep Listening; do docker exec $id true; sleep 0.1; done`,
        );
        assertEquals(ended.code, 0, ended.printed);
        assertMatch(
          ended.printed,
          new RegExp(`^version +${config.version}\ncommit +[0-9a-f]{40}\n`, "m"),
        );
        assertStringIncludes(ended.printed, 'complete, and its step "greet" printed:');
        assertMatch(ended.printed, /^1993\ngit version .*\nb$/m);
      },
    });
    await t.step({
      name: "by Compose: two instances behind Caddy, of which one is killed",
      ignore: !hasImage || !NEEDS_OF_COMPOSE.every(has),
      fn: () => tryInstances(join(folder.path, "compose")),
    });
    if (hasImage && has("docker")) await sh(one, `docker rmi --force hooklaunch:${config.version}`);
    await t.step({
      name: "from a package of Debian",
      ignore: !has("nfpm") || Deno.build.os !== "linux",
      async fn() {
        const unpack = 'dpkg-deb -x "$MADE"/hooklaunch_*.deb .\n';
        await tried("deb", unpack, "usr/lib/hooklaunch/hooklaunch");
        const listed = await sh(one, "dpkg-deb --contents hooklaunch_*.deb");
        const own = listed.printed.split("\n").filter((line) => line.includes("/usr/lib/"));
        assertEquals(own.filter((line) => !/^(l-{9}|[d-]rwxr-xr-x|-rw-r--r--) /.test(line)), []);
      },
    });
  },
});

const NEEDS_OF_COMPOSE: readonly Command[] = ["docker", "denokv", "rclone", "caddy"];
/** Triggers, so many that each instance gets some: Caddy chooses it by the URL. */
const TRIGGERS = JSON.stringify({
  projects: [{ name: "none", repository: "https://git.example.com/none.git" }],
  triggers: Array.from({ length: 40 }, (_, index) => ({
    name: `trigger-${index}`,
    project: "none",
    conditions: [{ type: "static_token", in: "header", name: "X-Token", secrets: [SECRET] }],
    actions: [{ type: "run_execution", step: "none", if: "false" }],
    response: { type: "text", text: "{run_id}" },
  })),
});

/** Launches by both instances, kills one, and goes on launching. */
async function tryInstances(folder: string): Promise<void> {
  await Deno.mkdir(folder);
  await using instances = new Instances(folder);
  await instances.start(TRIGGERS);
  const { results } = await instances.api("triggers/?limit=200");
  const accepted: string[] = [];
  const launchAll = async () => {
    for (const { id } of results) {
      // A sender tries again when it gets no answer, or one of the proxy.
      accepted.push(
        await eventually(async () => {
          const path = `/api/v0/launch/${id}/`;
          const init = { method: "POST", headers: { "x-token": SECRET }, body: "{}" };
          const { status, text } = await instances.fetch(path, init);
          assert([200, 502, 503].includes(status), `${status} ${text}`);
          return status === 200 ? text : undefined;
        }, { what: "an accepted launch" }),
      );
    }
  };
  await launchAll();
  const byEach = await instances.accepted();
  assert(byEach.every((count) => count > 0), `launches by each: ${byEach}`);
  await instances.kill("one");
  await launchAll();
  await launchAll();
  const runs = await eventually(async () => {
    // Nobody answers operators until the other instance leads.
    const answer = await instances.api("runs/?limit=200").catch(() => undefined);
    const found: { id: string; status: string }[] = answer?.results ?? [];
    const isEnded = found.length > 0 && found.every(({ status }) => status === "completed");
    return isEnded ? found : undefined;
  }, { what: "the end of all runs" });
  const ids = runs.map(({ id }) => id);
  assertEquals([accepted.filter((id) => !ids.includes(id)), ids.length], [[], new Set(ids).size]);
}

/** Node.js as it is on Windows: its function is there, and throws. */
const WINDOWS = `Object.defineProperty(process, "platform", { value: "win32" });
process.execve = () => { throw new Error("The feature process.execve is unavailable"); };
`;

Deno.test("the npm package runs where Node.js cannot become another program, as on Windows", async () => {
  await using folder = await temporaryFolder();
  const made = join(folder.path, "npm");
  const deno = join(made, "node_modules", "deno");
  await Deno.mkdir(deno, { recursive: true });
  const { version } = config;
  const stage = () => Promise.resolve(made);
  const others = { deno: "2", time: new Date(0), output: folder.path, level: FAST, say() {} };
  await makeNpmPackage({ version, stage, ...others });
  await Deno.writeTextFile(join(deno, "install_api.cjs"), 'exports.runInstall = () => "echo";');
  await Deno.writeTextFile(join(made, "windows.cjs"), WINDOWS);
  const ended = await sh(made, "node --require ./windows.cjs cli.cjs version");
  assertMatch(ended.printed, /^run .*main\.js version\n$/);
  assertEquals(ended.code, 0);
});

Deno.test("the notes of a release are its section of the changelog, and that of this version is there", async () => {
  const changelog = await Deno.readTextFile(join(ROOT, "CHANGELOG.md"));
  assertMatch(releaseNotes(changelog, config.version) ?? "", /^\S/);
  assertEquals(releaseNotes(changelog, "9.9.9"), undefined);
  assertEquals(
    releaseNotes("# C\n\n## 1.0.0 (2026-01-31)\n\nNew.\n\n## 0.9.0\n\nOld.\n", "1.0.0"),
    "New.\n",
  );
});

Deno.test("a release that would not be what it says is refused, with what to do", async (t) => {
  const cases: [name: string, args: string[], says: RegExp][] = [
    ["no version", ["next"], /Expected a version such as 1\.2\.3/],
    ["another version", ["9.9.9"], /deno\.json has version .*: set it to 9\.9\.9/],
    [
      "another system",
      [config.version, "--snapshot", "--target", "vax"],
      /Expected one of x86_64.*, found vax/,
    ],
    [
      "another processor",
      [config.version, "--snapshot", "--image", "vax"],
      /Expected one of amd64, arm64, none, found vax/,
    ],
  ];
  for (const [name, args, says] of cases) {
    await t.step(name, async () => {
      const ended = await sh(
        ROOT,
        `${config.tasks.release.command} --output /nonexistent/x ${args.join(" ")}`,
      );
      assertEquals(ended.code, 1, ended.printed);
      assertMatch(ended.printed, says);
    });
  }
});
