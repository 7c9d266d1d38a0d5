/**
 * The output of git about branches, tags and objects.
 *
 * @module
 */

/** The branches and tags of a repository, and their commits. */
export interface Refs {
  /** By name, such as `main`. */
  branches: Map<string, string>;
  tags: Map<string, string>;
  /** The objects of tags that name no commit themselves, but another tag for instance. */
  tagsOfOthers: Map<string, string>;
  /** The commit of the remote's `HEAD`. */
  head: string | undefined;
}

/** The format of `git for-each-ref`: the object of a ref, and the object of a tag. */
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

/**
 * Returns true if git takes a text for the name of a branch, a tag or a commit, and for nothing
 * else.
 */
export function isReference(text: string): boolean {
  return /^[^-]/.test(text) && !/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|^@$/.test(text);
}

/** An object. */
interface GitObject {
  /** `blob`, `tree`, `commit` or `tag`. */
  kind: string;
  content: Uint8Array;
}

/**
 * Reads the output of `git cat-file --batch` for one object; returns undefined if the object is
 * missing.
 */
export function readObject(output: Uint8Array): GitObject | undefined {
  const end = output.indexOf(0x0a);
  const header = new TextDecoder().decode(output.subarray(0, Math.max(0, end)));
  const [, kind, size] = header.match(/^[0-9a-f]+ (\w+) (\d+)$/) ?? [];
  if (kind === undefined) return undefined;
  return { kind, content: output.subarray(end + 1, end + 1 + Number(size)) };
}
