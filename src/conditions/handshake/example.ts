/**
 * Requests that are handshakes, made of what a handshake's expressions compare and read.
 *
 * @module
 */
import { constantValue as valueOf, type Key, memberPath, pathOf, pathsIn } from "../cel/paths.ts";
import { constantOf, type Expr } from "../cel/syntax.ts";
import { isSecretNode } from "./nodes.ts";

/** A request in the making. */
export interface HandshakeExample {
  readonly query: URLSearchParams;
  readonly headers: Record<string, string>;
  /** A value of JSON; undefined without a body. */
  body: unknown;
}

/**
 * Makes a request for which `when` holds, where its clauses compare values with constants or with the secret, or
 * ask for their presence, for a text within them, or whether they are empty. What expressions read beside these is a word.
 *
 * @param secret the text that `secret` stands for
 */
export function exampleOf(
  { when, others }: { when: Expr | undefined; others: readonly Expr[] },
  { secret, word }: { secret: string; word: string },
): HandshakeExample {
  const values = new Map<string, { path: readonly Key[]; value: unknown }>();
  const put = (path: readonly Key[] | undefined, value: unknown, isSure: boolean) => {
    const name = JSON.stringify(path);
    if (path === undefined || path.length < 2 || !isSure && values.has(name)) return;
    values.set(name, { path, value });
  };
  for (const clause of when ? conjunctsOf(when) : []) {
    const { case: kind, value } = clause.exprKind;
    if (kind === "selectExpr" && value.testOnly) put(pathOf(clause), word, false);
    if (kind !== "callExpr") continue;
    const [left, right] = value.args;
    if (value.function === "@in") put(memberPath(left, right), word, false);
    if (value.function === "contains" && value.target && constantOf(left)) {
      put(pathOf(value.target), valueOf(left), true);
    }
    if (value.function !== "_==_" || !left || !right) continue;
    for (const [place, other] of [[left, right], [right, left]] as const) {
      if (isSecretNode(other)) put(pathOf(place), secret, true);
      else if (constantOf(other)) put(pathOf(place), valueOf(other), true);
      if (valueOf(other) === 0) put(pathOf(sizedOf(place)), [], true);
    }
  }
  for (const path of others.flatMap(pathsIn)) put(path, word, false);
  return requestOf([...values.values()]);
}

/** Returns the list or map whose size an expression is. */
function sizedOf({ exprKind: { case: kind, value } }: Expr): Expr | undefined {
  return kind === "callExpr" && value.function === "size"
    ? value.target ?? value.args[0]
    : undefined;
}

function conjunctsOf(expr: Expr): Expr[] {
  const { exprKind } = expr;
  return exprKind.case === "callExpr" && exprKind.value.function === "_&&_"
    ? exprKind.value.args.flatMap(conjunctsOf)
    : [expr];
}

function requestOf(
  values: readonly { path: readonly Key[]; value: unknown }[],
): HandshakeExample {
  const example: HandshakeExample = { query: new URLSearchParams(), headers: {}, body: undefined };
  for (const { path: [variable, ...keys], value } of values) {
    if (variable === "query") example.query.set(String(keys[0]), String(value));
    if (variable === "headers") example.headers[String(keys[0])] = String(value);
    if (variable === "body") example.body = withValue(example.body, keys, value);
  }
  return example;
}

function withValue(parent: unknown, [key, ...keys]: readonly Key[], value: unknown): unknown {
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list: unknown[] = Array.isArray(parent) ? [...parent] : [];
    list[key] = withValue(list[key], keys, value);
    return list;
  }
  const map: Record<string, unknown> = { ...Object(parent) };
  map[key] = withValue(map[key], keys, value);
  return map;
}
