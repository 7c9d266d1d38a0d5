/**
 * The scripts, the one stylesheet and the icon of the console. Their addresses hold their hashes, so browsers
 * keep them for good.
 *
 * @module
 */
import { hash } from "node:crypto";
import icon from "./icon.svg" with { type: "text" };
import ansi from "./script/ansi.js" with { type: "text" };
import charts from "./script/charts.js" with { type: "text" };
import complete from "./script/complete.js" with { type: "text" };
import copy from "./script/copy.js" with { type: "text" };
import filter from "./script/filter.js" with { type: "text" };
import keys from "./script/keys.js" with { type: "text" };
import live from "./script/live.js" with { type: "text" };
import log from "./script/log.js" with { type: "text" };
import nav from "./script/nav.js" with { type: "text" };
import passkey from "./script/passkey.js" with { type: "text" };
import secret from "./script/secret.js" with { type: "text" };
import time from "./script/time.js" with { type: "text" };
import style from "./style.css" with { type: "text" };
import look from "../look.css" with { type: "text" };

/** A file that pages load. */
interface Asset {
  /** Its address, relative to the console. */
  address: string;
  content: string;
  type: string;
}

/** The parts of the script that every page loads. */
const SCRIPT = [time, copy, secret, passkey, keys, live + filter + complete, nav];

/** The files that pages load. */
export const ASSETS = {
  script: script("console", SCRIPT),
  /** The log of an execution, with its charts. */
  log: script("log", [ansi + charts + log]),
  style: asset("console", "css", look + style, "text/css; charset=utf-8"),
  icon: asset("icon", "svg", icon, "image/svg+xml"),
};

/** The headers of these files. */
export const ASSET_HEADERS = {
  "cache-control": "public, max-age=31536000, immutable",
  "x-content-type-options": "nosniff",
  // An icon that is opened by itself runs nothing.
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
  "cross-origin-resource-policy": "same-origin",
};

/** Makes a script. Each part has names of its own. Comments are for readers of the source. */
function script(name: string, parts: readonly string[]): Asset {
  const content = parts.map((part) => `{\n${part.replaceAll(/^ *\/\/.*\n/gm, "")}}\n`).join("");
  return asset(name, "js", content, "text/javascript; charset=utf-8");
}

function asset(name: string, extension: string, content: string, type: string): Asset {
  const digest = hash("sha256", content).slice(0, 16);
  return { address: `assets/${name}-${digest}.${extension}`, content, type };
}
