// A client's session at its node, which outlives its connections.
import {
  createHash, createHmac, createPublicKey, generateKeyPairSync, randomBytes, sign, timingSafeEqual, verify,
} from 'node:crypto';
import { Dealer } from 'zeromq';
import { isKnown } from './nodes.js';
import {
  BYE, CHALLENGE, HELLO, PING, PONG, REFUSE, UNKNOWN, VERSIONS, WELCOME, WHO, pack, packUnknown, readMessage,
} from './wire.js';

const PING_EVERY = 2000; // ms
const SILENCE = 6000; // ms after which a silent node is dropped
const PATIENCE = 5000; // ms for a handshake
const NOTHING = Buffer.alloc(0);
const SPEAKS = ['services'];
const ED25519 = Buffer.from('302a300506032b6570032100', 'hex'); // DER prefix of a public key

const SOCKET = {
  reconnectInterval: 2 ** 30, // this file redials, with a new socket for each connection
  maxMessageSize: 1_179_648,
  linger: 300,
  sendHighWaterMark: 4096,
  receiveHighWaterMark: 4096,
};

/** An error of the mesh, with a stable `code`. */
export class MeshError extends Error {
  constructor(code, text) {
    super(text.endsWith(`[${code}]`) ? text : `${text} [${code}]`);
    this.code = code;
  }
}

/** Dials, sends HELLO, and redials. The owner handles events: `welcomed(anew, isElsewhere)`,
 *  `heard(command, envelopes)`, `lost(reason, wasUp)`, `failed(error)`. */
export class Session {
  name = ''; // /node/NODE/client/CLIENT/session/NUMBER
  isUp = false;
  have = 0; // number of the last ITEMS received
  maxContent = 0;
  version = 1; // wire version of the connection
  words = []; // features of the node
  window = [0, 0];

  #token = NOTHING;
  #boot = 0;
  #attempt = 0;
  #socket = null;
  #outgoing = [];
  #timer = null;
  #heardAt = 0;
  #closed = false;
  #strange = { since: 0, told: 0 };

  constructor({ client, named, number, findAddress, findAccess, owner }) {
    Object.assign(this, { client, named, number, findAddress, findAccess, owner }, newStream());
  }

  /** Send a message. Return false while there is no connection. */
  send(command, frames = []) {
    if (this.isUp) this.#put(command, frames);
    return this.isUp;
  }

  async dial() {
    try {
      const address = await this.findAddress();
      const access = await this.findAccess(address);
      if (!this.#closed) this.#open(address, access);
    } catch (error) {
      this.owner.lost(error.message, false);
      this.#dialLater();
    }
  }

  /** Close the connection. With a reason the session ends; otherwise it can be resumed for a minute. */
  close(reason) {
    if (reason) this.send([BYE, reason]);
    this.#closed = true;
    this.#hangUp();
  }

  // --- a connection ------------------------------------------------------------------------------

  #open(address, access) {
    const socket = new Dealer({ ...SOCKET, ...curve(access), ipv6: address.includes('[') });
    const connection = { socket, address, ...access, nonce: randomBytes(16), theirs: null };
    this.#socket = socket;
    this.#heardAt = Date.now();
    this.#watch(socket);
    socket.connect(address);
    this.#put(this.#hello(connection, NOTHING));
    this.#timer = setInterval(() => this.#tick(socket), PING_EVERY / 2);
    this.#listen(connection);
  }

  /** Watch for lost and failed connections, which ZeroMQ reports only by events. */
  async #watch(socket) {
    try {
      for await (const { type } of socket.events) {
        const isOver = type === 'disconnect' || type === 'connect:retry';
        const reason = type.startsWith('handshake:error') ? 'keys are missing or wrong' : 'disconnected';
        // Messages received before the end are handled first.
        if (isOver || reason !== 'disconnected') setImmediate(() => this.#lose(socket, reason));
      }
    } catch (error) {
      this.#lose(socket, error.message);
    }
  }

  async #listen(connection) {
    const { socket } = connection;
    try {
      for await (const frames of socket) {
        if (socket !== this.#socket) return;
        this.#heardAt = Date.now();
        this.#receive(connection, frames);
      }
    } catch (error) {
      this.#lose(socket, error.message);
    }
  }

