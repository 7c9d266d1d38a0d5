/**
 * The local engine keeps the contract when it runs commands in containers of docker.
 *
 * @module
 */
import { containerContract } from "./containers.ts";

await containerContract("docker");
