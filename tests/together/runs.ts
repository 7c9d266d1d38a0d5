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
import "../pipelines/reconcile_test.ts";
import "../runs/accept_test.ts";
import "../runs/cleanup_test.ts";
import "../runs/containment_test.ts";
import "../runs/load_window_test.ts";
import "../runs/delivery_ids_test.ts";
import "../runs/run_waiters_test.ts";
import "../runs/quotas_test.ts";
import "../runs/story_test.ts";
import "../runs/worker_test.ts";
import "../telemetry/traceparent_test.ts";
import "../triggers/prepare_test.ts";
import "../triggers/registry_test.ts";
import "../triggers/response_test.ts";
import "../triggers/secret_end_test.ts";
import "../triggers/secrets_test.ts";
