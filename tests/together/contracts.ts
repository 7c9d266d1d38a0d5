/**
 * Tests of the engines' contract.
 *
 * @module
 */
import "../engines/local/docker_test.ts";
import "../engines/local/podman_test.ts";
import "../engines/local/process_test.ts";
