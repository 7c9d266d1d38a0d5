/**
 * Images of containers, without a registry and without docker: Debian's packages, npm's Deno and the bundle. The
 * archive is both an OCI layout (https://github.com/opencontainers/image-spec) and what `docker load` reads.
 *
 * @module
 */
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import dockerfile from "../../Dockerfile" with { type: "text" };
import { addDeno } from "./archives.ts";
import type { Release } from "./release.ts";
import { ReleaseError, run } from "./run.ts";

/** The processors in the words of images, and in those of npm's packages of Deno. */
const PACKAGES: Readonly<Record<string, string>> = {
  amd64: "@deno/linux-x64-glibc",
  arm64: "@deno/linux-arm64-glibc",
};
export const PROCESSORS: readonly string[] = Object.keys(PACKAGES);

/** The user of the image, with the number that denoland/deno has for it. */
const USER = "1993";
const TAR = '--sort=name --format=gnu --numeric-owner --mtime="@$TIME"';
/** The two layers: what changes with Debian, and what changes with each release. */
const LAYERS = `
tar ${TAR} --owner=0 --group=0 -cf base.tar -C base/root .
tar ${TAR} --owner=0 --group=0 --mode=u=rwX,go=rX -cf app.tar -C app usr
mkdir -p owned/data owned/home/deno
tar ${TAR} --owner=0 --group=0 --mode=0755 --no-recursion -rf app.tar -C owned home
tar ${TAR} --owner=${USER} --group=${USER} --mode=0700 --no-recursion -rf app.tar -C owned data home/deno
mkdir -p image/blobs/sha256`;

/** Makes the archive of an image, or says why it cannot be made here. */
export async function makeImage(release: Release, processor: string): Promise<void> {
  const part = `image-${processor}`;
  const app = await release.stage(`${part}/app/usr/lib/hooklaunch`, "lib");
  const folder = app.slice(0, -"/app/usr/lib/hooklaunch".length);
  const why = await addFiles(release, { folder, app, processor });
  if (why !== undefined) {
    release.say(`image for ${processor}: left out, since ${why}`);
    return;
  }
  const inFolder = (script: string) =>
    run("sh", ["-ec", `cd "$0"; ${script}`, folder], {
      TIME: String(release.time.getTime() / 1000),
    });
  await inFolder(LAYERS);
  await writeLayout(release, { folder, processor });
  const name = `hooklaunch-${release.version}-linux-${processor}-image.tar`;
  await inFolder(`tar ${TAR} --owner=0 --group=0 --mode=u=rwX,go=rX -cf out.tar -C image .`);
  await Deno.copyFile(join(folder, "out.tar"), join(release.output, name));
  release.say(`image for ${processor}`);
}

interface Parts {
  folder: string;
  app: string;
  processor: string;
}

/** Brings what the layers are made of. Returns why it cannot be had; undefined when it is there. */
async function addFiles(release: Release, { folder, app, processor }: Parts) {
  const script = new URL("image_root.sh", import.meta.url).pathname;
  await Deno.mkdir(join(folder, "base"));
  try {
    await run("sh", [script, processor, join(folder, "base")]);
  } catch (error) {
    // The script ends with 3 when something that it needs is missing.
    const [, why] =
      error instanceof ReleaseError && / ended with 3: (?:.*\n)*(.*)$/.exec(error.message) ||
      [];
    if (why === undefined) throw error;
    return why;
  }
  const name = `${PACKAGES[processor]}@${release.deno}`;
  try {
    await run("npm", ["pack", "--silent", "--pack-destination", folder, name]);
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    return `npm does not bring ${name}: ${error.message}`;
  }
  await run("sh", ["-ec", 'cd "$0"; tar -xzf deno-*.tgz package/deno', folder]);
  await addDeno(app, join(folder, "package", "deno"));
  const bin = join(folder, "app", "usr", "local", "bin");
  await Deno.mkdir(bin, { recursive: true });
  await Deno.symlink("/usr/lib/hooklaunch/hooklaunch", join(bin, "hooklaunch"));
  await Deno.symlink("/usr/lib/hooklaunch/lib/deno", join(bin, "deno"));
}

/** A part of an image: its digest names its file. */
interface Blob {
  mediaType: string;
  digest: string;
  size: number;
}

/** Writes the layout: layers, configuration, manifest and index, and the older manifest of docker. */
async function writeLayout(
  release: Release,
  { folder, processor }: Omit<Parts, "app">,
): Promise<void> {
  const image = join(folder, "image");
  const add = async (kind: string, bytes: Uint8Array<ArrayBuffer>): Promise<Blob> => {
    const digest = await sha256(bytes);
    await Deno.writeFile(join(image, "blobs", "sha256", digest), bytes);
    const mediaType = `application/vnd.oci.image.${kind}`;
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  };
  const addJson = (kind: string, value: unknown) =>
    add(kind, new TextEncoder().encode(JSON.stringify(value)));
  const layers: Blob[] = [];
  const diff_ids: string[] = [];
  for (const name of ["base", "app"]) {
    const layer = await Deno.readFile(join(folder, `${name}.tar`));
    diff_ids.push(`sha256:${await sha256(layer)}`);
    layers.push(
      await add("layer.v1.tar+gzip", new Uint8Array(gzipSync(layer, { level: release.level }))),
    );
  }
  const config = await addJson("config.v1+json", {
    created: release.time.toISOString(),
    architecture: processor,
    os: "linux",
    config: settings(release.version),
    rootfs: { type: "layers", diff_ids },
  });
  const manifest = await addJson("manifest.v1+json", {
    ...{ schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json" },
    ...{ config, layers },
  });
  const tag = `hooklaunch:${release.version}`;
  const annotations = {
    "io.containerd.image.name": `docker.io/library/${tag}`,
    "org.opencontainers.image.ref.name": release.version,
  };
  const platform = { architecture: processor, os: "linux" };
  const pathOf = ({ digest }: Blob) => `blobs/${digest.replace(":", "/")}`;
  const files = {
    "oci-layout": { imageLayoutVersion: "1.0.0" },
    "index.json": { schemaVersion: 2, manifests: [{ ...manifest, platform, annotations }] },
    "manifest.json": [{ Config: pathOf(config), RepoTags: [tag], Layers: layers.map(pathOf) }],
  };
  for (const [name, value] of Object.entries(files)) {
    await Deno.writeTextFile(join(image, name), JSON.stringify(value));
  }
}

/** Returns how the image is run, as the Dockerfile says it. */
function settings(version: string): unknown {
  const [, check = ""] = /\nHEALTHCHECK .*?CMD ((?:.*\\\n)+.*)/.exec(dockerfile) ?? [];
  const seconds = 1_000_000_000;
  return {
    // A number: Kubernetes sees from it that this is not root.
    User: `${USER}:${USER}`,
    Env: [
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "HOME=/home/deno",
      ...(/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? "").split(" "),
    ],
    Entrypoint: ["tini", "--", "hooklaunch"],
    Cmd: ["serve", "--wait"],
    ExposedPorts: { "8000/tcp": {} },
    Volumes: { "/data": {} },
    Healthcheck: {
      Test: ["CMD-SHELL", check.replaceAll("\\\n", "")],
      Interval: 30 * seconds,
      Timeout: 10 * seconds,
      StartPeriod: 30 * seconds,
    },
    Labels: {
      "org.opencontainers.image.title": "hooklaunch",
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": "MIT",
    },
  };
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
