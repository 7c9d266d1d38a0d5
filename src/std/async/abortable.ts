// @ts-types="./abortable.d.ts"
export * from "npm:deno-std@1.4.0/async/abortable.js";
