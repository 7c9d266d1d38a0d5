/**
 * Lint rules for the words of `src`: a doc comment opens with a verb or a noun, and each error that is
 * thrown is one of a class with a stable code.
 *
 * @module
 */

const OPENINGS = /^\*[\s*]*(?:What|Whether|How|Who|Whose|Where|Why)\b/;

const plugin: Deno.lint.Plugin = {
  name: "hooklaunch",
  rules: {
    "doc-comment-opening": {
      create(context) {
        return {
          Program(node) {
            if (!context.filename.includes("/src/")) return;
            for (const comment of context.sourceCode.getAllComments()) {
              if (comment.type !== "Block" || !OPENINGS.test(comment.value)) continue;
              context.report({
                range: comment.range,
                message: 'A doc comment opens with a verb ("Returns …") or a noun ("The lease …")',
              });
            }
            return node;
          },
        };
      },
    },
    "coded-errors": {
      create(context) {
        return {
          NewExpression(node) {
            if (!context.filename.includes("/src/")) return;
            if (node.callee.type !== "Identifier" || node.callee.name !== "Error") return;
            context.report({ node, message: "Throw an error of a class that has a stable code" });
          },
        };
      },
    },
  },
};
export default plugin;
