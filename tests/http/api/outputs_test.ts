/** Outputs that were changed after the end reach nobody, whichever way they are asked for. */
import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import { endOfExecution, startService, type TestService } from "../../data.ts";
import { loggedIn } from "../console/fixture.ts";
import { AUTHORIZED, launchCommand } from "./fixture.ts";

const LONG_BYTES = 3 * 1024 * 1024;

/** Changes one byte of an output, and nothing else. */
async function damage({ folder }: TestService, id: string, path: string, at: number) {
  using file = await Deno.open(`${folder}/data/executions/${id}/outputs/${path}`, { write: true });
  await file.seek(at, Deno.SeekMode.Start);
  await file.write(new Uint8Array([1]));
}

/** Reads an answer as far as it comes. */
async function readAll(answer: Response): Promise<{ bytes: number; isWhole: boolean }> {
  let bytes = 0;
  try {
    for await (const chunk of answer.body ?? []) bytes += chunk.length;
    return { bytes, isWhole: true };
  } catch {
    return { bytes, isWhole: false };
  }
}

Deno.test("an output that was changed after the end is not sent, whichever way", async (t) => {
  await using service = await startService();
  const command =
    `cd "$VH_OUTPUTS_DIR"; printf hello >small; head -c ${LONG_BYTES} /dev/zero >long`;
  const id = await launchCommand(service, command);
  const { outputs } = await endOfExecution(service, id);
  const browser = await loggedIn(service);
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const ways: [way: string, url: (path: string) => string, headers: Record<string, string>][] = [
    ["API", (path) => `${service.url}/api/v0/executions/${id}/outputs/${path}`, AUTHORIZED],
    ["console", (path) => `${service.url}/executions/${id}/output?path=${path}`, { cookie }],
  ];
  for (const [way, url, headers] of ways) {
    await t.step(`${way}: whole`, async () => {
      const long = await readAll(await fetch(url("long"), { headers }));
      assertEquals(long, { bytes: LONG_BYTES, isWhole: true });
      assertEquals(await (await fetch(url("small"), { headers })).text(), "hello");
    });
  }
  await damage(service, id, "small", 2);
  // In the middle: the end is all right.
  await damage(service, id, "long", LONG_BYTES / 2);
  for (const [way, url, headers] of ways) {
    await t.step(`${way}: changed`, async () => {
      const small = await fetch(url("small"), { headers });
      assertEquals(small.status, 409);
      assertStringIncludes(await small.text(), "changed after");
      const long = await fetch(url("long"), { headers });
      assertEquals(long.status, 200);
      const { bytes, isWhole } = await readAll(long);
      assert(!isWhole);
      assertLess(bytes, LONG_BYTES);
    });
  }
  for (const { path, datum_id } of outputs) {
    await t.step(`input: ${path}`, async () => {
      const inputs = [{ name: "data", default: `datum://${datum_id}` }];
      const other = await launchCommand(service, "cat ../inputs/data/*", { inputs });
      const { status, reason } = await endOfExecution(service, other);
      assertEquals(status, "error");
      assertStringIncludes(reason ?? "", "was changed after it had been made");
    });
  }
});

Deno.test("no browser shows a download as a page, and no cache hands it to others", async () => {
  await using service = await startService();
  const id = await launchCommand(service, `echo x >"$VH_OUTPUTS_DIR/a"; echo line`);
  const { run_id } = await endOfExecution(service, id);
  const browser = await loggedIn(service);
  const [{ id: delivery }] = (await service.api("GET", "deliveries/?limit=1")).body.results;
  const downloads = [
    `api/v0/executions/${id}/outputs/a`,
    `api/v0/runs/${run_id}/payload/`,
    `executions/${id}/output?path=a`,
    `executions/${id}/log`,
    `deliveries/${delivery}/body`,
  ];
  for (const path of downloads) {
    const { status, headers } = await browser.get(path, AUTHORIZED);
    assertEquals([path, status, headers.get("x-content-type-options")], [path, 200, "nosniff"]);
    assertMatch(headers.get("cache-control") ?? "", /no-store|private, no-cache/, path);
    assertMatch(headers.get("content-disposition") ?? "", /^attachment; /, path);
  }
});
