/**
 * Expressions that read credentials: what they make of one could tell it, however it is written.
 *
 * @module
 */
import { type CredentialField, pathOf } from "../field.ts";
import type { Key } from "./paths.ts";

/** Stands for any element of a list. */
const ANY = "*";

/** Tells whether one of the paths of an expression leads to a credential, or to what holds one. */
export function readsCredential(
  paths: readonly (readonly Key[])[],
  credentials: readonly CredentialField[],
): boolean {
  return paths.some(([variable, ...keys]) =>
    credentials.some((field) => {
      switch (variable) {
        case "headers":
          return field.in === "header" && isWithin([field.name.toLowerCase()], keys);
        case "query":
          return field.in === "query" && isWithin([field.name], keys);
        case "body":
          return field.in === "body" && isWithin(keysOf(field), keys);
        default:
          return variable === "raw" && field.in === "body";
      }
    })
  );
}

/** Tells whether one of two paths leads to what the other is a part of. */
export function isWithin(field: readonly string[], read: readonly Key[]): boolean {
  return field.slice(0, read.length).every((part, index) =>
    part === ANY || part === String(read[index])
  );
}

function keysOf({ name, each }: CredentialField): string[] {
  return each === undefined ? pathOf(name) : [...pathOf(each), ANY, ...pathOf(name)];
}
