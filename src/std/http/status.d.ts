/** The part of `@std/http/status` that is used, typed for the npm build of the standard library. */

/** HTTP status codes by name (RFC 9110 section 15). */
export const STATUS_CODE: {
  readonly OK: 200;
  readonly Created: 201;
  readonly Accepted: 202;
  readonly NoContent: 204;
  readonly ResetContent: 205;
  readonly BadRequest: 400;
  readonly Unauthorized: 401;
  readonly Forbidden: 403;
  readonly NotFound: 404;
  readonly MethodNotAllowed: 405;
  readonly RequestTimeout: 408;
  readonly Conflict: 409;
  readonly Gone: 410;
  readonly PreconditionFailed: 412;
  readonly ContentTooLarge: 413;
  readonly UnprocessableEntity: 422;
  readonly TooManyRequests: 429;
  readonly InternalServerError: 500;
  readonly BadGateway: 502;
  readonly ServiceUnavailable: 503;
  readonly GatewayTimeout: 504;
};
/** The reason phrase of each status code. */
export const STATUS_TEXT: Readonly<Record<number, string>>;
