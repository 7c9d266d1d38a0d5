/**
 * The table of presets in the page of providers. Run as a program (`deno task presets`), this writes it.
 *
 * @module
 */
import type { Field } from "../../../src/conditions/field.ts";
import { describeSignature } from "../../../src/conditions/signing/candidates.ts";
import { isOwnTimeSigned, signsId } from "../../../src/conditions/signing/coverage.ts";
import type {
  HandshakePreset,
  Preset,
  SigningPreset,
  TokenPreset,
} from "../../../src/conditions/signing/preset.ts";
import { presetGroups } from "../../../src/conditions/signing/presets/groups.ts";
import {
  resolveScheme,
  signatureFields,
  signedContents,
} from "../../../src/conditions/signing/scheme.ts";

const HEADINGS = [
  "Preset",
  "Provider",
  "Signed or sent",
  "Where",
  "Tolerance",
  "Delivery id",
  "Event",
];
const HEADERS_SHOWN_MAX = 2;

type AnyPreset = HandshakePreset | SigningPreset | TokenPreset;

const PAGE = new URL("../../../src/docs/providers.md", import.meta.url);
/** The table stands between these two comments. */
const MARKED = /(<!-- presets -->\n+)[^]*?(\n+<!-- \/presets -->)/;

/** Reads the page of providers, and the page as it should be. */
export async function readPage(): Promise<{ found: string; expected: string }> {
  const found = await Deno.readTextFile(PAGE);
  const expected = found.replace(MARKED, (_, start, end) => start + presetTables() + end);
  return { found, expected };
}

/** Every preset by kind: a table, in the order of names, and what an owner must do and know. */
function presetTables(): string {
  return presetGroups.map((group) => {
    const rows = [
      ...Object.entries(group.hmac ?? {}).map(([name, preset]) => signingRow("hmac", name, preset)),
      ...Object.entries(group.signature ?? {}).map(([name, preset]) =>
        signingRow("signature", name, preset)
      ),
      ...Object.entries(group.static_token ?? {}).map(([name, preset]) => tokenRow(name, preset)),
      ...Object.entries(group.handshakes ?? {}).map(([name, preset]) => handshakeRow(name, preset)),
    ].sort(([a = ""], [b = ""]) => a < b ? -1 : 1);
    const facts = [group.hmac, group.signature, group.static_token, group.handshakes]
      .flatMap((presets) => Object.entries<AnyPreset>(presets ?? {}))
      .sort(([a], [b]) => a < b ? -1 : 1).flatMap(([, preset]) => factsOf(preset));
    return [`### ${group.title}`, table([HEADINGS, ...rows]), facts.join("\n")]
      .filter((part) => part !== "").join("\n\n");
  }).join("\n\n");
}

function signingRow(type: string, name: string, preset: SigningPreset): string[] {
  const scheme = resolveScheme(preset.scheme, {});
  const [content = ""] = signedContents(scheme);
  const fields = signatureFields(scheme).map(fieldText);
  const shown = fields.slice(0, HEADERS_SHOWN_MAX).join(", ");
  return [
    `\`${name}\` (${type})`,
    providerText(preset),
    `${scheme.algorithm} of \`${content.replaceAll("\n", "\\n")}\``,
    `${shown}${fields.length > HEADERS_SHOWN_MAX ? ", …" : ""}: \`${describeSignature(scheme)}\``,
    scheme.timestamp ? `${scheme.tolerance} s` : "",
    scheme.delivery_id ? fieldText(scheme.delivery_id) : "",
    preset.event ? fieldText(preset.event) : "",
  ];
}

function tokenRow(name: string, preset: TokenPreset): string[] {
  const { token, delivery_id, event } = preset;
  const where = token.each === undefined
    ? fieldText(token)
    : `${fieldText(token)} of each in \`${token.each}\``;
  return [
    `\`${name}\` (static_token)`,
    providerText(preset),
    token.basic ? "password by HTTP Basic" : "token",
    where,
    "",
    delivery_id ? idText(delivery_id) : "",
    event ? fieldText(event) : "",
  ];
}

/** Writes the answers that a provider needs as settings of a trigger. */
function needsText({ refused, response }: NonNullable<Preset["needs"]>): string {
  const written = (name: string, values: object = {}) => {
    const fields = Object.entries(values).map(([key, value]) => `${key}: ${value}`).join(", ");
    return fields === "" ? [] : [`\`${name}: { ${fields} }\``];
  };
  const { status, content_type, text } = response ?? {};
  const answer = {
    ...(status !== undefined && { status }),
    ...(content_type === "application/xml" && { type: "xml", text: `'${text}'` }),
    ...(text === "" && { type: "text", text: '""' }),
  };
  return [...written("refused", refused), ...written("response", answer)].join(" and ");
}

function handshakeRow(name: string, preset: Preset): string[] {
  const methods = (preset.handshakes ?? []).map(({ method }) => method).join(", ");
  return [
    `\`${name}\` (handshakes)`,
    providerText(preset),
    methods,
    ...HEADINGS.slice(3).map(() => ""),
  ];
}

function providerText({ title, source }: Preset): string {
  return `[${title}](${source})`;
}

/** The steps at the provider and what else its owner must know, as an item of a list. */
function factsOf(preset: AnyPreset): string[] {
  const { title, setup, note, needs, handshakes, unconfirmed }: Preset = preset;
  const sentences = [
    setup,
    note,
    ...unsignedText(preset),
    needs && `Needs ${needsText(needs)}`,
    handshakes && "Its handshake is answered",
    unconfirmed && `Not confirmed by the provider: ${unconfirmed}`,
  ].filter((text) => text !== undefined)
    // A line that begins with '>' would be a quotation.
    .map((text) => text.replace(/\.?$/, ".").replaceAll(" > ", " → "));
  return sentences.length === 0 ? [] : [`- **${title}**: ${sentences.join(" ")}`];
}

/** Tells what the provider leaves unsigned, or sends within the body. */
function unsignedText(preset: AnyPreset): string[] {
  if ("token" in preset && preset.token.in === "body") {
    return ["Needs `redact: true`: its token is in the body, which is stored without it then"];
  }
  if (!("scheme" in preset)) return [];
  const scheme = resolveScheme(preset.scheme, {});
  const { delivery_id } = scheme;
  const isOpen = delivery_id !== undefined && !signsId(scheme, delivery_id) &&
    !isOwnTimeSigned(scheme, [scheme]);
  return isOpen
    ? ["Signs neither the delivery's id nor a time: a seen request can be repeated"]
    : [];
}

function fieldText({ in: place, name }: Field): string {
  return place === "header" ? `\`${name}\`` : `${place} \`${name}\``;
}

/** Writes the place of a delivery's id, with that of what it is unique under. */
function idText({ scope, ...field }: Field): string {
  return scope === undefined ? fieldText(field) : `${fieldText(field)} of each \`${scope}\``;
}

/** A table whose columns line up, as `deno fmt` leaves it. */
function table(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|")));
  const widths = HEADINGS.map((_, column) =>
    Math.max(3, ...cells.map((row) => [...(row[column] ?? "")].length))
  );
  const line = (row: readonly string[], fill: string) =>
    `| ${
      widths.map((width, column) => {
        const cell = row[column] ?? "";
        return cell + fill.repeat(width - [...cell].length);
      }).join(" | ")
    } |`;
  const [headings = [], ...body] = cells;
  return [line(headings, " "), line([], "-"), ...body.map((row) => line(row, " "))].join("\n");
}

if (import.meta.main) await Deno.writeTextFile(PAGE, (await readPage()).expected);
