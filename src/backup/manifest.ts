/**
 * The format of a backup: a tar archive, compressed with gzip. It begins with `backup.json`, its header.
 * The contents follow: a database file, or the records of a
 * shared database as chunks, and folders. It ends with two lists: `flaws.json`, the files that records refer to and that were
 * missing or incomplete, and `manifest.jsonl`, every entry with its checksum. An archive that was cut off
 * has no manifest.
 *
 * @module
 */
import { z } from "zod";

/** The format of an archive with a database file. The database has a format of its own. */
export const FILE_FORMAT = 1;
/** The format of an archive with the records of a shared database. It is the newest. */
export const RECORDS_FORMAT = 2;
/** The first entry: a {@linkcode BackupHeader}. */
export const HEADER_ENTRY = "backup.json";
/** The folder of the records of a shared database, in files of a chunk each, in their order. */
export const RECORDS_FOLDER = "records";
/** Behind the records: their number. */
export const RECORDS_ENTRY = "records.json";
/** The last entry but one: the list of {@linkcode Flaw}s. */
export const FLAWS_ENTRY = "flaws.json";
/** The last entry: a line for each entry before it, in their order. */
export const MANIFEST_ENTRY = "manifest.jsonl";

/** The header of a backup. */
export interface BackupHeader {
  archive_format: number;
  /** The version of Hooklaunch that made it. */
  version: string;
  /** The moment that it shows, RFC 3339. */
  created_at: string;
  /** True when the backup holds the key of stored secrets. */
  has_key: boolean;
  /** The number of records in the database; absent in backups of earlier versions. */
  records?: number | undefined;
}

/** Checks a {@linkcode BackupHeader} of any format. */
export const headerSchema: z.ZodType<BackupHeader> = z.object({
  archive_format: z.int().min(1),
  version: z.string(),
  created_at: z.iso.datetime(),
  has_key: z.boolean(),
  records: z.int().min(0).optional(),
});

/** Checks the number of records. */
export const recordsSchema: z.ZodType<{ records: number }> = z.object({
  records: z.int().min(0),
});

/** Returns the path of a chunk of records. */
export function chunkPath(index: number): string {
  return `${RECORDS_FOLDER}/${String(index).padStart(8, "0")}`;
}

/** Accepts the path of a chunk of records. */
export function isChunkPath(path: string): boolean {
  return /^records\/\d{8}$/.test(path);
}

/** A file that is missing or incomplete in a backup. */
export interface Flaw {
  path: string;
  /** The problem, as one sentence without a full stop. */
  detail: string;
  /** Set when the archive holds only a part of it. Restoring leaves it out. */
  discard?: true | undefined;
}

/** Checks a list of flaws. */
export const flawsSchema: z.ZodType<Flaw[]> = z.array(
  z.object({ path: z.string(), detail: z.string(), discard: z.literal(true).optional() }),
);

/** One entry, as the manifest lists it. */
export type Entry =
  | { type: "folder"; path: string; mode: number }
  | { type: "file"; path: string; mode: number; size: number; sha256: string }
  | { type: "link"; path: string; target: string };

/** Returns the line of an entry. Writer and reader must produce the same text. */
export function manifestLine(entry: Entry): string {
  const { type, path } = entry;
  if (type === "folder") return `${JSON.stringify({ type, path, mode: octal(entry.mode) })}\n`;
  if (type === "link") return `${JSON.stringify({ type, path, target: entry.target })}\n`;
  const { mode, size, sha256 } = entry;
  return `${JSON.stringify({ type, path, mode: octal(mode), size, sha256 })}\n`;
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
