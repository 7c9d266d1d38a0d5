/**
 * What the tests of the console share: an operator's browser without a window, which keeps cookies and
 * sends forms as pages have them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ADMIN_TOKEN, type TestService } from "../../data.ts";

/** An answer to a browser. */
export interface Seen {
  status: number;
  headers: Headers;
  text: string;
}

/** A browser with a session. */
export class Browser {
  readonly cookies = new Map<string, string>();

  /** @param send sends a request to the service, where it is not at this address itself */
  constructor(
    private readonly url: string,
    private readonly send: (url: string, init: RequestInit) => Promise<Response> = fetch,
  ) {}

  /** Loads a page; does not follow redirects. */
  async get(address: string, headers: Record<string, string> = {}): Promise<Seen> {
    return await this.#send(address, { headers });
  }

  /** Sends a form, with the `csrf` of a page that was loaded before. */
  async post(
    address: string,
    fields: Record<string, string>,
    { origin = this.url, headers = {} }: {
      origin?: string | null;
      headers?: Record<string, string>;
    } = {},
  ): Promise<Seen> {
    return await this.#send(address, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: origin === null ? headers : { origin, ...headers },
    });
  }

  /** Logs in. */
  async logIn(token = ADMIN_TOKEN): Promise<void> {
    const { status, text } = await this.post("login", { token, to: "" });
    assertEquals(status, 303, text);
  }

  /** The value that forms of this session send back. */
  async csrf(): Promise<string> {
    const { text } = await this.get("deliveries");
    const [, csrf] = /name="csrf" value="([^"]+)"/.exec(text) ?? [];
    assert(csrf, text);
    return csrf;
  }

  async #send(address: string, init: RequestInit): Promise<Seen> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await this.send(`${this.url}/${address}`, {
      ...init,
      redirect: "manual",
      headers: { ...init.headers, ...(cookie && { cookie }) },
    });
    for (const set of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (/max-age=0/i.test(set)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  }
}

/** Opens a browser that has logged in. */
export async function loggedIn({ url }: TestService, token = ADMIN_TOKEN): Promise<Browser> {
  const browser = new Browser(url);
  await browser.logIn(token);
  return browser;
}

/** The text of a page, as one reads it. */
export function textOf({ text }: Pick<Seen, "text">): string {
  return text.replace(/^.*<main/s, "<main").replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
}
