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
  /** The commit of the remote's `HEAD`. */
  head: string | undefined;
}

/** Reads lines of `<hash> <hash of what a tag points to> <ref>`. */
export function parseRefs(text: string, headRef: string): Refs {
  const refs: Refs = { branches: new Map(), tags: new Map(), head: undefined };
  for (const line of text.split("\n")) {
    const [, own, peeled, name = ""] = line.match(/^([0-9a-f]+) ([0-9a-f]*) (\S+)$/) ?? [];
    const hash = peeled || own;
    if (hash === undefined) continue;
    if (name === headRef) refs.head = hash;
    else if (name.startsWith("refs/heads/")) refs.branches.set(name.slice(11), hash);
    else if (name.startsWith("refs/tags/")) refs.tags.set(name.slice(10), hash);
  }
  return refs;
}

/** Whether a text can be the name of a branch, a tag or a commit, and nothing else to git. */
export function isReference(text: string): boolean {
  return /^[^-]/.test(text) && !/[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|^@$/.test(text);
}

/** Reads what `git cat-file --batch` prints: undefined for each object that is missing. */
export function readBatch(output: Uint8Array, count: number): (Uint8Array | undefined)[] {
  const objects: (Uint8Array | undefined)[] = [];
  let offset = 0;
  while (objects.length < count) {
    const end = output.indexOf(0x0a, offset);
    if (end === -1) break;
    const header = new TextDecoder().decode(output.subarray(offset, end));
    const size = header.match(/^[0-9a-f]+ \w+ (\d+)$/)?.[1];
    offset = end + 1;
    if (size === undefined) objects.push(undefined);
    else {
      objects.push(output.subarray(offset, offset + Number(size)));
      offset += Number(size) + 1;
    }
  }
  return objects;
}
