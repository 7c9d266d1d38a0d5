/**
 * Limits on the parts of an expression that are no functions: the rounds of a macro, and the lists
 * and maps that each round writes. They become calls of two functions that no expression can name.
 *
 * @module
 */
import { type CelFunc, celFunc, CelScalar, isCelList, isCelMap } from "@bufbuild/cel";
import type { Expr } from "./expression.ts";
import { make } from "./meter.ts";

const ROUND = "@round";
const MADE = "@made";
/** How many characters of text take as much memory as a list, an element of one, and one of a map. */
const LIST_CHARACTERS = 64;
const ELEMENT_CHARACTERS = 4;
const ENTRY_CHARACTERS = 20;

const { BOOL, DYN } = CelScalar;

/** The functions that {@linkcode countRounds} calls. */
export const roundFunctions: readonly CelFunc[] = [
  // Every function looks at the clock.
  celFunc(ROUND, [BOOL], BOOL, (goesOn) => goesOn),
  celFunc(MADE, [DYN], DYN, (value) => {
    if (isCelList(value)) make(LIST_CHARACTERS + value.size * ELEMENT_CHARACTERS);
    else if (isCelMap(value)) make(LIST_CHARACTERS + value.size * ENTRY_CHARACTERS);
    return value;
  }),
];

/** The same expression with each round of its macros, and what is made in it, counted. */
export function countRounds(expr: Expr): Expr {
  return counted(expr, false);
}

function counted(expr: Expr, isInRound: boolean): Expr {
  const again = (child: Expr) => counted(child, isInRound);
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "selectExpr": {
      const operand = exprKind.value.operand && again(exprKind.value.operand);
      return { ...expr, exprKind: { ...exprKind, value: { ...exprKind.value, operand } } };
    }
    case "callExpr": {
      const target = exprKind.value.target && again(exprKind.value.target);
      const args = exprKind.value.args.map(again);
      return { ...expr, exprKind: { ...exprKind, value: { ...exprKind.value, target, args } } };
    }
    case "listExpr": {
      const elements = exprKind.value.elements.map(again);
      const list: Expr = {
        ...expr,
        exprKind: { ...exprKind, value: { ...exprKind.value, elements } },
      };
      return isInRound ? call(MADE, list) : list;
    }
    case "structExpr": {
      const entries = exprKind.value.entries.map((entry) => ({
        ...entry,
        keyKind: entry.keyKind.case === "mapKey"
          ? { ...entry.keyKind, value: again(entry.keyKind.value) }
          : entry.keyKind,
        value: entry.value && again(entry.value),
      }));
      const map: Expr = {
        ...expr,
        exprKind: { ...exprKind, value: { ...exprKind.value, entries } },
      };
      return isInRound ? call(MADE, map) : map;
    }
    case "comprehensionExpr": {
      const { iterRange, loopCondition, loopStep, ...loop } = exprKind.value;
      const value = {
        ...loop,
        iterRange: iterRange && again(iterRange),
        loopCondition: loopCondition && call(ROUND, loopCondition),
        loopStep: loopStep && counted(loopStep, true),
      };
      return { ...expr, exprKind: { ...exprKind, value } };
    }
    default:
      return expr;
  }
}

function call(name: string, arg: Expr): Expr {
  return {
    $typeName: "cel.expr.Expr",
    id: arg.id,
    exprKind: {
      case: "callExpr",
      value: { $typeName: "cel.expr.Expr.Call", function: name, args: [arg] },
    },
  };
}
