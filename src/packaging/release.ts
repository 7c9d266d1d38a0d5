/**
 * The parts that all makers of a release's files share.
 *
 * @module
 */

/** The level of a release that is made to be tried. */
export const FAST = 1;
/** The level of a release that is downloaded. */
export const SMALL = 6;

/** A release while it is made. */
export interface Release {
  version: string;
  /** The version of Deno that runs it. */
  deno: string;
  /** The time of the commit, which is that of all files. */
  time: Date;
  /** The folder of what is published. */
  output: string;
  /** The level of compression, as zlib counts: {@linkcode FAST} or {@linkcode SMALL}. */
  level: number;
  /**
   * Makes a folder for the content of one part, with what every part has.
   *
   * @param bundle the folder in it that gets the bundle, where the part needs it
   */
  stage(part: string, bundle?: string): Promise<string>;
  /** Tells what is made, or left out and why. */
  say(text: string): void;
}
