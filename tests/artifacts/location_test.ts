/** The setting `storage`. */
import { assertEquals, assertInstanceOf, assertRejects, assertThrows } from "@std/assert";
import { FolderStore } from "../../src/artifacts/folder.ts";
import { openArtifactStore } from "../../src/artifacts/mod.ts";
import { parseS3Location, s3Credentials } from "../../src/artifacts/s3/location.ts";
import { InvalidInputError } from "../../src/platform/errors.ts";

const nothing = () => undefined;

Deno.test("a storage URL names bucket, prefix, endpoint and region", () => {
  assertEquals(parseS3Location("s3://hooks", nothing), {
    endpoint: "https://s3.us-east-1.amazonaws.com",
    bucket: "hooks",
    prefix: "",
    region: "us-east-1",
  });
  const env = (name: string) => name === "AWS_REGION" ? "eu-north-1" : undefined;
  assertEquals(parseS3Location("s3://hooks/a/b/", env), {
    endpoint: "https://s3.eu-north-1.amazonaws.com",
    bucket: "hooks",
    prefix: "a/b/",
    region: "eu-north-1",
  });
  const own = "s3://hooks/a%20b?endpoint=https://minio.example.com:9000/&region=local";
  assertEquals(parseS3Location(own, env), {
    endpoint: "https://minio.example.com:9000",
    bucket: "hooks",
    prefix: "a b/",
    region: "local",
  });
  assertEquals(parseS3Location("s3://hooks/50%", env).prefix, "50%/");
});

Deno.test("a storage URL that is none is refused, without the password in it", () => {
  const cases = [
    ["srv/data", "Expected s3://bucket/prefix"],
    ["https://hooks.s3.amazonaws.com", "Expected s3://bucket/prefix"],
    ["s3://", "Expected s3://bucket/prefix"],
    ["s3://key:secret@hooks/", "without a user name and a password"],
    ["s3://hooks?regoin=x", 'the parameter "regoin"'],
    ["s3://hooks?endpoint=minio:9000", "as the endpoint"],
    ["s3://hooks?endpoint=https://key:secret@minio", "without a password"],
  ] as const;
  for (const [text, problem] of cases) {
    const error = assertThrows(() => parseS3Location(text, nothing), InvalidInputError, problem);
    assertEquals(error.message.includes("secret"), false, error.message);
  }
});

Deno.test("credentials come from the environment", () => {
  const set: Record<string, string> = { AWS_ACCESS_KEY_ID: "id", AWS_SESSION_TOKEN: "session" };
  const env = (name: string) => set[name];
  assertThrows(() => s3Credentials(env), InvalidInputError, "AWS_SECRET_ACCESS_KEY");
  set.AWS_SECRET_ACCESS_KEY = "secret";
  assertEquals(s3Credentials(env), {
    accessKeyId: "id",
    secretAccessKey: "secret",
    sessionToken: "session",
  });
});

Deno.test("without a setting artifacts lie in the data folder", async () => {
  using store = await openArtifactStore(undefined, { data: "/nowhere", env: nothing });
  assertInstanceOf(store, FolderStore);
  assertEquals(store.name, "/nowhere/artifacts");
});

Deno.test("a folder that is named is shared, and has to be there", async () => {
  const folder = await Deno.makeTempDir();
  const options = { data: "/nowhere", env: nothing };
  using store = await openArtifactStore(folder, options);
  assertEquals([store.name, store.isShared], [folder, true]);
  await Deno.remove(folder);
  await assertRejects(() => openArtifactStore(folder, options), InvalidInputError, "that exists");
});
