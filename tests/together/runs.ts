/**
 * Tests of what becomes of a launch.
 *
 * @module
 */
import "../actions/mod_test.ts";
import "../actions/payload_file_test.ts";
import "../pipelines/plan_test.ts";
import "../pipelines/restart_test.ts";
import "../pipelines/reuse_test.ts";
import "../pipelines/turn_test.ts";
import "../runs/accept_test.ts";
import "../runs/cleanup_test.ts";
import "../runs/containment_test.ts";
import "../runs/crowd_test.ts";
import "../runs/deliveries_test.ts";
import "../runs/endings_test.ts";
import "../runs/quotas_test.ts";
import "../runs/story_test.ts";
import "../runs/worker_test.ts";
import "../telemetry/traceparent_test.ts";
import "../trigger/prepare_test.ts";
import "../trigger/registry_test.ts";
import "../trigger/response_test.ts";
import "../trigger/secret_end_test.ts";
import "../trigger/secrets_test.ts";
