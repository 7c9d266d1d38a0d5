/**
 * Signing of requests that actions send, by the rows that verify requests of senders.
 *
 * @module
 */
import { presetsByType, type PresetType } from "../conditions/signing/presets/mod.ts";
import { signRequest } from "../conditions/sign_request.ts";
import { FetchError } from "../platform/network/fetch_errors.ts";

/** A request that is ready to be sent. */
export interface Ready {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** A request that is signed. */
interface Signed extends Ready {
  /** The texts in it that tell the secret: some providers send it as it is, or as HTTP Basic. */
  hidden: readonly string[];
}

/** A preset, and the secret or private key that signs. */
interface Signing {
  preset: string;
  secret: string;
}

/** Returns the type of condition that a preset belongs to; undefined where its requests cannot be signed. */
export function signingTypeOf(preset: string): PresetType | undefined {
  // The keys of this object are these types.
  const types = Object.keys(presetsByType) as PresetType[];
  return types.find((type) => {
    const row = presetsByType[type][preset];
    return row !== undefined && !("scheme" in row && row.scheme.certificate !== undefined);
  });
}

/**
 * Signs a request as a provider does.
 *
 * @param id stands where the provider has an id of the delivery: it stays the same in each attempt
 * @throws {FetchError} when it cannot be signed
 */
export async function signed(
  request: Ready & { method: string; id: string; now_ms: number },
  { preset, secret }: Signing,
): Promise<Signed> {
  const type = signingTypeOf(preset);
  if (type === undefined) throw new FetchError(`no request can be signed as ${preset} does`);
  const headers = { ...idHeaders(type, preset, request.id), ...request.headers };
  const isKey = type === "signature";
  const condition = { type, preset, ...(!isKey && { secrets: [secret] }) };
  const { problems, url, headers: all, body, reveals } = await signRequest([condition], {
    ...request,
    headers,
    env: () => undefined,
    privateKeys: isKey ? [secret] : [],
  });
  const [problem] = problems;
  if (problem !== undefined) throw new FetchError(problem.detail);
  const added = Object.entries(all).filter(([name, value]) => headers[name] !== value);
  const hidden = added.map(([, value]) => value.replace(/^\S+ +/, ""));
  return { url, headers: all, body, hidden: reveals ? [secret, ...hidden] : [] };
}

/** Returns the headers in which a provider sends the id of a delivery. */
function idHeaders(type: PresetType, preset: string, id: string): Record<string, string> {
  const row = presetsByType[type][preset];
  const { id: signedId, delivery_id } = row && "scheme" in row ? row.scheme : {};
  return Object.fromEntries(
    [signedId, delivery_id].flatMap((field) => field?.in === "header" ? [[field.name, id]] : []),
  );
}
