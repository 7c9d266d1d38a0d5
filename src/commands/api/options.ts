/**
 * The options of commands that use a running service.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import { socketOfUrl } from "../../platform/network/own_socket.ts";
import { hidePassword, isBaseUrl } from "../../platform/network/urls.ts";
import { InvalidInputError } from "../../platform/errors.ts";
import { ApiClient } from "./client.ts";
import { ownServiceUrl } from "./address.ts";
import { environment, option } from "../input/options.ts";

/** The options of most commands that use a service. */
export interface ApiOptions {
  url: string;
  json?: boolean;
  quiet?: boolean;
}

/** Adds the option with the address of a running service. */
export function apiOptions(command: Command): Command {
  return command.addOption(
    option("--url <url>", "the address of the service").argParser(serviceUrl).default(
      ownServiceUrl(),
      "this machine's",
    ),
  ).addHelpText(
    "after",
    "\nThe variable HOOKLAUNCH_ADMIN_TOKEN holds the operator's token. This machine's service is\n" +
      "that of the data folder HOOKLAUNCH_DATA or ./data, else http://127.0.0.1:8000.",
  );
}

function serviceUrl(text: string): string {
  if (isBaseUrl(text) || socketOfUrl(text)) return text;
  const expected = "Expected a URL such as https://hooks.example.com";
  const shown = hidePassword(text);
  if (shown === text) throw new InvalidArgumentError(`${expected}, found "${text}".`);
  // An InvalidArgumentError would show the password.
  throw new InvalidInputError(
    "the service's URL, --url or HOOKLAUNCH_URL",
    `${expected}, without a password, found "${shown}"`,
  );
}

/**
 * Makes a client of the service, with the operator's token. The token comes from a variable alone:
 * everybody on the machine can read a command line.
 *
 * @throws {InvalidInputError} when the token is not set, or has characters that no token has
 */
export function clientOf(url: string): ApiClient {
  const token = environment("HOOKLAUNCH_ADMIN_TOKEN");
  if (token === undefined) {
    throw new InvalidInputError(
      "the operator's token",
      "Expected it in the variable HOOKLAUNCH_ADMIN_TOKEN, found nothing: set it, or name a file with --env-file",
    );
  }
  // No header can hold it, and the error of `fetch` would show it.
  if (!/^[!-~]+$/.test(token)) {
    throw new InvalidInputError(
      "HOOKLAUNCH_ADMIN_TOKEN",
      "Expected letters, digits and punctuation marks, found another character, such as a blank or a " +
        "line break",
    );
  }
  return new ApiClient({ url, token });
}
