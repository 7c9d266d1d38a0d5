/**
 * The files with which a job fetches its code: they go from memory to its agent, and hold the credentials.
 *
 * @module
 */
import { createTarPacker } from "modern-tar";
import type { JobCode } from "../../projects/code/job_code.ts";
import fetchScript from "./agent/code.sh" with { type: "text" };

/** The folder of these files in a job's folder. */
export const CODE_FOLDER = "control/code";
/** Seconds without a byte after which a transfer is given up. */
const STALL_S = 120;
/** Settings for git: it follows no redirect, runs no hook and does no background work. */
const GIT_SETTINGS = `[http]
	followRedirects = false
	lowSpeedLimit = 1
	lowSpeedTime = ${STALL_S}
[core]
	hooksPath = /dev/null
[gc]
	auto = 0
[maintenance]
	auto = false
`;
/** Has git read credentials from the file, and from nowhere else. */
const GIT_CREDENTIALS = `[credential]
	helper =
	helper = "!f() { test \\"$1\\" = get && cat \\"$HOOKLAUNCH_CODE/credentials\\"; }; f"
`;

/** Returns the files as a tar archive. */
export function codeTar(code: JobCode): ReadableStream<Uint8Array> {
  const { readable, controller } = createTarPacker();
  const add = async (): Promise<void> => {
    for (const [name, text] of filesOf(code)) {
      const bytes = new TextEncoder().encode(text);
      const writer = controller.add({ name, type: "file", size: bytes.length, mode: 0o600 })
        .getWriter();
      await writer.write(bytes);
      await writer.close();
    }
  };
  // Whoever reads it is told. One who has gone has ended it already.
  add().then(() => controller.finalize(), (error) => controller.error(error));
  return readable;
}

function filesOf({ url, commit, username, password, archive }: JobCode): [string, string][] {
  const hasCredentials = username + password !== "";
  return [
    ["fetch", fetchScript],
    ["url", url],
    ["commit", commit],
    [".gitconfig", GIT_SETTINGS + (hasCredentials ? GIT_CREDENTIALS : "")],
    ...hasCredentials
      ? [["credentials", `username=${username}\npassword=${password}\n`] as [string, string]]
      : [],
    ...archive === undefined ? [] : [["archive", curlConfig(archive)] as [string, string]],
  ];
}

/** Returns the configuration of curl for an archive. Other hosts get no credentials behind a redirect. */
function curlConfig({ url, headers }: NonNullable<JobCode["archive"]>): string {
  const scheme = url.startsWith("https:") ? "=https" : "=http,https";
  return [
    `url = ${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `header = ${quoted(`${name}: ${value}`)}`),
    `user-agent = "Hooklaunch"`,
    ...["silent", "show-error", "fail", "location"],
    "max-redirs = 5",
    `proto = "${scheme}"`,
    `proto-redir = "${scheme}"`,
    "connect-timeout = 10",
    "speed-limit = 1",
    `speed-time = ${STALL_S}`,
    "",
  ].join("\n");
}

function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}
