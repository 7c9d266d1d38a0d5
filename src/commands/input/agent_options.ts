/**
 * The options that name the address at which jobs on other machines reach the service.
 *
 * @module
 */
import { Option } from "commander";
import type { AgentAddress } from "../../engines/remote/agent.ts";
import { isSet, option, readText } from "./options.ts";

/** The values of the options. */
export interface AgentOptions {
  agentUrl?: string;
  agentCa?: string;
  agentHttp?: boolean;
}

/** Makes the options. */
export function agentOptions(): Option[] {
  return [
    option("--agent-url <url>", "the address of the service as jobs on other machines see it"),
    option("--agent-ca <file>", "certificates that these jobs trust, PEM"),
    new Option(
      "--agent-http",
      "let these jobs use plain HTTP, unencrypted (env: HOOKLAUNCH_AGENT_HTTP=true)",
    ),
  ];
}

/** Reads the address; undefined when none is named. */
export async function agentOf(
  { agentUrl, agentCa, agentHttp }: AgentOptions,
): Promise<AgentAddress | undefined> {
  const http = isSet("HOOKLAUNCH_AGENT_HTTP", agentHttp);
  if (agentUrl === undefined) return undefined;
  const ca = agentCa && await readText(agentCa, "the setting --agent-ca");
  return { url: agentUrl, http, ...(ca && { ca }) };
}
