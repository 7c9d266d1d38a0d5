/**
 * The fields of a trigger that the service adds.
 *
 * @module
 */
import { withoutFields } from "../platform/objects.ts";

const READ_ONLY = [
  "url",
  "warnings",
  "created_at",
  "updated_at",
  "moved_at",
  "created_by",
  "updated_by",
  "owner",
  "file",
  "revision",
];

/** Removes the fields that the service adds, so that a trigger can be written as it was read. */
export function withoutReadOnly(value: unknown): unknown {
  return withoutFields(value, READ_ONLY);
}
