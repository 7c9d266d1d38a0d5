/**
 * The agent of a job, as the script that an engine hands to a machine.
 *
 * @module
 */
import { InvalidInputError } from "../../platform/errors.ts";
import { isLoopback } from "../../platform/network/ip_ranges.ts";
import { isBaseUrl } from "../../platform/network/urls.ts";
import { shellQuote } from "../../platform/shell.ts";
import agent from "./agent.sh" with { type: "text" };
import command from "./agent/command.sh" with { type: "text" };
import files from "./agent/files.sh" with { type: "text" };
import log from "./agent/log.sh" with { type: "text" };
import requests from "./agent/requests.sh" with { type: "text" };

/** The address at which jobs reach the service. */
export interface AgentAddress {
  /** The service's base URL, such as `https://hooks.example.com`. */
  url: string;
  /** The certificates that jobs trust in place of their machines' own, PEM. */
  ca?: string;
  /** Jobs may use plain HTTP: tokens, code and data then travel in the clear. */
  http?: boolean;
}

/** The job that an agent does. */
interface AgentJob extends Pick<AgentAddress, "url" | "ca"> {
  executionId: string;
  /** The token of this execution's job. */
  token: string;
}

/** Returns the script of a job's agent. It holds the job's token. */
export function agentScript({ url, ca = "", executionId, token }: AgentJob): string {
  const base = `${url.replace(/\/+$/, "")}/api/v0/jobs/${executionId}`;
  return [
    "#!/bin/sh",
    // A variable of the machine with one of these names would be passed on to the command.
    "unset url token ca",
    `url=${shellQuote(base)}`,
    `token=${shellQuote(token)}`,
    `ca=${shellQuote(ca)}`,
    requests,
    log,
    command,
    files,
    agent,
  ].join("\n");
}

/**
 * Checks the address at which jobs reach the service.
 *
 * @param isElsewhere true when the jobs run on other machines
 * @throws {InvalidInputError} when they cannot reach it, or must not
 */
export function checkAgentAddress(
  { url, http = false }: AgentAddress,
  { isElsewhere }: { isElsewhere: boolean },
): void {
  const refuse = (expected: string) => {
    throw new InvalidInputError("the setting --agent-url", `Expected ${expected}, found "${url}"`);
  };
  if (!isBaseUrl(url)) {
    refuse(
      "a URL such as https://hooks.example.com, without a query, a fragment or a password",
    );
  }
  const { protocol, hostname } = new URL(url);
  if (protocol === "http:" && !http) {
    refuse("an https URL, as jobs send tokens and data there (--agent-http allows plain HTTP)");
  }
  if (isElsewhere && isOfThisMachine(hostname)) {
    refuse("an address that other machines reach, as jobs of this engine run there");
  }
}

function isOfThisMachine(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const isUnspecified = host === "0.0.0.0" || host === "::";
  return isUnspecified || isLoopback(host) || /^::ffff:7f/.test(host) ||
    host === "localhost" || host.endsWith(".localhost");
}
