/**
 * The notes of a release: its section of the changelog.
 *
 * @module
 */

/** Returns the section of a version; undefined if there is none. */
export function releaseNotes(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((each) => each.split(/\s/, 1)[0] === version);
  return section === undefined ? undefined : `${section.slice(section.indexOf("\n")).trim()}\n`;
}
