/**
 * Tests of the store, and what depends on little else.
 *
 * @module
 */
import "../platform/ip_ranges_test.ts";
import "../platform/waiting/deadlines_test.ts";
import "../platform/ids_test.ts";
import "../readme_test.ts";
import "../platform/files/regular_file_test.ts";
import "../platform/schema_test.ts";
import "../config/settings_test.ts";
import "../platform/text/format_bytes_test.ts";
import "../backup/backup_test.ts";
import "../backup/database_test.ts";
import "../backup/key_test.ts";
import "../backup/on_disk_test.ts";
import "../backup/restore_cut_off_test.ts";
import "../backup/restore_test.ts";
import "../config/document_test.ts";
import "../store/committer_test.ts";
import "../store/denokv_test.ts";
import "../store/records/executions_test.ts";
import "../store/chunked_test.ts";
import "../store/migrations_test.ts";
import "../store/ownership_test.ts";
import "../store/records/payloads_test.ts";
import "../store/private_files_test.ts";
import "../store/probe_test.ts";
import "../store/records/projects_test.ts";
import "../store/scan_test.ts";
import "../store/batched_get_test.ts";
import "../store/record_size_test.ts";
import "../store/records/runs_test.ts";
import "../store/space_test.ts";
import "../store/store_test.ts";
import "../store/records/tokens_test.ts";
import "../store/records/trigger_log_test.ts";
