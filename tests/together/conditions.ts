/**
 * Tests of conditions, but those that take longest.
 *
 * @module
 */
import "../conditions/basic_test.ts";
import "../conditions/cel/expression_test.ts";
import "../conditions/defects_test.ts";
import "../conditions/signing/encoding_test.ts";
import "../conditions/field_test.ts";
import "../conditions/filter/list_test.ts";
import "../conditions/handshake_test.ts";
import "../conditions/hmac_test.ts";
import "../conditions/jwt/jwks_test.ts";
import "../conditions/jwt_test.ts";
import "../conditions/mod_test.ts";
import "../conditions/cel/payload_filter_language_test.ts";
import "../conditions/filter/payload_filter_list_save_test.ts";
import "../conditions/cel/payload_filter_pattern_test.ts";
import "../conditions/payload_filter_save_test.ts";
import "../conditions/payload_filter_test.ts";
import "../conditions/jwt/public_key_test.ts";
import "../conditions/rate_limit_test.ts";
import "../conditions/request_test.ts";
import "../conditions/secret_test.ts";
import "../conditions/signing/sign_request_test.ts";
import "../conditions/signature_test.ts";
import "../conditions/static_token_test.ts";
import "../conditions/timestamp_test.ts";
import "../conditions/warnings_test.ts";
import "../conditions/signing/builders_test.ts";
import "../conditions/signing/libraries_test.ts";
import "../conditions/signing/mac_test.ts";
import "../conditions/signing/presets_test.ts";
import "../conditions/signing/sign_test.ts";
import "../conditions/signing/table_test.ts";
import "../conditions/signing/template_test.ts";
import "../conditions/signing/vectors_test.ts";
import "../conditions/signing/verify_test.ts";
