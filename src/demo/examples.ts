/**
 * The bundled examples that `hooklaunch demo` shows: each a project, a trigger, and a real sender's
 * webhook.
 *
 * @module
 */
import pipelineBody from "./pipeline/batch_finished.json" with { type: "text" };
import pipelineConfig from "./pipeline/hooklaunch.yaml" with { type: "text" };
import ingest from "./pipeline/ingest.sh" with { type: "text" };
import test from "./pipeline/test.awk" with { type: "text" };
import train from "./pipeline/train.awk" with { type: "text" };
import pipelineProject from "./pipeline/valohai.yaml" with { type: "text" };
import greet from "./webhook/greet.sh" with { type: "text" };
import webhookConfig from "./webhook/hooklaunch.yaml" with { type: "text" };
import webhookBody from "./webhook/issues_opened.json" with { type: "text" };
import webhookProject from "./webhook/valohai.yaml" with { type: "text" };

/** Something that can be shown. */
export interface Example {
  /** Description of the request, as the rest of a sentence. */
  sends: string;
  /** The body of the webhook, JSON. */
  body: string;
  /** A smaller body for a person to send. */
  tryBody: string;
  /** `hooklaunch.yaml`, with one trigger. Its secret is `{env:DEMO_SECRET}`. */
  config: string;
  /** The files of the project, by path. */
  project: Readonly<Record<string, string>>;
  /** The line that one of the steps prints when all has gone well. */
  prints: string;
}

/** The examples by name. */
export const EXAMPLES = {
  webhook: {
    sends: 'a GitHub "issues" event',
    body: webhookBody,
    tryBody: '{"action": "opened", "issue": {"title": "Hello from my terminal"}}',
    config: webhookConfig,
    project: { "valohai.yaml": webhookProject, "greet.sh": greet },
    prints: "Retrain on the labels of batch 7",
  },
  pipeline: {
    sends: "the finished batch of a labelling tool",
    body: pipelineBody,
    tryBody: `{"event": "batch_finished", "labels": [${
      [
        '{"length": 1.4, "width": 0.2, "label": "setosa"}',
        '{"length": 4.5, "width": 1.5, "label": "versicolor"}',
        '{"length": 1.5, "width": 0.3, "label": "setosa"}',
        '{"length": 4.1, "width": 1.3, "label": "versicolor"}',
      ].join(", ")
    }]}`,
    config: pipelineConfig,
    project: {
      "valohai.yaml": pipelineProject,
      "ingest.sh": ingest,
      "train.awk": train,
      "test.awk": test,
    },
    prints: "flowers were classified correctly",
  },
} as const satisfies Record<string, Example>;
