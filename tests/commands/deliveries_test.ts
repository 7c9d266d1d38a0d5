/** `hooklaunch deliveries`, `delivery`, `runs` and `replay` as processes of their own, on a real service. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  ADMIN_TOKEN,
  eventually,
  HMAC_CONDITION,
  signature,
  startService,
  type TestService,
} from "../data.ts";
import { runHosted as run } from "./hosted.ts";
import { hooklaunch } from "./process.ts";

const TOKEN = { HOOKLAUNCH_ADMIN_TOKEN: ADMIN_TOKEN };
const WRONG = { ...HMAC_CONDITION, secrets: ["not-the-right-secret"] };

async function send(url: string, body: string, headers = signature(body)): Promise<string> {
  return await (await fetch(url, { method: "POST", body, headers })).text();
}

/** Starts a service with a trigger whose secret is wrong, and one delivery that it refuses and keeps. */
async function withRefused() {
  const service = await startService();
  const trigger = await service.trigger({
    name: "labels",
    conditions: [WRONG],
    actions: [{ type: "run_execution", step: "echo" }],
    response: { type: "text", text: "{run_id}" },
    keep_refused: "1h",
  });
  await send(trigger.url, "first");
  const id = await eventually(async () => {
    const { body: { results: [found] } } = await service.api("GET", "deliveries/");
    const { body } = await service.api("GET", `deliveries/${found?.id}/`);
    return body.kept_until && found.id;
  }, { what: "the kept request" });
  const command = async (...args: string[]) => {
    const { code, printed } = await run([...args, "--url", service.url], TOKEN);
    assertEquals(code, 0, printed);
    return printed;
  };
  return { service, trigger, id, command };
}

function mend(service: TestService, id: string) {
  return service.api("PATCH", `triggers/${id}/`, { conditions: [HMAC_CONDITION] });
}

Deno.test("what is no id of a delivery is told of", async () => {
  for (const args of ["delivery nope", "replay delivery nope", "diagnose --delivery nope"]) {
    const { code, printed } = await run(args.split(" "));
    assertEquals(code, 1, printed);
    assertStringIncludes(printed, "or the first 4 or more characters of one; the lists show them");
  }
});

Deno.test("from a refused delivery to its run: found, diagnosed, mended, launched again, compared", async (t) => {
  const { service, trigger, id, command } = await withRefused();
  await using _ = service;

  await t.step("deliveries", async () => {
    const printed = await command("deliveries", "--outcome", "refused", "--from", "1h");
    assertMatch(printed, /^ID +TIME +TRIGGER +OUTCOME +STATUS +FROM +WHAT CAME OF IT\n/);
    assertStringIncludes(printed, `${id}  `);
    assertStringIncludes(printed, "hmac: ");
    assertEquals(JSON.parse(await command("deliveries", "--text", "first", "--json"))[0].id, id);
    assertEquals(JSON.parse(await command("deliveries", "--to", "1h", "--json")), []);
  });
  await t.step("delivery", async () => {
    const printed = await command("delivery", id);
    assertMatch(printed, /\nHeaders\n(.*\n)* {2}x-signature: \*{8}\n/);
    assertMatch(printed, /\nBody\n {2}first\n/);
    assertMatch(printed, /\nConditions\n {2}conditions\/0 hmac failed: /);
    assertEquals(JSON.parse(await command("delivery", id, "--json")).body, btoa("first"));
  });
  await t.step("diagnose", async () => {
    const printed = await command("diagnose", "--delivery", id);
    assertMatch(printed, /^likely {2}conditions\/0 hmac: /);
    assertStringIncludes(await command("diagnose", "labels", "--delivery", id), printed.trim());
  });
  await t.step("replay while it is refused", async () => {
    const { code, printed } = await run(
      ["replay", "delivery", id, "--url", service.url],
      TOKEN,
    );
    assertEquals(code, 1);
    assertStringIncludes(printed, 'trigger "labels" refuses it: conditions/0 (hmac)');
  });
  await mend(service, trigger.id);
  await t.step("replay", async () => {
    const flags = ["--outcome", "refused", "--trigger", "labels"];
    assertStringIncludes(
      await command("replay", "start", ...flags, "--dry-run"),
      "1 delivery would be launched again",
    );
    const printed = await command("replay", "start", ...flags);
    const [, replay = ""] = /To compare: hooklaunch replay show (\S+)/.exec(printed) ?? [];
    const compared = await command("replay", "show", replay);
    assertMatch(
      compared,
      new RegExp(`\n${id} +refused by hmac +echo \\w+ +delivery: refused by hmac`),
    );
    const { results } = JSON.parse(await command("replay", "show", replay, "--json"));
    assertEquals(results[0].before.id, id);
    const one = JSON.parse(await command("replay", "delivery", id, "--json"));
    assertEquals(one.replay_of, id);
  });
  await t.step("delivery and runs", async () => {
    // The newest has been launched a moment ago.
    await eventually(async () => {
      const printed = await command("delivery", id);
      return /\nLaunched again\n {2}\S+ \S+ echo \w+\n/.test(printed) || undefined;
    });
    const runs = await command("runs");
    assertMatch(runs, /^ID +TRIGGER +STATUS +CREATED +BY +FROM +BYTES +WORK +ACTIONS\n/);
    assertEquals(runs.trim().split("\n").length, 3);
    const [{ id: runId }] = JSON.parse(await command("runs", "labels", "--json"));
    const shown = await command("delivery", runId);
    assertMatch(shown, new RegExp(`\nreplay_of +${id}\n`));
    assertMatch(shown, /\nLaunched\n {2}execution \S+ echo \w+\n/);
  });
  await t.step("send in JSON", async () => {
    const sent = JSON.parse(await command("send", "labels", "--explain", "--json"));
    assertEquals([sent.status, sent.passed], [200, true]);
  });
});

