/**
 * Ends the process where Deno is too old, with what to do. The tasks run this first, as an older Deno
 * cannot read the lock file either; so it has no imports, and syntax that every Deno reads.
 *
 * @module
 */
const NEEDED = "2.9.6";

if (isBefore(Deno.version.deno, NEEDED)) {
  console.error(
    `hooklaunch: needs Deno ${NEEDED} or later, found ${Deno.version.deno}. ` +
      `Update it with: deno upgrade. Or run it with: npx -y deno@${NEEDED}`,
  );
  Deno.exit(1);
}

function isBefore(version: string, needed: string): boolean {
  // localeCompare would load the tables of ICU: 6 ms of each start.
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(parseFloat);
  const [neededMajor = 0, neededMinor = 0, neededPatch = 0] = needed.split(".").map(Number);
  if (major !== neededMajor) return major < neededMajor;
  return minor === neededMinor ? patch < neededPatch : minor < neededMinor;
}
