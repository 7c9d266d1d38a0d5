/**
 * Rendering Markdown as HTML.
 *
 * @module
 */
import { Marked, Renderer, type Tokens } from "marked";

/** A heading of a page. */
export interface Heading {
  id: string;
  depth: number;
  text: string;
}

/** A page as HTML. */
export interface Rendered {
  html: string;
  headings: readonly Heading[];
}

/**
 * Renders Markdown. HTML in it is shown as text; comments are left out.
 *
 * @param addressOf returns the address that a link of the page leads to in the service
 */
export function render(markdown: string, addressOf: (href: string) => string): Rendered {
  const renderer = new PageRenderer(addressOf);
  const marked = new Marked({ tokenizer: { html: () => undefined, tag: () => undefined } });
  const text = markdown.replaceAll(/^<!--.*?-->$/gms, "");
  return { html: marked.parse(text, { async: false, renderer }), headings: renderer.headings };
}

class PageRenderer extends Renderer {
  readonly headings: Heading[] = [];

  constructor(private readonly addressOf: (href: string) => string) {
    super();
  }

  override heading({ tokens, depth }: Tokens.Heading): string {
    const text = this.parser.parseInline(tokens, this.parser.textRenderer);
    const id = this.#unused(slug(text));
    this.headings.push({ id, depth, text });
    const anchor = `<a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`;
    return `<h${depth} id="${id}">${this.parser.parseInline(tokens)} ${anchor}</h${depth}>\n`;
  }

  override link(token: Tokens.Link): string {
    return super.link({ ...token, href: this.addressOf(token.href) });
  }

  /** Lets a wide table scroll by itself, also by keyboard. */
  override table(token: Tokens.Table): string {
    return `<div class="table" tabindex="0">${super.table(token)}</div>\n`;
  }

  override code(token: Tokens.Code): string {
    return super.code(token).replace("<pre>", '<pre tabindex="0">');
  }

  #unused(id: string): string {
    const isUsed = (tried: string) => this.headings.some((heading) => heading.id === tried);
    let tried = id;
    for (let count = 1; isUsed(tried); count++) tried = `${id}-${count}`;
    return tried;
  }
}

/** Makes the id of a heading as code hosts do, so that links to it work there and here. */
function slug(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "").replaceAll(" ", "-");
}
