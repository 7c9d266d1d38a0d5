/**
 * `deno task test`: every test that this machine can run. Arguments are files or folders of tests, or go to
 * `deno test`, such as `--filter`.
 *
 * @module
 */
import { makeBundle } from "../src/packaging/bundle.ts";
import { BUNDLE, FOUND, look, OPTIONAL_COMMANDS, PORTS_FOLDER } from "./needs.ts";

/**
 * Makes a folder for all that the tests write, and prints it: in memory where this user may mount that,
 * as making and removing small files on a disk takes a sixth of the time. In it is a storage of podman's
 * for the tests alone. Its settings are those that podman runs with anywhere, also within a container: no
 * union of file systems, no limits that only an unconfined root may raise, and no locks that are shared
 * with the user's other storages.
 */
const MAKE_FOLDER = `
folder=$(mktemp -d)
mount -t tmpfs tmpfs "$folder" 2>/dev/null
mkdir "$folder/podman"
mkdir "$folder/ports"
cd "$folder/podman"
cat >storage.conf <<END
[storage]
driver = "vfs"
graphroot = "$PWD/graph"
runroot = "$PWD/run"
END
cat >containers.conf <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
lock_type = "file"
static_dir = "$PWD/libpod"
tmp_dir = "$PWD/tmp"
volume_path = "$PWD/volumes"
END
echo "$folder"
`;
const REMOVE_FOLDER = `
{ ! command -v podman || podman system reset --force; umount -l "$1"; rm -rf "$1"; } >/dev/null 2>&1
`;

/**
 * The service as a release has it. Its place stays the same, as Deno keeps compiled code for a place, and never removes
 * it.
 */
const PRODUCT = "dist/tests";
/**
 * The modules of each folder, in the order in which they begin: few, as each loads and compiles anew what it tests,
 * which takes a second of a processor, and so many that they end at about the same time. Other folders share theirs.
 */
const MODULES: Readonly<Record<string, number>> = {
  http: 3,
  others: 3,
  faults: 1,
  projects: 1,
  engines: 1,
  commands: 1,
  docs: 1,
  long: 2,
  sharing: 1,
  conditions: 1,
};
/** The fewest test files for a second module of a folder. */
const MODULE_MIN = 12;
/** The modules of each group that run at once, beside one for each processor where these do the work. */
const AT_ONCE = { browser: 1, waiting: 3, others: navigator.hardwareConcurrency + 3 };
/**
 * Test files that are modules by themselves: the one that takes longest, and those with a cluster of their own, which
 * runs no longer than its tests.
 */
const ALONE = [
  "packaging/release_test.ts",
  "engines/kubernetes/cluster_test.ts",
  "engines/slurm/slurm_test.ts",
];
/** The other test files that mostly wait, for containers and silence. */
const WAITING = [
  "faults/instances_test.ts",
  "engines/remote/contract_test.ts",
  "engines/local/docker_test.ts",
  "http/jobs/agent_faults_test.ts",
  "commands/remote_kv_test.ts",
  "faults/silent_machine_test.ts",
  "engines/local/container_test.ts",
  "engines/remote/faults_test.ts",
  "engines/remote/crash_test.ts",
  "engines/kubernetes/pod_contract_test.ts",
  "engines/local/podman_test.ts",
  "engines/remote/mixed_test.ts",
  "commands/restart_test.ts",
];
/** Test files that share what takes long to start: a Gitea. */
const SHARING = [
  "projects/code/hosts/host_test.ts",
  "projects/code/hosts/https_test.ts",
  "engines/remote/own_code_test.ts",
];
/** The other test files that take longest. */
const LONG = [
  "faults/short_test.ts",
  "faults/power_test.ts",
  "store/golden_test.ts",
  "faults/queue_test.ts",
  "faults/failing_writes_test.ts",
  "faults/kill_test.ts",
  "faults/kills_test.ts",
  "faults/full_disk_test.ts",
  "faults/moved_folder_test.ts",
  "projects/code/repository_damage_test.ts",
  "projects/code/repository_history_test.ts",
  "projects/code/repository_test.ts",
  "conditions/cel/payload_filter_bounds_test.ts",
  "conditions/cel/payload_filter_cost_test.ts",
  "http/jobs/agent_test.ts",
  "commands/serve_test.ts",
  "commands/backup_test.ts",
  "platform/heavy_work/heavy_work_test.ts",
];

