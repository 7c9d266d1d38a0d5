/**
 * A real Slurm with two nodes on this machine, on loopback alone: munged, slurmctld, two slurmd and slurmrestd.
 *
 * @module
 */
import { join } from "node:path";
import { eventually, freePort } from "../../surroundings.ts";

/** Ports, in the order of the configuration: the controller, two nodes, slurmrestd. */
type Ports = [number, number, number, number];

const START = `
set -eu
D=$1 controller=$2 n1=$3 n2=$4
H=$(hostname -s)
mkdir -p "$D/state" "$D/spool-n1" "$D/spool-n2" "$D/log" "$D/run" "$D/munge" "$D/jobs"
dd if=/dev/urandom bs=1 count=1024 of="$D/munge/key" status=none
chmod 400 "$D/munge/key"
chown -R munge:munge "$D/munge"
chmod 755 "$D" "$D/munge"
dd if=/dev/urandom bs=32 count=1 of="$D/jwt.key" status=none
chmod 600 "$D/jwt.key"
cat >"$D/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$H(127.0.0.1)
SlurmctldPort=$controller
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$D/munge/socket
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=$D/jwt.key
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0,defer_batch=0
StateSaveLocation=$D/state
SlurmdSpoolDir=$D/spool-%n
SlurmctldPidFile=$D/run/slurmctld.pid
SlurmdPidFile=$D/run/slurmd-%n.pid
SlurmctldLogFile=$D/log/slurmctld.log
SlurmdLogFile=$D/log/slurmd-%n.log
SwitchType=switch/none
MpiDefault=none
JobRequeue=0
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=3600
KillWait=5
SlurmdTimeout=10
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
GresTypes=gpu
NodeName=n1 NodeHostname=$H NodeAddr=127.0.0.1 Port=$n1 CPUs=8 RealMemory=4000 Gres=gpu:1
NodeName=n2 NodeHostname=$H NodeAddr=127.0.0.1 Port=$n2 CPUs=8 RealMemory=4000
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP DefMemPerCPU=64
END
echo "NodeName=n1 Name=gpu File=/dev/null" >"$D/gres.conf"
runuser -u munge -- munged --socket="$D/munge/socket" --key-file="$D/munge/key" \\
  --pid-file="$D/munge/pid" --log-file="$D/munge/log" --seed-file="$D/munge/seed"
slurmctld
slurmd -N n1
slurmd -N n2
for i in $(seq 100); do
  [ "$(sinfo -h -o %T | sort -u)" = idle ] && break
  sleep 0.1
done
`;

const START_REST = `
setsid setpriv --reuid nobody --regid nogroup --clear-groups env SLURM_JWT=daemon \\
  slurmrestd -a rest_auth/jwt -s openapi/v0.0.38 "127.0.0.1:$2" >"$1/log/slurmrestd.log" 2>&1 </dev/null &
echo $! >"$1/run/slurmrestd.pid"`;

/** Ends a node with all that runs on it, as the loss of its machine does. */
const KILL_NODE = `
kill -KILL "$(cat "$1/run/slurmd-$2.pid")"
stepds= rest=
for process in $(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$1/jobs*" 2>/dev/null); do
  process=\${process%/cwd}
  tr '\\0' '\\n' <"$process/environ" | grep -qxE "(SLURMD_NODENAME|SLURM_JOB_NODELIST)=$2" || continue
  rest="$rest \${process#/proc/}"
  parent=$(sed -n 's/^PPid:[^0-9]*//p' "$process/status")
  case $(tr '\\0' ' ' <"/proc/$parent/cmdline") in slurmstepd:*) stepds="$stepds $parent" ;; esac
done
kill -KILL $stepds $rest
true`;

