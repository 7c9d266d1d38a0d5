/** Commands take the beginning of an id, as long as only one begins so. */
import { assertEquals, assertMatch } from "@std/assert";
import { serveRoutes, storeExecution, storePipeline } from "../http/api/fixture.ts";
import config from "../../deno.json" with { type: "json" };
import { ADMIN_TOKEN, eventually, startService } from "../data.ts";
import { runHosted as run } from "./hosted.ts";

const ONE_ID = /^[0-9a-f]{8}-[0-9a-f-]{27}\n$/;
const IDS = [
  "01900000-0000-7000-8000-00000000000a",
  "01900000-0000-7000-8000-00000000000b",
  "01900000-0001-7000-8000-000000000000",
  "01910000-0000-7000-8000-000000000000",
];

Deno.test("small commands: the version, the URL of a trigger, the end of a project", async (t) => {
  await using service = await startService();
  const { url } = await service.trigger({ name: "hello" });
  await service.api("PUT", "projects/spare/", { name: "spare", directory: service.folder });
  const cases: [args: string[], code: number, says: RegExp | string][] = [
    [["--version"], 0, `${config.version}\n`],
    [["trigger", "url", "hello"], 0, `${url}\n`],
    [["trigger", "url", "hallo"], 1, /There is no trigger "hallo"; there are: hello/],
    [["project", "delete", "spare"], 1, /Expected --yes/],
    [["project", "delete", "files", "--yes"], 1, /trigger "hello" uses it/],
    [["project", "delete", "spare", "--yes"], 0, "Project spare is deleted\n"],
    [["project", "delete", "spare", "--yes"], 1, /There is no project/],
  ];
  for (const [args, code, says] of cases) {
    await t.step(args.join(" "), async () => {
      const at = args[0] === "version" ? [] : ["--url", service.url];
      const ended = await run([...args, ...at], { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN });
      assertEquals(ended.code, code, ended.printed);
      if (typeof says === "string") assertEquals(ended.printed, says);
      else assertMatch(ended.printed, says);
    });
  }
});

Deno.test("-q prints ids alone", async (t) => {
  await using service = await startService();
  const { id, url } = await service.trigger({
    name: "hello",
    actions: [{ type: "run_execution", step: "echo" }],
    response: { type: "text", text: "{run_id}" },
  });
  const run_id = await (await fetch(url, { method: "POST", body: "x" })).text();
  const { body: token } = await service.api("POST", "tokens/", { name: "ci" });
  const idOfFirst = (path: string) =>
    eventually(async () => (await service.api("GET", path)).body.results[0]?.id, { what: path });
  assertEquals(await idOfFirst("deliveries/"), run_id);
  const execution_id = await idOfFirst("executions/");
  const file = `${service.folder}/trigger.yaml`;
  await Deno.writeTextFile(
    file,
    "name: other\nproject: files\nactions: [{ type: run_execution, step: echo }]\n",
  );
  const cases: [args: string, says: RegExp | string][] = [
    ["trigger list", `${id}\n`],
    ["project list", "files\n"],
    ["execution list", `${execution_id}\n`],
    ["pipeline list", ""],
    ["runs", `${run_id}\n`],
    ["run list hello", `${run_id}\n`],
    ["deliveries", `${run_id}\n`],
    ["deliveries --outcome refused", ""],
    ["token list", `${token.id}\n`],
    ["replay list", ""],
    [`trigger create ${file}`, ONE_ID],
    [`run replay ${run_id}`, ONE_ID],
    [`replay delivery ${run_id}`, ONE_ID],
    ["replay start --no-wait", ONE_ID],
    ["replay start", ONE_ID],
    ["trigger list --json", /'-q, --quiet' cannot be used with option '--json'/],
    ["replay start --dry-run", /'-q, --quiet' cannot be used with option '--dry-run'/],
  ];
  for (const [args, says] of cases) {
    await t.step(args, async () => {
      const { printed } = await run(
        [...args.split(" "), "-q", "--url", service.url],
        { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN },
      );
      if (typeof says === "string") assertEquals(printed, says);
      else assertMatch(printed, says);
    });
  }
});

Deno.test("the beginning of an id stands for the only one that begins so", async (t) => {
  await using routes = await serveRoutes();
  for (const id of IDS) await storeExecution(routes.store, { id });
  await storePipeline(routes.store, { id: IDS[3] ?? "" });
  const cases: [what: string, text: string, found: RegExp | string | undefined][] = [
    ["execution", IDS[0] ?? "", IDS[0]],
    ["execution", "01900000-0000-7000-8000-00000000000b", IDS[1]],
    ["execution", "01900000-0001", IDS[2]],
    ["execution", "0191", IDS[3]],
    ["execution", "01910000-", IDS[3]],
    ["execution", "01900000-0000", /several with 01900000-0000, such as 0190\S+b and 0190\S+a/],
    ["execution", "0190", /Expected the beginning of one id, found several with 0190/],
    ["execution", "0192", /There is no execution whose id begins with 0192/],
    ["execution", "0000", /There is no execution whose id begins with 0000/],
    ["execution", "019", /Expected an id, such as .*first 4 or more characters/],
    ["execution", "0190x", /Expected an id, such as/],
    ["execution", "019000000", /Expected an id, such as/],
    ["pipeline", "0191", IDS[3]],
    ["pipeline", "0190", /There is no pipeline whose id begins with 0190/],
  ];
  for (const [what, text, found] of cases) {
    await t.step(`${what} ${text}`, async () => {
      const { code, printed } = await run(
        [what, "show", text, "--json", "--url", routes.url],
        { HOOKLAUNCH_ADMIN_TOKEN: "any" },
      );
      if (typeof found === "string") assertEquals([code, JSON.parse(printed).id], [0, found]);
      else {
        assertEquals(code, 1, printed);
        assertMatch(printed, found ?? /^$/);
      }
    });
  }
});
