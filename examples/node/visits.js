// The nodes that may hold something of a session, as it moves from node to node.
// Law 1: each visit has a higher attach number than all before, and is signed for the visited node.
// Law 2: a node stays in the list of former nodes until the visited node has released it.
// Law 3: until ATTACH is answered, another one that names all subscriptions follows each WELCOME.
import { sign } from 'node:crypto';

const FORMER = 8; // former nodes at most; the oldest is given up

/** The visits of one client. `key` and `privateKey` are those of its stream. */
export class Visits {
  attach = 0; // number of the last visit
  former = []; // ids of nodes in hex, the oldest first
  isMoving = false; // ATTACH is not answered
  #place = null; // {uuid, boot} of the last node
  #certificate = null;

  constructor({ key, privateKey }) {
    Object.assign(this, { key, privateKey });
  }

  /**
   * Return the arguments of the verb `attach` for the node of a WELCOME, or null if the node has the session. A
   * new process of a visited node counts as a visit, as it lost what it was resuming. `subscriptions` are the numbers
   * that the client subscribes next.
   */
  welcomed({ uuid, boot }, session, canMove, subscriptions) {
    const last = this.#place;
    this.#place = { uuid, boot };
    if (!last || !canMove) return null;
    const isVisit = uuid !== last.uuid || (boot !== last.boot && this.#certificate !== null);
    if (isVisit) {
      const former = [...this.former.filter((node) => node !== last.uuid), last.uuid];
      this.former = former.filter((node) => node !== uuid).slice(-FORMER);
      this.#certificate = this.#signed(session, uuid);
      this.isMoving = true;
    }
    if (!this.isMoving) return null;
    const former = this.former.map((node) => Buffer.from(node, 'hex'));
    return { certificate: this.#certificate, former, subscriptions };
  }

  /** Forget the former nodes, as the visited node has answered ATTACH and released them. */
  released() {
    this.former = [];
    this.isMoving = false;
  }

  /** The proof of the last visit, or null. */
  get certificate() {
    return this.#certificate;
  }

  #signed(session, uuid) {
    const attach = ++this.attach;
    const text = Buffer.from(['heronry attach', session, attach, uuid].join('\0'));
    return [session, this.key, attach, Buffer.from(uuid, 'hex'), sign(null, text, this.privateKey)];
  }
}
