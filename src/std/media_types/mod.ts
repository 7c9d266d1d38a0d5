// @ts-types="./media_types.d.ts"
export * from "npm:deno-std@1.4.0/media_types/mod.js";