Deno.test("deliveries that come are printed as they come, and again when they change", async () => {
  const { service, trigger, id } = await withRefused();
  await using _ = service;
  await mend(service, trigger.id);
  await using following = hooklaunch(["deliveries", "-f", "--url", service.url], TOKEN);
  await following.expect(/^ID +TIME/);
  const runId = await eventually(async () => {
    // It may not be connected yet.
    const sent = await send(trigger.url, "second");
    return following.printed().includes(" accepted ") ? sent : undefined;
  }, { what: "an accepted delivery" });
  await following.expect(new RegExp(`${runId} .* echo complete\n`));
  await send(trigger.url, "third", {});
  await following.expect(/ refused +400 .* hmac: /);
  assert(!following.printed().includes(id), "it came before");
});

Deno.test("trigger log -f prints what there is, the oldest first, and what comes", async (t) => {
  const { service, trigger } = await withRefused();
  await using _ = service;
  await send(trigger.url, "6bytes");
  await eventually(async () => {
    const { body } = await service.api("GET", `triggers/${trigger.id}/log/`);
    return body.results.length === 2 || undefined;
  }, { what: "the entries of the log" });
  const cases: [args: string[], before: number[], comes: number][] = [
    [["--limit", "2"], [5, 6], 7],
    [["--limit", "1", "--json"], [7], 8],
  ];
  for (const [args, before, comes] of cases) {
    await t.step(args.join(" "), async () => {
      const follow = ["trigger", "log", "labels", "-f", ...args, "--url", service.url];
      await using following = hooklaunch(follow, TOKEN);
      const sizes = () =>
        [...following.printed().matchAll(/, (\d+) bytes|"size":(\d+),/g)]
          .map(([, text, json]) => Number(text ?? json));
      const sized = (size?: number) => new RegExp(`, ${size} bytes|"size":${size},`);
      await following.expect(sized(before.at(-1)));
      assertEquals(sizes(), before);
      await send(trigger.url, "x".repeat(comes));
      await following.expect(sized(comes));
      assertEquals(sizes(), [...before, comes]);
    });
  }
});

Deno.test("trigger log -f prints all that has come while it could not look", async () => {
  const trigger = { id: "01900000-0000-7000-8000-000000000000", name: "labels" };
  const all = Array.from({ length: 451 }, (_, nth) => ({ id: `${1_000 + nth}`, kind: "omitted" }));
  let looks = 0;
  const answer = ({ url }: Request) => {
    const { pathname, searchParams } = new URL(url);
    if (pathname === "/api/v0/triggers/") return { results: [trigger], next: null };
    const before = searchParams.get("cursor") ?? "";
    if (before === "") looks++;
    const there = all.slice(0, looks === 1 ? 3 : all.length).toReversed();
    const left = before === "" ? there : there.filter(({ id }) => id < before);
    const results = left.slice(0, Number(searchParams.get("limit")));
    const next = new URL(url);
    next.searchParams.set("cursor", results.at(-1)?.id ?? "");
    return { results, next: left.length > results.length ? next : null };
  };
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => Response.json(answer(request)),
  );
  const url = `http://127.0.0.1:${server.addr.port}`;
  await using following = hooklaunch(
    ["trigger", "log", "labels", "-f", "--json", "--url", url],
    TOKEN,
  );
  await following.expect(/"1450"/);
  const printed = Array.from(following.printed().matchAll(/"id":"(\d+)"/g), ([, id]) => id);
  assertEquals(printed, all.map(({ id }) => id));
});

Deno.test("a replay is waited for over a moment in which its service is away", async () => {
  const replay = { id: "01900000-0000-7000-8000-000000000000", state: "running", done: 0 };
  const counts = { count: 1, launched: 0, skipped: 0, failed: 0 };
  let asked = 0;
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, () => {
    asked++;
    if (asked === 3) return new Response(null, { status: 503 });
    const isOver = asked === 4;
    return Response.json({
      ...replay,
      ...counts,
      ...(isOver && { state: "done", done: 1, launched: 1 }),
    });
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  const { code, printed } = await run(["replay", "start", "--url", url], TOKEN);
  assertEquals(code, 0, printed);
  assertMatch(printed, /: 1 launched, 0 skipped, 0 failed, of 1\n/);
});
