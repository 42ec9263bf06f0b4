// A client's session at its node, which outlives its connections.
import { randomBytes } from 'node:crypto';
import { Dealer } from 'zeromq';
import { NodeChoice } from './choice.js';
import {
  MeshError, curve, hex, isNoStranger, isSigned, newStream, proofOf, signStream,
} from './handshake.js';
import { isKnown } from './nodes.js';
import {
  BYE, CHALLENGE, HELLO, PING, PONG, REFUSE, UNKNOWN, VERSIONS, WELCOME, WHO, pack, packUnknown, readMessage,
} from './wire.js';

export { MeshError };

const PING_EVERY = 2000; // ms
const SILENCE = 6000; // ms after which a silent node is dropped
const PATIENCE = 5000; // ms for a handshake, at most
const NOTHING = Buffer.alloc(0);
const SPEAKS = ['services', 'queues', 'durable', 'direct', 'visits', 'transactions'];
const TRANSACTION_BYTES = 8 * 2 ** 20; // of a node that names no limit

const SOCKET = {
  reconnectInterval: 2 ** 30, // this file redials, with a new socket for each connection
  maxMessageSize: 1_179_648,
  linger: 300,
  sendHighWaterMark: 4096,
  receiveHighWaterMark: 4096,
};

/** Dials, sends HELLO, and redials its node or another one. The owner handles events: `welcomed(change)`,
 *  `heard(command, envelopes)`, `draining(forward)`, `lost(reason, wasUp)`, `failed(error)`. */
export class Session {
  name = ''; // /node/NODE/client/CLIENT/session/NUMBER
  isUp = false;
  have = 0; // number of the last ITEMS received
  maxContent = 0;
  transactionBytes = TRANSACTION_BYTES;
  version = 1; // wire version of the connection
  words = []; // features of the node
  window = [0, 0];
  node = null; // {name, uuid, boot} of the last node
  attach = 0; // number of the last visit

  #token = NOTHING;
  #attempt = 0;
  #socket = null;
  #outgoing = [];
  #timer = null;
  #heardAt = 0;
  #closed = false;
  #isVisit = false; // the dialed node is another one than the last
  #choice;
  #strange = { since: 0, told: 0 };

  constructor({ client, named, number, names, findAddress, findAccess, owner }) {
    Object.assign(this, { client, named, number, findAddress, findAccess, owner }, newStream());
    // A client that names one node waits for it, unless that node sends the client to another one.
    const isSent = ({ source }) => this.words.includes('visits') && (names.length > 1 || source === 'forward');
    this.#choice = new NodeChoice(names, { mayVisit: (place) => !this.#token.length || isSent(place) });
  }

  /** Send a message. Return false while there is no connection. */
  send(command, frames = []) {
    if (this.isUp) this.#put(command, frames);
    return this.isUp;
  }

  /** Dial the next place. `backoff`: ms before places are dialed once more. */
  dial(backoff = this.#backoff()) {
    const { place, wait } = this.#choice.next(performance.now(), backoff);
    this.#timer = setTimeout(() => this.#dial(place), wait);
  }

