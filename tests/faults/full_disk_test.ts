import { assertEquals, assertMatch } from "@std/assert";
import { has } from "../needs.ts";
import { eventually } from "../surroundings.ts";
import { Findings, Random } from "./findings.ts";
import { fullDisk } from "./full_disk.ts";
import { serve, shell, unmount } from "./served.ts";
import { workshop } from "./workshop.ts";
import { atOnce } from "../at_once.ts";

const test = atOnce("full disks", 2);

test({
  name:
    "on a full disk launches are answered 503, reads go on, and nothing is lost or half-written",
  ignore: !has("mount"),
  async fn() {
    const findings = new Findings();
    await fullDisk(findings, new Random(1), { rounds: 1, full_ms: 1_000, pause_ms: 60 });
    findings.assertNone();
  },
});

const ID = "01900000-0000-7000-8000-000000000001";
/** The answer to a launch where the disk has no room, and the reason that its operator is told. */
const disks: { name: string; mounted: string; fill: string; said: RegExp }[] = [
  {
    name: "that has no room for more files",
    mounted: "data",
    fill: "i=0; while true >x$i; do i=$((i+1)); done 2>/dev/null || true",
    // It may be seen before the last file is made.
    said: /The disk of \S+\/data is nearly full, \d+ bytes are free and room for \d{1,3} files/,
  },
  {
    name: "of the executions alone that is full",
    mounted: "data/executions",
    fill: "cat /dev/zero >x 2>/dev/null || true",
    said: /The disk of \S+\/data\/executions is nearly full, 0 bytes are free/,
  },
];

for (const { name, mounted, fill, said } of disks) {
  test({
    name: `on a disk ${name} launches are answered 503, until it has room again`,
    ignore: !has("mount"),
    async fn() {
      await using shop = await workshop([{ id: ID, name: "t" }]);
      const disk = `${shop.folder}/${mounted}`;
      await Deno.mkdir(disk, { recursive: true });
      await shell(`mount -t tmpfs -o size=64m,nr_inodes=2k tmpfs '${disk}'`);
      try {
        await using served = await serve(shop.folder);
        const launch = async () => {
          const options = { method: "POST", body: "one" };
          const answer = await fetch(`${served.url}/api/v0/launch/${ID}/`, options);
          const text = await answer.text();
          return answer.ok ? text : `${answer.status} ${answer.headers.get("retry-after")}`;
        };
        const isReady = async () => {
          const answer = await fetch(`${served.url}/readyz`);
          await answer.body?.cancel();
          return answer.ok || undefined;
        };
        await shell(`cd '${disk}'; ${fill}`);
        await eventually(async () => await isReady() ? undefined : true);
        assertEquals(await launch(), "503 10");
        assertMatch(served.printed(), said);
        await shell(`cd '${disk}'; rm -f x*`);
        await eventually(isReady);
        const run = await served.api(
          `${served.url}/api/v0/launch/${ID}/run/?run_id=${await launch()}&wait=10`,
        );
        const { execution_id } = run.result[0];
        await eventually(async () => (await served.api(`executions/${execution_id}/`)).ended_at);
        const { results } = await served.api("executions/");
        // Nothing was taken that could not be done.
        assertEquals(results.map(({ status }: { status: string }) => status), ["complete"]);
        served.signal("SIGTERM");
        await served.end();
      } finally {
        await unmount(disk);
      }
    },
  });
}
