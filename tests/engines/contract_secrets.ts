/**
 * The contract of secrets: what a command finds of them, and that they are found nowhere else.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { restore } from "../../src/backup/restore.ts";
import { ProjectSecrets } from "../../src/project_secrets/settings.ts";
import type { Execution } from "../../src/store/records/executions.ts";
import { putProject } from "../../src/store/records/projects.ts";
import type { Case, ContractService } from "./contract_case.ts";
import { SECRET_PARTS, until } from "./service.ts";

const MASK = "********";

/** Values that shells, logs and JSON could take for something else. */
const VALUES = {
  quoted: `it's "a" $(touch pwned) \`touch pwned\` \\ ü; touch pwned #`,
  lines:
    "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----",
  long: Array.from({ length: 20_000 }, (_, index) => (index * 7_919 % 36).toString(36)).join(""),
  path: "/opt/secret-programs:/usr/local/bin:/usr/bin:/bin",
};

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Stores the project of the contract with these secrets. */
async function setSecrets(
  { store }: ContractService,
  secrets: Readonly<Record<string, string>>,
): Promise<void> {
  const project = {
    name: "files",
    directory: "/",
    config_file: "valohai.yaml",
    engine: { type: "local" },
    secrets: Object.entries(secrets).map(([name, value]) => ({ name, value })),
  };
  await putProject(store, new ProjectSecrets(SECRET_PARTS).sealed(project, undefined));
}

/** Returns the files of a folder that hold a text, as it is or in base64. */
async function filesWith(folder: string, text: string): Promise<string[]> {
  const forms = [Buffer.from(text), Buffer.from(Buffer.from(text).toString("base64"))];
  const found: string[] = [];
  const folders = [folder];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    const entries = await Array.fromAsync(Deno.readDir(at)).catch(() => []);
    for (const { name, isDirectory, isFile } of entries) {
      const path = join(at, name);
      if (isDirectory) folders.push(path);
      if (!isFile) continue;
      const bytes = Buffer.from(await Deno.readFile(path).catch(() => new Uint8Array()));
      if (forms.some((form) => bytes.includes(form))) found.push(path);
    }
  }
  return found;
}

/** Returns the arguments of all processes of this machine. */
async function processArguments(): Promise<string> {
  const args = ["-c", "cat /proc/[0-9]*/cmdline 2>/dev/null"];
  const { stdout } = await new Deno.Command("sh", { args }).output();
  return new TextDecoder().decode(stdout);
}

async function expectNowhere(service: ContractService, values: readonly string[]): Promise<void> {
  for (const value of values) {
    let found: string[] = [];
    await until(async () => {
      found = await filesWith(service.folder, value);
      return found.length === 0;
    }).catch((error) => {
      throw new Error(`${found.join("\n")} hold ${value.slice(0, 40)}`, { cause: error });
    });
  }
}

const secrets: Execution["secrets"] = {
  QUOTED: { name: "quoted" },
  LINES: { name: "lines" },
  LONG: { name: "long" },
  PATH: { name: "path" },
  KEY_FILE: { name: "lines", file: true },
};

