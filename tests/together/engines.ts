/**
 * Tests of engines, but those of the contract and of containers.
 *
 * @module
 */
import "../engines/local/container_cli_test.ts";
import "../engines/local/container_missing_test.ts";
import "../engines/local/disk_use_test.ts";
import "../engines/engines_test.ts";
import "../engines/shared/environment_test.ts";
import "../engines/shared/limits_test.ts";
import "../engines/local/line_reader_test.ts";
import "../engines/shared/log_file_test.ts";
import "../engines/shared/metadata_test.ts";
import "../engines/local/outputs_test.ts";
import "../engines/local/queue_test.ts";
import "../engines/local/recovery_test.ts";
import "../engines/local/rerun_test.ts";
import "../engines/local/run_test.ts";
import "../engines/local/stop_test.ts";
import "../engines/local/wrapper_test.ts";
import "../engines/local/inputs/allowed_addresses_test.ts";
import "../engines/local/inputs/cache_test.ts";
import "../engines/local/inputs/engine_test.ts";
import "../engines/local/inputs/names_test.ts";
import "../engines/local/inputs/private_networks_test.ts";
import "../engines/local/inputs/remote_test.ts";
import "../engines/local/inputs/sources_test.ts";
import "../engines/local/inputs/transient_test.ts";
