/**
 * Searches what a command prints for metadata, without keeping the event loop busy.
 *
 * @module
 */
import { TimeShare } from "../../platform/waiting/time_share.ts";
import { type Metadata, objectLines } from "./metadata.ts";

/** The time that all executions together take to look for metadata. */
const METADATA_TIME = new TimeShare({ slice_ms: 2, share: 0.15 });
const STOPPED = "The last of what was printed is not searched for metadata, since it was stopped";
/** The number of lines between two looks at the clock. */
const LINES_A_LOOK = 32;

/** Gets events of metadata, as JSON lines. */
export type OnEvents = (events: string) => Promise<void>;

/** Takes in the metadata in a chunk of stdout, a slice of time after the other. */
export async function takeMetadata(
  metadata: Metadata,
  { content, time, until_ms = Infinity }: { content: Uint8Array; time: string; until_ms?: number },
  onEvents: OnEvents,
): Promise<void> {
  if (metadata.isFull) return;
  let events = "";
  let began_ms = performance.now();
  let lines = 0;
  for (const text of objectLines(content)) {
    if (text !== undefined) events += metadata.take(text, time) ?? "";
    const isLook = ++lines % LINES_A_LOOK === 0;
    if (!isLook || performance.now() - began_ms < METADATA_TIME.slice_ms) continue;
    if (events !== "") await onEvents(events);
    events = "";
    await METADATA_TIME.nextSlice();
    began_ms = performance.now();
    if (began_ms > until_ms) return metadata.end(STOPPED);
  }
  if (events !== "") await onEvents(events);
}
