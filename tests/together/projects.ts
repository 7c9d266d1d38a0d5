/**
 * Tests of projects, but those of fetched repositories.
 *
 * @module
 */
import "../projects/command_quotes_test.ts";
import "../projects/command_test.ts";
import "../projects/config_warnings_test.ts";
import "../projects/duration_test.ts";
import "../projects/expression_test.ts";
import "../projects/format_pipelines_test.ts";
import "../projects/format_probes_test.ts";
import "../projects/format_steps_test.ts";
import "../projects/git_launch_test.ts";
import "../projects/git_test.ts";
import "../projects/launch_test.ts";
import "../projects/override_test.ts";
import "../projects/pipeline_edge_test.ts";
import "../projects/pipeline_file_test.ts";
import "../projects/references_test.ts";
import "../projects/remote_kinds_test.ts";
import "../projects/remote_project_test.ts";
import "../projects/remote_test.ts";
import "../projects/snapshot_test.ts";
import "../projects/tree_cache_test.ts";
import "../projects/yaml_test.ts";
