/**
 * Mistakes that are planted in `src`, one at a time, and what is to find each.
 *
 * @module
 */

/** What finds a mistake: arguments of `deno task simulate`, of `deno task faults`, or of `deno task test`. */
export type Finder =
  | { simulate: readonly string[] }
  | { faults: readonly string[] }
  | { test: readonly string[] };

/** A mistake: a text in a file of `src`, and what takes its place. */
export interface Mistake {
  /** What breaks. */
  breaks: string;
  file: string;
  from: string;
  to: string;
  finder: Finder;
}

const SIMULATE: Finder = { simulate: [] };
const AGENTS: Finder = { test: ["tests/engines/remote/faults_test.ts"] };
const RUSH: Finder = { faults: ["rush"] };
/** With this seed the clock of the leader jumps ahead in the first two faults. */
const JUMPS: Finder = { faults: ["network", "--seed", "13", "--faults", "3"] };

/** The mistakes by their names. */
export const MISTAKES: Readonly<Record<string, Mistake>> = {
  "acceptance answered before its commit": {
    breaks: "what was answered 200 is lost, and quotas count too late",
    file: "runs/accept.ts",
    from: "await this.#store.intake.commit(change);\n    } catch (error) {",
    to: "this.#store.intake.commit(change).catch(() => {});\n    } catch (error) {",
    finder: SIMULATE,
  },
  "commit whose answer was lost taken for failed": {
    breaks: "a launch that was answered 503 makes a run",
    file: "store/commit/commit_chain.ts",
    from: "      failure = { error };",
    to: "      throw error;",
    finder: SIMULATE,
  },
  "commit whose answer was lost sent again": {
    breaks: "a commit that arrives late is stored beside its repetition",
    file: "store/commit/commit_chain.ts",
    from: `      const result = await this.#calls.call(() => operation.commit());
      if (result.ok) return this.#stored(next, result.versionstamp);
    } catch`,
    to:
      `      const result = await this.#calls.call(() => operation.commit()).catch(() => operation.commit());
      return result.ok ? this.#stored(next, result.versionstamp) : "refused";
    } catch`,
    finder: SIMULATE,
  },
  "commit without an answer waited for": {
    breaks: "an instance whose connection breaks without a word stores nothing any more",
    file: "store/commit/commit_chain.ts",
    from: "      const result = await this.#calls.call(() => operation.commit());\n      if",
    to: "      const result = await operation.commit();\n      if",
    finder: SIMULATE,
  },
  "lease without fencing": {
    breaks: "an instance that was taken for gone goes on storing",
    file: "store/commit/commit_chain.ts",
    from: "    operation.check({ key, versionstamp: this.#versionstamp }).set(key, next);",
    to: "    operation.set(key, next);",
    finder: SIMULATE,
  },
  "lease that the old leader takes for its own": {
    breaks: "two instances lead at the same time",
    file: "store/commit/ownership.ts",
    from: "this.#isOwn = (found) => found?.process === owner.process;",
    to: "this.#isOwn = (found) => found !== null;",
    finder: SIMULATE,
  },
  "window read before the ledger": {
    breaks: "a quota is exceeded where two instances count",
    file: "runs/quotas.ts",
    from: "`${triggerId}/${period_s}/${shared.ledgers.of(triggerId).epoch}`",
    to: "`${triggerId}/${period_s}`",
    finder: SIMULATE,
  },
  "window by the wall clock": {
    breaks: "a quota is exceeded, or room is refused, once the clock of an instance has jumped",
    file: "runs/quotas.ts",
    from: `    const now_ms = this.#clock.steady();
    if (this.#store.shared === undefined) return now_ms;`,
    to: `    const now_ms = this.#clock.now();
    if (this.#store.shared === undefined) return now_ms;`,
    finder: SIMULATE,
  },
  "window by the wall clock where several instances count": {
    breaks: "the same, at several instances alone",
    file: "runs/quotas.ts",
    from: "newestTime(window, period));\n    }, now_ms);",
    to: "newestTime(window, period));\n    }, this.#clock.now());",
    finder: SIMULATE,
  },
  "delivery read before the claim alone": {
    breaks: "a delivery launches twice where two instances get it",
    file: "runs/delivery_ids.ts",
    from:
      "if (ledger === undefined || epoch === ledger.epoch && ledger.isLoaded) return undefined;",
    to: "if (epoch !== -1) return undefined;",
    finder: SIMULATE,
  },
  "delivery's window by the wall clock": {
    breaks: "a delivery launches twice once the clock of an instance has jumped",
    file: "runs/delivery_ids.ts",
    from: "Math.ceil(this.#clock.steady() + delivery",
    to: "Math.ceil(this.#clock.now() + delivery",
    finder: SIMULATE,
  },
  "ended delivery removed without its ledger": {
    breaks: "a delivery launches twice that another instance accepts anew meanwhile",
    file: "store/records/delivery_ids.ts",
    from: "      guards: [ledger],",
    to: "      guards: [],",
    finder: { test: ["tests/runs/delivery_ids_test.ts"] },
  },
  "repeats at once not waited for": {
    breaks: "two copies of a delivery that come together launch twice",
    file: "runs/delivery_ids.ts",
    from: "if (other === undefined) break;",
    to: "if (other !== null) break;",
    finder: SIMULATE,
  },
  "undo in the order of the changes": {
    breaks: "a commit that failed leaves counts in a window",
    file: "store/commit/committer.ts",
    from: `    } catch (error) {
      for (const { change } of batch.toReversed()) change.undo?.();`,
    to: `    } catch (error) {
      for (const { change } of batch) change.undo?.();`,
    finder: SIMULATE,
  },
  "launch not withdrawn once its sender has gone": {
    breaks: "a launch that was answered 503 makes a run",
    file: "store/commit/committer.ts",
    from: "if (list.length > 0 && change.withdrawal && change.isAbandoned?.()) {",
    to:
      "if (list.length > 0 && change.isAbandoned?.()) {\n        reject(ABANDONED);\n      } else if (list.length < 0 && change.withdrawal) {",
    finder: SIMULATE,
  },
  "run performed without a claim": {
    breaks: "a run that its instance withdraws is performed",
    file: "store/commit/claims.ts",
    from: "  if (versionstamp <= mark.value) return true;",
    to: "  if (versionstamp !== mark.value) return true;",
    finder: SIMULATE,
  },
  "claim by a mark that is read late": {
    breaks: "a run that its instance withdraws is performed",
    file: "runs/claims.ts",
    from: "    return await claimUpTo(",
    to: "    await mark.load();\n    return await claimUpTo(",
    finder: { test: ["tests/runs/shared_test.ts"] },
  },
  "instance taken for gone by its clock": {
    breaks: "all instances are taken for gone by a leader that was frozen",
    file: "store/commit/instances.ts",
    from: "looks * this.#look_ms < this.#gone_ms) continue;",
    to: "looks < 0 || this.#parts.clock.steady() - record.time_ms < this.#gone_ms) continue;",
    finder: { test: ["tests/store/commit/instances_test.ts"] },
  },
  "instance that has just joined taken for gone": {
    breaks: "a run that its instance withdraws is performed",
    file: "runs/claims.ts",
    from: ": this.#met.has(id);",
    to: ": true;",
    finder: { test: ["tests/runs/shared_test.ts"] },
  },
  "listing that shows ended runs": {
    breaks: "a run is performed again after its end",
    file: "runs/worker.ts",
    from: "this.#goneMeanwhile.add(run.id);",
    to: "{}",
    finder: SIMULATE,
  },
  "work begun before the commit that stores it": {
    breaks: "a command runs again whose record was not stored",
    file: "runs/run_ends.ts",
    from: "    for (;;) {\n      const failure",
    to: "    unstored?.begin();\n    for (;;) {\n      const failure",
    finder: SIMULATE,
  },
  "repetition not looked up": {
    breaks: "a run that was begun before a crash launches once more",
    file: "runs/worker.ts",
    from: " || pending.worker !== this.id);",
    to: " && false);",
    finder: SIMULATE,
  },
  "triggers' version not checked": {
    breaks: "a launch is accepted by settings that were replaced",
    file: "store/commit/lanes.ts",
    from: "this.#parts.kv.atomic().check(this.#parts.triggers.check)",
    to: "this.#parts.kv.atomic()",
    finder: { test: ["tests/store/commit/lanes_test.ts"] },
  },
  "fsync of results left out": {
    breaks: "a power cut takes the log of a complete execution",
    file: "engines/local/durability.ts",
    from: "  await file?.sync();",
    to: "  file?.close.name;",
    finder: { test: ["tests/engines/local/durability_test.ts", "tests/faults/power_test.ts"] },
  },
  "fsync of a replaced file left out": {
    breaks: "a power cut leaves an empty file in place of a key or a setting",
    file: "platform/files/durable.ts",
    from: "    await syncFile(temporary);\n",
    to: "",
    finder: { test: ["tests/platform/files/durable_test.ts"] },
  },
  "failed fsync tried again": {
    breaks: "what the kernel has dropped is answered 200",
    file: "store/file/database_guard.ts",
    from: "if (this.lost.aborted || !FATAL.test(messageOf(error))) return;",
    to: "if (!this.lost.aborted || !FATAL.test(messageOf(error))) return;",
    finder: { test: ["tests/faults/failing_writes_test.ts"] },
  },
  "repeated claim of an agent taken for another one's": {
    breaks: "a job whose agent got no answer to its claim is never performed",
    file: "engines/remote/job_desk.ts",
    from: 'return job.claim.id === claimId ? "claimed" : "taken";',
    to: 'return "taken";',
    finder: AGENTS,
  },
  "files of a step removed before its end is stored": {
    breaks: "the next instance on the machine runs the command again",
    file: "engines/local/execution_run.ts",
    from: "await this.#context.save(this.#execution) || !this.#context.closing.aborted;",
    to: "await this.#context.save(this.#execution) || true;",
    finder: { test: ["tests/engines/local/shared_work_test.ts", "--filter", "not begun again"] },
  },
  "repeated part of a log stored twice": {
    breaks: "what an agent sends again after a lost answer is in the log twice",
    file: "engines/remote/job_log.ts",
    from: "const known = job.stored[stream] - offset;",
    to: "const known = Math.min(0, job.stored[stream] - offset);",
    finder: AGENTS,
  },
  "one place of a key too many": {
    breaks: "more commands of a concurrency key run at once than its limit",
    file: "runs/pace/lane.ts",
    from: "return this.#working.size < limit && this.#waiting.length === 0;",
    to: "return this.#working.size <= limit;",
    finder: RUSH,
  },
  "newest run of a key first": {
    breaks: "runs of a key begin out of the order of commits",
    file: "runs/pace/lane.ts",
    from: "const behind = this.#waiting.findLastIndex(({ order }) => order < item.order);",
    to: "const behind = -1;",
    finder: RUSH,
  },
  "oldest launch of a burst performed": {
    breaks: "a burst is not the run of its newest launch",
    file: "runs/pace/pacer.ts",
    from: 'if (keep === "first" && !burst.isEmpty) {',
    to: 'if (keep !== "all" && !burst.isEmpty) {',
    finder: RUSH,
  },
  "quota of one too many": {
    breaks: "a quota is exceeded",
    file: "runs/rate_window.ts",
    from: "if (total >= limit.quota) return undefined;",
    to: "if (total > limit.quota) return undefined;",
    finder: RUSH,
  },
  "half of a quota": {
    breaks: "a launch is refused though there is room",
    file: "runs/rate_window.ts",
    from: "if (total >= limit.quota) return undefined;",
    to: "if (total >= limit.quota / 2) return undefined;",
    finder: RUSH,
  },
  "forwarded request that is not believed answered by itself": {
    breaks: "an output that an agent sends by an instance whose clock has jumped is left out",
    file: "http/hops.ts",
    from: `      Math.abs(this.#clock.steady() - Number(time)) <= HOP_AGE_MAX_MS &&
      content === (request.body === null ? "none" : "body") && this.#isNew(nonce);
    if (!isGenuine) return notBelieved();`,
    to: `      Math.abs(Date.now() - Number(time)) <= HOP_AGE_MAX_MS &&
      content === (request.body === null ? "none" : "body") && this.#isNew(nonce);
    if (!isGenuine) return request;`,
    finder: JUMPS,
  },
};
