/** Parts of forms. */
import type { Child, JSX } from "@hono/hono/jsx";
import type { Problem } from "../../../platform/errors.ts";
import type { Html, OpenView, View } from "../route.ts";

/** The hidden field that each form that changes something has. */
export function CsrfField({ view }: { view: View | OpenView }): Html {
  return <input type="hidden" name="csrf" value={view.csrf} />;
}

interface PostFormProps {
  view: View;
  /** The address that performs it. */
  to: string;
  /** Hidden fields. */
  fields?: Readonly<Record<string, string>> | undefined;
}

interface ActionProps extends PostFormProps {
  /** The key that presses its button. */
  hotkey?: string;
  /** Its effect, on hover. */
  title?: string;
  /** Its name for screen readers, where a page has several. */
  label?: string;
  class?: string;
  children?: Child;
}

/** A form that is a button alone. */
export function Action(
  { hotkey, title, label, children, class: className, ...form }: ActionProps,
): Html {
  return (
    <PostForm {...form}>
      <button data-hotkey={hotkey} title={title} aria-label={label} class={className}>
        {children}
      </button>
    </PostForm>
  );
}

function PostForm(
  { view, to, fields = {}, children }: PostFormProps & { children?: Child },
): Html {
  return (
    <form method="post" action={to} class="action">
      <CsrfField view={view} />
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      {children}
    </form>
  );
}

interface ConfirmProps extends PostFormProps {
  /** The effect, with numbers. */
  consequence: string;
  /** The label of the button. */
  children?: string;
}

/** A button that asks for a second click on the same place. It needs no script. */
export function Confirm({ consequence, children = "", ...form }: ConfirmProps): Html {
  return (
    <Asking ask={children} consequence={consequence}>
      <PostForm {...form}>
        <Danger ask={children} consequence={consequence} />
      </PostForm>
    </Asking>
  );
}

interface AskingProps {
  ask: string;
  consequence: string;
}

/** The same as the button of a form that has other fields. */
export function SecondClick(asking: AskingProps): Html {
  return (
    <>
      {/* Enter presses the first button of a form: without this one it would need no click. */}
      <button disabled hidden></button>
      <Asking {...asking}>
        <Danger {...asking} />
      </Asking>
    </>
  );
}

/** The second button. The stylesheet shows the label of the first one in it, so that both have one size. */
function Danger({ ask, consequence }: AskingProps): Html {
  return <button class="danger" data-ask={ask} aria-label={consequence}></button>;
}

function Asking({ ask, consequence, children }: AskingProps & { children?: Child }): Html {
  return (
    <details class="confirm">
      <summary class="button">
        <span class="ask">{ask}</span>
        <span class="cancel">Cancel</span>
      </summary>
      {children}
      <p class="consequence">{consequence}</p>
    </details>
  );
}

interface FieldProps {
  label: string;
  /** The id of its input. */
  id: string;
  hint?: string | undefined;
  /** The mistakes in it. */
  problems?: readonly Problem[] | undefined;
  children?: Child;
}

/** A labelled input with its hint and its mistakes. The input names both: `aria-describedby={describedBy(id)}`. */
export function Field({ label, id, hint, problems = [], children }: FieldProps): Html {
  return (
    <div class={problems.length > 0 ? "field wrong" : "field"}>
      <label for={id}>{label}</label>
      {children}
      <div id={describedBy(id)}>
        {problems.map(({ detail }) => <p class="problem">{detail}</p>)}
        {hint === undefined ? null : <p class="hint">{hint}</p>}
      </div>
    </div>
  );
}

type InputAttributes = Omit<JSX.IntrinsicElements["input"], "children">;

/** A labelled input of one line. Its name is its id, unless another one is given. */
export function Input(
  { label, id, hint, problems, name = id, ...input }:
    & Omit<FieldProps, "children">
    & InputAttributes,
): Html {
  return (
    <Field {...{ label, id, hint, problems }}>
      <input id={id} name={name} {...input} aria-describedby={describedBy(id)} />
    </Field>
  );
}

/** The id of the hint and the mistakes of an input. */
export function describedBy(id: string): string {
  return `${id}-about`;
}
