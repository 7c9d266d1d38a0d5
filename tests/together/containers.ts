/**
 * Tests of containers, but those of the contract.
 *
 * @module
 */
import "../engines/container_test.ts";
import "../engines/container_slow_test.ts";
import "../engines/crash_test.ts";
import "../http/container_pipeline_test.ts";