  #receive(connection, frames) {
    const { command, envelopes, isUnknown } = readMessage(frames);
    if (isUnknown) return this.#unknown(command);
    switch (command[0]) {
      case CHALLENGE: return this.#prove(connection, command);
      case WELCOME: return this.#enter(connection, command);
      case REFUSE: return this.#refused(connection, command);
      case WHO: return this.#lose(connection.socket, 'the node does not know this connection');
      case PING: return this.send([PONG, command[1]]);
      case BYE: return this.#lose(connection.socket, `the node goes: ${command[1] ?? ''}`);
      case UNKNOWN: return;
      default: return this.isUp && this.owner.heard(command, envelopes);
    }
  }

  /** Answer an unknown command with UNKNOWN, at most ten times a second. Version 1 has no UNKNOWN. */
  #unknown(command) {
    if (!this.isUp || this.version < 2) throw new Error(`the node says ${command[0]}, which nobody here knows`);
    const now = Date.now();
    if (now - this.#strange.since >= 1000) this.#strange = { since: now, told: 0 };
    if (this.#strange.told++ < 10) this.#putPacked([packUnknown(command)]);
  }

  #hello({ nonce, passwd }, proof, signature = NOTHING) {
    return [
      HELLO, VERSIONS, 'client', '', nonce, proof, null, this.client, this.number, this.stream, this.#token,
      this.#boot, this.have, 1, signature, '', passwd, 0, this.key, NOTHING, SPEAKS, this.named,
    ];
  }

  #prove(connection, [, nonce, endpoint, uuid = NOTHING]) {
    const isElsewhere = !connection.keys && endpoint !== connection.address;
    if (isElsewhere) throw new Error(`${connection.address} says that it is ${endpoint}`);
    Object.assign(connection, { theirs: nonce, uuid: hex(uuid) });
    const text = Buffer.from(`${wordsOf(connection, 'stream')}\0${connection.uuid}`);
    const signature = sign(null, text, this.privateKey);
    this.#put(this.#hello(connection, proofOf(connection, 'dialler'), signature));
  }

  #enter(connection, [, version, node, , proof = NOTHING, , , next = 1, name, token, maxContent, window, , signed, , , words = []]) {
    if (connection.secret && !(isNoStranger(connection, proof) && hex(node[0]) === connection.uuid)) {
      const code = connection.keys ? 'WRONG_SECRET' : 'BAD_COOKIE';
      return this.#fail(new MeshError(code, `${connection.address} does not know what it should`));
    }
    if (connection.keys && !isSigned(connection, node[6], signed)) {
      return this.#fail(new MeshError('WRONG_SIGNATURE', `${connection.address} did not sign with its key`));
    }
    if (connection.keys && !isKnown(connection.pins, node[1], node[6])) {
      const help = `if it was made anew: mesh peer rm ${node[1]}; if not, somebody else may answer there`;
      return this.#fail(new MeshError('OTHER_KEY', `${node[1]} has another key than at first: ${help}`));
    }
    if (!(version >= VERSIONS[0] && version <= VERSIONS[1])) {
      return this.#fail(new MeshError('VERSION', `${node[1]} speaks wire version ${version}`));
    }
    Object.assign(this, { version, words });
    const boot = Number(node[2]);
    const anew = boot !== this.#boot || next <= this.have;
    const isElsewhere = anew || !this.have; // without ITEMS a restart cannot be detected
    if (anew) this.have = 0;
    const number = Number(name.slice(name.lastIndexOf('/') + 1));
    Object.assign(this, { name, number, window, node: node[1], isUp: true, maxContent: Number(maxContent) });
    this.#boot = boot;
    this.#token = token;
    this.#attempt = 0;
    this.owner.welcomed(anew, isElsewhere);
  }

  #refused({ socket }, [, code, reason, hint = '', final = false]) {
    const error = new MeshError(code, `${reason}. ${hint}`.trim());
    if (final) this.#fail(error);
    else this.#lose(socket, error.message);
  }

  #fail(error) {
    this.close();
    this.owner.failed(error);
  }

  // --- keeping it --------------------------------------------------------------------------------

  #tick(socket) {
    const silent = Date.now() - this.#heardAt;
    if (silent > (this.isUp ? SILENCE : PATIENCE)) this.#lose(socket, 'silent');
    else this.send([PING, 0]);
  }

  #lose(socket, reason) {
    if (socket !== this.#socket || this.#closed) return;
    const wasUp = this.isUp;
    this.#hangUp();
    this.owner.lost(reason, wasUp);
    this.#dialLater();
  }

  #hangUp() {
    clearInterval(this.#timer);
    this.isUp = false;
    this.#outgoing = [];
    this.#socket?.close();
    this.#socket = null;
  }

  /** Redial after 0.05 to 2 s, with a growing random delay, so that not all clients of a node dial at once. */
  #dialLater() {
    const most = Math.min(2000, 50 * 2 ** this.#attempt++);
    this.#timer = setTimeout(() => this.dial(), most * (0.5 + Math.random() / 2));
  }

  #put(command, frames = []) {
    this.#putPacked([pack(command), ...frames]);
  }

  /** Queue messages, as zeromq.js sends one at a time. */
  async #putPacked(frames) {
    const [socket, outgoing] = [this.#socket, this.#outgoing];
    if (outgoing.push(frames) > 1) return;
    try {
      for (; outgoing.length; outgoing.shift()) await socket.send(outgoing[0]);
    } catch (error) {
      this.#lose(socket, error.message);
    }
  }
}

/** The socket options for CURVE. */
const curve = ({ keys }) =>
  keys && { curveServerKey: keys.server, curvePublicKey: keys.public, curveSecretKey: keys.private };

/** The text that `side` proves or signs. */
function wordsOf({ keys, nonce, theirs, address }, side) {
  const where = keys ? `curve ${keys.public} ${keys.server}` : address;
  return ['heronry hello', side, hex(nonce), hex(theirs), where].join('\0');
}

const proofOf = (connection, side) => createHmac('sha256', connection.secret).update(wordsOf(connection, side)).digest();

function isSigned(connection, key, signature) {
  const der = Buffer.concat([ED25519, key]);
  const text = Buffer.from(wordsOf(connection, 'listener'));
  return verify(null, text, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature);
}

/** Create a key pair and its stream id, so that no other client can publish in the stream. */
function newStream() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const stream = createHash('sha256').update('heronry stream').update(key).digest().subarray(0, 16);
  return { privateKey, key, stream };
}

const isNoStranger = (connection, proof) =>
  connection.theirs && proof.length === 32 && timingSafeEqual(proof, proofOf(connection, 'listener'));

const hex = (data) => Buffer.from(data).toString('hex');
