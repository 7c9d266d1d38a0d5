/**
 * The choice of the service that a command uses, and of the token for it: first what an option says, then a variable,
 * then the context in use, and at last the service of this machine.
 *
 * @module
 */
import type { Command } from "commander";
import { InvalidInputError } from "../../platform/errors.ts";
import { type Context, contextNamed, readContexts } from "../input/contexts.ts";
import { loginKey, loginToken, readLogins } from "../input/logins.ts";
import { environment } from "../input/environment.ts";

const VARIABLE = "HOOKLAUNCH_ADMIN_TOKEN";

/** Sources of the value of an option, as commander names them, the weaker ones first. */
const SOURCES = ["default", "env", "cli"];

/** The context that this process uses. A process runs one command. */
let chosen: (Context & { name: string; isOption: boolean }) | undefined;

/** Chooses the service of a command that is about to begin: its option `--url` has the address then. */
export function chooseService(command: Command): void {
  chosen = contextOf(command);
  if (chosen !== undefined) command.setOptionValueWithSource("url", chosen.url, "context");
}

function contextOf(command: Command): typeof chosen {
  const strengthOf = (option: string) =>
    SOURCES.indexOf(command.getOptionValueSource(option) ?? "");
  // A service that is named by its address needs no context.
  if (strengthOf("url") > 0 && strengthOf("url") >= strengthOf("context")) return undefined;
  const contexts = readContexts();
  const { context: asked }: { context?: string } = command.opts();
  const name = asked ?? contexts.current;
  if (name === undefined) return undefined;
  const isOption = command.getOptionValueSource("context") === "cli";
  return { ...contextNamed(contexts, name), name, isOption };
}

/** The token for a service, and the words for its place. */
interface FoundToken {
  token: string;
  place: string;
}

/**
 * Finds the operator's token for the service at an address. The token of a context is for its own address alone.
 *
 * @param keyring_ms the time in which a keyring must give it
 * @throws {InvalidInputError} when there is none
 */
export function tokenFor(url: string, keyring_ms?: number): FoundToken {
  const own = chosen?.url === url ? chosen : undefined;
  const ofContext = own?.token === undefined
    ? undefined
    : { token: own.token, place: `context ${own.name}` };
  if (ofContext !== undefined && own?.isOption) return ofContext;
  const ofVariable = environment(VARIABLE);
  if (ofVariable !== undefined) return { token: ofVariable, place: VARIABLE };
  if (ofContext !== undefined) return ofContext;
  const login = readLogins()[loginKey(url)];
  if (login !== undefined) {
    const isOver = !(Date.parse(login.expires_at) > Date.now());
    const token = isOver ? undefined : loginToken(url, login, keyring_ms);
    if (token !== undefined) return { token, place: "hooklaunch login: log in again" };
    throw new InvalidInputError(
      "the login at this service",
      isOver
        ? "It has expired: log in again with hooklaunch login"
        : "The keyring does not give its token: unlock it, or log in again with hooklaunch login",
    );
  }
  throw new InvalidInputError(
    "the operator's token",
    `Expected it in the variable ${VARIABLE}, found nothing: set it, name a file with --env-file, log in with ` +
      "hooklaunch login, or store it with: hooklaunch context add",
  );
}
