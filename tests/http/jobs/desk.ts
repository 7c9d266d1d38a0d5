/**
 * A desk of jobs that keeps everything in a folder, so that a server that is killed and started again goes on
 * where it was. Agents and routes are tested with it by themselves.
 */
import { hash } from "node:crypto";
import { FolderStore } from "../../../src/artifacts/folder.ts";
import type {
  BeatAnswer,
  JobBeat,
  JobClaim,
  JobDesk,
  JobEnd,
  JobManifest,
  JobOutput,
  JobPass,
} from "../../../src/engines/remote/desk.ts";
import { ConflictError, TooLargeError } from "../../../src/platform/errors.ts";

const LINE_BREAK = 0x0a;

/** A file of the manifest with its content. */
export interface GivenFile {
  path: string;
  content: Uint8Array<ArrayBuffer>;
  kind?: "file" | "tar";
  mode?: number;
}

/** What a test gives a job. */
export interface GivenJob {
  id: string;
  token: string;
  command: string;
  files?: GivenFile[];
  limits?: Partial<JobManifest>;
  environment?: Record<string, string>;
}

interface State {
  claim?: JobClaim;
  stop?: true;
  end?: JobEnd;
  beats: number;
}

/** A desk in a folder. */
export class FolderDesk implements JobDesk {
  readonly #folder: string;
  readonly artifacts: FolderStore;

  constructor(folder: string) {
    this.#folder = folder;
    this.artifacts = new FolderStore(`${folder}/artifacts`);
  }

