/**
 * Statuses on commits. A row holds what the API of one code host wants, and where its webhooks name the commit.
 *
 * @module
 */
import { z } from "zod";
import { templateMistakes } from "../../conditions/values/compile.ts";
import { FetchError } from "../../platform/network/fetch_errors.ts";
import { truncate } from "../../platform/text/display.ts";
import type { CommitState, CommitStatus } from "../../store/records/commit_statuses.ts";
import type { Notification } from "../../store/records/notifications.ts";
import { privateNetworks, revealed, secretField, urlField } from "./fields.ts";
import type { HttpTargetKind, Refused, Sent } from "./target.ts";

const TEMPLATE_LENGTH_MAX = 1_024;
const MESSAGE_LENGTH_MAX = 200;

/** The words beside a state. They are seen by all who see the commit: they have no reason and no name. */
export const STATE_TEXTS: Readonly<Record<CommitState, string>> = {
  pending: "The work goes on",
  success: "The work is complete",
  failure: "The work has failed",
};

/** A code host. */
interface CodeHost {
  type: string;
  name: string;
  /** The address of its API; undefined where each has its own. */
  api: string | undefined;
  /** The expressions that find the commit in its webhooks, the best first. */
  sha: readonly string[];
  repository: readonly string[];
  isRepository: RegExp;
  /** The right that a token needs. */
  right: string;
  path(status: Pick<CommitStatus, "repository" | "sha">): string;
  body(status: CommitStatus): object;
  /** The path that answers to every token, or to one that may see a repository. */
  check(repository: string | undefined): string;
  token: { header: string; prefix: string };
  judge?(refused: Refused): Sent | undefined;
}

const OWNER_AND_NAME = /^(?!\.\.?\/)[\w.-]{1,100}\/(?!\.\.?$)[\w.-]{1,100}$/;

/** GitHub and Gitea have the same path and nearly the same fields. */
const likeGithub = {
  isRepository: OWNER_AND_NAME,
  path: ({ repository, sha }) => `/repos/${repository}/statuses/${sha}`,
  body: ({ state, url, context, description = STATE_TEXTS[state] }) => ({
    state,
    target_url: url,
    description,
    context,
  }),
  check: (repository) => repository === undefined ? "/user" : `/repos/${repository}`,
} satisfies Partial<CodeHost>;

/** The code hosts. */
const HOSTS: readonly CodeHost[] = [
  {
    ...likeGithub,
    type: "github_status",
    name: "GitHub",
    api: "https://api.github.com",
    sha: [
      "body.pull_request.head.sha",
      "body.merge_group.head_sha",
      "body.workflow_run.head_sha",
      "body.check_suite.head_sha",
      "body.check_run.head_sha",
      "body.deployment.sha",
      // Of an annotated tag, `after` is the tag.
      "body.head_commit.id",
      "body.after",
    ],
    repository: ["body.repository.full_name"],
    right: "the permission to write commit statuses (of a classic token: repo:status)",
    token: { header: "authorization", prefix: "Bearer " },
    judge({ status, text }) {
      // A commit that is not there, and more than 1,000 statuses of one context (GitHub).
      return status === 422 ? refusal(status, messageIn(text()), true) : undefined;
    },
  },
  {
    type: "gitlab_status",
    name: "GitLab",
    api: "https://gitlab.com/api/v4",
    sha: [
      "body.object_attributes.last_commit.id",
      "body.merge_request.last_commit.id",
      "body.checkout_sha",
      "body.object_attributes.sha",
      "body.sha",
      "body.commit.id",
      "body.after",
    ],
    // The commits of a merge request are in its source project.
    repository: [
      "body.object_attributes.source_project_id",
      "body.merge_request.source_project_id",
      "body.project.id",
      "body.project_id",
    ],
    isRepository: /^(?:\d{1,15}|(?!.*(?:^|\/)\.\.?(?:\/|$))[\w.-]+(?:\/[\w.-]+)+)$/,
    right: "the scope api, and the role Developer in the project",
    path: ({ repository, sha }) => `/projects/${encodeURIComponent(repository)}/statuses/${sha}`,
    body: ({ state, url, context, description = STATE_TEXTS[state] }) => ({
      state: state === "failure" ? "failed" : state,
      name: context,
      target_url: url,
      description,
    }),
    check: (repository) =>
      repository === undefined ? "/user" : `/projects/${encodeURIComponent(repository)}`,
    token: { header: "private-token", prefix: "" },
    judge({ status, text }) {
      if (status !== 400) return undefined;
      const message = messageIn(text());
      // It has this state already.
      if (/cannot transition status/i.test(message)) return { isSent: true };
      return refusal(status, message);
    },
  },
  {
    ...likeGithub,
    type: "gitea_status",
    name: "Gitea",
    api: undefined,
    sha: ["body.pull_request.head.sha", "body.head_commit.id", "body.after"],
    repository: ["body.repository.full_name"],
    right: "the scope write:repository",
    token: { header: "authorization", prefix: "token " },
  },
];

