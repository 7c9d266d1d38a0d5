/** Redirects of a repository's server, by a server that redirects and git itself: where they lead, and where not. */
import { assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import type { Network } from "../../../src/platform/network/connection.ts";
import { cloneMirror, fetchMirror } from "../../../src/projects/code/fetch.ts";
import { redirectedAddress } from "../../../src/projects/code/redirects.ts";
import { openRemote } from "../../../src/projects/code/remote.ts";
import { configFile, GitFixture, TemporaryFolder } from "./git_fixture.ts";
import { basic, GitServer } from "./http_server.ts";

const PASSWORD = "the-password-of-the-repository";
const AUTHORIZATION = basic("robot", PASSWORD);

/** Names that resolve to this machine, of which one counts as public. */
const network = (isPublic: boolean): Network => ({
  resolve: (host) => Promise.resolve(host.endsWith(".test") ? ["127.0.0.1"] : []),
  isPublic: () => isPublic,
  caCerts: [],
});

interface Case {
  name: string;
  /** Default: `/old/.git`. */
  path?: string;
  /** Where the server redirects to; undefined answers. */
  to(request: Request, places: { front: string; target: string }): string | undefined;
  isPublic?: boolean;
  hasCredentials?: boolean;
  /** Default: 302. */
  status?(request: Request): number;
  /** The error; undefined where it is cloned. */
  fails?: string;
  /** Where the repository's requests arrive. */
  arrives?: "front" | "target";
}

/** Moves the first part of a path. */
const moved = (request: Request, host: string, path = "/remote/") => {
  const { pathname, search } = new URL(request.url);
  return pathname.startsWith("/old/")
    ? `http://${host}${path}${pathname.slice("/old/".length)}${search}`
    : undefined;
};
const port = (host: string) => host.split(":")[1] ?? "";

/** The number of redirects that follow, which the path says. */
const left = (request: Request) =>
  Number(/^\/hops-(\d)\//.exec(new URL(request.url).pathname)?.[1]);
/** Redirects as often as the path says. */
const hop = (request: Request) => {
  const { pathname, search } = new URL(request.url);
  const next = left(request) > 1 ? `/hops-${left(request) - 1}/` : "/remote/";
  return pathname.replace(/^\/hops-\d\//, next) + search;
};
const hops = {
  to: (request: Request) => Number.isNaN(left(request)) ? undefined : hop(request),
  status: (request: Request) => [301, 302, 303, 307, 308][left(request) % 5] ?? 302,
};

const cases: Case[] = [
  { name: "nowhere", path: "/remote/.git", to: () => undefined, arrives: "front" },
  {
    name: "another path of the same server",
    to: (request, { front }) => moved(request, front),
    arrives: "front",
  },
  {
    name: "a relative path",
    to: (request) => moved(request, "")?.slice("http://".length),
    arrives: "front",
  },
  {
    name: "another port of this machine",
    to: (request, { target }) => moved(request, target),
    fails: "no public address",
  },
  {
    name: "a name of a private address",
    to: (request, { target }) => moved(request, `private.test:${port(target)}`),
    fails: "no public address",
  },
  {
    name: "a public address, to which git is led",
    to: (request, { target }) => moved(request, `public.test:${port(target)}`),
    isPublic: true,
    arrives: "target",
  },
  {
    name: "a public address, with credentials for the first server",
    to: (request, { target }) => moved(request, `public.test:${port(target)}`),
    isPublic: true,
    hasCredentials: true,
    arrives: "target",
  },
  {
    name: "behind another redirect",
    to(request, { front, target }) {
      const { pathname, search } = new URL(request.url);
      return pathname.startsWith("/hop/")
        ? `http://${target}/remote/${pathname.slice("/hop/".length)}${search}`
        : moved(request, front, "/hop/");
    },
    fails: "no public address",
  },
  { name: "five places", path: "/hops-5/.git", ...hops, arrives: "front" },
  { name: "six places", path: "/hops-6/.git", ...hops, fails: "more than 5 redirects" },
  {
    name: "no repository",
    to: (_request, { target }) => `http://${target}/secrets`,
    fails: "no repository",
  },
  {
    name: "another scheme",
    to: (request) => moved(request, "x")?.replace("http:", "file:"),
    fails: "no repository",
  },
  {
    name: "credentials in an address",
    to: (request, { target }) => moved(request, `a:b@${target}`),
    isPublic: true,
    fails: "no repository",
  },
  {
    name: "itself",
    to: (request, { front }) => moved(request, front, "/old/"),
    fails: "more than 5 redirects",
  },
  {
    name: "elsewhere by what is posted",
    path: "/remote/.git",
    to: (request, { target }) =>
      request.method === "POST" ? `http://${target}/remote/.git/git-upload-pack` : undefined,
    fails: "returned error: 302",
    isPublic: true,
  },
];

for (
  const {
    name,
    to,
    isPublic = false,
    hasCredentials = false,
    fails,
    arrives,
    path = "/old/.git",
    status = () => 302,
  } of cases
) {
  Deno.test(`git is redirected to ${name}`, async () => {
    await using folder = new TemporaryFolder();
    const remote = await GitFixture.make(join(folder.path, "remote"), {
      "valohai.yaml": configFile("first"),
    });
    await remote.commit({});
    const seen: (string | null)[] = [];
    await using target = new GitServer(folder.path, {
      before: (request) => {
        seen.push(request.headers.get("authorization"));
        return Promise.resolve();
      },
    });
    await using front = new GitServer(folder.path, {
      before: (request) => {
        const places = { front: front.host, target: target.host };
        const location = to(request, places);
        const isIn = !hasCredentials || request.headers.get("authorization") === AUTHORIZATION;
        const headers = { "www-authenticate": 'Basic realm="x"' };
        return Promise.resolve(
          !isIn
            ? new Response(null, { status: 401, headers })
            : location === undefined
            ? undefined
            : new Response(null, { status: status(request), headers: { location } }),
        );
      },
    });
    const userInfo = hasCredentials ? "robot:{env:PASSWORD}@" : "";
    const opened = await openRemote({ repository: `http://${userInfo}${front.host}${path}` }, {
      env: () => PASSWORD,
      knownHostsFile: "",
    });
    const mirror = join(folder.path, "mirror");
    const limits = {
      signal: new AbortController().signal,
      limit_mb: Infinity,
      network: network(isPublic),
    };
    if (fails === undefined) {
      await cloneMirror(mirror, opened, limits);
      await fetchMirror(mirror, opened, limits);
    } else {
      await assertRejects(() => cloneMirror(mirror, opened, limits), Error, fails);
    }
    const ofGit = (requests: readonly string[]) =>
      requests.some((request) => request.startsWith("POST /remote/"));
    assertEquals(
      [fails === undefined && ofGit(front.requests), target.requests.length > 0],
      [arrives === "front", arrives === "target"],
    );
    assertEquals(seen.filter((authorization) => authorization !== null), []);
  });
}

Deno.test("git is not redirected from HTTPS to plain HTTP", async () => {
  const [ca = "", cert = "", key = ""] = ["ca", "cert", "key"].map((name) =>
    Deno.readTextFileSync(new URL(`../../http/localhost_${name}.pem`, import.meta.url))
  );
  await using target = new GitServer("/nowhere");
  await using front = new GitServer("/nowhere", {
    tls: { cert, key },
    before: (request) => {
      const location = moved(request, `public.test:${port(target.host)}`) ?? "";
      return Promise.resolve(new Response(null, { status: 302, headers: { location } }));
    },
  });
  const remote = await openRemote({ repository: `https://${front.host}/old/.git` }, {
    env: () => PASSWORD,
    knownHostsFile: "",
  });
  const options = {
    network: { ...network(true), resolve: () => Promise.resolve(["127.0.0.1"]), caCerts: [ca] },
    signal: new AbortController().signal,
  };
  await assertRejects(() => redirectedAddress(remote, options), Error, "from https to http");
  assertEquals(target.requests, []);
});
