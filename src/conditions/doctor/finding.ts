/**
 * The findings of a diagnosis: sentences for an operator about why a request is refused.
 *
 * @module
 */

/**
 * The certainty of a finding. `matches`: it was tried, and with this change the credential is right. `likely`: the
 * request shows it. `possible`: nothing speaks against it.
 */
const CERTAINTIES = ["matches", "likely", "possible"] as const;

export type Certainty = typeof CERTAINTIES[number];

/** A finding about one condition. Its sentence holds no secret, and no signature that would be right. */
export interface Clue {
  sentence: string;
  certainty: Certainty;
}

/** A finding, and the check that it is about. */
export interface Finding extends Clue {
  /** The type of the condition, another check, or `request` where it is about all of them. */
  condition: string;
  /** The place of the condition in the trigger, from 0; -1 for a check that is no condition. */
  index: number;
}

/** Makes a finding that was tried. Of several differences, each has a sentence. */
export function matching(differences: readonly (string | undefined)[]): Clue {
  const sentences = differences.filter((one) => one !== undefined);
  const [first = ""] = sentences;
  const sentence = sentences.length < 2 ? first : `Several things differ. ${sentences.join(" ")}`;
  return { sentence, certainty: "matches" };
}

export function likely(sentence: string): Clue {
  return { sentence, certainty: "likely" };
}

export function possible(sentence: string): Clue {
  return { sentence, certainty: "possible" };
}

/** Sorts findings, the most certain first. Those of one certainty stay in their order. */
export function bestFirst(findings: readonly Finding[]): Finding[] {
  const rank = ({ certainty }: Finding) => CERTAINTIES.indexOf(certainty);
  return findings.toSorted((a, b) => rank(a) - rank(b));
}
