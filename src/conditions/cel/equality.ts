/**
 * Equality of CEL values that looks at the clock: lists and maps share parts, so that to compare two
 * of them can take far longer than to make them.
 *
 * @module
 */
import {
  celEnv,
  type CelFunc,
  celFunc,
  type CelList,
  type CelMap,
  CelScalar,
  type CelValue,
  isCelList,
  isCelMap,
  listType,
} from "@bufbuild/cel";
import { tick } from "./meter.ts";

const { BOOL, DYN } = CelScalar;
const standard = celEnv().funcs.find("_==_");

/** `==`, `!=`, and `in` for lists. */
export const equalityFunctions: readonly CelFunc[] = [
  celFunc("_==_", [DYN, DYN], BOOL, equals),
  celFunc("_!=_", [DYN, DYN], BOOL, (left, right) => !equals(left, right)),
  celFunc("@in", [DYN, listType(DYN)], BOOL, isIn),
];

function isIn(value: CelValue, list: CelList): boolean {
  for (const element of list) {
    tick();
    if (equals(element, value)) return true;
  }
  return false;
}

function equals(left: CelValue, right: CelValue): boolean {
  if (left === right) return true;
  if (isCelList(left)) return isCelList(right) && areListsEqual(left, right);
  if (isCelMap(left)) return isCelMap(right) && areMapsEqual(left, right);
  return standard?.call(0, undefined, [left, right]) === true;
}

function areListsEqual(left: CelList, right: CelList): boolean {
  if (left.size !== right.size) return false;
  for (let i = 0; i < left.size; i++) {
    tick();
    const [a, b] = [left.get(i), right.get(i)];
    if (a === undefined || b === undefined || !equals(a, b)) return false;
  }
  return true;
}

function areMapsEqual(left: CelMap, right: CelMap): boolean {
  if (left.size !== right.size) return false;
  for (const [key, value] of left) {
    tick();
    const other = right.get(key);
    if (other === undefined || !equals(value, other)) return false;
  }
  return true;
}
