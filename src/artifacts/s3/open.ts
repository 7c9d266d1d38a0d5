/**
 * Opens the artifact store in an S3 bucket.
 *
 * @module
 */
import { type Env, parseS3Location, s3Credentials } from "./location.ts";
import { S3Store } from "./mod.ts";

/**
 * Opens the artifact store in an S3 bucket.
 *
 * @param storage such as `s3://bucket/prefix`
 * @throws {InvalidInputError} when it, or an `AWS_*` variable, is wrong
 */
export function openS3(storage: string, env: Env): S3Store {
  return new S3Store({ location: parseS3Location(storage, env), credentials: s3Credentials(env) });
}
