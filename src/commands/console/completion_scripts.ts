/**
 * The scripts that complete commands in shells. Names of a service are data: no shell evaluates them.
 *
 * @module
 */

/** The shells with completion. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** A shell with completion. */
export type Shell = typeof SHELLS[number];

/** The words that can follow some words of a command line. */
export interface Words {
  /** The words before, such as `trigger secret`; empty for the first word. */
  after: string;
  words: readonly string[];
  /** The kind of the service's names or ids that can follow, too. */
  values?: string;
  /** The options with a value, and what completes it. */
  options: readonly { name: string; words?: readonly string[]; values?: string }[];
}

/** The options that say which service is asked. */
const SERVICE = ["--url", "--context", "--env-file"];

export const SCRIPTS: Readonly<Record<Shell, (all: readonly Words[]) => string>> = {
  bash: (all) =>
    `_hooklaunch() {
  local path="" service=() before="" word words="" values="" value line=() isPart=""
  # bash ends a word at = and at a colon, too.
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    case "$word" in =*|:*) isPart=1 ;; esac
    if [ -n "$isPart" ] && [ \${#line[@]} -gt 0 ]; then line[\${#line[@]}-1]+="$word"; else line+=("$word"); fi
    case "$word" in *=|*:) isPart=1 ;; *) isPart="" ;; esac
  done
  local current="\${line[\${#line[@]}-1]}"
  for word in "\${line[@]:0:\${#line[@]}-1}"; do
${beforeCase(all)}
  done
  case "$current" in -*=*) before="\${current%%=*}"; current="\${current#*=}" ;; esac
${optionCase(all)}
  if [ -z "$words$values" ]; then
${pathCase(all)}
  fi
  COMPREPLY=()
  for word in $words; do
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done
  if [ -n "$values" ] && [[ $current != -* ]]; then
    current="\${current//\\\\/}"
    while IFS= read -r value; do
      [[ $value == "$current"* ]] && COMPREPLY+=("$(printf %q "$value")")
    done < <("\${COMP_WORDS[0]}" completion values "$values" "\${service[@]}" 2>/dev/null)
  fi
  if [ \${#COMPREPLY[@]} -eq 0 ]; then
    while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$current")
  fi
}
complete -F _hooklaunch hooklaunch`,
  zsh: (all) =>
    `#compdef hooklaunch
_hooklaunch() {
  local path_found="" before="" word words_found="" values_found=""
  local -a service found
  for word in "\${(@)words[2,CURRENT-1]}"; do
${beforeCase(all).replaceAll("path", "path_found")}
  done
${optionCase(all).replaceAll("$path", "$path_found").replaceAll(/\b(words|values)=/g, "$1_found=")}
  if [[ -z "$words_found$values_found" ]]; then
${
      pathCase(all).replaceAll("$path", "$path_found").replaceAll(
        /\b(words|values)=/g,
        "$1_found=",
      )
    }
  fi
  compadd -- \${(s: :)words_found}
  if [[ -n "$values_found" ]]; then
    found=("\${(@f)$(\${words[1]} completion values "$values_found" "\${service[@]}" 2>/dev/null)}")
    compadd -- "\${(@)found:#}"
  else
    _files
  fi
}
compdef _hooklaunch hooklaunch`,
  fish: (all) => all.flatMap(fishLines).join("\n"),
};

/** Finds the commands before the word, without options and their values; the options of the service go with it. */
function beforeCase(all: readonly Words[]): string {
  const withValue = [...new Set(all.flatMap(({ options }) => options.map(({ name }) => name)))];
  return `    case "$before" in
      ${SERVICE.join("|")}) service+=("$before" "$word"); before=""; continue ;;
      ${withValue.filter((name) => !SERVICE.includes(name)).join("|")}) before=""; continue ;;
    esac
    case "$word" in
      ${SERVICE.map((name) => `${name}=*`).join("|")}) service+=("$word"); before="" ;;
      -*=*) before="" ;;
      -*) before="$word" ;;
      *) before=""; path="\${path:+$path }$word" ;;
    esac`;
}

/** A `case` over the commands and the option before the word: most options mean the same in all commands. */
function optionCase(all: readonly Words[]): string {
  const meanings = new Map<string, Set<string>>();
  const completed = longestFirst(all).flatMap(({ after, options }) =>
    options.filter(({ words, values }) => words !== undefined || values !== undefined)
      .map(({ name, words, values }) => ({ after, name, does: assigned(words ?? [], values) }))
  );
  for (const { name, does } of completed) {
    meanings.getOrInsertComputed(name, () => new Set()).add(does);
  }
  const own = completed.filter(({ name }) => meanings.get(name)?.size !== 1)
    .map(({ after, name, does }) => `    "${after} "*"|${name}"|"${after}|${name}") ${does} ;;`);
  const same = [...meanings].filter(([, { size }]) => size === 1)
    .map(([name, [does]]) => `    *"|${name}") ${does} ;;`);
  return ['  case "$path|$before" in', ...own, ...same, "    *) ;;", "  esac"].join("\n");
}

/** A `case` over the commands. What follows an argument, such as a name, is that of its command. */
function pathCase(all: readonly Words[]): string {
  const cases = longestFirst(all).flatMap(({ after, words, values }) => {
    const first = `      "${after}") ${assigned(words, values)} ;;`;
    return after === "" ? [first] : [first, `      "${after} "*) ${assigned(words)} ;;`];
  });
  return ['    case "$path" in', ...cases, "      *) ;;", "    esac"].join("\n");
}

function assigned(words: readonly string[], values?: string): string {
  const set = `words="${words.join(" ")}"`;
  return values === undefined ? set : `${set}; values="${values}"`;
}

function longestFirst(all: readonly Words[]): readonly Words[] {
  return all.toSorted((a, b) => b.after.length - a.after.length);
}

function fishLines({ after, words, values, options }: Words): string[] {
  const condition = after === ""
    ? "__fish_use_subcommand"
    : after.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
  const line = (rest: string) => `complete -c hooklaunch -n '${condition}' ${rest}`;
  return [
    line(`-a '${words.join(" ")}'`),
    ...(values === undefined ? [] : [line(`-a '${fishValues(values)}'`)]),
    ...options.flatMap(({ name, words, values }) => {
      if (!name.startsWith("--")) return [];
      const completed = values === undefined ? words?.join(" ") : fishValues(values);
      return [
        line(`-l ${name.slice(2)} -r${completed === undefined ? "" : ` -f -a '${completed}'`}`),
      ];
    }),
  ];
}

function fishValues(kind: string): string {
  return `(hooklaunch completion values ${kind} 2>/dev/null)`;
}
