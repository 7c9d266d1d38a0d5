/** Paths of outputs: what no disk or no S3 can hold is refused before a byte of it is taken, by either way. */
import { assertEquals, assertThrows } from "@std/assert";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import type { ArtifactStore } from "../../../src/artifacts/store.ts";
import { Uploads } from "../../../src/engines/remote/uploads.ts";
import { ConflictError } from "../../../src/platform/errors.ts";
import { HeldCluster, HeldService, type PlayedAgent } from "./held_cluster.ts";
import { atOnce } from "../../at_once.ts";

const test = atOnce("paths of outputs");

const BYTES = new TextEncoder().encode("some bytes");

/** A folder whose agents are told to put outputs at an address, as S3 does. */
function addressed(folder: string): ArtifactStore {
  const store: ArtifactStore = new FolderStore(folder);
  store.presignPut = () => Promise.resolve({ url: "http://127.0.0.1:1/", checksum: "" });
  return store;
}

/** Begins an upload, and sends one without having begun it. */
async function statuses(agent: PlayedAgent, path: string): Promise<number[]> {
  const address = agent.output(encodeURIComponent(path), BYTES);
  const [begun] = await agent.said(address);
  const [sent] = await agent.said(address, { method: "PUT", body: BYTES });
  return [begun, sent];
}

/** Paths in the order in which they are sent, and what both ways answer. */
const PATHS: [path: string, status: number][] = [
  ["ok.txt", 200],
  ["ok.txt/x", 409],
  ["ok.txt/x/y", 409],
  ["ok.txt.gz", 200],
  ["models/a/b.bin", 200],
  ["models", 409],
  ["models/a", 409],
  ["models/a/c.bin", 200],
  ["ok.txt", 200],
  ["../x", 422],
  ["a/../../x", 422],
  ["./x", 422],
  ["a//x", 422],
  ["/x", 422],
  ["x/", 422],
  ["..", 422],
  ["a\0b", 422],
  ["n".repeat(255), 200],
  ["n".repeat(256), 422],
  ["ü".repeat(128), 422],
  ["d/".repeat(600), 422],
];

for (const kind of ["a folder", "addresses"]) {
  test(`paths of outputs that cannot be are refused before bytes are taken: ${kind}`, async () => {
    const folder = await Deno.makeTempDir();
    await using service = new HeldService(new HeldCluster(), folder, {});
    if (kind === "addresses") service.host.artifacts = addressed(`${service.folder}/artifacts`);
    await service.begin();
    const agent = await (await service.play()).claims();
    const found = [];
    for (const [path] of PATHS) found.push([path, ...await statuses(agent, path)]);
    assertEquals(found, PATHS.map(([path, status]) => [path, status, status]));
  });
}

test("a path that an upload under way needs as a folder is refused, and the other way round", () => {
  const uploads = new Uploads();
  const output = (path: string) => ({ path, size: 1, sha256: "" });
  const expectRoom = (path: string) =>
    uploads.expectRoom("id", output(path), [], { outputsMax: 9, mb_max: 1 });
  {
    using _underWay = uploads.begin("id", output("a/b"));
    for (const path of ["a", "a/b/c"]) {
      assertThrows(() => expectRoom(path), ConflictError, "a file");
    }
    expectRoom("a/b");
  }
  expectRoom("a");
});
