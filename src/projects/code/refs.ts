/**
 * What git prints about branches, tags and objects.
 *
 * @module
 */

/** The branches and tags of a repository, and the commits they are at. */
export interface Refs {
  /** By name, such as `main`. */
  branches: Map<string, string>;
  tags: Map<string, string>;
  /** What those tags are of that are of no commit themselves, such as of another tag. */
  tagsOfOthers: Map<string, string>;
  /** The commit of the remote's `HEAD`. */
  head: string | undefined;
}

/** What `git for-each-ref` is to print: the object that a ref is at, the one that this is a tag of. */
export const REFS_FORMAT = "%(objecttype) %(objectname) %(*objecttype) %(*objectname) %(refname)";

/** Reads lines of {@linkcode REFS_FORMAT}. */
export function parseRefs(text: string, headRef: string): Refs {
  const refs: Refs = {
    branches: new Map(),
    tags: new Map(),
    tagsOfOthers: new Map(),
    head: undefined,
  };
  for (const line of text.split("\n")) {
    const [, ownKind, own, kind, peeled, name = ""] =
      line.match(/^(\w+) ([0-9a-f]+) (\w*) ([0-9a-f]*) (.+)$/s) ?? [];
    const hash = peeled || own;
    if (hash === undefined) continue;
    if (name === headRef) refs.head = hash;
    else if (name.startsWith("refs/heads/")) refs.branches.set(name.slice(11), hash);
    else if (name.startsWith("refs/tags/")) {
      const tags = (kind || ownKind) === "commit" ? refs.tags : refs.tagsOfOthers;
      tags.set(name.slice(10), hash);
    }
  }
  return refs;
}

/** Whether a text can be the name of a branch, a tag or a commit, and nothing else to git. */
export function isReference(text: string): boolean {
  return /^[^-]/.test(text) && !/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|^@$/.test(text);
}

/** An object of a repository. */
export interface GitObject {
  /** `blob`, `tree`, `commit` or `tag`. */
  kind: string;
  content: Uint8Array;
}

/** Reads what `git cat-file --batch` prints of one object; undefined when that is missing. */
export function readObject(output: Uint8Array): GitObject | undefined {
  const end = output.indexOf(0x0a);
  const header = new TextDecoder().decode(output.subarray(0, Math.max(0, end)));
  const [, kind, size] = header.match(/^[0-9a-f]+ (\w+) (\d+)$/) ?? [];
  if (kind === undefined) return undefined;
  return { kind, content: output.subarray(end + 1, end + 1 + Number(size)) };
}
