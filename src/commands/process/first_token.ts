/**
 * The operators' token that a first start makes. It is told to the person at the terminal alone: what is printed
 * elsewhere is collected with the log.
 *
 * @module
 */
import { getLogger } from "@logtape/logtape";
import { join, resolve } from "node:path";
import { replaceFile } from "../../platform/files/durable.ts";
import type { Parts } from "../../service/service.ts";
import { removeToken, tokenHash, tokenId } from "../../store/records/tokens.ts";

/** The file in the data folder, for its owner alone. */
const FILE = "admin.token";
const MODE = 0o600;

const log = getLogger(["hooklaunch"]);

/** Prints the token at a terminal, or else writes it to a file. Removes the token where neither can be done. */
export async function tellFirstToken({ newToken, store, settings }: Parts): Promise<void> {
  if (newToken === undefined) return;
  try {
    if (Deno.stderr.isTerminal()) {
      const shown = `\nYour operator's token, shown this once:\n\n  ${newToken}\n\n`;
      Deno.stderr.writeSync(new TextEncoder().encode(shown));
      return;
    }
    const file = resolve(join(settings.data, FILE));
    await replaceFile(file, `${newToken}\n`, MODE);
    log.warn(
      "The first operators' token is in {file}, which its owner alone can read. Take it from there, and " +
        "remove the file",
      { file },
    );
  } catch (error) {
    // Nobody would know it. The next start makes another one.
    await removeToken(store, tokenId(tokenHash(newToken)));
    throw error;
  }
}
