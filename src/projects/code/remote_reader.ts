/**
 * The interface of what reads a remote repository without keeping it: by the API of its host, or by git's own
 * protocol.
 *
 * @module
 */

/** A commit that a reference names, and how it was found. */
export interface FoundCommit {
  commit: string;
  /** The place that named it. */
  place?: string;
  /** The ETag of the answer, with which the place can be asked again at little cost. */
  etag?: string;
}

/** Reads a remote repository. */
export interface RemoteReader {
  /**
   * Finds the commit of a reference: a full hash goes before a branch of its name, and a branch before a tag.
   *
   * @param known what was found last
   * @returns undefined when there is none
   * @throws {FetchError} when the remote refuses it
   * @throws {TransientError} when it may be answered later
   */
  find(reference: string, known: FoundCommit | undefined): Promise<FoundCommit | undefined>;
  /**
   * Tells if a commit is in the history of a branch.
   *
   * @param branch its name, or `HEAD`
   */
  isOn(branch: string, commit: string): Promise<boolean>;
  /** Returns the full hash of each branch. */
  branches(): Promise<Record<string, string>>;
  /** Reads a file of a commit; returns undefined if there is none. */
  read(commit: string, path: string, bytesMax: number): Promise<Uint8Array | undefined>;
}
