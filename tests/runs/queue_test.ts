import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Queue } from "../../src/runs/queue.ts";

Deno.test("a queue gives back what was put in, in that order, whatever comes between", () => {
  fc.assert(fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (puts) => {
    const queue = new Queue<number>();
    const model: number[] = [];
    for (const [turn, put] of puts.entries()) {
      if (put) {
        queue.push(turn);
        model.push(turn);
      } else assertEquals(queue.shift(), model.shift());
      assertEquals(queue.length, model.length);
    }
    while (model.length > 0) assertEquals(queue.shift(), model.shift());
    assertEquals(queue.shift(), undefined);
  }));
});
