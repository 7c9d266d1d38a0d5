/**
 * Texts that are code elsewhere, and scripts of several interpreters that write what they get into files, byte by
 * byte: a step gets the values of a request as texts and nothing else.
 *
 * @module
 */
import fc from "fast-check";
import { unicode } from "./arbitraries.ts";

/** Texts that end a quote, name a command, break a line, or look like options and templates. */
export const HOSTILE_TEXTS = [
  "",
  "-n",
  " \r\n\t\n",
  "'; touch pwned; '\"; touch pwned; \"'\\''",
  "$(touch pwned)`touch pwned`${HOME}$HOME",
  "\\",
  "!! * ? [a] ~root %s %n #",
  "--{body.x} {{ }} {parameter:text}",
  "a\u0001\u001b[2J\u007f\u00e9\u{1F600}\u2028\ufeff",
  "#!/bin/sh\nexit 1",
  "EOF\n$(id)\nEOF\n",
  "'+__import__('os').system('touch pwned')+'",
];

/** Any text that a variable of a process can hold. */
export const hostileText = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS),
  unicode({ maxLength: 40 }).filter((each) => !each.includes("\0")),
  fc.array(
    fc.constantFrom("'", '"', "\\", "$", "`", "\n", "(", ")", ";", "&", "|", "<", "{", "}", "x"),
    { maxLength: 12 },
  ).map((signs) => signs.join("")),
);

/** Programs that may run a script of a step, after the first line that names each; none for the shell. */
export const INTERPRETERS: Readonly<Record<string, string>> = {
  "": "sh",
  "#!/bin/sh": "sh",
  "#!/usr/bin/env bash": "bash",
  "#!/usr/bin/env perl": "perl",
  "#!/usr/bin/env python3": "python3",
};

/**
 * Returns a script that writes the variable `SAID_<name>` and the parameter `<name>` of each name into the output
 * `values`, with a NUL behind each.
 */
export function writingScript(firstLine: string, names: readonly string[]): string {
  const program = INTERPRETERS[firstLine];
  const script = program === "perl"
    ? perlScript(names)
    : program === "python3"
    ? pythonScript(names)
    : names.map((name) =>
      `printf '%s\\0' "$SAID_${name}" {parameter-value:${name}} >>"$VH_OUTPUTS_DIR/values"`
    ).join("\n");
  return firstLine === "" ? script : `${firstLine}\n${script}`;
}

/** Returns what such a script writes, as bytes. */
export function writtenValues(texts: readonly string[]): Uint8Array {
  return new TextEncoder().encode(texts.map((text) => `${text}\0${text}\0`).join(""));
}

function perlScript(names: readonly string[]): string {
  return `
use JSON::PP;
open(my $f, '<:raw', "$ENV{VH_CONFIG_DIR}/parameters.json") or die; local $/; my $all = decode_json(<$f>);
open(my $out, '>:raw', "$ENV{VH_OUTPUTS_DIR}/values") or die;
for my $name (qw(${names.join(" ")})) {
  my $text = $all->{$name}; utf8::encode($text); print $out $ENV{"SAID_$name"}, "\\0", $text, "\\0";
}
close $out or die;`;
}

function pythonScript(names: readonly string[]): string {
  return `
import json, os
given = json.load(open(os.environ["VH_CONFIG_DIR"] + "/parameters.json", encoding="utf-8"))
with open(os.environ["VH_OUTPUTS_DIR"] + "/values", "wb") as out:
    for name in ${JSON.stringify(names)}:
        out.write(os.environb[b"SAID_" + name.encode()] + b"\\0" + given[name].encode("utf-8") + b"\\0")`;
}