  /** Gives the desk a job. */
  give({ id, token, command, files = [], limits = {}, environment = {} }: GivenJob): void {
    const text = (content: string) => new TextEncoder().encode(content);
    const exports = Object.entries(environment).map(([name, value]) =>
      `export ${name}='${value}'\n`
    );
    const all: GivenFile[] = [
      { path: "control/command", content: text(`${command}\n`), mode: 0o700 },
      { path: "control/environment", content: text(exports.join("")) },
      ...files,
    ];
    Deno.mkdirSync(`${this.#folder}/${id}`);
    for (const [index, { content }] of all.entries()) {
      Deno.writeFileSync(this.#path(id, `file${index}`), content);
    }
    const manifest: JobManifest = {
      folders: ["repository", "inputs", "outputs", "config", "home", "tmp"],
      files: all.map(({ path, content, kind = "file", mode = 0o600 }) => ({
        path,
        kind,
        mode,
        ...(kind === "file" && { size: content.length, sha256: hash("sha256", content) }),
      })),
      shell: true,
      graceS: 2,
      streamBytesMax: 1024 * 1024,
      outputsMax: 10,
      outputBytesMax: 1024 * 1024,
      ...limits,
    };
    const job = { tokenHash: hash("sha256", token), manifest };
    Deno.writeTextFileSync(this.#path(id, "job"), JSON.stringify(job));
    this.#save(id, { beats: 0 });
  }

  /** Asks the job to stop. */
  stop(id: string): void {
    this.#save(id, { ...this.state(id), stop: true });
  }

  state(id: string): State {
    return JSON.parse(Deno.readTextFileSync(this.#path(id, "state")));
  }

  /** What the desk has of a stream. */
  stream(id: string, stream: "stdout" | "stderr"): string {
    return new TextDecoder().decode(this.#bytes(id, stream));
  }

  /** The ages in seconds of the lines of stdout when they came. */
  ages(id: string): number[] {
    const noted = new TextDecoder().decode(this.#bytes(id, "ages"));
    return noted.split("\n").filter(Boolean).map(Number);
  }

  admit(id: string, token: string, claimId: string | undefined): Promise<JobPass | undefined> {
    const job = this.#job(id);
    if (job?.tokenHash !== hash("sha256", token)) return Promise.resolve(undefined);
    const { claim, end } = this.state(id);
    const isOther = claim !== undefined && claimId !== claim.claimId;
    if (end && isOther) return Promise.resolve(undefined);
    const hasEnded = end !== undefined;
    return Promise.resolve({ executionId: id, tokenHash: job.tokenHash, claimId, hasEnded });
  }

  claim({ executionId: id }: JobPass, claim: JobClaim): Promise<"claimed" | "taken"> {
    const state = this.state(id);
    if (state.claim && state.claim.claimId !== claim.claimId) return Promise.resolve("taken");
    this.#save(id, { ...state, claim });
    return Promise.resolve("claimed");
  }

  async manifest(pass: JobPass): Promise<JobManifest | "preparing"> {
    this.#expectClaim(pass);
    const isAsked = this.#bytes(pass.executionId, "asked").length > 0;
    await Deno.writeTextFile(this.#path(pass.executionId, "asked"), "yes");
    return isAsked ? this.#job(pass.executionId)?.manifest ?? "preparing" : "preparing";
  }

  /** A URL that the desk names for files in place of opening them. */
  redirectTo: string | undefined;

  async file(pass: JobPass, index: number, { opens }: { opens: boolean }) {
    this.#expectClaim(pass);
    if (this.redirectTo !== undefined && !opens) return { url: `${this.redirectTo}/file${index}` };
    const file = await Deno.open(this.#path(pass.executionId, `file${index}`)).catch(() =>
      undefined
    );
    return file && { size: (await file.stat()).size, stream: file.readable };
  }

  beat(pass: JobPass, { stream, offset, bytes, isLast, time_ms = Date.now() }: JobBeat) {
    this.#expectClaim(pass);
    const id = pass.executionId;
    const known = this.#bytes(id, stream);
    const state = this.state(id);
    this.#save(id, { ...state, beats: state.beats + 1 });
    const answer = (acknowledged: number): Promise<BeatAnswer> =>
      Promise.resolve({ acknowledged, stop: state.stop === true, full: false });
    if (offset > known.length) return answer(known.length);
    const fresh = bytes.subarray(known.length - offset);
    const whole = isLast ? fresh : fresh.subarray(0, fresh.lastIndexOf(LINE_BREAK) + 1);
    Deno.writeFileSync(this.#path(id, stream), whole, { append: true });
    const age = `${Math.round((Date.now() - time_ms) / 1_000)}\n`;
    const lines = whole.filter((byte) => byte === LINE_BREAK).length;
    if (stream === "stdout") {
      Deno.writeTextFileSync(this.#path(id, "ages"), age.repeat(lines), { append: true });
    }
    return answer(known.length + whole.length);
  }

  async beginUpload(pass: JobPass, output: JobOutput): Promise<"stored" | "send"> {
    this.#expectClaim(pass);
    const { outputBytesMax = 0 } = this.#job(pass.executionId)?.manifest ?? {};
    if (output.size > outputBytesMax) throw new TooLargeError(`${output.path} is too large`);
    return await this.artifacts.verify(this.#key(pass, output), output) ? "stored" : "send";
  }

  async upload(
    pass: JobPass,
    output: JobOutput,
    stream: ReadableStream<Uint8Array<ArrayBuffer>>,
    signal: AbortSignal,
  ): Promise<void> {
    this.#expectClaim(pass);
    await this.artifacts.put(this.#key(pass, output), stream, output, { signal });
  }

  finishUpload(): Promise<boolean> {
    return Promise.resolve(false);
  }

  end(pass: JobPass, end: JobEnd): Promise<void> {
    this.#expectClaim(pass);
    const id = pass.executionId;
    const { stdout, stderr } = end.logEnds;
    if (this.#bytes(id, "stdout").length < stdout || this.#bytes(id, "stderr").length < stderr) {
      throw new ConflictError("Less of the log is stored");
    }
    const state = this.state(id);
    if (!state.end) this.#save(id, { ...state, end });
    return Promise.resolve();
  }

  #expectClaim({ executionId, claimId }: JobPass): void {
    if (claimId !== undefined && this.state(executionId).claim?.claimId === claimId) return;
    throw new ConflictError("The job is not claimed");
  }

  #key({ executionId }: JobPass, { path }: JobOutput): string {
    return `executions/${executionId}/outputs/${path}`;
  }

  #path(id: string, name: string): string {
    return `${this.#folder}/${id}/${name}`;
  }

  #bytes(id: string, name: string): Uint8Array {
    try {
      return Deno.readFileSync(this.#path(id, name));
    } catch {
      return new Uint8Array();
    }
  }

  #job(id: string): { tokenHash: string; manifest: JobManifest } | undefined {
    try {
      return JSON.parse(Deno.readTextFileSync(this.#path(id, "job")));
    } catch {
      return undefined;
    }
  }

  #save(id: string, state: State): void {
    const path = this.#path(id, "state");
    Deno.writeTextFileSync(`${path}.new`, JSON.stringify(state));
    Deno.renameSync(`${path}.new`, path);
  }
}
