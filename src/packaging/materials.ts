/**
 * The packages that a release holds: their list as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/), and
 * their licenses.
 *
 * @module
 */
import { join } from "node:path";
import { run } from "./run.ts";

/** A package that the service loads. */
interface Component {
  name: string;
  version: string;
  /** The registry that it was resolved by. */
  registry: "npm" | "jsr";
  /** SHA-512 as hexadecimal digits, where the lock file has it. */
  sha512: string | undefined;
  license: string | undefined;
  /** The text of its license. */
  text: string | undefined;
}

interface Info {
  npmPackages: Record<string, { name: string; version: string; localPath: string }>;
  modules: { specifier: string }[];
}

interface Lock {
  npm: Record<string, { integrity?: string }>;
}

/** Finds the packages that the service loads, in the order of their names. */
export async function componentsOf(): Promise<Component[]> {
  const printed = await run("deno", ["info", "--json", "--lock=deno.lock", "src/main.ts"]);
  const { npmPackages, modules }: Info = JSON.parse(printed);
  const lock: Lock = JSON.parse(
    await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)),
  );
  const found: Component[] = [];
  for (const [id, { name, version, localPath }] of Object.entries(npmPackages)) {
    const integrity = lock.npm[id]?.integrity?.replace(/^sha512-/, "");
    const settings = await readJson(join(localPath, "package.json"));
    found.push({
      ...{ name, version, registry: "npm" },
      sha512: integrity && Uint8Array.fromBase64(integrity).toHex(),
      license: typeof settings.license === "string" ? settings.license : undefined,
      text: await licenseText(localPath),
    });
  }
  // The standard library is resolved by its own registry where that is reached.
  const ofJsr = modules.flatMap(({ specifier }) =>
    /^https:\/\/jsr\.io\/(@[\w-]+\/[\w-]+)\/([^/]+)\//.exec(specifier)?.slice(1, 3).join(" ") ?? []
  );
  for (const each of new Set(ofJsr)) {
    const [name = "", version = ""] = each.split(" ");
    found.push({
      name,
      version,
      registry: "jsr",
      sha512: undefined,
      license: "MIT",
      text: undefined,
    });
  }
  return found.sort((one, other) => one.name < other.name ? -1 : 1);
}

/** Writes the list of packages as CycloneDX. */
export function materialsOf(components: readonly Component[], version: string, time: Date): string {
  const list = components.map(({ name, version, registry, sha512, license }) => {
    const purl = `pkg:${registry}/${name.replace("@", "%40")}@${version}`;
    return {
      ...{ type: "library", name, version, purl, "bom-ref": purl },
      ...(sha512 && { hashes: [{ alg: "SHA-512", content: sha512 }] }),
      ...(license &&
        {
          licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }],
        }),
    };
  });
  const document = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: time.toISOString(),
      component: { type: "application", name: "hooklaunch", version, "bom-ref": "hooklaunch" },
    },
    components: [...list, {
      ...{ type: "platform", name: "deno", version: Deno.version.deno, "bom-ref": "deno" },
      purl: `pkg:github/denoland/deno@v${Deno.version.deno}`,
    }],
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/** Writes the licenses of all packages as one text. */
export function licensesOf(components: readonly Component[]): string {
  return components.map(({ name, version, license, text }) =>
    `${name} ${version}: ${license ?? "see its text"}\n\n${text ?? ""}\n`
  ).join(`${"-".repeat(80)}\n`);
}

async function readJson(path: string): Promise<{ license?: unknown }> {
  return JSON.parse(await Deno.readTextFile(path));
}

async function licenseText(folder: string): Promise<string | undefined> {
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile && /^(licen[sc]e|copying)\b/i.test(name)) {
      return await Deno.readTextFile(join(folder, name));
    }
  }
}
