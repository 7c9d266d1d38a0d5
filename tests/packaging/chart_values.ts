/** Values of the chart: each option by itself, and both modes. */

type Values = Record<string, unknown>;

/** What a Deployment needs. */
export const REMOTE: Values = {
  kv: "http://denokv:4512",
  storage: "s3://hooks/production",
  existingSecret: "hooks",
  replicas: 2,
};
const PROXIED = { trustedProxies: ["10.244.0.0/16", "::1"] };

export interface Case {
  values: Values;
  /** The kinds of objects beside Service, ServiceAccount, and the StatefulSet or Deployment. */
  kinds?: string[];
  /** What stands in the rendered text. */
  has?: string[];
}

export const CASES: Readonly<Record<string, Case>> = {
  "the defaults": {
    values: {},
    has: [
      'HOOKLAUNCH_HOST, value: "::"',
      "kind: StatefulSet",
      "--wait",
      "storage: 10Gi",
      "automountServiceAccountToken: false",
    ],
  },
  "a Deployment": {
    values: REMOTE,
    has: [
      "kind: Deployment",
      "replicas: 2",
      'value: "http://denokv:4512"',
      "http://$(POD_IP):8000",
      "maxUnavailable: 0",
      "emptyDir: {}",
    ],
  },
  "a Deployment with all": {
    values: {
      ...REMOTE,
      ...PROXIED,
      config: { triggers: [] },
      ingress: { enabled: true, hosts: ["a.example.com"] },
      kubernetesEngine: { enabled: true, namespace: "ml" },
      networkPolicy: { enabled: true },
      podDisruptionBudget: { enabled: true },
    },
    kinds: [
      "ConfigMap",
      "Ingress",
      "NetworkPolicy",
      "PodDisruptionBudget",
      "Role",
      "RoleBinding",
    ],
  },
  "an image by its digest": {
    values: { image: { repository: "r.example.com/h", digest: `sha256:${"a".repeat(64)}` } },
    has: [`image: "r.example.com/h@sha256:${"a".repeat(64)}"`],
  },
  "an image by its tag": {
    values: { image: { tag: "1", pullPolicy: "Always" }, imagePullSecrets: [{ name: "pull" }] },
    has: ['image: "hooklaunch:1"', "imagePullPolicy: Always", "- name: pull"],
  },
  "other names": {
    values: { fullnameOverride: "front", nameOverride: "other" },
    has: ["name: front", "app.kubernetes.io/name: other"],
  },
  "a public URL and proxies": {
    values: { publicUrl: "https://hooks.example.com", ...PROXIED },
    has: ['value: "https://hooks.example.com"', 'value: "10.244.0.0/16,::1"'],
  },
  "a configuration": {
    values: { config: { projects: [{ name: "digits", directory: "/data/digits" }] } },
    kinds: ["ConfigMap"],
    has: ["value: /etc/hooklaunch/hooklaunch.yaml", "directory: /data/digits"],
  },
  "a ConfigMap of the user's": {
    values: { existingConfigMap: "mine" },
    has: ['configMap: { name: "mine" }'],
  },
  "a Secret of the user's": {
    values: { existingSecret: "hooks", extraEnvFrom: [{ secretRef: { name: "more" } }] },
    has: ['secretRef: { name: "hooks" }', "name: more"],
  },
  "a claim of the user's": {
    values: { persistence: { existingClaim: "mine" } },
    has: ['claimName: "mine"'],
  },
  "another volume": {
    values: {
      persistence: {
        size: "2Ti",
        storageClass: "-",
        accessModes: ["ReadWriteOncePod"],
        annotations: { a: "b" },
      },
    },
    has: ["storage: 2Ti", 'storageClassName: ""', "- ReadWriteOncePod", "a: b"],
  },
  "a bucket": { values: { storage: "s3://hooks" }, has: ['value: "s3://hooks"'] },
  "Jobs in a namespace": {
    values: { kubernetesEngine: { enabled: true, namespace: "ml" }, publicUrl: "https://h.test" },
    kinds: ["Role", "RoleBinding"],
    has: [
      "namespace: ml",
      "automountServiceAccountToken: true",
      '{ name: HOOKLAUNCH_AGENT_URL, value: "https://h.test" }',
    ],
  },
  "Jobs over plain HTTP": {
    values: {
      kubernetesEngine: {
        enabled: true,
        agentUrl: "http://hooks-hooklaunch.hooks.svc:8000",
        agentHttp: true,
      },
    },
    kinds: ["Role", "RoleBinding"],
    has: ["HOOKLAUNCH_AGENT_HTTP", "namespace: hooks"],
  },
  "a load balancer": {
    values: { service: { type: "LoadBalancer", port: 443, annotations: { a: "b" } } },
    has: ["type: LoadBalancer", "port: 443"],
  },
  TLS: {
    values: { tls: { secretName: "cert" }, publicUrl: "https://h.test:8443" },
    has: ["scheme: HTTPS", "/etc/hooklaunch-tls/tls.crt", 'secretName: "cert"', "name: https"],
  },
  "an Ingress": {
    values: {
      ...PROXIED,
      ingress: {
        enabled: true,
        className: "nginx",
        annotations: { a: "b" },
        hosts: ["a.example.com", "b.example.com"],
        tlsSecretName: "cert",
      },
    },
    kinds: ["Ingress"],
    has: ['value: "https://a.example.com"', 'host: "b.example.com"', "secretName:"],
  },
  "an HTTPRoute": {
    values: {
      ...PROXIED,
      httpRoute: {
        enabled: true,
        parentRefs: [{ name: "public" }],
        hostnames: ["a.example.com"],
      },
    },
    kinds: ["HTTPRoute"],
    has: ['value: "https://a.example.com"', "backendRefs:"],
  },
  "a NetworkPolicy": {
    values: {
      networkPolicy: {
        enabled: true,
        from: [{ namespaceSelector: {} }],
        egress: [{ ports: [{ port: 443 }] }],
      },
    },
    kinds: ["NetworkPolicy"],
    has: ["policyTypes: [Ingress, Egress]", "namespaceSelector: {}"],
  },
  "a PodDisruptionBudget": {
    values: { podDisruptionBudget: { enabled: true, maxUnavailable: "50%" } },
    kinds: ["PodDisruptionBudget"],
    has: ["maxUnavailable: 50%"],
  },
  "a ServiceMonitor": {
    values: {
      publicUrl: "https://h.test:8443",
      tls: { secretName: "cert" },
      serviceMonitor: { enabled: true, labels: { a: "b" }, tokenSecret: { name: "token" } },
    },
    kinds: ["ServiceMonitor"],
    has: ['serverName: "h.test"', "key: token", "name: token"],
  },
  "an account of the user's": {
    values: { serviceAccount: { name: "mine" } },
    has: ["serviceAccountName: mine"],
  },
  "an annotated account": {
    values: { serviceAccount: { annotations: { "eks.amazonaws.com/role-arn": "arn" } } },
    has: ["eks.amazonaws.com/role-arn: arn"],
  },
  "more of the pod": {
    values: {
      extraEnv: [{ name: "HOOKLAUNCH_LOG_LEVEL", value: "debug" }],
      extraVolumes: [{ name: "keys", secret: { secretName: "keys" } }],
      extraVolumeMounts: [{ name: "keys", mountPath: "/home/deno/.ssh" }],
      extraArgs: ["--retention-days=7"],
      resources: {},
      podAnnotations: { a: "b" },
      podLabels: { c: "d" },
      nodeSelector: { e: "f" },
      tolerations: [{ operator: "Exists" }],
      affinity: { podAntiAffinity: {} },
      topologySpreadConstraints: [{
        maxSkew: 1,
        topologyKey: "zone",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: {},
      }],
      priorityClassName: "system-cluster-critical",
      drainSeconds: 1,
      terminationGracePeriodSeconds: 60,
      startupSeconds: 600,
    },
    has: [
      "HOOKLAUNCH_LOG_LEVEL",
      "mountPath: /home/deno/.ssh",
      '- "--retention-days=7"',
      "e: f",
      "failureThreshold: 300",
      "operator: Exists",
    ],
  },
};

