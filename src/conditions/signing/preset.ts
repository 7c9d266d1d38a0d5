/**
 * A preset: a provider as one row of data.
 *
 * @module
 */
import type { Field } from "../field.ts";
import type { HandshakeRow } from "../handshake/row.ts";
import type { Scheme, SchemeSettings } from "./scheme.ts";

/** The common part of all presets. */
export interface Preset {
  /** The provider's name. */
  readonly title: string;
  /** The URL of the provider's documentation: a page, or a file of its own library. */
  readonly source: string;
  /** The provider disables an endpoint that answers with errors for some time, 4xx included. */
  readonly disablesEndpoints?: true;
  /** The answers that the provider needs and that a trigger does not give by default. */
  readonly needs?: {
    readonly refused?: {
      readonly authentication?: 401 | 403;
      readonly rate_limit?: 429 | 503;
      readonly filter?: number;
    };
    readonly response?: {
      readonly status?: number;
      readonly content_type?: string;
      /** The body that the provider expects, as a text of that type: empty where it takes none. */
      readonly text?: string;
    };
  };
  /** A fact that an owner must know beside the settings. */
  readonly note?: string;
  /** The steps at the provider, in short sentences. */
  readonly setup?: string;
  /** The place of the event's name. */
  readonly event?: Field;
  /** A part that no page or code of the provider confirms. */
  readonly unconfirmed?: string;
  /** The requests by which the provider checks that the URL is listening, and their answers. */
  readonly handshakes?: readonly HandshakeRow[];
}

/** A provider that signs. */
export interface SigningPreset extends Preset {
  readonly setup: string;
  /**
   * The origin of the test vector: pages or tests of the provider or of its standard; its own library or code; or a
   * library of others, where the provider has none. Without one, where one was looked for.
   */
  readonly vector: "published" | "library" | "independent" | { readonly none: string };
  readonly scheme: SchemeSettings & Pick<Scheme, "algorithm">;
}

/** A provider of which a handshake alone is known: conditions of any kind prove it. */
export interface HandshakePreset extends Preset {
  readonly handshakes: readonly HandshakeRow[];
}

/** A provider that sends a token. */
export interface TokenPreset extends Preset {
  readonly setup: string;
  readonly token: {
    readonly in: Field["in"];
    readonly name: string;
    /** The text before the token. */
    readonly prefix?: string;
    /** A list in the body: every element must carry the token, at `name` within it. */
    readonly each?: string;
    /** The token is the password of HTTP Basic in the header Authorization. */
    readonly basic?: { readonly username?: string };
  };
  readonly delivery_id?: Field;
}

/** The providers of one kind, by the type of condition that takes them. */
export interface PresetGroup {
  readonly title: string;
  readonly hmac?: Readonly<Record<string, SigningPreset>>;
  readonly signature?: Readonly<Record<string, SigningPreset>>;
  readonly static_token?: Readonly<Record<string, TokenPreset>>;
  readonly handshakes?: Readonly<Record<string, HandshakePreset>>;
}
