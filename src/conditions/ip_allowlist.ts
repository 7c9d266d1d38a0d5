/**
 * The condition `ip_allowlist`: a request comes from an address in one of the ranges.
 *
 * @module
 */
import { z } from "zod";
import { AddressRanges, isAddressRange } from "../platform/network/ip_ranges.ts";
import type { HeadCheck } from "./check.ts";
import type { CheckedKind } from "./condition.ts";
import { settingsObject } from "./settings.ts";

const RANGES_MAX = 1_000;

/** An address or a range (RFC 4632 section 3.1, RFC 4291 section 2.3). */
const addressRangeSchema = z.string().refine(isAddressRange, {
  error: "Expected an IP address or a range such as 10.0.0.0/8",
});

const schema = settingsObject({
  type: z.literal("ip_allowlist"),
  ranges: z.array(addressRangeSchema).min(1).max(RANGES_MAX).describe(
    "IPv4 and IPv6 addresses and CIDR ranges; behind a proxy the client's address counts",
  ),
});

/** The settings of an IP allow-list. */
type IpAllowlistSettings = z.infer<typeof schema>;

/** The client's address is the peer's own, or the one that a trusted proxy names: other headers are ignored. */
export const ipAllowlist = {
  type: "ip_allowlist",
  stage: "address",
  schema,
  prepare,
  beforeBody: prepare,
} satisfies CheckedKind<IpAllowlistSettings>;

function prepare({ ranges }: IpAllowlistSettings): HeadCheck {
  const allowed = new AddressRanges(ranges);
  return ({ remoteIp }) =>
    allowed.has(remoteIp)
      ? undefined
      : { reason: "The client's address is in none of the ranges", found: remoteIp };
}
