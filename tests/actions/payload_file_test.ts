import { assertEquals } from "@std/assert";
import { payloadFile } from "../../src/actions/payload_file.ts";
import type { Run } from "../../src/store/records/runs.ts";

const run: Run = {
  id: "0190fe82-c984-7f66-8302-69874914e1c9",
  trigger_id: "0190fe82-c984-7f66-8302-69874914e1c8",
  project: "files",
  status: "completed",
  created_at: "2026-01-01T00:00:00.000Z",
  remote_ip: "127.0.0.1",
  payload: { size: 0, sha256: "" },
  actions: [],
};

const names = {
  "application/json": "payload.json",
  "application/cloudevents+json": "payload.json",
  "application/geo+json": "payload.json",
  "application/atom+xml": "payload.xml",
  "application/yaml": "payload.yaml",
  "application/x-yaml": "payload.yaml",
  "text/yaml": "payload.yaml",
  "application/openapi+yaml": "payload.yaml",
  "application/jsonl": "payload.jsonl",
  "application/vnd.apache.parquet": "payload.parquet",
  "text/csv; header=present": "payload.csv",
  "application/gzip": "payload.gz",
  "application/x-gzip": "payload.gz",
  "application/x-zip-compressed": "payload.zip",
  "application/epub+zip": "payload.epub",
  "image/svg+xml": "payload.svg",
  "Image/PNG": "payload.png",
  "audio/mpeg": "payload.mp3",
  "video/quicktime": "payload.mov",
  "application/x-of-nobody": "payload",
  "../../x": "payload",
  "": "payload",
};

for (const [content_type, name] of Object.entries(names)) {
  Deno.test(`a payload of type '${content_type}' is the file ${name}`, async () => {
    const file = await payloadFile({ ...run, payload: { ...run.payload, content_type } });
    assertEquals(file.name, name);
  });
}
