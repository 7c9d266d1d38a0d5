/**
 * A git server over smart HTTP: git's own `http-backend` behind a small CGI bridge.
 *
 * @module
 */

/** What a server does beside answering. */
export interface GitServerOptions {
  /** What `Authorization` must be. */
  authorization?: string;
  /** Called before each answer; the answer waits for it. */
  before?: (request: Request) => Promise<Response | void>;
  /** Changes an answer of git before it is sent. */
  answer?: (response: Response) => Response;
  /** The certificate and key that it serves TLS with, for `localhost`. */
  tls?: Deno.TlsCertifiedKeyPem;
}

/** A server of the repositories in a folder. */
export class GitServer implements AsyncDisposable {
  /** Where the server listens, as `<host>:<port>`. */
  readonly host: string;
  /** The requests that arrived, as `<method> <path>`. */
  readonly requests: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(
    root: string,
    { authorization, before, answer = (it) => it, tls }: GitServerOptions = {},
  ) {
    const onRequest = async (request: Request): Promise<Response> => {
      const { pathname } = new URL(request.url);
      this.requests.push(`${request.method} ${pathname}`);
      const instead = await before?.(request);
      if (instead) return instead;
      if (authorization !== undefined && request.headers.get("authorization") !== authorization) {
        const headers = { "www-authenticate": 'Basic realm="repositories"' };
        return new Response(null, { status: 401, headers });
      }
      return answer(await answerByCgi(request, root));
    };
    const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
    this.#server = tls
      ? Deno.serve({ ...options, ...tls }, onRequest)
      : Deno.serve(options, onRequest);
    this.host = `${tls ? "localhost" : options.hostname}:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** The header that git sends for a user and a password. */
export function basic(user: string, password: string): string {
  return `Basic ${btoa(`${user}:${password}`)}`;
}

/** Has `git http-backend` answer a request, by the Common Gateway Interface (RFC 3875). */
export async function answerByCgi(request: Request, root: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const { headers, method } = request;
  const child = new Deno.Command("git", {
    args: ["http-backend"],
    env: {
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: decodeURIComponent(pathname),
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: method,
      CONTENT_TYPE: headers.get("content-type") ?? "",
      HTTP_CONTENT_ENCODING: headers.get("content-encoding") ?? "",
      GIT_PROTOCOL: headers.get("git-protocol") ?? "",
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new Uint8Array(await request.arrayBuffer()));
  await writer.close();
  const { stdout } = await child.output();
  const head = new TextDecoder("latin1").decode(stdout).split("\r\n\r\n", 1)[0] ?? "";
  const fields = head.split("\r\n").map((line) => line.split(": ", 2) as [string, string]);
  const status = Number(fields.find(([name]) => name === "Status")?.[1].slice(0, 3) ?? 200);
  return new Response(stdout.slice(head.length + 4), {
    status,
    headers: fields.filter(([name]) => name !== "Status"),
  });
}