  async #dial({ text }) {
    try {
      const address = await this.findAddress(text);
      const access = await this.findAccess(address);
      if (!this.#closed) this.#open(address, access);
    } catch (error) {
      this.#choice.failed(error.message, !this.node);
      this.owner.lost(this.#choice.summary, false);
      const isOver = !this.node && this.#choice.isOver('NO_NODE');
      if (isOver) this.#fail(new MeshError('NO_NODE', this.#choice.summary));
      else if (!this.#closed) this.dial();
    }
  }

  /** Leave the node for another one, such as those at the addresses in `forward`. */
  leave(reason, forward) {
    if (this.isUp) this.#lose(this.#socket, reason, { forward });
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
    this.#choice.dialed(address);
    this.#isVisit = this.#choice.isVisit && this.#token.length > 0;
    this.#socket = socket;
    this.#heardAt = Date.now();
    this.#watch(socket);
    socket.connect(address);
    this.#put(this.#hello(connection, NOTHING));
    this.#timer = setTimeout(() => this.#lose(socket, 'it does not answer'), this.#choice.patience(PATIENCE));
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
      case BYE: return this.#left(connection, command);
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
    const [boot, have] = this.#isVisit ? [0, 0] : [this.node?.boot ?? 0, this.have];
    const home = this.name.split('/')[2] ?? '';
    return [
      HELLO, VERSIONS, 'client', '', nonce, proof, null, this.client, this.number, this.stream, this.#token,
      boot, have, 1, signature, '', passwd, 0, this.key, NOTHING, SPEAKS, this.named, '', 0, home, this.attach,
    ];
  }

  #prove(connection, [, nonce, endpoint, uuid = NOTHING]) {
    const isElsewhere = !connection.keys && endpoint !== connection.address;
    if (isElsewhere) throw new Error(`${connection.address} says that it is ${endpoint}`);
    Object.assign(connection, { theirs: nonce, uuid: hex(uuid) });
    this.#put(this.#hello(connection, proofOf(connection, 'dialler'), signStream(connection, this.privateKey)));
  }

  #enter(connection, welcome) {
    const error = this.#objection(connection, welcome);
    if (error) return this.#refused(connection, [REFUSE, error.code, error.message, '', true]);
    const [, version, [id, nodeName, boot], , , , , next = 1, name, token, maxContent, window, nodes = []] = welcome;
    const words = welcome[16] ?? [];
    const [node, last] = [{ name: nodeName, uuid: hex(id), boot: Number(boot) }, this.node];
    const hasMoved = last !== null && node.uuid !== last.uuid;
    const anew = hasMoved || node.boot !== last?.boot || next <= this.have;
    const isElsewhere = anew || !this.have; // without ITEMS a restart cannot be detected
    if (anew) this.have = 0;
    const number = Number(name.slice(name.lastIndexOf('/') + 1));
    Object.assign(this, { version, words, name, number, window, node, isUp: true, maxContent: Number(maxContent) });
    this.transactionBytes = Number(welcome[19] ?? 0) || TRANSACTION_BYTES;
    this.#token = token;
    this.#attempt = 0;
    this.#choice.welcomed(performance.now(), node.uuid, nodes);
    clearTimeout(this.#timer);
    this.#timer = setInterval(() => this.#tick(connection.socket), PING_EVERY / 2);
    this.owner.welcomed({ anew, isElsewhere, from: hasMoved ? last.name : null });
  }

  /** The error of a WELCOME that proves too little or is from another node than expected, or null. */
  #objection(connection, [, version, [id, name, , , , , key = NOTHING], , proof = NOTHING, , , , , , , , , signed]) {
    const { address, keys } = connection;
    if (connection.secret && !(isNoStranger(connection, proof) && hex(id) === connection.uuid)) {
      return new MeshError(keys ? 'WRONG_SECRET' : 'BAD_COOKIE', `${address} does not know what it should`);
    }
    if (keys && !isSigned(connection, key, signed)) {
      return new MeshError('WRONG_SIGNATURE', `${address} did not sign with its key`);
    }
    if ((keys && !isKnown(connection.pins, name, key)) || !this.#choice.isKnownKey(hex(key))) {
      const help = `if it was made anew: mesh peer rm ${name}; if not, somebody else may answer there`;
      return new MeshError('OTHER_KEY', `${name} has another key than at first: ${help}`);
    }
    if (version >= VERSIONS[0] && version <= VERSIONS[1]) return null;
    return new MeshError('VERSION', `${name} speaks wire version ${version}`);
  }

  #refused({ socket }, [, code, reason, hint = '', final = false, , , , , forward = [], retryMs = 0]) {
    const error = new MeshError(code, `${reason}. ${hint}`.trim());
    if (!this.isUp) this.#choice.refused(performance.now(), forward, Number(retryMs));
    if (!this.isUp) this.#choice.failed(error.message, final);
    // A client that knows several nodes goes on with another one, unless its session is open elsewhere.
    const goesOn = this.node && this.#choice.names.length > 1 && code !== 'SESSION_IN_USE';
    if (final && !goesOn && this.#choice.isOver(code)) this.#fail(error);
    else this.#lose(socket, error.message, { isRecorded: true });
  }

  #left({ socket }, [, reason = '', forward = []]) {
    const isMoving = this.isUp && reason === 'draining' && this.words.includes('visits');
    if (isMoving) this.owner.draining(forward);
    else this.#lose(socket, `the node goes: ${reason}`);
  }

  #fail(error) {
    this.close();
    this.owner.failed(error);
  }

  // --- keeping it --------------------------------------------------------------------------------

  #tick(socket) {
    if (Date.now() - this.#heardAt > SILENCE) this.#lose(socket, 'silent');
    else this.send([PING, 0]);
  }

  #lose(socket, reason, { isRecorded = false, forward = null } = {}) {
    if (socket !== this.#socket || this.#closed) return;
    const wasUp = this.isUp;
    this.#hangUp();
    if (wasUp) this.#choice.lost(performance.now(), forward);
    else if (!isRecorded) this.#choice.failed(reason);
    this.owner.lost(wasUp ? reason : this.#choice.summary, wasUp);
    if (!this.#closed) this.dial();
  }

  #hangUp() {
    clearTimeout(this.#timer); // also ends an interval
    this.isUp = false;
    this.#outgoing = [];
    this.#socket?.close();
    this.#socket = null;
  }

  /** A growing random wait of 25 to 2000 ms, so that not all clients dial at once. */
  #backoff() {
    const most = Math.min(2000, 50 * 2 ** this.#attempt++);
    return most * (0.5 + Math.random() / 2);
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
