/**
 * Tests of the command line, but those that take longest.
 *
 * @module
 */
import "../commands/api_client_test.ts";
import "../commands/apply_test.ts";
import "../commands/demo_test.ts";
import "../commands/follow_test.ts";
import "../commands/help_test.ts";
import "../commands/options_test.ts";
import "../commands/own_machine_test.ts";
import "../commands/pipeline_test.ts";
import "../commands/project_test.ts";
import "../commands/remote_kv_test.ts";
import "../commands/restore_test.ts";
import "../commands/run_test.ts";
import "../commands/secret_key_test.ts";
import "../commands/send_test.ts";
import "../commands/server_sent_events_test.ts";
import "../commands/signals_test.ts";
import "../commands/table_test.ts";
import "../commands/terminal_test.ts";
import "../commands/tls_files_test.ts";
import "../commands/token_test.ts";
import "../commands/trigger_test.ts";
import "../dockerfile_test.ts";
