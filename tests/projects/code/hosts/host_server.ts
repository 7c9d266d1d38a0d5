/**
 * GitHub and GitLab as their documentation describes them, on a repository of git: references, files, pages,
 * ETags, and git's own protocol at the address of the repository.
 */
import { answerByCgi, basic } from "../http_server.ts";

/** The hosts that this can be. */
export type ServedHost = "github" | "gitlab";

const TOKEN = "s3cr3t-token";
const PAGE = 100;

/** A host with one private repository. */
export class HostServer implements AsyncDisposable {
  readonly token = TOKEN;
  /** The requests that arrived, as `<status> <path>`. */
  readonly requests: string[] = [];
  /** Answers in place of the host. */
  instead: ((request: Request) => Response | undefined) | undefined;
  /** Called before each answer, which waits for it. */
  before: ((request: Request) => Promise<void>) | undefined;
  readonly #kind: ServedHost;
  readonly #path: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** @param path the work tree of the repository */
  constructor(kind: ServedHost, path: string, { tls }: { tls?: Deno.TlsCertifiedKeyPem } = {}) {
    this.#kind = kind;
    this.#path = path;
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    const answer = async (request: Request) => {
      await this.before?.(request);
      const response = this.instead?.(request) ?? await this.#answer(request);
      const { pathname, search } = new URL(request.url);
      this.requests.push(`${response.status} ${pathname}${search}`);
      return response;
    };
    this.#server = tls ? Deno.serve({ ...options, ...tls }, answer) : Deno.serve(options, answer);
  }

  get host(): string {
    return `127.0.0.1:${this.#server.addr.port}`;
  }

  /** The path of the repository. */
  get name(): string {
    return this.#kind === "gitlab" ? "acme/tools/digits" : "acme/digits";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, search, searchParams } = new URL(request.url);
    const repository = `/${this.name}.git`;
    if (pathname.startsWith(`${repository}/`)) {
      if (request.headers.get("authorization") !== basic("robot", TOKEN)) {
        const headers = { "www-authenticate": 'Basic realm="git"' };
        return new Response(null, { status: 401, headers });
      }
      const url = `http://git/.git${pathname.slice(repository.length)}${search}`;
      return await answerByCgi(new Request(url, request), this.#path);
    }
    const authorization = request.headers.get("authorization");
    if (authorization !== null && authorization !== `Bearer ${TOKEN}`) {
      return Response.json({ message: "Bad credentials" }, { status: 401 });
    }
    const at = this.#kind === "github"
      ? `/api/v3/repos/${this.name}/`
      : `/api/v4/projects/${encodeURIComponent(this.name)}/repository/`;
    // Who may not see it is told that there is nothing.
    if (authorization === null || !pathname.startsWith(at)) return notFound("Not Found");
    const rest = pathname.slice(at.length);
    return this.#kind === "github"
      ? await this.#github(rest, searchParams, request)
      : await this.#gitlab(rest, searchParams, request);
  }

  async #github(path: string, query: URLSearchParams, request: Request): Promise<Response> {
    const [, kind = "", rest = ""] = /^(\w+)\/?(.*)$/.exec(path) ?? [];
    const accept = request.headers.get("accept") ?? "";
    if (kind === "commits") {
      const name = decodeURIComponent(rest);
      const commit = await this.#commitOf(/^(?:heads|tags)\//.test(name) ? `refs/${name}` : name);
      const message = `No commit found for SHA: ${name}`;
      if (commit === undefined) return Response.json({ message }, { status: 422 });
      if (accept !== "application/vnd.github.sha") throw new Error(`unexpected ${accept}`);
      return tagged(request, commit, "application/vnd.github.sha; charset=utf-8");
    }
    if (kind === "contents") {
      const file = await this.#file(query.get("ref") ?? "", decodeURIComponent(rest));
      if (file === undefined) return notFound("Not Found");
      if (file === "folder") return Response.json([{ type: "file" }]);
      return tagged(request, file, `${accept}; charset=utf-8`);
    }
    if (kind === "branches") {
      const listed = await this.#branches(query);
      return Response.json(listed.map(([name, sha]) => ({ name, commit: { sha } })));
    }
    if (kind === "compare") {
      const [base = "", head = ""] = decodeURIComponent(rest).split("...");
      const isHash = /^[0-9a-f]{40}$/.test(base);
      return await this.#compared(isHash ? base : `refs/heads/${base}`, head);
    }
    if (kind === "tarball") return await this.#archive(rest);
    return notFound("Not Found");
  }

