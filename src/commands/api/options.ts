/**
 * How commands reach a running service.
 *
 * @module
 */
import { type Command, InvalidArgumentError } from "commander";
import { hidePassword, isBaseUrl } from "../../platform/network/urls.ts";
import { InvalidInputError } from "../../platform/errors.ts";
import { ApiClient } from "./client.ts";
import { environment, option } from "../input/options.ts";

/** What most commands that talk to a service are told. */
export interface ApiOptions {
  url: string;
  json?: boolean;
}

/** Adds the option that says how to reach a running service. */
export function apiOptions(command: Command): Command {
  return command.addOption(
    option("--url <url>", "the service").argParser(serviceUrl).default("http://127.0.0.1:8000"),
  ).addHelpText("after", "\nThe operator's token comes from the variable HOOKLAUNCH_ADMIN_TOKEN.");
}

function serviceUrl(text: string): string {
  if (isBaseUrl(text)) return text;
  const expected = "Expected a URL such as https://hooks.example.com";
  const shown = hidePassword(text);
  if (shown === text) throw new InvalidArgumentError(`${expected}, found "${text}".`);
  // The other error shows the text as it is.
  throw new InvalidInputError(
    "the service's URL, --url or HOOKLAUNCH_URL",
    `${expected}, without a password, found "${shown}"`,
  );
}

/**
 * A client of the service, with the operator's token. The token comes by variable alone: a
 * command line can be read by everybody on the machine.
 *
 * @throws {InvalidInputError} when the token is not set, or cannot be one
 */
export function clientOf(url: string): ApiClient {
  const token = environment("HOOKLAUNCH_ADMIN_TOKEN");
  if (token === undefined) {
    throw new InvalidInputError(
      "the operator's token",
      "Expected it in the variable HOOKLAUNCH_ADMIN_TOKEN, found nothing",
    );
  }
  // No header can hold it, and what says so shows it.
  if (!/^[!-~]+$/.test(token)) {
    throw new InvalidInputError(
      "HOOKLAUNCH_ADMIN_TOKEN",
      "Expected letters, digits or punctuation marks without blanks, found another character, " +
        "which may be the end of a line",
    );
  }
  return new ApiClient({ url, token });
}
