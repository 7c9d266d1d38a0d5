/**
 * The table of presets in the page of providers. Run as a program (`deno task presets`), this writes it.
 *
 * @module
 */
import type { Field } from "../../../src/conditions/field.ts";
import { describeSignature } from "../../../src/conditions/signing/candidates.ts";
import type { SigningPreset, TokenPreset } from "../../../src/conditions/signing/preset.ts";
import {
  hmacPresets,
  signaturePresets,
  tokenPresets,
} from "../../../src/conditions/signing/presets/mod.ts";
import {
  resolveScheme,
  signatureFields,
  signedContents,
} from "../../../src/conditions/signing/scheme.ts";

const HEADINGS = ["Preset", "Provider", "Signed or sent", "Where", "Tolerance", "Delivery id"];
const HEADERS_SHOWN_MAX = 2;

const PAGE = new URL("../../../src/docs/providers.md", import.meta.url);
/** The table stands between these two comments. */
const MARKED = /(<!-- presets -->\n+)[^]*?(\n+<!-- \/presets -->)/;

/** Reads the page of providers, and the page as it should be. */
export async function readPage(): Promise<{ found: string; expected: string }> {
  const found = await Deno.readTextFile(PAGE);
  const expected = found.replace(MARKED, (_, start, end) => start + presetTable() + end);
  return { found, expected };
}

/** Every preset as a Markdown table, in the order of their names; the provider links to its source. */
function presetTable(): string {
  const rows = [
    ...Object.entries(hmacPresets).map(([name, preset]) => signingRow("hmac", name, preset)),
    ...Object.entries(signaturePresets).map(([name, preset]) =>
      signingRow("signature", name, preset)
    ),
    ...Object.entries(tokenPresets).map(([name, preset]) => tokenRow(name, preset)),
  ].sort(([a = ""], [b = ""]) => a < b ? -1 : 1);
  return table([HEADINGS, ...rows]);
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
  ];
}

function tokenRow(name: string, preset: TokenPreset): string[] {
  const { token, delivery_id } = preset;
  const where = token.each === undefined
    ? fieldText(token)
    : `${fieldText(token)} of each in \`${token.each}\``;
  return [
    `\`${name}\` (static_token)`,
    providerText(preset),
    "token",
    where,
    "",
    delivery_id ? fieldText(delivery_id) : "",
  ];
}

function providerText({ title, source, note, handshake }: SigningPreset | TokenPreset): string {
  const notes = [note, handshake && "Its handshake is answered"].filter((text) => text);
  return [`[${title}](${source})`, ...notes].join(". ");
}

function fieldText({ in: place, name }: Field): string {
  return place === "header" ? `\`${name}\`` : `${place} \`${name}\``;
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