/** The types of targets that set statuses on commits. */
export const STATUS_TYPES: readonly string[] = HOSTS.map(({ type }) => type);

/** The settings of a target that sets statuses. */
export type StatusSettings = {
  type: string;
  url: string;
  token: string;
  sha?: string;
  repository?: string;
  context?: string;
  description?: Partial<Record<CommitState, string>>;
  private_networks?: boolean;
};

/** Returns a code host by the type of its target. */
export function codeHost(type: string): CodeHost | undefined {
  return HOSTS.find((host) => host.type === type);
}

/** The kinds of statuses. */
export const commitStatuses = HOSTS.map(statusKind);

function statusKind(host: CodeHost) {
  const { api, name } = host;
  const url = urlField.describe(`The address of the API of ${name}`);
  return {
    type: host.type,
    schema: z.strictObject({
      type: z.literal(host.type),
      url: api === undefined ? url : url.default(api),
      token: secretField.describe(`A token with ${host.right}`),
      repository: template("The repository; that of the payload when absent"),
      sha: template("The commit; that of the payload when absent. Where it is empty, none is set"),
      context: template("The name of the status; hooklaunch/ and the trigger when absent"),
      description: z.strictObject({
        pending: template("While the work goes on"),
        success: template("Once it is complete"),
        failure: template("Once it has failed"),
      }).describe(
        "The words of each state, in place of the usual ones: all who see the commit read them",
      ).exactOptional(),
      private_networks: privateNetworks,
    }),
    request(
      notification: Notification,
      settings: StatusSettings,
      reveal: (secret: string) => string | undefined,
    ) {
      revealed(settings.token, "to/token", reveal);
      const { header, prefix } = host.token;
      const base = settings.url.replace(/\/+$/, "");
      const common = {
        headers: {
          accept: "application/json",
          "content-type": "application/json",
          [header]: { secret: settings.token, prefix },
        },
        private_networks: settings.private_networks === true,
      };
      if (notification.is_test) {
        const { repository } = settings;
        const isLiteral = repository !== undefined && !repository.includes("{");
        const path = host.check(isLiteral ? repository : undefined);
        return { ...common, method: "GET", url: base + path };
      }
      const { commit } = notification;
      if (commit === undefined) throw new FetchError("it names no commit");
      return {
        ...common,
        method: "POST",
        url: base + host.path(commit),
        body: JSON.stringify(host.body(commit)),
      };
    },
    judge({ commit, is_test }: Notification, refused: Refused): Sent | undefined {
      const { status } = refused;
      // A token that may not read its owner may still set statuses.
      if (is_test && status === 403) return { isSent: true };
      return host.judge?.(refused) ?? advice(host, status, commit?.repository);
    },
  } satisfies HttpTargetKind;
}

/** Says what to do about a status that most often means a wrong token. */
function advice(host: CodeHost, status: number, repository: string | undefined): Sent | undefined {
  const of = repository === undefined ? "" : ` of ${repository}`;
  if (status === 401) {
    return refusal(status, `the token is wrong or has expired. Make one with ${host.right}`);
  }
  if (status !== 403 && status !== 404) return undefined;
  const found = status === 404 ? `the repository or the commit${of} is not there, or the` : "the";
  return refusal(status, `${found} token has no right to it. It needs ${host.right}`);
}

function refusal(status: number, why: string, isFinal = false): Sent {
  return {
    isSent: false,
    reason: `It was answered with the status ${status}${why === "" ? "" : `: ${why}`}`,
    ...(isFinal && { isFinal }),
  };
}

/** Returns the message in the answer of a code host. */
function messageIn(text: string): string {
  try {
    const { message, error } = Object(JSON.parse(text));
    const found = message ?? error ?? "";
    const shown = typeof found === "string" ? found : JSON.stringify(found);
    return truncate(shown.replaceAll(/\s+/g, " "), MESSAGE_LENGTH_MAX);
  } catch {
    return "";
  }
}

function template(meaning: string) {
  return z.string().min(1).max(TEMPLATE_LENGTH_MAX).superRefine((text, context) => {
    for (const { message } of templateMistakes(text)) {
      context.addIssue({ code: "custom", message, input: text });
    }
  }).describe(meaning).exactOptional();
}
