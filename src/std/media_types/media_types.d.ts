/** The part of `@std/media-types` that is used, typed for the npm build of the standard library. */

/** The preferred file extension of a media type, without a dot; undefined where there is none. */
export function extension(typeOrExtension: string): string | undefined;
/** The media type of a file extension, with or without its dot. */
export function typeByExtension(extension: string): string | undefined;
/** A media type and its parameters. Throws a TypeError for what is not one. */
export function parseMediaType(type: string): [string, Record<string, string> | undefined];
