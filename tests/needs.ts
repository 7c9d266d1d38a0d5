/**
 * What some tests need of the machine beside Deno, git and a shell. A test that needs what is not
 * there is left out, and `deno task test` says so.
 *
 * @module
 */

/** The commands, and what is left out without them. */
export const OPTIONAL_COMMANDS = {
  busybox: "running steps in containers of an image that is made of it",
  caddy: "the printed configuration of Caddy in front of the service (Debian's package caddy)",
  "check-history":
    "what clients of instances recorded, read by porcupine (.ci/run builds it where go is)",
  "check-prometheus-rules":
    "reading and evaluating the alert rules as Prometheus does (.ci/run builds it where go is)",
  chromium: "the console in a real browser (Debian's package chromium-headless-shell or chromium)",
  curl: "pasting the demo's curl line into a shell",
  "deno-2.5.0": "the hosted service on an older Deno (.ci/run brings it)",
  denokv: "storing in a remote Deno KV on its own server, and not on one of the tests alone",
  docker: "running steps in containers of docker",
  "docker-compose": "the files of Compose as Compose reads them (Debian's package docker-compose)",
  gitea: "reading repositories by the API of a Gitea (.ci/run builds it where go is)",
  h2load: "launching faster than can be accepted (Debian's package nghttp2-client)",
  haproxy:
    "the printed configuration of HAProxy in front of the service (Debian's package haproxy)",
  helm: "the chart of a release (.ci/run builds it where go is)",
  kubelet: "running steps in a Kubernetes (.ci/run builds its programs where go is)",
  "lossy-network":
    "packets that are lost, delayed, doubled and overtaken between network namespaces (.ci/run builds it where go " +
    "is), which needs root and Debian's package iproute2",
  mount: "filling a small disk to its last byte",
  nginx:
    "the printed configuration of nginx in front of the service (Debian's package nginx-light)",
  nfpm: "the packages .deb and .rpm of a release (.ci/run builds it where go is)",
  openssl: "running the pages of the documentation, and the demo's curl line",
  podman: "running steps in containers of podman",
  rclone: "storing in an S3 bucket (go install github.com/rclone/rclone@latest)",
  slurmctld:
    "running steps on Slurm (Debian's packages slurmctld, slurmd, slurmrestd, slurm-client, munge, " +
    "slurm-wlm-basic-plugins and slurm-wlm-jwt-plugin), which needs root",
  sshd: "fetching over ssh with a deploy key",
  pebble: "getting certificates from an authority (.ci/run builds it where go is)",
  "systemd-analyze": "reading the documented unit as systemd does",
  strace: "writes that fail under the running service, and which files are on disk before a rename",
  traefik: "the printed configuration of Traefik in front of the service",
  unshare: "the programs of a pod's containers without a Kubernetes (needs root)",
  xfs_io: "cutting the power of a disk (Debian's package xfsprogs)",
} as const;

/** How it is seen that a command can be used, where it is not enough that it is there. */
const CHECKS: Readonly<Record<string, string>> = {
  docker: "docker info",
  kubelet: `for each in containerd runc ctr etcd ip openssl curl busybox dash flock; do
    command -v $each || exit 1; done; [ "$(id -u)" = 0 ]`,
  "lossy-network":
    `[ "$(id -u)" = 0 ] && [ -c /dev/net/tun ] && command -v ip && unshare --net --mount --pid --fork true`,
  mount: `(d=$(mktemp -d) && { mount -t tmpfs -o size=1m tmpfs "$d" && umount "$d"; code=$?
    rmdir "$d"; exit $code; })`,
  podman: "podman info",
  pebble: "command -v pebble-challtestsrv && command -v curl",
  // Debian's is older than `serve s3`.
  rclone: "rclone serve s3 --help",
  slurmctld:
    `[ "$(id -u)" = 0 ] && id munge && command -v slurmd slurmrestd munged runuser scontrol &&
    ls /usr/lib/*/slurm-wlm/auth_jwt.so`,
  strace: "strace -qq -o /dev/null -e trace=none true",
  unshare: "unshare --pid --fork true",
  xfs_io: `(d=$(mktemp -d) && truncate -s 4M "$d/i" && mkfs.ext4 -q "$d/i" && mkdir "$d/m" &&
    mount -o loop "$d/i" "$d/m" && umount "$d/m"; code=$?; rm -r "$d"; exit $code)`,
};

/** Something that the tests may need. */
export type Command = keyof typeof OPTIONAL_COMMANDS | "git";

/** Tells all test files which commands `deno task test` has found, separated by commas: it looks once for all. */
export const FOUND = "TESTS_FOUND_COMMANDS";
/** The variable with the folder in which the ports are noted that tests have taken; `deno task test` sets it. */
export const PORTS_FOLDER = "TESTS_PORTS_FOLDER";
/** The variable with the main module of the bundle that the tests start; `deno task test` sets it. */
export const BUNDLE = "TESTS_BUNDLE";

/** Commands that do as well as others. */
const INSTEAD: Readonly<Record<string, string>> = { chromium: "chromium-headless-shell" };

const looked = new Map<Command, boolean>();

/** Returns true when a command can be used. */
export function has(command: Command): boolean {
  const found = looked.get(command) ??
    Deno.env.get(FOUND)?.split(",").includes(command) ?? look(command);
  looked.set(command, found);
  return found;
}

/** Returns true when the shell finds a command that can be used. */
export function look(command: Command, env: Record<string, string> = {}): boolean {
  // Some systems have servers in the path of their administrator alone; .ci/run keeps what it builds itself.
  const check =
    `PATH="$PATH:/usr/sbin:/sbin:${"${XDG_CACHE_HOME:-$HOME/.cache}"}/hooklaunch/bin:${"${XDG_CACHE_HOME:-$HOME/.cache}"}/hooklaunch/kubernetes/bin"; { command -v ${
      INSTEAD[command] ?? command
    } || command -v ${command}; } && { ${CHECKS[command] ?? "true"}
}`;
  const options = { env, stdout: "null", stderr: "null" } as const;
  return new Deno.Command("sh", { args: ["-c", check], ...options }).outputSync().success;
}
