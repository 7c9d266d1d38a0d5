/**
 * Tests of the store, and what depends on little else.
 *
 * @module
 */
import "../addresses_test.ts";
import "../async/deadlines_test.ts";
import "../ids_test.ts";
import "../readme_test.ts";
import "../system/regular_file_test.ts";
import "../schema_test.ts";
import "../settings_test.ts";
import "../text/shown_size_test.ts";
import "../backup/backup_test.ts";
import "../backup/database_test.ts";
import "../backup/key_test.ts";
import "../backup/on_disk_test.ts";
import "../backup/restore_cut_off_test.ts";
import "../backup/restore_test.ts";
import "../config/document_test.ts";
import "../store/committer_test.ts";
import "../store/denokv_test.ts";
import "../store/executions_test.ts";
import "../store/in_parts_test.ts";
import "../store/migrations_test.ts";
import "../store/ownership_test.ts";
import "../store/payloads_test.ts";
import "../store/private_test.ts";
import "../store/probe_test.ts";
import "../store/projects_test.ts";
import "../store/reading_test.ts";
import "../store/reads_test.ts";
import "../store/record_test.ts";
import "../store/runs_test.ts";
import "../store/space_test.ts";
import "../store/store_test.ts";
import "../store/tokens_test.ts";
import "../store/trigger_log_test.ts";
