/** The install script, beside a release of the test. */
import { assertEquals } from "@std/assert";
import { has } from "../needs.ts";
import { temporaryFolder } from "../surroundings.ts";

const SCRIPT = new URL("../../src/packaging/install.sh", import.meta.url);
const RELEASE = `
name=hooklaunch-1.2.3
mkdir $name
printf '#!/bin/sh\necho "version $1"\n' >$name/hooklaunch
chmod +x $name/hooklaunch
tar czf $name-${Deno.build.target}.tar.gz $name/hooklaunch
if command -v sha256sum >/dev/null; then sum=sha256sum; else sum="shasum -a 256"; fi
$sum *.tar.gz >SHA256SUMS
mkdir elsewhere
cd elsewhere
umask 077
PREFIX=own/prefix sh ../install.sh >&2
find own ! -perm -005
exec own/prefix/bin/hooklaunch stays
`;

Deno.test({
  name: "the installer installs into a folder that is named from where one is, for all users",
  ignore: !has("curl"),
  async fn() {
    await using folder = await temporaryFolder();
    const text = (await Deno.readTextFile(SCRIPT))
      .replaceAll("@VERSION@", "1.2.3").replaceAll("@URL@", `file://${folder.path}`);
    await Deno.writeTextFile(`${folder.path}/install.sh`, text);
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-ec", RELEASE],
      cwd: folder.path,
    }).output();
    const printed = new TextDecoder().decode(stdout);
    assertEquals([code, printed], [0, "version stays\n"], new TextDecoder().decode(stderr));
  },
});
