/**
 * Programs that are shaped like `secret-tool` and macOS's `security`: they keep secrets in files of a folder, and note
 * their arguments.
 *
 * @module
 */

const SECRET_TOOL = `#!/bin/sh
echo "secret-tool $*" >>"$KEYRING/arguments"
[ ! -e "$KEYRING/locked" ] || { echo "secret-tool: Cannot unlock the keyring" >&2; exit 1; }
for url; do :; done
[ "\${*##*service hooklaunch url }" = "$url" ] || exit 2
at="$KEYRING/$(printf %s "$url" | tr / _)"
case $1 in
store) cat >"$at" ;;
lookup) cat "$at" 2>/dev/null ;;
clear) rm "$at" ;;
esac
`;

const SECURITY = `#!/bin/sh
echo "security $*" >>"$KEYRING/arguments"
if [ "$1" = -i ]; then
  read -r line
  eval "set -- $line"
  # It tells nobody that a command has failed.
  [ ! -e "$KEYRING/locked" ] || exit 0
fi
[ ! -e "$KEYRING/locked" ] || { echo "security: The keychain is locked" >&2; exit 36; }
case $1 in
add-generic-password) [ "$3 $4" = "-s hooklaunch" ] && printf %s "$8" >"$KEYRING/$(printf %s "$6" | tr / _)" ;;
find-generic-password) [ "$2 $6" = "-s -w" ] && cat "$KEYRING/$(printf %s "$5" | tr / _)" 2>/dev/null ;;
delete-generic-password) rm "$KEYRING/$(printf %s "$5" | tr / _)" ;;
esac
`;

/** The programs of a keyring, and its content. */
export interface Keyring {
  /** The variables with which a command finds the programs. */
  env: Record<string, string>;
  /** The secrets that it has. */
  secrets(): Promise<string[]>;
  /** The arguments of all calls, one a line. */
  calls(): Promise<string>;
  /** Locks it, or unlocks it. */
  lock(isLocked: boolean): Promise<void>;
}

/** Makes a keyring in a folder. */
export async function makeKeyring(folder: string): Promise<Keyring> {
  const [bin, kept] = [`${folder}/bin`, `${folder}/keyring`];
  for (const path of [bin, kept]) await Deno.mkdir(path);
  for (const [name, text] of [["secret-tool", SECRET_TOOL], ["security", SECURITY]] as const) {
    await Deno.writeTextFile(`${bin}/${name}`, text, { mode: 0o755 });
  }
  const others = ["arguments", "locked"];
  return {
    env: { PATH: `${bin}:${Deno.env.get("PATH")}`, KEYRING: kept },
    async secrets() {
      const names = (await Array.fromAsync(Deno.readDir(kept))).map(({ name }) => name);
      const own = names.filter((name) => !others.includes(name));
      return await Promise.all(own.map((name) => Deno.readTextFile(`${kept}/${name}`)));
    },
    calls: () => Deno.readTextFile(`${kept}/arguments`),
    lock: (isLocked) =>
      isLocked ? Deno.writeTextFile(`${kept}/locked`, "") : Deno.remove(`${kept}/locked`),
  };
}