/** Values that are refused, and what is said. */
export const REFUSED: readonly [values: Values, says: RegExp][] = [
  [{ replica: 2 }, /additional properties 'replica' not allowed/],
  [{ replicas: "2" }, /at '\/replicas': got string, want integer/],
  [{ publicUrl: "hooks.example.com" }, /at '\/publicUrl': 'hooks\.example\.com' does not match/],
  [{ publicUrl: "https://h.test/path" }, /at '\/publicUrl'/],
  [{ persistence: { size: "big" } }, /at '\/persistence\/size'/],
  [{ persistence: { accessModes: ["ReadWriteMany"] } }, /at '\/persistence\/accessModes\/0'/],
  [{ image: { pullPolicy: "Sometimes" } }, /must be one of 'Always', 'IfNotPresent', 'Never'/],
  [{ trustedProxies: ["the ingress"] }, /at '\/trustedProxies\/0'/],
  [{ storage: "gs://hooks" }, /at '\/storage'/],
  [{ ingress: { hosts: ["https://a.test"] } }, /at '\/ingress\/hosts\/0'/],
  [{ replicas: 2 }, /replicas: 2 needs kv and storage/],
  [{ ...REMOTE, storage: "" }, /kv needs storage/],
  [{ ...REMOTE, existingSecret: "" }, /kv needs existingSecret/],
  [{ ...REMOTE, tls: { secretName: "cert" } }, /tls\.secretName does not go with kv/],
  [{ config: { a: 1 }, existingConfigMap: "mine" }, /config or existingConfigMap, not both/],
  [{ ingress: { enabled: true, hosts: ["a.test"] } }, /need trustedProxies/],
  [{ ...PROXIED, ingress: { enabled: true } }, /needs ingress\.hosts/],
  [{ ...PROXIED, httpRoute: { enabled: true } }, /needs httpRoute\.parentRefs/],
  [{ kubernetesEngine: { enabled: true } }, /needs kubernetesEngine\.agentUrl or publicUrl/],
  [
    { kubernetesEngine: { enabled: true, agentUrl: "http://h.test" } },
    /use https, or set kubernetesEngine\.agentHttp/,
  ],
  [{ serviceMonitor: { enabled: true } }, /needs tls\.secretName/],
  [
    { serviceMonitor: { enabled: true }, tls: { secretName: "cert" } },
    /needs serviceMonitor\.tokenSecret\.name/,
  ],
];
