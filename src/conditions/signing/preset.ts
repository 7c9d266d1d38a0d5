/**
 * What a preset is: a provider as one row of data.
 *
 * @module
 */
import type { Field } from "../field.ts";
import type { Handshake } from "../handshake.ts";
import type { Scheme, SchemeSettings } from "./scheme.ts";

/** What all presets say of their provider. */
export interface Preset {
  /** The provider's name, for people. */
  readonly title: string;
  /** Where the provider documents it: a page, or a file of its own library. */
  readonly source: string;
  /** What an owner must know beside the settings. */
  readonly note?: string;
  /** How the provider asks whether the URL is listening, and what it wants to hear. */
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
    /** A list in the body of which every element must carry the token, `name` being relative to it. */
    readonly each?: string;
  };
  readonly delivery_id?: Field;
}
