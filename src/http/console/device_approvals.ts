/**
 * The confirmation of logins of command lines by who is logged in: the token allows what the session does, or less,
 * and rests on the same.
 *
 * @module
 */
import { decideDeviceLogin, findDeviceLogin } from "../../logins/device.ts";
import type { Clock } from "../../platform/clock.ts";
import { authorFrom, writeAudit } from "../../store/records/audit.ts";
import { changesBetween } from "../../store/records/audit_changes.ts";
import type { DeviceLogin } from "../../store/records/device_logins.ts";
import { getToken, lesserScope, type Scope } from "../../store/records/tokens.ts";
import type { Store } from "../../store/store.ts";
import type { Authenticated } from "../api/auth.ts";

/** The logins of command lines, for the session of who looks at them. */
export class DeviceApprovals {
  readonly #parts: { store: Store; clock: Pick<Clock, "now"> };
  readonly #session: Pick<Authenticated, "access" | "grant" | "remoteIp">;

  constructor(
    parts: { store: Store; clock: Pick<Clock, "now"> },
    session: Pick<Authenticated, "access" | "grant" | "remoteIp">,
  ) {
    this.#parts = parts;
    this.#session = session;
  }

  /** Finds the login of a code; undefined when none waits. */
  async find(code: string): Promise<DeviceLogin | undefined> {
    return await findDeviceLogin(this.#parts, code);
  }

  /** Returns the scope that the token of a login gets: the one that is asked for, and that of the session at most. */
  scopeFor({ scope }: DeviceLogin): Scope {
    const own = this.#session.access.scope;
    return scope === undefined ? own : lesserScope(scope, own);
  }

  /**
   * Confirms a login.
   *
   * @throws {NotFoundError} when none with this code waits
   */
  async confirm(code: string): Promise<void> {
    const { grant, access } = this.#session;
    const waiting = await this.find(code);
    const scope = waiting === undefined ? "read" : this.scopeFor(waiting);
    // The token of such a login is no ground for another: that would go on for ever.
    const token = grant.token_hash && await getToken(this.#parts.store, grant.token_hash);
    const grounds = token && token.granted_by || grant;
    const decision = { grant: grounds, scope, name: access.name };
    const login = await decideDeviceLogin(this.#parts, code, decision);
    await this.#audit("confirmLogin", { device: login.device, from: login.remote_ip, scope });
  }

  /**
   * Refuses a login.
   *
   * @throws {NotFoundError} when none with this code waits
   */
  async deny(code: string): Promise<void> {
    const login = await decideDeviceLogin(this.#parts, code, "denied");
    await this.#audit("denyLogin", { device: login.device, from: login.remote_ip });
  }

  async #audit(operation: string, told: object): Promise<void> {
    const { store, clock } = this.#parts;
    const { access, remoteIp } = this.#session;
    const changes = changesBetween(undefined, told);
    const about = { author: authorFrom(access), remote_ip: remoteIp, operation };
    await writeAudit(store, { ...about, path: "/login/device/", changes }, clock.now());
  }
}
