/**
 * The setting `storage`: `s3://bucket/prefix?endpoint=…&region=…`, with credentials in `AWS_*` variables.
 *
 * @module
 */
import { InvalidInputError } from "../../platform/errors.ts";
import { hideUserInfo, isBaseUrl, percentDecode } from "../../platform/network/urls.ts";

const SETTING = "the setting storage";
const EXPECTED = "Expected s3://bucket/prefix?endpoint=…&region=…, or an absolute path";
/** The names of buckets, as S3 has them, and those of servers that are less strict. */
const BUCKET = /^[a-z0-9][a-z0-9._-]{1,62}$/i;
const REGION_DEFAULT = "us-east-1";

/** A place in an S3 bucket. */
export interface S3Location {
  /** The server's base URL, without a slash at its end. */
  endpoint: string;
  bucket: string;
  /** Empty, or with a slash at its end. */
  prefix: string;
  region: string;
}

/** The credentials of an S3 server. */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** Reads environment variables. */
export type Env = (name: string) => string | undefined;

/**
 * Reads a location.
 *
 * @param env gives the region where the URL names none
 * @throws {InvalidInputError} when it is not one
 */
export function parseS3Location(text: string, env: Env): S3Location {
  const url = URL.parse(text);
  if (url?.protocol !== "s3:" || url.username !== "" || url.password !== "" || url.hash !== "") {
    throw new InvalidInputError(
      SETTING,
      `${EXPECTED}, without a user name and a password; found "${hideUserInfo(text)}"`,
    );
  }
  const { hostname: bucket, searchParams } = url;
  const unknown = [...searchParams.keys()].find((key) => key !== "endpoint" && key !== "region");
  if (unknown !== undefined) {
    throw new InvalidInputError(SETTING, `${EXPECTED}; found the parameter "${unknown}"`);
  }
  if (!BUCKET.test(bucket)) {
    throw new InvalidInputError(SETTING, `${EXPECTED}; found "${bucket}" as the bucket`);
  }
  const region = searchParams.get("region") ?? env("AWS_REGION") ?? env("AWS_DEFAULT_REGION") ??
    REGION_DEFAULT;
  const endpoint = searchParams.get("endpoint") ?? env("AWS_ENDPOINT_URL_S3") ??
    `https://s3.${region}.amazonaws.com`;
  if (!isBaseUrl(endpoint)) {
    throw new InvalidInputError(
      SETTING,
      "Expected a URL such as https://s3.example.com as the endpoint, without a password, found " +
        `"${hideUserInfo(endpoint)}"`,
    );
  }
  const path = percentDecode(url.pathname).replaceAll(/^\/+|\/+$/g, "");
  return {
    endpoint: endpoint.replace(/\/+$/, ""),
    bucket,
    prefix: path === "" ? "" : `${path}/`,
    region,
  };
}

/**
 * Reads the credentials from the environment.
 *
 * @throws {InvalidInputError} when they are missing
 */
export function s3Credentials(env: Env): S3Credentials {
  const [accessKeyId, secretAccessKey] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].map(
    (name) => {
      const value = env(name);
      if (value !== undefined && value !== "") return value;
      throw new InvalidInputError(name, "Expected a credential of the S3 bucket, found none");
    },
  ) as [string, string];
  const sessionToken = env("AWS_SESSION_TOKEN");
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}
