/**
 * Tests of what must hold when things go wrong, but those that kill or fill.
 *
 * @module
 */
import "../faults/abuse_test.ts";
import "../faults/open_files_test.ts";
import "../faults/secrets_test.ts";
import "../faults/short_test.ts";
import "../faults/telemetry_test.ts";
import "../faults/traces_test.ts";