/** The cases. */
export const ofSecrets: Case[] = [
  {
    name:
      "a command finds its secrets, which are in no log, no record, no argument and no file after it",
    isShort: true,
    isOnClusters: true,
    async test(service) {
      await setSecrets(service, VALUES);
      const id = await service.submit(
        `hash() { sha256sum | cut -c1-64; }
         for value in "$QUOTED" "$LINES" "$LONG" "$PATH"; do printf %s "$value" | hash; done
         hash <"$KEY_FILE"; ls -l "$KEY_FILE" | cut -c5-10; if [ -e pwned ]; then echo pwned; fi
         echo "a $QUOTED b $QUOTED"; printf '%s' "$QUOTED" | head -c 20; printf '%s\\n' "$QUOTED" | tail -c +21
         printf '%s' "$QUOTED" | base64; printf 'user:%s' "$QUOTED" | base64 | tr -d '\\n'; echo
         echo "$LINES"; cat "$KEY_FILE" >&2; echo "$LONG"
         printf '{"token": "%s", "loss": 1}\\n' "$(echo "$PATH")"
         echo "left $(wc -c <../control/environment | tr -d ' ')"
         set -x; : "$QUOTED"; set +x
         i=0; while :; do echo ready $i; i=$((i + 1)); sleep 1; done`,
        { secrets, environment_variables: { PLAIN: "text" } },
      );
      await service.said(id, "ready 0");
      const found = await processArguments();
      for (const value of Object.values(VALUES)) assertEquals(found.includes(value), false, value);
      await service.said(id, "ready 1");
      await until(() => service.engine.stop(id));
      const { metadata, ...record } = await service.ended(id);
      const printed = await service.printed(id, "stdout");
      assertEquals(printed.slice(0, 5), [
        ...Object.values(VALUES).map(sha256),
        sha256(`${VALUES.lines}\n`),
      ]);
      assertEquals(printed.slice(6, 9), [`a ${MASK} b ${MASK}`, MASK, MASK]);
      assertStringIncludes(printed[9] ?? "", MASK);
      assertEquals(printed.slice(10, 15), [MASK, MASK, MASK, MASK, MASK]);
      assertEquals(printed[15], `{"token": "${MASK}", "loss": 1}`);
      assertEquals(printed[16], "left 0");
      assertEquals(metadata, { token: MASK, loss: 1 });
      assertEquals((await service.printed(id, "stderr")).slice(0, 4), [MASK, MASK, MASK, MASK]);
      assertEquals(record.secrets, secrets);
      const shown = JSON.stringify([record, metadata, (await service.engine.log(id)).lines]);
      for (const value of Object.values(VALUES)) {
        assertEquals(shown.includes(JSON.stringify(value).slice(1, -1)), false, value.slice(0, 40));
      }
      await expectNowhere(service, Object.values(VALUES));
    },
  },
  {
    name:
      "a secret that is replaced is masked in the log of who has got it, also by the next service",
    async test(service) {
      const [before, after] = ["the-secret-before-rotation", "the-secret-after-rotation"];
      await setSecrets(service, { token: before });
      const command = 'i=0; while :; do echo "$i $TOKEN"; i=$((i + 1)); sleep 1; done';
      const fields: Partial<Execution> = { secrets: { TOKEN: { name: "token" } } };
      const id = await service.submit(command, fields);
      await service.said(id, `0 ${MASK}`);
      await setSecrets(service, { token: after });
      await service.restart();
      const [said] = (await service.printed(id, "stdout")).slice(-1);
      await service.said(id, `${Number(said?.split(" ")[0]) + 2} ${MASK}`);
      const other = await service.run('echo "$TOKEN"; printf %s "$TOKEN" | sha256sum', fields);
      assertEquals(await service.printed(other.id, "stdout"), [MASK, `${sha256(after)}  -`]);
      await until(() => service.engine.stop(id));
      await service.ended(id);
      await expectNowhere(service, [before, after]);
    },
  },
  {
    name: "a backup of one that runs has no secret in the clear",
    async test(service) {
      const value = "a-secret-that-is-in-no-backup";
      await setSecrets(service, { token: value });
      const id = await service.submit(
        'cat "$KEY"; echo " printed"; while :; do echo "$TOKEN"; sleep 1; done',
        { secrets: { TOKEN: { name: "token" }, KEY: { name: "token", file: true } } },
      );
      await service.said(id, `${MASK} printed`);
      await service.backUp();
      const data = join(service.folder, "restored");
      const source = (await Deno.open(join(service.folder, "backup"))).readable;
      const { signal } = new AbortController();
      await restore({ data, source, force: false, signal, onProgress() {} });
      assertEquals(await filesWith(data, value), []);
      await until(() => service.engine.stop(id));
      await service.ended(id);
    },
  },
  {
    name: "a command without one of its secrets does not start, and says which",
    async test(service) {
      await setSecrets(service, { token: "a-token-that-is-there" });
      const { status, reason = "" } = await service.run("echo started", {
        secrets: { TOKEN: { name: "token" }, KEY: { name: "tokens" } },
      });
      assertEquals(status, "error");
      assertStringIncludes(
        reason,
        'The variable KEY names the secret "tokens", which project "files" does not have',
      );
      await expectNowhere(service, ["a-token-that-is-there"]);
    },
  },
];