const STOP = `
for each in slurmrestd slurmd-n1 slurmd-n2 slurmctld; do
  kill -KILL "$(cat "$1/run/$each.pid")" 2>/dev/null
done
kill "$(cat "$1/munge/pid")" 2>/dev/null
find /proc/[0-9]*/cwd -maxdepth 0 -lname "$1*" 2>/dev/null | while IFS=/ read -r root proc pid cwd; do
  kill -KILL "$pid"
done
true`;

/** A cluster that runs. */
export class SlurmCluster implements AsyncDisposable {
  readonly #folder: string;
  readonly #ports: Ports;

  private constructor(folder: string, ports: Ports) {
    this.#folder = folder;
    this.#ports = ports;
  }

  /** Starts a cluster. */
  static async start(): Promise<SlurmCluster> {
    const [controller, n1, n2, rest] = [freePort(), freePort(), freePort(), freePort()];
    // The socket of munge has a path of at most 107 bytes.
    const folder = await Deno.makeTempDir({ dir: "/tmp", prefix: "hl-slurm-" });
    const cluster = new SlurmCluster(folder, [controller, n1, n2, rest]);
    await cluster.#run(START, controller, n1, n2);
    await cluster.#run(START_REST, rest);
    await Deno.writeTextFile(cluster.tokenFile, await cluster.newToken());
    await eventually(async () => {
      const answer = await fetch(cluster.url).catch(() => undefined);
      await answer?.body?.cancel();
      return answer !== undefined || undefined;
    });
    return cluster;
  }

  /** The address of slurmrestd. */
  get url(): string {
    return `http://127.0.0.1:${this.#ports[3]}`;
  }

  /** A file with a token of the user root. */
  get tokenFile(): string {
    return join(this.#folder, "token");
  }

  /** The folder that jobs work in. */
  get jobs(): string {
    return join(this.#folder, "jobs");
  }

  /** The settings of a project's engine. */
  settings(fields: Record<string, unknown> = {}) {
    const environment = {
      PATH: "/usr/bin:/bin",
      HOOKLAUNCH_TICK: "0.25",
      HOOKLAUNCH_SILENCE: "0.3",
    };
    return {
      type: "slurm",
      url: this.url,
      api: "v0.0.38",
      user: "root",
      token: `{file:${this.tokenFile}}`,
      folder: this.jobs,
      extra: { environment },
      ...fields,
    };
  }

  /** Makes a token. */
  async newToken(): Promise<string> {
    const said = await this.#run("scontrol token username=root lifespan=36000");
    return said.trim().replace(/^SLURM_JWT=/, "");
  }

  /** Runs a command of Slurm's. */
  command(text: string): Promise<string> {
    return this.#run(text);
  }

  /** Kills the controller. */
  async killController(): Promise<void> {
    await this.#run('kill -KILL "$(cat "$1/run/slurmctld.pid")"');
  }

  /** Starts the controller again. */
  async startController(): Promise<void> {
    await this.#run("slurmctld >/dev/null 2>&1 </dev/null");
  }

  /** Kills slurmrestd. */
  async killRest(): Promise<void> {
    await this.#run('kill -KILL "$(cat "$1/run/slurmrestd.pid")"');
  }

  /** Starts slurmrestd again. */
  async startRest(): Promise<void> {
    await this.#run(START_REST, this.#ports[3]);
  }

  /** Kills a node, `n1` or `n2`, with all jobs that run there. */
  async killNode(name: string): Promise<void> {
    await this.#run(KILL_NODE, name);
  }

  /** Starts a node again. */
  async startNode(name: string): Promise<void> {
    await this.#run('slurmd -N "$2" >/dev/null 2>&1 </dev/null', name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#run(STOP);
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #run(script: string, ...args: (number | string)[]): Promise<string> {
    const { stdout, stderr, success } = await new Deno.Command("sh", {
      args: ["-c", script, "sh", this.#folder, ...args.map(String)],
      env: {
        SLURM_CONF: join(this.#folder, "slurm.conf"),
        PATH: `${Deno.env.get("PATH")}:/usr/sbin:/sbin`,
      },
      cwd: "/",
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  }
}
