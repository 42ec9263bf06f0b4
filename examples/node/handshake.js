// Keys, proofs and signatures of a handshake.
import {
  createHash, createHmac, createPublicKey, generateKeyPairSync, sign, timingSafeEqual, verify,
} from 'node:crypto';

const ED25519 = Buffer.from('302a300506032b6570032100', 'hex'); // DER prefix of a public key

/** An error of the mesh, with a stable `code`. */
export class MeshError extends Error {
  constructor(code, text) {
    super(text.endsWith(`[${code}]`) ? text : `${text} [${code}]`);
    this.code = code;
  }
}

export const hex = (data) => Buffer.from(data).toString('hex');

/** Create a key pair and its stream id, so that no other client can publish in the stream. */
export function newStream() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const stream = createHash('sha256').update('heronry stream').update(key).digest().subarray(0, 16);
  return { privateKey, key, stream };
}

/** The socket options for CURVE. */
export const curve = ({ keys }) =>
  keys && { curveServerKey: keys.server, curvePublicKey: keys.public, curveSecretKey: keys.private };

/** The text that `side` proves or signs. */
function wordsOf({ keys, nonce, theirs, address }, side) {
  const where = keys ? `curve ${keys.public} ${keys.server}` : address;
  return ['heronry hello', side, hex(nonce), hex(theirs), where].join('\0');
}

/** The proof of a connection's secret by `side`: dialler or listener. */
export const proofOf = (connection, side) =>
  createHmac('sha256', connection.secret).update(wordsOf(connection, side)).digest();

/** Sign for this connection and node with the stream's key. */
export const signStream = (connection, privateKey) =>
  sign(null, Buffer.from(`${wordsOf(connection, 'stream')}\0${connection.uuid}`), privateKey);

export function isSigned(connection, key, signature) {
  const der = Buffer.concat([ED25519, key]);
  const text = Buffer.from(wordsOf(connection, 'listener'));
  return verify(null, text, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature);
}

export const isNoStranger = (connection, proof) =>
  connection.theirs && proof.length === 32 && timingSafeEqual(proof, proofOf(connection, 'listener'));
