/**
 * Providers of code, packages and images.
 *
 * @module
 */
import type { PresetGroup } from "../preset.ts";

/** The rows. */
export const code = {
  title: "Code, packages and images",
  hmac: {
    forgejo: {
      title: "Forgejo",
      source: "https://forgejo.org/docs/latest/user/webhooks/",
      setup:
        "Open the repository's or the organization's Settings > Webhooks > Add webhook > Forgejo. Choose POST, application/json and a secret.",
      note: "Of a form, only the field payload is signed: choose application/json",
      vector: { none: "its page; public code that names its header" },
      event: { in: "header", name: "X-Forgejo-Event" },
      scheme: {
        algorithm: "sha256",
        header: "X-Forgejo-Signature",
        delivery_id: { in: "header", name: "X-Forgejo-Delivery" },
      },
    },
    gogs: {
      title: "Gogs",
      source: "https://gogs.io/docs/features/webhook",
      setup:
        "Open the repository's Settings > Webhooks > Add webhook > Gogs. Choose application/json and a secret.",
      vector: "independent",
      event: { in: "header", name: "X-Gogs-Event" },
      scheme: {
        algorithm: "sha256",
        header: "X-Gogs-Signature",
        delivery_id: { in: "header", name: "X-Gogs-Delivery" },
      },
    },
    bitbucket_data_center: {
      title: "Bitbucket Data Center",
      source: "https://confluence.atlassian.com/bitbucketserver/manage-webhooks-938025878.html",
      setup:
        "Open the repository's Settings > Webhooks > Create webhook. Choose a secret and the events.",
      note: "The button Test connection sends no signature, and so is refused",
      vector: "independent",
      event: { in: "header", name: "X-Event-Key" },
      scheme: {
        algorithm: "sha256",
        header: "X-Hub-Signature",
        prefix: "sha256=",
        delivery_id: { in: "header", name: "X-Request-Id" },
      },
    },
    snyk: {
      title: "Snyk",
      source: "https://docs.snyk.io/snyk-api/snyk-webhooks/validating-payloads",
      setup: "Create the webhook by the API of the organization, with a secret.",
      vector: { none: "its page; its API reference, which names its headers" },
      event: { in: "header", name: "X-Snyk-Event" },
      scheme: {
        algorithm: "sha256",
        header: "X-Hub-Signature",
        prefix: "sha256=",
        delivery_id: { in: "header", name: "X-Snyk-Transport-ID" },
      },
    },
    sonarqube: {
      title: "SonarQube",
      source:
        "https://docs.sonarsource.com/sonarqube-server/latest/project-administration/webhooks/",
      setup: "Open the project's Project Settings > Webhooks > Create. Choose a secret.",
      vector: { none: "its page; its tests of webhooks, which do not look at the signature" },
      scheme: {
        algorithm: "sha256",
        header: "X-Sonar-Webhook-HMAC-SHA256",
        delivery_id: { in: "body", name: "taskId" },
      },
    },
    artifactory_signed: {
      title: "JFrog Artifactory, signed",
      source:
        "https://registry.terraform.io/providers/jfrog/artifactory/latest/docs/resources/docker_webhook",
      setup:
        "Open Platform > Integrations > Webhooks > New webhook. Enter a secret, and turn Use secret for payload signing on.",
      vector: { none: "its page; public code that names its header" },
      event: { in: "body", name: "event_type" },
      scheme: { algorithm: "sha256", header: "X-JFrog-Event-Auth" },
    },
  },
  static_token: {
    azure_devops: {
      title: "Azure DevOps",
      source: "https://learn.microsoft.com/en-us/azure/devops/service-hooks/services/webhooks",
      setup:
        "Open Project settings > Service hooks > Create subscription > Web Hooks. Fill in the basic authentication password with the secret; any username will do.",
      event: { in: "body", name: "eventType" },
      token: { in: "header", name: "Authorization", basic: {} },
      delivery_id: { in: "body", name: "id" },
    },
    docker_hub: {
      title: "Docker Hub",
      source: "https://docs.docker.com/docker-hub/repos/manage/webhooks/",
      setup:
        "Open the repository's Webhooks. Enter the URL with `?token=` and the secret at its end.",
      note: "Signs nothing: the secret is a parameter of the URL",
      token: { in: "query", name: "token" },
    },
    harbor: {
      title: "Harbor",
      source:
        "https://goharbor.io/docs/2.13.0/working-with-projects/project-configuration/configure-webhooks/",
      setup: "Open the project's Webhooks > New webhook. Enter the secret as Auth Header.",
      event: { in: "body", name: "type" },
      token: { in: "header", name: "Authorization" },
    },
    quay: {
      title: "Quay",
      source: "https://docs.quay.io/guides/notifications.html",
      setup:
        "Open the repository's Settings > Create notification > Webhook POST. Enter the URL with `?token=` and the secret at its end.",
      note: "Signs nothing: the secret is a parameter of the URL",
      token: { in: "query", name: "token" },
    },
    artifactory: {
      title: "JFrog Artifactory, secret",
      source:
        "https://registry.terraform.io/providers/jfrog/artifactory/latest/docs/resources/docker_webhook",
      setup:
        "Open Platform > Integrations > Webhooks > New webhook. Enter a secret, and leave Use secret for payload signing off.",
      note: "It signs, too: see `artifactory_signed` of hmac",
      event: { in: "body", name: "event_type" },
      token: { in: "header", name: "X-JFrog-Event-Auth" },
    },
  },
} as const satisfies PresetGroup;
