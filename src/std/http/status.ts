// @ts-types="./status.d.ts"
export * from "npm:deno-std@1.4.0/http/status.js";
