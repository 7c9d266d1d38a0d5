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
own/prefix/bin/hooklaunch stays
# Its folder is that for data, too, by the convention of desktops.
touch own/prefix/share/hooklaunch/kv.sqlite
if PREFIX=own/prefix sh ../install.sh >&2; then exit 9; fi
rm own/prefix/share/hooklaunch/kv.sqlite
PREFIX=own/prefix sh ../install.sh >&2
exec own/prefix/bin/hooklaunch again
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
    assertEquals(
      [code, printed],
      [0, "version stays\nversion again\n"],
      new TextDecoder().decode(stderr),
    );
  },
});

/** Programs that the scripts of packages call: they note their arguments, and of a service that is masked. */
const PROGRAMS = `
mkdir -p bin run etc
chmod 700 etc
for each in getent groupadd useradd chgrp systemctl; do
  printf '#!/bin/sh\\necho "%s $*" >>"$CALLS"\\n' $each >bin/$each
  chmod +x bin/$each
done
echo 'exit 2' >>bin/getent
echo 'case $1 in *-restart|disable) echo "Unit hooklaunch.service is masked." >&2; exit 1;; esac' >>bin/systemctl
export CALLS="$PWD/calls" PATH="$PWD/bin:$PATH"
`;

Deno.test({
  name: "a package is installed, upgraded and removed where its service is masked",
  ignore: Deno.build.os !== "linux",
  fn: tryScripts,
});

async function tryScripts(): Promise<void> {
  await using folder = await temporaryFolder();
  for (const name of ["postinstall.sh", "preremove.sh"]) {
    const text = await Deno.readTextFile(new URL(name, SCRIPT));
    const own = text.replaceAll("/etc/hooklaunch", `${folder.path}/etc`)
      .replaceAll("/run/systemd/system", `${folder.path}/run`);
    await Deno.writeTextFile(`${folder.path}/${name}`, own);
  }
  const script = `${PROGRAMS}
    sh postinstall.sh configure
    cp etc/environment before
    sh postinstall.sh configure 1.0.0
    cmp before etc/environment
    sh preremove.sh upgrade 1.0.1
    sh preremove.sh remove
    stat -c %a etc etc/environment
    grep -c '^HOOKLAUNCH_ADMIN_TOKEN=[0-9a-f]\\{64\\}$' etc/environment
    grep -v getent calls | sort | uniq -c | tr -s ' '`;
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-ec", script],
    cwd: folder.path,
  }).output();
  const [printed, told] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals(code, 0, told);
  assertEquals(printed?.split("\n").slice(1), [
    "750",
    "600",
    "1",
    ` 2 chgrp hooklaunch ${folder.path}/etc`,
    " 2 groupadd --system hooklaunch",
    " 2 systemctl daemon-reload",
    " 1 systemctl disable --now hooklaunch",
    " 2 systemctl try-restart hooklaunch",
    " 2 useradd --system --gid hooklaunch --home-dir /var/lib/hooklaunch --shell /usr/sbin/nologin hooklaunch",
    "",
  ]);
}
