#!/bin/sh
# Runs a whole Kubernetes on loopback, as root: containerd, etcd, API server, controller manager, scheduler and
# one kubelet. Prints "ready", and ends all when its standard input ends. Only one runs at a time on a machine.
# Usage: start.sh PROGRAMS FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$1/bin
lock=$1/lock
images=$1/images
mkdir -p "$2"
cd "$2"
folder=$PWD
PATH="$PATH:/usr/sbin:/sbin"
api=16443
etcd=16379
exec 8>>"$lock"
flock 8
mkdir -p pki log pid cni containerd etcd kubelet

# begin NAME PROGRAM...: starts a program of the cluster. "start-NAME" starts it again.
begin() {
  name=$1
  shift
  {
    echo '#!/bin/sh'
    printf "exec 8>&-\n"
    printf "'%s' " "$@"
    printf '>>%s 2>&1 </dev/null &\necho $! >%s\n' "'$folder/log/$name'" "'$folder/pid/$name'"
  } >"start-$name"
  sh "./start-$name"
}

# end NAME SIGNAL
end() {
  { read -r process <"pid/$1" && kill -s "$2" "$process"; } 2>/dev/null || :
}

stop() {
  for name in kubelet scheduler controller-manager apiserver; do
    end "$name" TERM
  done
  for task in $(ctr -a "$folder/containerd.sock" -n k8s.io tasks ls -q 2>/dev/null); do
    ctr -a "$folder/containerd.sock" -n k8s.io tasks kill -s KILL "$task" 2>/dev/null || :
  done
  sleep 1
  for name in etcd containerd kubelet apiserver; do
    end "$name" TERM
  done
  sleep 1
  for name in kubelet apiserver etcd containerd; do
    end "$name" KILL
  done
  ip link del "$bridge" 2>/dev/null || :
  # What the kubelet and containerd have mounted.
  grep -o " $folder/[^ ]*" /proc/mounts | sort -r | while read -r mounted; do
    umount -l "$mounted" 2>/dev/null || :
  done
}
trap stop EXIT
trap 'exit 1' HUP INT TERM

# wait_for SECONDS COMMAND...
wait_for() {
  left=$(($1 * 5))
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then
      echo "this does not work: $*" >&2
      tail -n 5 log/* >&2
      exit 1
    fi
    sleep 0.2
  done
}

# Pods without the network of the node reach each other and the node; there are no Services.
bridge=hooklaunch0
cat >cni/10-bridge.conflist <<END
{"cniVersion":"0.4.0","name":"pods","plugins":[{"type":"bridge","bridge":"$bridge","isGateway":true,
  "ipam":{"type":"host-local","dataDir":"$folder/ipam","routes":[{"dst":"0.0.0.0/0"}],
  "ranges":[[{"subnet":"10.244.254.0/24"}]]}}]}
END
cat >containerd.toml <<END
version = 2
root = "$folder/containerd/root"
state = "$folder/containerd/state"
[grpc]
  address = "$folder/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/test/pause:1"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$folder/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
END
# The kubelet refuses 127.0.0.0/8 as the address of its node.
ip addr show dev lo | grep -q 10.244.255.1 || ip addr add 10.244.255.1/32 dev lo
# The address by which pods know the API server: a test that needs it there forwards it.
ip addr show dev lo | grep -q 10.96.0.1 || ip addr add 10.96.0.1/32 dev lo
begin containerd containerd -c "$folder/containerd.toml"
begin etcd etcd --data-dir "$folder/etcd" --unsafe-no-fsync \
  --listen-client-urls "http://127.0.0.1:$etcd" --advertise-client-urls "http://127.0.0.1:$etcd" \
  --listen-peer-urls http://127.0.0.1:16380 --initial-advertise-peer-urls http://127.0.0.1:16380 \
  --initial-cluster default=http://127.0.0.1:16380
openssl genrsa -out pki/service_accounts.key 2048 2>/dev/null
echo 'administrator,administrator,1,"system:masters"' >tokens.csv
begin apiserver "$bin/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd" \
  --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --secure-port "$api" --cert-dir "$folder/pki" \
  --service-account-key-file "$folder/pki/service_accounts.key" \
  --service-account-signing-key-file "$folder/pki/service_accounts.key" \
  --service-account-issuer https://kubernetes.default.svc --service-cluster-ip-range 10.96.0.0/16 \
  --token-auth-file "$folder/tokens.csv" --authorization-mode Node,RBAC --allow-privileged=true \
  --endpoint-reconciler-type none
wait_for 60 curl -sf --cacert pki/apiserver.crt -H 'Authorization: Bearer administrator' \
  "https://127.0.0.1:$api/readyz"
cat >kubeconfig <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$api", certificate-authority: pki/apiserver.crt}}]
users: [{name: u, user: {token: administrator}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
END
if [ ! -s "$images/empty.tar" ]; then sh "$here/images.sh" "$images"; fi
for image in pause agent tools shell empty; do
  ctr -a "$folder/containerd.sock" -n k8s.io images import "$images/$image.tar" >/dev/null
done
# The image of the bundled pipeline's steps.
ctr -a "$folder/containerd.sock" -n k8s.io images tag docker.io/test/tools:1 \
  docker.io/library/busybox:stable >/dev/null
begin controller-manager "$bin/kube-controller-manager" --kubeconfig "$folder/kubeconfig" \
  --bind-address 127.0.0.1 --service-account-private-key-file "$folder/pki/service_accounts.key" \
  --root-ca-file "$folder/pki/apiserver.crt" \
  --leader-elect=false --node-monitor-grace-period=20s
begin scheduler "$bin/kube-scheduler" --kubeconfig "$folder/kubeconfig" --bind-address 127.0.0.1 \
  --leader-elect=false
cat >kubelet.yaml <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: 16250
readOnlyPort: 0
healthzPort: 16248
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupsPerQOS: true
enforceNodeAllocatable: []
failSwapOn: false
containerRuntimeEndpoint: unix://$folder/containerd.sock
imageMinimumGCAge: 24h
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi}
maxPods: 110
resolvConf: ""
failCgroupV1: false
localStorageCapacityIsolation: false
END
begin kubelet "$bin/kubelet" --config "$folder/kubelet.yaml" --kubeconfig "$folder/kubeconfig" \
  --root-dir "$folder/kubelet" --hostname-override localhost --node-ip 10.244.255.1 \
  --cert-dir "$folder/pki/kubelet"
is_ready() {
  curl -sf --cacert pki/apiserver.crt -H 'Authorization: Bearer administrator' \
    "https://127.0.0.1:$api/api/v1/nodes/localhost" | grep -q '"reason": *"KubeletReady"'
}
wait_for 120 is_ready
echo ready
cat >/dev/null
