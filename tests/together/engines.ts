/**
 * Tests of engines, but those of the contract and of containers.
 *
 * @module
 */
import "../engines/container_cli_test.ts";
import "../engines/container_missing_test.ts";
import "../engines/disk_use_test.ts";
import "../engines/engines_test.ts";
import "../engines/environment_test.ts";
import "../engines/limits_test.ts";
import "../engines/line_reader_test.ts";
import "../engines/log_test.ts";
import "../engines/metadata_test.ts";
import "../engines/outputs_test.ts";
import "../engines/queue_test.ts";
import "../engines/recovery_test.ts";
import "../engines/rerun_test.ts";
import "../engines/run_test.ts";
import "../engines/stop_test.ts";
import "../engines/wrapper_test.ts";
import "../engines/inputs/addresses_test.ts";
import "../engines/inputs/cache_test.ts";
import "../engines/inputs/engine_test.ts";
import "../engines/inputs/names_test.ts";
import "../engines/inputs/private_networks_test.ts";
import "../engines/inputs/remote_test.ts";
import "../engines/inputs/sources_test.ts";
import "../engines/inputs/transient_test.ts";