  async #gitlab(path: string, query: URLSearchParams, request: Request): Promise<Response> {
    const [, kind = "", rest = ""] = /^([\w.]+)\/?(.*)$/.exec(path) ?? [];
    const name = decodeURIComponent(rest);
    const json = (value: unknown) => tagged(request, JSON.stringify(value), "application/json");
    if (kind === "commits") {
      const id = await this.#commitOf(name);
      return id === undefined ? notFound("404 Commit Not Found") : json({ id });
    }
    if ((kind === "branches" || kind === "tags") && name !== "") {
      const id = await this.#commitOf(`refs/${kind === "tags" ? "tags" : "heads"}/${name}`);
      return id === undefined ? notFound("404 Branch Not Found") : json({ name, commit: { id } });
    }
    if (kind === "branches") {
      const listed = await this.#branches(query);
      return Response.json(listed.map(([name, id]) => ({ name, commit: { id } })));
    }
    if (kind === "files" && name.endsWith("/raw")) {
      const file = await this.#file(query.get("ref") ?? "", name.slice(0, -4));
      if (file === undefined || file === "folder") return notFound("404 File Not Found");
      return tagged(request, file, "text/plain");
    }
    if (kind === "merge_base") {
      const [branch = "", commit = ""] = query.getAll("refs[]");
      const found = await this.#git("merge-base", branch, commit);
      if (found === undefined) return notFound("404 Not Found");
      return json({ id: new TextDecoder().decode(found).trim() });
    }
    if (kind === "archive.tar.gz") return await this.#archive(query.get("sha") ?? "");
    return notFound("Not Found");
  }

  async #commitOf(name: string): Promise<string | undefined> {
    const found = await this.#git("rev-parse", "--verify", "--quiet", `${name}^{commit}`);
    return found && new TextDecoder().decode(found).trim();
  }

  async #file(
    commit: string,
    path: string,
  ): Promise<Uint8Array<ArrayBuffer> | "folder" | undefined> {
    const kind = await this.#git("cat-file", "-t", `${commit}:${path}`);
    if (kind === undefined) return undefined;
    if (new TextDecoder().decode(kind).trim() === "tree") return "folder";
    return await this.#git("cat-file", "blob", `${commit}:${path}`);
  }

  async #branches(query: URLSearchParams): Promise<[name: string, hash: string][]> {
    const format = "--format=%(refname:short) %(objectname)";
    const listed = new TextDecoder().decode(await this.#git("for-each-ref", format, "refs/heads/"));
    const all = listed.trim().split("\n").map((line) => line.split(" ", 2) as [string, string]);
    const size = Math.min(Number(query.get("per_page") ?? 30), PAGE);
    const start = (Number(query.get("page") ?? 1) - 1) * size;
    return all.slice(start, start + size);
  }

  async #compared(base: string, head: string): Promise<Response> {
    const counted = await this.#git("rev-list", "--count", `${base}..${head}`);
    if (counted === undefined) return notFound("Not Found");
    return Response.json({ total_commits: Number(new TextDecoder().decode(counted)) });
  }

  async #archive(commit: string): Promise<Response> {
    const made = await this.#git("archive", "--format=tar.gz", "--prefix=acme-digits-1/", commit);
    return made === undefined ? notFound("Not Found") : new Response(made);
  }

  async #git(...args: string[]): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const child = new Deno.Command("git", { args, cwd: this.#path, stderr: "null" });
    const { success, stdout } = await child.output();
    return success ? stdout : undefined;
  }
}

function notFound(message: string): Response {
  return Response.json({ message }, { status: 404 });
}

/** Answers with an ETag, or that what the client knows has not changed. */
async function tagged(
  request: Request,
  body: string | Uint8Array<ArrayBuffer>,
  type: string,
): Promise<Response> {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
  const headers = { etag: `W/"${digest}"`, "content-type": type };
  return request.headers.get("if-none-match") === headers.etag
    ? new Response(null, { status: 304, headers })
    : new Response(bytes, { headers });
}
