/**
 * Tests of the engines' contract.
 *
 * @module
 */
import "../engines/docker_test.ts";
import "../engines/podman_test.ts";
import "../engines/process_test.ts";
