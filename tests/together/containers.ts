/**
 * Tests of containers, but those of the contract.
 *
 * @module
 */
import "../engines/local/container_test.ts";
import "../engines/local/container_slow_test.ts";
import "../engines/local/crash_test.ts";
import "../http/container_pipeline_test.ts";
