/**
 * Tests of projects, but those of fetched repositories.
 *
 * @module
 */
import "../projects/format/command_quotes_test.ts";
import "../projects/format/command_test.ts";
import "../projects/format/config_warnings_test.ts";
import "../projects/format/duration_test.ts";
import "../projects/format/expression_test.ts";
import "../projects/format/format_pipelines_test.ts";
import "../projects/format/format_probes_test.ts";
import "../projects/format/format_steps_test.ts";
import "../projects/code/git_launch_test.ts";
import "../projects/code/git_test.ts";
import "../projects/launch_test.ts";
import "../projects/format/override_test.ts";
import "../projects/format/pipeline/edge_test.ts";
import "../projects/format/pipeline_file_test.ts";
import "../projects/format/references_test.ts";
import "../projects/code/remote_kinds_test.ts";
import "../projects/code/remote_project_test.ts";
import "../projects/code/remote_test.ts";
import "../projects/code/snapshot_test.ts";
import "../projects/code/tree_damage_test.ts";
import "../projects/code/tree_cache_test.ts";
import "../platform/yaml_test.ts";
