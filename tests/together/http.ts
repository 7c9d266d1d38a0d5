/**
 * Tests of HTTP, but those of containers, and of the service as a whole.
 *
 * @module
 */
import "../open_damage_test.ts";
import "../service/service_test.ts";
import "../http/door/request_intake_test.ts";
import "../http/body_test.ts";
import "../http/door/deduplication_test.ts";
import "../http/door/earlier_trigger_test.ts";
import "../http/door/explanation_test.ts";
import "../http/door/handshake_test.ts";
import "../http/head_response_test.ts";
import "../http/host_header_test.ts";
import "../http/https_test.ts";
import "../http/door/ip_allowlist_test.ts";
import "../http/door/launch_test.ts";
import "../http/listener_test.ts";
import "../http/metrics_test.ts";
import "../http/door/parsed_value_budget_test.ts";
import "../http/door/payload_test.ts";
import "../http/peer_test.ts";
import "../http/pipeline_test.ts";
import "../http/door/request_queue_test.ts";
import "../http/door/run_info_test.ts";
import "../http/secret_key_test.ts";
import "../http/door/sent_url_test.ts";
import "../http/door/slow_body_test.ts";
import "../http/door/turned_away_test.ts";
import "../http/api/answers_test.ts";
import "../http/api/executions_test.ts";
import "../http/api/input_test.ts";
import "../http/api/lists_test.ts";
import "../http/api/log_stream_test.ts";
import "../http/api/openapi_test.ts";
import "../http/api/pipelines_test.ts";
import "../http/api/projects_test.ts";
import "../http/api/tokens_test.ts";
import "../http/api/triggers_test.ts";
