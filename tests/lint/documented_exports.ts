/**
 * A lint rule: everything that a file of `src/` exports has a JSDoc comment.
 *
 * @module
 */

const plugin: Deno.lint.Plugin = {
  name: "hooklaunch",
  rules: {
    "documented-exports": {
      create(context) {
        return {
          ExportNamedDeclaration(node) {
            if (!context.filename.includes("/src/") || node.declaration === null) return;
            const comment = context.sourceCode.getCommentsBefore(node).at(-1);
            if (comment?.type === "Block" && comment.value.startsWith("*")) return;
            context.report({ node, message: "What is exported needs a JSDoc comment" });
          },
        };
      },
    },
  },
};

export default plugin;
