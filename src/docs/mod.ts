/**
 * The pages of the documentation: Markdown files in this folder, embedded in the program.
 *
 * @module
 */

/** A page. Its text is loaded when it is read. */
export interface Page {
  /** The name of its file, without `.md`. */
  name: string;
  /** The first heading of the file. */
  title: string;
  /** One line on its content. */
  about: string;
  read(): Promise<{ default: string }>;
}

/** A group of pages in the table of contents. */
interface Section {
  title: string;
  pages: readonly Page[];
}

/** The index: on a code host the page of this folder, in the service the page at `/docs/`. */
export const INDEX: Page = {
  name: "README",
  title: "Hooklaunch documentation",
  about: "every page in one line",
  read: () => import("./README.md", { with: { type: "text" } }),
};

/** The pages in their order. */
export const SECTIONS: readonly Section[] = [
  {
    title: "Start",
    pages: [
      {
        name: "getting_started",
        title: "Getting started",
        about: "a first trigger that GitHub calls, step by step",
        read: () => import("./getting_started.md", { with: { type: "text" } }),
      },
      {
        name: "install",
        title: "Install",
        about: "npm, an installer, packages of systems, archives: how to get it and upgrade it",
        read: () => import("./install.md", { with: { type: "text" } }),
      },
      {
        name: "choose",
        title: "Is it for you?",
        about: "beside adnanh/webhook, n8n, Argo Events, Windmill, Trigger.dev and Hookdeck",
        read: () => import("./choose.md", { with: { type: "text" } }),
      },
      {
        name: "from_webhook",
        title: "From adnanh/webhook",
        about: "converts its hooks, and says what is different",
        read: () => import("./from_webhook.md", { with: { type: "text" } }),
      },
      {
        name: "providers",
        title: "Providers",
        about: "how to set up GitHub, GitLab, Slack, Stripe and others; the table of presets",
        read: () => import("./providers.md", { with: { type: "text" } }),
      },
      {
        name: "doctor",
        title: "Why does my signature not match?",
        about: "finds out why a signature or a token is refused",
        read: () => import("./doctor.md", { with: { type: "text" } }),
      },
      {
        name: "troubleshooting",
        title: "Troubleshooting",
        about: "what refusals and errors mean, and what to do",
        read: () => import("./troubleshooting.md", { with: { type: "text" } }),
      },
    ],
  },
  {
    title: "Triggers",
    pages: [
      {
        name: "triggers",
        title: "Triggers",
        about: "the fields of a trigger, its response, its log and its runs",
        read: () => import("./triggers.md", { with: { type: "text" } }),
      },
      {
        name: "deliveries",
        title: "Deliveries",
        about: "every request at a launch URL: how to find it, and what came of it",
        read: () => import("./deliveries.md", { with: { type: "text" } }),
      },
      {
        name: "replays",
        title: "Replays",
        about: "launching deliveries again: one, or all that a filter finds",
        read: () => import("./replays.md", { with: { type: "text" } }),
      },
      {
        name: "pace",
        title: "Pace",
        about: "bursts that become one run, runs that follow each other, delays and schedules",
        read: () => import("./pace.md", { with: { type: "text" } }),
      },
      {
        name: "requests",
        title: "Requests and answers",
        about: "what a sender gets, and how it asks for the result of a run",
        read: () => import("./requests.md", { with: { type: "text" } }),
      },
      {
        name: "conditions",
        title: "Conditions",
        about: "every kind of condition and its settings",
        read: () => import("./conditions.md", { with: { type: "text" } }),
      },
      {
        name: "payload_filters",
        title: "Payload filters",
        about: "which payloads pass: lists and expressions",
        read: () => import("./payload_filters.md", { with: { type: "text" } }),
      },
      {
        name: "actions",
        title: "Actions",
        about: "what a trigger launches",
        read: () => import("./actions.md", { with: { type: "text" } }),
      },
      {
        name: "http_requests",
        title: "Work elsewhere",
        about: "actions that start work in other systems, and wait for its end",
        read: () => import("./http_requests.md", { with: { type: "text" } }),
      },
    ],
  },
  {
    title: "Work",
    pages: [
      {
        name: "projects",
        title: "Projects",
        about: "repositories and folders with what can run",
        read: () => import("./projects.md", { with: { type: "text" } }),
      },
      {
        name: "steps",
        title: "Steps",
        about: "`valohai.yaml`: commands, parameters, inputs, outputs",
        read: () => import("./steps.md", { with: { type: "text" } }),
      },
      {
        name: "secrets",
        title: "Secrets for steps",
        about: "tokens and keys that steps name: which branches get them, and what masks them",
        read: () => import("./secrets.md", { with: { type: "text" } }),
      },
      {
        name: "pipelines",
        title: "Pipelines",
        about: "nodes, edges, approval, reuse",
        read: () => import("./pipelines.md", { with: { type: "text" } }),
      },
      {
        name: "engines",
        title: "Engines",
        about: "where the commands run, and with what limits",
        read: () => import("./engines.md", { with: { type: "text" } }),
      },
      {
        name: "slurm",
        title: "Slurm",
        about: "commands as jobs of a Slurm cluster: what it must allow, GPUs, what it says",
        read: () => import("./slurm.md", { with: { type: "text" } }),
      },
      {
        name: "kubernetes",
        title: "Kubernetes",
        about: "commands as Jobs of a Kubernetes cluster: rights, GPUs, what it says",
        read: () => import("./kubernetes.md", { with: { type: "text" } }),
      },
    ],
  },
  {
    title: "Operation",
    pages: [
      {
        name: "console",
        title: "Console",
        about: "the pages of the service in a browser",
        read: () => import("./console.md", { with: { type: "text" } }),
      },
      {
        name: "https",
        title: "HTTPS",
        about: "a certificate for a domain or an IP address by one flag, renewed by itself",
        read: () => import("./https.md", { with: { type: "text" } }),
      },
      {
        name: "know_that_it_works",
        title: "Know that it works",
        about: "a probe, a test launch, metrics, alerts, notifications, silence",
        read: () => import("./know_that_it_works.md", { with: { type: "text" } }),
      },
      {
        name: "notifications",
        title: "Notifications",
        about: "telling a chat, a webhook or a phone of failures, silence and their ends",
        read: () => import("./notifications.md", { with: { type: "text" } }),
      },
      {
        name: "operating",
        title: "Operating",
        about: "TLS, containers, systemd, several machines, keys, backup, capacity",
        read: () => import("./operating.md", { with: { type: "text" } }),
      },
      {
        name: "helm",
        title: "On Kubernetes",
        about: "the Helm chart: one pod on a volume, or several; steps as Jobs; every value",
        read: () => import("./helm.md", { with: { type: "text" } }),
      },
      {
        name: "compose",
        title: "With Compose",
        about: "the service alone with its certificate, or two instances behind Caddy",
        read: () => import("./compose.md", { with: { type: "text" } }),
      },
      {
        name: "versions",
        title: "Versions",
        about:
          "what may change between releases, formats of the database, upgrades and the way back",
        read: () => import("./versions.md", { with: { type: "text" } }),
      },
      {
        name: "proxies",
        title: "Proxies",
        about: "Caddy, HAProxy, Traefik and Cloudflare Tunnel in front of the service",
        read: () => import("./proxies.md", { with: { type: "text" } }),
      },
      {
        name: "deploy",
        title: "Deno Deploy",
        about: "the service without a machine of your own, from an empty account to a first launch",
        read: () => import("./deploy.md", { with: { type: "text" } }),
      },
      {
        name: "scale",
        title: "Scale",
        about: "several machines behind a load balancer, and what a launch costs",
        read: () => import("./scale.md", { with: { type: "text" } }),
      },
      {
        name: "proof",
        title: "Proof",
        about: "what is claimed, how each claim is tried, what was found, and what was not tried",
        read: () => import("./proof.md", { with: { type: "text" } }),
      },
      {
        name: "settings",
        title: "Settings",
        about: "flags and variables of the service",
        read: () => import("./settings.md", { with: { type: "text" } }),
      },
      {
        name: "access",
        title: "Tokens and audit",
        about: "scopes, limits and expiry of operators' tokens; who changed what",
        read: () => import("./access.md", { with: { type: "text" } }),
      },
      {
        name: "logins",
        title: "Logins",
        about:
          "people log in with Google, GitHub, Keycloak and others, or with passkeys; roles by their groups",
        read: () => import("./logins.md", { with: { type: "text" } }),
      },
      {
        name: "monitoring",
        title: "Monitoring",
        about: "metrics, logs and traces",
        read: () => import("./monitoring.md", { with: { type: "text" } }),
      },
      {
        name: "security",
        title: "Security",
        about: "what is trusted, what protects what, and what is not protected",
        read: () => import("./security.md", { with: { type: "text" } }),
      },
    ],
  },
  {
    title: "Reference",
    pages: [
      {
        name: "cli",
        title: "Command line",
        about: "every command",
        read: () => import("./cli.md", { with: { type: "text" } }),
      },
      {
        name: "api",
        title: "REST API",
        about: "every operation",
        read: () => import("./api.md", { with: { type: "text" } }),
      },
      {
        name: "agents",
        title: "Agents",
        about: "an MCP server: what agents may read and do, by their token",
        read: () => import("./agents.md", { with: { type: "text" } }),
      },
    ],
  },
];
