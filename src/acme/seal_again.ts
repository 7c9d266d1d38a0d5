/**
 * Encrypting the keys of the certificate and of its account with a new key.
 *
 * @module
 */
import {
  getAccount,
  getCertificate,
  listAccounts,
  putAccount,
  putCertificateKey,
} from "../store/records/acme.ts";
import type { Store } from "../store/store.ts";
import { type SecretBox, tryOpen } from "../triggers/secrets.ts";

/** The owners of these secrets, as their encryption names them. */
export const ACCOUNT_OWNER = "acme account";
/** That of the certificate's key. */
export const CERTIFICATE_OWNER = "acme certificate";

/**
 * Encrypts the keys anew. One that cannot be decrypted stays as it is: the service then orders with another account,
 * and another certificate.
 */
export async function sealAcmeAgain(store: Store, box: SecretBox): Promise<void> {
  for (const directory of await listAccounts(store)) {
    const sealed = await getAccount(store, directory);
    const key = sealed && tryOpen(sealed, box, ACCOUNT_OWNER);
    if (key) await putAccount(store, directory, box.seal(key, ACCOUNT_OWNER));
  }
  const certificate = await getCertificate(store);
  const key = certificate && tryOpen(certificate.key, box, CERTIFICATE_OWNER);
  if (certificate === undefined || key === undefined) return;
  await putCertificateKey(store, { ...certificate, key: box.seal(key, CERTIFICATE_OWNER) });
}
