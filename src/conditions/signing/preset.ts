/**
 * A preset: a provider as one row of data.
 *
 * @module
 */
import type { Field } from "../field.ts";
import type { Handshake } from "../handshake.ts";
import type { Scheme, SchemeSettings } from "./scheme.ts";

/** The common part of all presets. */
export interface Preset {
  /** The provider's name. */
  readonly title: string;
  /** The URL of the provider's documentation: a page, or a file of its own library. */
  readonly source: string;
  /** The provider disables an endpoint that answers with errors for some time, 4xx included. */
  readonly disablesEndpoints?: true;
  /** A fact that an owner must know beside the settings. */
  readonly note?: string;
  /** The question by which the provider checks that the URL is listening, and its answer. */
  readonly handshake?: Handshake;
}

/** A provider that signs. */
export interface SigningPreset extends Preset {
  readonly scheme: SchemeSettings & Pick<Scheme, "algorithm">;
}

/** A provider that sends a token. */
export interface TokenPreset extends Preset {
  readonly token: {
    readonly in: Field["in"];
    readonly name: string;
    /** The text before the token. */
    readonly prefix?: string;
    /** A list in the body: every element must carry the token, at `name` within it. */
    readonly each?: string;
  };
  readonly delivery_id?: Field;
}
