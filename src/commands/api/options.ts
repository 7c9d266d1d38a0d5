/**
 * The options of commands that use a running service.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import { socketOfUrl } from "../../platform/network/own_socket.ts";
import { hideUserInfo, isBaseUrl } from "../../platform/network/urls.ts";
import { InvalidInputError } from "../../platform/errors.ts";
import { ApiClient } from "./client.ts";
import { ownServiceUrl } from "./address.ts";
import { option } from "../input/options.ts";
import { chooseService, tokenFor } from "./service_choice.ts";

/** The options of most commands that use a service. */
export interface ApiOptions {
  url: string;
  json?: boolean;
  quiet?: boolean;
}

/** Adds the options that name a running service. */
export function apiOptions(command: Command): Command {
  return command.addOption(
    option("--url <url>", "the address of the service").argParser(serviceUrl).default(
      ownServiceUrl(),
      "this machine's",
    ),
  ).addOption(
    option("--context <name>", "the service of this context, in place of the one in use"),
  ).hook("preAction", () => chooseService(command)).addHelpText(
    "after",
    "\nThe variable HOOKLAUNCH_ADMIN_TOKEN holds the operator's token, or a context does. This machine's\n" +
      "service is that of the data folder HOOKLAUNCH_DATA or ./data, else http://127.0.0.1:8000.",
  );
}

/** Reads the address of a service. */
export function serviceUrl(text: string): string {
  if (isBaseUrl(text) || socketOfUrl(text)) return text;
  const expected = "Expected a URL such as https://hooks.example.com";
  const shown = hideUserInfo(text);
  if (shown === text) throw new InvalidArgumentError(`${expected}, found "${text}".`);
  // An InvalidArgumentError would show the password.
  throw new InvalidInputError(
    "the service's URL, --url or HOOKLAUNCH_URL",
    `${expected}, without a password, found "${shown}"`,
  );
}

/**
 * Makes a client of the service, with the operator's token. The token comes from a variable or a context alone:
 * everybody on the machine can read a command line.
 *
 * @param keyring_ms the time in which a keyring must give it
 * @throws {InvalidInputError} when there is no token, or it has characters that no token has
 */
export function clientOf(url: string, keyring_ms?: number): ApiClient {
  const { token, place } = tokenFor(url, keyring_ms);
  expectToken(token, place);
  return new ApiClient({ url, token, place });
}

/**
 * Checks that a text can be a token: no header can hold any other, and the error of `fetch` would show it.
 *
 * @throws {InvalidInputError} without the text
 */
export function expectToken(token: string, place: string): void {
  if (/^[!-~]+$/.test(token)) return;
  throw new InvalidInputError(
    place,
    "Expected letters, digits and punctuation marks, found another character, such as a blank or a " +
      "line break",
  );
}
