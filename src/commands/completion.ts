/**
 * `hooklaunch completion`: completes commands and options in a shell.
 *
 * @module
 */
import { Argument, type Command } from "commander";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = typeof SHELLS[number];

/** The words that can follow some words of a command line. */
interface Words {
  /** The words before, such as `trigger secret`; empty for the first word. */
  after: string;
  words: readonly string[];
}

/** Defines the command. */
export function defineCompletion(command: Command): void {
  command.summary("Print a script that completes commands in a shell").description(
    "Print a script that completes commands and options in a shell.",
  )
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .addHelpText(
      "after",
      `
bash  source <(hooklaunch completion bash)            # in ~/.bashrc
zsh   source <(hooklaunch completion zsh)             # in ~/.zshrc, behind compinit
fish  hooklaunch completion fish | source             # in ~/.config/fish/config.fish`,
    )
    .action(print);
}

async function print(shell: Shell): Promise<void> {
  // A circle otherwise: the program lists this command.
  const { defineProgram } = await import("./program.ts");
  const program = await defineProgram(() => true);
  console.log(SCRIPTS[shell](wordsOf(program, "")));
}

function wordsOf(command: Command, after: string): Words[] {
  const commands = command.commands.map((each) => each.name());
  const options = command.createHelp().visibleOptions(command).flatMap(({ long }) => long ?? []);
  return [
    { after, words: [...commands, ...options] },
    ...command.commands.flatMap((inner) => wordsOf(inner, `${after} ${inner.name()}`.trim())),
  ];
}

const SCRIPTS: Readonly<Record<Shell, (all: readonly Words[]) => string>> = {
  bash: (all) =>
    `_hooklaunch() {
  local path="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
  local words
${words(all, "  ")}
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _hooklaunch hooklaunch`,
  zsh: (all) =>
    `#compdef hooklaunch
_hooklaunch() {
  local path="" word words_found
  for word in "\${words[@]:1:CURRENT-2}"; do
    case "$word" in -*) ;; *) path="\${path:+$path }$word" ;; esac
  done
${words(all, "  ").replaceAll("words=", "words_found=")}
  compadd -- \${(s: :)words_found}
  _files
}
compdef _hooklaunch hooklaunch`,
  fish: (all) =>
    all.map(({ after, words }) => {
      const condition = after === ""
        ? "__fish_use_subcommand"
        : after.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
      return `complete -c hooklaunch -n '${condition}' -a '${words.join(" ")}'`;
    }).join("\n"),
};

/** A `case` over the words before. What follows an argument, such as a name, is that of its command. */
function words(all: readonly Words[], indent: string): string {
  const longestFirst = all.toSorted((a, b) => b.after.length - a.after.length);
  const cases = longestFirst.map(({ after, words }) =>
    `${indent}  "${after}"${after === "" ? "" : `|"${after} "*`}) words="${words.join(" ")}" ;;`
  );
  return [`${indent}case "$path" in`, ...cases, `${indent}  *) words="" ;;`, `${indent}esac`].join(
    "\n",
  );
}
