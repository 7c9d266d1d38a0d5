/**
 * The pages of the console as routes. A page is a file in `pages/` that exports a list of them.
 *
 * @module
 */
import type { JSX } from "@hono/hono/jsx/jsx-runtime";
import type { Access } from "../api/access.ts";
import type { Authenticated } from "../api/auth.ts";
import type { ApiCallError, ApiClient } from "./client.ts";
import type { DeviceApprovals } from "./device_approvals.ts";
import type { OwnPasskeys } from "./own_passkeys.ts";

/** HTML that a component has made. */
export type Html = JSX.Element;

/** The operator who looks at a page, and the parts of the console that it uses. */
export interface View {
  api: ApiClient;
  /** Sends a request to a trigger, from the operator's address. */
  launch(triggerId: string, request: TestRequest): Promise<Response>;
  access: Access;
  /** The passkeys of who looks at it. */
  passkeys: OwnPasskeys;
  /** The logins of command lines that wait for somebody who confirms them. */
  deviceLogins: DeviceApprovals;
  /** The address of the page, relative to the console, with its query. */
  address: string;
  /** The path of the console, with a slash at its end. Addresses in pages are relative to it. */
  root: string;
  /** The address of the service as seen from outside, without a slash at the end. */
  baseUrl: string;
  /** True where several instances can share the database. */
  isShared: boolean;
  query: URLSearchParams;
  now_ms: number;
  sessionId: string;
  /** The value that each form sends back. */
  csrf: string;
  /** The value that the page's script and stylesheet name. */
  nonce: string;
  /** The message of the form that has led here. */
  notice: Message | undefined;
}

/** A request that an operator sends to try a trigger out. */
export interface TestRequest {
  /** The query, with its `?`, or nothing. */
  query: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array<ArrayBuffer>;
}

/** A view of a page without an operator, such as the login. */
export type OpenView =
  & Omit<View, "api" | "launch" | "access" | "passkeys" | "deviceLogins" | "sessionId">
  & {
    access?: undefined;
  };

/** The names of the parameters of a path such as `/deliveries/:id`. */
type Parameter<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | Parameter<`/${Rest}`>
  : Path extends `${string}:${infer Name}` ? Name
  : never;

/** A request for a page. */
export interface Visit<Path extends string = string> {
  view: View;
  params: Record<Parameter<Path>, string>;
}

/** A form that was sent. */
export interface Submission<Path extends string = string> extends Visit<Path> {
  form: URLSearchParams;
}

/** A message for the next page. */
export interface Message {
  text: string;
  tone: "ok" | "waiting" | "bad";
  /** The id of the delivery that it is about. */
  delivery?: string;
}

/** The result of a form: the address to go to, with a message, or the page again with its mistakes. */
export type Submitted = { to: string; notice?: string | Message } | { page: Html; status?: number };

/** A page, with a status where that is not 200. */
export type Shown = Html | { page: Html; status: number };

/** One path of the console. */
export interface Route<Path extends string = string> {
  path: Path;
  /** Makes the page. */
  show?(visit: Visit<Path>): Shown | Promise<Shown>;
  /** Performs a form. */
  submit?(submission: Submission<Path>): Promise<Submitted>;
  /** Makes the page of a form again, with what the API refuses of it. Default: the page of an error. */
  again?(submission: Submission<Path>, refused: ApiCallError): Html | Promise<Html>;
  /** Answers with something that is no page, such as a stream or a file. */
  answer?(visit: Visit<Path>, headers: Headers): Promise<Response>;
}

/** Declares a route: gives its functions the types of the path's parameters. */
export function route<const Path extends string>(declared: Route<Path>): Route {
  // A method's parameters are bivariant; it is called with the parameters of its own path.
  return declared;
}

/** The check of the session that a request names. */
export interface OpenSession extends Authenticated {
  id: string;
  csrf: string;
}
