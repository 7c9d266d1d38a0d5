/**
 * The parts that all makers of a release's files share.
 *
 * @module
 */

/** A release while it is made. */
export interface Release {
  version: string;
  /** The version of Deno that runs it. */
  deno: string;
  /** The time of the commit, which is that of all files. */
  time: Date;
  /** The folder of what is published. */
  output: string;
  /**
   * Makes a folder for the content of one part, with what every part has.
   *
   * @param bundle the folder in it that gets the bundle, where the part needs it
   */
  stage(part: string, bundle?: string): Promise<string>;
  /** Tells what is made, or left out and why. */
  say(text: string): void;
}