if (!look("git")) {
  console.error("The tests need git: install it first, such as with apt-get install git");
  Deno.exit(1);
}
const isFolder = (argument: string) => existing(argument)?.isDirectory === true;
const isPath = (argument: string) => existing(argument) !== undefined;
const named = Deno.args.filter(isPath).map((path) => path.replace(/^\.\/|\/+$/g, ""));
const isFew = named.length > 0 && !named.some(isFolder);
const making = isFew ? undefined : makeProduct();
const folder = await sh(MAKE_FOLDER);
const env: Record<string, string> = {
  TMPDIR: folder,
  [PORTS_FOLDER]: `${folder}/ports`,
  CONTAINERS_CONF: `${folder}/podman/containers.conf`,
  CONTAINERS_STORAGE_CONF: `${folder}/podman/storage.conf`,
};
// The names are the keys of the object itself.
const optional = Object.keys(OPTIONAL_COMMANDS) as (keyof typeof OPTIONAL_COMMANDS)[];
const found = optional.filter((command) => look(command, env));
env[FOUND] = ["git", ...found].join();
if (making !== undefined) env[BUNDLE] = await making;
const isBrowserTest = (argument: string) => argument.endsWith("browser_test.ts");
const files = filesIn("tests");
const permissions = [
  // What drives the browser looks into /proc, which no narrow permission allows.
  `--ignore=${files.filter(isBrowserTest)}`,
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-net=127.0.0.1,127.0.0.2,localhost,[::1],0.0.0.0",
  "--allow-sys=statfs",
  `--allow-run=${Deno.execPath()},git,sh,setsid,bash`,
];
const everything = ["--allow-all"];
const flags = Deno.args.filter((argument) => !isPath(argument));
const chosen = files.filter((file) =>
  named.length === 0 || named.some((path) => file === path || file.startsWith(`${path}/`))
);
const [most, ...beside]: Group[] = isFew
  ? [{
    args: Deno.args,
    permissions: Deno.args.some(isBrowserTest) ? everything : permissions,
    jobs: AT_ONCE.others,
  }]
  : groupsOf(chosen, folder).map((group) => ({ ...group, args: [...group.args, ...flags] }));
if (most === undefined) throw new Error("Expected tests");
const running = new Set<Deno.ChildProcess>();
// An interrupted run removes its folder, too.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => {
    for (const each of running) each.kill(signal);
  });
}
const ends = await Promise.all([
  ...beside.map(async (group) => {
    const { success, stdout } = await test(group, "piped").output();
    const printed = new TextDecoder().decode(stdout);
    console.log(printed);
    return { success, printed };
  }),
  test(most, "inherit").status,
]);
await sh(REMOVE_FOLDER, { args: [folder], env });
// They stand far above.
for (const end of ends) {
  if (!end.success && "printed" in end) {
    console.log(end.printed.slice(end.printed.lastIndexOf("ERRORS")));
  }
}

for (const command of optional.filter((command) => !found.includes(command))) {
  const what = OPTIONAL_COMMANDS[command];
  console.log(`Left out: ${what}, since ${command} is not installed, or cannot be used`);
}
Deno.exit(ends.every(({ success }) => success) ? 0 : 1);

/** Makes the bundle that the tests start, and returns its main module. */
async function makeProduct(): Promise<string> {
  const made = `${PRODUCT}.${Deno.pid}`;
  await makeBundle(made, "a checkout");
  if (existing(PRODUCT)) await Deno.remove(PRODUCT, { recursive: true });
  await Deno.rename(made, PRODUCT);
  return Deno.realPathSync(`${PRODUCT}/main.js`);
}

