/** The chart: what it makes of each value, and which values it refuses. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse } from "yaml";
import page from "../../src/docs/kubernetes.md" with { type: "text" };
import schema from "../../src/packaging/chart/values.schema.json" with { type: "json" };
import defaults from "../../src/packaging/chart/values.yaml" with { type: "text" };
import { blocksOf } from "../docs/blocks.ts";
import { has } from "../needs.ts";
import { CASES, REFUSED } from "./chart_values.ts";
import { CHART, helm, type Manifest, manifests, template } from "./helm.ts";

const ignore = !has("helm");

/** What each object of a release is in. */
const ALWAYS = ["Service", "ServiceAccount"];

function podOf(objects: readonly Manifest[]): Record<string, unknown> {
  const workload = objects.find(({ kind }) => kind === "StatefulSet" || kind === "Deployment");
  return Object(Object(workload?.spec).template).spec;
}

/** Asserts what a hardened cluster asks of a pod: the "restricted" Pod Security Standard, and a read-only root. */
function assertRestricted(pod: Record<string, unknown>): void {
  const { securityContext, containers, initContainers, hostNetwork } = Object(pod);
  assertEquals([securityContext.runAsNonRoot, hostNetwork, initContainers], [
    true,
    undefined,
    undefined,
  ]);
  assertEquals(securityContext.seccompProfile, { type: "RuntimeDefault" });
  assertEquals(containers.length, 1);
  assertEquals(containers[0].securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
}

Deno.test({
  name: "the chart is clean",
  ignore,
  async fn() {
    const { code, printed } = await helm(["lint", "--strict", CHART]);
    assertEquals(code, 0, printed);
  },
});

Deno.test({
  name: "each value makes what it says, in a pod without rights",
  ignore,
  async fn(t) {
    const rendered = await Promise.all(
      Object.entries(CASES).map(async ([name, one]) => ({
        name,
        ...one,
        ended: await template(one.values),
      })),
    );
    for (const { name, values, kinds = [], has: parts = [], ended } of rendered) {
      await t.step(name, () => {
        assertEquals(ended.code, 0, ended.told);
        const objects = manifests(ended.printed);
        const workload = values.kv ? "Deployment" : "StatefulSet";
        const always = ALWAYS.filter((kind) =>
          kind !== "ServiceAccount" || Object(values.serviceAccount).name === undefined
        );
        assertEquals(
          objects.map(({ kind }) => kind).sort(),
          [...always, workload, ...kinds].sort(),
        );
        for (const part of parts) assertStringIncludes(ended.printed, part);
        assertRestricted(podOf(objects));
      });
    }
    await t.step("every value is tried", () => {
      const used = new Set(Object.values(CASES).flatMap(({ values }) => Object.keys(values)));
      const unused = Object.keys(schema.properties).filter((name) => !used.has(name));
      assertEquals(unused.sort(), ["global", "podSecurityContext", "securityContext"]);
    });
  },
});

Deno.test({
  name: "values that are wrong, or wrong together, are refused with what to do",
  ignore,
  async fn(t) {
    const all = await Promise.all(REFUSED.map(async ([values, says]) => ({
      values,
      says,
      ended: await template(values),
    })));
    for (const { values, says, ended } of all) {
      await t.step(JSON.stringify(values), () => {
        assertEquals(ended.code, 1);
        assertMatch(ended.told, says);
      });
    }
  },
});

Deno.test("the schema knows each default, and nothing else", () => {
  const walk = (values: unknown, of: { properties?: object }, path: string) => {
    if (of.properties === undefined) return;
    const names = Object.keys(of.properties).filter((name) => path !== "" || name !== "global");
    assertEquals(Object.keys(Object(values)).sort(), names.sort(), path);
    for (const [name, inner] of Object.entries(of.properties)) {
      walk(Object(values)[name], inner, `${path}/${name}`);
    }
  };
  walk(parse(defaults), schema, "");
});

Deno.test({
  name: "the values on the page are what the chart takes",
  ignore,
  async fn() {
    const blocks = blocksOf("src/docs/helm.md").filter(({ file }) => file === "values.yaml");
    assertEquals(blocks.length, 3);
    for (const { text, at } of blocks) {
      const ended = await template(parse(text));
      assertEquals(ended.code, 0, `${at}: ${ended.told}`);
    }
  },
});

Deno.test({
  name: "the rights of the chart are those that the documentation prints",
  ignore,
  async fn() {
    const { values } = CASES["Jobs in a namespace"] ?? {};
    const ended = await template(values ?? {});
    const [, manifest = ""] = /```yml\n(apiVersion: v1\nkind: Namespace[\s\S]*?)```/.exec(page) ??
      [];
    const role = (text: string) => manifests(text).find(({ kind }) => kind === "Role");
    const documented = role(manifest);
    assert(documented !== undefined);
    assertEquals(role(ended.printed)?.rules, documented.rules);
  },
});
