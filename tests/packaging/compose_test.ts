/** The files of Compose: Compose reads them, and their containers may do no more than the page says. */
import { assertEquals } from "@std/assert";
import { has } from "../needs.ts";
import { readCompose } from "./compose.ts";

const FOLDER = new URL("../../src/packaging/compose/", import.meta.url).pathname;
const FILES = ["compose.yaml", "instances.yaml"];

/** Reads the variables of `env.example`, each with a value. */
async function exampleEnv(): Promise<Record<string, string>> {
  const text = await Deno.readTextFile(`${FOLDER}/env.example`);
  return Object.fromEntries(
    [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value]) => [name, value || "x"]),
  );
}

Deno.test("the files of Compose need what env.example has, and harden each container of the service", async () => {
  const env = await exampleEnv();
  for (const name of FILES) {
    const services = Object.values(await readCompose(name, env));
    const own = services.filter((each) => each.image.startsWith("hooklaunch:"));
    assertEquals(own.length, name === "compose.yaml" ? 1 : 2, name);
    for (const { image: found, ...service } of own) {
      const { read_only, cap_drop, security_opt, tmpfs } = Object(service);
      assertEquals({ found, read_only, cap_drop, security_opt, tmpfs }, {
        found: "hooklaunch:latest",
        read_only: true,
        cap_drop: ["ALL"],
        security_opt: ["no-new-privileges:true"],
        tmpfs: ["/tmp"],
      });
    }
  }
});

Deno.test("no secret is among the arguments of a command, which every user of the machine sees", async () => {
  const names = Object.keys(await exampleEnv()).filter((name) => name !== "HOOKLAUNCH_DOMAIN");
  const env = Object.fromEntries(names.map((name) => [name, `secret-of-${name}`]));
  for (const name of FILES) {
    const services = await readCompose(name, { ...env, HOOKLAUNCH_DOMAIN: "hooks.example.com" });
    for (const [service, { command = "" }] of Object.entries(services)) {
      assertEquals(String(command).match(/secret-of-\w+/g), null, service);
    }
  }
});

Deno.test({
  name: "Compose reads the files",
  ignore: !has("docker-compose"),
  async fn() {
    const env = await exampleEnv();
    const read = FILES.map((name) =>
      new Deno.Command("sh", {
        args: ["-c", 'exec docker-compose --file "$0" config --quiet', FOLDER + name],
        env,
      }).output()
    );
    for (const { code, stderr } of await Promise.all(read)) {
      assertEquals(code, 0, new TextDecoder().decode(stderr));
    }
  },
});