/** Arguments of `deno test`: files and others. */
interface Group {
  args: readonly string[];
  permissions: readonly string[];
  /** The number of files at once. */
  jobs: number;
}

/** Runs some test files, or what other arguments of `deno test` name. */
function test({ args, permissions, jobs }: Group, stdout: "inherit" | "piped"): Deno.ChildProcess {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "--parallel",
      // The types are checked by `deno task ok`, which takes as long as a sixth of the tests.
      "--no-check",
      "--lock=tests/deno.lock",
      "--sanitize-ops",
      "--sanitize-resources",
      ...permissions,
      ...args,
    ],
    env: { ...env, DENO_JOBS: String(jobs) },
    stdout,
  }).spawn();
  running.add(child);
  child.status.then(() => running.delete(child));
  return child;
}

/**
 * Returns the groups that run beside each other: tests in a browser, tests that mostly wait, and all others, which keep
 * the processors busy.
 */
function groupsOf(files: readonly string[], scratch: string): Group[] {
  const inBrowser = files.filter(isBrowserTest).sort();
  const alone = inTests(ALONE, files);
  const waiting = inTests(WAITING, files);
  const beside = [...alone, ...waiting];
  const others = files.filter((file) => !isBrowserTest(file) && !beside.includes(file));
  return [
    { args: modulesOf(others, scratch), permissions, jobs: AT_ONCE.others },
    {
      args: [
        ...alone,
        ...bundled("waiting", waiting, Math.min(waiting.length, AT_ONCE.waiting), scratch),
      ],
      permissions,
      jobs: AT_ONCE.waiting,
    },
    {
      args: bundled("browser", inBrowser, inBrowser.length > 0 ? AT_ONCE.browser : 0, scratch),
      permissions: everything,
      jobs: AT_ONCE.browser,
    },
  ].filter(({ args }) => args.length > 0);
}

/** Returns the paths of test files, of those that there are. */
function inTests(names: readonly string[], files: readonly string[]): string[] {
  return names.map((name) => `tests/${name}`).filter((file) => files.includes(file));
}

/**
 * Returns the modules to run for some test files, made in a scratch folder. Most files take longer to load what they
 * test than to test it, so a module imports many of them.
 */
function modulesOf(files: readonly string[], scratch: string): string[] {
  const long = inTests(LONG, files);
  const sharing = inTests(SHARING, files);
  const nameOf = (file: string) => {
    if (long.includes(file)) return "long";
    if (sharing.includes(file)) return "sharing";
    const folder = file.split("/")[1] ?? "";
    return folder in MODULES ? folder : "others";
  };
  return Object.entries(MODULES).flatMap(([name, most]) => {
    // Those that take longest are in their order.
    const members = { long, sharing }[name] ??
      files.filter((file) => nameOf(file) === name).sort();
    const count = Math.min(most, Math.ceil(members.length / MODULE_MIN));
    return bundled(name, members, count, scratch);
  });
}

/** Makes a number of modules in a scratch folder, which import some test files, and returns their paths. */
function bundled(
  name: string,
  members: readonly string[],
  count: number,
  scratch: string,
): string[] {
  Deno.mkdirSync(`${scratch}/tests`, { recursive: true });
  return Array.from({ length: count }, (_, part) => {
    const path = `${scratch}/tests/${name}_${part + 1}.ts`;
    const imports = members.filter((_, index) => index % count === part)
      .map((file) => `import "file://${Deno.realPathSync(file)}";\n`);
    Deno.writeTextFileSync(path, imports.join(""));
    return path;
  });
}

function existing(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch {
    return undefined;
  }
}

function filesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return filesIn(path);
    return name.endsWith("_test.ts") ? [path] : [];
  });
}

async function sh(
  script: string,
  { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
): Promise<string> {
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", script, "sh", ...args],
    env,
    stderr: "inherit",
  }).output();
  return new TextDecoder().decode(stdout).trim();
}
