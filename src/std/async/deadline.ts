// @ts-types="./deadline.d.ts"
export * from "npm:deno-std@1.4.0/async/deadline.js";
