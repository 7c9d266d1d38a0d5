/**
 * A process whose user has another home: finds `main` of a project, checks it out where that is asked
 * for, and prints its commit. The environment is one for all tests that run at the same time, whose own
 * processes would have this home, too.
 *
 * @module
 */
import { systemClock } from "../../../src/platform/clock.ts";
import { Projects } from "../../../src/projects/projects.ts";

const [home = "", dataFolder = "", project = "", copy] = Deno.args;
Deno.env.set("HOME", home);
const projects = new Projects({ dataFolder, clock: systemClock });
const { commit } = await projects.resolve(JSON.parse(project), "main");
if (copy !== undefined) await projects.checkout(JSON.parse(project).name, commit, copy);
await projects.close();
console.log(commit);
